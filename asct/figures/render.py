"""Convert the figures of a benchmark (data in base units) to plotly JSON. Only this module imports plotly.

The JSON contains plain lists with six significant digits, but no template and no ids. The page adds both, so equal
records result in equal bytes. Text is escaped, because plotly interprets some HTML in labels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any, Final

from asct.figures import theme
from asct.figures.axes import (
    AxisView,
    Neighbors,
    Scales,
    category_label,
    drawn_backdrop,
    section_scales,
    x_view,
    y_view,
)
from asct.figures.heat import render_heatmap
from asct.figures.hover import hover_lines, visible_points
from asct.figures.labels import NARROW, WIDE, WIDEST, Placed, concealing, placed
from asct.figures.layout import chart_layout
from asct.figures.palette import Palette, Style, palette
from asct.figures.panels import PANEL_HEIGHT, PANEL_WIDTH, Panel, legend_names, panels
from asct.figures.scale import AxisScale, escape, rounded
from asct.figures.tooltips import with_compact_tooltips
from asct.sdk.figure import Bars, Chart, Figure, Heatmap, Series
from asct.sdk.record import Scalar
from asct.values.text import unbroken

_BAND_FROM: Final = 13
"""Lines with at least this number of points show intervals as a band; shorter lines show them as error bars."""
_MARKS_UP_TO: Final = 60
"""Lines with more points than this have no marks."""
_WIDER: Final = 2.0
"""Extra width, in pixels, of a line and its marks for each following line that would conceal it."""
_WIDEST: Final = 6.0
"""Maximum extra width, in pixels. Panels get half of it."""
_POINT: Final = 9
"""Size, in pixels, of a point that replaces a bar."""
_PALE: Final = 0.3
"""Opacity of the comparison values of a series."""
_MOST_POINTS: Final = 2000
"""Maximum number of visits and repeats that a figure shows as points, which keeps the page small."""


@cache
def plotly_javascript() -> str:
    """Return the source code of plotly.js, which is part of the installed plotly package."""
    from plotly.offline import get_plotlyjs

    return str(get_plotlyjs())


def render_sections(sections: Sequence[Neighbors], hosts: Sequence[str]) -> dict[str, Any]:
    """Return the figures of a page as plotly JSON, keyed by slug. `hosts` contains all hosts of the run, in order.

    Each name has the same color and marker in all sections, and each unit has the same prefix throughout a section.
    """
    colours = palette([figure for section in sections for figure in section.figures], hosts)
    return {
        figure.slug: with_compact_tooltips(_rendered(figure, colours, scales))
        for section in sections
        for scales in (section_scales(section),)
        for figure in section.figures
    }


def _rendered(figure: Figure, colours: Palette, scales: Scales) -> dict[str, Any]:
    if isinstance(figure, Heatmap):
        return render_heatmap(figure, scales)
    found = panels(figure)
    x, y = x_view(figure, scales), y_view(figure, scales)
    names = legend_names(found)
    drawn = _Drawn(figure, x, y, visible_points(figure.series, _MOST_POINTS), frozenset(names))
    data: list[dict[str, Any]] = []
    styles = [colours.styles(panel) for panel in found]
    for number, (panel, own) in enumerate(zip(found, styles, strict=True), start=1):
        axes = {} if number == 1 else {"xaxis": f"x{number}", "yaxis": f"y{number}"}
        data += [{**trace, **axes} for trace in drawn.traces(panel, own)]
    return {"data": _named_once(data, names), "layout": chart_layout(figure, found, styles, x, y)}


def _named_once(data: list[dict[str, Any]], names: Sequence[str]) -> list[dict[str, Any]]:
    """Mark the first trace of each name for the legend, which lists each name once for all panels."""
    left = {_legend_name(name) for name in names}
    for trace in data:
        if trace["showlegend"]:
            trace["showlegend"] = trace["name"] in left
            left.discard(trace["name"])
    return data


def _legend_name(name: str) -> str:
    """Return a series name as HTML for the legend, with no line break between a number and its unit."""
    return unbroken(escape(name))


@dataclass(frozen=True, slots=True)
class _Drawn:
    """A chart with its axes, from which the traces of its panels are drawn."""

    chart: Chart
    x: AxisView
    y: AxisView
    points: bool
    names: frozenset[str]

    def traces(self, panel: Panel, styles: Sequence[Style]) -> list[dict[str, Any]]:
        """Return the traces of one panel: intervals, visits, lines or bars (or points in their place), and states."""
        if isinstance(self.chart, Bars):
            pairs = enumerate(zip(panel.series, styles, strict=True))
            return [trace for number, (series, style) in pairs for trace in self._bars(series, style, number)]
        labels = self._labels(panel)
        found: list[dict[str, Any]] = []
        for number, (series, style, extra) in enumerate(
            zip(panel.series, styles, self._extra_widths(panel), strict=True)
        ):
            found += self._line(series, style, extra, [place[number] for place in labels])
        return found

    def _labels(self, panel: Panel) -> list[list[list[Placed]]]:
        """Return the positions of the labels beside the marks, for a wide page and for a narrow page."""
        if not any(series.labels for series in panel.series):
            return []
        alone = len(panel.series) == len(self.chart.series)
        panel_sizes = (PANEL_WIDTH, PANEL_HEIGHT), (2 * PANEL_WIDTH, PANEL_HEIGHT)
        pages = ((WIDE, WIDEST), (NARROW,)) if alone else (panel_sizes, panel_sizes[:1])
        return [placed(self.chart, panel.series, self.x, self.y, sizes) for sizes in pages]

    def _extra_widths(self, panel: Panel) -> list[float]:
        """Return how much wider than usual each line is, so that none is concealed by those drawn after it."""
        alone = len(panel.series) == len(self.chart.series)
        counts = concealing(panel.series, self.chart.x, self.x, self.y, WIDE if alone else (PANEL_WIDTH, PANEL_HEIGHT))
        step = min(_WIDER, _WIDEST / max((1, *counts))) * (1.0 if alone else 0.5)
        return [round(step * count, 1) for count in counts]

    def _xs(self, series: Series) -> list[Any]:
        if self.x.kind == "category":
            return [escape(category_label(x, self.chart.x)) for x in series.x]
        factor = self.x.factor
        return [float(x) if factor == 1.0 else rounded(float(x) / factor) for x in series.x]

    def _ys(self, values: Sequence[float | None]) -> list[float | None]:
        return [None if value is None else rounded(value / self.y.factor) for value in values]

    def _common(self, series: Series) -> dict[str, Any]:
        return {"name": _legend_name(series.name), "legendgroup": escape(series.name), "showlegend": False}

    def _line(
        self, series: Series, style: Style, extra: float, places: Sequence[Sequence[Placed]]
    ) -> list[dict[str, Any]]:
        """Return the traces of a line that is wider than usual by `extra` pixels."""
        xs, ys = self._xs(series), self._ys(series.y)
        marks = len(xs) <= _MARKS_UP_TO
        trace: dict[str, Any] = {
            **self._common(series),
            "type": "scatter",
            "mode": "lines+markers" if marks else "lines",
            **({"cliponaxis": False} if marks else {}),
            "x": xs,
            "y": ys,
            "line": {"color": style.colour, "width": 2 + extra, "dash": style.dash},
            "marker": {"symbol": style.marker, "size": (7 if len(xs) < 40 else 5) + extra, "color": style.colour},
            "showlegend": True,
            **self._hover(series),
        }
        if places:
            trace |= _texts(places)
        found = [trace]
        low, high = self._ys(series.low), self._ys(series.high)
        if len(low) == len(ys) == len(high) and any(end is not None for end in low):
            if len(xs) < _BAND_FROM or _turns_back(xs):
                found = [{**trace, "error_y": _error_bars(ys, low, high, style.colour)}]
            else:
                found = [{**_band(xs, low, high, style), **self._common(series)}, trace]
        behind = [*self._backdrop(series, style, {}), *self._visits(series, style, {})]
        return [*behind, *found, *self._states(series, style, {})]

    def _bars(self, series: Series, style: Style, number: int) -> list[dict[str, Any]]:
        xs, ys = self._xs(series), self._ys(series.y)
        group = {"offsetgroup": str(number)}
        trace: dict[str, Any] = {
            **self._common(series),
            **group,
            **(_point(style) if self.chart.y.logarithmic else _bar(style)),
            "x": xs,
            "y": ys,
            "showlegend": True,
            **self._hover(series),
        }
        if isinstance(self.chart, Bars) and self.chart.stacked:
            del trace["offsetgroup"]
            return [trace]
        low, high = self._ys(series.low), self._ys(series.high)
        if len(low) == len(ys) == len(high) and any(end is not None for end in low):
            trace["error_y"] = _error_bars(ys, low, high, theme.BOUND)
        above = [*self._visits(series, style, group), *self._states(series, style, group)]
        return [trace, *self._backdrop(series, style, group), *above]

    def _hover(self, series: Series) -> dict[str, Any]:
        y, x_scale = (AxisScale(axis.factor, axis.unit) for axis in (self.y, self.x))
        texts = [
            "<br>".join(escape(line) for line in hover_lines(series, number, self._place(x), y, x_scale))
            for number, x in enumerate(series.x)
        ]
        name = escape(series.name) if len(self.chart.series) > 1 else ""
        return {"customdata": texts, "hovertemplate": f"%{{customdata}}<extra>{name}</extra>"}

    def _place(self, x: Scalar) -> str:
        """Return an x value with its unit for the tooltip."""
        if self.x.kind == "category" or self.chart.x.unit == "B" or isinstance(x, str | bool):
            return category_label(x, self.chart.x)
        number = category_label(x if self.x.factor == 1.0 else x / self.x.factor, self.chart.x)
        return f"{number}{AxisScale(self.x.factor, self.x.unit).suffix}"

    def _visits(self, series: Series, style: Style, group: Mapping[str, str]) -> list[dict[str, Any]]:
        """Return the values of visits and repeats as small points under their summaries."""
        colour = theme.BOUND if isinstance(self.chart, Bars) else style.colour
        marker = {"symbol": "circle", "size": 4, "color": colour, "opacity": 0.4}
        values = [detail.values if detail else () for detail in series.details]
        return self._marks(series, values, marker, group) if self.points else []

    def _states(self, series: Series, style: Style, group: Mapping[str, str]) -> list[dict[str, Any]]:
        """Return a mark for each of the two states of a value: an open mark on a line, a short line on a bar."""
        bars = isinstance(self.chart, Bars)
        colour, symbol = (theme.INK, "line-ew") if bars else (style.colour, style.marker)
        marker = {"symbol": f"{symbol}-open", "size": 11, "color": colour, "line": {"width": 2}}
        return self._marks(series, [detail.states if detail else () for detail in series.details], marker, group)

    def _backdrop(self, series: Series, style: Style, group: Mapping[str, str]) -> list[dict[str, Any]]:
        """Return the comparison values of a series as a pale line or as a pale mark across each bar."""
        behind = drawn_backdrop(series, self.chart.x, self.x)
        if behind is None:
            return []
        trace: dict[str, Any] = {
            **self._common(series), **group, "type": "scatter", "x": self._xs(behind), "y": self._ys(behind.y),
            "hoverinfo": "skip",
        }  # fmt: skip
        if isinstance(self.chart, Bars):
            marker = {"symbol": "line-ew-open", "size": 24, "color": theme.INK, "opacity": 0.5, "line": {"width": 3}}
            return [{**trace, "mode": "markers", "marker": marker}]
        return [{**trace, "mode": "lines", "opacity": _PALE, "line": {"color": style.colour, "width": 4}}]

    def _marks(
        self, series: Series, values: Sequence[Sequence[float]], marker: dict[str, Any], group: Mapping[str, str]
    ) -> list[dict[str, Any]]:
        """Return a mark for each of several `values` at the same x, or an empty list if every x has at most one."""
        pairs = [(x, value) for x, own in zip(self._xs(series), values, strict=False) if len(own) > 1 for value in own]
        trace = {
            **self._common(series), **group, "type": "scatter", "mode": "markers", "hoverinfo": "skip",
            "x": [x for x, _ in pairs], "y": self._ys([value for _, value in pairs]), "marker": marker,
        }  # fmt: skip
        return [trace] if pairs else []


def _bar(style: Style) -> dict[str, Any]:
    """Return the type of a trace of bars, and their color and pattern."""
    marker: dict[str, Any] = {"color": style.colour, "line": {"width": 0}}
    if style.pattern:
        marker["pattern"] = {
            "shape": style.pattern, "fillmode": "overlay", "fgopacity": 0.25, "solidity": 0.2, "size": 6
        }  # fmt: skip
    return {"type": "bar", "marker": marker}


def _point(style: Style) -> dict[str, Any]:
    """Return the type of a trace of points that replace bars, and their color and symbol."""
    marker = {"symbol": style.marker, "size": _POINT, "color": style.colour}
    return {"type": "scatter", "mode": "markers", "marker": marker}


def _texts(places: Sequence[Sequence[Placed]]) -> dict[str, Any]:
    """Return the labels beside a line's marks. `meta` contains the labels for a narrow page."""
    wide, narrow = (
        {"text": [escape(item.text) for item in items], "textposition": [item.position for item in items]}
        for items in places
    )
    return {"mode": "lines+markers+text", "textfont": {"size": 10}, **wide, "meta": narrow}


def _turns_back(xs: Sequence[Any]) -> bool:
    """Return whether x is not strictly increasing, in which case an interval band would overlap itself."""
    return any(isinstance(after, float) and after <= before for before, after in pairwise(xs))


def _error_bars(
    ys: Sequence[float | None], low: Sequence[float | None], high: Sequence[float | None], colour: str
) -> dict[str, Any]:
    def distances(ends: Sequence[float | None]) -> list[float]:
        pairs = zip(ys, ends, strict=True)
        return [0.0 if y is None or end is None else rounded(abs(end - y)) or 0.0 for y, end in pairs]

    return {
        "type": "data",
        "symmetric": False,
        "array": distances(high),
        "arrayminus": distances(low),
        "color": colour,
        "thickness": 1.2,
        "width": 3,
    }


def _band(xs: Sequence[Any], low: Sequence[float | None], high: Sequence[float | None], style: Style) -> dict[str, Any]:
    """Return a closed outline around the intervals. Points that have no interval are skipped."""
    points = [(x, a, b) for x, a, b in zip(xs, low, high, strict=True) if a is not None and b is not None]
    return {
        "type": "scatter",
        "mode": "lines",
        "x": [x for x, _, _ in points] + [x for x, _, _ in reversed(points)],
        "y": [a for _, a, _ in points] + [b for _, _, b in reversed(points)],
        "fill": "toself",
        "fillcolor": theme.translucent(style.colour),
        "line": {"width": 0, "color": style.colour},
        "hoverinfo": "skip",
    }
