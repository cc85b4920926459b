"""The figures of a storage benchmark: its rates and latencies over what was swept, and what lies behind them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from asct.instruments.fio.course import course_figures
from asct.instruments.fio.distribution import distributions
from asct.instruments.fio.maps import load_curves, maps
from asct.instruments.fio.rows import AXIS_TITLES, SIDES, SIZES, Row, gather, shown, swept_names
from asct.instruments.fio.views import SCALES, View, main_axis, views
from asct.sdk.figure import Axis, Bars, Figure, Line, Scale, Series
from asct.sdk.record import Record, Scalar

_PERCENTILES: Final = {
    "p50": "clat_p50", "p90": "clat_p90", "p99": "clat_p99", "p99.9": "clat_p99_9", "p99.99": "clat_p99_99",
}  # fmt: skip
_CPU: Final = ("usr", "sys", "irq", "soft", "iowait")
_ALIKE: Final = 1.0
"""Percent of CPU time: mpstat rounds to 0.01 for each CPU, and the mean of several is weighted by its samples."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """What a figure shows."""

    slug: str
    title: str
    caption: str
    metric: str
    unit: str
    better: Literal["lower", "higher"]


_QUANTITIES: Final = (
    Quantity("bandwidth", "Bandwidth", "Bytes per second, all jobs together.", "bandwidth", "B/s", "higher"),
    Quantity("io-rate", "I/O rate", "Requests per second, all jobs together.", "iops", "ops/s", "higher"),
    Quantity("latency", "Mean latency", "Mean completion latency of a request.", "latency", "s", "lower"),
)


def sweep_figures(records: Sequence[Record], axis: str | None) -> Sequence[Figure]:
    """Bandwidth, rate, mean latency and latency percentiles over what was swept (see views.py); latency over bandwidth,
    maps of two settings; distributions of latency; the course of the runs; CPU time.

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


def _chart(quantity: Quantity, view: View) -> Figure:
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


def _percentiles(view: View) -> Figure:
    if len(view.groups) > 1:
        series = [_series(label, "clat_p99", view.over, rows) for label, rows in view.groups.items()]
        title, caption = "Latency, 99th percentile", "99 % of the requests completed within this time."
    else:
        rows = next(iter(view.groups.values()))
        series = [_series(name, metric, view.over, rows) for name, metric in _PERCENTILES.items()]
        series = [line for line in series if any(y is not None for y in line.y)]
        title = "Latency percentiles"
        caption = "Completion latency. A percentile with fewer than 10 requests above it is left out."
    what = Quantity("latency-percentiles", title, caption, "", "s", "lower")
    return _drawn(what, Axis("Completion latency", "s", "log10"), series, view)


def _drawn(what: Quantity, y: Axis, series: Sequence[Series], view: View) -> Figure:
    """Lines over numbers, bars over words."""
    over = f" over {AXIS_TITLES.get(view.over, view.over)}" if "-over-" in view.suffix else ""
    title = f"{what.title}{over}" + (f", {view.fixed}" if view.fixed else "")
    x = _axis(view.over, view.groups)
    kind = Bars if x.scale == "category" else Line
    if kind is Line and y.unit == "s":  # latency under load spans decades
        y = replace(y, scale="log10")
    return kind(what.slug + view.suffix, title, what.caption, x, y, tuple(series), better=what.better)


def _axis(over: str, groups: Mapping[str, Sequence[Row]]) -> Axis:
    values = [row.setting(over) for rows in groups.values() for row in rows]
    numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    scale: Scale = "linear"
    if len(numbers) < len(values):
        scale = "category"
    elif over in SCALES and all(number > 0 for number in numbers):
        scale = "log2"
    return Axis(AXIS_TITLES.get(over, over), "B" if over in SIZES else "", scale)


def _series(name: str, metric: str, over: str, rows: Sequence[Row]) -> Series:
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


def _cpu(rows: Sequence[Row], names: Sequence[str]) -> tuple[Figure, ...]:
    """Stacked bars of CPU time: of the CPUs that the jobs run on, and of all where that differs. Nothing when mpstat
    gave nothing."""
    where = {
        "used_cpu": ("cpu-utilization", "CPU utilization", "the CPUs that the jobs run on"),
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
    """Whether a reader could tell one from the other."""
    pairs = zip(used.series, everywhere.series, strict=True)
    both = [pair for a, b in pairs for pair in zip(a.y, b.y, strict=True)]
    return any(one != other if one is None or other is None else abs(one - other) > _ALIKE for one, other in both)


def _cpu_bars(rows: Sequence[Row], names: Sequence[str], prefix: str, slug: str, title: str, of: str) -> Bars:
    labels = tuple(", ".join(shown(name, row.setting(name)) for name in names) for row in rows)
    series = tuple(Series(kind, labels, tuple(row.value(f"{prefix}_{kind}") for row in rows)) for kind in _CPU)
    caption = f"Share of the time of {of}, by mpstat. iowait is idle time with requests pending, not load."
    x = Axis(", ".join(AXIS_TITLES.get(name, name) for name in names), "", "category")
    return Bars(slug, title, caption, x, Axis("CPU time", "%"), series, stacked=True, better="lower")
