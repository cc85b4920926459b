"""idle-latency: pairs of nodes, sizes that fit, recorded and modified output, and the real kernel."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest

from asct.benchmarks.idle_latency import BENCHMARK, FLAGS
from asct.sdk.benchmark import Context
from asct.sdk.facts import Cpu, HostFacts, Memory, NumaNode
from asct.sdk.figure import Heatmap
from asct.sdk.record import Measurement
from asct.sdk.step import Output, Step
from tests.benchmarks.kernels import facts_here, measured_here, run_all
from tests.benchmarks.test_contract import (
    FOLDER,
    bare_facts,
    host,
    in_order,
    needed,
    node,
    option,
    records_of,
    replayed,
    showing,
)

DATA = FOLDER / "idle_latency" / "testdata"
GIB = 1 << 30
params: Any = partial(BENCHMARK.params_model, visits=1)


THREE = host(
    node(0, [0, 1, 2, 3], distances=[10, 21, 17]),
    node(8, [4, 5, 6, 7], distances=[21, 10, 28]),
    node(250, [], distances=[17, 28, 10]),
)
"""Two nodes with CPUs, whose numbers have a gap, and one node that has only memory."""
LATENCIES = {(0, 0): 110, (0, 8): 200, (0, 250): 260, (8, 0): 205, (8, 8): 115, (8, 250): 330}


def steps(facts: HostFacts, **settings: Any) -> list[Step]:
    return in_order(BENCHMARK, params(**settings), Context(facts, "/work", needs=needed(BENCHMARK)))


def recorded(case: str = "default") -> dict[str, Any]:
    document: dict[str, Any] = json.loads((DATA / f"{case}.json").read_text(encoding="utf-8"))
    return document


def answered(step: Step, ns: float, **changes: Any) -> Output:
    """Return the recorded output with a different latency, as if a different pair had been measured."""
    lines = [json.loads(line) for line in recorded()["outputs"][0]["files"]["stdout"].splitlines()]
    sample = next(line for line in lines if line["t"] == "sample")
    factor = ns * 1000 / sample["median_ps"]
    for key in ("median_ps", "ci_low_ps", "ci_high_ps", "min_ps", "max_ps", "mcycles", "mcycles_low", "mcycles_high"):
        sample[key] = round(sample[key] * factor)
    sample["ns"] = [round(value * factor) for value in sample["ns"]]
    sample["size"] = int(option(step, "sizes") or 0)
    sample.update(changes)
    return Output(step, 0, {"stdout": "\n".join(map(json.dumps, lines)) + "\n", "stderr": ""})


def of_pair(step: Step) -> Output:
    run, _, memory = step.name.removeprefix("node").partition("-memory")
    return answered(step, LATENCIES[int(run), int(memory)])


def three_nodes(facts: HostFacts = THREE, **settings: Any) -> Sequence[Measurement]:
    return BENCHMARK.parse(params(**settings), [of_pair(step) for step in steps(facts, **settings)], facts)


def values(found: Sequence[Measurement], metric: str) -> dict[tuple[int, int], float]:
    return {
        (int(item.coords["run_node"]), int(item.coords["memory_node"])): item.value
        for item in found
        if item.metric == metric
    }


def test_a_chain_needs_two_lines() -> None:
    assert [name for name, _ in BENCHMARK.check(params(data_size=64))] == ["data_size"]
    assert [name for name, _ in BENCHMARK.check(params(data_size=4096, stride=4096))] == ["data_size"]
    assert not list(BENCHMARK.check(params(data_size=128)))


def test_every_node_that_runs_reads_every_node_that_has_memory() -> None:
    found = steps(THREE)
    assert [step.name for step in found] == [
        "node0-memory0", "node0-memory8", "node0-memory250", "node8-memory0", "node8-memory8", "node8-memory250",
    ]  # fmt: skip
    assert [option(step, "cpu") for step in found] == ["3"] * 3 + ["7"] * 3
    assert [option(step, "node") for step in found] == ["0", "8", "250"] * 2
    assert {option(step, "sizes") for step in found} == {str(needed(BENCHMARK)["cache.dram.optimum_size"])}
    done = tuple(answered(step, 1.0) for step in found)
    assert not list(BENCHMARK.steps(params(), Context(THREE, "/work", done, needs=needed(BENCHMARK))))


def test_the_pairs_are_measured_in_random_order_and_told_in_theirs() -> None:
    orders = set()
    for seed in range(5):
        given = params(seed=seed)
        found = BENCHMARK.steps(given, Context(THREE, "/work", needs=needed(BENCHMARK)))
        orders.add(tuple(step.name for step in found))
        measured = BENCHMARK.parse(given, [of_pair(step) for step in found], THREE)
        assert list(values(measured, "latency")) == list(LATENCIES)
    assert len(orders) == 5


def test_the_affinity_mask_chooses_the_cpus() -> None:
    masked = host(*THREE.nodes, allowed=[1, 2])
    assert [(step.name, option(step, "cpu")) for step in steps(masked)] == [
        ("node0-memory0", "2"), ("node0-memory8", "2"), ("node0-memory250", "2"),
    ]  # fmt: skip


def test_a_host_without_nodes_is_left_unbound() -> None:
    (step,) = steps(bare_facts().model_copy(update={"cpu": Cpu(online=[0, 1], allowed=[0, 1])}))
    assert (step.name, option(step, "cpu"), option(step, "node")) == ("node0-memory0", "1", None)
    (step,) = steps(bare_facts())
    assert option(step, "cpu") is None


def test_a_node_without_memory_is_no_column() -> None:
    bare = NumaNode(id=8, cpus=[4, 5], memory_bytes=0)
    assert [step.name for step in steps(host(node(0, [0]), bare))] == ["node0-memory0", "node8-memory0"]


def test_arguments_carry_every_setting() -> None:
    (step,) = steps(
        bare_facts(), data_size="1G", duration="500ms", stride=128, pages="2M", seed=9, target_interval="2 %"
    )
    expected = {
        "sizes": "1073741824", "time-cap-ms": "500", "stride": "128", "pages": "2m", "seed": "9",
    }  # fmt: skip
    assert {name: option(step, name) for name in expected} == expected


def test_the_size_comes_from_latency_sweep_or_the_user() -> None:
    with pytest.raises(LookupError, match=r"no DRAM level.*data_size"):
        BENCHMARK.steps(params(), Context(bare_facts(), "/work"))
    (step,) = BENCHMARK.steps(params(data_size="256M"), Context(bare_facts(), "/work"))
    assert option(step, "sizes") == str(256 << 20)
    (dependency,) = BENCHMARK.dependencies
    assert dependency.satisfied_by == ("data_size",)


def test_a_node_with_too_little_memory_is_left_out_and_the_others_are_measured() -> None:
    tight = host(node(0, [0, 1]), node(1, [2, 3], free=GIB // 2))
    found = [step.name for step in steps(tight, data_size="1G")]
    assert found == ["node0-memory0", "node1-memory0"]
    done = [answered(step, 110.0) for step in steps(tight, data_size="1G")]
    measured = BENCHMARK.parse(params(data_size="1G"), done, tight)
    gone = [item for item in measured if item.metric == "left_out"]
    assert [(item.coords["run_node"], item.coords["memory_node"]) for item in gone] == [(0, 1), (1, 1)]
    assert all(item.value > GIB and item.flags == ("no-free-memory",) for item in gone)
    table = BENCHMARK.tables(records_of(BENCHMARK, measured))[0]
    assert [column.title for column in table.columns] == ["Run node", "Node 0", "Node 1"]
    assert [row["node1"] for row in table.rows] == [None, None]
    assert any("node 1 to memory of node 1" in note for note in table.notes)


def test_an_auto_size_is_lowered_to_what_a_node_has_and_flagged() -> None:
    tight = host(node(0, [0, 1]), node(1, [2, 3], free=GIB // 2), node(2, [], free=64 << 20))
    found = steps(tight)
    sizes = {step.name: int(option(step, "sizes") or 0) for step in found}
    assert list(sizes) == ["node0-memory0", "node0-memory1", "node1-memory0", "node1-memory1"]
    assert GIB // 4 < sizes["node0-memory1"] < GIB // 2 < sizes["node0-memory0"]
    measured = BENCHMARK.parse(params(), [answered(step, 110.0) for step in found], tight)
    lowered = {
        (item.coords["run_node"], item.coords["memory_node"])
        for item in measured
        if item.metric == "latency" and "smaller-memory" in item.flags
    }
    assert lowered == {(0, 1), (1, 1)}
    assert {item.coords["memory_node"] for item in measured if item.metric == "left_out"} == {2}


def test_no_room_anywhere_is_told() -> None:
    with pytest.raises(ValueError, match=r"no NUMA node has \d+ B of free memory; set a smaller `data_size`"):
        steps(host(node(0, [0], free=1 << 20), node(1, [], free=1 << 20)), data_size="1G")


def test_needs_grow_with_the_nodes_and_the_size() -> None:
    one, many = BENCHMARK.needs(params(), None), BENCHMARK.needs(params(), THREE)
    assert one.kernels == ("chase",)
    assert many.seconds == pytest.approx(6 * one.seconds)
    assert BENCHMARK.needs(params(data_size="8G"), None).memory_bytes > 8 * GIB
    assert "1 GiB" in BENCHMARK.needs(params(pages="1G"), None).privileges[0].why
    small = host(node(0, [0])).model_copy(update={"memory": Memory(available_bytes=GIB)})
    assert BENCHMARK.needs(params(), small).memory_bytes < GIB, "an auto size fits itself to the host"


def test_ratios_and_distances() -> None:
    found = three_nodes()
    assert values(found, "latency") == pytest.approx({pair: ns * 1e-9 for pair, ns in LATENCIES.items()}, rel=1e-4)
    ratios = values(found, "ratio")
    assert ratios[0, 0] == ratios[8, 8] == 1.0
    assert ratios[8, 250] == pytest.approx(330 / 115, rel=1e-4)
    assert values(found, "distance") == {
        (0, 0): 10, (0, 8): 21, (0, 250): 17, (8, 0): 21, (8, 8): 10, (8, 250): 28,
    }  # fmt: skip


def test_distances_that_do_not_fit_the_nodes_are_left_out() -> None:
    odd = host(node(0, [0, 1, 2, 3], distances=[10]), node(8, [4, 5, 6, 7], distances=[21, 10, 28]), THREE.nodes[2])
    assert {pair[0] for pair in values(three_nodes(odd), "distance")} == {8}


def test_a_node_without_local_memory_has_no_ratios() -> None:
    facts = host(node(0, [0]), NumaNode(id=8, cpus=[4], memory_bytes=0))
    found = BENCHMARK.parse(params(), [answered(step, 110.0) for step in steps(facts)], facts)
    assert set(values(found, "ratio")) == {(0, 0)}
    assert set(values(found, "latency")) == {(0, 0), (8, 0)}


def test_the_matrix_is_the_one_that_users_know() -> None:
    tables = BENCHMARK.tables(records_of(BENCHMARK, three_nodes()))
    assert [table.slug for table in tables] == ["idle-latency", "ratio", "distance", "idle-latency-spread"]
    matrix = tables[0]
    assert matrix.title == "Latencies of random memory access at idle (in nanoseconds)"
    assert [column.title for column in matrix.columns] == ["Run node", "Node 0", "Node 8", "Node 250"]
    assert [row["run_node"] for row in matrix.rows] == ["Node 0", "Node 8"]
    shown = [[round(float(row[f"node{n}"] or 0) / matrix.columns[1].scale) for n in (0, 8, 250)] for row in matrix.rows]
    assert shown == [[110, 200, 260], [205, 115, 330]]
    assert [(row["run_node"], row["memory_node"]) for row in tables[3].rows][:3] == [
        ("Node 0", "Node 0"), ("Node 0", "Node 8"), ("Node 0", "Node 250"),
    ]  # fmt: skip


def test_one_node_needs_no_ratios_and_no_colours() -> None:
    settings, facts, outputs = replayed(BENCHMARK, recorded())
    records = records_of(BENCHMARK, BENCHMARK.parse(settings, outputs, facts))
    assert [table.slug for table in BENCHMARK.tables(records)] == ["idle-latency", "idle-latency-spread"]
    assert not BENCHMARK.figures(records)


def test_several_nodes_are_shown_as_colours() -> None:
    (figure,) = BENCHMARK.figures(records_of(BENCHMARK, three_nodes()))
    assert isinstance(figure, Heatmap)
    assert (figure.rows, figure.columns) == (("Node 0", "Node 8"), ("Node 0", "Node 8", "Node 250"))
    assert figure.unit == "s"
    assert figure.better == "lower"


def test_cycle_base_shows_cycles() -> None:
    records = records_of(BENCHMARK, three_nodes())
    shown = showing(BENCHMARK, cycle_base=True)
    assert shown.tables(records)[0].title.endswith("(in core cycles)")
    (figure,) = shown.figures(records)
    assert isinstance(figure, Heatmap)
    assert figure.unit == "cycles"


def test_a_small_working_set_is_flagged() -> None:
    (step,) = steps(bare_facts(), data_size="64M")
    found = BENCHMARK.parse(params(data_size="64M"), [answered(step, 90.0)], bare_facts())
    flags = {flag for item in found if item.metric == "latency" for flag in item.flags}
    assert "small-working-set" in flags


@pytest.mark.parametrize(
    ("changes", "flag"),
    [({"capped": True, "batches": 7}, "noisy"), ({"dropped": 10_000}, "switched")],
    ids=["capped", "dropped"],
)
def test_what_speaks_against_a_value(changes: dict[str, Any], flag: str) -> None:
    (step,) = steps(bare_facts())
    found = BENCHMARK.parse(params(), [answered(step, 110.0, **changes)], bare_facts())
    flags = {word for item in found if item.metric == "latency" for word in item.flags}
    assert any(word.startswith(flag) for word in flags)


def test_flags_are_declared() -> None:
    for case in ("default", "cycles"):
        assert {flag for item in recorded(case)["measurements"] for flag in item["flags"]} <= {*FLAGS}


def test_a_kernel_that_measured_nothing_is_refused() -> None:
    settings, facts, outputs = replayed(BENCHMARK, recorded())
    lines = [line for line in outputs[0].stdout.splitlines() if '"t":"sample"' not in line]
    empty = Output(outputs[0].step, 0, {"stdout": "\n".join(lines) + "\n", "stderr": ""})
    with pytest.raises(ValueError, match="measured 0 sizes for node0-memory0"):
        BENCHMARK.parse(settings, [empty], facts)
    with pytest.raises(ValueError, match="was not run"):
        BENCHMARK.parse(settings, [], facts)


@pytest.mark.kernels
def test_the_kernel_takes_the_arguments() -> None:
    found = measured_here(BENCHMARK, params(data_size="16M", duration="20ms", pages="4k"))
    (latency,) = [item.value for item in found if item.metric == "latency"]
    assert 1e-9 < latency < 1e-5


@pytest.mark.kernels
def test_memory_of_a_node_that_does_not_exist_is_told() -> None:
    odd = facts_here().model_copy(update={"nodes": [node(0, facts_here().cpu.allowed), node(999, [])]})
    settings = params(data_size="1M", duration="5ms")
    good, bad = run_all(BENCHMARK, settings, odd)
    assert good.status == 0, good.stderr
    assert bad.status == 3 and "node 999" in bad.stderr
