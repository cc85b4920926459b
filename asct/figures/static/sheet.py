"""The sheet of a picture: its size, the heading with title, caption and legend, and the space for the plot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from asct.figures.static.labels import INK, MUTED, PIXELS_PER_INCH, POINT, SMALL, plain
from asct.figures.static.marks import key_of
from asct.values.text import printable, wrapped_lines

_WIDTH: Final = 960
_PLOT_HEIGHT: Final = 420
_SQUARE_WIDTH: Final = 760
_SQUARE_HEIGHT: Final = 640
_SQUARE_LEAST: Final = 220
_SQUARE_ROW: Final = 60
"""Sizes, in pixels, of a sheet with a square matrix: the width of the sheet, and the height of the space for the plot
(the maximum, the height without rows, and the height added by each row)."""
_MARGIN: Final = 20
_TITLE: Final = 17
_SMALLEST: Final = 10
_FOOT: Final = 12
"""Sizes, in pixels: the font size of the title, the font size of the source line at the bottom, and the distance
between that line and the edge."""
_LEADING: Final = 1.4
"""Height of a line, relative to the font size."""
_GLYPH: Final = 0.57
"""Mean width of a DejaVu Sans letter, relative to the font size."""
_KEY: Final = 28
"""Width of a series' sample in the legend, in pixels."""
_GAP: Final = 24
_PANELS: Final = 0.85
"""Fraction of the width from which the number of panel columns is derived. The letters of DejaVu Sans are wider than
those of the page, and the keys above the panels need space."""


class Sheet:
    """A white sheet with the heading of one figure. `room` is the rectangle below the heading, in pixels from the lower
    left corner of the sheet, and `square` states whether the plot is a square matrix."""

    def __init__(self, title: str, caption: str, source: str, spec: Mapping[str, Any]) -> None:
        self.title = printable(title)
        self.square = any(t["type"] == "heatmap" and t["x"] == t["y"] for t in spec["data"])
        self.width: float = _SQUARE_WIDTH if self.square else _WIDTH
        heading = _wrapped(self.title, self.width - 2 * _MARGIN, _TITLE * 1.12, 2)
        remarks = _wrapped(printable(caption), self.width - 2 * _MARGIN, SMALL, 4)
        traces = [trace for trace in spec["data"] if trace.get("showlegend")]
        rows = _legend_rows(traces, self.width - 2 * _MARGIN)
        above = _TITLE * len(heading) + SMALL * len(remarks) + SMALL * 1.1 * len(rows)
        self.height = (
            _MARGIN + _FOOT + _SMALLEST * 2 + 16 + above * _LEADING + _plot_height(spec, self.width, self.square)
        )
        size = self.width / PIXELS_PER_INCH, self.height / PIXELS_PER_INCH
        self.figure = Figure(figsize=size, dpi=PIXELS_PER_INCH, facecolor="white")
        FigureCanvasAgg(self.figure)
        top = self._lines(heading, self.height - _MARGIN, _TITLE, color=INK, fontweight="bold")
        top = self._lines(remarks, top, SMALL, color=MUTED) - 8
        self.text(_MARGIN, _FOOT, printable(source), fontsize=_SMALLEST * POINT, color=MUTED)
        below = self._legend(rows, top) - 8
        self.room = Bbox.from_extents(_MARGIN, _FOOT + _SMALLEST * 2, self.width - _MARGIN, below)

    def _lines(self, lines: Sequence[str], top: float, size: float, **style: Any) -> float:
        for line in lines:
            top -= size * _LEADING
            self.text(_MARGIN, top + size * (_LEADING - 1), line, fontsize=size * POINT, **style)
        return top

    def text(self, x: float, y: float, text: str, **style: Any) -> None:
        """Write a line of text that begins at the pixel (x, y)."""
        self.figure.text(x / self.width, y / self.height, text, **style)

    def _legend(self, rows: Sequence[Sequence[tuple[float, Mapping[str, Any]]]], top: float) -> float:
        size = (_KEY / self.width, 10 / self.height)
        for row in rows:
            top -= SMALL * 1.1 * _LEADING
            for left, trace in row:
                x = _MARGIN + left
                self.figure.add_artist(key_of(trace, x / self.width, (top + SMALL / 2) / self.height, size))
                style = {"fontsize": SMALL * POINT, "color": INK, "va": "center"}
                self.text(x + _KEY + 6, top + SMALL / 2, plain(trace["name"]), **style)
        return top


def _plot_height(spec: Mapping[str, Any], width: float, square: bool) -> float:
    """Return the height available for the plot. For a square matrix, the height depends on the number of rows. Other
    figures have the same height as on the page, but at least `_PLOT_HEIGHT`."""
    if square:
        return min(_SQUARE_HEIGHT, _SQUARE_LEAST + _SQUARE_ROW * len(spec["data"][0]["y"]))
    return max(_PLOT_HEIGHT, float(layout_for(spec["layout"], width).get("height", 0)))


def layout_for(layout: Mapping[str, Any], width: float) -> Mapping[str, Any]:
    """Return the layout for a sheet of this width, which determines the number of panel columns."""
    grids = [grid for grid in layout.get("meta", {}).get("grids", ()) if grid["from"] <= width * _PANELS]
    if not grids:
        return layout
    grid = max(grids, key=lambda grid: grid["from"])
    return {**layout, "height": grid["height"], **{name: {**layout[name], **own} for name, own in grid["axes"].items()}}


def _wrapped(text: str, pixels: float, size: float, most: int) -> list[str]:
    return wrapped_lines(text, int(pixels / (size * _GLYPH)), max_lines=most, placeholder=" …")


def _legend_rows(traces: Sequence[Mapping[str, Any]], pixels: float) -> list[list[tuple[float, Mapping[str, Any]]]]:
    """Return the entries of the legend in rows, each with its distance from the left edge."""
    rows: list[list[tuple[float, Mapping[str, Any]]]] = []
    left = pixels
    for trace in traces:
        wide = _KEY + 6 + len(plain(trace["name"])) * SMALL * _GLYPH + _GAP
        if left + wide - _GAP > pixels:
            rows.append([])
            left = 0.0
        rows[-1].append((left, trace))
        left += wide
    return rows
