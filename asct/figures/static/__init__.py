"""Draw figures as PNG and SVG images with matplotlib; no browser is needed.

The input is the JSON that `figures/render.py` returns for the page. The pictures therefore follow the same rules for
colors, marks, ticks, units and labels; this package only arranges the parts on the sheet. Only this package imports
matplotlib. It needs neither pyplot nor system fonts: DejaVu Sans is part of matplotlib. System fonts are used only for
characters that DejaVu Sans lacks.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Mapping
from typing import Any, Final

import matplotlib

from asct.figures.static.fonts import DEJAVU, fonts_for, lacking, texts_of, with_codes
from asct.figures.static.labels import PIXELS_PER_INCH
from asct.figures.static.plot import draw_plot
from asct.figures.static.sheet import Sheet

_SHARPNESS: Final = 1.5
"""Number of PNG pixels per CSS pixel."""
_SETTINGS: Final[dict[Any, Any]] = {
    "font.family": ["sans-serif"],
    "text.parse_math": False,  # keeps matplotlib from reading dollar signs in names as TeX
    "svg.fonttype": "none",  # keeps text as text, so that it can be searched and selected
    "svg.hashsalt": "asct",  # makes ids reproducible; without a salt, they are random
    "hatch.linewidth": 0.8,
}
_OMITTED: Final[Mapping[str, Mapping[str, Any]]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None, "Format": None, "Type": None},
}
"""Metadata that matplotlib would add to a file and that depends on the date or the version."""


def picture(spec: Mapping[str, Any], title: str, caption: str, source: str, form: str) -> bytes:
    """Return a picture (`png` or `svg`) of a rendered figure on a light background, below its title and caption.

    `source` states where the data comes from; it is printed in small letters at the bottom.

    Codes such as U+4E2D replace characters that no installed font contains. An SVG file contains all characters,
    because the program that shows it chooses the fonts.

    Equal figures result in equal bytes, on machines with the same fonts. Raises ValueError if the figure contains an
    element that cannot be drawn.
    """
    names, left = fonts_for(lacking(texts_of([dict(spec), title, caption, source]))) if form == "png" else ((), ())
    if left:
        spec, title, caption, source = (with_codes(one, left) for one in (dict(spec), title, caption, source))
        source += "; codes such as U+4E2D stand for characters that no installed font contains"
    with matplotlib.rc_context(_SETTINGS | {"font.sans-serif": [DEJAVU, *names]}), warnings.catch_warnings():
        # Only SVG files can still lack glyphs here, and the programs that show them choose other fonts.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        sheet = Sheet(title, caption, source, spec)
        draw_plot(sheet, spec)
        stream = io.BytesIO()
        metadata = {"Title": sheet.title, **_OMITTED[form]}
        sheet.figure.savefig(stream, format=form, dpi=PIXELS_PER_INCH * _SHARPNESS, metadata=metadata)
    return stream.getvalue()
