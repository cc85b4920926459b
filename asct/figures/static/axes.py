"""The axes of a plot: scales, titles, ticks whose labels do not overlap, and lines and labels beside the data."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis, XAxis
from matplotlib.lines import Line2D
from matplotlib.offsetbox import AnnotationBbox, HPacker, TextArea, VPacker
from matplotlib.patches import Rectangle
from matplotlib.ticker import FixedLocator, NullLocator
from matplotlib.transforms import Transform, blended_transform_factory

from asct.figures.static.labels import HALO, MUTED, POINT, SMALL, STYLE, colour, coloured, plain, shortened
from asct.figures.static.marks import DASHES, Projection

_CLOSEST: Final = 6
"""Minimum distance between two tick labels, in pixels."""
_SLANTED: Final[Mapping[str, Any]] = {"rotation": 35, "va": "top"}
_UPRIGHT: Final[Mapping[str, Any]] = {"rotation": 90, "va": "center"}
"""The styles of tick labels that do not fit side by side."""
_MOST_NAMES: Final = 48
"""Maximum number of names on a category axis, because drawing names is slow."""
_LINE: Final = 15
"""Height of a line of tick labels, in pixels."""
_EDGES: Final = {"top": "top", "middle": "center", "bottom": "bottom"}
_GAPS: Final = {"bottom": 2, "top": -2}
"""Distance, in pixels, between a label and the line below or above it."""
_SHARES: Final = {"left": 0.0, "center": 0.5, "right": 1.0, "bottom": 0.0, "top": 1.0}


def place_on(axis: Mapping[str, Any], names: Sequence[Any]) -> Projection:
    """Return the function that converts values to positions on an axis. On a category axis, `names` contains the values
    in order.

    The position of a missing value is NaN.
    """
    if axis.get("type") != "category":
        return lambda value: math.nan if value is None else float(value)
    order = {name: float(number) for number, name in enumerate(names)}
    return lambda name: order[name]


def style_axes(axes: Axes) -> None:
    """Apply the colors of the page to the axes."""
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(STYLE[f"{'y' if side == 'left' else 'x'}axis"]["linecolor"])
    axes.set_axisbelow(True)
    axes.patch.set_visible(False)
    axes.tick_params(colors=MUTED, labelsize=SMALL * POINT, length=4 * POINT, color=STYLE["xaxis"]["tickcolor"])
    axes.grid(axis="y", color=STYLE["yaxis"]["gridcolor"], linewidth=POINT)


def finish_axis(axis: Axis, spec: Mapping[str, Any], names: Sequence[Any]) -> None:
    """Set the title, the range and the ticks of an axis after its data has been drawn.

    `names` contains the names on a category axis in order.
    """
    axis.set_label_text(plain(spec.get("title", {}).get("text", "")), color=MUTED, fontsize=(SMALL + 1) * POINT)
    axis.labelpad = 8 * POINT
    axis.set_minor_locator(NullLocator())
    if spec["type"] == "category":
        every = math.ceil(len(names) / _MOST_NAMES) or 1
        places, texts = range(0, len(names), every), names[::every]
        ends = (-0.5, max(len(names), 1) - 0.5)
    else:
        places, texts = spec["tickvals"], spec["ticktext"]
        low, high = spec["range"]
        ends = (10.0**low, 10.0**high) if spec["type"] == "log" else (low, high)
    axis.set_major_locator(FixedLocator(list(places)))
    axis.set_ticklabels([shortened(plain(text)) for text in texts])
    if not spec.get("showticklabels", True):
        axis.set_tick_params(labelbottom=False, labelleft=False, length=0)
    (axis.axes.set_xlim if isinstance(axis, XAxis) else axis.axes.set_ylim)(
        ends[::-1] if spec.get("autorange") == "reversed" else ends
    )


def separate_labels(axis: Axis, spec: Mapping[str, Any], every: bool) -> None:
    """Hide tick labels that would overlap others. Category names and, if `every` is true, the values on the x axis are
    slanted first.

    If category names still overlap, only every second, third, ... name is shown.
    """
    labels = [label for label in axis.get_ticklabels() if label.get_text()]
    boxes = [label.get_window_extent() for label in labels]
    level = isinstance(axis, XAxis)
    middles = [(box.x0 + box.x1 if level else box.y0 + box.y1) / 2 for box in boxes]
    sizes = [box.width + _CLOSEST if level else box.height for box in boxes]
    visible = _fitting(middles, sizes)
    if len(visible) == len(labels):
        return
    category = spec["type"] == "category"
    step = max(1.0, min(abs(after - before) for before, after in pairwise(middles)))
    if level and "tickangle" not in spec and (category or every):
        turned = _SLANTED if step >= 2 * _LINE else _UPRIGHT
        for label in labels:
            label.set(ha="right", rotation_mode="anchor", **turned)
        sizes = [_LINE] * len(labels)
        visible = _fitting(middles, sizes)
    if category:
        visible = list(range(0, len(labels), math.ceil(max(sizes) / step)))
    for number, label in enumerate(labels):
        label.set_visible(number in visible)


def _fitting(middles: Sequence[float], sizes: Sequence[float]) -> list[int]:
    """Return the indices of the intervals that do not overlap the previous interval in the result."""
    indices: list[int] = []
    for number, (middle, size) in enumerate(zip(middles, sizes, strict=True)):
        if not indices or abs(middle - middles[indices[-1]]) >= (size + sizes[indices[-1]]) / 2:
            indices.append(number)
    return indices


def draw_beside(layout: Mapping[str, Any], plots: Mapping[str, Axes], paper: Axes) -> None:
    """Draw the lines, areas and labels that have fixed positions and do not belong to a series.

    `plots` maps the names of x and y axes, such as `x2` and `y2`, to their plots. Positions that do not refer to an
    axis are fractions of `paper`, the rectangle around all plots. Raises ValueError for a shape that cannot be drawn.
    """
    for shape in layout.get("shapes", ()):
        frame = _Frame.of(shape, plots, paper)
        xs, ys = (shape["x0"], shape["x1"]), (shape["y0"], shape["y1"])
        line = shape.get("line", {})
        style: dict[str, Any] = {"transform": frame.transform, "zorder": 0.9 if shape.get("layer") == "below" else 2.5}
        style |= {"linewidth": line.get("width", 1) * POINT, "clip_on": False}
        if shape["type"] == "line":
            color, dash = colour(line["color"]), DASHES[line.get("dash", "solid")]
            frame.axes.add_artist(Line2D(xs, ys, color=color, linestyle=dash, **style))
        elif shape["type"] == "rect":
            corner, size = (xs[0], ys[0]), (xs[1] - xs[0], ys[1] - ys[0])
            frame.axes.add_artist(Rectangle(corner, *size, facecolor=colour(shape["fillcolor"]), **style))
        else:
            raise ValueError(f"pictures do not support the shape `{shape['type']}`")
    for note in layout.get("annotations", ()):
        _label(note, _Frame.of(note, plots, paper))


class _Frame(NamedTuple):
    """The coordinates of a shape or label. `in_data` states for x and y whether the number is a value on that axis."""

    axes: Axes
    transform: Transform
    in_data: tuple[bool, bool]

    @classmethod
    def of(cls, item: Mapping[str, Any], plots: Mapping[str, Axes], paper: Axes) -> _Frame:
        """Return the frame that an item's coordinates refer to: an axis, a part of its domain, or a part of the
        paper."""
        refs = item.get("xref", "x"), item.get("yref", "y")
        names = [ref.removesuffix(" domain") for ref in refs]
        axes = next((plots[name] for name in names if name in plots), paper)
        whole = [paper.transAxes if name == "paper" else axes.transAxes for name in names]
        across, up = (axes.transData if ref in plots else part for ref, part in zip(refs, whole, strict=True))
        return cls(axes, blended_transform_factory(across, up), (refs[0] in plots, refs[1] in plots))


def _label(note: Mapping[str, Any], frame: _Frame) -> None:
    scales = frame.axes.get_xscale(), frame.axes.get_yscale()
    x, y = (
        # On a logarithmic axis, plotly expects the positions of labels, and only these, as exponents.
        10.0 ** note[name] if scale == "log" and in_data else note[name]
        for name, scale, in_data in zip("xy", scales, frame.in_data, strict=True)
    )
    font = {**STYLE["annotationdefaults"]["font"], **note.get("font", {})}
    style: dict[str, Any] = {"fontsize": font["size"] * POINT, "color": colour(font["color"])}
    sides = note.get("xanchor", "center"), _EDGES[note.get("yanchor", "middle")]
    gap = _GAPS.get(note.get("yanchor", "middle"), 0)
    shift = note.get("xshift", 0) * POINT, (note.get("yshift", 0) + gap) * POINT
    place: dict[str, Any] = {"xycoords": frame.transform, "annotation_clip": False}
    if "<span" in note["text"]:
        lines: list[Artist] = [
            HPacker(pad=0, sep=0, children=[TextArea(text, textprops={**style, **own}) for text, own in parts])
            for parts in coloured(note["text"])
        ]
        packed = VPacker(pad=0, sep=2 * POINT, align="left", children=lines)
        style = {"boxcoords": "offset points", "box_alignment": (_SHARES[sides[0]], _SHARES[sides[1]]), "pad": 0}
        frame.axes.add_artist(AnnotationBbox(packed, (x, y), shift, frameon=False, **style, **place))
        return
    frame.axes.annotate(
        plain(note["text"]), (x, y), shift, textcoords="offset points", ha=sides[0], va=sides[1],
        rotation=-note.get("textangle", 0), bbox=HALO, **place, **style,
    )  # fmt: skip
