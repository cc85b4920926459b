"""Figures: the rate of every zone over its place on the disk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from asct.benchmarks.storage_hdd.tables import Index, ZoneCoordinates, indexed, workloads_of, zone_starts
from asct.sdk.figure import Axis, Figure, Line, Series
from asct.sdk.record import Record
from asct.sdk.rows import by_point, middle, point_label
from asct.values.size import format_size

_X: Final = Axis("Position on the disk (0: outer edge, 1: inner edge)")
_CAPTION: Final = "Each point is one zone; the outer zones of a disk come first."


@dataclass(frozen=True, slots=True)
class ZoneQuantity:
    """The quantity that a figure shows, and for which workloads."""

    slug: str
    title: str
    metric: str
    y: Axis
    random: bool
    better: Literal["lower", "higher"]


_QUANTITIES: Final = (
    ZoneQuantity("zones-iops", "IOPS across the disk", "zone_iops", Axis("IOPS", "ops/s"), True, "higher"),
    ZoneQuantity(
        "zones-latency", "Mean latency across the disk", "zone_latency", Axis("Mean latency", "s"), True, "lower"
    ),
    ZoneQuantity(
        "zones-throughput", "Throughput across the disk", "zone_bandwidth", Axis("Bandwidth", "B/s"), False, "higher"
    ),
)


def zone_figures(records: Sequence[Record]) -> Sequence[Figure]:
    """IOPS and latency of random requests, bandwidth of sequential ones; nothing without records."""
    points = by_point(records)
    named = [
        (point_label(mine[0], "") if len(points) > 1 else "", indexed(mine), workloads_of(mine)) for mine in points
    ]
    drawn = ((quantity, _lines(quantity, named)) for quantity in _QUANTITIES)
    return tuple(
        Line(what.slug, what.title, _CAPTION, _X, what.y, lines, better=what.better) for what, lines in drawn if lines
    )


def _lines(what: ZoneQuantity, points: Sequence[tuple[str, Index, Sequence[ZoneCoordinates]]]) -> tuple[Series, ...]:
    return tuple(
        _series(what.metric, label, index, cell)
        for label, index, cells in points
        for cell in cells
        if cell.random == what.random
    )


def _series(metric: str, point: str, index: Index, cell: ZoneCoordinates) -> Series:
    """The zones of one cell of one point; the median over the repeats."""
    starts = zone_starts(index)
    size = middle(index.get(("zone_size", None, None), ())) or 0.0
    end = max(starts.values()) + size
    reads = f" {cell.rwmixread} % reads" if cell.rw == "randrw" else ""
    label = f"{cell.rw} {format_size(cell.block_size)}{reads}"
    return Series(
        f"{point}, {label}" if point else label,
        tuple((start + size / 2.0) / end for start in starts.values()),
        tuple(middle(index.get((metric, cell, zone), ())) for zone in starts),
    )
