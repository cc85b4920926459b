"""The text that a figure shows about a value when the pointer hovers over its mark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from asct.figures.scale import AxisScale, significant
from asct.sdk.figure import Backdrop, Compared, Series
from asct.sdk.record import Scalar
from asct.values.text import counted

_RANGES: Final = {"repeat": "range", "memory node": "range", "host": "middle 90 %"}
"""The names of the intervals over several values of each kind."""


def hover_lines(series: Series, number: int, place: str, scale: AxisScale, x_scale: AxisScale) -> list[str]:
    """Return the hover lines for the value at position `number`: x (given as `place`), the value, and what is known
    about it. `scale` is the scale of the y axis."""
    label = f"{series.labels_name} {series.labels[number]}".strip() if series.labels else ""
    first = ": ".join(filter(None, (", ".join(filter(None, (place, label))), _y_text(series.y[number], scale))))
    return [first, *detail_lines(series, number, series.name, scale, x_scale)]


def detail_lines(
    series: Series, number: int, shown: str, scale: AxisScale, x_scale: AxisScale | None = None
) -> list[str]:
    """Return what is known about the value at position `number`: its interval (and that of x, if x was measured),
    number of visits or repeats, states, flags and, unless the text `shown` contains it, setting."""
    detail = series.details[number] if series.details else None
    count = len(detail.values) or detail.count if detail is not None else 0
    kind = detail.kind if detail is not None else ""
    name = _RANGES[kind] if kind in _RANGES and count > 1 else "95 % interval"
    lines = _interval(name, series.low, series.high, number, scale)
    if x_scale is not None:
        lines += _interval(name, series.x_low, series.x_high, number, x_scale)
    if count:
        lines[:1] = [", ".join((*lines[:1], counted(count, kind)))]
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


def compared_lines(side: Compared, row: int, number: int, shown: str, scale: AxisScale) -> Iterator[str]:
    """Yield the hover lines for one of the values that a change compares: the value, and what is known about it."""
    series = side.rows[row]
    if series.y[number] is not None:
        yield f"{side.name}: {_y_text(series.y[number], scale)}"
        yield from detail_lines(series, number, shown, scale)


def _behind(backdrop: Backdrop, x: Scalar, scale: AxisScale) -> list[str]:
    """Return the hover line for the comparison value at `x`, or an empty list if there is none."""
    found = (y for other, y in zip(backdrop.x, backdrop.y, strict=True) if other == x and y is not None)
    return [f"{backdrop.name}: {_y_text(y, scale)}" for y in islice(found, 1)]


def _y_text(value: float | None, scale: AxisScale) -> str:
    return "" if value is None else scale.text(value)


def _interval(
    name: str, lows: Sequence[float | None], highs: Sequence[float | None], number: int, scale: AxisScale
) -> list[str]:
    """Return the hover line for the interval at position `number`, or an empty list if it is unknown."""
    low, high = (ends[number] if ends else None for ends in (lows, highs))
    return [] if low is None or high is None else [f"{name} {significant(low / scale.factor)} to {scale.text(high)}"]


def visible_points(groups: Sequence[Series], most: int) -> bool:
    """Return whether the values of visits and repeats are drawn as points, that is, whether there are between one and
    `most` of them.
    """
    counts = (len(detail.values) for series in groups for detail in series.details if detail)
    return 0 < sum(count for count in counts if count > 1) <= most
