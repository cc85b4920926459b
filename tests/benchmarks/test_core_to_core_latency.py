"""core-to-core-latency: settings, the command line, values of pairs and their summaries, and the real kernel."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from functools import partial
from itertools import combinations
from typing import Any

import pytest

from asct.benchmarks.core_to_core_latency import BENCHMARK
from asct.benchmarks.core_to_core_latency.command import rounds
from asct.benchmarks.core_to_core_latency.pairs import FLAGS, INTERFERENCE, MISSING, SIBLINGS
from asct.sdk.benchmark import Context
from asct.sdk.facts import Cpu, HostFacts, NumaNode
from asct.sdk.figure import Table
from asct.sdk.record import Measurement
from asct.sdk.step import Output, Step
from tests.benchmarks.kernels import facts_here, measured_here, run_step
from tests.benchmarks.pingpong_streams import Machine, played, sample, stream
from tests.benchmarks.test_contract import POINT, at, bare_facts, folder_of, in_order, option, records_of, showing

TWO = Machine()
params: Any = partial(BENCHMARK.params_model, visits=1)


def steps(facts: HostFacts, **settings: Any) -> Sequence[Any]:
    return in_order(BENCHMARK, params(**settings), Context(facts, "/work"))


def measured(machine: Machine, change: Any = None, **settings: Any) -> Sequence[Measurement]:
    chosen = params(all_cpus=True, **settings)
    return BENCHMARK.parse(chosen, played(BENCHMARK, chosen, machine, change or (lambda line: line)), machine.facts())


def tables(machine: Machine, change: Any = None, **settings: Any) -> dict[str, Table]:
    found = BENCHMARK.tables(records_of(BENCHMARK, measured(machine, change, **settings)))
    return {table.slug: table for table in found}


# ---- settings ----


def test_settings_are_read_as_people_write_them() -> None:
    assert params(cpus="0-3,8").cpus == (0, 1, 2, 3, 8)
    assert params(cpus=[4, 2]).cpus == (4, 2)
    assert params(methods="cas,chain").methods == ("cas", "chain")
    assert params(memory_nodes="Local").memory_nodes == "local"
    assert params(memory_nodes="ALL").memory_nodes == "all"
    assert params(memory_nodes="0,8").memory_nodes == (0, 8)
    assert params(memory_nodes=3).memory_nodes == (3,)
    assert BENCHMARK.params_model.aliases()["data_size"] == "chain_size"


@pytest.mark.parametrize(("written", "ns"), [(200, 200), ("150", 150), (99.5, 99.5), ("0.3us", 300), ("250 ns", 250)])
def test_the_end_of_the_colours_is_nanoseconds_or_a_duration(written: object, ns: float) -> None:
    chosen = params(heatmap_vmax=written)
    assert chosen.heatmap_vmax == pytest.approx(ns)
    assert params(heatmap_vmax=chosen.heatmap_vmax) == chosen


def test_contradictions_name_the_setting() -> None:
    def named(**settings: Any) -> list[str]:
        return [name for name, _ in BENCHMARK.check(params(**settings))]

    assert named(cpus=[3]) == ["cpus"]
    assert named(cpus=[3, 4, 3]) == ["cpus"]
    assert named(methods=["cas", "cas"]) == ["methods"]
    assert named(cpus=[3, 4], all_cpus=True) == ["all_cpus"]
    assert named(cpus=[3, 4], methods=["cas"]) == []


# ---- the command line ----


def test_arguments_carry_every_setting() -> None:
    (step,) = steps(
        TWO.facts(), cpus=[1, 5, 6], methods=["cas", "token"], iterations=400, turns=50, addresses=3, chain_size="64K",
        memory_nodes=[1], parallel=False, check_pairs=2, target_interval="2 %", time_cap="25ms", pages="THP", seed=9,
    )  # fmt: skip
    assert step.name == "memory1"
    expected = {
        "cpus": "1,5,6", "methods": "cas,token", "batches": "400", "turns": "50", "addresses": "3", "node": "1",
        "chain-bytes": "65536", "parallel": "0", "check-pairs": "2", "time-cap-ms": "25",
        "pages": "thp", "seed": "9", "list-batches": None,
    }  # fmt: skip
    assert {name: option(step, name) for name in expected} == expected


def test_the_last_two_usable_cpus_of_each_node_unless_told_otherwise() -> None:
    facts = Machine(node_ids=(0, 4), per_node=4, memory_only=(9,)).facts()
    masked = facts.model_copy(update={"cpu": Cpu(online=list(range(8)), allowed=[0, 1, 2, 5])})
    assert {option(step, "cpus") for step in steps(facts)} == {"2,3,6,7"}
    assert {option(step, "cpus") for step in steps(masked)} == {"1,2,5"}
    assert {option(step, "cpus") for step in steps(masked, all_cpus=True)} == {"0,1,2,5"}
    assert {option(step, "cpus") for step in steps(facts, cpus=[0, 1])} == {"0,1"}


def test_one_process_for_the_memory_of_each_node() -> None:
    facts = Machine(node_ids=(0, 4), memory_only=(9,)).facts()

    def nodes(**settings: Any) -> list[str | None]:
        return [option(step, "node") for step in steps(facts, **settings)]

    assert nodes() == ["0", "4"]
    assert nodes(cpus=[0, 1]) == ["0"]
    assert nodes(memory_nodes="all") == ["0", "4", "9"]
    assert nodes(memory_nodes=[9, 0]) == ["9", "0"]
    assert nodes(memory_nodes=[7]) == ["7"]
    (unbound,) = steps(bare_facts())
    assert option(unbound, "node") is None
    assert option(unbound, "cpus") is None
    first, second = BENCHMARK.steps(params(), Context(facts, "/w"))
    assert list(BENCHMARK.steps(params(), Context(facts, "/w", (Output(first, 0, {}),)))) == [second]


def test_the_nodes_are_measured_in_random_order_and_told_in_that_of_the_setting() -> None:
    orders = set()
    for seed in range(8):
        chosen = params(memory_nodes=[1, 0], methods=["cas"], seed=seed)
        done = played(BENCHMARK, chosen, TWO)
        orders.add(tuple(output.step.name for output in done))
        found = BENCHMARK.parse(chosen, done, TWO.facts())
        assert [item.coords["memory_node"] for item in found if item.metric == "page_size"] == [1, 0]
    assert len(orders) == 2


def test_single_batches_are_not_kept_of_thousands_of_pairs() -> None:
    few, many = Machine(per_node=30).facts(), Machine(per_node=40).facts()
    assert option(steps(few, all_cpus=True)[0], "list-batches") is None
    assert option(steps(many, all_cpus=True)[0], "list-batches") == "0"


# ---- time and memory ----


@pytest.mark.parametrize(
    ("cpus", "threads", "expected"),
    [(2, 1, 1), (3, 1, 3), (4, 1, 3), (192, 1, 191), (576, 1, 575), (577, 1, 577), (2, 2, 1), (4, 2, 5), (192, 2, 381)],
)
def test_rounds_of_the_schedule(cpus: int, threads: int, expected: int) -> None:
    assert rounds(cpus, threads, True) == expected
    assert rounds(cpus, threads, False) == cpus * (cpus - 1) // 2


@pytest.mark.parametrize(("per_node", "low", "high"), [(96, 40, 60), (288, 120, 180)])
def test_the_planned_time_grows_with_the_cpus_and_not_with_the_pairs(per_node: int, low: float, high: float) -> None:
    facts = Machine(per_node=per_node).facts()
    needs = BENCHMARK.needs(params(all_cpus=True), facts)
    assert (needs.kernels, needs.cpus) == (("pingpong",), 2)
    assert low <= needs.seconds <= high  # two nodes, N - 1 rounds of three methods each
    serial = BENCHMARK.needs(params(all_cpus=True, parallel=False), facts).seconds
    assert serial > 90 * needs.seconds
    assert BENCHMARK.needs(params(all_cpus=True, methods=["cas"]), facts).seconds < 0.4 * needs.seconds
    assert BENCHMARK.needs(params(), facts).seconds < 2
    assert 256 << 20 <= needs.memory_bytes <= 576 << 20
    assert BENCHMARK.needs(params(), facts).memory_bytes < 64 << 20


# ---- values ----


def test_pairs_are_details_and_nodes_are_results() -> None:
    found = measured(TWO)
    pair = at(found, "one_way", cpu_a=0, cpu_b=5, node_a=0, node_b=1, method="cas", memory_node=1)
    assert pair.value == pytest.approx(TWO.ps(0, 5, "cas", 1) * 1e-12)
    assert pair.detail and pair.stats is not None and pair.stats.n == 11
    forth = at(found, "latency", cpu_a=0, cpu_b=5, node_a=0, node_b=1, method="chain", memory_node=0)
    back = at(found, "latency", cpu_a=5, cpu_b=0, node_a=1, node_b=0, method="chain", memory_node=0)
    assert forth.value != back.value
    local = at(found, "one_way", method="cas", data="local", node_a=0, node_b=1)
    remote = at(found, "one_way", method="cas", data="remote", node_a=0, node_b=1)
    assert local.value == pytest.approx(150e-9, rel=1e-3)
    assert remote.value == pytest.approx(159e-9, rel=1e-3)
    assert not local.detail and local.stats is not None and local.stats.ci95 is None
    assert at(found, "round_trip", method="cas", data="local", node_a=0, node_b=1).value == 2 * local.value
    assert len([item for item in found if item.detail and "cpu_b" in item.coords]) == 2 * 28 * 4


def test_the_medians_are_those_of_the_ordered_pairs() -> None:
    found = measured(TWO, methods=["chain"])
    between = [TWO.ps(a, b, "chain", 0) for a in range(4) for b in range(4, 8)]
    item = at(found, "latency", method="chain", data="local", node_a=0, node_b=1)
    assert item.value == pytest.approx(sorted(between)[7] * 0.5e-12 + sorted(between)[8] * 0.5e-12)
    assert item.stats is not None and (item.stats.n, item.stats.min) == (16, pytest.approx(min(between) * 1e-12))


def test_one_pair_keeps_its_own_spread_and_flags() -> None:
    found = measured(Machine(node_ids=(0,), per_node=2))
    item = at(found, "one_way", method="token", data="local")
    assert item.stats is not None and (item.stats.visits, item.stats.n) == (1, 11) and item.stats.mad > 0
    wide = measured(
        Machine(node_ids=(0,), per_node=2),
        lambda line: {**line, "capped": True, "dropped": 3},
        methods=["cas"],
    )
    assert at(wide, "one_way", method="cas", data="local").flags == ("noisy",)


def test_a_pair_whose_batches_were_mostly_dropped_says_so() -> None:
    found = measured(Machine(node_ids=(0,), per_node=2), lambda line: {**line, "dropped": 12}, methods=["cas"])
    item = at(found, "one_way", method="cas", data="local")
    assert item.stats is not None and (item.stats.n, item.stats.dropped) == (11, 12)
    assert item.flags == ("switched",)


def test_several_pairs_are_noisy_when_most_of_them_are() -> None:
    def wide(cpus: int) -> Any:
        return lambda line: {**line, "capped": True} if max(line["cpu_a"], line["cpu_b"]) >= cpus else line

    few = measured(Machine(node_ids=(0,), per_node=8), wide(7), methods=["cas"])
    most = measured(Machine(node_ids=(0,), per_node=8), wide(4), methods=["cas"])
    assert at(few, "one_way", method="cas", data="local").flags == ()
    assert at(most, "one_way", method="cas", data="local").flags == ("noisy",)
    assert sum("noisy" in item.flags for item in few if item.detail) == 7


def noisy_back(line: dict[str, Any]) -> dict[str, Any]:
    """The chain has too few batches in one direction."""
    return {**line, "capped": line["method"] == "chain" and line["cpu_a"] == 1}


def test_the_value_of_a_pair_has_the_flags_of_both_directions() -> None:
    found = measured(Machine(node_ids=(0,), per_node=2, siblings=True), noisy_back)
    for coords in ({}, {"node_a": 0, "node_b": 0}):
        value = at(found, "latency", method="chain", data="local", **coords)
        assert set(value.flags) == {"noisy", SIBLINGS}
    assert at(found, "one_way", method="cas", data="local").flags == (SIBLINGS,)
    details = {
        item.coords["cpu_a"]: item.flags for item in found if item.detail and item.coords.get("method") == "chain"
    }
    assert details == {0: (SIBLINGS,), 1: ("noisy", SIBLINGS)}


def test_values_derived_from_noisy_pairs_are_noisy() -> None:
    machine = Machine(node_ids=(0,))
    chosen = params(all_cpus=True)
    outputs = played(BENCHMARK, chosen, machine)
    stolen = [
        Output(one.step, 0, {**one.files, "stdout": one.stdout.replace('"steal_ns":0', '"steal_ns":999999999')}, 1)
        for one in outputs
    ]
    found = BENCHMARK.parse(chosen, stolen, machine.facts())
    derived = [item for item in found if item.metric in ("one_way", "round_trip", "latency", "address_spread")]
    assert derived and all("noisy-steal" in item.flags for item in derived)


def pair_of(moved: dict[int, set[tuple[int, int]]], slow: int = 0) -> dict[str, Measurement]:
    """Return the values of one pair over six visits, keyed by method. The first `slow` visits take four times as
    long."""
    machine = Machine(node_ids=(0,), per_node=2)
    chosen = params(visits=6)
    outputs = played(BENCHMARK, chosen, machine, moved=moved)
    far = played(BENCHMARK, chosen, machine, lambda line: {**line, "median_ps": 4 * line["median_ps"]}, moved)
    found = BENCHMARK.parse(chosen, [*far[:slow], *outputs[slow:]], machine.facts())
    return {str(item.coords["method"]): item for item in found if item.metric in ("one_way", "latency") and item.detail}


def test_a_cpu_that_moves_in_in_order_is_counted_and_in_the_interval() -> None:
    for item in pair_of({}).values():
        assert item.stats is not None and item.stats.moved is None
        assert "moved" not in item.flags
    for method, item in pair_of({1: {(0, 1)}}, slow=1).items():
        assert "moved" in item.flags and "two-states" not in item.flags, method
        assert item.stats is not None and item.stats.ci95 is not None
        assert (item.stats.visits, item.stats.moved) == (6, 1)
        assert item.stats.ci95[0] <= item.value and item.stats.ci95[1] >= 4 * item.value


def test_two_states_are_still_seen_where_a_cpu_moved() -> None:
    for item in pair_of({3: {(0, 1)}}, slow=3).values():
        assert {"moved", "two-states"} <= set(item.flags)
        assert item.stats is not None and item.stats.states is not None
        assert [state.share for state in item.stats.states] == [0.5, 0.5]


def test_pairs_that_disturb_one_another_are_told() -> None:
    def checked(factor: float) -> Sequence[Measurement]:
        chosen = params(all_cpus=True, methods=["cas", "chain"])
        machine = Machine(node_ids=(0,), per_node=4)
        (step,) = BENCHMARK.steps(chosen, Context(machine.facts(), "/work"))
        lines = [sample(machine, a, b, method, 0) for a, b in combinations(range(4), 2) for method in ("cas", "chain")]
        alone = sample(machine, 0, 1, "cas", 0, phase="alone")
        alone["median_ps"] = round(alone["median_ps"] / factor)
        output = Output(step, 0, {"stdout": stream(machine, range(4), 0, lines=[*lines, alone])})
        return BENCHMARK.parse(chosen, [output], machine.facts())

    fine, bad = checked(1.05), checked(1.3)
    assert at(fine, "interference", method="cas", memory_node=0).flags == ()
    assert at(bad, "interference", method="cas", memory_node=0).value == pytest.approx(1.3, rel=1e-3)
    assert INTERFERENCE in at(bad, "one_way", method="cas", data="local").flags
    assert at(bad, "latency", method="chain", data="local").flags == ()
    assert not any(INTERFERENCE in item.flags for item in fine)
    assert "parallel: false" in FLAGS[INTERFERENCE]


def test_pairs_without_a_value_are_counted() -> None:
    def lost(line: dict[str, Any]) -> dict[str, Any]:
        nothing = dict.fromkeys(("median_ps", "p25_ps", "ci_low_ps", "ci_high_ps", "min_ps", "max_ps"))
        gone = line["method"] == "cas" or (line["cpu_a"], line["cpu_b"], line["method"]) == (0, 1, "token")
        return {**line, **nothing, "batches": 0, "ns": []} if gone else line

    found = measured(Machine(node_ids=(0,), per_node=3), lost)
    assert at(found, "missing", method="cas", memory_node=0).value == 3
    assert at(found, "missing", method="token", memory_node=0).flags == (MISSING,)
    assert {item.coords["method"] for item in found if item.metric == "one_way"} == {"token"}
    with pytest.raises(ValueError, match="idle machine"):
        measured(Machine(node_ids=(0,), per_node=3), lost, methods=["cas"])


def test_threads_of_one_core_are_labelled() -> None:
    found = measured(Machine(node_ids=(0,), per_node=4, siblings=True), methods=["cas"])
    flagged = {(item.coords["cpu_a"], item.coords["cpu_b"]) for item in found if SIBLINGS in item.flags}
    assert flagged == {(0, 1), (2, 3)}


def test_cycles_are_those_of_the_core_that_measured() -> None:
    found = measured(TWO, cycle_base=True, methods=["chain"])
    at_pair = {"cpu_a": 0, "cpu_b": 1, "node_a": 0, "node_b": 0, "method": "chain", "memory_node": 0}
    seconds, cycles = at(found, "latency", **at_pair), at(found, "latency_cycles", **at_pair)
    assert cycles.value == pytest.approx(seconds.value / 333e-12)
    assert cycles.stats is not None and cycles.stats.median == cycles.value
    assert at(found, "core_clock", memory_node=0).value == pytest.approx(3.003e9, rel=1e-3)
    matrix = next(
        t for t in showing(BENCHMARK, cycle_base=True).tables(records_of(BENCHMARK, found)) if t.slug == "nodes-local"
    )
    assert "(cycles)" in matrix.title


def test_points_with_and_without_cycles_are_shown_in_time() -> None:
    some = [
        one.model_copy(update={"point": {"cycle_base": True}})
        for one in records_of(BENCHMARK, measured(TWO, cycle_base=True, methods=["cas"]))
    ]
    other = [
        one.model_copy(update={"point": {"cycle_base": False}, "point_id": "f" * 12})
        for one in records_of(BENCHMARK, measured(TWO, methods=["cas"]))
    ]
    shown = BENCHMARK.with_settings({POINT: {"cycle_base": True}})
    [matrix] = [table for table in shown.tables([*some, *other]) if table.slug == "nodes-local"]
    assert "(ns)" in matrix.title
    assert [row["node0"] for row in matrix.rows[::2]] == [pytest.approx(34e-9, rel=1e-3)] * 2


def test_without_nodes_all_cpus_are_in_node_0() -> None:
    facts = bare_facts().model_copy(update={"cpu": Cpu(online=[0, 1, 2], allowed=[0, 1, 2])})
    chosen = params(all_cpus=True, methods=["cas"])
    (step,) = BENCHMARK.steps(chosen, Context(facts, "/work"))
    machine = Machine(node_ids=(0,), per_node=3)
    lines = [sample(machine, a, b, "cas", -1) for a, b in combinations(range(3), 2)]
    output = Output(step, 0, {"stdout": stream(machine, range(3), -1, lines=lines)})
    found = BENCHMARK.parse(chosen, [output], facts)
    assert at(found, "one_way", method="cas", data="local", node_a=0, node_b=0).stats is not None


# ---- bad outputs and the real kernel ----


@pytest.mark.parametrize(
    ("change", "message"),
    [({"method": "mutex"}, "unexpected"), ({"cpu_a": None}, "cpu_a"), ({"cycle_fs": "x"}, "cycle_fs")],
)
def test_odd_samples_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        measured(TWO, lambda line: {**line, **change})


two_cpus = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two CPUs")


@pytest.mark.kernels
@two_cpus
def test_the_real_kernel_gives_all_methods() -> None:
    found = measured_here(BENCHMARK, params(time_cap="200ms", target_interval="5 %"))
    methods = {item.coords.get("method") for item in found}
    assert {"token", "cas", "chain"} <= methods
    for item in found:
        if item.metric in ("latency", "one_way"):
            assert 1e-9 < item.value < 1e-3
    assert BENCHMARK.tables(records_of(BENCHMARK, found))


@pytest.mark.kernels
@two_cpus
def test_the_real_kernel_without_single_batches() -> None:
    chosen = params(time_cap="200ms", target_interval="10 %")
    (step,) = steps(facts_here(), time_cap="200ms", target_interval="10 %")
    output = run_step(Step(step.name, step.program, (*step.arguments, "--list-batches", "0")))
    found = BENCHMARK.parse(chosen, [output], facts_here())
    pairs = [item for item in found if "cpu_b" in item.coords]
    assert pairs and all(item.stats is None and item.detail for item in pairs)
    meta = json.loads(output.stdout.splitlines()[0])
    assert len(meta["clusters"]) == len(meta["cpus"]) == 2
    assert all(cluster == -1 or cluster <= cpu for cluster, cpu in zip(meta["clusters"], meta["cpus"], strict=True))


@pytest.mark.kernels
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"cpus": [0, 4000]}, "CPU 4000 "),
        ({"memory_nodes": [999]}, "memory cannot be bound to node 999"),
    ],
)
@two_cpus
def test_what_cannot_be_used_is_refused_by_name(settings: dict[str, Any], message: str) -> None:
    output = run_step(steps(facts_here(), **settings)[0])
    assert output.status == 3 and message in output.stderr


@pytest.mark.kernels
def test_one_cpu_is_refused() -> None:
    cpu = min(os.sched_getaffinity(0))
    facts = HostFacts(
        host="h",
        collected_at="2026-11-21T00:00:00Z",
        cpu=Cpu(online=[cpu], allowed=[cpu]),
        nodes=[NumaNode(id=0, cpus=[cpu])],
    )
    output = run_step(steps(facts)[0])
    assert output.status == 3 and "two CPUs" in output.stderr


def test_made_up_testdata_says_so() -> None:
    for path in (folder_of(BENCHMARK) / "testdata").glob("*.json"):
        assert ("synthetic" in json.loads(path.read_text())) == path.stem.startswith("synthetic"), path
