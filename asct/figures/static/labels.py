"""Convert the text, colors and lengths of a rendered figure for matplotlib."""

from __future__ import annotations

import html
import logging
import re
from collections.abc import Mapping
from typing import Any, Final

from asct.figures import theme

logging.getLogger("matplotlib").setLevel(logging.ERROR)  # hides the warning about a read-only home folder

PIXELS_PER_INCH: Final = 96.0
POINT: Final = 72 / PIXELS_PER_INCH
"""Points per CSS pixel. Figures specify lengths in pixels; matplotlib measures text and lines in points."""

STYLE: Final[Mapping[str, Any]] = theme.templates()["light"]["layout"]
"""The page fonts and colors in the light theme."""
HEAT: Final = theme.templates()["light"]["data"]["heatmap"][0]["colorscale"]
INK: Final[str] = STYLE["font"]["color"]
MUTED: Final[str] = STYLE["yaxis"]["tickfont"]["color"]
SMALL: Final = 12
"""Font size of tick labels, legends and captions, in pixels."""

HALO: Final[dict[str, Any]] = {"facecolor": (1.0, 1.0, 1.0, 0.7), "linewidth": 0, "boxstyle": "square,pad=0.1"}
"""The background of text that may overlap a line."""
_LONGEST: Final = 40

_TAG: Final = re.compile(r"</?[a-z][^<>]*>")
_RGBA: Final = re.compile(r"rgba\((\d+), *(\d+), *(\d+), *([\d.]+)\)")

_SPAN: Final = re.compile(r'<span style="color:(#[0-9a-f]{6})">')
_PARTS: Final = re.compile(r"(<span.*?</span>)")

Color = str | tuple[float, float, float, float]


def plain(text: object) -> str:
    """Return a label's text without plotly markup. Escaped markup is kept as text."""
    return html.unescape(_TAG.sub("", str(text).replace("<br>", "\n")))


def shortened(text: str) -> str:
    """Return the text of a tick label, truncating a very long name."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def coloured(text: str) -> list[list[tuple[str, dict[str, Color]]]]:
    """Return the lines of a label as parts, each with the color that the label specifies for it, if any."""
    return [
        [
            (plain(part), {"color": found[1]} if (found := _SPAN.match(part)) else {})
            for part in _PARTS.split(line)
            if part
        ]
        for line in text.split("<br>")
    ]


def colour(name: str) -> Color:
    """Convert a color: `#rrggbb` with or without opacity, or `rgba(r, g, b, opacity)`."""
    found = _RGBA.fullmatch(name)
    if found is None:
        return name
    red, green, blue = (int(part) / 255 for part in found.group(1, 2, 3))
    return red, green, blue, float(found[4])
