"""Text in figures."""

from __future__ import annotations

import html


def escape(text: object) -> str:
    """`text` as plotly shall show it, letter by letter: it reads a little HTML in its labels."""
    return html.escape(str(text), quote=False)
