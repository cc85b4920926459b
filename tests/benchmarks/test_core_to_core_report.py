"""core-to-core-latency: the tables that ASCT users know, maps in the order of the topology, and histograms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from asct.benchmarks.core_to_core_latency import BENCHMARK
from asct.benchmarks.core_to_core_latency.pairs import SIBLINGS, Order
from asct.sdk.figure import Bars, Heatmap
from asct.sdk.record import Measurement
from tests.benchmarks.pingpong_streams import Machine
from tests.benchmarks.test_contract import records_of, showing
from tests.benchmarks.test_core_to_core_latency import TWO, measured, tables
from tests.figures.rendered import table_of


def test_tables_are_those_of_the_documents() -> None:
    found = tables(TWO)
    pairs = found["pairs"]
    assert next(iter(found)) == "pairs"
    assert pairs.bulk
    titles = [column.title for column in pairs.columns]
    assert titles[:5] == ["CPUA", "CPUB", "LATENCY", "CPUA_NODE", "MEMBIND_NODE"]
    assert len(pairs.rows) == 2 * 28 * 4
    matrix = found["nodes-local"]
    assert matrix.title == "Node-to-Node Median Latency Matrix (ns): Data Address @ Local Numa Node"
    assert [column.title for column in matrix.columns] == ["Method", "CPU A in", "Node0", "Node1"]
    assert [(row["method"], row["node"]) for row in matrix.rows[:2]] == [("token", "Node0"), ("token", "Node1")]
    assert [row["method"] for row in found["statistics-local"].rows] == ["token", "cas", "chain"]
    assert {row["way"] for row in found["node-statistics-remote"].rows} == {
        f"Node{a} → Node{b}" for a in (0, 1) for b in (0, 1)
    }  # fmt: skip
    assert [table.notes for table in found.values() if table.notes] == [matrix.notes]


def test_the_slowest_pairs_come_first_and_once() -> None:
    rows = tables(Machine(slow={(2, 5): 40.0}), methods=["cas"])["top-local"].rows
    assert len(rows) == 10
    assert {rows[0]["cpu_a"], rows[0]["cpu_b"]} == {2, 5}
    values = [float(row["value"] or 0) for row in rows]
    assert values == sorted(values, reverse=True)
    only = tables(Machine(node_ids=(0,), per_node=3), methods=["token"])["top-local"].rows
    assert [(row["cpu_a"], row["cpu_b"]) for row in only] in ([(0, 2), (1, 2), (0, 1)], [(1, 2), (0, 2), (0, 1)])


def test_directions_that_differ_are_listed() -> None:
    rows = tables(Machine(slow={(6, 1): 30.0, (3, 2): 4.0}))["asymmetry-local"].rows
    assert [(row["cpu_a"], row["cpu_b"]) for row in rows[:2]] == [(1, 6), (2, 3)]
    assert rows[0]["difference"] == pytest.approx(30e-9, rel=0.01)
    assert rows[1]["share"] == pytest.approx(100 * 4 / 18, rel=0.01)
    assert "asymmetry-local" not in tables(TWO)
    assert "asymmetry-local" not in tables(Machine(slow={(6, 1): 30.0}), methods=["cas"])


def test_one_node_has_no_statistics_by_node_and_nothing_remote() -> None:
    found = tables(Machine(node_ids=(5,), per_node=4))
    assert set(found) == {"pairs", "nodes-local", "statistics-local", "top-local"}
    remote = tables(Machine(node_ids=(0,), memory_only=(2,)), memory_nodes=[2])
    assert set(remote) == {"pairs", "nodes-remote", "statistics-remote", "top-remote"}


def test_repeats_and_points_are_kept_apart() -> None:
    once = records_of(BENCHMARK, measured(TWO, methods=["cas"]))
    again = [one.model_copy(update={"repeat": 2, "value": one.value * 3}) for one in once]
    other = [one.model_copy(update={"point": {"turns": 10}, "point_id": "f" * 12}) for one in once]
    first = [one.model_copy(update={"point": {"turns": 100}}) for one in once]
    [matrix] = [table for table in BENCHMARK.tables([*once, *again]) if table.slug == "nodes-local"]
    assert matrix.rows[0]["node0"] == pytest.approx(2 * 34e-9, rel=1e-3)
    [swept] = [table for table in BENCHMARK.tables([*first, *other]) if table.slug == "nodes-local"]
    assert [row["turns"] for row in swept.rows] == ["100", "100", "10", "10"]
    slugs = [figure.slug for figure in BENCHMARK.figures([*first, *other])]
    assert "heatmap-cas-local" in slugs and "heatmap-cas-local-2" in slugs


def heatmaps(found: Sequence[Measurement], **settings: Any) -> dict[str, Heatmap]:
    figures = showing(BENCHMARK, **settings).figures(records_of(BENCHMARK, found))
    return {figure.slug: figure for figure in figures if isinstance(figure, Heatmap)}


def test_maps_follow_the_topology_and_both_triangles_are_filled() -> None:
    found = heatmaps(measured(Machine(per_node=8, per_cluster=4)))
    assert set(found) == {f"heatmap-{m}-{d}" for m in ("token", "cas", "chain") for d in ("local", "remote")}
    local = found["heatmap-cas-local"]
    assert local.rows == tuple(str(cpu) for cpu in range(16))
    assert local.groups == (4, 8, 12)
    assert all((value is None) == (a == b) for a, row in enumerate(local.values) for b, value in enumerate(row))
    assert local.values[0][9] == pytest.approx(150e-9, rel=1e-3)
    assert local.values[9][0] == pytest.approx(159e-9, rel=1e-3), "from CPU 9 the memory of its own node is local"
    assert local.ceiling == pytest.approx(200e-9)
    assert table_of(local) is not None


def test_data_on_one_node_gives_a_single_whole_map() -> None:
    figures = BENCHMARK.figures(records_of(BENCHMARK, measured(TWO, memory_nodes=[0])))
    assert [figure.slug for figure in figures] == [
        "heatmap-token-node0", "heatmap-cas-node0", "heatmap-chain-node0", "histogram-node0",
    ]  # fmt: skip
    whole, bars = figures[0], figures[-1]
    assert isinstance(whole, Heatmap) and isinstance(bars, Bars)
    assert whole.title == "Core to core, token, data on node 0"
    assert all((value is None) == (a == b) for a, row in enumerate(whole.values) for b, value in enumerate(row))
    counts = {series.name: sum(value or 0 for value in series.y) for series in bars.series}
    assert counts == {"token": 28, "cas": 28, "chain": 56}


def test_cells_have_the_details_of_their_values() -> None:
    found = heatmaps(measured(Machine(node_ids=(0, 1, 2), per_node=2)))
    local, remote = (found[f"heatmap-cas-{data}"].series[0] for data in ("local", "remote"))
    assert local.details[0] is None, "a CPU forms no pair with itself"
    one, both = local.details[5], remote.details[5]
    assert one is not None and one.kind != "memory node"
    assert both is not None and (both.kind, len(both.values)) == ("memory node", 2)
    assert (remote.low[5], remote.high[5]) == (min(both.values), max(both.values))


def test_threads_stand_side_by_side_in_the_map() -> None:
    order = Order({0: 0, 1: 0, 4: 0, 5: 0, 2: 1, 3: 1}, {0: 0, 4: 0, 1: 1, 5: 1}, {})
    assert order.sorted([5, 4, 3, 2, 1, 0]) == [0, 4, 1, 5, 2, 3]
    assert order.breaks([0, 4, 1, 5, 2, 3]) == [4]
    single = Order({}, {}, {0: 0, 1: 1, 2: 2, 3: 3})
    assert single.breaks([0, 1, 2, 3]) == []


def test_the_end_of_the_colours_follows_the_clock_in_cycles() -> None:
    found = heatmaps(measured(TWO, cycle_base=True), cycle_base=True, heatmap_vmax=100)
    assert found["heatmap-cas-local"].ceiling == pytest.approx(100e-9 * 3.003e9, rel=1e-3)
    assert found["heatmap-cas-local"].unit == "cycles"


def test_the_histogram_counts_every_pair_once() -> None:
    figures = showing(BENCHMARK, hist_bins=5).figures(records_of(BENCHMARK, measured(TWO)))
    bars = next(figure for figure in figures if figure.slug == "histogram-local")
    assert isinstance(bars, Bars)
    counts = {series.name: sum(value or 0 for value in series.y) for series in bars.series}
    assert counts == {"token": 12 + 32, "cas": 12 + 32, "chain": 56}
    assert all(len(set(series.x)) == 5 for series in bars.series)
    same = measured(Machine(node_ids=(0,), per_node=3), lambda line: {**line, "median_ps": 5000}, methods=["cas"])
    [flat] = [f for f in BENCHMARK.figures(records_of(BENCHMARK, same)) if isinstance(f, Bars)]
    assert (flat.series[0].x, flat.series[0].y) == (("5.00 to 5.00",), (3.0,))
    near = measured(TWO, lambda line: {**line, "median_ps": 150_000 + line["cpu_b"]}, methods=["cas"])
    [narrow] = [f for f in BENCHMARK.figures(records_of(BENCHMARK, near)) if f.slug == "histogram-local"]
    assert isinstance(narrow, Bars)
    assert narrow.series[0].x[0] == "150.00100 to 150.00160"
    assert len(set(narrow.series[0].x)) == 10


def test_two_cpus_need_no_figure() -> None:
    assert BENCHMARK.figures(records_of(BENCHMARK, measured(Machine(node_ids=(0,), per_node=2)))) == ()


def test_tables_name_the_flags_of_their_values() -> None:
    found = tables(Machine(node_ids=(0,), per_node=4, siblings=True), methods=["cas"])
    assert SIBLINGS in found["nodes-local"].flags
