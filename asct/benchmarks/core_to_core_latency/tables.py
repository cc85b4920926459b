"""The tables that users of ASCT know: by method, for data at the local node and, with several nodes, at remote ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from asct.benchmarks.core_to_core_latency.pairs import CHAIN, DATA, Order, PairLatency, both_ways, by_data_and_method
from asct.sdk.figure import Column, Table
from asct.sdk.record import Record, Scalar
from asct.sdk.rows import by_point, flags_of, point_label, swept_cells, swept_columns
from asct.statistics.robust import median

NS = 1e-9


@dataclass(frozen=True, slots=True)
class StoredPairs:
    """One point: medians over its repeats, in nanoseconds or core cycles.

    `cells` has every ordered pair; `groups` has them by location of the data and method.
    """

    records: tuple[Record, ...]
    cells: tuple[PairLatency, ...]
    groups: Mapping[tuple[str, str], Sequence[PairLatency]]
    order: Order
    in_cycles: bool

    @property
    def unit(self) -> str:
        """The unit in tables."""
        return "cycles" if self.in_cycles else "ns"

    @property
    def base_unit(self) -> str:
        """The unit of the values."""
        return "cycles" if self.in_cycles else "s"

    @property
    def scale(self) -> float:
        """The divisor of values in tables."""
        return 1.0 if self.in_cycles else NS

    @property
    def label(self) -> str:
        """The swept settings; empty when nothing is swept."""
        return point_label(self.records[0], "")

    def methods(self, data: str) -> dict[str, Sequence[PairLatency]]:
        """The cells with the data there by method."""
        return {method: cells for (where, method), cells in self.groups.items() if where == data}

    def single(self, metric: str) -> float | None:
        """The median of a metric over all its records; None without any."""
        values = [record.value for record in self.records if record.metric == metric]
        return median(values) if values else None


def stored_pairs(records: Sequence[Record]) -> list[StoredPairs]:
    """The points in order of appearance, without those that have no pair. In cycles if all of them have cycles."""
    groups = by_point(records)
    in_cycles = all(any(record.metric.endswith("_cycles") for record in mine) for mine in groups)
    points = [_measured(mine, in_cycles) for mine in groups]
    return [point for point in points if point.cells]


def _measured(mine: Sequence[Record], in_cycles: bool) -> StoredPairs:
    found: dict[tuple[Scalar, ...], list[Record]] = {}
    for record in mine:
        if "cpu_b" in record.coords and record.metric.endswith("_cycles") == in_cycles:
            found.setdefault(tuple(record.coords.values()), []).append(record)
    cells = [_cell(repeats) for repeats in found.values()]
    nodes = {cpu: node for cell in cells for cpu, node in ((cell.cpu_a, cell.node_a), (cell.cpu_b, cell.node_b))}
    order = Order(nodes, _by_cpu(mine, "core"), _by_cpu(mine, "cluster"))
    pairs = both_ways(cells)
    return StoredPairs(tuple(mine), tuple(pairs), by_data_and_method(pairs), order, in_cycles)


def _cell(repeats: Sequence[Record]) -> PairLatency:
    at = repeats[0].coords
    return PairLatency(
        cpu_a=int(at["cpu_a"]),
        cpu_b=int(at["cpu_b"]),
        node_a=int(at["node_a"]),
        node_b=int(at["node_b"]),
        method=str(at["method"]),
        memory_node=int(at["memory_node"]),
        value=median([record.value for record in repeats]),
        flags=tuple(dict.fromkeys(flag for record in repeats for flag in record.flags)),
    )


def _by_cpu(records: Iterable[Record], metric: str) -> dict[int, int]:
    return {int(record.coords["cpu_a"]): int(record.value) for record in records if record.metric == metric}


Row = dict[str, Scalar | None]

TOP: Final = 10
_UNEVEN: Final = 1.0
"""Percent of difference from which two directions are listed: less is the scatter of the medians."""
_METHOD: Final = Column(
    "method",
    "Method",
    format="text",
    help="token and cas: one message, half a round trip; chain: one line read by CPU A",
)
_FOUR: Final = (("min", "Min"), ("max", "Max"), ("mean", "Mean"), ("median", "Median"))


def all_tables(records: Sequence[Record]) -> tuple[Table, ...]:
    """Every pair for the exports, then the summaries."""
    points = stored_pairs(records)
    if not points:
        return ()
    swept = swept_columns(records)
    tables = [_pair_table(points, swept)]
    for data in DATA:
        if any(point.methods(data) for point in points):
            tables += [make(points, swept, data) for make in (_node_matrix, _statistics, _top_pairs, _node_statistics)]
            tables.append(_asymmetry(points, swept, data))
    tables[1] = _noted(tables[1], records)
    return tuple(table for table in tables if table.rows)


def _pair_table(points: Sequence[StoredPairs], swept: tuple[Column, ...]) -> Table:
    """One row a measured value, columns as in ASCT and three more."""
    columns = (
        *swept,
        Column("cpu_a", "CPUA", format="integer"),
        Column("cpu_b", "CPUB", format="integer"),
        Column("value", "LATENCY", points[0].scale, 2, help=f"Median over the repeats in {points[0].unit}"),
        Column("node_a", "CPUA_NODE", format="integer"),
        Column("memory_node", "MEMBIND_NODE", format="integer"),
        Column("method", "METHOD", format="text"),
        Column("node_b", "CPUB_NODE", format="integer"),
        Column("flags", "FLAGS", format="text", kept=True),
    )
    rows: list[Row] = []
    for point in points:
        common = swept_cells(point.records, swept)
        for cell in point.cells:
            if not cell.turned:
                rows.append({**common, **_ends(cell), "memory_node": cell.memory_node, "value": cell.value})
    return Table("pairs", f"All pairs ({points[0].unit})", columns, tuple(rows), bulk=True)


def _ends(cell: PairLatency) -> Row:
    return {
        "cpu_a": cell.cpu_a,
        "cpu_b": cell.cpu_b,
        "node_a": cell.node_a,
        "node_b": cell.node_b,
        "method": cell.method,
        "flags": ", ".join(cell.flags),
    }


def _node_matrix(points: Sequence[StoredPairs], swept: tuple[Column, ...], data: str) -> Table:
    """A row for each method and node of CPU A, a column for each node of CPU B."""
    nodes = sorted({cell.node_b for point in points for cell in point.cells})
    columns = (
        *swept,
        _METHOD,
        Column("node", "CPU A in", format="text", help="Rows are the node of CPU A, columns that of CPU B"),
        *(Column(f"node{node}", f"Node{node}", points[0].scale, 2, kept=True) for node in nodes),
    )
    rows: list[Row] = []
    for point in points:
        for method, mine in point.methods(data).items():
            ways = _by_nodes(mine)
            for node in sorted({a for a, _ in ways}):
                row: Row = {**swept_cells(point.records, swept), "method": method, "node": f"Node{node}"}
                for other in nodes:
                    row[f"node{other}"] = median(ways[node, other]) if (node, other) in ways else None
                rows.append(row)
    title = f"Node-to-Node Median Latency Matrix ({points[0].unit}): {_where(data)}"
    return Table(f"nodes-{data}", title, columns, tuple(rows))


def _statistics(points: Sequence[StoredPairs], swept: tuple[Column, ...], data: str) -> Table:
    rows: list[Row] = []
    for point in points:
        for method, mine in point.methods(data).items():
            row: Row = {**swept_cells(point.records, swept), "method": method}
            rows.append(row | _four([cell.value for cell in mine]))
    columns = (*swept, _METHOD, *_four_columns(points[0]))
    return Table(f"statistics-{data}", f"Latency Statistics ({points[0].unit}): {_where(data)}", columns, tuple(rows))


def _node_statistics(points: Sequence[StoredPairs], swept: tuple[Column, ...], data: str) -> Table:
    """By node of CPU A and B; without rows where there is one node."""
    rows: list[Row] = []
    for point in points:
        for method, mine in point.methods(data).items():
            ways = _by_nodes(mine)
            for (a, b), values in sorted(ways.items()) if len(ways) > 1 else ():
                way = f"Node{a} \N{RIGHTWARDS ARROW} Node{b}"
                rows.append({**swept_cells(point.records, swept), "method": method, "way": way} | _four(values))
    columns = (*swept, _METHOD, Column("way", "Nodes", format="text"), *_four_columns(points[0]))
    title = f"Node-to-Node Latency Statistics ({points[0].unit}): {_where(data)}"
    return Table(f"node-statistics-{data}", title, columns, tuple(rows))


def _top_pairs(points: Sequence[StoredPairs], swept: tuple[Column, ...], data: str) -> Table:
    """The slowest pairs of each method."""
    unit, scale = points[0].unit, points[0].scale
    columns = (
        *swept,
        _METHOD,
        Column("cpu_a", "CPUA", format="integer"),
        Column("cpu_b", "CPUB", format="integer"),
        Column("value", f"Latency ({unit})", scale, 2),
        Column("node_a", "CPUA node", format="integer"),
        Column("node_b", "CPUB node", format="integer"),
        Column("memory_node", "Memory node", format="integer"),
        Column("flags", "Flags", format="text"),
    )
    rows: list[Row] = []
    for point in points:
        for mine in point.methods(data).values():
            slowest = sorted((cell for cell in mine if not cell.repeated), key=lambda cell: -cell.value)[:TOP]
            common = swept_cells(point.records, swept)
            rows += [
                {**common, **_ends(cell), "memory_node": cell.memory_node, "value": cell.value} for cell in slowest
            ]
    title = f"Top Latency Core Pairs with Median Latency: {_where(data)}"
    return Table(f"top-{data}", title, columns, tuple(rows))


def _asymmetry(points: Sequence[StoredPairs], swept: tuple[Column, ...], data: str) -> Table:
    """The pairs whose two directions differ most, if they do; only chain has any."""
    unit, scale = points[0].unit, points[0].scale
    columns = (
        *swept,
        Column("cpu_a", "CPUA", format="integer"),
        Column("cpu_b", "CPUB", format="integer"),
        Column("forth", f"A reads B's ({unit})", scale, 2),
        Column("back", f"B reads A's ({unit})", scale, 2),
        Column("difference", f"Difference ({unit})", scale, 2),
        Column("share", "Difference (%)", digits=1, help="Relative to the smaller one"),
    )
    rows: list[Row] = []
    for point in points:
        values: dict[tuple[int, int], list[float]] = {}
        for cell in point.groups.get((data, CHAIN), ()):
            values.setdefault((cell.cpu_a, cell.cpu_b), []).append(cell.value)
        ways = {pair: median(found) for pair, found in values.items()}
        rows += [{**swept_cells(point.records, swept), **row} for row in _most_uneven(ways)]
    title = f"Largest Differences between Directions, chain: {_where(data)}"
    return Table(f"asymmetry-{data}", title, columns, tuple(rows))


def _most_uneven(ways: dict[tuple[int, int], float]) -> list[Row]:
    rows: list[Row] = []
    for (a, b), forth in ways.items():
        back = ways.get((b, a))
        if back is not None and a < b:
            difference = abs(forth - back)
            share = 100 * difference / min(forth, back)
            row: Row = {"forth": forth, "back": back, "difference": difference, "share": share}
            if share >= _UNEVEN:
                rows.append({"cpu_a": a, "cpu_b": b, **row})
    return sorted(rows, key=lambda row: -float(row["difference"] or 0.0))[:TOP]


def _by_nodes(cells: Sequence[PairLatency]) -> dict[tuple[int, int], list[float]]:
    """The values by node of CPU A and node of CPU B."""
    found: dict[tuple[int, int], list[float]] = {}
    for cell in cells:
        found.setdefault((cell.node_a, cell.node_b), []).append(cell.value)
    return found


def _four(values: Sequence[float]) -> Row:
    return {"min": min(values), "max": max(values), "mean": sum(values) / len(values), "median": median(values)}


def _four_columns(point: StoredPairs) -> tuple[Column, ...]:
    return tuple(Column(key, title, point.scale, 2) for key, title in _FOUR)


def _where(data: str) -> str:
    return f"Data Address @ {data.capitalize()} Numa Node"


def _noted(table: Table, records: Sequence[Record]) -> Table:
    """The first readable table has the notes on checks and methods, and all flags."""
    notes = [
        "token and cas are one-way latencies (half a round trip); chain is the time for CPU A to read one line "
        "that CPU B wrote. These are three different quantities.",
    ]
    ratios = [record.value for record in records if record.metric == "interference"]
    if ratios:
        notes.append(
            f"Pairs measured again alone: concurrently with other pairs, they took {median(ratios):.2f} times as long."
        )
    return replace(table, notes=tuple(notes), flags=flags_of(records))
