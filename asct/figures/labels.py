"""Position the labels of a figure so that they do not overlap: beside the marks of a line, above vertical lines, and
beside horizontal lines."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, zip_longest
from typing import Final, Literal, NamedTuple

from asct.figures.axes import AxisView, category_label, drawn_backdrop, drawn_markers, sums
from asct.sdk.figure import Axis, Bars, Chart, Rated, Series

WIDE: Final = (400.0, 220.0)
NARROW: Final = (280.0, 170.0)
WIDEST: Final = (900.0, 250.0)
"""Width and height, in pixels, of the area between the axes: the minimum on a wide page, the size on a phone, and the
size of a figure without a neighbor."""
CHARACTER: Final = 6.4
"""Mean width, in pixels, of a character in a label."""
_TEXT_HEIGHT: Final = 12.0
_MARK: Final = 4.0
_GAP: Final = 3.0
_SLACK: Final = 2.0
"""Minimum horizontal distance in pixels between a label and a line; the minimum vertical distance is half of it."""
_BAR: Final = 0.7
"""Width of a group of bars relative to the distance between two groups."""

Box = tuple[float, float, float, float]
"""The left, top, right and bottom edges of a rectangle, in pixels."""
PixelPosition = tuple[float, float]
"""A position in pixels, measured from the upper left corner."""
Segment = tuple[PixelPosition, PixelPosition]


@dataclass(frozen=True, slots=True)
class Placed:
    """The label of a mark and its position (a plotly `textposition`). The text is empty if there is no room for it."""

    text: str
    position: str


_SAME: Final = 30.0
"""Distance, in pixels, below which the marks of two series do not both need the same label."""
_THIN: Final = 2.0
_MOST: Final = 0.75
"""Vertical distance, in pixels, up to which one curve conceals another, and the minimum fraction of concealed marks."""
_MOST_MARKS: Final = 200
"""Maximum number of marks for which all labels are placed, because the time required grows with the square of this
number."""
_BENT: Final = 8.0
"""Minimum distance, in pixels, between the knee of a curve and the straight line between its ends."""
_POSITIONS: Final = {
    "top center": (-0.5, -1.0), "bottom center": (-0.5, 1.0), "top right": (0.0, -1.0), "top left": (-1.0, -1.0),
    "bottom right": (0.0, 1.0), "bottom left": (-1.0, 1.0), "middle right": (0.0, 0.0), "middle left": (-1.0, 0.0),
}  # fmt: skip
"""The offset of a label from its mark, as multiples of the label's width and height."""


def placed(
    chart: Chart, series: Sequence[Series], x: AxisView, y: AxisView, sizes: Sequence[tuple[float, float]]
) -> list[list[Placed]]:
    """Return the label positions of each series in one panel of a chart, for plot areas of all these sizes in pixels.

    The labels of the first mark, the last mark and the knee of each series are placed first; if the chart has several
    panels or many marks, only these are placed. A label that would leave the area or cover a mark, an obstacle or
    another label in every position is left out, and so is a label that repeats the label of another series at almost
    the same position.
    """
    areas = [_area(chart, series, x, y, size) for size in sizes]
    marks = areas[0].marks
    crowded = len(series) < len(chart.series) or sum(len(own) for own in marks) > _MOST_MARKS
    found = [[Placed("", "top center") for _ in own] for own in marks]
    labeled: dict[str, list[PixelPosition]] = {}
    for number, at in _in_order(marks, crowded):
        mark, texts = marks[number][at], series[number].labels
        text = texts[at] if at < len(texts) else ""
        if mark is None or not text or any(math.dist(mark, other) < _SAME for other in labeled.get(text, ())):
            continue
        found[number][at] = _place(text, [(area, place) for area in areas if (place := area.marks[number][at])])
        if found[number][at].text:
            labeled.setdefault(text, []).append(mark)
    return found


@dataclass(frozen=True, slots=True)
class _Area:
    """The plot area of a panel in pixels: its size, the marks of each series, and what labels must not cover: boxes,
    which include the labels placed so far, and lines."""

    size: tuple[float, float]
    marks: list[list[PixelPosition | None]]
    occupied: list[Box]
    lines: list[Segment]

    def free(self, box: Box) -> bool:
        """Return whether a label in this box is inside the area and covers nothing."""
        inside = box[0] >= 0 and box[1] >= 0 and box[2] <= self.size[0] and box[3] <= self.size[1]
        if not inside or any(_overlap(box, other) for other in self.occupied):
            return False
        grown = _grown(box, _SLACK, _SLACK / 2)  # lines have a width, and other slopes at other figure widths
        return not any(_crosses(line, grown) for line in self.lines)


def _area(chart: Chart, series: Sequence[Series], x: AxisView, y: AxisView, size: tuple[float, float]) -> _Area:
    marks = [_marks(item, chart.x, x, y, size) for item in series]
    occupied = [_grown((*mark, *mark), _MARK, _MARK) for own in marks for mark in own if mark is not None]
    if len(series) == len(chart.series):  # only the first panel has labels of rated values
        occupied += [box for _, _, box in beside_lines(chart, series, x, y, size)]
    return _Area(size, marks, occupied, obstacles(chart, series, x, y, size))


def concealing(series: Sequence[Series], axis: Axis, x: AxisView, y: AxisView, size: tuple[float, float]) -> list[int]:
    """Return how many of the following series almost coincide with each series and would therefore conceal it."""
    marks = [[mark for mark in _marks(item, axis, x, y, size) if mark] for item in series]
    return [sum(_conceals(other, own) for other in marks[number + 1 :]) for number, own in enumerate(marks)]


def _conceals(other: Sequence[PixelPosition], own: Sequence[PixelPosition]) -> bool:
    """Return whether a curve is at most `_THIN` pixels above or below most marks of another curve."""
    places = [left for left, _ in other]
    if len(own) < 2 or any(after <= before for before, after in pairwise(places)):
        return False
    return sum(_height_apart(mark, other, places) <= _THIN for mark in own) >= _MOST * len(own)


def _height_apart(mark: PixelPosition, other: Sequence[PixelPosition], places: Sequence[float]) -> float:
    """Return the vertical distance, in pixels, between a mark and a curve whose x coordinates are `places`."""
    after = bisect_left(places, mark[0])
    if after < len(places) and places[after] == mark[0]:
        return abs(other[after][1] - mark[1])
    if not 0 < after < len(places):
        return math.inf
    (left, start), (right, end) = other[after - 1], other[after]
    return abs(start + (end - start) * (mark[0] - left) / (right - left) - mark[1])


def label_rows(places: Sequence[float], texts: Sequence[str]) -> list[int]:
    """Return the row, counted from the bottom, for the label above each vertical line. Labels in the same row do not
    overlap.

    `places` contains the x coordinates, in pixels, at which the labels begin, in ascending order.
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


class Beside(NamedTuple):
    """The position of a label beside a horizontal line: at the left or right end of the line, and above or below it."""

    side: Literal["right", "left"]
    edge: Literal["bottom", "top"]
    """The edge of the label that is next to the line: `bottom` if the label is above the line."""


_BESIDE: Final = (Beside("right", "bottom"), Beside("left", "bottom"), Beside("right", "top"), Beside("left", "top"))


def beside_lines(
    chart: Chart, series: Sequence[Series], x: AxisView, y: AxisView, size: tuple[float, float]
) -> list[tuple[Rated, Beside, Box]]:
    """Return the rated values of a chart from top to bottom, each with the position of its label beside its horizontal
    line and the space that the label takes up.

    The label overlaps as few other labels as possible and, among such positions, the fewest obstacles.
    """
    labels: list[Box] = []
    found = []
    lines = obstacles(chart, series, x, y, size) if chart.rated else []
    for line in sorted(chart.rated, key=lambda line: -line.y):
        boxes = {place: _beside(place, share(line.y / y.factor, y), line.label, size) for place in _BESIDE}
        place = min(boxes, key=lambda one: _covered(boxes[one], labels, lines, size))
        labels.append(boxes[place])
        found.append((line, place, boxes[place]))
    return found


def _beside(place: Beside, level: float, text: str, size: tuple[float, float]) -> Box:
    width, line = len(text) * CHARACTER, (1 - level) * size[1]
    left = size[0] - width if place.side == "right" else 0.0
    top = line - _TEXT_HEIGHT - _GAP if place.edge == "bottom" else line + _GAP
    return left, top, left + width, top + _TEXT_HEIGHT


def _covered(box: Box, labels: Sequence[Box], lines: Sequence[Segment], size: tuple[float, float]) -> tuple[int, int]:
    """Return how many other labels and how many obstacles, including the marks at the ends of lines, a label would
    overlap. Leaving the plot area counts as overlapping a label."""
    outside = box[1] < -_TEXT_HEIGHT / 2 or box[3] > size[1]
    grown = _grown(box, _MARK, _MARK + _GAP)  # the background of the label is higher than its text
    return outside + sum(_overlap(box, other) for other in labels), sum(_crosses(line, grown) for line in lines)


def obstacles(
    chart: Chart, series: Sequence[Series], x: AxisView, y: AxisView, size: tuple[float, float]
) -> list[Segment]:
    """Return everything in a panel that labels should not cover, as line segments in pixels: the data, its intervals,
    visits and states, the comparison values, and the vertical and horizontal lines."""
    across = [share(marker.x / x.factor, x) * size[0] for marker in drawn_markers(chart, x)]
    levels = [(1 - share(line.y / y.factor, y)) * size[1] for line in chart.rated]
    behind = [one for item in series if (one := drawn_backdrop(item, chart.x, x)) is not None]
    return [
        *data_lines(chart, series, x, y, size),
        *data_lines(chart, behind, x, y, size),
        *(line for item in series for line in _spreads(item, chart.x, x, y, size)),
        *(((left, 0.0), (left, size[1])) for left in across),
        *(((0.0, level), (size[0], level)) for level in levels),
    ]


def data_lines(
    chart: Chart, series: Sequence[Series], x: AxisView, y: AxisView, size: tuple[float, float]
) -> list[Segment]:
    """Return line segments, in pixels, that represent the data marks of a chart: the lines of a line chart, or the
    sides and the middle of each group of bars."""
    if isinstance(chart, Bars) and chart.stacked:
        totals = sums(series)
        series = [Series("", tuple(totals), tuple(totals.values()))]
    marks = [_marks(item, chart.x, x, y, size) for item in series]
    if isinstance(chart, Bars):
        sides = [part * size[0] / max(1, len(x.labels)) for part in (-_BAR / 2, 0.0, _BAR / 2)]
        tops = [top for own in marks for top in own if top is not None]
        return [((left + side, top), (left + side, size[1])) for left, top in tops for side in sides]
    return [(one, other) for own in marks for one, other in pairwise(own) if one is not None and other is not None]


def _spreads(series: Series, axis: Axis, x: AxisView, y: AxisView, size: tuple[float, float]) -> list[Segment]:
    """Return a vertical line for each mark whose interval, visits or states extend beyond it."""
    found = []
    for number, left in enumerate(_across(series, axis, x)):
        detail = series.details[number] if series.details else None
        values = [ends[number] for ends in (series.low, series.high) if ends]
        values += [*detail.values, *detail.states] if detail is not None else []
        ups = [up for value in values if (up := _fraction(value, y)) is not None]
        if left is not None and ups and (max(ups) - min(ups)) * size[1] > _MARK:
            top, bottom = ((1 - up) * size[1] for up in (max(ups), min(ups)))
            found.append(((left * size[0], top), (left * size[0], bottom)))
    return found


def _across(series: Series, axis: Axis, view: AxisView) -> list[float | None]:
    """Return the positions of a series' x values as fractions of the x axis."""
    if view.kind != "category":
        return [_fraction(float(at), view) for at in series.x]
    return [(view.labels.index(category_label(at, axis)) + 0.5) / len(view.labels) for at in series.x]


def _fraction(value: float | None, view: AxisView) -> float | None:
    """Return the position of a value as a fraction of a numeric axis, or None if the axis cannot show it."""
    if value is None or (value <= 0 and view.kind == "log"):
        return None
    return share(value / view.factor, view)


def _marks(
    series: Series, axis: Axis, x: AxisView, y: AxisView, size: tuple[float, float]
) -> list[PixelPosition | None]:
    """Return the coordinates of a series' marks in pixels, or None for marks that the axes cannot show."""
    places = [(left, _fraction(value, y)) for left, value in zip(_across(series, axis, x), series.y, strict=True)]
    return [None if left is None or up is None else (left * size[0], (1 - up) * size[1]) for left, up in places]


def _in_order(marks: Sequence[Sequence[PixelPosition | None]], crowded: bool) -> list[tuple[int, int]]:
    """Return the numbers of the series and marks whose labels are placed, in the order in which they are placed: the
    first marks of all series, their last marks, their knees and, unless the panel is crowded, all other marks."""
    by_series = [
        list(dict.fromkeys((0, len(own) - 1, *_knee(own), *(() if crowded else range(len(own)))))) if own else []
        for own in marks
    ]
    ranks = zip_longest(*by_series)
    return [(number, at) for rank in ranks for number, at in enumerate(rank) if at is not None]


def _knee(marks: Sequence[PixelPosition | None]) -> list[int]:
    """Return the number of the mark that is farthest from the straight line between the two ends of a curve, or an
    empty list if the curve is almost straight."""
    if (
        not marks
        or (first := marks[0]) is None
        or (last := marks[-1]) is None
        or (length := math.dist(first, last)) == 0
    ):
        return []
    across, down = (last[0] - first[0]) / length, (last[1] - first[1]) / length
    offsets = [abs((mark[0] - first[0]) * down - (mark[1] - first[1]) * across) if mark else 0.0 for mark in marks]
    farthest = max(range(len(marks)), key=offsets.__getitem__)
    return [farthest] if offsets[farthest] > _BENT else []


def _place(text: str, marks: Sequence[tuple[_Area, PixelPosition]]) -> Placed:
    """Return the first position in which the label overlaps nothing in all areas, and mark the label's boxes as taken.
    `marks` contains each area with the position of the label's mark."""
    for position in _POSITIONS:
        boxes = [(area, _beside_mark(text, mark, position)) for area, mark in marks]
        if all(area.free(box) for area, box in boxes):
            for area, box in boxes:
                # Without this gap, two adjacent numbers could look like one.
                area.occupied.append(_grown(box, CHARACTER, 0.0))
            return Placed(text, position)
    return Placed("", "top center")


def _beside_mark(text: str, mark: PixelPosition, position: str) -> Box:
    right, down = _POSITIONS[position]
    width = len(text) * CHARACTER
    side = 0.0 if right == -0.5 else _MARK + _GAP if right == 0.0 else -_MARK - _GAP
    left, middle = mark[0] + right * width + side, mark[1] + down * (_MARK + _TEXT_HEIGHT / 2 + 1)
    return left, middle - _TEXT_HEIGHT / 2, left + width, middle + _TEXT_HEIGHT / 2


def _grown(box: Box, across: float, up: float) -> Box:
    """Return a box that extends farther to the left and right by `across`, and up and down by `up`."""
    return box[0] - across, box[1] - up, box[2] + across, box[3] + up


def _overlap(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _crosses(line: Segment, box: Box) -> bool:
    """Return whether a part of a line is inside a box. Each pair of opposite edges clips the line to the part from
    `first` to `last`, given as fractions of its length."""
    first, last = 0.0, 1.0
    for axis in (0, 1):
        start, end = line[0][axis], line[1][axis]
        low, high = box[axis], box[axis + 2]
        if start == end:
            if not low < start < high:
                return False
            continue
        entry, leaving = sorted(((low - start) / (end - start), (high - start) / (end - start)))
        first, last = max(first, entry), min(last, leaving)
    return first < last
