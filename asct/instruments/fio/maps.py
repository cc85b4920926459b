"""Figures of two axes at once: latency over the bandwidth that a load brings, and maps of two swept settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from asct.instruments.fio.rows import AXIS_TITLES, SIDES, Row, grouped, place, shown, varying
from asct.instruments.fio.views import LOADS, MOST_SERIES, SCALES, View, panels, slug_of
from asct.sdk.figure import Axis, Figure, Heatmap, Line, Series

_LEAST_POINTS: Final = 3
_MOST_MAPS: Final = 4
_LEAST_CELLS: Final = 3
"""Values of each of both settings of a map."""


@dataclass(frozen=True, slots=True)
class _Mapped:
    """A quantity whose map is drawn."""

    metric: str
    title: str
    unit: str
    caption: str
    better: Literal["lower", "higher"]


_MAPPED: Final = (
    _Mapped("iops", "I/O rate", "ops/s", "Requests per second, all jobs together.", "higher"),
    _Mapped("clat_p99", "Latency, 99th percentile", "s", "99 % of the requests completed within this time.", "lower"),
)


def load_curves(rows: Sequence[Row], names: Sequence[str]) -> list[Figure]:
    """Latency over bandwidth as the load rises, the form known from memory under load; each direction apart."""
    vary = varying(rows, names)
    over = next(
        (name for name in LOADS if name in vary and len({row.setting(name) for row in rows}) >= _LEAST_POINTS), ""
    )
    if not over:
        return []
    others = [name for name in vary if name != over]
    both = any(row.value("read_iops") is not None and row.value("write_iops") is not None for row in rows)
    return [_load_curve(view) for view in panels(rows, over, others, MOST_SERIES // 2 if both else MOST_SERIES)]


def _load_curve(view: View) -> Line:
    series = [line for label, rows in view.groups.items() for line in _sides(label, rows)]
    title = "Latency over bandwidth" + (f", {view.fixed}" if view.fixed else "")
    load = AXIS_TITLES.get(view.over, view.over)
    return Line(
        slug=f"latency-bandwidth{view.suffix}",
        title=title,
        caption=f"Mean completion latency over the bandwidth that each {load} brings. Where the line turns up, more "
        "load buys time spent waiting, not bandwidth.",
        x=Axis("Bandwidth", "B/s"),
        y=Axis("Mean latency", "s", "log10"),
        series=tuple(series),
        better="lower",
    )


def _sides(label: str, rows: Sequence[Row]) -> list[Series]:
    """A line for each side that did anything, named by it where there are several."""
    found = []
    for side in SIDES:
        points = [(row.value(f"{side}_bandwidth"), row.value(f"{side}_latency")) for row in rows]
        known = [(bandwidth, latency) for bandwidth, latency in points if bandwidth is not None]
        if known:
            found.append((side, Series(side, tuple(x for x, _ in known), tuple(y for _, y in known))))
    names = [", ".join(filter(None, (label, side if len(found) > 1 or not label else ""))) for side, _ in found]
    return [Series(name, line.x, line.y) for name, (_, line) in zip(names, found, strict=True)]


def maps(rows: Sequence[Row], names: Sequence[str]) -> list[Figure]:
    """Rate and tail latency over two settings that count something, for each value of the others (four at most)."""
    vary = varying(rows, names)
    sizes = [name for name in vary if name in SCALES and len({row.setting(name) for row in rows}) >= _LEAST_CELLS]
    if len(sizes) < 2:
        return []
    over = (sizes[0], sizes[1])
    fixed = [name for name in vary if name not in over]
    groups = [(place(part[0], fixed), part) for part in grouped(rows, fixed).values()][:_MOST_MAPS]
    return [_map(part, where, over, what) for what in _MAPPED for where, part in groups]


def _map(rows: Sequence[Row], where: str, over: tuple[str, str], what: _Mapped) -> Heatmap:
    across, down = over
    columns, lines = _labels(rows, across), _labels(rows, down)
    cells = {(shown(down, row.setting(down)), shown(across, row.setting(across))): row for row in rows}
    found = [[cells.get((line, column)) for column in columns] for line in lines]
    return Heatmap(
        slug=f"map-{what.metric.replace('_', '-')}{slug_of(where)}",
        title=what.title + (f", {where}" if where else ""),
        caption=what.caption,
        x_title=AXIS_TITLES.get(across, across),
        y_title=AXIS_TITLES.get(down, down),
        columns=tuple(columns),
        rows=tuple(lines),
        values=tuple(tuple(None if row is None else row.value(what.metric) for row in line) for line in found),
        unit=what.unit,
        better=what.better,
    )


def _labels(rows: Sequence[Row], name: str) -> list[str]:
    """The values of a setting in their order, also where the first rows lack some."""
    values = {value for row in rows if isinstance(value := row.setting(name), int | float)}
    return [shown(name, value) for value in sorted(values)]
