"""Heat maps as plotly traces, in which colors show values. Cells contain numbers if there is room, and lines separate
groups."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from asct.figures import theme
from asct.figures.axes import DIRECTIONS, MATRIX, Scales, scale_of
from asct.figures.hover import compared_lines, detail_lines
from asct.figures.layout import BUTTONS
from asct.figures.scale import AxisScale, decade_ticks, escape, even_ticks, rounded, significant
from asct.sdk.figure import Heatmap

_TEXT_UP_TO: Final = 8
"""Maximum number of columns for which the cells show their numbers, if there are at most `_GAPS_UP_TO` rows."""
_GAPS_UP_TO: Final = 40
_DECADE: Final = 10.0
_LEAST_SPAN: Final = 1.2
"""Minimum ratio between the ends of a linear color scale that does not start at zero. Without this minimum, cells with
almost equal values would span the whole color scale because of random variation alone."""
_ALL_DIGITS_UP_TO: Final = 4096
"""Maximum number of cells for which values have six digits. With more cells, values have three digits, which keeps a
page with 576 x 576 cells small."""

_BAR: Final = 46
"""Height, in pixels, of the color bar with its title and ticks."""
_BELOW: Final = 90
"""Height, in pixels, of the labels and the title below the plot."""
_ROWS: Final = 12
"""Number of rows above which a figure is taller than usual, so that each row has room for its label."""
_ROW: Final = 18
_TITLE_BELOW: Final = 28
"""Distance, in pixels, between the axis and its title. The distance is needed because plotly reserves no space for
labels that end beside the title."""


def render_heatmap(figure: Heatmap, scales: Scales) -> dict[str, Any]:
    """Return `{"data": [...], "layout": {...}}`. The first row is at the top."""
    scale = scale_of(scales, figure.unit, MATRIX)
    cells = len(figure.rows) * len(figure.columns)
    digits = 6 if cells <= _ALL_DIGITS_UP_TO else 3
    values = [[None if v is None else rounded(v / scale.factor, digits) for v in row] for row in figure.values]
    details = [
        [_details(figure, row, at, scales) if value is not None else "" for at, value in enumerate(own)]
        for row, own in enumerate(values)
    ]
    return {"data": [_trace(figure, values, details, scale)], "layout": _layout(figure)}


def _details(figure: Heatmap, row: int, at: int, scales: Scales) -> str:
    """Return the part of a cell's tooltip that follows the value: everything that is known about the value or, if it is
    a change, about the values that it compares."""
    scale = scale_of(scales, figure.unit, MATRIX)
    lines = detail_lines(figure.series[row], at, figure.title, scale) if figure.series else []
    for side in figure.compared:
        lines += compared_lines(side, row, at, figure.title, scale_of(scales, side.unit, MATRIX))
    return "".join(f"<br>{escape(line)}" for line in lines)


def square(figure: object) -> bool:
    """Return whether a figure is a matrix with the same rows and columns. It is drawn as a square, except on a page
    where it fills a row, and on paper if it has few rows."""
    return isinstance(figure, Heatmap) and figure.rows == figure.columns


@dataclass(frozen=True, slots=True)
class _Colours:
    """The numbers that the colors of a matrix represent, the ends of the color scale, and its labels by position."""

    numbers: list[list[float | None]]
    low: float
    high: float
    labels: Mapping[float, str]


def _trace(
    figure: Heatmap, values: list[list[float | None]], details: list[list[str]], scale: AxisScale
) -> dict[str, Any]:
    ceiling = None if figure.ceiling is None else figure.ceiling / scale.factor
    colours = _logarithmic(values, ceiling) if figure.logarithmic and not figure.diverging else None
    field = "%{z:,.4~r}" if colours is None else "%{text}"
    colours = colours or _linear(values, *(_around_zero(values) if figure.diverging else _ends(values, ceiling)))
    gap = 1 if max(len(figure.rows), len(figure.columns)) <= _GAPS_UP_TO else 0
    place = f"{escape(figure.y_title)} %{{y}}<br>{escape(figure.x_title)} %{{x}}"
    more = "%{customdata}" if any(map(any, details)) else ""
    trace: dict[str, Any] = {
        "type": "heatmap",
        "x": [escape(name) for name in figure.columns],
        "y": [escape(name) for name in figure.rows],
        "z": colours.numbers,
        "zmin": colours.low,
        "zmax": colours.high,
        "xgap": gap,
        "ygap": gap,
        "hoverongaps": False,
        "hovertemplate": f"{place}<br><b>{field}{escape(scale.suffix)}</b>{more}<extra></extra>",
        "colorbar": _colour_bar(colours.labels, f"{scale.unit}{DIRECTIONS[figure.better]}".removeprefix(", ")),
    }
    if more:
        trace["customdata"] = details
    if field == "%{text}":
        trace["text"] = [["" if value is None else significant(value) for value in row] for row in values]
    if len(figure.columns) <= _TEXT_UP_TO and len(figure.rows) <= _GAPS_UP_TO:
        trace["texttemplate"] = "%{z:+.1f}" if figure.diverging else _aligned(values) or field
    if figure.diverging:
        better, worse = theme.LIGHT[:2]
        ends = (worse, better) if figure.better == "higher" else (better, worse)
        trace["colorscale"] = [[0, ends[0]], [0.5, theme.PAPER], [1, ends[1]]]
    return trace


def _aligned(values: Sequence[Sequence[float | None]]) -> str:
    """Return the template that gives all cells the same number of decimals, so that `212.0` is beside `211.5`, or an
    empty string if the values span more than a decade or are whole numbers."""
    sizes = [abs(value) for row in values for value in row if value is not None]
    if not sizes or not 0.1 <= max(sizes) < min(1000.0, _DECADE * min(sizes)):
        return ""
    if not any("." in significant(size) for size in sizes):
        return ""
    return f"%{{z:,.{len(f'{max(sizes):#.4g}'.partition('.')[2])}f}}"


def _linear(values: list[list[float | None]], low: float, high: float, cut: bool) -> _Colours:
    """Return colors that are proportional to the values. Both ends have labels; the last one indicates whether the
    scale is truncated."""
    room = (high - low) / 6
    marks = [mark for mark in even_ticks(low, high) if low + room <= mark <= high - room]
    inside = (high - low) * 1e-4  # without this margin, rounding could move the mark at an end off the bar
    ends = {low + inside: significant(low), high - inside: f"{'≥ ' if cut else ''}{significant(high)}"}
    return _Colours(values, low, high, dict(sorted((ends | {mark: significant(mark) for mark in marks}).items())))


def _logarithmic(values: Sequence[Sequence[float | None]], ceiling: float | None) -> _Colours | None:
    """Return colors that are proportional to the logarithms of the values, or None if the values span less than a
    decade. Values of 0 or less are shown in the color of the smallest positive value."""
    known = [value for row in values for value in row if value is not None and value > 0]
    low, high = min(known, default=1.0), max(known, default=1.0)
    high = high if ceiling is None else min(high, ceiling)
    if high < _DECADE * low:
        return None
    numbers = [[None if value is None else rounded(math.log10(max(value, low))) for value in row] for row in values]
    ends = math.log10(low), math.log10(high)
    room = (ends[1] - ends[0]) / 6
    ticks = {math.log10(tick): tick for tick in decade_ticks(low, high)}
    inside = {place: significant(tick) for place, tick in ticks.items() if ends[0] + room <= place <= ends[1] - room}
    cut = "≥ " if high < max(known) else ""
    marks = {ends[0]: significant(low), **inside, ends[1] - room / 1000: f"{cut}{significant(high)}"}
    return _Colours(numbers, *ends, marks)


def _ends(values: Sequence[Sequence[float | None]], ceiling: float | None) -> tuple[float, float, bool]:
    """Return the range of the color scale, and whether values exceed it.

    The scale starts at zero, which makes colors proportional to values, unless all values are above half of the scale's
    upper end. If it does not start at zero, it ends at least 20 % above its start, unless the ceiling truncates it. A
    ceiling below all values is ignored.
    """
    known = [value for row in values for value in row if value is not None]
    smallest, largest = min(known, default=0.0), max(known, default=1.0)
    high = largest if ceiling is None or ceiling <= smallest else min(ceiling, largest)
    low = smallest if smallest > high / 2 else min(0.0, smallest)
    if high < largest:
        return low, high, True
    if low > 0:
        return low, max(high, low * _LEAST_SPAN), False
    return low, high if high > low else low + (abs(low) or 1.0), False


def _around_zero(values: Sequence[Sequence[float | None]]) -> tuple[float, float, bool]:
    """Return the range of a color scale that is centered at 0."""
    most = max((abs(value) for row in values for value in row if value is not None), default=0.0) or 1.0
    return -most, most, False


def _colour_bar(labels: Mapping[float, str], title: str) -> dict[str, Any]:
    """Return the color bar with its unit and direction. It is above the plot, so that it does not reduce the width."""
    return {
        "orientation": "h",
        "x": 0.5,
        "y": 1.0,
        "yanchor": "bottom",
        "ypad": 4,
        "len": 0.84,
        "thickness": 10,
        "outlinewidth": 0,
        "title": {"text": escape(title), "side": "top", "font": {"size": 12}},
        "tickangle": 0,
        "tickmode": "array",
        "tickvals": list(labels),
        "ticktext": list(labels.values()),
    }


def _layout(figure: Heatmap) -> dict[str, Any]:
    axis: dict[str, Any] = {"type": "category", "showgrid": False}
    below = {"text": escape(figure.x_title), "standoff": _TITLE_BELOW}
    names = [escape(name) for name in figure.columns]
    ticks = {"tickmode": "array", "tickangle": 0, "tickvals": names, "ticktext": names}
    tall = len(figure.rows) > _ROWS and not square(figure)
    height = {"height": BUTTONS + _BAR + _BELOW + _ROW * len(figure.rows)} if tall else {}
    return height | {
        "xaxis": {**axis, **ticks, "title": below},
        "yaxis": {**axis, "title": {"text": escape(figure.y_title)}, "autorange": "reversed"},
        "margin": {"l": 48, "r": 16, "t": BUTTONS + _BAR, "b": 48},
        "plot_bgcolor": theme.BLANK,
        "shapes": [line for at in figure.groups for line in _group_lines(at, square(figure))],
    }  # fmt: skip


def _group_lines(at: int, both_ways: bool) -> list[dict[str, Any]]:
    """Return a line before row `at`, and also before column `at` if rows and columns are the same.

    The line has a dark core and a pale rim, so it is visible on every color.
    """
    lines: list[dict[str, Any]] = []
    for colour, width in ((theme.PAPER, 3), (theme.INK, 1)):
        style = {"type": "line", "line": {"color": colour, "width": width}}
        lines.append({**style, "xref": "paper", "x0": 0, "x1": 1, "y0": at - 0.5, "y1": at - 0.5})
        if both_ways:
            lines.append({**style, "yref": "paper", "y0": 0, "y1": 1, "x0": at - 0.5, "x1": at - 0.5})
    return lines
