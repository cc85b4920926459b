"""SVG: one picture per figure, drawn without a browser."""

from __future__ import annotations

from pathlib import Path

from asct.analysis.view import RunView
from asct.export import pictures_of

NAME = "svg"
FILE = "<benchmark>/<figure>.svg"
SUMMARY = "one scalable picture per figure, with searchable text"


def documents(view: RunView, _folder: Path) -> dict[str, bytes]:
    """Return the pictures, keyed by file name. Raises UsageError (E711) if there are none."""
    return pictures_of(view, NAME)
