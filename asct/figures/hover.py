"""The text that a figure shows about a value when the pointer hovers over its mark."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Final

from asct.figures.scale import AxisScale, significant
from asct.sdk.figure import Backdrop, Detail, Series
from asct.sdk.record import Scalar
from asct.values.text import counted

_RANGES: Final = {"repeat": "range", "memory node": "range", "host": "middle 90 %"}


def hover_lines(series: Series, number: int, place: str, scale: AxisScale) -> list[str]:
    """Return the hover lines for the value at position `number`: x (given as `place`), the value, and what is known
    about it."""
    label = f"{series.labels_name} {series.labels[number]}".strip() if series.labels else ""
    first = ": ".join(filter(None, (", ".join(filter(None, (place, label))), _y_text(series.y[number], scale))))
    return [first, *detail_lines(series, number, series.name, scale)]


def detail_lines(series: Series, number: int, shown: str, scale: AxisScale) -> list[str]:
    """Return what is known about the value at position `number`: its interval, number of visits or repeats, states,
    flags and, unless the text `shown` contains it, setting."""
    detail = series.details[number] if series.details else None
    low, high = (ends[number] if ends else None for ends in (series.low, series.high))
    lines = _spread(low, high, detail, scale)
    if series.backdrop is not None:
        lines += _behind(series.backdrop, series.x[number], scale)
    if detail is None:
        return lines
    if len(detail.states) > 1:
        lines.append(f"two states: {' and '.join(_y_text(state, scale) for state in detail.states)}")
    if detail.flags:
        lines.append(", ".join(detail.flags))
    if detail.setting and detail.setting not in shown:
        lines.append(detail.setting)
    return lines


def _behind(backdrop: Backdrop, x: Scalar, scale: AxisScale) -> list[str]:
    """Return the hover line for the comparison value at `x`, or an empty list if there is none."""
    found = (y for other, y in zip(backdrop.x, backdrop.y, strict=True) if other == x and y is not None)
    return [f"{backdrop.name}: {_y_text(y, scale)}" for y in islice(found, 1)]


def _y_text(value: float | None, scale: AxisScale) -> str:
    return "" if value is None else scale.text(value)


def _spread(low: float | None, high: float | None, detail: Detail | None, scale: AxisScale) -> list[str]:
    """Return the interval and what it is based on. For several repeats or memory nodes, the interval is the range of
    their values; for many hosts, it contains most of the values."""
    count = len(detail.values) or detail.count if detail is not None else 0
    kind = detail.kind if detail is not None else ""
    number = counted(count, kind) if count else ""
    if low is None or high is None:
        return [number] if number else []
    name = _RANGES[kind] if kind in _RANGES and count > 1 else "95 % interval"
    ends = f"{name} {significant(low / scale.factor)} to {_y_text(high, scale)}"
    return [f"{ends}, {number}" if number else ends]


def visible_points(groups: Sequence[Series], most: int) -> bool:
    """Return whether the values of visits and repeats are drawn as points, that is, whether there are between one and
    `most` of them.
    """
    counts = (len(detail.values) for series in groups for detail in series.details if detail)
    return 0 < sum(count for count in counts if count > 1) <= most
