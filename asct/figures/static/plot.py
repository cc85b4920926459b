"""The plots of a picture: one or several pairs of axes, and their positions on the sheet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from matplotlib.axes import Axes
from matplotlib.transforms import Bbox

from asct.figures.labels import label_rows
from asct.figures.layout import ROW
from asct.figures.static.axes import draw_beside, finish_axis, place_on, separate_labels, style_axes
from asct.figures.static.heat import draw_heatmap
from asct.figures.static.labels import plain
from asct.figures.static.marks import draw_bars, draw_scatter, group_shifts
from asct.figures.static.sheet import Sheet, layout_for

_BAR_WIDTH: Final = 14
"""Width of a color bar, in pixels."""
_BAR_GAP: Final = 18
_SHARE: Final = 0.85
"""Minimum width of the plot area, as a fraction of the sheet width."""


class _Plot(NamedTuple):
    """One pair of axes: their names in the layout (`x2`, `y2`), and the part of the plot area that they fill."""

    axes: Axes
    names: tuple[str, str]
    x: Sequence[float]
    y: Sequence[float]


def draw_plot(sheet: Sheet, spec: Mapping[str, Any]) -> None:
    """Draw the traces, axes, shapes and labels of a figure below the heading. Raises ValueError for a trace that cannot
    be drawn."""
    layout, data = layout_for(spec["layout"], sheet.width), spec["data"]
    if unknown := {trace["type"] for trace in data} - {"bar", "heatmap", "scatter"}:
        raise ValueError(f"pictures do not support traces of the type {', '.join(sorted(unknown))}")
    paper = sheet.figure.add_axes((0.0, 0.0, 1.0, 1.0), frameon=False, zorder=3)
    paper.xaxis.set_visible(False)
    paper.yaxis.set_visible(False)
    pairs = dict.fromkeys((trace.get("xaxis", "x"), trace.get("yaxis", "y")) for trace in data) or {("x", "y"): None}
    plots = [_plot(sheet, layout, pair) for pair in pairs]
    bar = sheet.figure.add_axes((0.0, 0.0, 1.0, 1.0)) if any(t["type"] == "heatmap" for t in data) else None
    for plot in plots:
        _draw_traces(plot, [t for t in data if (t.get("xaxis", "x"), t.get("yaxis", "y")) == plot.names], layout, bar)
    draw_beside(
        _restacked(layout, sheet.width), {name: plot.axes for plot in reversed(plots) for name in plot.names}, paper
    )
    _fit(sheet, plots, paper, bar, layout)


def _plot(sheet: Sheet, layout: Mapping[str, Any], pair: tuple[str, str]) -> _Plot:
    axes = sheet.figure.add_axes((0.0, 0.0, 1.0, 1.0), label=" ".join(pair))
    style_axes(axes)
    x, y = (_axis_of(layout, name) for name in pair)
    return _Plot(axes, pair, x.get("domain", (0, 1)), y.get("domain", (0, 1)))


def _axis_of(layout: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return the description of an axis, such as `x2`."""
    found: Mapping[str, Any] = layout[f"{name[0]}axis{name[1:]}"]
    return found


def _draw_traces(plot: _Plot, traces: Sequence[Mapping[str, Any]], layout: Mapping[str, Any], bar: Axes | None) -> None:
    axes = plot.axes
    x, y = (_axis_of(layout, name) for name in plot.names)
    names = [_names(axis, traces, side) for axis, side in ((x, "x"), (y, "y"))]
    places = place_on(x, names[0]), place_on(y, names[1])
    for axis, set_scale in ((x, axes.set_xscale), (y, axes.set_yscale)):
        if axis.get("type") == "log":
            set_scale("log")
    shifts = group_shifts(traces, layout)
    draw_bars(axes, [trace for trace in traces if trace["type"] == "bar"], places, layout, shifts)
    for trace in traces:
        if trace["type"] == "scatter":
            draw_scatter(axes, trace, places, shifts.get(trace.get("offsetgroup", ""), 0.0))
        elif trace["type"] == "heatmap" and bar is not None:
            draw_heatmap(axes, bar, trace, layout.get("plot_bgcolor", "white"))
            axes.grid(visible=False)
    finish_axis(axes.xaxis, x, names[0])
    finish_axis(axes.yaxis, y, names[1])


def _names(axis: Mapping[str, Any], traces: Sequence[Mapping[str, Any]], side: str) -> list[Any]:
    """Return the names on a category axis in order. The names of a matrix may repeat."""
    values = [value for trace in traces for value in trace[side]]
    if any(trace["type"] == "heatmap" for trace in traces):
        return values
    return list(dict.fromkeys((*axis.get("categoryarray", ()), *values)))


def _restacked(layout: Mapping[str, Any], width: float) -> Mapping[str, Any]:
    """Return the layout with the labels of vertical lines in as few rows as the sheet width permits."""
    notes = layout.get("annotations", [])
    marked = [note for note in notes if note.get("name") == "marker"]
    if not marked:
        return layout
    low, high = layout["xaxis"]["range"]
    places = [(note["x"] - low) / (high - low) * width * _SHARE for note in marked]
    rows = label_rows(places, [plain(note["text"]) for note in marked])
    stacked = [{**note, "yshift": ROW * row} for note, row in zip(marked, rows, strict=True)]
    return {**layout, "annotations": [*stacked, *(note for note in notes if note not in marked)]}


def _fit(sheet: Sheet, plots: Sequence[_Plot], paper: Axes, bar: Axes | None, layout: Mapping[str, Any]) -> None:
    """Place the plots so that they fill the available space on the sheet, including their titles, tick labels and other
    labels."""
    room = sheet.room
    _place(sheet, plots, paper, bar, room)
    for plot in plots:
        for axis, name in zip((plot.axes.xaxis, plot.axes.yaxis), plot.names, strict=True):
            separate_labels(axis, _axis_of(layout, name), layout.get("meta", {}).get("every", False))
    everything = [plot.axes for plot in plots] + [paper] + ([bar] if bar else [])
    boxes = [box for axes in everything if (box := axes.get_tightbbox()) is not None]
    extent = Bbox.union(boxes)
    area = Bbox.from_extents(
        room.x0 + max(0.0, room.x0 - extent.x0),
        room.y0 + max(0.0, room.y0 - extent.y0),
        room.x1 - max(0.0, extent.x1 - room.x1),
        room.y1 - max(0.0, extent.y1 - room.y1),
    )
    if sheet.square:
        side = min(area.width, area.height)
        area = Bbox.from_extents(area.x0, area.y1 - side, area.x0 + side, area.y1)
    _place(sheet, plots, paper, bar, area)


def _place(sheet: Sheet, plots: Sequence[_Plot], paper: Axes, bar: Axes | None, area: Bbox) -> None:
    def put(axes: Axes, x: Sequence[float], y: Sequence[float]) -> None:
        axes.set_position(
            (
                (area.x0 + x[0] * area.width) / sheet.width,
                (area.y0 + y[0] * area.height) / sheet.height,
                (x[1] - x[0]) * area.width / sheet.width,
                (y[1] - y[0]) * area.height / sheet.height,
            )
        )

    put(paper, (0, 1), (0, 1))
    for plot in plots:
        put(plot.axes, plot.x, plot.y)
    if bar is not None:
        put(bar, (1 + _BAR_GAP / area.width, 1 + (_BAR_GAP + _BAR_WIDTH) / area.width), (0, 1))
