"""The figures of a storage benchmark: rates and latencies plotted against the swept settings, maps, distributions, and
CPU time."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from asct.instruments.fio.metrics import DIRECTIONS
from asct.instruments.fio.rows import (
    AXIS_TITLES,
    LOADS,
    MOST_SERIES,
    SCALES,
    SIZES,
    FigureView,
    PointRow,
    combinations,
    evenly,
    gather,
    label,
    main_axis,
    ordered,
    panels,
    sample,
    sample_note,
    selection_note,
    settings_text,
    swept_names,
    text_of,
    thinned,
    varying,
    views,
)
from asct.instruments.fio.timeline import course_figures
from asct.sdk.figure import Axis, Bars, Figure, Heatmap, Line, Scale, Series
from asct.sdk.record import Record, Scalar
from asct.sdk.rows import detail_of, over_measured, series_of

_LEAST_POINTS: Final = 3
"""Minimum number of points on a curve plotted against load, and minimum number of rows and columns in a map."""
_MOST_MAP_ROWS: Final = 40
_MOST_BARS: Final = 24


@dataclass(frozen=True, slots=True)
class FigureQuantity:
    """The quantity shown in a figure: a metric with its title, caption and unit.

    If all points are in one group, the figure has a line for each metric in `parts` (keyed by name) or, if `parts` is
    empty, one line each for reads, writes and their total. If `several` is set, the figure is drawn only if there are
    several groups and no maps (which would show the same metric).
    """

    slug: str
    title: str
    caption: str
    metric: str
    unit: str
    better: Literal["lower", "higher"]
    parts: Mapping[str, str] | None = None
    several: bool = False


_RATE: Final = FigureQuantity("io-rate", "IOPS", "Requests per second, all jobs combined.", "iops", "ops/s", "higher")
_TAIL: Final = FigureQuantity(
    "latency-percentiles", "Latency, 99th percentile", "99 % of the requests completed within this time.", "clat_p99",
    "s", "lower",
    {
        "p50": "clat_p50", "p90": "clat_p90", "p99": "clat_p99", "p99.9": "clat_p99_9", "p99.99": "clat_p99_99",
        "maximum": "clat_max",
    },
)  # fmt: skip
_MAXIMUM: Final = FigureQuantity(
    "latency-maximum", "Maximum latency", "Completion latency of the slowest request.", "clat_max", "s", "lower",
    several=True,
)  # fmt: skip
_QUANTITIES: Final = (
    FigureQuantity("bandwidth", "Bandwidth", "Bytes per second, all jobs combined.", "bandwidth", "B/s", "higher"),
    _RATE,
    FigureQuantity("latency", "Mean latency", "Mean completion latency of a request.", "latency", "s", "lower"),
    _TAIL,
    _MAXIMUM,
)
_ALL_PERCENTILES: Final = (
    "Completion latency: percentiles and the slowest request. Percentiles with fewer than 10 requests above them are "
    "omitted."
)
_CPU: Final = ("usr", "sys", "irq", "soft", "iowait")
_VISIBLE: Final = 1.0
"""Difference, as a percentage of CPU time, below which two charts look the same. mpstat rounds percentages to 0.01 for
each CPU."""


def sweep_figures(records: Sequence[Record], axis: str | None) -> Sequence[Figure]:
    """Return all figures of a storage benchmark.

    Bandwidth, rate and latencies are plotted against the swept settings (see `views`), unless there is only one point.
    The other figures show latency against bandwidth and against the rate, maps of all settings, latency distributions,
    timelines, and CPU time. The number of figures does not depend on the number of points: additional settings become
    charts within a figure.
    """
    rows = gather(records)
    if not rows:
        return ()
    names = swept_names(rows, axis)
    over = main_axis(rows, names, axis)
    found = [] if over is None else views(rows, names, over)
    mapped = [] if over is None else maps(rows, names, over)
    lines = [what for what in _QUANTITIES if not (what.several and mapped)]
    curves = [_chart(what, view, len(found) > 1) for what in lines for view in found]
    return (
        *(chart for chart in curves if chart is not None),
        *load_curves(rows, names),
        *mapped,
        *distributions(rows, names),
        *course_figures(rows, names),
        *_cpu(rows, names or ["iodepth"]),
    )


def _chart(what: FigureQuantity, view: FigureView, several_views: bool) -> Figure | None:
    """Draw a quantity as lines against a numeric setting, or as bars for each value of any other setting. A single
    group has separate lines for reads, writes and their total, or for each percentile. If there are several groups,
    each has one line.
    """
    title, caption = what.title, what.caption
    if len(view.groups) > 1:
        series = [_series(name, what.metric, view.over, rows) for name, rows in view.groups.items()]
    elif what.several:
        return None
    else:
        metrics = what.parts or _side_metrics(what.metric, view.rows)
        series = [_series(name, metric, view.over, view.rows) for name, metric in metrics.items()]
        if what.parts:
            title, caption = "Latency percentiles", _ALL_PERCENTILES
    drawn = tuple(line for line in series if any(y is not None for y in line.y))
    if not drawn:
        return None
    over = f" over {AXIS_TITLES.get(view.over, view.over)}" if several_views else ""
    title = ", ".join(filter(None, (f"{title}{over}", view.fixed)))
    x = _axis(view.over, view.rows)
    log = what.unit == "s" and (what is _TAIL or x.scale != "category")  # latency under load spans several decades
    quantity = "Completion latency" if what.parts else what.title
    y = Axis(quantity, what.unit, "log10" if log else "linear", better=what.better)
    kind = Bars if x.scale == "category" else Line
    return kind(what.slug + view.suffix, title, caption + view.note, x, y, drawn)


def _side_metrics(metric: str, rows: Sequence[PointRow]) -> dict[str, str]:
    """Return the metrics, keyed by line name, for each direction with requests and, if there are several directions,
    for their total."""
    found = {side: f"{side}_{metric}" for side in _sides(rows, "iops")}
    return found | {"total": metric} if len(found) > 1 else found


def _sides(rows: Sequence[PointRow], metric: str) -> list[str]:
    """Return the directions that have a value of a metric."""
    return [side for side in DIRECTIONS if any(row.value(f"{side}_{metric}") is not None for row in rows)]


def _axis(over: str, rows: Sequence[PointRow]) -> Axis:
    values = [row.setting(over) for row in rows]
    numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    scale: Scale = "linear"
    if len(numbers) < len(values):
        scale = "category"
    elif over in SCALES and all(number > 0 for number in numbers):
        scale = "log2"
    counts = over not in SIZES and scale != "category" and all(isinstance(number, int) for number in numbers)
    return Axis(AXIS_TITLES.get(over, over), "B" if over in SIZES else "", scale, counts=counts)


def _series(name: str, metric: str, over: str, rows: Sequence[PointRow]) -> Series:
    xs = ["-" if (value := row.setting(over)) is None else value for row in rows]
    return _measured(name, xs, metric, rows)


def _measured(
    name: str, xs: Sequence[Scalar], metric: str, rows: Sequence[PointRow], shown: Collection[str] = ()
) -> Series:
    """Return the values of a metric as a series. Its tooltips show settings as tables do (`block_size 4K`), except
    those in `shown`, which the figure already shows."""
    series = series_of(name, xs, [row.samples.get(metric, ()) for row in rows])
    settings = [settings_text(row, [setting for setting in row.swept if setting not in shown]) for row in rows]
    details = (one and replace(one, setting=text) for one, text in zip(series.details, settings, strict=True))
    return replace(series, details=tuple(details))


_LOAD_CURVES: Final = {
    "bandwidth": Axis("Bandwidth", "B/s", better="higher"),
    "IOPS": Axis("IOPS", "ops/s", better="higher"),
}
"""The x axes of the figures that plot latency against a rate."""


def load_curves(rows: Sequence[PointRow], names: Sequence[str]) -> list[Figure]:
    """Return figures that plot latency against bandwidth and against IOPS as the load increases, with separate lines
    for reads and writes, and the load beside each mark."""
    vary = varying(rows, names)
    loads = [name for name in LOADS if name in vary]
    over = next((name for name in loads if len(ordered(rows, name)) >= _LEAST_POINTS), "")
    if not over:
        return []
    others = [name for name in vary if name != over]
    both = any(row.value("read_iops") is not None and row.value("write_iops") is not None for row in rows)
    view = panels(rows, over, others, MOST_SERIES // 2 if both else MOST_SERIES)
    load = AXIS_TITLES.get(over, over)
    scale: Scale = "log10" if "block_size" in vary else "linear"  # rates of different sizes span decades
    return [
        Line(
            slug=f"latency-{rate.lower()}",
            title=f"Latency over {rate}",
            caption=f"Mean completion latency against the {rate}; the number beside a mark is the {load}. "
            f"Where the line bends upward, additional load increases the waiting time instead of the {rate}."
            f"{view.note}",
            x=replace(x, scale=scale),
            y=Axis("Mean latency", "s", "log10", better="lower"),
            series=_load_series(view, rate.lower()),
        )
        for rate, x in _LOAD_CURVES.items()
    ]


def _load_series(view: FigureView, metric: str) -> tuple[Series, ...]:
    """Return one line per direction with requests. If there are several directions, each line name includes the
    direction.
    """
    found = []
    directions = _sides(view.rows, metric)
    for name, rows in view.groups.items():
        for side in directions:
            known = [row for row in rows if row.value(f"{side}_{metric}") is not None]
            if known:
                title = ", ".join(filter(None, (name, side if len(directions) > 1 or not name else "")))
                xs = [row.value(f"{side}_{metric}") or 0.0 for row in known]
                line = _measured(title, xs, f"{side}_latency", known)
                line = over_measured(line, [row.samples[f"{side}_{metric}"] for row in known])
                loads = tuple(text_of(view.over, row.setting(view.over)) for row in known)
                found.append(replace(line, labels=loads, labels_name=view.over))
    return tuple(found)


def maps(rows: Sequence[PointRow], names: Sequence[str], over: str) -> list[Figure]:
    """Return maps of rate, tail latency and maximum latency. The columns are the values of the setting `over`, and the
    rows are combinations of the other settings. Lines separate rows that differ in the first of these settings."""
    others = [name for name in varying(rows, names) if name != over]
    others.sort(key=lambda name: name in SCALES)  # numeric settings last: they vary from row to row
    columns = [text_of(over, value) for value in ordered(rows, over)]
    grid: dict[tuple[str, ...], dict[str, PointRow]] = {}
    for row in rows:
        key = tuple(text_of(name, row.setting(name)) for name in others)
        grid.setdefault(key, {})[text_of(over, row.setting(over))] = row
    if over not in SCALES or min(len(columns), len(grid)) < _LEAST_POINTS:
        return []
    ranks = [[text_of(name, value) for value in ordered(rows, name)] for name in others]
    keys = sorted(grid, key=lambda key: [rank.index(text) for rank, text in zip(ranks, key, strict=True)])
    lines = _map_rows(keys, ranks)
    note = selection_note(len(lines), len(keys), combinations(others))
    starts = [number for number in range(1, len(lines)) if lines[number][0] != lines[number - 1][0]]
    down, across = (", ".join(AXIS_TITLES.get(name, name) for name in part) for part in (others, [over]))
    nothing = PointRow({})

    def series(metric: str) -> tuple[Series, ...]:
        return tuple(
            _measured(
                ", ".join(key), columns, metric, [grid[key].get(column, nothing) for column in columns], (*others, over)
            )
            for key in lines
        )

    return [
        Heatmap(
            slug=f"map-{what.metric.replace('_', '-')}",
            title=f"{what.title} by {down} and {across}",
            caption=what.caption + note,
            x_title=across,
            y_title=down,
            columns=tuple(columns),
            rows=tuple(row.name for row in cells),
            values=tuple(row.y for row in cells),
            unit=what.unit,
            groups=tuple(starts) if len(others) > 1 else (),
            better=what.better,
            logarithmic=True,
            series=cells,
        )
        for what in (_RATE, _TAIL, _MAXIMUM)
        if any(row.value(what.metric) is not None for row in rows)
        for cells in (series(what.metric),)
    ]


def _map_rows(keys: Sequence[tuple[str, ...]], ranks: Sequence[Sequence[str]]) -> Sequence[tuple[str, ...]]:
    """Select the rows of a map. If there are too many combinations of all values of the settings, select values of each
    setting, so that the rows of each combination can be compared."""
    if len(keys) < math.prod(map(len, ranks)):
        return evenly(keys, _MOST_MAP_ROWS)
    shown = thinned(ranks, _MOST_MAP_ROWS)
    return [key for key in keys if all(text in texts for text, texts in zip(key, shown, strict=True))]


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
            caption += sample_note(chosen, able, names)
            title = f"{word} latency distribution"
            axes = Axis("Completion latency", "s", "log10", better="lower"), Axis("Requests", "%")
            found.append(Line(f"{side}-latency-distribution", title, caption, *axes, drawn))
    return tuple(found)


def _distribution_series(name: str, side: str, row: PointRow) -> Series:
    """Return the percentiles of a point, from lowest to highest. The details contain no values, because these are
    latencies, which the y axis does not show."""
    known = sorted(
        (float(f"{match[2]}.{match[3] or 0}"), value, metric)
        for metric in row.samples
        if (match := _PERCENTILE.fullmatch(metric)) and match[1] == side and (value := row.value(metric))
    )
    found = (detail_of(row.samples[metric]) for _, _, metric in known)
    setting = settings_text(row, list(row.swept))
    details = (one and replace(one, values=(), states=(), count=len(one.values), setting=setting) for one in found)
    latencies = tuple(latency for _, latency, _ in known)
    series = Series(name, latencies, tuple(percent for percent, _, _ in known), details=tuple(details))
    return over_measured(series, [row.samples[metric] for _, _, metric in known])


def _cpu(rows: Sequence[PointRow], names: Sequence[str]) -> tuple[Figure, ...]:
    """Return stacked bars that show how the CPUs spent their time: one chart for the CPUs used by the jobs and one for
    all CPUs. If both charts look the same, return only one. Without data from mpstat, the result is empty."""
    where = {
        "used_cpu": ("cpu-utilization", "CPU utilization", "the CPUs that the jobs use"),
        "cpu": ("cpu-utilization-all", "CPU utilization, all CPUs", "all online CPUs"),
    }
    found = [
        _cpu_bars(rows, names, prefix, *texts)
        for prefix, texts in where.items()
        if any(row.value(f"{prefix}_usr") is not None for row in rows)
    ]
    if len(found) == 2 and not _differ(*found):  # both show the same, because the jobs run on all CPUs
        found = found[1:]
    return tuple(replace(chart, slug="cpu-utilization") for chart in found) if len(found) == 1 else tuple(found)


def _differ(used: Bars, everywhere: Bars) -> bool:
    """Return whether two charts differ visibly."""
    pairs = zip(used.series, everywhere.series, strict=True)
    both = [pair for a, b in pairs for pair in zip(a.y, b.y, strict=True)]
    return any(one != other if one is None or other is None else abs(one - other) > _VISIBLE for one, other in both)


def _cpu_bars(rows: Sequence[PointRow], names: Sequence[str], prefix: str, slug: str, title: str, of: str) -> Bars:
    chosen = rows if len(rows) <= _MOST_BARS else sample(rows, names)
    own = list(names) if len(chosen) == len(rows) else varying(chosen, names)
    labels = [", ".join(text_of(name, row.setting(name)) for name in own) for row in chosen]
    series = tuple(_measured(kind, labels, f"{prefix}_{kind}", chosen) for kind in _CPU)
    caption = f"How {of} spent their time, measured with mpstat. iowait is idle time with pending requests, not load."
    x = Axis(", ".join(AXIS_TITLES.get(name, name) for name in own), "", "category")
    y = Axis("CPU time", "%", better="lower")
    return Bars(slug, title, caption + sample_note(chosen, rows, names), x, y, series, stacked=True)
