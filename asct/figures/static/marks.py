"""Lines, points, intervals and bars: the traces of a rendered figure as matplotlib artists."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Polygon, Rectangle

from asct.figures.static.labels import HALO, INK, POINT, colour, plain

Projection = Callable[[Any], float]
"""Converts a value on an axis to a coordinate."""

DASHES: Final[Mapping[str, Any]] = {
    "solid": "-", "dash": (0, (5, 3)), "dot": (0, (1.2, 2)), "dashdot": (0, (5, 2, 1.2, 2)), "longdash": (0, (9, 3)),
    "longdashdot": (0, (9, 2, 1.2, 2)),
}  # fmt: skip
_SYMBOLS: Final = {
    "circle": "o", "square": "s", "diamond": "D", "triangle-up": "^", "triangle-down": "v", "x": "X", "cross": "P",
    "star": "*", "hexagon": "h", "line-ew": "_",
}  # fmt: skip
_HATCHES: Final = {"": "", "/": "//", ".": "..", "\\": "\\\\", "x": "xx", "-": "--", "|": "||", "+": "++"}
_OPEN: Final = "-open"
_SIDES: Final = {"left": "right", "center": "center", "right": "left", "top": "bottom", "middle": "center",
                 "bottom": "top"}  # fmt: skip
"""Maps the side of a mark on which text is placed to the text alignment."""
_SHIFTS: Final = {"left": -4.0, "bottom": -4.0, "right": 4.0, "top": 4.0}
"""Distances, in points, between a mark and the text on this side of it."""


def draw_scatter(
    axes: Axes, trace: Mapping[str, Any], place: tuple[Projection, Projection], shift: float = 0.0
) -> None:
    """Draw a line with or without marks, marks alone, or the band of an interval, all shifted by `shift` along the x
    axis.

    Raises ValueError for any other kind of trace.
    """
    xs, ys = ([at(value) for value in trace[name]] for name, at in zip("xy", place, strict=True))
    xs = [x + shift for x in xs]
    if trace.get("fill", "none") == "toself":
        # The limits of the axes are already set. Unlike `add_patch`, `add_artist` does not update them for every point.
        axes.add_artist(Polygon(list(zip(xs, ys, strict=True)), facecolor=colour(trace["fillcolor"]), linewidth=0))
    elif "fill" in trace:
        raise ValueError(f"pictures do not support the fill `{trace['fill']}`")
    else:
        axes.add_line(Line2D(xs, ys, clip_on=False, **line_style(trace)))
        if "error_y" in trace:
            _intervals(axes, xs, ys, trace["error_y"])
        if "text" in trace["mode"].split("+"):
            _texts(axes, trace, xs, ys)


def line_style(trace: Mapping[str, Any]) -> dict[str, Any]:
    """Return the style of a line and its marks as arguments of `Line2D`."""
    modes = trace["mode"].split("+")
    line, marker = trace.get("line", {}), trace.get("marker", {})
    hue = colour(line.get("color") or marker["color"])
    style: dict[str, Any] = {"color": hue, "linestyle": "none", "alpha": trace.get("opacity", marker.get("opacity"))}
    if "lines" in modes and line.get("width", 2) > 0:
        style.update(linestyle=DASHES[line.get("dash", "solid")], linewidth=line.get("width", 2) * POINT)
    if "markers" in modes:
        symbol = marker.get("symbol", "circle")
        fill = colour(marker.get("color", line.get("color")))
        style.update(
            marker=_SYMBOLS[symbol.removesuffix(_OPEN)],
            markersize=marker.get("size", 6) * POINT,
            markerfacecolor="none" if symbol.endswith(_OPEN) else fill,
            markeredgecolor=fill,
            markeredgewidth=marker.get("line", {}).get("width", 1) * POINT if symbol.endswith(_OPEN) else 0,
        )
    return style


def _intervals(axes: Axes, xs: Sequence[float], ys: Sequence[float], bars: Mapping[str, Any]) -> None:
    """Draw the intervals as one line with gaps, which is much faster than one artist per interval."""
    found: list[tuple[float, float]] = []
    for x, y, down, up in zip(xs, ys, bars["arrayminus"], bars["array"], strict=True):
        if math.isfinite(y) and (down or up):
            found += [(x, y - down), (x, y + up), (x, math.nan)]
    width = bars["thickness"] * POINT
    caps: dict[str, Any] = {"marker": "_", "markersize": 2 * bars["width"] * POINT, "markeredgewidth": width}
    axes.add_line(
        Line2D([x for x, _ in found], [y for _, y in found], color=colour(bars["color"]), linewidth=width, **caps)
    )


def _texts(axes: Axes, trace: Mapping[str, Any], xs: Sequence[float], ys: Sequence[float]) -> None:
    for text, x, y, position in zip(trace["text"], xs, ys, trace["textposition"], strict=True):
        if not text or not math.isfinite(y):
            continue
        up, side = position.split()
        shift = (_SHIFTS.get(side, 0.0), _SHIFTS.get(up, 0.0))
        axes.annotate(
            plain(text), (x, y), shift, textcoords="offset points", ha=_SIDES[side], va=_SIDES[up], bbox=HALO,
            fontsize=trace["textfont"]["size"] * POINT, color=INK, annotation_clip=False,
        )  # fmt: skip


def group_shifts(traces: Sequence[Mapping[str, Any]], layout: Mapping[str, Any]) -> dict[str, float]:
    """Return the shift along the x axis of each `offsetgroup` of bars and marks, so that groups are side by side."""
    groups = dict.fromkeys(trace["offsetgroup"] for trace in traces if "offsetgroup" in trace)
    room = _bar_room(layout)
    return {group: room * ((number + 0.5) / len(groups) - 0.5) for number, group in enumerate(groups)}


def _bar_room(layout: Mapping[str, Any]) -> float:
    """Return the width of a group of bars, relative to the distance between two groups."""
    return float(1 - layout.get("bargap", 0.2))


def draw_bars(
    axes: Axes,
    traces: Sequence[Mapping[str, Any]],
    place: tuple[Projection, Projection],
    layout: Mapping[str, Any],
    shifts: Mapping[str, float],
) -> None:
    """Draw all bar traces of a plot, stacked or shifted by the shift of their group."""
    width = _bar_room(layout) / max(1, len(shifts))
    floors: dict[float, float] = {}
    for trace in traces:
        shift = shifts.get(trace.get("offsetgroup", ""), 0.0)
        xs, ys = ([at(value) for value in trace[name]] for name, at in zip("xy", place, strict=True))
        heights = [y if math.isfinite(y) else 0.0 for y in ys]
        floor = [0.0 if shifts else floors.get(x, 0.0) for x in xs]
        axes.bar([x + shift for x in xs], heights, width, floor, **bar_style(trace))
        floors.update({x: low + height for x, low, height in zip(xs, floor, heights, strict=True)})
        if "error_y" in trace:
            _intervals(axes, [x + shift for x in xs], ys, trace["error_y"])


def bar_style(trace: Mapping[str, Any]) -> dict[str, Any]:
    """Return the style of a bar as arguments of `Rectangle`."""
    marker = trace["marker"]
    hatch = _HATCHES[marker.get("pattern", {}).get("shape", "")]
    return {"facecolor": colour(marker["color"]), "edgecolor": (1, 1, 1, 0.5), "linewidth": 0, "hatch": hatch}


def key_of(trace: Mapping[str, Any], left: float, middle: float, size: tuple[float, float]) -> Artist:
    """Return a trace's sample for the legend. It begins at `left` and is vertically centered at `middle`."""
    width, height = size
    if trace["type"] == "bar":
        return Rectangle((left, middle - height / 2), width, height, **bar_style(trace))
    style = line_style(trace)
    return Line2D([left, left + width / 2, left + width], [middle] * 3, markevery=[1], **style)
