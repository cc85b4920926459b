"""loaded-latency: where the load runs, synthetic and recorded curves, tables, and the real kernel."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest

from asct.benchmarks.loaded_latency import BENCHMARK
from asct.benchmarks.loaded_latency.params import DELAYS
from asct.sdk.benchmark import Context
from asct.sdk.facts import Cache, Cpu, HostFacts, Memory
from asct.sdk.figure import Line
from asct.sdk.record import Measurement, Record
from asct.sdk.step import Step
from tests.benchmarks.kernels import facts_here, measured_here, run_step
from tests.benchmarks.load_streams import IDLE_NS, PEAK, QUEUE_NS, bandwidth_of, latency_ns, levels, output, sample
from tests.benchmarks.test_contract import at, bare_facts, host, needed, node, option, records_of

GIB = 1 << 30
OPTIMUM = int(needed(BENCHMARK)["cache.dram.optimum_size"])
params: Any = partial(BENCHMARK.params_model, visits=1)


TWO = host(node(0, [0, 1, 2, 3]), node(1, [4, 5, 6, 7]), node(2, []))
"""Two nodes with CPUs, and one node that has only memory."""


def step(facts: HostFacts = TWO, **settings: Any) -> Step:
    (found,) = BENCHMARK.steps(params(**settings), Context(facts, "/work", needs=needed(BENCHMARK)))
    return found


def measured(samples: Sequence[dict[str, Any]], facts: HostFacts = TWO, **settings: Any) -> Sequence[Measurement]:
    meta = settings.pop("meta", None)
    return BENCHMARK.parse(params(**settings), [output(step(facts, **settings), samples, meta)], facts)


def names(found: Sequence[Measurement]) -> set[str]:
    return {item.metric for item in found}


def test_settings_in_the_spellings_of_the_field() -> None:
    assert params(injected_nops="1,2,5-9:2").injected_nops == (1, 2, 5, 7, 9)
    assert params(injected_nops=0).injected_nops == (0,)
    assert params(touch="128B").touch == 128
    assert params(traffic="2:1 Reads-Writes").traffic == "2:1"
    assert params(width=32).width == "32"
    assert params(target_bandwidth="20 GB/s, 1.5GB/s").target_bandwidth == (20e9, 1.5e9)
    assert params().injected_nops == DELAYS == (3000, 900, 500, 180, 100, 80, 70, 50, 40, 30, 20, 10, 0)


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({"injected_nops": []}, "injected_nops"),
        ({"latency_cpu_id": 3, "load_cpus": [1, 3]}, "load_cpus"),
        ({"load_cpus": [1, 2], "bw_cpu_blocklist": [2]}, "load_cpus"),
        ({"load_cpus": [1, 1]}, "load_cpus"),
        ({"workload_cmd": "sort 'a"}, "workload_cmd"),
        ({"workload_cmd": "  "}, "workload_cmd"),
        ({"workload_cmd": "true", "phase": "bandwidth"}, "workload_cmd"),
    ],
)
def test_contradictions_name_the_setting(settings: dict[str, Any], name: str) -> None:
    assert [found for found, _ in BENCHMARK.check(params(**settings))] == [name]


def test_targets_alone_are_enough() -> None:
    settings = {"injected_nops": [], "target_bandwidth": ["20GB/s"]}
    assert not list(BENCHMARK.check(params(**settings)))
    found = step(**settings)
    assert option(found, "delays") == ""
    assert option(found, "targets") == "20000000000"


def test_every_visit_measures_the_levels_in_an_order_of_its_own() -> None:
    context = Context(TWO, "/work", needs=needed(BENCHMARK))
    found = BENCHMARK.steps(params(visits=6, injected_nops=[900, 500, 100, 50, 20, 10, 0]), context)
    orders = [option(one, "delays") for one in found]
    assert len({*orders}) == 6
    seeds = [step(seed=seed, injected_nops=[900, 500, 100, 50, 20, 10, 0]) for seed in range(10)]
    assert len({option(one, "delays") for one in seeds}) > 5, "the first visit has no fixed order either"
    assert {",".join(sorted(str(order).split(","))) for order in orders} == {"0,10,100,20,50,500,900"}


def test_all_other_cpus_make_load_in_memory_of_their_own_node() -> None:
    found = step()
    assert (option(found, "latency-cpu"), option(found, "latency-node")) == ("3", "0")
    assert option(found, "cpus") == "0,1,2,4,5,6,7"
    assert option(found, "nodes") == "0,0,0,1,1,1,1"
    assert option(found, "size") == str(OPTIMUM)
    assert option(found, "probe") == "chain"


def test_masks_blocks_and_choices_of_cpus() -> None:
    masked = host(*TWO.nodes, allowed=[1, 2, 5])
    assert (option(step(masked), "latency-cpu"), option(step(masked), "cpus")) == ("2", "1,5")
    blocked = step(bw_cpu_blocklist="0,4-7")
    assert (option(blocked, "cpus"), option(blocked, "nodes")) == ("1,2", "0")
    chosen = step(latency_cpu_id=4, load_cpus=[5, 0])
    assert (option(chosen, "latency-cpu"), option(chosen, "latency-node")) == ("4", "1")
    assert (option(chosen, "cpus"), option(chosen, "nodes")) == ("5,0", "1,0")


def test_one_memory_node_holds_everything() -> None:
    found = step(memory_node=2)
    assert (option(found, "latency-cpu"), option(found, "latency-node"), option(found, "nodes")) == ("3", "2", "2")
    local = step(memory_node=1)
    assert (option(local, "latency-cpu"), option(local, "latency-node"), option(local, "nodes")) == ("7", "1", "1")


def test_an_unknown_host_is_left_to_the_kernel() -> None:
    found = step(bare_facts())
    assert option(found, "latency-cpu") is None
    assert option(found, "cpus") is None
    assert option(found, "latency-node") == option(found, "nodes") == "-1"


def test_arguments_carry_every_setting() -> None:
    found = step(
        data_size="1G", load_size="2G", traffic="2:1-nt", width=16, touch=256, pages="4K", seed=9, duration="80ms",
        target_interval="1 %", injected_nops=[8],
    )  # fmt: skip
    expected = {
        "size": str(GIB), "load-size": str(2 * GIB), "traffic": "2:1-nt", "width": "16", "touch": "256", "pages": "4k",
        "seed": "9", "level-ms": "80", "delays": "8",
    }  # fmt: skip
    assert {name: option(found, name) for name in expected} == expected


def test_phases_and_a_workload_choose_what_is_measured() -> None:
    assert option(step(phase="bandwidth"), "probe") == "none"
    assert option(step(phase="loading"), "probe") == "chain"
    found = step(workload_cmd="sort -n 'my file' ; rm")
    assert option(found, "probe") == "workload"
    assert found.arguments[found.arguments.index("--") :] == ("--", "sort", "-n", "my file", ";", "rm")


def test_the_size_comes_from_latency_sweep_or_the_user() -> None:
    with pytest.raises(LookupError, match=r"no DRAM level.*data_size"):
        BENCHMARK.steps(params(), Context(TWO, "/work"))
    (dependency,) = BENCHMARK.dependencies
    assert dependency.satisfied_by == ("data_size",)


def test_load_threads_take_what_the_chain_leaves_of_a_node() -> None:
    caches = [Cache(level=3, type="Unified", size_bytes=256 << 20, shared_cpus=[0, 1, 2, 3])]
    roomy = host(node(0, [0, 1, 2, 3]), caches=caches)
    assert int(option(step(roomy, data_size="1G"), "load-size") or 0) >= 4 * (256 << 20) // 3 - (1 << 16)
    tight = host(node(0, [0, 1, 2, 3], free=2 * GIB), node(1, [4]), caches=caches)
    size = int(option(step(tight, data_size="1G"), "load-size") or 0)
    assert size * 3 + GIB <= 2 * GIB
    flagged = measured(levels([0]), tight, data_size="1G")
    assert "invalid-working-set" not in at(flagged, "bandwidth", delay=0).flags
    flagged = measured(levels([0]), tight, data_size="1G", load_size="64M")
    assert "invalid-working-set" in at(flagged, "bandwidth", delay=0).flags


def test_needs_two_cpus_unless_only_bandwidth_is_asked_for() -> None:
    assert BENCHMARK.needs(params(), TWO).cpus == 2
    assert BENCHMARK.needs(params(phase="bandwidth"), TWO).cpus == 1
    alone = host(node(0, [0]))
    assert option(step(alone, phase="bandwidth"), "cpus") == "0"
    known = TWO.model_copy(update={"memory": Memory(available_bytes=64 * GIB)})
    assert BENCHMARK.needs(params(data_size="1G", load_size="2G"), known).memory_bytes == 15 * GIB
    few, many = (BENCHMARK.needs(params(injected_nops=list(range(count))), None) for count in (2, 20))
    assert many.seconds - few.seconds == pytest.approx(18 * 0.03)


def test_levels_become_latency_and_bandwidth_of_the_same_delay() -> None:
    found = measured(levels([900, 100, 0]))
    assert at(found, "idle_latency").value == pytest.approx(IDLE_NS * 1e-9)
    for delay in (900, 100, 0):
        bandwidth = bandwidth_of(delay)
        latency = at(found, "latency", delay=delay)
        assert latency.value == pytest.approx(latency_ns(bandwidth) * 1e-9, rel=1e-4)
        assert latency.stats is not None
        assert (latency.stats.n, latency.stats.visits, latency.stats.ci95) == (300, 1, None)
        assert at(found, "bandwidth", delay=delay).value == pytest.approx(bandwidth)
        cycles = at(found, "latency_cycles", delay=delay).value
        assert cycles == pytest.approx(latency.value * 3e9, rel=1e-4)
        assert at(found, "bandwidth_cycles", delay=delay).value == pytest.approx(bandwidth / 3e9, rel=1e-4)
    assert at(found, "core_clock").value == pytest.approx(3e9, rel=1e-4)


def test_levels_have_the_order_of_the_setting_whatever_the_order_of_the_visit() -> None:
    target = sample("target", 20, target_bps=20_000_000_000, reached=True)
    idle, *rest = levels([100, 0, 900])
    found = measured([idle, *rest, target], injected_nops=[900, 100, 0], target_bandwidth=["20GB/s"])
    assert [item.coords for item in found if item.metric == "latency"] == [
        {"delay": 900}, {"delay": 100}, {"delay": 0}, {"target_bandwidth": 20e9},
    ]  # fmt: skip


def test_bytes_on_the_bus_count_the_lines_read_for_ownership() -> None:
    found = measured(levels([0], bus_permille=1500), traffic="2:1", theoretical_bandwidth="120 GB/s")
    useful, bus = at(found, "bandwidth", delay=0), at(found, "bus_bandwidth", delay=0)
    assert bus.value == pytest.approx(1.5 * useful.value)
    assert at(found, "peak_bandwidth").value == pytest.approx(bus.value)
    assert at(found, "share_of_theoretical", delay=0).value == pytest.approx(100 * bus.value / 120e9)


def test_the_curve_as_a_whole() -> None:
    """The latency is 100 + 5 x / (1 - x) ns. The power is greatest where x / (1 - x) is the square root of 100 / 5."""
    delays = (3000, 900, 500, 180, 100, 80, 50, 40, 30, 25, 22, 20, 18, 15, 10, 5, 2, 1, 0)
    found = measured(levels(delays))
    odds = (IDLE_NS / QUEUE_NS) ** 0.5
    assert at(found, "peak_bandwidth").value == pytest.approx(0.98 * PEAK)
    assert at(found, "peak_bandwidth").flags == ()
    assert at(found, "knee_bandwidth").value == pytest.approx(PEAK * odds / (1 + odds), rel=0.03)
    assert at(found, "latency_at_80").value == pytest.approx(latency_ns(0.8 * 0.98 * PEAK) * 1e-9, rel=0.01)
    odds = 0.15 * IDLE_NS / QUEUE_NS
    assert at(found, "bandwidth_at_115").value == pytest.approx(PEAK * odds / (1 + odds), rel=0.01)


def test_what_the_curve_does_not_show_is_left_out_and_said() -> None:
    found = measured([sample("idle", None), *(sample("level", delay) for delay in (2, 1, 0))])
    assert not names(found) & {"knee_bandwidth", "knee_latency", "latency_at_80", "bandwidth_at_115"}
    assert at(found, "peak_bandwidth").flags == ("no-knee", "no-latency-at-80", "no-bandwidth-at-115")
    coarse = measured(levels([3000, 0]))
    assert at(coarse, "latency_at_80").flags == ("coarse-levels",)


def test_values_of_the_whole_curve_have_all_flags_of_its_levels() -> None:
    samples = levels([900, 500, 180, 100, 50, 20, 10, 5, 0])
    samples[3]["dropped"] = 10_000
    found = measured(samples)
    for metric in ("latency_at_80", "bandwidth_at_115", "knee_latency", "knee_bandwidth"):
        assert "switched" in at(found, metric).flags, metric


def test_a_noisy_level_puts_the_curve_in_doubt() -> None:
    samples = levels([900, 500, 180, 100, 50, 20, 10, 5, 0])
    samples[3]["windows"] = 9
    found = measured(samples)
    assert at(found, "latency", delay=180).flags == ("noisy",)
    assert at(found, "latency", delay=100).flags == ()
    assert "noisy" in at(found, "latency_at_80").flags
    assert at(found, "peak_bandwidth").flags == ()


def test_phases_report_their_part() -> None:
    loading = measured(levels([900, 0]), phase="loading")
    assert {"latency", "idle_latency"} <= names(loading)
    assert not names(loading) & {"bandwidth", "bus_bandwidth", "peak_bandwidth", "latency_at_80"}
    nothing = dict.fromkeys(("median_ps", "ci_low_ps", "ci_high_ps", "min_ps", "max_ps", "cycle_fs", "chain_bps"))
    alone = [sample("level", delay, **nothing, latency_ps=[]) for delay in (900, 0)]
    found = measured(alone, phase="bandwidth", meta={"chain_arena": None})
    assert {"bandwidth", "bus_bandwidth", "peak_bandwidth"} <= names(found)
    assert not names(found) & {"latency", "latency_cycles", "idle_latency", "core_clock", "data_size", "knee_latency"}
    assert at(found, "peak_bandwidth").flags == ()


def test_a_workload_is_timed_under_each_level() -> None:
    nothing = dict.fromkeys(("median_ps", "ci_low_ps", "ci_high_ps", "min_ps", "max_ps", "cycle_fs", "chain_bps"))
    samples = [sample("idle", None, **nothing, latency_ps=[], workload_ns=500_000_000),
               sample("level", 0, **nothing, latency_ps=[], workload_ns=900_000_000)]  # fmt: skip
    found = measured(samples, workload_cmd="true", meta={"chain_arena": None})
    assert at(found, "idle_workload_time").value == 0.5
    assert at(found, "workload_time", delay=0).value == pytest.approx(0.9)
    (levels_table, *_) = BENCHMARK.tables(records_of(BENCHMARK, found))
    assert levels_table.rows[0]["workload"] == pytest.approx(0.9)


def test_targets_are_values_of_their_own() -> None:
    asked = ["20GB/s", "60GB/s"]
    samples = [
        *levels([0]),
        sample("target", 95, target_bps=20_000_000_000, reached=True),
        sample("target", 0, target_bps=60_000_000_000, reached=False),
    ]
    found = measured(samples, target_bandwidth=asked)
    assert at(found, "nops", target_bandwidth=20e9).value == 95
    assert at(found, "latency", target_bandwidth=20e9).flags == ()
    assert at(found, "latency", target_bandwidth=60e9).flags == ("invalid-target",)
    assert at(found, "latency", delay=0).flags == ()
    targets = next(table for table in BENCHMARK.tables(records_of(BENCHMARK, found)) if table.slug == "targets")
    assert [(row["target"], row["nops"]) for row in targets.rows] == [(20e9, 95.0), (60e9, 0.0)]
    assert "invalid-target" in targets.flags


def test_a_level_without_load_is_invalid() -> None:
    stood_still = {"median_bps": 0, "ci_low_bps": 0, "ci_high_bps": 0, "min_bps": 0}
    found = measured([*levels([900, 500, 100, 10]), sample("level", 0, capped=True, **stood_still)])
    assert "invalid-load" in at(found, "latency", delay=0).flags
    assert "invalid-load" in at(found, "bandwidth", delay=0).flags
    assert at(found, "peak_bandwidth").value == pytest.approx(bandwidth_of(10))
    for metric in ("latency_at_80", "peak_bandwidth"):
        assert "noisy-missing" in at(found, metric).flags and "invalid-load" not in at(found, metric).flags
    (curve,) = BENCHMARK.figures(records_of(BENCHMARK, found))
    assert isinstance(curve, Line)
    assert [len(line.x) for line in curve.series] == [4] and min(curve.series[0].x) > 0
    assert at(found, "latency", delay=900).flags == ()
    disturbed = measured([sample("idle", None, windows=9, disturbed=True), sample("level", 0)])
    assert at(disturbed, "idle_latency").flags == ("noisy", "invalid-load")
    assert at(disturbed, "latency", delay=0).flags == ()


def test_a_short_chain_is_flagged() -> None:
    found = measured(levels([0]), data_size="32M")
    assert "small-working-set" in at(found, "latency", delay=0).flags
    assert "small-working-set" not in at(found, "bandwidth", delay=0).flags


def test_the_tables_have_the_columns_that_users_know() -> None:
    tables = BENCHMARK.tables(records_of(BENCHMARK, measured(levels([0, 900, 100]))))
    assert [table.slug for table in tables] == ["loaded-latency", "summary"]
    first = tables[0]
    assert first.title == "Loaded latency with background memory activity"
    assert [column.title for column in first.columns] == [
        "Injected NOPs", "Loaded latency [ns]", "Bandwidth [GB/s]", "Useful BW [GB/s]", "% of Peak Theoretical BW",
        "Workload [s]", "95 % interval [ns]", "Flags",
    ]  # fmt: skip
    assert [row["delay"] for row in first.rows] == [900, 100, 0]
    assert {row["useful"] for row in first.rows} == {row["share"] for row in first.rows} == {None}


def swept(words: Sequence[str]) -> list[Record]:
    records: list[Record] = []
    for word in words:
        for record in records_of(BENCHMARK, measured(levels(DELAYS, bus_permille=1500), traffic=word)):
            records.append(record.model_copy(update={"point": {"traffic": word}, "point_id": word}))
    return records


def test_swept_points_get_rows_and_lines_of_their_own() -> None:
    records = swept(["2:1", "nt-write"])
    tables = BENCHMARK.tables(records)
    assert [len(table.rows) for table in tables] == [2 * len(DELAYS), 2]
    assert tables[0].columns[0].key == "traffic"
    (figure,) = BENCHMARK.figures(records)
    assert isinstance(figure, Line)
    assert [series.name for series in figure.series] == ["traffic 2:1", "traffic nt-write"]
    assert figure.markers == ()


def test_the_figure_is_latency_over_bandwidth_with_the_knee() -> None:
    found = measured(levels([3000, 900, 500, 180, 100, 50, 30, 20, 10, 5, 2, 0]))
    (figure,) = BENCHMARK.figures(records_of(BENCHMARK, found))
    assert isinstance(figure, Line)
    assert (figure.x.unit, figure.y.unit) == ("B/s", "s")
    (series,) = figure.series
    assert series.x == tuple(sorted(series.x))
    (knee,) = figure.markers
    assert knee.x == at(found, "knee_bandwidth").value
    assert knee.label.startswith("knee: ")
    assert series.labels == ("3000", "900", "500", "180", "100", "50", "30", "20", "10", "5", "2", "0")
    assert series.labels_name == "NOPs"
    assert len(series.details) == 12


@pytest.mark.parametrize(("theoretical", "marks"), [("60 GB/s", ["theoretical peak 60 GB/s"]), ("9 TB/s", [])])
def test_the_theoretical_peak_is_a_line_unless_it_is_far_away(theoretical: str, marks: list[str]) -> None:
    found = measured(levels([900, 100, 0]), theoretical_bandwidth=theoretical)
    (figure,) = BENCHMARK.figures(records_of(BENCHMARK, found))
    assert isinstance(figure, Line)
    assert [marker.label for marker in figure.markers if marker.kind == "hint"] == marks


def test_every_bandwidth_above_the_theoretical_peak_is_flagged() -> None:
    found = measured(levels([900, 100, 0]), theoretical_bandwidth="30 GB/s")
    flagged = {(item.metric, item.coords.get("delay")) for item in found if "above-theoretical" in item.flags}
    assert flagged == {*(("bandwidth", 0), ("bus_bandwidth", 0), ("share_of_theoretical", 0)), ("peak_bandwidth", None)}


@pytest.mark.parametrize(
    ("samples", "told"),
    [
        ([], "reported no load level"),
        ([sample("warm", 0)], "unknown phase"),
        ([sample("level", 0, windows=0)], "no windows"),
        ([sample("level", 0, bandwidth_bps=[])], "has no windows in `bandwidth_bps`"),
        ([sample("level", 0, latency_ps="x")], "has no windows in `latency_ps`"),
        ([sample("level", None)], "no number for `delay`"),
    ],
)
def test_output_that_is_none_is_refused(samples: list[dict[str, Any]], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        measured(samples)


@pytest.mark.kernels
def test_the_kernel_takes_the_arguments() -> None:
    settings = params(data_size="8M", load_size="4M", duration="20ms", injected_nops=[500, 0], pages="4k")
    found = measured_here(BENCHMARK, settings)
    assert at(found, "threads").value == len(facts_here().cpu.allowed) - 1
    assert {item.coords["delay"] for item in found if item.metric == "latency"} == {500, 0}
    assert all(1e-9 < item.value < 1e-4 for item in found if item.metric == "latency")
    assert all(item.value > 0 or "invalid-load" in item.flags for item in found if item.metric == "bandwidth")


@pytest.mark.kernels
def test_one_cpu_alone_is_refused_by_the_kernel_too() -> None:
    cpu = facts_here().cpu.allowed[0]
    alone = facts_here().model_copy(update={"cpu": Cpu(online=[cpu], allowed=[cpu])})
    done = run_step(step(alone, data_size="8M", load_size="4M", injected_nops=[0]))
    assert done.status in (2, 3)
    assert "cpu" in done.stderr
