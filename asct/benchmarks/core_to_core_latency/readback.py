"""Records of one point back as cells: what tables and figures are made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from asct.benchmarks.core_to_core_latency.cells import Cell, Order, both_ways, by_data_and_method
from asct.sdk.record import Record, Scalar
from asct.sdk.rows import by_point, point_label
from asct.statistics.robust import median

NS = 1e-9


@dataclass(frozen=True, slots=True)
class Measured:
    """One point: medians over its repeats, in nanoseconds or core cycles.

    `cells` has every ordered pair; `groups` has the same by where the data lie and method.
    """

    records: tuple[Record, ...]
    cells: tuple[Cell, ...]
    groups: Mapping[tuple[str, str], Sequence[Cell]]
    order: Order
    in_cycles: bool

    @property
    def unit(self) -> str:
        """What the values are shown in."""
        return "cycles" if self.in_cycles else "ns"

    @property
    def base_unit(self) -> str:
        """What the values are in."""
        return "cycles" if self.in_cycles else "s"

    @property
    def scale(self) -> float:
        """What divides a value for show."""
        return 1.0 if self.in_cycles else NS

    @property
    def label(self) -> str:
        """The swept settings; empty when nothing is swept."""
        return point_label(self.records[0], "")

    def methods(self, data: str) -> dict[str, Sequence[Cell]]:
        """The cells with the data there by method."""
        return {method: cells for (where, method), cells in self.groups.items() if where == data}

    def single(self, metric: str) -> float | None:
        """The median of a metric over all its records; None without any."""
        values = [record.value for record in self.records if record.metric == metric]
        return median(values) if values else None


def points_of(records: Sequence[Record]) -> list[Measured]:
    """The points in order of appearance; those without a pair are left out. In cycles if all of them have cycles."""
    groups = by_point(records)
    in_cycles = all(any(record.metric.endswith("_cycles") for record in mine) for mine in groups)
    points = [_measured(mine, in_cycles) for mine in groups]
    return [point for point in points if point.cells]


def _measured(mine: Sequence[Record], in_cycles: bool) -> Measured:
    found: dict[tuple[Scalar, ...], list[Record]] = {}
    for record in mine:
        if "cpu_b" in record.coords and record.metric.endswith("_cycles") == in_cycles:
            found.setdefault(tuple(record.coords.values()), []).append(record)
    cells = [_cell(repeats) for repeats in found.values()]
    nodes = {cpu: node for cell in cells for cpu, node in ((cell.cpu_a, cell.node_a), (cell.cpu_b, cell.node_b))}
    order = Order(nodes, _by_cpu(mine, "core"), _by_cpu(mine, "cluster"))
    pairs = both_ways(cells)
    return Measured(tuple(mine), tuple(pairs), by_data_and_method(pairs), order, in_cycles)


def _cell(repeats: Sequence[Record]) -> Cell:
    at = repeats[0].coords
    return Cell(
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
