"""PNG: one picture per figure, drawn without a browser."""

from __future__ import annotations

from pathlib import Path

from asct.analysis.pictures import pictures, source
from asct.analysis.report import build
from asct.analysis.view import RunView
from asct.figures.render import render_sections
from asct.figures.static import picture

NAME = "png"
FILE = "<benchmark>/<figure>.png"
SUMMARY = "one picture per figure (`latency-sweep.png`), drawn without a browser"


def documents(view: RunView, _folder: Path) -> dict[str, bytes]:
    """Return the pictures, keyed by file name. Raises UsageError (E711) if there are none."""
    figures = [section.figures for section in build(view).sections]
    drawn = render_sections(figures, [host.name for host in view.run.hosts])
    return {
        f"{name}.{NAME}": picture(drawn[figure.slug], figure.title, figure.caption, source(view), NAME)
        for name, figure in pictures(view).items()
    }
