"""Converting records to rows: medians over the repeats, the spread and flags, and which pairs of a node matrix are
distinguished."""

from __future__ import annotations

from typing import Any

from asct.instruments.memory.matrix import MatrixStyle, NodePair, node_heatmaps, node_table, pair_table
from asct.instruments.memory.topology import MemoryNode
from asct.sdk.record import Record, Stats
from asct.sdk.rows import (
    at,
    by_point,
    flags_of,
    highest,
    interval,
    interval_text,
    middle,
    point_label,
    swept_cells,
    swept_columns,
)
from tests.records import record

LOOK = MatrixStyle("m", "Matrix", "latency", 1e-9, "ns", 1, "lower")


def stats(low: float, high: float) -> Stats:
    return Stats(n=9, median=(low + high) / 2, mad=0.1, ci95=(low, high), min=low - 1, max=high + 1)


def pair(run: int, memory: int, value: float, **changes: Any) -> Record:
    return record(value, coords={"run_node": run, "memory_node": memory}, **changes)


def test_places_are_found_by_their_coordinates() -> None:
    records = [record(1.0, coords={"level": "L1", "traffic": "copy"}), record(2.0, coords={"level": "L2"})]
    assert [one.value for one in at(records, "latency", level="L1")] == [1.0]
    assert [one.value for one in at(records, "latency")] == [1.0, 2.0]
    assert at(records, "bandwidth") == []


def test_one_repeat_has_its_interval_and_several_their_span() -> None:
    one, two = record(2.0, stats=stats(1.5, 2.5)), record(4.0, repeat=2, stats=stats(3.5, 4.5))
    assert interval([one]) == (1.5, 2.5)
    assert interval([one, two]) == (2.0, 4.0)
    assert interval([record(1.0)]) is None
    assert interval([]) is None
    assert interval_text([one], 1.0, 2) == "1.50 .. 2.50"
    assert interval_text([one, two], 2.0, 1) == "1.0 .. 2.0 (2 repeats)"
    assert interval_text([], 1.0, 1) is None
    assert (middle([one, two]), middle([])) == (3.0, None)
    assert (highest([one, two]), highest([record(1.0)])) == (5.5, None)


def test_doubts_come_first() -> None:
    records = [record(1.0, flags=["switched", "noisy-steal"]), record(1.0, flags=["switched"])]
    assert flags_of(records) == ("noisy-steal", "switched")


def test_points_and_what_is_swept() -> None:
    records = [record(1.0, point={"pages": "4k", "cpus": [0, 1]}), record(2.0, point_id="p2", point={"pages": "thp"})]
    columns = swept_columns(records)
    assert [column.key for column in columns] == ["pages", "cpus"]
    assert [len(point) for point in by_point(records)] == [1, 1]
    assert swept_cells(records[:1], columns) == {"pages": "4k", "cpus": "0, 1"}
    assert [column.key for column in swept_columns(records, ("pages",))] == ["cpus"]
    assert point_label(records[0], "all", ("cpus",)) == "pages 4k"
    assert point_label(records[0], "all") == "pages 4k, cpus 0, 1"
    assert point_label(record(1.0), "all") == "all"


def test_the_matrix_is_ordered_by_number_and_has_holes_where_nothing_was_measured() -> None:
    out = NodePair(MemoryNode(0, (0,), True, 1, 0), MemoryNode(8, (), True, 1, 8)).left_out(4096)
    records = [
        pair(8, 0, 200e-9), pair(0, 0, 100e-9, stats=stats(99e-9, 101e-9)), pair(0, 0, 110e-9, repeat=2),
        record(out.value, metric=out.metric, coords=out.coords, flags=list(out.flags), unit="B", better="neither"),
    ]  # fmt: skip
    table = node_table(records, LOOK)
    assert table.title == "Matrix (in ns)"
    assert [column.title for column in table.columns] == ["Run node", "Node 0", "Node 8"]
    assert [(row["run_node"], row["node0"], row["node8"]) for row in table.rows] == [
        ("Node 0", 105e-9, None), ("Node 8", 200e-9, None),
    ]  # fmt: skip
    assert [note.split(":")[0] for note in table.notes] == ["node 0 to memory of node 8"]
    spread = pair_table(records, LOOK)
    assert [row["interval"] for row in spread.rows] == ["100.0 .. 110.0 (2 repeats)", None]


def test_a_matrix_has_the_flags_of_its_pairs_and_the_spread_says_whose_they_are() -> None:
    records = [pair(0, 0, 1.0, flags=["noisy"]), pair(0, 1, 1.0), pair(1, 1, 1.0, flags=["noisy"])]
    table, spread = node_table(records, LOOK), pair_table(records, LOOK)
    assert (table.flags, spread.flags, table.notes) == (("noisy",), ("noisy",), ())
    assert [row["flags"] for row in spread.rows] == ["noisy", "", "noisy"]


def test_heat_maps_need_several_pairs_and_are_one_a_point() -> None:
    assert node_heatmaps([pair(0, 0, 1.0), pair(0, 0, 2.0, repeat=2)], LOOK, "c") == ()
    records = [
        pair(run, 1, float(run), point_id=point, point={"pages": point}) for point in ("a", "b") for run in (0, 1)
    ]
    first, second = node_heatmaps(records, LOOK, "c")
    assert (first.slug, second.slug) == ("m", "m-2")
    assert first.title == "Matrix, pages a"
    assert first.values == ((0.0,), (1.0,))


def test_the_cells_of_a_heat_map_have_intervals_and_flags() -> None:
    records = [
        pair(0, 1, 2.0, flags=["noisy"]), pair(0, 1, 4.0, repeat=2), pair(1, 0, 5.0, stats=stats(4.5, 5.5)),
    ]  # fmt: skip
    (matrix,) = node_heatmaps(records, LOOK, "c")
    assert matrix.values == ((None, 3.0), (5.0, None))
    assert [(row.low, row.high) for row in matrix.series] == [((None, 2.0), (None, 4.0)), ((4.5, None), (5.5, None))]
    twice, once = matrix.series[0].details[1], matrix.series[1].details[0]
    assert twice is not None and (twice.values, twice.flags) == ((2.0, 4.0), ("noisy",))
    assert once is not None and once.flags == ()
    assert matrix.series[0].details[0] is None, "the pair was not measured"
