"""Where a figure's texts go: beside the marks of a line and above vertical lines, without overlapping."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from asct.figures.axes import AxisView
from asct.sdk.figure import Series

WIDE: Final = (400.0, 220.0)
NARROW: Final = (280.0, 170.0)
"""Width and height in pixels of the area between the axes: the minimum on a wide page, and the size on a phone."""
CHARACTER: Final = 6.4
"""Mean width in pixels of a character in a label."""
_TEXT_HEIGHT: Final = 12.0
_MARK: Final = 4.0
_GAP: Final = 3.0

Box = tuple[float, float, float, float]
"""The left, top, right and bottom edges in pixels."""


@dataclass(frozen=True, slots=True)
class Placed:
    """The text beside a mark and its position (a `textposition` of plotly). The text is empty if there is no room."""

    text: str
    position: str


_MOST_MARKS: Final = 200
"""Maximum number of marks for which all labels are placed, because the time required grows with the square of the
number."""
_POSITIONS: Final = {
    "top center": (-0.5, -1.0), "bottom center": (-0.5, 1.0), "top right": (0.0, -1.0), "top left": (-1.0, -1.0),
    "bottom right": (0.0, 1.0), "bottom left": (-1.0, 1.0), "middle right": (0.0, 0.0), "middle left": (-1.0, 0.0),
}  # fmt: skip
"""The offset of a text from its mark, in text widths and in text heights."""


def placed(series: Sequence[Series], x: AxisView, y: AxisView, size: tuple[float, float]) -> list[list[Placed]]:
    """Return where to place the labels of each series if the area between the axes has this size in pixels.

    The first and the last label of each series are placed first; if there are many marks, only these are placed. A
    label that would cover a mark or another label in every position is left out.
    """
    if x.kind == "category":  # marks are far apart
        return [[Placed(text, "top center") for text in item.labels] for item in series]
    marks = [_pixels(item, x, y, size) for item in series]
    taken = [_around(mark) for own in marks for mark in own if mark is not None]
    most = None if len(taken) <= _MOST_MARKS else 2
    found = [[Placed("", "top center") for _ in own] for own in marks]
    for number, (item, own) in enumerate(zip(series, marks, strict=True)):
        for at in _ends_first(len(own))[:most]:
            mark = own[at]
            if mark is not None and at < len(item.labels) and item.labels[at]:
                found[number][at] = _place(item.labels[at], mark, taken, size)
    return found


def label_rows(places: Sequence[float], texts: Sequence[str]) -> list[int]:
    """Return the row, counted from the bottom, for each text above a vertical line. Texts in the same row do not
    overlap.

    `places` contains the pixels at which the texts begin, in ascending order.
    """
    ends: list[float] = []
    rows = []
    for left, text in zip(places, texts, strict=True):
        row = next((number for number, end in enumerate(ends) if left >= end), len(ends))
        ends[row:] = [left + len(text) * CHARACTER + 8, *ends[row + 1 :]]
        rows.append(row)
    return rows


def share(value: float, axis: AxisView) -> float:
    """Return the position of a shown value on a numeric axis: 0 at its low end, 1 at its high end."""
    if axis.kind == "log":
        return math.log(value / axis.low) / math.log(axis.high / axis.low)
    return (value - axis.low) / (axis.high - axis.low)


def _pixels(series: Series, x: AxisView, y: AxisView, size: tuple[float, float]) -> list[tuple[float, float] | None]:
    found: list[tuple[float, float] | None] = []
    for at, value in zip(series.x, series.y, strict=True):
        shown = [None if v is None else float(v) / axis.factor for v, axis in ((at, x), (value, y))]
        if any(v is None or (v <= 0 and axis.kind == "log") for v, axis in zip(shown, (x, y), strict=True)):
            found.append(None)
        else:
            found.append((share(shown[0] or 0.0, x) * size[0], (1 - share(shown[1] or 0.0, y)) * size[1]))
    return found


def _around(mark: tuple[float, float]) -> Box:
    return mark[0] - _MARK, mark[1] - _MARK, mark[0] + _MARK, mark[1] + _MARK


def _ends_first(count: int) -> list[int]:
    return list(dict.fromkeys((0, count - 1, *range(count)))) if count else []


def _place(text: str, mark: tuple[float, float], taken: list[Box], size: tuple[float, float]) -> Placed:
    """Return the first position in which the text overlaps nothing, and mark its box as taken."""
    width = len(text) * CHARACTER
    for position, (right, down) in _POSITIONS.items():
        side = 0.0 if right == -0.5 else _MARK + _GAP if right == 0.0 else -_MARK - _GAP
        left = mark[0] + right * width + side
        middle = mark[1] + down * (_MARK + _TEXT_HEIGHT / 2 + 1)
        box = (left, middle - _TEXT_HEIGHT / 2, left + width, middle + _TEXT_HEIGHT / 2)
        inside = box[0] >= 0 and box[2] <= size[0] and box[3] <= size[1]
        if inside and not any(_overlap(box, other) for other in taken):
            taken.append((box[0] - CHARACTER, box[1], box[2] + CHARACTER, box[3]))  # two numbers must not read as one
            return Placed(text, position)
    return Placed("", "top center")


def _overlap(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
