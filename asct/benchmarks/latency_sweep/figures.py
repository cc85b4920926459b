"""The curve of latency over the working set, with the bounds found and the caches the host reports."""

from __future__ import annotations

from collections.abc import Sequence

from asct.instruments.memory.settings import CYCLE_BASE
from asct.sdk.figure import Axis, Line, Marker, Series
from asct.sdk.record import Record
from asct.sdk.rows import by_point, point_label
from asct.statistics.robust import median
from asct.values.size import about_size


def latency_curve(records: Sequence[Record]) -> Line | None:
    """One line per point (medians over the repeats), or None without a curve."""
    cycles = any(CYCLE_BASE in record.flags for record in records if record.metric == "levels")
    metric = "latency_cycles" if cycles else "latency"
    points = by_point(record for record in records if record.metric == metric and "size" in record.coords)
    if not points:
        return None
    return Line(
        slug="latency-curve",
        title="Latency by working set size",
        caption=(
            "Time of one dependent load in random order. A flat part is a level. Lines mark the end of a level; dotted "
            "lines mark the caches that the host reports. Bars are 95 % intervals."
        ),
        x=Axis("Working set", "B", "log2"),
        y=Axis("Latency", "cycles" if cycles else "s", "log10"),
        series=tuple(_series(mine) for mine in points),
        markers=(*(_bounds(records) if len(points) == 1 else ()), *_reported(records)),
        better="lower",
    )


def _series(mine: Sequence[Record]) -> Series:
    sizes = sorted({int(record.coords["size"]) for record in mine})
    by_size = {size: [r for r in mine if r.coords["size"] == size] for size in sizes}
    return Series(
        name=point_label(mine[0], "latency"),
        x=tuple(sizes),
        y=tuple(median([r.value for r in by_size[size]]) for size in sizes),
        low=tuple(min(_ends(by_size[size], 0), default=None) for size in sizes),
        high=tuple(max(_ends(by_size[size], 1), default=None) for size in sizes),
        host=mine[0].host,
    )


def _ends(repeats: Sequence[Record], end: int) -> list[float]:
    return [record.stats.ci95[end] for record in repeats if record.stats is not None and record.stats.ci95 is not None]


def _bounds(records: Sequence[Record]) -> list[Marker]:
    """Upper bounds of all levels but the last, which ends with the data."""
    found: dict[str, list[float]] = {}
    for record in records:
        if record.metric == "upper_bound":
            found.setdefault(str(record.coords["level"]), []).append(record.value)
    ends = sorted((median(values), level) for level, values in found.items())
    return [Marker(end, f"{level} ends at {about_size(int(end))}", "bound") for end, level in ends[:-1]]


def _reported(records: Sequence[Record]) -> list[Marker]:
    sizes = {str(r.coords["level"]): r.value for r in records if r.metric == "cache_size"}
    return [Marker(size, f"{level} {about_size(int(size))}", "hint") for level, size in sizes.items()]
