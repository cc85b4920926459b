"""loaded-latency with `cycle_base`: every table shows core cycles, for the same values."""

from __future__ import annotations

import pytest

from asct.benchmarks.loaded_latency import BENCHMARK
from asct.sdk.figure import Table
from tests.benchmarks.load_streams import levels
from tests.benchmarks.test_contract import at, records_of, showing
from tests.benchmarks.test_loaded_latency import measured


def tables(cycle_base: bool) -> dict[str, Table]:
    found, shown = measured(levels([0, 100, 900])), showing(BENCHMARK, cycle_base=cycle_base)
    return {table.slug: table for table in shown.tables(records_of(BENCHMARK, found))}


def shown(table: Table, key: str) -> float:
    (column,) = [column for column in table.columns if column.key == key]
    value = table.rows[-1][key]
    assert isinstance(value, float)
    return value / column.scale


def test_both_tables_are_in_cycles() -> None:
    titles = {slug: [column.title for column in table.columns] for slug, table in tables(True).items()}
    assert titles["loaded-latency"][1:3] == ["Loaded latency [cycle]", "Bandwidth [B/cycle]"]
    assert titles["summary"] == [
        "Idle latency [cycle]", "Peak BW [B/cycle]", "Knee BW [B/cycle]", "Latency at the knee [cycle]",
        "Latency at 80 % of peak [cycle]", "BW at 115 % of idle latency [B/cycle]", "Flags",
    ]  # fmt: skip


def test_the_curve_as_a_whole_is_converted_at_the_core_clock() -> None:
    clock = at(measured(levels([0, 100, 900])), "core_clock").value
    plain, cycles = tables(False)["summary"], tables(True)["summary"]
    assert shown(cycles, "idle_latency") == pytest.approx(shown(plain, "idle_latency") * 1e-9 * clock)
    assert shown(cycles, "latency_at_80") == pytest.approx(shown(plain, "latency_at_80") * 1e-9 * clock)
    assert shown(cycles, "peak_bandwidth") == pytest.approx(shown(plain, "peak_bandwidth") * 1e9 / clock)
