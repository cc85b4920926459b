"""Heat maps with a color bar beside them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from matplotlib.axes import Axes
from matplotlib.colors import Colormap, LinearSegmentedColormap, Normalize, to_rgb
from matplotlib.ticker import FixedLocator
from numpy import array, ma

from asct.figures.scale import significant
from asct.figures.static.labels import HEAT, MUTED, POINT, SMALL, colour, plain

_BRIGHT: Final = 0.55
"""Luma above which a cell is so bright that its number is drawn in a dark color."""


def draw_heatmap(axes: Axes, bar: Axes, trace: Mapping[str, Any], blank: str) -> None:
    """Draw the cells, with numbers if the page shows them, and the color scale in `bar`.

    Cells without a value are drawn in the color `blank`.
    """
    cells = [[math.nan if value is None else value for value in row] for row in trace["z"]]
    values = ma.masked_invalid(array(cells, dtype=float))
    stops = [(place, colour(name)) for place, name in trace.get("colorscale", HEAT)]
    scale = LinearSegmentedColormap.from_list("values", stops).with_extremes(bad=colour(blank))
    ends = Normalize(trace["zmin"], trace["zmax"])
    axes.imshow(values, cmap=scale, norm=ends, aspect="auto", interpolation="nearest", origin="upper")
    rows, columns = values.shape
    if trace.get("xgap"):
        for middle in range(1, columns):
            axes.axvline(middle - 0.5, color="white", linewidth=trace["xgap"] * POINT)
        for middle in range(1, rows):
            axes.axhline(middle - 0.5, color="white", linewidth=trace["ygap"] * POINT)
    if "texttemplate" in trace:
        form = trace["texttemplate"].removeprefix("%{z:").removesuffix("}")
        texts = trace.get("text")  # only set if the matrix is logarithmic, because `z` then contains logarithms
        for row, line in enumerate(cells):
            for column, value in enumerate(line):
                if math.isfinite(value):
                    red, green, blue = to_rgb(scale(ends(value)))
                    bright = 0.299 * red + 0.587 * green + 0.114 * blue > _BRIGHT
                    style: dict[str, Any] = {"color": "black" if bright else "white", "fontsize": (SMALL + 1) * POINT}
                    text = f"{value:{form}}" if form.endswith("f") else significant(value)
                    number = text if texts is None else texts[row][column]
                    axes.text(column, row, number, ha="center", va="center", **style)
    _colour_bar(bar, scale, ends, trace["colorbar"])


def _colour_bar(axes: Axes, scale: Colormap, ends: Normalize, ticks: Mapping[str, Any]) -> None:
    shades = array([[number / 255] for number in range(256)])
    extent = (0.0, 1.0, float(ends.vmin or 0.0), float(ends.vmax or 0.0))
    axes.imshow(shades, cmap=scale, aspect="auto", origin="lower", extent=extent)
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.xaxis.set_visible(False)
    axes.yaxis.tick_right()
    axes.yaxis.set_label_position("right")
    title = plain(ticks.get("title", {}).get("text", "")).removeprefix(", ")
    axes.set_ylabel(title, color=MUTED, fontsize=SMALL * POINT)
    axes.yaxis.set_major_locator(FixedLocator(list(ticks["tickvals"])))
    axes.yaxis.set_ticklabels([plain(text) for text in ticks["ticktext"]])
    axes.tick_params(colors=MUTED, labelsize=SMALL * POINT, length=4 * POINT)
