"""memory-profile: access widths of the host, steps, the best cache level, the table of the study, and the real
kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from asct.benchmarks.memory_profile import BENCHMARK
from asct.sdk.benchmark import Context
from asct.sdk.facts import Cache, Cpu, HostFacts, Memory, NumaNode, System
from asct.sdk.figure import Bars
from asct.sdk.record import Measurement
from asct.sdk.step import Step
from tests.benchmarks.kernels import measured_here
from tests.benchmarks.streams import LEVELS, Place, output_of, places
from tests.benchmarks.test_contract import bare_facts, option, records_of, showing

GIB = 1 << 30
params: Any = partial(BENCHMARK.params_model, visits=1)


def machine(arch: str = "x86_64", flags: Sequence[str] = ("sse2", "avx2")) -> HostFacts:
    """Return facts of a machine with two CPUs, each on its own node, that share 16 MiB of L3 cache."""
    return HostFacts(
        host="h",
        collected_at="t",
        system=System(arch=arch),
        cpu=Cpu(online=[0, 1], allowed=[0, 1], flags=list(flags)),
        caches=[
            Cache(level=1, type="Data", size_bytes=32 << 10, shared_cpus=[0]),
            Cache(level=3, type="Unified", size_bytes=16 << 20, shared_cpus=[0, 1]),
        ],
        memory=Memory(available_bytes=8 * GIB),
        nodes=[
            NumaNode(id=1, cpus=[0], memory_bytes=8 * GIB, free_bytes=4 * GIB),
            NumaNode(id=4, cpus=[1], memory_bytes=8 * GIB, free_bytes=4 * GIB),
        ],
    )


def the_step(facts: HostFacts, needs: dict[str, Any] = LEVELS, **settings: Any) -> Step:
    (step,) = BENCHMARK.steps(params(**settings), Context(facts, "/work", needs=needs))
    return step


def the_places(facts: HostFacts, needs: dict[str, Any] = LEVELS, **settings: Any) -> dict[str, int]:
    """Return the size of each working set, keyed by label."""
    return {place.name: place.size for place in places(the_step(facts, needs, **settings))}


def gbps(place: Place, traffic: str) -> float:
    """Return 30 GB/s for memory (33 for accesses of 32 bytes), 500 for reads and 300 for writes in L1, 400 for L2, and
    100 for LLC."""
    if place.name.startswith("memory"):
        return 33e9 if place.width == "32" else 30e9
    return {"L1": 500e9 if traffic == "all-reads" else 300e9, "L2": 400e9}.get(place.name, 100e9)


def measured(facts: HostFacts, **settings: Any) -> Sequence[Measurement]:
    return BENCHMARK.parse(params(**settings), [output_of(the_step(facts, **settings), gbps)], facts)


def test_a_visit_is_one_process_for_all_widths_and_levels_of_cache() -> None:
    step = the_step(machine())
    assert [place.width for place in places(step)] == ["16", "32", "auto", "auto", "auto"]
    assert the_places(machine()) == {
        "memory-16": 300 << 20, "memory-32": 300 << 20, "L1": 24 << 10, "L2": 512 << 10, "LLC": 12 << 20,
    }  # fmt: skip
    assert (option(step, "cpus"), option(step, "nodes")) == ("0,1", "1,4")
    assert len(BENCHMARK.steps(params(visits=12), Context(machine(), "/work", needs=LEVELS))) == 12


@pytest.mark.parametrize(
    ("arch", "flags", "names"),
    [
        ("x86_64", ["sse2"], ["memory-16"]),
        ("x86_64", ["sse2", "avx2", "avx512f"], ["memory-16", "memory-32", "memory-64"]),
        ("aarch64", ["asimd", "sve"], ["memory-16", "memory-sve"]),
    ],
)
def test_widths_are_those_of_the_host(arch: str, flags: list[str], names: list[str]) -> None:
    assert [name for name in the_places(machine(arch, flags)) if name.startswith("memory")] == names


def test_widths_that_are_asked_for() -> None:
    assert list(the_places(machine(), widths="32,16,32"))[:2] == ["memory-32", "memory-16"]


def test_a_size_that_is_given_needs_no_levels() -> None:
    found = the_places(machine(), {}, data_size="1G")
    assert found == {"memory-16": GIB, "memory-32": GIB, "L1": 16 << 10, "L3": 4 << 20}
    given = the_places(machine(), {}, data_size="1G", cache_sizes="8K,64K")
    assert list(given)[2:] == ["cache-8K", "cache-64K"]
    assert list(the_places(bare_facts(), {}, data_size="1G")) == ["memory-16"]


def test_no_memory_level_is_said() -> None:
    with pytest.raises(LookupError, match="no DRAM level on this host; set `data_size`"):
        BENCHMARK.steps(params(), Context(machine(), "/work", needs={"cache.l1.optimum_size": 4096}))


def test_the_best_level_stands_for_the_caches() -> None:
    found = measured(machine(), traffic="all-reads,1:1")
    peaks = {item.coords["traffic"]: item.value for item in found if item.metric == "peak_cache_bandwidth"}
    assert peaks == {"all-reads": 500e9, "1:1": 400e9}
    levels = [item for item in found if item.metric == "level_bandwidth"]
    assert all(item.detail for item in levels)
    assert [(item.coords["traffic"], item.coords["level"]) for item in levels if "best" in item.flags] == [
        ("all-reads", "L1"), ("1:1", "L2"),
    ]  # fmt: skip


def test_the_table_is_that_of_the_study() -> None:
    (table,) = BENCHMARK.tables(records_of(BENCHMARK, measured(machine())))
    assert [column.title for column in table.columns] == [
        "Traffic", "16 byte (128 bit) loads/stores [MB/s]", "32 byte (256 bit) loads/stores [MB/s]",
        "Peak Cache Bandwidth [MB/s]", "Cache level", "Flags",
    ]  # fmt: skip
    assert [row["traffic"] for row in table.rows] == [
        "All Reads", "3:1 Reads-Writes", "2:1 Reads-Writes", "1:1 Reads-Writes", "Stream-triad like",
    ]  # fmt: skip
    assert [(row["width16"], row["width32"]) for row in table.rows][::3] == [(30e9, 33e9), (60e9, 66e9)]
    assert [row["level"] for row in table.rows] == ["L1", "L2", "L2", "L2", "L2"]
    assert table.columns[1].scale == 1e6


def test_cycle_base_shows_bytes_per_cycle() -> None:
    (table,) = showing(BENCHMARK, cycle_base=True).tables(records_of(BENCHMARK, measured(machine())))
    assert table.columns[1].title == "16 byte (128 bit) loads/stores [B/cycle]"
    assert table.rows[0]["width16"] == pytest.approx(30 / 2.5)
    assert table.rows[0]["cache"] == pytest.approx(500 / 2.5)


def test_without_caches_there_is_no_cache_column_to_fill() -> None:
    facts = bare_facts()
    found = BENCHMARK.steps(params(data_size="1G"), Context(facts, "/work"))
    records = records_of(
        BENCHMARK, BENCHMARK.parse(params(data_size="1G"), [output_of(one, gbps) for one in found], facts)
    )
    (table,) = BENCHMARK.tables(records)
    assert {row["cache"] for row in table.rows} == {None}


def test_the_bars_show_the_widths() -> None:
    (bars,) = BENCHMARK.figures(records_of(BENCHMARK, measured(machine())))
    assert isinstance(bars, Bars)
    assert [series.name for series in bars.series] == ["16 byte (128 bit)", "32 byte (256 bit)"]
    assert bars.series[0].x[-1] == "Stream-triad like"


def test_flags_reach_the_row() -> None:
    facts = machine()
    outputs = [output_of(the_step(facts), gbps, lambda place: place.name == "memory-32", capped=True)]
    (table,) = BENCHMARK.tables(records_of(BENCHMARK, BENCHMARK.parse(params(), outputs, facts)))
    assert {row["flags"] for row in table.rows} == {"noisy"}
    assert "noisy" in table.flags
    large = measured(facts, data_size="17M")
    assert not any("invalid-working-set" in item.flags for item in large)
    small = measured(facts, data_size="16M")
    assert all("invalid-working-set" in item.flags for item in small if item.metric == "bus_bandwidth")


def test_needs() -> None:
    facts = machine()
    assert BENCHMARK.needs(params(data_size="1G"), facts).memory_bytes == 2 * GIB
    assert BENCHMARK.needs(params(widths="16"), facts).seconds < BENCHMARK.needs(params(), facts).seconds
    assert not BENCHMARK.default


def test_memory_must_be_among_the_outputs() -> None:
    caches = replace(the_step(machine()), arguments=("--sizes", "24576", "--labels", "L1", "--traffic", "copy"))
    for outputs in ([], [output_of(caches, gbps)]):
        with pytest.raises(ValueError, match=r"reported no result for memory|was not run"):
            BENCHMARK.parse(params(), outputs, machine())


@pytest.mark.kernels
def test_the_real_kernel() -> None:
    given = params(data_size="1M", cache_sizes="16K", duration="5ms", pages="4k", widths="16", traffic="2:1,triad")
    found = measured_here(BENCHMARK, given)
    assert {item.coords["traffic"] for item in found if item.metric == "peak_cache_bandwidth"} == {"2:1", "triad"}
