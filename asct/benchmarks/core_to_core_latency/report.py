"""The report of core-to-core-latency: the tables from Arm's ASCT for each method and for local and (if there are
several nodes) remote data, heat maps in topology order, and histograms."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final

from asct.benchmarks.core_to_core_latency.pairs import CHAIN, DATA, Order, PairLatency, both_ways
from asct.sdk.figure import Axis, Bars, Column, Detail, Figure, Heatmap, Series, Table
from asct.sdk.record import Record
from asct.sdk.rows import (
    FLAGS_COLUMN,
    Row,
    at,
    by_point,
    flags_of,
    middle,
    series_name,
    series_of,
    swept_cells,
    swept_columns,
)
from asct.statistics.robust import median
from asct.values.grouping import grouped

NS = 1e-9


@dataclass(frozen=True, slots=True)
class StoredPairs:
    """The pairs for one point: medians over its repeats, in seconds or core cycles.

    `cells` contains every ordered pair; `groups` contains the pairs, keyed by data location and method.
    """

    records: tuple[Record, ...]
    cells: tuple[PairLatency, ...]
    groups: Mapping[tuple[str, str], Sequence[PairLatency]]
    order: Order
    in_cycles: bool
    hist_bins: int
    ceiling_s: float

    @property
    def unit(self) -> str:
        """The unit that tables show: `ns` or `cycles`."""
        return "cycles" if self.in_cycles else "ns"

    @property
    def base_unit(self) -> str:
        """The unit in which the values are stored: `s` or `cycles`."""
        return "cycles" if self.in_cycles else "s"

    @property
    def scale(self) -> float:
        """The number by which tables divide the stored values."""
        return 1.0 if self.in_cycles else NS

    def methods(self, data: str) -> dict[str, Sequence[PairLatency]]:
        """Return the pairs with local or remote data, keyed by method."""
        return {method: cells for (where, method), cells in self.groups.items() if where == data}

    def maps(self) -> dict[str, dict[str, Sequence[PairLatency]]]:
        """Return the pairs for the figures, keyed by data location and method.

        If all data is on a single node, local and remote pairs complement each other, so they share a figure.
        """
        nodes = {cell.memory_node for cell in self.cells}
        if len(nodes) > 1 or not all(self.methods(data) for data in DATA):
            return {data: found for data in DATA if (found := self.methods(data))}
        return {f"node {min(nodes)}": {**grouped(self.cells, lambda cell: cell.method)}}


Setting = Callable[[str, str], Any]
"""Returns the value of a point's setting, given the id of the point and the name of the setting."""


def stored_pairs(records: Sequence[Record], setting: Setting) -> list[StoredPairs]:
    """Return the points that have pairs, in order of appearance. The values of the pairs are in cycles if all pairs
    have values in cycles."""
    groups = by_point(records)
    in_cycles = all(setting(mine[0].point_id, "cycle_base") for mine in groups)
    points = [_measured(mine, in_cycles, setting) for mine in groups]
    return [point for point in points if point.cells]


def _measured(mine: Sequence[Record], in_cycles: bool, setting: Setting) -> StoredPairs:
    found = [one for one in mine if "cpu_b" in one.coords and one.metric.endswith("_cycles") == in_cycles]
    cells = [_cell(repeats) for repeats in grouped(found, lambda one: tuple(one.coords.values())).values()]
    nodes = {cpu: node for cell in cells for cpu, node in ((cell.cpu_a, cell.node_a), (cell.cpu_b, cell.node_b))}
    order = Order(nodes, _by_cpu(mine, "core"), _by_cpu(mine, "cluster"))
    pairs = both_ways(cells)
    groups = grouped(pairs, lambda cell: (cell.data, cell.method))
    bins, ceiling_s = int(setting(mine[0].point_id, "hist_bins")), setting(mine[0].point_id, "heatmap_vmax") * NS
    return StoredPairs(tuple(mine), tuple(pairs), groups, order, in_cycles, bins, ceiling_s)


def _cell(repeats: Sequence[Record]) -> PairLatency:
    at = repeats[0].coords
    cpu_a, cpu_b, node_a, node_b, memory_node = (
        int(at[key]) for key in ("cpu_a", "cpu_b", "node_a", "node_b", "memory_node")
    )
    value = median([record.value for record in repeats])
    flags = tuple(dict.fromkeys(flag for record in repeats for flag in record.flags))
    return PairLatency(
        cpu_a, cpu_b, node_a, node_b, str(at["method"]), memory_node, value, flags=flags, repeats=tuple(repeats)
    )


def _by_cpu(records: Iterable[Record], metric: str) -> dict[int, int]:
    return {int(record.coords["cpu_a"]): int(record.value) for record in records if record.metric == metric}


TOP: Final = 10
_UNEVEN: Final = 1.0
"""Minimum difference between the two directions of a pair, in percent, for the pair to be listed. Smaller differences
are noise."""
_METHOD: Final = Column(
    "method",
    "Method",
    format="text",
    help="token and cas: one message, half a round trip; chain: one line read by CPU A",
)
_CPUS: Final = (Column("cpu_a", "CPUA", format="integer"), Column("cpu_b", "CPUB", format="integer"))


def all_tables(records: Sequence[Record], setting: Setting) -> tuple[Table, ...]:
    """Return a table of all pairs, which appears only in exports, followed by the summaries."""
    points = stored_pairs(records, setting)
    if not points:
        return ()
    tables = [_pair_table(points)]
    for data in DATA:
        if any(point.methods(data) for point in points):
            makers = (_node_matrix, _statistics, _top_pairs, _node_statistics, _asymmetry)
            tables += [make(points, data) for make in makers]
    tables[1] = _noted(tables[1], records)
    return tuple(table for table in tables if table.rows)


def _table(
    names: tuple[str, str],
    points: Sequence[StoredPairs],
    columns: Sequence[Column],
    rows: Callable[[StoredPairs], Iterable[Row]],
    data: str = "",
) -> Table:
    """Return a table with the `rows` of each point. `names` contains the slug and the title of the table. The table
    covers local or remote `data` or, if it is only for exports, both."""
    swept = swept_columns(record for point in points for record in point.records)
    found = tuple(swept_cells(point.records, swept) | row for point in points for row in rows(point))
    slug, title = names
    if data:
        slug, title = f"{slug}-{data}", f"{title}: Data Address @ {data.capitalize()} Numa Node"
    return Table(slug, title, (*swept, *columns), found, bulk=not data)


def _pair_table(points: Sequence[StoredPairs]) -> Table:
    """Return a table with one row per measured value. It has the columns from Arm's ASCT and three more."""
    columns = (
        *_CPUS,
        Column("value", "LATENCY", points[0].scale, 2, help=f"Median over the repeats, in {points[0].unit}"),
        Column("node_a", "CPUA_NODE", format="integer"),
        Column("memory_node", "MEMBIND_NODE", format="integer"),
        Column("method", "METHOD", format="text"),
        Column("node_b", "CPUB_NODE", format="integer"),
        Column("flags", "FLAGS", format="text", kept=True),
    )
    title = f"All pairs ({points[0].unit})"
    return _table(
        ("pairs", title), points, columns, lambda point: [_pair_row(cell) for cell in point.cells if not cell.turned]
    )


def _pair_row(cell: PairLatency) -> Row:
    return {**cell.coords, "value": cell.value, "flags": ", ".join(cell.flags)}


def _node_matrix(points: Sequence[StoredPairs], data: str) -> Table:
    """Return a table with one row per method and node of CPU A, and one column per node of CPU B."""
    nodes = sorted({cell.node_b for point in points for cell in point.cells})
    columns = (
        _METHOD,
        Column("node", "CPU A in", format="text", help="Each row is a node of CPU A, each column a node of CPU B"),
        *(Column(f"node{node}", f"Node{node}", points[0].scale, 2, kept=True) for node in nodes),
    )

    def rows(point: StoredPairs) -> Iterable[Row]:
        for method, mine in point.methods(data).items():
            ways = _by_nodes(mine)
            for node in sorted({a for a, _ in ways}):
                values = {f"node{b}": median(ways[node, b]) if (node, b) in ways else None for b in nodes}
                yield {"method": method, "node": f"Node{node}", **values}

    return _table(("nodes", f"Node-to-Node Median Latency Matrix ({points[0].unit})"), points, columns, rows, data)


def _statistics(points: Sequence[StoredPairs], data: str) -> Table:
    def rows(point: StoredPairs) -> Iterable[Row]:
        for method, mine in point.methods(data).items():
            yield {"method": method, **_four([cell.value for cell in mine])}

    columns = (_METHOD, *_four_columns(points[0]))
    return _table(("statistics", f"Latency Statistics ({points[0].unit})"), points, columns, rows, data)


def _node_statistics(points: Sequence[StoredPairs], data: str) -> Table:
    """Return statistics for each combination of the nodes of CPU A and CPU B. The table has no rows if there is only
    one node."""

    def rows(point: StoredPairs) -> Iterable[Row]:
        for method, mine in point.methods(data).items():
            ways = _by_nodes(mine)
            for (a, b), values in sorted(ways.items()) if len(ways) > 1 else ():
                yield {"method": method, "way": f"Node{a} \N{RIGHTWARDS ARROW} Node{b}", **_four(values)}

    columns = (_METHOD, Column("way", "Nodes", format="text"), *_four_columns(points[0]))
    title = f"Node-to-Node Latency Statistics ({points[0].unit})"
    return _table(("node-statistics", title), points, columns, rows, data)


def _top_pairs(points: Sequence[StoredPairs], data: str) -> Table:
    """Return the slowest pairs for each method."""
    columns = (
        _METHOD,
        *_CPUS,
        Column("value", f"Latency ({points[0].unit})", points[0].scale, 2),
        Column("node_a", "CPUA node", format="integer"),
        Column("node_b", "CPUB node", format="integer"),
        Column("memory_node", "Memory node", format="integer"),
        FLAGS_COLUMN,
    )

    def rows(point: StoredPairs) -> Iterable[Row]:
        for mine in point.methods(data).values():
            slowest = sorted((cell for cell in mine if not cell.repeated), key=lambda cell: -cell.value)
            yield from map(_pair_row, slowest[:TOP])

    return _table(("top", "Top Latency Core Pairs with Median Latency"), points, columns, rows, data)


def _asymmetry(points: Sequence[StoredPairs], data: str) -> Table:
    """Return the pairs whose two directions differ most. Only `chain` has directions."""
    unit, scale = points[0].unit, points[0].scale
    columns = (
        *_CPUS,
        Column("forth", f"A reads from B ({unit})", scale, 2),
        Column("back", f"B reads from A ({unit})", scale, 2),
        Column("difference", f"Difference ({unit})", scale, 2),
        Column("share", "Difference (%)", digits=1, help="Relative to the smaller value"),
    )
    names = ("asymmetry", "Largest Differences between Directions, chain")
    return _table(
        names, points, columns, lambda point: _most_uneven(_by_pair(point.groups.get((data, CHAIN), ()))), data
    )


def _by_pair(cells: Iterable[PairLatency]) -> dict[tuple[int, int], float]:
    """Return the median over the memory nodes for each ordered pair of CPUs."""
    found = grouped(cells, lambda cell: (cell.cpu_a, cell.cpu_b))
    return {pair: median([cell.value for cell in mine]) for pair, mine in found.items()}


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
    """Return a mapping from the nodes of CPU A and CPU B to the values of their pairs."""
    found = grouped(cells, lambda cell: (cell.node_a, cell.node_b))
    return {nodes: [cell.value for cell in mine] for nodes, mine in found.items()}


def _four(values: Sequence[float]) -> Row:
    return {"min": min(values), "max": max(values), "mean": sum(values) / len(values), "median": median(values)}


def _four_columns(point: StoredPairs) -> tuple[Column, ...]:
    return tuple(Column(key, key.capitalize(), point.scale, 2) for key in ("min", "max", "mean", "median"))


def _noted(table: Table, records: Sequence[Record]) -> Table:
    """Add the notes on methods and checks, and all flags, to the first table that reports show."""
    notes = [
        "token and cas are one-way latencies (half a round trip); chain is the time for CPU A to read one line "
        "that CPU B wrote. These are three different quantities.",
    ]
    ratios = [record.value for record in records if record.metric == "interference"]
    if ratios:
        notes.append(
            f"Pairs measured concurrently with others took {median(ratios):.2f} times as long as when measured alone."
        )
    return replace(table, notes=tuple(notes), flags=flags_of(records))


_FEWEST: Final = 3
"""Minimum number of CPUs for a figure; two CPUs form only a single pair."""
_CAPTIONS: Final = {
    "token": "One-way latency of a message that one CPU stores and the other polls for (half a round trip).",
    "cas": "One-way latency of a message sent by compare-and-swap (half a round trip).",
    CHAIN: "Time for CPU A to read one line that CPU B wrote; each load waits for the previous one.",
}


def all_figures(records: Sequence[Record], setting: Setting) -> tuple[Figure, ...]:
    """For each point, return a heat map per method and a histogram of all methods. Local and remote data have separate
    figures unless all data is on one node."""
    figures: list[Figure] = []
    for number, point in enumerate(stored_pairs(records, setting), start=1):
        cpus = point.order.sorted({cell.cpu_a for cell in point.cells})
        if len(cpus) < _FEWEST:
            continue
        suffix = "" if number == 1 else f"-{number}"
        for data, methods in point.maps().items():
            place = (
                "data on " + (data if data.startswith("node") else f"the {data} node"),
                f"{data.replace(' ', '')}{suffix}",
            )
            figures += [_heatmap(point, method, mine, cpus, place) for method, mine in methods.items()]
            figures.append(_histogram(point, methods, place))
    return tuple(figures)


def _heatmap(
    point: StoredPairs, method: str, cells: Sequence[PairLatency], cpus: list[int], place: tuple[str, str]
) -> Heatmap:
    pairs = grouped(cells, lambda cell: (cell.cpu_a, cell.cpu_b))
    blocks = "nodes, and groups of CPUs that share a last-level cache" if point.order.cluster else "nodes"
    names = tuple(map(str, cpus))
    series = tuple(_map_row(str(a), names, [pairs.get((a, b), ()) for b in cpus]) for a in cpus)
    return Heatmap(
        slug=f"heatmap-{method}-{place[1]}",
        title=series_name(f"Core to core, {method}, {place[0]}", point.records[0]),
        caption=f"{_CAPTIONS[method]} CPUs are in topology order; lines separate {blocks}.",
        x_title="CPU B",
        y_title="CPU A",
        columns=names,
        rows=names,
        values=tuple(row.y for row in series),
        unit=point.base_unit,
        ceiling=_ceiling(point),
        groups=tuple(point.order.breaks(cpus)),
        host=point.records[0].host,
        better="lower",
        series=series,
    )


def _map_row(name: str, columns: Sequence[str], pairs: Sequence[Sequence[PairLatency]]) -> Series:
    """Return a row of a heat map. For each column, `pairs` contains the values of one pair, one for each memory
    node."""
    if all(len(cells) <= 1 for cells in pairs):
        return series_of(name, columns, [cells[0].repeats if cells else () for cells in pairs])
    values = [tuple(cell.value for cell in cells) for cells in pairs]
    flags = [tuple(dict.fromkeys(flag for cell in cells for flag in cell.flags)) for cells in pairs]
    return Series(
        name,
        tuple(columns),
        tuple(median(own) if own else None for own in values),
        tuple(min(own, default=None) for own in values),
        tuple(max(own, default=None) for own in values),
        details=tuple(
            Detail(own, "memory node", flags=own_flags) if own else None
            for own, own_flags in zip(values, flags, strict=True)
        ),
    )


def _ceiling(point: StoredPairs) -> float | None:
    """Return the value of the `heatmap_vmax` setting, converted to cycles with the measured clock if necessary."""
    if not point.in_cycles:
        return point.ceiling_s
    clock = middle(at(point.records, "core_clock"))
    return None if clock is None else point.ceiling_s * clock


def _histogram(point: StoredPairs, cells: Mapping[str, Sequence[PairLatency]], place: tuple[str, str]) -> Bars:
    methods = {method: [cell.value for cell in _once(mine)] for method, mine in cells.items()}
    edges = _edges([value for mine in methods.values() for value in mine], point.hist_bins)
    labels = _labels([edge / point.scale for edge in edges])
    series = []
    for method, mine in methods.items():
        counts = [0] * len(labels)
        for value in mine:
            counts[_bin_of(value, edges)] += 1
        series.append(Series(method, labels, tuple(map(float, counts)), host=point.records[0].host))
    return Bars(
        slug=f"histogram-{place[1]}",
        title=series_name(f"Pairs of CPUs by latency, {place[0]}", point.records[0]),
        caption="Number of pairs in each range; for `chain`, both directions are counted.",
        x=Axis(f"Latency ({point.unit})", "", "category", better="lower"),
        y=Axis("Pairs", "1", counts=True),
        series=tuple(series),
    )


def _once(cells: Sequence[PairLatency]) -> list[PairLatency]:
    """Return the cells, omitting copies of cells for the opposite direction."""
    ways = {(cell.cpu_a, cell.cpu_b, cell.memory_node) for cell in cells if not cell.turned}
    return [cell for cell in cells if not cell.turned or (cell.cpu_b, cell.cpu_a, cell.memory_node) not in ways]


def _edges(values: Sequence[float], bins: int) -> list[float]:
    """Return the edges of equally wide ranges. If all values are equal, there is a single range."""
    low, high = min(values), max(values)
    if low == high:
        return [low, high]
    return [low + (high - low) * number / bins for number in range(bins)] + [high]


def _labels(edges: Sequence[float]) -> tuple[str, ...]:
    """Return labels such as `18 to 42`, with enough decimals to distinguish the ranges."""
    width = edges[1] - edges[0]
    decimals = max(0, 1 - math.floor(math.log10(width))) if width > 0 else 2
    return tuple(f"{low:.{decimals}f} to {high:.{decimals}f}" for low, high in pairwise(edges))


def _bin_of(value: float, edges: Sequence[float]) -> int:
    last = len(edges) - 2
    width = (edges[-1] - edges[0]) / (last + 1)
    return min(last, int((value - edges[0]) / width)) if width > 0 else 0
