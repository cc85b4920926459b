"""Comparisons of access patterns."""

from __future__ import annotations

from typing import Any

import pytest

from asct.instruments.fio.tables import sweep_table
from tests.fio.synthetic import point, side

RATES = {"read": 4000.0, "write": 2000.0, "randread": 1000.0, "randwrite": 500.0}


def records_of(repeats: int = 1) -> list[Any]:
    found = []
    for repeat in range(1, repeats + 1):
        for rw, rate in RATES.items():
            prefix = "write_" if rw.endswith("write") else "read_"
            found += point({"rw": rw}, side(rate * (1 + 0.1 * (repeat - 1)), 4096, 1 / rate, prefix), repeat)
        mix = side(560.0, 4096, 2e-3) | side(240.0, 4096, 1e-3, "write_") | {"iops": 800.0}
        found += point({"rw": "randrw"}, mix, repeat)
    return found


def rows_of(records: list[Any]) -> dict[str, Any]:
    tables = {table.slug: table for table in sweep_table(records, "x", "X", "rw")}
    return {str(row["compared"]): row for row in tables["x-patterns"].rows}


def test_what_writing_and_random_access_cost() -> None:
    rows = rows_of(records_of())
    assert rows["sequential: writes relative to reads"]["rate"] == pytest.approx(0.5)
    assert rows["reads: random relative to sequential"]["rate"] == pytest.approx(0.25)
    assert rows["reads: random relative to sequential"]["latency"] == pytest.approx(4.0)
    assert rows["writes: random relative to sequential"]["tail"] == pytest.approx(4.0)
    assert rows["random: mixed relative to reads"]["rate"] == pytest.approx(0.8)
    assert rows["random: mixed relative to reads"]["reads"] == pytest.approx(70.0)
    assert "sequential: mixed relative to reads" not in rows


def test_repeats_bound_the_ratio() -> None:
    assert rows_of(records_of())["random: writes relative to reads"]["rate_range"] is None
    assert rows_of(records_of(2))["random: writes relative to reads"]["rate_range"] == "0.45 to 0.55"


def test_doubt_is_said_and_one_pattern_alone_has_no_ratio() -> None:
    records = records_of()
    for one in records:
        if one.point == {"rw": "read"}:
            one.flags.append("invalid")
    [table] = [table for table in sweep_table(records, "x", "X", "rw") if table.slug == "x-patterns"]
    assert any("are unreliable" in note for note in table.notes)
    alone = point({"rw": "read"}, side(1.0, 4096, 1.0)) + point({"rw": "randwrite"}, side(1.0, 4096, 1.0, "write_"))
    assert [table.slug for table in sweep_table(alone, "x", "X", "rw")] == ["x"]
