"""Colors, markers and the two page templates, independent of plotly.

The hues are similar to those of Okabe and Ito ("Color Universal Design", 2008). Each is darkened for light backgrounds
and lightened for dark ones to a contrast of at least 3:1 (WCAG 2.2, 1.4.11), and by different amounts, so that people
with deuteranopia or protanopia can distinguish all eight.
"""

from __future__ import annotations

from typing import Any, Final

from asct.values.colours import VIRIDIS

LIGHT: Final = ("#0069a8", "#c65a00", "#387e57", "#9d5682", "#806f36", "#465fc8", "#af110f", "#50504f")
DARK: Final = ("#52a9ef", "#f99453", "#46cb92", "#d48fbd", "#eac13a", "#c2c0f4", "#fe817a", "#c9c8c7")
"""DARK[i] replaces LIGHT[i] on a dark background."""

MARKERS: Final = ("circle", "square", "diamond", "triangle-up", "x", "cross", "star", "hexagon")
DASHES: Final = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
PATTERNS: Final = ("", "/", ".", "\\", "x", "-", "|", "+")

BOUND: Final = "#5f6b7a"
BOUND_DARK: Final = "#9aa7b8"
"""The color of marker lines, rated values and bands, on light and on dark backgrounds. The color is gray, because these
lines and bands are not series."""

PAPER: Final = "#fefefe"
PAPER_DARK: Final = "#13171d"
INK: Final = "#1b222d"
INK_DARK: Final = "#e6eaf1"
BLANK: Final = "#e8ecf0"
BLANK_DARK: Final = "#2b333d"
"""Colors of heat maps: the rim and core of the lines between groups, and the color of cells without a value."""

FONT: Final = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", Ubuntu, Cantarell, sans-serif'


def translucent(colour_hex: str) -> str:
    """Return a translucent version of the color, for the band of an interval."""
    return colour_hex + "26"


def substitutions() -> dict[str, str]:
    """Return a mapping from each light color in the page to the dark color that replaces it."""
    greys = {BOUND: BOUND_DARK, PAPER: PAPER_DARK, INK: INK_DARK, BLANK: BLANK_DARK}
    return {**dict(zip(LIGHT, DARK, strict=True)), **greys}


def templates() -> dict[str, Any]:
    """Return the plotly templates `light` and `dark`, which all figures of a page share."""
    return {
        "light": _template("#1b222c", muted="#55606e", grid="#e3e7ec", line="#c3cad3", hover="#ffffff"),
        "dark": _template("#e6eaf0", muted="#a3afbf", grid="#2a323d", line="#3d4754", hover="#1d242d"),
    }


def _template(text: str, muted: str, grid: str, line: str, hover: str) -> dict[str, Any]:
    stops = [[number / (len(VIRIDIS) - 1), colour] for number, colour in enumerate(VIRIDIS)]
    axis = {
        "gridcolor": grid,
        "linecolor": line,
        "tickcolor": line,
        "zeroline": False,
        "showline": True,
        "ticks": "outside",
        "ticklen": 4,
        "automargin": True,
        "tickfont": {"color": muted, "size": 12},
        "title": {"font": {"color": muted, "size": 13}, "standoff": 10},
    }
    return {
        "data": {"heatmap": [{"colorscale": stops, "colorbar": {"tickfont": {"color": muted, "size": 12}}}]},
        "layout": {
            "font": {"family": FONT, "size": 13, "color": text},
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "hoverlabel": {"bgcolor": hover, "bordercolor": line, "font": {"color": text, "family": FONT, "size": 13}},
            "xaxis": {**axis, "showgrid": False},
            "yaxis": axis,
            "legend": {"bgcolor": "rgba(0,0,0,0)", "font": {"color": text, "size": 12}},
            "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": muted, "activecolor": text},
            "annotationdefaults": {"font": {"color": muted, "size": 11}},
        },
    }
