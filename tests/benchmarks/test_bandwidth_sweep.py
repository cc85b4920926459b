"""bandwidth-sweep: settings, steps for levels and the curve, tables and figures, and the real kernel."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest

from asct.benchmarks.bandwidth_sweep import BENCHMARK
from asct.engine.failures import judged
from asct.sdk.benchmark import Context
from asct.sdk.facts import Cache, CoreKind, Cpu, HostFacts, Memory, NumaNode
from asct.sdk.figure import Line
from asct.sdk.record import Measurement
from asct.sdk.step import Step
from tests.benchmarks.kernels import measured_here
from tests.benchmarks.streams import LEVELS, Place, numbers, outputs_of, places
from tests.benchmarks.test_contract import bare_facts, in_order, option, records_of, showing

GIB = 1 << 30
params: Any = partial(BENCHMARK.params_model, visits=1)


def machine() -> HostFacts:
    """Return facts of a machine with four CPUs, two per core, which share one L3 cache. The last two CPUs are on node
    3."""
    caches = [
        Cache(level=1, type="Data", size_bytes=48 << 10, shared_cpus=[0, 1]),
        Cache(level=2, type="Unified", size_bytes=1 << 20, shared_cpus=[0, 1]),
        Cache(level=3, type="Unified", size_bytes=32 << 20, shared_cpus=[0, 1, 2, 3]),
    ]
    return HostFacts(
        host="h",
        collected_at="t",
        cpu=Cpu(online=[0, 1, 2, 3], allowed=[0, 1, 2, 3], threads_per_core=2),
        caches=caches,
        memory=Memory(available_bytes=8 * GIB),
        nodes=[
            NumaNode(id=0, cpus=[0, 1], memory_bytes=8 * GIB, free_bytes=4 * GIB),
            NumaNode(id=3, cpus=[2, 3], memory_bytes=8 * GIB, free_bytes=4 * GIB),
        ],
    )


def steps(facts: HostFacts, **settings: Any) -> dict[str, Step]:
    found = in_order(BENCHMARK, params(**settings), Context(facts, "/work", needs=LEVELS))
    return {step.name: step for step in found}


def levels(facts: HostFacts, **settings: Any) -> dict[str, int]:
    return {place.name: place.size for place in places(steps(facts, **settings)["levels"])}


def gbps(place: Place, traffic: str) -> float:
    """Return 400 GB/s up to 48 KiB, 200 up to 1 MiB, 100 up to 32 MiB, and 20 beyond."""
    return next(
        (rate for end, rate in ((48 << 10, 4e11), (1 << 20, 2e11), (32 << 20, 1e11)) if place.size <= end), 2e10
    )


def measured(facts: HostFacts, **settings: Any) -> Sequence[Measurement]:
    return BENCHMARK.parse(params(**settings), outputs_of(list(steps(facts, **settings).values()), gbps), facts)


def test_the_levels_are_a_process_and_the_curve_another() -> None:
    found = steps(machine())
    assert list(found) == ["levels", "sweep"]
    assert levels(machine()) == {"L1": 24 << 10, "L2": 512 << 10, "LLC": 24 << 20, "DRAM": 600 << 20}
    curve = numbers(found["sweep"], "sizes")
    assert (curve[0], curve[-1], len(curve)) == (2048, 1 << 28, 35)
    assert {option(step, "cpus") for step in found.values()} == {"1"}
    assert {option(step, "nodes") for step in found.values()} == {"0"}


def test_levels_and_curve_are_measured_in_random_order_and_told_in_that_of_the_table() -> None:
    orders, told = set(), set()
    for seed in range(8):
        given = params(seed=seed)
        found = BENCHMARK.steps(given, Context(machine(), "/work", needs=LEVELS))
        orders.add(tuple(step.name for step in found))
        measured = BENCHMARK.parse(given, outputs_of(found, gbps), machine())
        told.add(tuple((item.metric, *item.coords.items()) for item in measured))
    assert (len(orders), len(told)) == (2, 1)


def test_threads_share_what_they_share() -> None:
    assert levels(machine(), threads="all") == {"L1": 12 << 10, "L2": 256 << 10, "LLC": 6 << 20, "DRAM": 150 << 20}
    assert option(steps(machine(), threads="all")["levels"], "nodes") == "0,0,3,3"
    assert option(steps(machine(), cpus="0,2")["levels"], "cpus") == "0,2"
    cores = levels(machine(), cpus="0,2")
    assert (cores["L1"], cores["LLC"]) == (24 << 10, 12 << 20)


def test_memory_of_a_node_is_read_by_its_own_cpus_or_those_named() -> None:
    near = steps(machine(), memory_node=3)["levels"]
    assert (option(near, "cpus"), option(near, "nodes")) == ("3", "3")
    far = steps(machine(), memory_node=3, cpus=[0, 1])["levels"]
    assert (option(far, "cpus"), option(far, "nodes")) == ("0,1", "3")


def test_sizes_fit_the_memory() -> None:
    node = NumaNode(id=0, cpus=[0, 1, 2, 3], memory_bytes=GIB, free_bytes=GIB)
    small = machine().model_copy(update={"memory": Memory(available_bytes=200 << 20), "nodes": [node]})
    found = steps(small)
    assert levels(small)["DRAM"] < 180 << 20
    assert numbers(found["sweep"], "sizes")[-1] < 180 << 20
    assert BENCHMARK.needs(params(), small).memory_bytes < 180 << 20
    assert BENCHMARK.needs(params(sizes="1G"), small).memory_bytes == GIB
    bound = steps(machine(), memory_node=3, cpus=[0, 1], max_size="8G")
    assert numbers(bound["sweep"], "sizes")[-1] < 2 * GIB


def test_given_sizes_need_no_levels() -> None:
    context = Context(bare_facts(), "/work")
    (step,) = BENCHMARK.steps(params(sizes="1M,4K"), context)
    assert (step.name, numbers(step, "sizes")) == ("sweep", [4096, 1 << 20])
    assert BENCHMARK.params_model.aliases()["data_size"] == "sizes"
    assert BENCHMARK.dependencies[0].satisfied_by == ("sizes",)


def test_no_levels_are_said() -> None:
    with pytest.raises(LookupError, match="latency-sweep found no levels on this host; set `sizes`"):
        BENCHMARK.steps(params(), Context(machine(), "/work"))


def test_arguments_carry_every_setting() -> None:
    step = steps(
        machine(), traffic="copy,nt-write", width=32, pages="4K", target_interval="2 %", duration="20ms", seed=4
    )["levels"]
    expected = {
        "traffic": "copy,nt-write", "width": "32", "pages": "4k", "windows": "63", "time-cap-ms": "20",
        "seed": "4",
    }  # fmt: skip
    assert {name: option(step, name) for name in expected} == expected
    assert option(steps(machine(), duration="100ms")["sweep"], "time-cap-ms") == "20"
    assert option(steps(machine(), sizes="4K", duration="100ms")["sweep"], "time-cap-ms") == "100"
    assert numbers(steps(machine(), min_size="4K", max_size="16K", points_per_octave=1)["sweep"], "sizes") == [
        4096, 8192, 16384,
    ]  # fmt: skip


def test_contradictions_name_the_setting() -> None:
    assert [name for name, _ in BENCHMARK.check(params(min_size="1M", max_size="64K"))] == ["min_size"]
    assert [name for name, _ in BENCHMARK.check(params(sizes=[1024], traffic="triad"))] == ["sizes"]
    assert [name for name, _ in BENCHMARK.check(params(min_size=512, traffic="copy,write"))] == ["min_size"]
    assert not list(BENCHMARK.check(params(sizes=[1024], traffic="copy,write")))
    assert [name for name, _ in BENCHMARK.check(params(cpus=[1, 1]))] == ["cpus"]
    assert not list(BENCHMARK.check(params(sizes=["4K"], cpus="0-3")))


def test_levels_are_results_and_sizes_are_details() -> None:
    found = measured(machine(), traffic="all-reads,copy")
    levels = [item for item in found if item.metric == "bandwidth" and "level" in item.coords]
    sizes = [item for item in found if item.metric == "bandwidth" and "size" in item.coords]
    assert [(item.coords["level"], item.value / 1e9) for item in levels if item.coords["traffic"] == "copy"] == [
        ("L1", 400.0), ("L2", 200.0), ("LLC", 100.0), ("DRAM", 20.0),
    ]  # fmt: skip
    assert not any(item.detail for item in levels)
    assert all(item.detail for item in sizes)
    assert {item.coords["size"] for item in sizes if "few-lines" in item.flags} == {2048, 3072}
    alone = measured(machine(), sizes="4K,1M")
    assert not any(item.detail for item in alone)


def test_memory_measured_within_the_caches_is_in_doubt() -> None:
    node = NumaNode(id=0, cpus=[0, 1, 2, 3], memory_bytes=GIB, free_bytes=GIB)
    small = machine().model_copy(update={"memory": Memory(available_bytes=40 << 20), "nodes": [node]})
    doubtful = {item.coords["level"] for item in measured(small) if "invalid-working-set" in item.flags}
    assert doubtful == {"DRAM"}
    assert not any("invalid-working-set" in item.flags for item in measured(machine()))


def test_the_table_has_the_columns_users_know() -> None:
    (table,) = BENCHMARK.tables(records_of(BENCHMARK, measured(machine(), traffic="copy,all-reads")))
    assert [column.title for column in table.columns] == [
        "Data size used", "Level", "Traffic", "Bandwidth [GB/s]", "Bandwidth [B/cycle]", "95 % interval [GB/s]",
        "Max [GB/s]", "Flags",
    ]  # fmt: skip
    assert [(row["level"], row["traffic"]) for row in table.rows][:3] == [
        ("L1", "All Reads"), ("L1", "Copy"), ("L2", "All Reads"),
    ]  # fmt: skip
    assert [row["data_size"] for row in table.rows][::2] == [24 << 10, 512 << 10, 24 << 20, 600 << 20]
    assert table.rows[0]["other"] == pytest.approx(160.0)
    assert table.rows[0]["interval"] is None, "one visit has no interval"


def test_without_levels_the_sizes_are_the_rows() -> None:
    (table,) = showing(BENCHMARK, cycle_base=True).tables(records_of(BENCHMARK, measured(machine(), sizes="1M,4K")))
    assert [row["data_size"] for row in table.rows] == [4096, 1 << 20]
    assert [row["level"] for row in table.rows] == [None, None]
    assert table.columns[3].title == "Bandwidth [B/cycle]"


def test_the_figure_has_a_line_for_each_kind_of_traffic() -> None:
    (figure,) = BENCHMARK.figures(records_of(BENCHMARK, measured(machine(), traffic="copy,all-reads")))
    assert isinstance(figure, Line)
    assert [series.name for series in figure.series] == ["All Reads", "Copy"]
    assert [marker.label for marker in figure.markers] == ["L1", "L2", "LLC", "DRAM"]
    assert (figure.y.unit, figure.x.scale) == ("B/s", "log2")
    (figure,) = showing(BENCHMARK, cycle_base=True).figures(records_of(BENCHMARK, measured(machine())))
    assert figure.y.unit == "B/cycle"
    assert figure.series[0].y[0] == pytest.approx(160.0)


def test_swept_points_have_rows_and_lines_of_their_own() -> None:
    records = []
    for width in ("16", "64"):
        for record in records_of(BENCHMARK, measured(machine(), width=width)):
            records.append(record.model_copy(update={"point": {"width": width}, "point_id": width}))
    (table,) = BENCHMARK.tables(records)
    assert [row["width"] for row in table.rows] == ["16"] * 4 + ["64"] * 4
    (figure,) = BENCHMARK.figures(records)
    assert [series.name for series in figure.series] == ["All Reads, width 16", "All Reads, width 64"]


def test_swept_traffic_has_one_column_and_is_named_once() -> None:
    records = []
    for traffic in ("all-reads", "copy"):
        for record in records_of(BENCHMARK, measured(machine(), traffic=traffic)):
            records.append(record.model_copy(update={"point": {"traffic": traffic}, "point_id": traffic}))
    (table,) = BENCHMARK.tables(records)
    assert [column.key for column in table.columns].count("traffic") == 1
    assert [row["traffic"] for row in table.rows] == ["All Reads"] * 4 + ["Copy"] * 4
    (figure,) = BENCHMARK.figures(records)
    assert [series.name for series in figure.series] == ["All Reads", "Copy"]


def test_only_a_level_that_did_not_settle_makes_the_repeat_noisy() -> None:
    facts = machine()
    for name, noisy in (("sweep", False), ("L2", True)):
        outputs = outputs_of(
            list(steps(facts).values()), gbps, lambda place, name=name: place.name == name, capped=True
        )
        found = BENCHMARK.parse(params(), outputs, facts)
        assert any("noisy" in item.flags and not item.detail for item in found) is noisy


def test_a_level_that_is_slower_than_the_curve_inside_it_is_flagged() -> None:
    def slow(place: Place, traffic: str) -> float:
        return gbps(place, traffic) * (0.85 if place.name == "L1" else 1.0)

    facts = machine()
    for rate, flagged in ((gbps, False), (slow, True)):
        outputs = outputs_of(list(steps(facts, visits=6).values()), rate)
        found = BENCHMARK.parse(params(visits=6), outputs, facts)
        flags = {
            item.coords["level"]: item.flags for item in found if item.metric == "bandwidth" and "level" in item.coords
        }
        assert ("below-curve" in flags["L1"]) is flagged
        assert not any("below-curve" in flags[level] for level in ("L2", "LLC", "DRAM"))


def ends(found: Sequence[Measurement]) -> dict[str, float]:
    return {str(item.coords["level"]): item.value for item in found if item.metric == "curve_end"}


def test_the_curve_of_one_thread_says_where_each_level_ends() -> None:
    facts = machine()

    def staircase(place: Place, traffic: str) -> float:
        return 200e9 if place.size <= 40_000 else 100e9 if place.size <= 900_000 else 25e9

    one = BENCHMARK.parse(params(), outputs_of(list(steps(facts).values()), staircase), facts)
    found = ends(one)
    assert set(found) == {"L1", "L2"}, "the last cache is as fast as memory here"
    assert 32_768 < found["L1"] < 65_536
    assert 740_000 < found["L2"] < 1_500_000
    both = steps(facts, cpus=(0, 1))
    assert ends(BENCHMARK.parse(params(cpus=(0, 1)), outputs_of(list(both.values()), staircase), facts)) == {}


def test_a_curve_that_recovers_says_no_end() -> None:
    facts = machine()

    def disturbed(place: Place, traffic: str) -> float:
        slow = place.size > 40_000 or 10_000 < place.size < 20_000
        return 50e9 if (slow and place.name == "sweep") or place.name != "L1" else 200e9

    assert ends(BENCHMARK.parse(params(), outputs_of(list(steps(facts).values()), disturbed), facts)) == {}


def test_a_core_that_is_known_limits_its_levels() -> None:
    kinds = [CoreKind(microarchitecture="Emerald Rapids", cpus=[0, 1, 2, 3])]
    facts = machine().model_copy(update={"cpu": machine().cpu.model_copy(update={"kinds": kinds})})
    flags, accepted = {}, {}
    for cycles in (100.0, 125.0, 132.0):
        rate = cycles * 2.5e9  # the clock of the samples
        outputs = outputs_of(
            list(steps(facts).values()), lambda place, _, rate=rate: rate if place.name == "L1" else 1e10
        )
        found = BENCHMARK.parse(params(), outputs, facts)
        one = next(item for item in found if item.metric == "bandwidth" and item.coords.get("level") == "L1")
        flags[cycles] = [flag for flag in one.flags if "limit" in flag]
        accepted[cycles] = judged([one], strict=True)[1] is None
    assert flags == {100.0: ["below-core-limit"], 125.0: [], 132.0: ["noisy-above-core-limit"]}
    assert accepted == {100.0: True, 125.0: True, 132.0: False}, "only the last one is impossible"


def test_needs() -> None:
    facts = machine()
    few, many = BENCHMARK.needs(params(max_size="1M"), facts), BENCHMARK.needs(params(traffic="copy,write"), facts)
    assert few.seconds < many.seconds
    assert many.memory_bytes >= 1 << 28
    assert BENCHMARK.needs(params(threads="all"), facts).memory_bytes >= 1 << 30
    assert BENCHMARK.needs(params(pages="4k"), facts).privileges == ()


def test_outputs_are_needed() -> None:
    with pytest.raises(ValueError, match="was not run"):
        BENCHMARK.parse(params(), [], machine())


@pytest.mark.kernels
def test_the_real_kernel() -> None:
    given = params(sizes="4K,64K,1M", traffic="all-reads,triad", duration="5ms", pages="4k")
    found = measured_here(BENCHMARK, given)
    places = {(item.coords["size"], item.coords["traffic"]) for item in found if item.metric == "bandwidth"}
    assert places == {(size, traffic) for size in (4096, 65536, 1 << 20) for traffic in ("all-reads", "triad")}
