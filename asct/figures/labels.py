"""Text in figures."""

from __future__ import annotations

import html

from asct.diagnostics.render import printable


def escape(text: object) -> str:
    """`text` as plotly shall show it, letter by letter: it reads a little HTML in its labels, and takes what stands
    between dollar signs for TeX."""
    return html.escape(printable(str(text)), quote=False).replace("$", "&#36;")
