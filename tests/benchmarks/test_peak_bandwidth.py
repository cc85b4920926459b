"""peak-bandwidth: settings, the command line, best variants and shares, tables and bar charts, and the real kernel."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest

from asct.benchmarks.peak_bandwidth import BENCHMARK, PEAK
from asct.sdk.benchmark import Context
from asct.sdk.facts import Cache, Cpu, HostFacts, Memory, NumaNode
from asct.sdk.figure import Bars
from asct.sdk.record import Measurement
from asct.sdk.step import Output, Step
from tests.benchmarks.kernels import facts_here, measured_here, run_step
from tests.benchmarks.streams import Place, numbers, output_of
from tests.benchmarks.test_contract import at, bare_facts, needed, option, records_of, showing

GIB = 1 << 30
params: Any = partial(BENCHMARK.params_model, visits=1)


def two_nodes(**memory: Any) -> HostFacts:
    """Return facts of a machine whose nodes 2 and 5 have two CPUs each. Node 7 has CPU 9 but no memory, and node 8 has
    only memory."""
    cpus = [0, 1, 2, 3, 9]
    return HostFacts(
        host="h",
        collected_at="t",
        cpu=Cpu(online=cpus, allowed=cpus),
        caches=[Cache(level=3, type="Unified", size_bytes=64 << 20, shared_cpus=[0, 1])],
        memory=Memory(available_bytes=64 * GIB, **memory),
        nodes=[
            NumaNode(id=2, cpus=[0, 1], memory_bytes=64 * GIB, free_bytes=32 * GIB),
            NumaNode(id=5, cpus=[2, 3], memory_bytes=64 * GIB, free_bytes=32 * GIB),
            NumaNode(id=7, cpus=[9], memory_bytes=0, free_bytes=0),
            NumaNode(id=8, cpus=[], memory_bytes=64 * GIB, free_bytes=32 * GIB),
        ],
    )


def step(facts: HostFacts, **settings: Any) -> Step:
    (one,) = BENCHMARK.steps(params(**settings), Context(facts, "/work", needs=needed(BENCHMARK)))
    return one


def gbps(place: Place, traffic: str) -> float:
    """Return 200 GB/s for reads and 120 GB/s for all other patterns, in useful bytes."""
    return 200e9 if traffic == "all-reads" else 120e9


def measured(facts: HostFacts, **settings: Any) -> Sequence[Measurement]:
    given = params(**settings)
    return BENCHMARK.parse(given, [output_of(step(facts, **settings), gbps)], facts)


def test_all_usable_cpus_run_at_once_on_memory_of_their_own_nodes() -> None:
    facts = two_nodes()
    one = step(facts)
    assert option(one, "cpus") == "0,1,2,3,9"
    assert option(one, "nodes") == "2,2,5,5,-1"
    assert option(one, "traffic") == ",".join(PEAK)
    masked = facts.model_copy(update={"cpu": Cpu(online=[0, 1, 2, 3, 9], allowed=[1, 3])})
    assert (option(step(masked), "cpus"), option(step(masked), "nodes")) == ("1,3", "2,5")
    alone = facts.model_copy(update={"cpu": Cpu(online=[0, 1, 2, 3, 9], allowed=[3])})
    assert (option(step(alone), "cpus"), option(step(alone), "nodes")) == ("3", "5")
    assert option(step(bare_facts()), "cpus") is None


def test_sizes() -> None:
    facts = two_nodes()
    dram = int(needed(BENCHMARK)["cache.dram.optimum_size"])
    assert numbers(step(facts), "sizes") == [pytest.approx(dram // 2, abs=1 << 16)]
    assert numbers(step(facts, data_size="64M"), "sizes") == [64 << 20]
    short = [node.model_copy(update={"free_bytes": 200 << 20}) if node.id == 5 else node for node in facts.nodes]
    assert 80 << 20 < numbers(step(facts.model_copy(update={"nodes": short})), "sizes")[0] < 90 << 20
    with pytest.raises(LookupError, match="no DRAM level on this host; set `data_size`"):
        BENCHMARK.steps(params(), Context(facts, "/work"))


def test_iterations_and_duration_bound_the_time() -> None:
    assert option(step(two_nodes(), iterations="1k"), "windows") == "1000"
    assert option(step(two_nodes(), iterations="100k"), "windows") == "4096"
    assert option(step(two_nodes(), duration="1s"), "time-cap-ms") == "1000"
    long, short = (BENCHMARK.needs(params(iterations=count), two_nodes()).seconds for count in (63, 1))
    assert long > short


def test_bus_and_useful_bytes_are_told_apart() -> None:
    found = measured(two_nodes(), traffic="all-reads, 1:1, 3:1, nt-write")
    bus = {traffic: at(found, "bus_bandwidth", traffic=traffic) for traffic in ("all-reads", "1:1", "3:1", "nt-write")}
    assert {traffic: round(item.value / 1e9) for traffic, item in bus.items()} == {
        "all-reads": 200, "1:1": 240, "3:1": 160, "nt-write": 120,
    }  # fmt: skip
    assert at(found, "bandwidth", traffic="1:1").value == 120e9
    assert at(found, "bandwidth_cycles", traffic="1:1").value == pytest.approx(120 / 2.5)
    stats = bus["1:1"].stats
    assert stats is not None and (stats.visits, stats.ci95) == (1, None)
    assert stats.min <= stats.median <= stats.max


def test_every_variant_is_a_detail_and_the_best_is_named() -> None:
    found = [item for item in measured(two_nodes(), traffic="copy") if item.metric == "variant_bandwidth"]
    assert [(item.coords["variant"], item.flags, item.detail) for item in found] == [
        ("plain", (), True), ("prefetch", ("best",), True),
    ]  # fmt: skip


def test_an_access_pattern_without_a_best_variant_is_refused() -> None:
    one = step(two_nodes(), traffic="copy,write")
    output = output_of(one, gbps)
    broken = Output(one, 0, {"stdout": output.stdout.replace('"best": true', '"best": false'), "stderr": ""})
    with pytest.raises(ValueError, match="reports no best variant for copy, write"):
        BENCHMARK.parse(params(traffic="copy,write"), [broken], two_nodes())


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"traffic": "copy"', '"traffic": "copies"', "has an unknown access pattern"),
        ('"window_ns": [100000', '"window_ns": [0', "has no windows"),
        ('"useful_bytes": 192000', '"useful_bytes": 0', "moved no bytes"),
        ('"median_bps"', '"median"', "no number for `median_bps`"),
        ('"t": "sample"', '"t": "other"', "reported no results"),
    ],
)
def test_samples_that_are_none_are_refused(old: str, new: str, message: str) -> None:
    one = step(two_nodes(), traffic="copy")
    text = output_of(one, gbps).stdout
    assert old in text
    with pytest.raises(ValueError, match=message):
        BENCHMARK.parse(params(traffic="copy"), [Output(one, 0, {"stdout": text.replace(old, new)})], two_nodes())


def test_the_share_of_the_theoretical_peak() -> None:
    known = two_nodes(theoretical_bandwidth=400e9)
    found = measured(known, traffic="all-reads,1:1")
    assert at(found, "share_of_theoretical", traffic="1:1").value == pytest.approx(60.0)
    assert at(found, "theoretical_bandwidth").value == 400e9
    given = measured(known, traffic="all-reads", theoretical_bandwidth="100 GB/s")
    share = at(given, "share_of_theoretical", traffic="all-reads")
    assert (share.value, share.flags) == (pytest.approx(200.0), ("above-theoretical",))
    assert at(given, "bandwidth", traffic="all-reads").flags == ("above-theoretical",)
    assumed = measured(known, traffic="1:1", theoretical_bandwidth="200 GB/s")
    assert at(assumed, "bus_bandwidth", traffic="1:1").flags == ("above-theoretical",)
    assert at(assumed, "bandwidth", traffic="1:1").flags == (), "only the assumed reads exceed the peak"
    unknown = measured(two_nodes(), traffic="all-reads", theoretical_bandwidth="auto")
    assert not any("theoretical" in item.metric for item in unknown)


def test_the_table_has_the_columns_users_know() -> None:
    records = records_of(BENCHMARK, measured(two_nodes(theoretical_bandwidth=400e9)))
    (table,) = BENCHMARK.tables(records)
    assert [column.title for column in table.columns] == [
        "Traffic type", "Useful BW [GB/s]", "Peak BW [GB/s]", "% of Peak Theoretical", "Variant",
        "95 % interval [GB/s]", "Max [GB/s]", "Flags",
    ]  # fmt: skip
    assert [row["traffic"] for row in table.rows][:5] == [
        "All Reads", "3:1 Reads-Writes", "2:1 Reads-Writes", "1:1 Reads-Writes", "2:1 Rd-Wr (Non-Temporal)",
    ]  # fmt: skip
    assert len(table.rows) == len(PEAK)
    assert {row["variant"] for row in table.rows} == {"prefetch"}
    assert "median" in table.notes[0]
    (bars,) = BENCHMARK.figures(records)
    assert isinstance(bars, Bars)
    assert [series.name for series in bars.series] == ["Useful", "On the memory bus"]
    assert [(line.y, line.label) for line in bars.rated] == [(400e9, "theoretical peak 400 GB/s")]


def test_useful_bytes_come_before_those_that_are_assumed() -> None:
    found = {metric.metric: metric for metric in reversed(BENCHMARK.highlights)}
    assert next(iter(BENCHMARK.highlights)).metric == "bandwidth"
    assert found["bandwidth"].label == "All Reads" and "assumed" in found["bus_bandwidth"].label
    (table,) = BENCHMARK.tables(records_of(BENCHMARK, measured(two_nodes(), traffic="write")))
    (row,) = table.rows
    assert (row["bandwidth"], row["bus_bandwidth"]) == (120e9, 240e9)
    assert row["max"] == pytest.approx(121.2e9), "the interval and the best window are those of the useful bytes"


def test_cycle_base_shows_bytes_per_cycle() -> None:
    (table,) = showing(BENCHMARK, cycle_base=True).tables(
        records_of(BENCHMARK, measured(two_nodes(), traffic="all-reads"))
    )
    column, value = table.columns[1], table.rows[0]["bandwidth"]
    assert column.title == "Useful BW [B/cycle]"
    assert isinstance(value, float)
    assert value / column.scale == pytest.approx(80.0)


def test_swept_points_have_rows_and_bars_of_their_own() -> None:
    records = []
    for width in ("16", "64"):
        for record in records_of(BENCHMARK, measured(two_nodes(), traffic="copy", width=width)):
            records.append(record.model_copy(update={"point": {"width": width}, "point_id": width}))
    (table,) = BENCHMARK.tables(records)
    assert [(row["width"], row["traffic"]) for row in table.rows] == [("16", "Copy"), ("64", "Copy")]
    (bars,) = BENCHMARK.figures(records)
    assert len({series.name for series in bars.series}) == 4


def test_what_did_not_settle_or_was_disturbed_is_flagged() -> None:
    given, facts = params(traffic="copy"), two_nodes()
    flags = []
    for changes in ({"capped": True}, {"dropped": 4}, {"dropped": 1}, {"windows": 5, "ci_low_bps": None}):
        found = BENCHMARK.parse(given, [output_of(step(facts, traffic="copy"), gbps, **changes)], facts)
        flags.append(at(found, "bandwidth", traffic="copy").flags)
    assert flags == [("noisy",), ("switched",), (), ()]


def test_a_set_within_the_caches_is_in_doubt() -> None:
    found = measured(two_nodes(), data_size="32M")
    assert all("invalid-working-set" in item.flags for item in found if item.metric == "bandwidth")
    assert not any("invalid-working-set" in item.flags for item in measured(two_nodes()))


def test_needs() -> None:
    facts = two_nodes()
    assert BENCHMARK.needs(params(data_size="1G"), facts).memory_bytes == 5 * GIB
    assert BENCHMARK.needs(params(), facts).memory_bytes < 5 * GIB
    assert BENCHMARK.needs(params(traffic="copy"), facts).seconds < BENCHMARK.needs(params(), facts).seconds
    root = BENCHMARK.needs(params(), facts).privileges
    assert any("DIMM" in item.why for item in root)
    assert len(BENCHMARK.needs(params(pages="4k", theoretical_bandwidth="1 TB/s"), facts).privileges) == 0


@pytest.mark.kernels
def test_the_real_kernel() -> None:
    given, facts = params(data_size="1M", duration="5ms", pages="4k", traffic="all-reads,1:1,nt-copy"), facts_here()
    found = measured_here(BENCHMARK, given)
    assert at(found, "threads").value == len(facts.cpu.allowed)
    for traffic, ratio in (("all-reads", 1.0), ("1:1", 2.0), ("nt-copy", 1.0)):
        bus, useful = (at(found, metric, traffic=traffic).value for metric in ("bus_bandwidth", "bandwidth"))
        assert bus == pytest.approx(ratio * useful, rel=0.01)


@pytest.mark.kernels
def test_the_kernel_names_the_cpu_that_it_refuses() -> None:
    facts = bare_facts().model_copy(update={"cpu": Cpu(allowed=[65535])})
    output = run_step(step(facts, data_size="1M"))
    assert output.status in (2, 3)
    assert "cpu" in output.stderr


def test_outputs_are_needed() -> None:
    with pytest.raises(ValueError, match="was not run"):
        BENCHMARK.parse(params(), [], two_nodes())
