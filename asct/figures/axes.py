"""The axes of a chart as every renderer shows them: unit, title, ticks and range."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Final, Literal

from asct.figures.panels import panels
from asct.figures.scale import (
    AxisScale,
    decade_ticks,
    guide,
    linear_ticks,
    power_ticks,
    prefixed,
    significant,
    size_label,
    tick_label,
    whole_ticks,
)
from asct.sdk.figure import Axis, Bars, Chart, Figure, Heatmap, Line, Marker, Series
from asct.sdk.metric import Better
from asct.sdk.record import Scalar
from asct.values.grouping import grouped
from asct.values.quantity import SCALES

MOST_LABELS: Final = 12
"""If there are at most this many measured x values, each of them is labeled."""
MATRIX: Final = ""
"""The key for the value axis that all matrices share; it takes the place of an axis title."""
_LEAST: Final = 3
_LEAST_SPAN: Final = 0.005
"""Minimum range of an axis relative to its values, so that ticks differ in their first four digits."""
_PADDING: Final = 0.05
_LABEL_PADDING: Final = 0.14
"""Padding at each end of an axis, as a fraction of the range of its values. The larger one is for the y axis of a chart
with labels beside its marks: it leaves room for a label above the highest and below the lowest mark, even in a panel or
on a phone."""
_RATED_SHARE: Final = 0.92
"""Maximum position of a rated value, as a fraction of the axis. The rest of the axis is left free for the label."""
_LEAST_SHARE, _MOST_SHARE = 0.01, 10_000.0
"""Limits for the numbers on an axis that shares its prefix with other axes. If the shared prefix would move numbers
outside these limits, so that they have many zeros or digits, the axis gets its own prefix."""
_MOST_BESIDE: Final = 1_000_000.0
"""The same upper limit for the unit of a table, which shows numbers with as many digits."""
_IN_HEADINGS: Final[Mapping[str, tuple[str, AxisScale]]] = {
    **{
        name.strip().replace("\N{MICRO SIGN}", "u"): (unit, AxisScale(factor, name.strip()))
        for unit, scales in SCALES.items()
        for factor, name in scales
    },
    "kops": ("ops/s", AxisScale(1e3, "k ops/s")),
    "GB": ("B", AxisScale(1e9, "GB")),
}
"""The units in the headings of tables, each with the base unit of its values and their scale."""
DIRECTIONS: Final[dict[Better, str]] = {"lower": ", lower is better", "higher": ", higher is better", "neither": ""}

Scales = Mapping[tuple[str, str], AxisScale]
"""A mapping from the unit and title of an axis to its scale."""


@dataclass(frozen=True, slots=True)
class AxisView:
    """An axis as it is shown: values are divided by `factor`, and `labels` contains the text of each tick.

    `low` and `high` are the ends of the axis after this division. A category axis has no ends, and its ticks are the
    positions of its labels. If `every` is set, the ticks are measured settings and must all be shown. If `whole` is
    set, the axis shows counts, such as numbers of rounds, so that all ticks are whole numbers.
    """

    title: str
    kind: Literal["linear", "log", "category"]
    ticks: tuple[float, ...]
    labels: tuple[str, ...]
    low: float = 0.0
    high: float = 0.0
    factor: float = 1.0
    unit: str = ""
    every: bool = False
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Neighbors:
    """Figures next to each other, such as those in one section of a report, and the headings of the table columns
    beside them."""

    figures: Sequence[Figure]
    headings: Collection[str] = ()


def section_scales(section: Neighbors) -> Scales:
    """Return the scales of neighboring figures.

    An axis has the unit of a table beside it, unless that unit does not suit its values. Other axes with the same unit
    share a prefix under the same condition. Axes with the same unit and title always share a prefix.
    """
    found = [(key, size) for figure in section.figures for key, size in _guides(figure) if size is not None]
    by_unit = grouped(found, lambda item: item[0][0])
    beside = _heading_scales(section.headings)
    scales = {}
    for (unit, title), same in grouped(found, lambda item: item[0]).items():
        common, own = prefixed(median(size for _, size in by_unit[unit]), unit), median(size for _, size in same)
        shared = common if _suits(own, common, _MOST_SHARE) else prefixed(own, unit)
        scales[unit, title] = _of_table(own, beside.get(unit, ())) or shared
    return scales


def _of_table(size: float, scales: Sequence[AxisScale]) -> AxisScale | None:
    """Return the largest of these scales in which `size` is at least 1 or, if there is none, the smallest one. Scales
    that do not suit `size` are left out."""
    fitting = [scale for scale in scales if _suits(size, scale, _MOST_BESIDE)]
    return next((scale for scale in fitting if size >= scale.factor), fitting[-1] if fitting else None)


def _heading_scales(headings: Iterable[str]) -> Mapping[str, list[AxisScale]]:
    """Return the scales that headings such as `BW (MB/s)` state, by base unit and in descending order."""
    words = {word for heading in headings for word in re.split(r"[\s()\[\]]+", heading.replace("\N{MICRO SIGN}", "u"))}
    found = sorted((_IN_HEADINGS[word] for word in words & _IN_HEADINGS.keys()), key=lambda one: -one[1].factor)
    return {unit: [scale for _, scale in same] for unit, same in grouped(found, lambda one: one[0]).items()}


def _suits(size: float, scale: AxisScale, most: float) -> bool:
    return _LEAST_SHARE <= size / scale.factor < most


def _guides(figure: Figure) -> Iterable[tuple[tuple[str, str], float | None]]:
    if isinstance(figure, Heatmap):
        yield (figure.unit, MATRIX), guide([value for row in figure.values for value in row], figure.logarithmic)
        for side in figure.compared:
            yield (side.unit, MATRIX), guide([value for row in side.rows for value in row.y], figure.logarithmic)
        return
    yield (figure.y.unit, figure.y.title), guide(y_values(figure), figure.y.logarithmic)
    if _has_prefix(figure):
        xs = [float(x) for series in figure.series for x in series.x]
        yield (figure.x.unit, figure.x.title), guide(xs, figure.x.logarithmic)


def scale_of(scales: Scales, unit: str, title: str) -> AxisScale:
    """Return the scale of an axis. A unit without values has no prefix."""
    return scales.get((unit, title)) or prefixed(None, unit)


def axis_text(section: Neighbors) -> Callable[[float, str, str], str]:
    """Return a function that formats a value, given its unit and the title of its axis, with the prefix that the axis
    has in these neighboring figures. Values of matrices have no title."""
    scales = section_scales(section)
    return lambda value, unit, title: scale_of(scales, unit, title).text(value)


def y_values(chart: Chart) -> list[float]:
    """Return every value that a chart shows on its y axis, in base units."""
    if isinstance(chart, Bars) and chart.stacked:
        found = [top for panel in panels(chart) for top in sums(panel.series).values()]
    else:
        found = [
            value
            for series in chart.series
            for value in (*series.y, *series.low, *series.high, *(series.backdrop.y if series.backdrop else ()))
            if value is not None and math.isfinite(value)
        ]
        details = [detail for series in chart.series for detail in series.details if detail is not None]
        found += [value for detail in details for value in (*detail.values, *detail.states)]
    found += [line.y for line in chart.rated]
    if isinstance(chart, Line):
        found += [end for band in chart.bands for end in (band.low, band.high) if end is not None]
    return found


def sums(series: Iterable[Series]) -> dict[Scalar, float]:
    """Return the height of each stack of bars in a panel."""
    found: dict[Scalar, float] = {}
    for item in series:
        for x, y in zip(item.x, item.y, strict=True):
            found[x] = found.get(x, 0.0) + (y or 0.0)
    return found


def y_view(chart: Chart, scales: Scales) -> AxisView:
    """Return the y axis of a chart, with at least three labeled ticks."""
    axis, scale = chart.y, scale_of(scales, chart.y.unit, chart.y.title)
    title = titled(axis, scale.unit)
    values = [value / scale.factor for value in y_values(chart)]
    positive = [value for value in values if value > 0]
    padding = _LABEL_PADDING if any(series.labels for series in chart.series) else _PADDING
    if axis.logarithmic and positive:
        low, high = _wide(min(positive), max(positive))
        pad = (high / low) ** padding
        low, high = low / pad, high * pad
        if chart.rated:
            high = max(high, low * (_rated_top(chart, scale) / low) ** (1 / _RATED_SHARE))
        return _numeric("log", title, decade_ticks(low, high), (low, high), scale)
    low, high = min(values, default=0.0), max(values, default=1.0)
    if axis.from_zero or isinstance(chart, Bars):
        low, high = min(low, 0.0), max(high, 0.0)
    low, high = _linear_ends(low, high, axis.counts)
    pad = (high - low) * padding
    low, high = (low if low == 0.0 else low - pad), (high if high == 0.0 else high + pad)
    if chart.rated:
        high = max(high, low + (_rated_top(chart, scale) - low) / _RATED_SHARE)
    ticks = (whole_ticks if axis.counts else linear_ticks)(low, high)
    return replace(_numeric("linear", title, ticks, (low, high), scale), whole=axis.counts)


def _rated_top(chart: Chart, scale: AxisScale) -> float:
    return max(line.y for line in chart.rated) / scale.factor


def x_view(chart: Chart, scales: Scales) -> AxisView:
    """Return the x axis of a chart. If there are at most twelve measured values, all of them are labeled; a numeric
    axis has at least three labels."""
    axis = chart.x
    unit = "" if axis.unit in ("1", "B") else axis.unit  # the labels of sizes contain the unit
    scale = scale_of(scales, axis.unit, axis.title) if _has_prefix(chart) else AxisScale(1.0, unit)
    title = titled(axis, scale.unit)
    if is_category(chart):
        labels = tuple(category_labels(chart))
        return AxisView(title, "category", tuple(map(float, range(len(labels)))), labels)
    xs = sorted({float(x) / scale.factor for series in chart.series for x in series.x})
    xs = [x for x in xs if x > 0] if axis.logarithmic and xs[-1] > 0 else xs
    drawn = [*xs, *_extra_x(chart, scale.factor, axis.logarithmic)]
    if axis.logarithmic and xs[0] > 0:
        return _log_x(axis, title, xs, drawn, scale)
    few = _settings(axis, xs)
    low, high = _linear_ends(min(drawn), max(drawn), axis.counts)
    pad, close = (high - low) * _PADDING, few or (axis.counts and len(xs) < _LEAST)
    low = 0.0 if not close and 0 <= low < high / 2 else low - pad
    ticks = xs if few else (whole_ticks if axis.counts else linear_ticks)(low, high + pad)
    return replace(_numeric("linear", title, ticks, (low, high + pad), scale), every=few, whole=axis.counts)


def _log_x(axis: Axis, title: str, xs: Sequence[float], drawn: Sequence[float], scale: AxisScale) -> AxisView:
    ends = min(drawn), max(drawn)
    low, high = _wide(*(_linear_ends(*ends, whole=True) if axis.counts else ends), 1.5)
    pad = (high / low) ** (_PADDING / 2)
    low, high = low / pad, high * pad
    if _settings(axis, xs):
        ticks = list(xs)
    elif axis.unit == "B":
        factor = prefixed(low, "B").factor
        ticks = [tick * factor for tick in power_ticks(low / factor, high / factor)]
    else:
        ticks = power_ticks(low, high) if axis.scale == "log2" else decade_ticks(low, high)
        if axis.counts and not all(tick.is_integer() for tick in ticks):
            ticks = whole_ticks(low, high)
    view = replace(_numeric("log", title, ticks, (low, high), scale), every=_settings(axis, xs))
    return replace(view, labels=tuple(map(size_label, ticks))) if axis.unit == "B" else view


def _settings(axis: Axis, xs: Sequence[float]) -> bool:
    """Return whether the x values are settings and few enough for all of them to be labeled. Measured quantities, such
    as bandwidths, have round ticks instead."""
    return axis.unit in ("", "1", "B") and _LEAST <= len(xs) <= MOST_LABELS


def _numeric(
    kind: Literal["linear", "log"],
    title: str,
    ticks: Sequence[float],
    ends: tuple[float, float],
    scale: AxisScale,
) -> AxisView:
    return AxisView(title, kind, tuple(ticks), tuple(map(tick_label, ticks)), *ends, scale.factor, scale.unit)


def titled(axis: Axis, unit: str) -> str:
    """Return the axis title, including the unit and direction: `Latency (ns), lower is better`."""
    return f"{axis.title} ({unit}){DIRECTIONS[axis.better]}" if unit else f"{axis.title}{DIRECTIONS[axis.better]}"


def is_category(chart: Chart) -> bool:
    """Return whether the x axis has labels instead of numbers. This includes an axis with only one or two settings,
    because two values cannot show a scale."""
    if isinstance(chart, Bars) or chart.x.scale == "category" or not _all_numbers(chart):
        return True
    xs = {x for series in chart.series for x in series.x}
    return not xs or (len(xs) < _LEAST and chart.x.unit in ("", "1", "B") and not chart.markers and not chart.bands)


def category_labels(chart: Chart) -> list[str]:
    """Return the labels of a category axis: numbers in ascending order, text in the order of the longest series."""
    longest_first = sorted(chart.series, key=lambda series: -len(series.x))
    xs: list[Scalar] = list(dict.fromkeys(x for series in longest_first for x in series.x))
    if _all_numbers(chart):
        xs.sort(key=float)
    return list(dict.fromkeys(category_label(x, chart.x) for x in xs))


def category_label(x: Scalar, axis: Axis) -> str:
    """Return an x value as text, such as `4K` for a size in bytes."""
    if isinstance(x, bool) or not isinstance(x, int | float):
        return str(x)
    if axis.unit == "B":
        return size_label(x)
    return str(x) if isinstance(x, int) else significant(x)


def drawn_markers(chart: Chart, x: AxisView) -> list[Marker]:
    """Return the vertical lines that the x axis can show, from left to right."""
    if not isinstance(chart, Line) or x.kind == "category":
        return []
    markers = (marker for marker in chart.markers if marker.x > 0 or x.kind != "log")
    return sorted(markers, key=lambda marker: (marker.x, marker.kind, marker.label))


def drawn_backdrop(series: Series, axis: Axis, x: AxisView) -> Series | None:
    """Return the comparison values of a series that the x axis `axis` can show, or None if the series has none."""
    if series.backdrop is None:
        return None
    pairs = [
        (at, y)
        for at, y in zip(series.backdrop.x, series.backdrop.y, strict=True)
        if x.kind != "category" or category_label(at, axis) in x.labels
    ]  # any other x value would add a category to the axis
    return Series(series.backdrop.name, tuple(at for at, _ in pairs), tuple(y for _, y in pairs))


def _all_numbers(chart: Chart) -> bool:
    return all(isinstance(x, int | float) and not isinstance(x, bool) for series in chart.series for x in series.x)


def _has_prefix(chart: Chart) -> bool:
    """Return whether the x axis shows a measured quantity with an SI prefix, such as a bandwidth."""
    return isinstance(chart, Line) and chart.x.scale in ("linear", "log10") and not is_category(chart)


def _extra_x(chart: Chart, factor: float, logarithmic: bool) -> list[float]:
    if not isinstance(chart, Line):
        return []
    found = [marker.x for marker in chart.markers] + [end for band in chart.bands for end in (band.start, band.end)]
    found += [float(x) for series in chart.series if series.backdrop for x in series.backdrop.x]
    return [x / factor for x in found if x > 0 or not logarithmic]


def _wide(low: float, high: float, least: float = 1.0 + _LEAST_SPAN) -> tuple[float, float]:
    """Return the ends of a logarithmic axis. They are moved apart if their ratio is below `least`."""
    return (low, high) if high >= low * least else (low / math.sqrt(least), high * math.sqrt(least))


def _linear_ends(low: float, high: float, whole: bool = False) -> tuple[float, float]:
    """Return the ends of a linear axis. They are moved apart if they are almost equal. An axis with whole numbers shows
    at least three.
    """
    least = max(abs(low), abs(high)) * _LEAST_SPAN
    if whole:
        return low, max(high, low + max(least, _LEAST - 1))
    if high - low > least:
        return low, high
    return (low - (least or 1.0), high + (least or 1.0)) if low else (0.0, high or 1.0)
