"""Convert the figures of a benchmark (data in base units) to plotly JSON. Only this module imports plotly.

The JSON contains plain lists with six significant digits, but no template and no ids. The page adds both, so equal
records result in equal bytes. Text is escaped, because plotly interprets some HTML in labels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from asct.figures import theme
from asct.figures.heat import render_heatmap
from asct.figures.scale import AxisScale, decade_ticks, escape, power_ticks, scaling, six_digits, size_label
from asct.sdk.figure import Axis, Bars, Chart, Figure, Heatmap, Line, Marker, Series
from asct.sdk.record import Scalar

_BAND_FROM = 13
"""Lines with at least this number of points show intervals as a band; shorter lines show them as error bars."""
_LABEL_ROWS = 4
_ROW_PIXELS = 15
_LABEL_WIDTH = 0.07
"""Width of the label of a vertical line, as a fraction of the axis. A label that would overlap the previous one moves
to the next row."""


def plotly_javascript() -> str:
    """Return the source code of plotly.js, which is part of the installed plotly package."""
    from plotly.offline import get_plotlyjs

    return str(get_plotlyjs())


def render_figure(figure: Figure, hosts: Sequence[str] = ()) -> dict[str, Any]:
    """Return `{"data": [...], "layout": {...}}` for one figure.

    `hosts` contains all hosts of the run, in order. If there are several, each host has the same color in every figure,
    and markers and dashes distinguish the series of one host.
    """
    if isinstance(figure, Heatmap):
        return render_heatmap(figure)
    figure = _x_in_shown_unit(figure)
    values = [value for series in figure.series for value in (*series.y, *series.low, *series.high)]
    values += [line.y for line in figure.rated]
    y_scale = scaling(values, figure.y.unit, figure.y.scale in ("log2", "log10"))
    apart = isinstance(figure, Bars) and figure.stacked  # parts of one host: colors distinguish the parts
    styles = _styles(figure.series, () if apart else hosts)
    shown_x = _x_values(figure)
    data: list[dict[str, Any]] = []
    for series, style in zip(figure.series, styles, strict=True):
        xs = [shown_x(x) for x in series.x]
        if isinstance(figure, Line):
            data.extend(_line_traces(series, xs, y_scale, style))
        else:
            data.append(_bar_trace(series, xs, y_scale, style, figure.stacked))
    if figure.rated and figure.series:
        data.append(_room_for(figure, [shown_x(x) for x in figure.series[0].x[:1]], y_scale))
    return {"data": data, "layout": _layout(figure, y_scale, styles)}


@dataclass(frozen=True, slots=True)
class _Style:
    colour: str
    marker: str
    dash: str
    pattern: str


def _styles(series: Sequence[Series], hosts: Sequence[str]) -> list[_Style]:
    """Return one style per series. If there are several hosts, the style depends on the host, otherwise on the position
    of the series."""
    names = [item.host for item in series if item.host]
    by_host = len(set(hosts)) > 1 and len(names) == len(series)
    order = list(dict.fromkeys((*hosts, *names)))
    seen: dict[str, int] = {}
    styles = []
    for position, item in enumerate(series):
        if by_host:
            hue, shape = order.index(item.host), seen.get(item.host, 0)
            seen[item.host] = shape + 1
            marker = shape if len(series) > len(set(names)) else hue
        else:
            hue, shape, marker = position, 0, position
        styles.append(
            _Style(
                theme.colour(hue),
                theme.MARKERS[marker % len(theme.MARKERS)],
                theme.DASHES[shape % len(theme.DASHES)],
                theme.PATTERNS[(shape if by_host else hue) % len(theme.PATTERNS)],
            )
        )
    return styles


def _x_in_shown_unit(figure: Chart) -> Chart:
    """Return a line chart with SI prefixes on its x axis (20 GB/s rather than 2e10 B/s); return other charts
    unchanged."""
    axis = figure.x
    if not isinstance(figure, Line) or axis.scale not in ("linear", "log10") or not _all_numbers(figure):
        return figure
    scale = scaling([float(x) for series in figure.series for x in series.x], axis.unit, axis.scale == "log10")
    return replace(
        figure,
        x=replace(axis, unit=scale.unit),
        series=tuple(
            replace(series, x=tuple(six_digits(float(x) / scale.factor) or 0.0 for x in series.x))
            for series in figure.series
        ),
        markers=tuple(replace(marker, x=marker.x / scale.factor) for marker in figure.markers),
    )


def _x_values(figure: Chart) -> Callable[[Scalar], str | float]:
    """Return a function that converts x values: to numbers for a numeric axis, and to text for a category axis, where
    sizes in bytes get a unit."""
    axis = figure.x

    def categorical(x: Scalar) -> str:
        if axis.unit == "B" and isinstance(x, int | float) and not isinstance(x, bool):
            return size_label(x)
        return escape(f"{x:.6g}" if isinstance(x, float) else x)

    return categorical if axis.scale == "category" or not _all_numbers(figure) else float


def _all_numbers(figure: Chart) -> bool:
    return all(isinstance(x, int | float) and not isinstance(x, bool) for series in figure.series for x in series.x)


def _scaled(values: Sequence[float | None], scale: AxisScale) -> list[float | None]:
    return [None if value is None else six_digits(value / scale.factor) for value in values]


def _line_traces(series: Series, xs: list[Any], scale: AxisScale, style: _Style) -> list[dict[str, Any]]:
    ys = _scaled(series.y, scale)
    trace: dict[str, Any] = {
        "type": "scatter",
        "mode": "lines+markers",
        "name": escape(series.name),
        "x": xs,
        "y": ys,
        "line": {"color": style.colour, "width": 2, "dash": style.dash},
        "marker": {"symbol": style.marker, "size": 7 if len(xs) < 40 else 5, "color": style.colour},
        "hovertemplate": _hover(scale, xs),
    }
    low, high = _scaled(series.low, scale), _scaled(series.high, scale)
    if not low or not high or len(low) != len(ys) or len(high) != len(ys):
        return [trace]
    if len(xs) < _BAND_FROM or _turns_back(xs):
        return [{**trace, "error_y": _error_bars(ys, low, high, style)}]
    return [_band(xs, low, high, style), trace]


def _turns_back(xs: Sequence[Any]) -> bool:
    """Return whether x fails to increase strictly; an interval band would then overlap itself."""
    return any(isinstance(after, float) and after <= before for before, after in pairwise(xs))


def _hover(scale: AxisScale, xs: Sequence[Any]) -> str:
    unit = f" {escape(scale.unit)}" if scale.unit else ""
    place = "%{x}" if xs and isinstance(xs[0], str) else "%{x:,.6~g}"
    return f"{place}: <b>%{{y:.4~g}}{unit}</b>"


def _error_bars(
    ys: Sequence[float | None], low: Sequence[float | None], high: Sequence[float | None], style: _Style
) -> dict[str, Any]:
    def distances(ends: Sequence[float | None]) -> list[float]:
        pairs = zip(ys, ends, strict=True)
        return [0.0 if y is None or end is None else six_digits(abs(end - y)) or 0.0 for y, end in pairs]

    return {
        "type": "data",
        "symmetric": False,
        "array": distances(high),
        "arrayminus": distances(low),
        "color": style.colour,
        "thickness": 1.2,
        "width": 3,
    }


def _band(
    xs: Sequence[Any], low: Sequence[float | None], high: Sequence[float | None], style: _Style
) -> dict[str, Any]:
    """Return a closed outline around the intervals. Points that have no interval are skipped."""
    kept = [(x, a, b) for x, a, b in zip(xs, low, high, strict=True) if a is not None and b is not None]
    return {
        "type": "scatter",
        "mode": "lines",
        "x": [x for x, _, _ in kept] + [x for x, _, _ in reversed(kept)],
        "y": [a for _, a, _ in kept] + [b for _, _, b in reversed(kept)],
        "fill": "toself",
        "fillcolor": theme.translucent(style.colour),
        "line": {"width": 0, "color": style.colour},
        "hoverinfo": "skip",
        "showlegend": False,
    }


def _bar_trace(series: Series, xs: list[Any], scale: AxisScale, style: _Style, stacked: bool) -> dict[str, Any]:
    ys = _scaled(series.y, scale)
    trace: dict[str, Any] = {
        "type": "bar",
        "name": escape(series.name),
        "x": [x if isinstance(x, str) else f"{x:.6g}" for x in xs],
        "y": ys,
        "marker": {"color": style.colour, "line": {"width": 0}},
        "hovertemplate": _hover(scale, ["text"]),
    }
    if style.pattern:
        trace["marker"]["pattern"] = {
            "shape": style.pattern,
            "fillmode": "overlay",
            "fgopacity": 0.4,
            "solidity": 0.2,
            "size": 6,
        }
    low, high = _scaled(series.low, scale), _scaled(series.high, scale)
    if not stacked and len(low) == len(ys) and len(high) == len(ys):
        trace["error_y"] = {**_error_bars(ys, low, high, style), "color": theme.BOUND}
    return trace


def _room_for(figure: Chart, xs: Sequence[Any], scale: AxisScale) -> dict[str, Any]:
    """Return an invisible trace that extends the y axis to include the horizontal lines, which plotly does not do on
    its own."""
    return {
        "type": "scatter", "mode": "markers", "x": list(xs) * len(figure.rated), "hoverinfo": "skip", "opacity": 0,
        "y": _scaled([line.y for line in figure.rated], scale), "showlegend": False,
    }  # fmt: skip


def _horizontal_lines(figure: Chart, scale: AxisScale) -> dict[str, Any]:
    """Return a dashed line with a label for each rated value."""
    logarithmic = figure.y.scale in ("log2", "log10")
    shapes, notes = [], []
    for line in figure.rated:
        y = six_digits(line.y / scale.factor) or 0.0
        shapes.append(
            {
                "type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": y, "y1": y,
                "line": {"color": theme.BOUND, "width": 1.5, "dash": "dash"},
            }
        )  # fmt: skip
        notes.append(
            {
                "xref": "paper", "x": 1, "y": math.log10(y) if logarithmic else y, "text": escape(line.label),
                "showarrow": False, "xanchor": "right", "yanchor": "bottom",
            }
        )  # fmt: skip
    return {"shapes": shapes, "annotations": notes}


def _layout(figure: Chart, y_scale: AxisScale, styles: Sequence[_Style]) -> dict[str, Any]:
    ys = [value / y_scale.factor for series in figure.series for value in series.y if value is not None]
    ys += [line.y / y_scale.factor for line in figure.rated]
    layout: dict[str, Any] = {
        "xaxis": _x_axis(figure),
        "yaxis": _y_axis(figure.y, y_scale, ys),
        "margin": {"l": 56, "r": 16, "t": 16, "b": 48},
        "showlegend": len(styles) > 1,
        "legend": {
            "orientation": "h",
            "x": 0,
            "y": 1.02,
            "xanchor": "left",
            "yanchor": "bottom",
            "traceorder": "normal",
        },
        "hovermode": "x unified" if len(styles) > 1 else "closest",
    }
    if isinstance(figure, Bars):
        layout["barmode"] = "stack" if figure.stacked else "group"
        layout["bargap"] = 0.3
    elif figure.markers:
        lines, rows = _vertical_lines(figure)
        layout.update(lines)
        layout["margin"]["t"] = 14 + _ROW_PIXELS * rows + (30 if layout["showlegend"] else 0)
        layout["legend"].update({"yref": "container", "y": 1, "yanchor": "top"})
    for key, items in _horizontal_lines(figure, y_scale).items():
        if items:
            layout[key] = [*layout.get(key, ()), *items]
    return layout


def _y_axis(axis: Axis, scale: AxisScale, values: Sequence[float]) -> dict[str, Any]:
    title = escape(f"{axis.title} ({scale.unit})" if scale.unit else axis.title)
    positive = [value for value in values if value > 0]
    if axis.scale in ("log2", "log10") and positive:
        return {"title": {"text": title}, "type": "log", **_ticks(decade_ticks(min(positive), max(positive)))}
    return {"title": {"text": title}, "type": "linear", "rangemode": "tozero"}


def _x_axis(figure: Chart) -> dict[str, Any]:
    axis = figure.x
    named = axis.unit and axis.unit not in ("1", "B")
    title = {"text": escape(f"{axis.title} ({axis.unit})" if named else axis.title)}
    if isinstance(figure, Bars) or axis.scale == "category" or not _all_numbers(figure):
        return {"title": title, "type": "category"}
    values = [float(x) for series in figure.series for x in series.x]
    positive = [value for value in values if value > 0]
    if axis.scale == "linear" or not positive:
        return {"title": title, "type": "linear"}
    if axis.scale == "log10":
        return {"title": title, "type": "log", **_ticks(decade_ticks(min(positive), max(positive)))}
    label = size_label if axis.unit == "B" else None
    return {"title": title, "type": "log", **_ticks(power_ticks(min(positive), max(positive)), label)}


def _ticks(values: Sequence[float], label: Callable[[float], str] | None = None) -> dict[str, Any]:
    texts = [label(value) if label else f"{value:,.6g}" for value in values]
    return {"tickmode": "array", "tickvals": list(values), "ticktext": texts}


def _vertical_lines(figure: Line) -> tuple[dict[str, Any], int]:
    """Return shapes and labels for the bounds of levels (solid lines) and for hints such as cache sizes (dotted lines),
    and the number of label rows.

    The labels are above the plot, in as many rows as are needed to avoid overlaps.
    """
    logarithmic = figure.x.scale in ("log2", "log10")
    markers = sorted((m for m in figure.markers if m.x > 0 or not logarithmic), key=lambda m: (m.x, m.kind, m.label))
    rows = _label_rows(figure, markers, logarithmic)
    shapes, notes = [], []
    for marker, row in zip(markers, rows, strict=True):
        hint = marker.kind == "hint"
        shapes.append(
            {
                "type": "line", "x0": marker.x, "x1": marker.x, "yref": "paper", "y0": 0, "y1": 1, "layer": "below",
                "line": {"color": theme.BOUND, "width": 1 if hint else 1.5, "dash": "dot" if hint else "solid"},
            }
        )  # fmt: skip
        notes.append(
            {
                "x": math.log10(marker.x) if logarithmic else marker.x, "yref": "paper", "y": 1,
                "text": escape(marker.label), "showarrow": False, "xanchor": "left", "yanchor": "bottom",
                "xshift": -3, "yshift": _ROW_PIXELS * row,
            }
        )  # fmt: skip
    return {"shapes": shapes, "annotations": notes}, max(rows, default=-1) + 1


def _label_rows(figure: Line, markers: Sequence[Marker], logarithmic: bool) -> list[int]:
    place = math.log10 if logarithmic else float
    xs = [place(float(x)) for series in figure.series for x in series.x if isinstance(x, int | float) and x > 0]
    xs += [place(marker.x) for marker in markers]
    width = (max(xs) - min(xs) or 1.0) * _LABEL_WIDTH
    ends = [-math.inf] * _LABEL_ROWS
    rows = []
    for marker in markers:
        at = place(marker.x)
        row = next((number for number, end in enumerate(ends) if at >= end), ends.index(min(ends)))
        ends[row] = at + width * max(1.0, len(marker.label) / 7)
        rows.append(row)
    return rows
