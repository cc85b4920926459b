"""The figures of a storage benchmark: rates and latencies over the swept settings, maps, distributions, and CPU
time."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from asct.instruments.fio.rows import (
    AXIS_TITLES,
    LOADS,
    MOST_SERIES,
    SCALES,
    SIDES,
    SIZES,
    FigureView,
    PointRow,
    gather,
    grouped,
    label,
    main_axis,
    panels,
    place,
    sample,
    shown,
    slug_of,
    swept_names,
    varying,
    views,
)
from asct.instruments.fio.timeline import course_figures
from asct.sdk.figure import Axis, Bars, Figure, Heatmap, Line, Scale, Series
from asct.sdk.record import Record, Scalar

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
    _Mapped("iops", "IOPS", "ops/s", "Requests per second, all jobs combined.", "higher"),
    _Mapped("clat_p99", "Latency, 99th percentile", "s", "99 % of the requests completed within this time.", "lower"),
)


def load_curves(rows: Sequence[PointRow], names: Sequence[str]) -> list[Figure]:
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


def _load_curve(view: FigureView) -> Line:
    series = [line for label, rows in view.groups.items() for line in _sides(label, rows)]
    title = "Latency over bandwidth" + (f", {view.fixed}" if view.fixed else "")
    load = AXIS_TITLES.get(view.over, view.over)
    return Line(
        slug=f"latency-bandwidth{view.suffix}",
        title=title,
        caption=f"Mean completion latency over the bandwidth at each {load}. Where the line bends upwards, "
        "additional load increases waiting time instead of bandwidth.",
        x=Axis("Bandwidth", "B/s"),
        y=Axis("Mean latency", "s", "log10"),
        series=tuple(series),
        better="lower",
    )


def _sides(label: str, rows: Sequence[PointRow]) -> list[Series]:
    """A line for each side that did anything, named by it where there are several."""
    found = []
    for side in SIDES:
        points = [(row.value(f"{side}_bandwidth"), row.value(f"{side}_latency")) for row in rows]
        known = [(bandwidth, latency) for bandwidth, latency in points if bandwidth is not None]
        if known:
            found.append((side, Series(side, tuple(x for x, _ in known), tuple(y for _, y in known))))
    names = [", ".join(filter(None, (label, side if len(found) > 1 or not label else ""))) for side, _ in found]
    return [Series(name, line.x, line.y) for name, (_, line) in zip(names, found, strict=True)]


def maps(rows: Sequence[PointRow], names: Sequence[str]) -> list[Figure]:
    """Rate and tail latency over two settings that count something, for each value of the others (four at most)."""
    vary = varying(rows, names)
    sizes = [name for name in vary if name in SCALES and len({row.setting(name) for row in rows}) >= _LEAST_CELLS]
    if len(sizes) < 2:
        return []
    over = (sizes[0], sizes[1])
    fixed = [name for name in vary if name not in over]
    groups = [(place(part[0], fixed), part) for part in grouped(rows, fixed).values()][:_MOST_MAPS]
    return [_map(part, where, over, what) for what in _MAPPED for where, part in groups]


def _map(rows: Sequence[PointRow], where: str, over: tuple[str, str], what: _Mapped) -> Heatmap:
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


def _labels(rows: Sequence[PointRow], name: str) -> list[str]:
    """The values of a setting in their order, also where the first rows lack some."""
    values = {value for row in rows if isinstance(value := row.setting(name), int | float)}
    return [shown(name, value) for value in sorted(values)]


_PERCENTILE: Final = re.compile(r"(read|write)_clat_p([0-9]+)(?:_([0-9]+))?")


def distributions(rows: Sequence[PointRow], names: Sequence[str]) -> tuple[Figure, ...]:
    """One figure for reads and one for writes, a line per point; with more than eight, those of `sample`."""
    found = []
    for side, word in (("read", "Read"), ("write", "Write")):
        able = [row for row in rows if row.value(f"{side}_iops") is not None]
        chosen = sample(able, names)
        vary = varying(chosen, names)
        series = [_distribution_series(label(row, vary) or word.lower() + "s", side, row) for row in chosen]
        drawn = tuple(line for line in series if len(line.x) > 1)
        if drawn:
            caption = (
                "Share of the requests that completed within this time. A line ends where fewer than 10 requests "
                "are slower."
            )
            if len(chosen) < len(able):
                fixed = place(chosen[0], [name for name in varying(able, names) if name not in vary])
                caption += f" {len(chosen)} of {len(able)} points" + (f": {fixed}." if fixed else ".")
            title = f"{word} latency distribution"
            axes = Axis("Completion latency", "s", "log10"), Axis("Requests", "%")
            found.append(Line(f"{side}-latency-distribution", title, caption, *axes, drawn))
    return tuple(found)


def _distribution_series(name: str, side: str, row: PointRow) -> Series:
    """The percentiles that the point has, from low to high."""
    known = sorted(
        (float(f"{match[2]}.{match[3] or 0}"), value)
        for metric in row.samples
        if (match := _PERCENTILE.fullmatch(metric)) and match[1] == side and (value := row.value(metric))
    )
    return Series(name, tuple(value for _, value in known), tuple(percent for percent, _ in known))


_PERCENTILES: Final = {
    "p50": "clat_p50", "p90": "clat_p90", "p99": "clat_p99", "p99.9": "clat_p99_9", "p99.99": "clat_p99_99",
}  # fmt: skip
_CPU: Final = ("usr", "sys", "irq", "soft", "iowait")
_ALIKE: Final = 1.0
"""Percent of CPU time: mpstat rounds to 0.01 for each CPU, and the mean of several is weighted by its samples."""


@dataclass(frozen=True, slots=True)
class FigureQuantity:
    """The quantity that a figure shows."""

    slug: str
    title: str
    caption: str
    metric: str
    unit: str
    better: Literal["lower", "higher"]


_QUANTITIES: Final = (
    FigureQuantity("bandwidth", "Bandwidth", "Bytes per second, all jobs combined.", "bandwidth", "B/s", "higher"),
    FigureQuantity("io-rate", "IOPS", "Requests per second, all jobs combined.", "iops", "ops/s", "higher"),
    FigureQuantity("latency", "Mean latency", "Mean completion latency of a request.", "latency", "s", "lower"),
)


def sweep_figures(records: Sequence[Record], axis: str | None) -> Sequence[Figure]:
    """Bandwidth, rate, mean latency and latency percentiles over the swept settings (see `views`); latency over
    bandwidth; maps of two settings; latency distributions; timelines; CPU time.

    A single point has no curve.
    """
    rows = gather(records)
    if not rows:
        return ()
    names = swept_names(rows, axis)
    over = main_axis(rows, names, axis)
    curves: list[Figure] = []
    if over is not None:
        found = views(rows, names, over)
        curves = [_chart(quantity, view) for quantity in _QUANTITIES for view in found]
        curves += [_percentiles(view) for view in found]
    return (
        *curves,
        *load_curves(rows, names),
        *maps(rows, names),
        *distributions(rows, names),
        *course_figures(rows, names),
        *_cpu(rows, names or ["iodepth"]),
    )


def _chart(quantity: FigureQuantity, view: FigureView) -> Figure:
    """One quantity: reads, writes and their total for one group, the total alone for several."""
    if len(view.groups) > 1:
        series = [_series(label, quantity.metric, view.over, rows) for label, rows in view.groups.items()]
    else:
        rows = next(iter(view.groups.values()))
        used = [side for side in SIDES if any(row.value(f"{side}_iops") is not None for row in rows)]
        sides = [*used, "total"] if len(used) > 1 else used
        prefixes = {side: "" if side == "total" else f"{side}_" for side in sides}
        series = [_series(side, prefix + quantity.metric, view.over, rows) for side, prefix in prefixes.items()]
    return _drawn(quantity, Axis(quantity.title, quantity.unit), series, view)


def _percentiles(view: FigureView) -> Figure:
    if len(view.groups) > 1:
        series = [_series(label, "clat_p99", view.over, rows) for label, rows in view.groups.items()]
        title, caption = "Latency, 99th percentile", "99 % of the requests completed within this time."
    else:
        rows = next(iter(view.groups.values()))
        series = [_series(name, metric, view.over, rows) for name, metric in _PERCENTILES.items()]
        series = [line for line in series if any(y is not None for y in line.y)]
        title = "Latency percentiles"
        caption = "Completion latency. Percentiles with fewer than 10 requests above them are omitted."
    what = FigureQuantity("latency-percentiles", title, caption, "", "s", "lower")
    return _drawn(what, Axis("Completion latency", "s", "log10"), series, view)


def _drawn(what: FigureQuantity, y: Axis, series: Sequence[Series], view: FigureView) -> Figure:
    """Lines over numbers, bars over words."""
    over = f" over {AXIS_TITLES.get(view.over, view.over)}" if "-over-" in view.suffix else ""
    title = f"{what.title}{over}" + (f", {view.fixed}" if view.fixed else "")
    x = _axis(view.over, view.groups)
    kind = Bars if x.scale == "category" else Line
    if kind is Line and y.unit == "s":  # latency under load spans decades
        y = replace(y, scale="log10")
    return kind(what.slug + view.suffix, title, what.caption, x, y, tuple(series), better=what.better)


def _axis(over: str, groups: Mapping[str, Sequence[PointRow]]) -> Axis:
    values = [row.setting(over) for rows in groups.values() for row in rows]
    numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    scale: Scale = "linear"
    if len(numbers) < len(values):
        scale = "category"
    elif over in SCALES and all(number > 0 for number in numbers):
        scale = "log2"
    return Axis(AXIS_TITLES.get(over, over), "B" if over in SIZES else "", scale)


def _series(name: str, metric: str, over: str, rows: Sequence[PointRow]) -> Series:
    intervals = [row.interval(metric) for row in rows]
    known = any(low is not None for low, _ in intervals)
    return Series(
        name,
        x=tuple(_x(row.setting(over)) for row in rows),
        y=tuple(row.value(metric) for row in rows),
        low=tuple(low for low, _ in intervals) if known else (),
        high=tuple(high for _, high in intervals) if known else (),
    )


def _x(value: Scalar | None) -> Scalar:
    return "-" if value is None else value


def _cpu(rows: Sequence[PointRow], names: Sequence[str]) -> tuple[Figure, ...]:
    """Stacked bars of CPU time: of the CPUs that the jobs run on, and of all where that differs. Nothing when mpstat
    gave nothing."""
    where = {
        "used_cpu": ("cpu-utilization", "CPU utilization", "the CPUs that the jobs use"),
        "cpu": ("cpu-utilization-all", "CPU utilization, all CPUs", "all online CPUs"),
    }
    found = [
        _cpu_bars(rows, names, prefix, *texts)
        for prefix, texts in where.items()
        if any(row.value(f"{prefix}_usr") is not None for row in rows)
    ]
    if len(found) == 2 and not _apart(*found):  # the jobs run on all CPUs
        found = found[1:]
    return tuple(replace(chart, slug="cpu-utilization") for chart in found) if len(found) == 1 else tuple(found)


def _apart(used: Bars, everywhere: Bars) -> bool:
    """Whether the two charts differ visibly."""
    pairs = zip(used.series, everywhere.series, strict=True)
    both = [pair for a, b in pairs for pair in zip(a.y, b.y, strict=True)]
    return any(one != other if one is None or other is None else abs(one - other) > _ALIKE for one, other in both)


def _cpu_bars(rows: Sequence[PointRow], names: Sequence[str], prefix: str, slug: str, title: str, of: str) -> Bars:
    labels = tuple(", ".join(shown(name, row.setting(name)) for name in names) for row in rows)
    series = tuple(Series(kind, labels, tuple(row.value(f"{prefix}_{kind}") for row in rows)) for kind in _CPU)
    caption = f"Share of the time of {of}, from mpstat. iowait is idle time with pending requests, not load."
    x = Axis(", ".join(AXIS_TITLES.get(name, name) for name in names), "", "category")
    return Bars(slug, title, caption, x, Axis("CPU time", "%"), series, stacked=True, better="lower")
