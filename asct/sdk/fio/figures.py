"""The figures of a storage benchmark over one swept setting; further swept settings become series."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from asct.sdk.figure import Axis, Bars, Figure, Line, Scale, Series
from asct.sdk.fio.rows import SIZES, Row, gather, shown, swept_names
from asct.sdk.fio.tables import AXIS_TITLES
from asct.sdk.record import Record, Scalar

_LOG2: Final = frozenset({"iodepth", "block_size", "numjobs", "iodepth_batch", "filesize"})
_SIDES: Final = {"read": "read_", "write": "write_", "total": ""}
_PERCENTILES: Final = {
    "p50": "clat_p50", "p90": "clat_p90", "p99": "clat_p99", "p99.9": "clat_p99_9", "p99.99": "clat_p99_99",
}  # fmt: skip
_CPU: Final = ("usr", "sys", "irq", "soft", "iowait")

Groups = Mapping[str, Sequence[Row]]


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
    """Bandwidth, rate, mean latency, latency percentiles and CPU time over `axis`, or the first setting that varies.

    A single point has no curve, but its CPU bar.
    """
    rows = gather(records)
    names = swept_names(rows, axis)
    over = axis or next((name for name in names if len({row.swept.get(name) for row in rows}) > 1), None)
    if not rows:
        return ()
    cpu = _cpu(rows, names or ["iodepth"])
    if over is None:
        return cpu
    others = [name for name in names if name != over and len({row.setting(name) for row in rows}) > 1]
    groups = _groups(rows, others)
    return (*(_chart(quantity, over, groups) for quantity in _QUANTITIES), _percentiles(over, groups), *cpu)


def _groups(rows: Sequence[Row], others: Sequence[str]) -> Groups:
    """Rows that differ in the axis only, by a label of what they share."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        label = ", ".join(f"{name} {shown(name, row.setting(name))}" for name in others)
        groups.setdefault(label, []).append(row)
    return groups


def _chart(quantity: Quantity, over: str, groups: Groups) -> Figure:
    """One quantity: reads, writes and their total for one group, the total alone for several."""
    if len(groups) > 1:
        series = [_series(label, quantity.metric, over, rows) for label, rows in groups.items()]
    else:
        rows = next(iter(groups.values()))
        used = [side for side in ("read", "write") if any(row.value(f"{side}_iops") is not None for row in rows)]
        sides = [*used, "total"] if len(used) > 1 else used
        series = [_series(side, _SIDES[side] + quantity.metric, over, rows) for side in sides]
    axes = (_axis(over, groups), Axis(quantity.title, quantity.unit))
    return _drawn(quantity, axes, series)


def _percentiles(over: str, groups: Groups) -> Figure:
    if len(groups) > 1:
        series = [_series(label, "clat_p99", over, rows) for label, rows in groups.items()]
        title, caption = "Latency, 99th percentile", "99 % of the requests completed within this time."
    else:
        rows = next(iter(groups.values()))
        series = [_series(name, metric, over, rows) for name, metric in _PERCENTILES.items()]
        series = [line for line in series if any(y is not None for y in line.y)]
        title = "Latency percentiles"
        caption = "Completion latency. A percentile with fewer than 10 requests above it is left out."
    axes = (_axis(over, groups), Axis("Completion latency", "s", "log10"))
    return _drawn(Quantity("latency-percentiles", title, caption, "", "s", "lower"), axes, series)


def _drawn(what: Quantity, axes: tuple[Axis, Axis], series: Sequence[Series]) -> Figure:
    """Lines over numbers, bars over words."""
    if axes[0].scale == "category":
        return Bars(what.slug, what.title, what.caption, *axes, tuple(series), better=what.better)
    return Line(what.slug, what.title, what.caption, *axes, tuple(series), better=what.better)


def _axis(over: str, groups: Groups) -> Axis:
    values = [row.setting(over) for rows in groups.values() for row in rows]
    numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    scale: Scale = "linear"
    if len(numbers) < len(values):
        scale = "category"
    elif over in _LOG2 and all(number > 0 for number in numbers):
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
    """Stacked bars of CPU time, or nothing when mpstat gave nothing."""
    if all(row.value("cpu_usr") is None for row in rows):
        return ()
    labels = tuple(", ".join(shown(name, row.setting(name)) for name in names) for row in rows)
    title = ", ".join(AXIS_TITLES.get(name, name) for name in names)
    series = tuple(Series(kind, labels, tuple(row.value(f"cpu_{kind}") for row in rows)) for kind in _CPU)
    caption = "Share of the time of all online CPUs, by mpstat. iowait is idle time with requests pending, not load."
    axes = Axis(title, "", "category"), Axis("CPU time", "%")
    return (
        Bars("cpu-utilization", "CPU utilization", caption, axes[0], axes[1], series, stacked=True, better="lower"),
    )
