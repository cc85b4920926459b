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
    sample,
    settings_text,
    shown,
    slug_of,
    swept_names,
    varying,
    views,
)
from asct.instruments.fio.timeline import course_figures
from asct.sdk.figure import Axis, Bars, Figure, Heatmap, Line, Scale, Series
from asct.sdk.record import Record

_LEAST_POINTS: Final = 3
_MOST_MAPS: Final = 4
_LEAST_CELLS: Final = 3
"""Minimum number of values that each of a map's two settings must have."""


@dataclass(frozen=True, slots=True)
class FigureQuantity:
    """The quantity shown in a figure: a metric with its title, caption and unit."""

    slug: str
    title: str
    caption: str
    metric: str
    unit: str
    better: Literal["lower", "higher"]


_RATE: Final = FigureQuantity("io-rate", "IOPS", "Requests per second, all jobs combined.", "iops", "ops/s", "higher")
_QUANTITIES: Final = (
    FigureQuantity("bandwidth", "Bandwidth", "Bytes per second, all jobs combined.", "bandwidth", "B/s", "higher"),
    _RATE,
    FigureQuantity("latency", "Mean latency", "Mean completion latency of a request.", "latency", "s", "lower"),
)
_TAIL: Final = FigureQuantity(
    "latency-percentiles", "Latency, 99th percentile", "99 % of the requests completed within this time.", "clat_p99",
    "s", "lower",
)  # fmt: skip
_ALL_PERCENTILES: Final = replace(
    _TAIL,
    title="Latency percentiles",
    caption="Completion latency. Percentiles with fewer than 10 requests above them are omitted.",
)


def load_curves(rows: Sequence[PointRow], names: Sequence[str]) -> list[Figure]:
    """Return figures that plot latency against bandwidth as the load increases, with separate lines for reads and
    writes."""
    vary = varying(rows, names)
    loads = [name for name in LOADS if name in vary]
    over = next((name for name in loads if len({row.setting(name) for row in rows}) >= _LEAST_POINTS), "")
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
        caption=f"Mean completion latency against the bandwidth at each {load}. Where the line bends upward, "
        "additional load increases the waiting time instead of the bandwidth.",
        x=Axis("Bandwidth", "B/s"),
        y=Axis("Mean latency", "s", "log10"),
        series=tuple(series),
        better="lower",
    )


def _sides(label: str, rows: Sequence[PointRow]) -> list[Series]:
    """Return one line per direction with requests. If there are several, their names include the direction."""
    found = []
    for side in SIDES:
        points = [(row.value(f"{side}_bandwidth"), row.value(f"{side}_latency")) for row in rows]
        known = [(bandwidth, latency) for bandwidth, latency in points if bandwidth is not None]
        if known:
            found.append(Series(side, tuple(x for x, _ in known), tuple(y for _, y in known)))
    if not label:
        return found
    return [replace(line, name=f"{label}, {line.name}" if len(found) > 1 else label) for line in found]


def maps(rows: Sequence[PointRow], names: Sequence[str]) -> list[Figure]:
    """Return maps of rate and tail latency over two settings, for at most four combinations of the other settings."""
    vary = varying(rows, names)
    sizes = [name for name in vary if name in SCALES and len({row.setting(name) for row in rows}) >= _LEAST_CELLS]
    if len(sizes) < 2:
        return []
    over = (sizes[0], sizes[1])
    fixed = [name for name in vary if name not in over]
    groups = [(settings_text(part[0], fixed), part) for part in grouped(rows, fixed).values()][:_MOST_MAPS]
    return [_map(part, where, over, what) for what in (_RATE, _TAIL) for where, part in groups]


def _map(rows: Sequence[PointRow], where: str, over: tuple[str, str], what: FigureQuantity) -> Heatmap:
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
    """Return the values of a setting as text, sorted by value."""
    values = {value for row in rows if isinstance(value := row.setting(name), int | float)}
    return [shown(name, value) for value in sorted(values)]


_PERCENTILE: Final = re.compile(r"(read|write)_clat_p([0-9]+)(?:_([0-9]+))?")


def distributions(rows: Sequence[PointRow], names: Sequence[str]) -> tuple[Figure, ...]:
    """Return one figure for reads and one for writes, with a line for each point that `sample` selects."""
    found = []
    for side, word in (("read", "Read"), ("write", "Write")):
        able = [row for row in rows if row.value(f"{side}_iops") is not None]
        chosen = sample(able, names)
        vary = varying(chosen, names)
        series = [_distribution_series(label(row, vary) or word.lower() + "s", side, row) for row in chosen]
        drawn = tuple(line for line in series if len(line.x) > 1)
        if drawn:
            caption = (
                "Share of the requests that completed within this time. Lines end at the highest percentile with at "
                "least 10 slower requests."
            )
            if len(chosen) < len(able):
                fixed = settings_text(chosen[0], [name for name in varying(able, names) if name not in vary])
                caption += f" {len(chosen)} of {len(able)} points" + (f": {fixed}." if fixed else ".")
            title = f"{word} latency distribution"
            axes = Axis("Completion latency", "s", "log10"), Axis("Requests", "%")
            found.append(Line(f"{side}-latency-distribution", title, caption, *axes, drawn))
    return tuple(found)


def _distribution_series(name: str, side: str, row: PointRow) -> Series:
    """Return the percentiles of a point, from lowest to highest."""
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
"""Difference, in percent of CPU time, below which two charts look the same. mpstat rounds to 0.01 per CPU."""


def sweep_figures(records: Sequence[Record], axis: str | None) -> Sequence[Figure]:
    """Return all figures of a storage benchmark.

    Bandwidth, rate, mean latency and latency percentiles are plotted over the swept settings (see `views`), unless
    there is only one point. The other figures are latency over bandwidth, maps of two settings, latency distributions,
    timelines, and CPU time.
    """
    rows = gather(records)
    if not rows:
        return ()
    names = swept_names(rows, axis)
    over = main_axis(rows, names, axis)
    curves: list[Figure] = []
    if over is not None:
        found = views(rows, names, over)
        curves = [_chart(quantity, view) for quantity in (*_QUANTITIES, _TAIL) for view in found]
    return (
        *curves,
        *load_curves(rows, names),
        *maps(rows, names),
        *distributions(rows, names),
        *course_figures(rows, names),
        *_cpu(rows, names or ["iodepth"]),
    )


def _chart(what: FigureQuantity, view: FigureView) -> Figure:
    """Draw a quantity as lines over a numeric setting, or as bars over any other setting.

    A single group has separate lines for reads, writes and their total, or for each percentile. Several groups have one
    line each.
    """
    if len(view.groups) > 1:
        series = [_series(label, what.metric, view.over, rows) for label, rows in view.groups.items()]
    else:
        [rows] = view.groups.values()
        metrics = _PERCENTILES if what is _TAIL else _side_metrics(what.metric, rows)
        series = [_series(name, metric, view.over, rows) for name, metric in metrics.items()]
        if what is _TAIL:
            series = [line for line in series if any(y is not None for y in line.y)]
            what = _ALL_PERCENTILES
    over = f" over {AXIS_TITLES.get(view.over, view.over)}" if "-over-" in view.suffix else ""
    title = f"{what.title}{over}" + (f", {view.fixed}" if view.fixed else "")
    x = _axis(view.over, view.groups)
    tail = what.slug == _TAIL.slug
    log = tail or (what.unit == "s" and x.scale != "category")  # latency under load spans several decades
    y = Axis("Completion latency" if tail else what.title, what.unit, "log10" if log else "linear")
    kind = Bars if x.scale == "category" else Line
    return kind(what.slug + view.suffix, title, what.caption, x, y, tuple(series), better=what.better)


def _side_metrics(metric: str, rows: Sequence[PointRow]) -> dict[str, str]:
    """Return the metrics, by name, for each direction that has requests and, if there are several directions, for their
    total."""
    found = {side: f"{side}_{metric}" for side in SIDES if any(row.value(f"{side}_iops") is not None for row in rows)}
    return found | {"total": metric} if len(found) > 1 else found


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
        x=tuple("-" if (value := row.setting(over)) is None else value for row in rows),
        y=tuple(row.value(metric) for row in rows),
        low=tuple(low for low, _ in intervals) if known else (),
        high=tuple(high for _, high in intervals) if known else (),
    )


def _cpu(rows: Sequence[PointRow], names: Sequence[str]) -> tuple[Figure, ...]:
    """Return stacked bars that show how the CPUs used by the jobs and, if the result differs, all CPUs spent their
    time. The result is empty without data from mpstat."""
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
    """Return whether two charts differ visibly."""
    pairs = zip(used.series, everywhere.series, strict=True)
    both = [pair for a, b in pairs for pair in zip(a.y, b.y, strict=True)]
    return any(one != other if one is None or other is None else abs(one - other) > _ALIKE for one, other in both)


def _cpu_bars(rows: Sequence[PointRow], names: Sequence[str], prefix: str, slug: str, title: str, of: str) -> Bars:
    labels = tuple(", ".join(shown(name, row.setting(name)) for name in names) for row in rows)
    series = tuple(Series(kind, labels, tuple(row.value(f"{prefix}_{kind}") for row in rows)) for kind in _CPU)
    caption = f"Share of the time of {of}, measured with mpstat. iowait is idle time with pending requests, not load."
    x = Axis(", ".join(AXIS_TITLES.get(name, name) for name in names), "", "category")
    return Bars(slug, title, caption, x, Axis("CPU time", "%"), series, stacked=True, better="lower")
