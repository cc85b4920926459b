"""The matrix of CPU nodes and memory nodes: its tables, its heat map, and the skipped node pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from asct.instruments.memory.topology import MemoryNode, all_nodes, cpu_nodes, memory_nodes
from asct.sdk.facts import HostFacts
from asct.sdk.figure import Column, Heatmap, Table
from asct.sdk.metric import Better, Coords, Metric
from asct.sdk.record import Measurement, Record, Scalar
from asct.sdk.rows import (
    FLAGS_COLUMN,
    Row,
    at,
    by_point,
    flags_of,
    middle,
    point_label,
    point_rows,
    series_of,
    spread_cells,
)

PAIR: Final[Coords] = {"run_node": None, "memory_node": None}
"""The coordinates of a value in the matrix. Node numbers may have gaps."""
LEFT_OUT: Final = Metric.info("left_out", "B", "Memory required by a skipped node pair", PAIR)
NO_FREE_MEMORY: Final = "no-free-memory"
LEFT_OUT_FLAGS: Final = {
    NO_FREE_MEMORY: "the pair was skipped because the memory node has too little free memory; free some memory, or set "
    "a smaller `data_size`",
}


@dataclass(frozen=True, slots=True)
class MatrixStyle:
    """How a matrix is presented: the values of `metric`, divided by `scale`, in `unit` with `digits` decimals."""

    slug: str
    title: str
    metric: str
    scale: float
    unit: str
    digits: int
    better: Better


@dataclass(frozen=True, slots=True)
class NodePair:
    """A pair of nodes: the CPUs of node `run` access the memory of node `memory`."""

    run: MemoryNode
    memory: MemoryNode

    @property
    def name(self) -> str:
        """The name of the step that measures this pair: `node0-memory8`."""
        return f"node{self.run.id}-memory{self.memory.id}"

    @property
    def at(self) -> dict[str, Scalar]:
        """The coordinates of this pair's values: the CPU node and the memory node."""
        return {"run_node": self.run.id, "memory_node": self.memory.id}

    def left_out(self, needed_bytes: int) -> Measurement:
        """Return the measurement that records a pair that was skipped because its memory node has less than
        `needed_bytes` of free memory."""
        return Measurement(LEFT_OUT.name, float(needed_bytes), self.at, flags=(NO_FREE_MEMORY,))


def node_pairs(facts: HostFacts) -> list[NodePair]:
    """Return all pairs of a CPU node (with usable CPUs) and a memory node, sorted by CPU node. If the host's CPUs are
    unknown, the first node is the CPU node, and the measurement kernel stays on the CPU on which it starts.
    """
    runs = cpu_nodes(facts) or all_nodes(facts)[:1]
    return [NodePair(run, memory) for run in runs for memory in memory_nodes(facts)]


def node_table(records: Sequence[Record], look: MatrixStyle) -> Table:
    """Return a table with one row per CPU node (and point) and one column per memory node. The notes list skipped
    pairs."""
    values = [record for record in records if record.metric == look.metric]
    gone = [record for record in records if record.metric == LEFT_OUT.name]
    memory_nodes = _nodes([*values, *gone], "memory_node")
    columns = (
        Column("run_node", "Run node", format="text"),
        *(Column(f"node{node}", f"Node {node}", look.scale, look.digits, kept=True) for node in memory_nodes),
    )

    def rows(mine: Sequence[Record]) -> Iterator[Row]:
        for run in _nodes(mine, "run_node"):
            found = {node: at(mine, look.metric, run_node=run, memory_node=node) for node in memory_nodes}
            yield {"run_node": f"Node {run}", **{f"node{node}": middle(repeats) for node, repeats in found.items()}}

    skipped = dict.fromkeys((record.coords["run_node"], record.coords["memory_node"]) for record in gone)
    notes = tuple(f"node {run} to memory of node {node}: {LEFT_OUT_FLAGS[NO_FREE_MEMORY]}." for run, node in skipped)
    title = f"{look.title} (in {look.unit})"
    return Table(look.slug, title, *point_rows([*values, *gone], columns, rows), notes, flags_of(values))


def pair_table(records: Sequence[Record], look: MatrixStyle) -> Table:
    """Return a table with one row per pair. Each row contains the value with its interval, the largest sample and the
    flags."""
    values = [record for record in records if record.metric == look.metric]
    columns = (
        Column("run_node", "Run node", format="text"),
        Column("memory_node", "Memory node", format="text"),
        Column("value", f"Median [{look.unit}]", look.scale, look.digits),
        Column(
            "interval",
            f"95 % interval [{look.unit}]",
            format="text",
            help="Range over the repeats if there are several",
        ),
        Column("max", f"Max [{look.unit}]", look.scale, look.digits),
        FLAGS_COLUMN,
    )

    def rows(mine: Sequence[Record]) -> Iterator[Row]:
        for run in _nodes(mine, "run_node"):
            for node in _nodes(mine, "memory_node"):
                repeats = at(mine, look.metric, run_node=run, memory_node=node)
                if repeats:
                    spread = spread_cells(repeats, look.scale, look.digits)
                    yield {"run_node": f"Node {run}", "memory_node": f"Node {node}", "value": middle(repeats), **spread}

    all_columns, found = point_rows(values, columns, rows)
    return Table(f"{look.slug}-spread", f"{look.title}: spread", all_columns, found, flags=flags_of(values))


def node_heatmaps(records: Sequence[Record], look: MatrixStyle, caption: str) -> tuple[Heatmap, ...]:
    """Return a heat map for each point with more than one value."""
    values = [record for record in records if record.metric == look.metric]
    return tuple(
        _heatmap(mine, look, caption, number)
        for number, mine in enumerate(by_point(values), start=1)
        if len({(record.coords["run_node"], record.coords["memory_node"]) for record in mine}) > 1
    )


def _heatmap(mine: Sequence[Record], look: MatrixStyle, caption: str, number: int) -> Heatmap:
    runs, memories = _nodes(mine, "run_node"), _nodes(mine, "memory_node")
    label = point_label(mine[0], "")
    columns = [f"Node {node}" for node in memories]
    series = tuple(
        series_of(f"Node {run}", columns, [at(mine, look.metric, run_node=run, memory_node=node) for node in memories])
        for run in runs
    )
    return Heatmap(
        slug=look.slug if number == 1 else f"{look.slug}-{number}",
        title=f"{look.title}, {label}" if label else look.title,
        caption=caption,
        x_title="Memory node",
        y_title="Run node",
        columns=tuple(columns),
        rows=tuple(row.name for row in series),
        values=tuple(row.y for row in series),
        unit=mine[0].unit,
        host=mine[0].host,
        better=look.better,
        series=series,
    )


def _nodes(records: Sequence[Record], key: str) -> list[int]:
    return sorted({int(record.coords[key]) for record in records})
