"""cross-numa-bandwidth: which pairs of nodes are measured and with how much memory, the matrix, and the real kernel."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest

from asct.benchmarks.cross_numa_bandwidth import BENCHMARK
from asct.instruments.memory.matrix import LEFT_OUT_FLAGS
from asct.sdk.benchmark import Context
from asct.sdk.facts import Cache, Cpu, HostFacts, Memory, NumaNode
from asct.sdk.figure import Heatmap
from asct.sdk.record import Measurement
from asct.sdk.step import Output, Step
from tests.benchmarks.kernels import measured_here
from tests.benchmarks.streams import Place, numbers, output_of, outputs_of
from tests.benchmarks.test_contract import bare_facts, in_order, needed, option, records_of, showing

GIB = 1 << 30
params: Any = partial(BENCHMARK.params_model, visits=1)


def sparse(**free: int) -> HostFacts:
    """Return facts of a machine whose nodes 0 and 8 have two CPUs each. Node 9 has only memory, and each pair of CPUs
    shares an L3 cache of 32 MiB."""
    have = {"node0": 32 * GIB, "node8": 32 * GIB, "node9": 32 * GIB, **free}
    return HostFacts(
        host="h",
        collected_at="t",
        cpu=Cpu(online=[0, 1, 2, 3], allowed=[0, 1, 2, 3]),
        caches=[Cache(level=3, type="Unified", size_bytes=32 << 20, shared_cpus=[0, 1])],
        memory=Memory(available_bytes=sum(have.values())),
        nodes=[
            NumaNode(id=0, cpus=[0, 1], memory_bytes=64 * GIB, free_bytes=have["node0"]),
            NumaNode(id=8, cpus=[2, 3], memory_bytes=64 * GIB, free_bytes=have["node8"]),
            NumaNode(id=9, cpus=[], memory_bytes=64 * GIB, free_bytes=have["node9"]),
        ],
    )


def steps(facts: HostFacts, **settings: Any) -> Sequence[Step]:
    return in_order(BENCHMARK, params(**settings), Context(facts, "/work", needs=needed(BENCHMARK)))


def gbps(place: Place, traffic: str) -> float:
    """Return 400 GB/s for local memory, 80 GB/s for remote memory, and 30 GB/s for the node without CPUs."""
    step, node = place.step, numbers(place.step, "nodes")[0]
    return {0: 400e9, 8: 400e9, 9: 30e9}[node] if node == 9 or node == (0, 8)[numbers(step, "cpus")[0] // 2] else 80e9


def measured(facts: HostFacts, **settings: Any) -> Sequence[Measurement]:
    given = params(**settings)
    return BENCHMARK.parse(given, outputs_of(steps(facts, **settings), gbps), facts)


def test_every_node_with_cpus_meets_every_node_with_memory() -> None:
    found = steps(sparse())
    assert [step.name for step in found] == [
        f"node{run}-memory{memory}" for run in (0, 8) for memory in (0, 8, 9)
    ]  # fmt: skip
    assert [(option(step, "cpus"), option(step, "nodes")) for step in found[:3]] == [
        ("0,1", "0"), ("0,1", "8"), ("0,1", "9"),
    ]  # fmt: skip
    assert option(found[5], "cpus") == "2,3"


def test_only_usable_cpus_run() -> None:
    facts = sparse().model_copy(update={"cpu": Cpu(online=[0, 1, 2, 3], allowed=[1, 2])})
    assert [option(step, "cpus") for step in steps(facts)] == ["1"] * 3 + ["2"] * 3
    masked = sparse().model_copy(update={"cpu": Cpu(online=[0, 1, 2, 3], allowed=[3])})
    assert [step.name for step in steps(masked)] == [f"node8-memory{memory}" for memory in (0, 8, 9)]


def test_a_host_that_tells_nothing_is_one_pair() -> None:
    (step,) = steps(bare_facts())
    assert step.name == "node0-memory0"
    assert option(step, "cpus") is None
    assert option(step, "nodes") == "-1"


def test_sizes_lie_outside_the_caches_and_fit_the_memory() -> None:
    dram = int(needed(BENCHMARK)["cache.dram.optimum_size"])
    assert numbers(steps(sparse())[0], "sizes") == [pytest.approx(dram // 2, abs=1 << 16)]
    caches = [Cache(level=3, type="Unified", size_bytes=GIB, shared_cpus=[0, 1])]
    large = sparse().model_copy(update={"caches": caches})
    assert numbers(steps(large)[0], "sizes") == [2 * GIB]
    short = steps(sparse(node9=256 << 20))
    assert [numbers(step, "sizes")[0] < 110 << 20 for step in short] == [False, False, True] * 2


def test_a_pair_without_room_is_left_out_and_the_others_go_on() -> None:
    facts = sparse(node9=16 << 20)
    found = measured(facts)
    out = [item for item in found if item.metric == "left_out"]
    assert [item.coords for item in out] == [{"run_node": run, "memory_node": 9} for run in (0, 8)]
    assert all(set(item.flags) <= set(LEFT_OUT_FLAGS) for item in out)
    assert [item.value for item in out] == [2 * 32 << 20] * 2
    assert sum(item.metric == "bandwidth" for item in found) == 4
    table, _ = BENCHMARK.tables(records_of(BENCHMARK, found))
    assert [row["node9"] for row in table.rows] == [None, None]
    assert any("node 0 to memory of node 9" in note for note in table.notes)


def test_a_size_that_is_given_is_needed_whole() -> None:
    found = steps(sparse(node8=GIB), data_size="1G")
    assert [step.name for step in found] == [f"node{run}-memory{memory}" for run in (0, 8) for memory in (0, 9)]
    assert numbers(found[0], "sizes") == [GIB]


def test_no_room_anywhere_is_said() -> None:
    with pytest.raises(ValueError, match="no NUMA node has enough free memory"):
        steps(sparse(node0=1, node8=1, node9=1))


def test_no_memory_level_is_said() -> None:
    with pytest.raises(LookupError, match="no DRAM level on this host; set `data_size`"):
        BENCHMARK.steps(params(), Context(sparse(), "/work"))


def test_the_matrix() -> None:
    records = records_of(BENCHMARK, measured(sparse()))
    table, spread = BENCHMARK.tables(records)
    assert table.title == "Cross-NUMA bandwidths for the system (in GB/s)"
    assert [column.title for column in table.columns] == ["Run node", "Node 0", "Node 8", "Node 9"]
    assert [[row[key] / 1e9 for key in ("node0", "node8", "node9")] for row in table.rows] == [
        [400.0, 80.0, 30.0], [80.0, 400.0, 30.0],
    ]  # fmt: skip
    assert [row["run_node"] for row in table.rows] == ["Node 0", "Node 8"]
    assert len(spread.rows) == 6
    assert spread.rows[1]["interval"] is None, "one visit has no interval"
    (heat,) = BENCHMARK.figures(records)
    assert isinstance(heat, Heatmap)
    assert (heat.rows, heat.columns) == (("Node 0", "Node 8"), ("Node 0", "Node 8", "Node 9"))
    assert heat.values[1] == (80e9, 400e9, 30e9)


def test_one_pair_is_no_heat_map() -> None:
    records = records_of(
        BENCHMARK, BENCHMARK.parse(params(), outputs_of(steps(bare_facts()), lambda *_: 1e10), bare_facts())
    )
    assert BENCHMARK.figures(records) == ()
    assert len(BENCHMARK.tables(records)[0].rows) == 1


def test_bus_bytes_are_shown_for_writes_and_cycles_when_asked() -> None:
    records = records_of(BENCHMARK, measured(sparse(), traffic="write"))
    table, _ = showing(BENCHMARK, cycle_base=True).tables(records)
    assert table.title.endswith("(in B/cycle)")
    local = table.rows[0]["node0"]
    assert isinstance(local, float)
    assert local / table.columns[1].scale == pytest.approx(2 * 400 / 2.5)


def test_swept_points_have_rows_and_heat_maps_of_their_own() -> None:
    records = []
    for traffic in ("all-reads", "nt-write"):
        for record in records_of(BENCHMARK, measured(sparse(), traffic=traffic)):
            records.append(record.model_copy(update={"point": {"traffic": traffic}, "point_id": traffic}))
    table, _ = BENCHMARK.tables(records)
    assert [row["traffic"] for row in table.rows] == ["all-reads"] * 2 + ["nt-write"] * 2
    slugs = [figure.slug for figure in BENCHMARK.figures(records)]
    assert len(set(slugs)) == 2


def test_a_set_within_the_caches_is_in_doubt() -> None:
    found = measured(sparse(), data_size="16M")
    assert all("invalid-working-set" in item.flags for item in found if item.metric == "bandwidth")
    assert not any("invalid-working-set" in item.flags for item in measured(sparse(), data_size="64M"))


def test_noise_is_told_with_its_pairs() -> None:
    given, facts = params(), sparse()
    outputs = [
        output_of(step, gbps, **({"capped": True} if step.name == "node0-memory8" else {})) for step in steps(facts)
    ]
    records = records_of(BENCHMARK, BENCHMARK.parse(given, outputs, facts))
    table, spread = BENCHMARK.tables(records)
    assert "noisy" in table.flags
    assert [row["flags"] for row in spread.rows] == ["", "noisy", "", "", "", ""]


def test_needs() -> None:
    facts = sparse()
    one, all_pairs = BENCHMARK.needs(params(), bare_facts()), BENCHMARK.needs(params(), facts)
    assert all_pairs.seconds > 3 * one.seconds
    assert BENCHMARK.needs(params(data_size="1G"), facts).memory_bytes == 2 * GIB
    assert BENCHMARK.needs(params(), sparse(node0=GIB, node8=GIB, node9=GIB)).memory_bytes < GIB
    assert BENCHMARK.needs(params(iterations=10), facts).seconds < all_pairs.seconds
    assert "2 MiB" in BENCHMARK.needs(params(pages="2M"), None).privileges[0].why
    assert BENCHMARK.needs(params(pages="4K"), None).privileges == ()


def test_iterations_and_duration_bound_the_time() -> None:
    assert option(steps(sparse(), iterations=500)[0], "windows") == "500"
    assert option(steps(sparse(), duration="250ms")[0], "time-cap-ms") == "250"


def test_nothing_measured_is_refused() -> None:
    facts = bare_facts()
    (step,) = steps(facts)
    text = '{"t":"meta","abi":1}\n{"t":"end","ok":true}\n'
    with pytest.raises(ValueError, match="reported no results"):
        BENCHMARK.parse(params(), [Output(step, 0, {"stdout": text, "stderr": ""})], facts)
    with pytest.raises(ValueError, match="was not run"):
        BENCHMARK.parse(params(), [], facts)


@pytest.mark.kernels
def test_the_real_kernel() -> None:
    given = params(data_size="1M", duration="5ms", pages="4k", traffic="1:1")
    found = {item.metric: item for item in measured_here(BENCHMARK, given)}
    assert found["bus_bandwidth"].value == pytest.approx(2.0 * found["bandwidth"].value, rel=0.01)
    assert found["data_size"].value <= 1 << 20
