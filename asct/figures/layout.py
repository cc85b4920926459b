"""The layout of a chart as plotly JSON: axes, lines at levels and rated values, bands, and the grid of panels.

Space above the axes is reserved for the following rows, so that nothing overlaps: plotly's buttons are at the top,
followed by the labels of vertical lines or the titles of panels. The page draws the legend above the figure.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from asct.figures import theme
from asct.figures.axes import AxisView, drawn_markers, is_category
from asct.figures.labels import CHARACTER, WIDE, beside_lines, label_rows, share
from asct.figures.palette import Style
from asct.figures.panels import PANEL_HEIGHT, PANEL_WIDTH, Panel, columns_of, legend_names, panels
from asct.figures.scale import escape, rounded
from asct.sdk.figure import Band, Bars, Chart, Figure, Heatmap, Line, Series

BUTTONS: Final = 28
"""Height, in pixels, of the row that contains plotly's buttons."""
ROW: Final = 15
"""Height, in pixels, of a row of labels."""
_BELOW: Final = 52
_LEFT: Final = 38
"""Width, in pixels, of the common title of the y axes and of the gaps beside it."""
_PANEL_GAP: Final = 14
_BETWEEN: Final = 0.04
"""Horizontal gap between panels, as a fraction of the width of the plot area."""
_MOST_COLUMNS: Final = 4
_SYMBOLS: Final = dict(zip(theme.MARKERS, "\u25cf\u25a0\u25c6\u25b2\u2716\u271a\u2605\u2b22", strict=True))
_KEY_WIDTH: Final = 38
"""Maximum number of characters in a line of the key above a panel."""

_HALO: Final = "d9"
"""Opacity of the background of labels in the plot, written as the suffix of a color."""

Json = dict[str, Any]


def chart_layout(
    chart: Chart, found: Sequence[Panel], styles: Sequence[Sequence[Style]], x: AxisView, y: AxisView
) -> Json:
    """Return the layout of a chart with these panels, their styles and axes."""
    layout: Json = {"showlegend": False, "hovermode": "closest"}
    if isinstance(chart, Bars):
        layout |= {"barmode": "stack" if chart.stacked else "group", "bargap": 0.3}
        layout |= {"scattermode": "group", "scattergap": 0.3}
    if len(found) == 1:
        layout |= {"xaxis": {**_axis(x), **_title(x)}, "yaxis": {**_axis(y), **_title(y)}}
        marked, rows = _vertical_labels(chart, x)
        layout["margin"] = {"l": 56, "r": 20, "t": BUTTONS + ROW * rows, "b": 48}
        layout |= {"meta": meta} if (meta := _meta(x, y)) else {}
        notes = [*marked, *_horizontal_labels(chart, chart.series, x, y, WIDE)]
    else:
        titles = [_panel_title(panel, own, legend_names(found)) for panel, own in zip(found, styles, strict=True)]
        left = _LEFT + round(CHARACTER * max(map(len, y.labels), default=0))
        notes = [*_panel_notes(titles), *_first_labels(chart, found[0], x, y), *_common_titles(x, y, left)]
        grid, usual = _grid(len(found), max(title.count("<br>") + 1 for title in titles), left)
        layout |= grid | _panel_axes(usual, x, y) | {"meta": grid["meta"] | _meta(x, y)}
    shapes = [shape for number in range(1, len(found) + 1) for shape in _shapes(chart, x, y, number)]
    return layout | {key: items for key, items in (("shapes", shapes), ("annotations", notes)) if items}


def caption(figure: Figure) -> str:
    """Return the caption of a figure, including an explanation of the marks for two states. Vertical lines and shaded
    ranges have no labels in panels, so the caption of a figure with panels also names those that it does not already
    mention."""
    parts = [figure.caption]
    if not isinstance(figure, Heatmap) and _has_states(figure):
        marks = "dashes" if isinstance(figure, Bars) else "open marks"
        parts.append(f"Two {marks} at one position are the two states of a value.")
    if isinstance(figure, Line) and not is_category(figure) and len(panels(figure)) > 1:
        lines = _unmentioned([marker.label for marker in sorted(figure.markers, key=lambda one: one.x)], figure.caption)
        bands = _unmentioned([band.label for band in figure.bands], figure.caption)
        groups = ("Vertical lines, from left to right" if len(lines) > 1 else "Vertical line", lines), ("Shaded", bands)
        parts += [f"{what}: {', '.join(labels)}." for what, labels in groups if labels]
    return " ".join(parts)


def _unmentioned(labels: Sequence[str], text: str) -> list[str]:
    return [label for label in dict.fromkeys(labels) if label not in text]


def _has_states(chart: Chart) -> bool:
    return any(detail is not None and len(detail.states) > 1 for series in chart.series for detail in series.details)


def _axis(view: AxisView) -> Json:
    if view.kind == "category":
        names = [escape(label) for label in view.labels]
        ticks = {"tickmode": "array", "tickvals": names, "ticktext": names}
        return {"type": "category", "categoryorder": "array", "categoryarray": names, **ticks}
    ends = [view.low, view.high]
    return {
        "type": view.kind,
        "range": [_position(end, view) for end in ends],
        "tickmode": "array",
        "tickvals": list(view.ticks),
        "ticktext": [escape(label) for label in view.labels],
        "ticklabeloverflow": "allow",
    }


def _meta(x: AxisView, y: AxisView) -> Json:
    """Return the information that the page needs to choose other ticks: whether every tick of the x axis must be kept,
    and which axes show only whole numbers."""
    whole = [name for name, view in (("x", x), ("y", y)) if view.whole]
    return ({"every": True} if x.every else {}) | ({"whole": whole} if whole else {})


def _title(view: AxisView) -> Json:
    return {"title": {"text": escape(view.title)}}


def _position(value: float, view: AxisView) -> float:
    """Return a value in the coordinates of a plotly axis, which are exponents if the axis is logarithmic."""
    return rounded(math.log10(value) if view.kind == "log" else value) or 0.0


def _references(number: int) -> tuple[str, str]:
    return ("x", "y") if number == 1 else (f"x{number}", f"y{number}")


def _shapes(chart: Chart, x: AxisView, y: AxisView, number: int) -> list[Json]:
    """Return the lines and bands of one panel."""
    across, up = _references(number)
    found: list[Json] = []
    if isinstance(chart, Line):
        for band in chart.bands:
            found.append(
                {"type": "rect", "xref": across, "x0": band.start / x.factor, "x1": band.end / x.factor,
                 **_heights(band, up, y), "layer": "below", "line": {"width": 0},
                 "fillcolor": theme.translucent(theme.BOUND)}
            )  # fmt: skip
        for marker in drawn_markers(chart, x):
            hint, at = marker.kind == "hint", marker.x / x.factor
            found.append(
                {"type": "line", "xref": across, "x0": at, "x1": at, "yref": f"{up} domain", "y0": 0, "y1": 1,
                 "layer": "below",
                 "line": {"color": theme.BOUND, "width": 1 if hint else 1.5, "dash": "dot" if hint else "solid"}}
            )  # fmt: skip
    for line in chart.rated:
        level = rounded(line.y / y.factor)
        found.append(
            {"type": "line", "xref": f"{across} domain", "x0": 0, "x1": 1, "yref": up, "y0": level, "y1": level,
             "line": {"color": theme.BOUND, "width": 1.5, "dash": "dash"}}
        )  # fmt: skip
    return found


def _heights(band: Band, up: str, y: AxisView) -> Json:
    """Return the lower and upper ends of a band."""
    if band.low is None or band.high is None:
        return {"yref": f"{up} domain", "y0": 0, "y1": 1}
    return {"yref": up, "y0": band.low / y.factor, "y1": band.high / y.factor}


def _vertical_labels(chart: Chart, x: AxisView) -> tuple[list[Json], int]:
    """Return the labels of vertical lines and of bands (at their left ends), and the number of rows that the labels
    need above the plot.

    The page rearranges the labels for its actual width.
    """
    if not isinstance(chart, Line):
        return [], 0
    found = [(marker.x, marker.label) for marker in drawn_markers(chart, x)]
    if x.kind != "category":
        found += {band.label: (band.start, band.label) for band in chart.bands}.values()
    found.sort()
    rows = label_rows([share(at / x.factor, x) * WIDE[0] for at, _ in found], [text for _, text in found])
    notes = [
        {
            "name": "marker", "x": _position(at / x.factor, x), "yref": "y domain", "y": 1, "text": escape(text),
            "showarrow": False, "xanchor": "left", "yanchor": "bottom", "xshift": -3, "yshift": ROW * row,
        }
        for (at, text), row in zip(found, rows, strict=True)
    ]  # fmt: skip
    return notes, max(rows, default=-1) + 1


def _first_labels(chart: Chart, first: Panel, x: AxisView, y: AxisView) -> list[Json]:
    """Return the labels of rated values in the first panel. A label is shortened if it does not fit into the panel."""
    rated = tuple(replace(line, label=_fitting(line.label)) for line in chart.rated)
    labeled = replace(chart, rated=tuple(line for line in rated if line.label))
    return _horizontal_labels(labeled, first.series, x, y, (PANEL_WIDTH, PANEL_HEIGHT))


def _horizontal_labels(
    chart: Chart, series: Sequence[Series], x: AxisView, y: AxisView, size: tuple[float, float]
) -> list[Json]:
    """Return the labels of rated values, each in the position where it covers the least. Their background keeps them
    readable on bars and lines."""
    return [
        {
            "name": "rated", "xref": "x domain", "x": 1 if place.side == "right" else 0,
            "y": _position(line.y / y.factor, y), "text": escape(line.label), "showarrow": False,
            "xanchor": place.side, "yanchor": place.edge, "bgcolor": theme.PAPER + _HALO,
        }
        for line, place, _ in beside_lines(chart, series, x, y, size)
    ]  # fmt: skip


def _fitting(text: str) -> str:
    """Return as much of a text as fits into a panel: the whole text, the part before ` at `, or nothing."""
    return next((part for part in (text, text.partition(" at ")[0]) if len(part) * CHARACTER < PANEL_WIDTH), "")


def _panel_axes(places: Json, x: AxisView, y: AxisView) -> Json:
    """Return the axes of all panels; `places` contains their positions. All panels zoom together."""
    axes: Json = {name: {**_axis(x if name[0] == "x" else y), **place} for name, place in places.items()}
    for name, axis in axes.items():
        number = name[len("xaxis") :]
        if number:
            axis |= {"anchor": f"{'y' if name[0] == 'x' else 'x'}{number}", "matches": name[0]}
    return axes


def _panel_title(panel: Panel, styles: Sequence[Style], shared: Sequence[str]) -> str:
    """Return the key above a panel: its title or, if the panels share no legend, the marks and names of its series."""
    if shared or len(panel.series) < 2:
        return f"<b>{escape(panel.title or panel.series[0].name)}</b>"
    lines, length = [[f"<b>{escape(panel.title)}</b>"]] if panel.title else [[]], 0
    for series, style in zip(panel.series, styles, strict=True):
        length += len(series.name) + 3
        if length > _KEY_WIDTH and lines[-1]:
            lines.append([])
            length = len(series.name) + 3
        symbol = f'<span style="color:{style.colour}">{_SYMBOLS[style.marker]}</span>'
        lines[-1].append(f"{symbol}\u00a0{escape(series.name)}")
    return "<br>".join("  ".join(line) for line in lines)


def _panel_notes(titles: Sequence[str]) -> list[Json]:
    notes = []
    for number, title in enumerate(titles, start=1):
        across, up = _references(number)
        notes.append(
            {"name": "panel", "xref": f"{across} domain", "x": 0, "yref": f"{up} domain", "y": 1, "text": title,
             "showarrow": False, "xanchor": "left", "yanchor": "bottom", "align": "left"}
        )  # fmt: skip
    return notes


def _common_titles(x: AxisView, y: AxisView, left: int) -> list[Json]:
    style = {"showarrow": False, "xref": "paper", "yref": "paper", "font": {"size": 13}, "name": "title"}
    return [
        {**style, "text": escape(x.title), "x": 0.5, "y": 0, "yshift": -_BELOW, "yanchor": "bottom"},
        {**style, "text": escape(y.title), "x": 0, "y": 0.5, "xshift": 4 - left, "xanchor": "left", "textangle": -90},
    ]


def _grid(count: int, lines: int, left: int) -> tuple[Json, Json]:
    """Return the layout of the panels for pages of different widths, and the positions of their axes on a page of the
    usual width.

    `meta.grids` contains, for each number of columns, the width, in pixels, from which it applies.
    """
    above = ROW * lines + 6
    grids = {columns_of(count, columns * PANEL_WIDTH): columns for columns in range(_MOST_COLUMNS, 0, -1)}
    patches = [
        {"from": PANEL_WIDTH * least if least > 1 else 0, **_places(count, columns, above)}
        for columns, least in sorted(grids.items())
    ]
    usual = next(patch for patch in reversed(patches) if patch["from"] <= 2 * PANEL_WIDTH)
    margin = {"l": left, "r": 20, "t": BUTTONS + above, "b": _BELOW}
    return {"margin": margin, "height": usual["height"], "meta": {"grids": patches}}, usual["axes"]


def _places(count: int, columns: int, above: int) -> Json:
    """Return the height of a figure with this number of columns, and the domains of its axes."""
    rows = -(-count // columns)
    inside = rows * PANEL_HEIGHT + (rows - 1) * (above + _PANEL_GAP)
    width, axes = (1.0 - _BETWEEN * (columns - 1)) / columns, {}
    for number in range(count):
        row, column = divmod(number, columns)
        top = row * (PANEL_HEIGHT + above + _PANEL_GAP)
        suffix = str(number + 1) if number else ""
        left = column * (width + _BETWEEN)
        axes[f"xaxis{suffix}"] = {
            "domain": [round(left, 4), round(left + width, 4)],
            "showticklabels": number + columns >= count,
        }
        axes[f"yaxis{suffix}"] = {
            "domain": [round(max(0.0, 1 - (top + PANEL_HEIGHT) / inside), 4), round(1 - top / inside, 4)],
            "showticklabels": column == 0,
        }
    return {"height": inside + BUTTONS + above + _BELOW, "axes": axes}
