"""Operating points determined from a curve."""

from __future__ import annotations

from typing import Any

import pytest

from asct.instruments.fio.operating import operating_points
from asct.instruments.fio.rows import gather
from asct.instruments.fio.tables import sweep_table
from asct.sdk.figure import Table
from tests.fio.synthetic import DEPTHS, drive, point, published, record, side

STEPS = (1, 2, 4, 8, 16, 32, 64, 128)


def curve(repeats: int = 1, top: float = 70_000.0, **changes: float) -> list[Any]:
    """Return the curve of a drive with at most 70,000 requests per second. Each repeat is 1 % faster than the previous
    one."""
    records = []
    for repeat in range(1, repeats + 1):
        for depth in STEPS:
            rate, latency = drive(depth, top * (1 + 0.01 * repeat), 60e-6)
            records += point({"iodepth": depth}, side(rate, 4096, latency) | changes, repeat)
    return records


def table_of(records: list[Any]) -> Table:
    return next(table for table in sweep_table(records, "x", "X", "iodepth") if table.slug == "x-operating-points")


def named(records: list[Any]) -> dict[str, Any]:
    return {str(row["operating"]): row for row in table_of(records).rows}


def test_points_of_a_curve_that_bends() -> None:
    rows = named(curve())
    assert rows["90 % of the maximum"]["iodepth"] == 32
    assert rows["saturation (98 % of the maximum)"]["iodepth"] == 128
    assert rows["knee (rate / latency is highest)"]["iodepth"] == 4
    assert rows["90 % of the maximum"]["share"] == pytest.approx(0.913, abs=0.01)
    best = rows["saturation (98 % of the maximum)"]
    assert best["iops"] * best["lat_mean"] == pytest.approx(128, rel=0.01)


def test_bounds_are_listed_as_far_as_they_change_something() -> None:
    rows = named(curve())
    bounds = {name: row["iodepth"] for name, row in rows.items() if name.startswith("p99")}
    assert bounds == {
        "p99 within 500 us": 4, "p99 within 1 ms": 16, "p99 within 2 ms": 32, "p99 within 5 ms": 64,
        "p99 within 10 ms": 128,
    }  # fmt: skip


def test_a_bound_of_ones_own_is_the_only_one() -> None:
    records = [*curve(), *(record({"iodepth": depth}, "latency_bound", 1.2e-3) for depth in STEPS)]
    assert [name for name in named(records) if name.startswith("p99")] == ["p99 within 1.2 ms"]
    assert named(records)["p99 within 1.2 ms"]["lat_p99"] <= 1.2e-3


def test_a_bound_that_nothing_keeps_is_not_listed() -> None:
    records = [*curve(), *(record({"iodepth": depth}, "latency_bound", 1e-6) for depth in STEPS)]
    assert not [name for name in named(records) if name.startswith("p99")]


def test_repeats_give_the_interval() -> None:
    assert named(curve())["90 % of the maximum"]["repeats"] is None
    records = curve(3)
    assert named(records)["90 % of the maximum"]["repeats"] == "32"
    for one in records:
        if one.metric == "iops" and one.repeat == 2 and one.point == {"iodepth": 32}:
            one.value *= 0.9
    assert named(records)["90 % of the maximum"]["repeats"] == "32 to 64"


def test_the_size_for_most_bytes_and_no_knee_over_sizes() -> None:
    records = []
    for size in (4096, 16384, 65536, 131072):
        rate = min(60_000.0, 550e6 / size)
        records += point({"block_size": size}, side(rate, size, 64 / rate))
    names = {point.name: point.row.setting("block_size") for point in operating_points(gather(records), "block_size")}
    assert names == {"90 % of the maximum": 16384, "saturation (98 % of the maximum)": 16384}


def test_doubtful_points_take_no_part_and_that_is_said() -> None:
    records = curve()
    for one in records:
        if one.point == {"iodepth": 128}:
            one.flags.append("invalid")
    table = table_of(records)
    assert all(row["iodepth"] != 128 for row in table.rows)
    assert any(text.startswith("1 unreliable point is excluded") for text in table.notes)
    doubted = published("iodepth", DEPTHS, ("invalid", "littles-law"))
    assert [table.slug for table in sweep_table(doubted, "x", "X", "iodepth")] == ["x"]


def test_a_curve_that_still_rises_says_so() -> None:
    assert any("still rising at iodepth 128" in text for text in table_of(curve(top=1e6)).notes)
    assert not any("still rising" in text for text in table_of(curve(top=20_000.0)).notes)


def test_every_curve_of_a_matrix_has_its_points() -> None:
    records = []
    for rw in ("randread", "randwrite"):
        for one in curve():
            one.point, one.point_id = {"rw": rw, **one.point}, f"{rw}-{one.point_id}"
            records.append(one)
    assert {row["curve"] for row in table_of(records).rows} == {"rw randread", "rw randwrite"}


def test_words_have_no_operating_points() -> None:
    records = [one for word in ("read", "write", "randread") for one in point({"rw": word}, side(1000.0, 4096, 1e-3))]
    assert "x-operating-points" not in [table.slug for table in sweep_table(records, "x", "X", "rw")]
