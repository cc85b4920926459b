"""Renders the reports of a run in the results tree."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from asct.analysis.view import RunView
    from asct.cli.console import Console


def write_reports(root: Path, names: Sequence[str], target: Path) -> dict[str, list[Path]]:
    """Render the run in `root` in each format into `target`; returns the files of each format, the main one first.

    Raises UsageError for an unknown format and StoreError when a file cannot be written.
    """
    from asct.export import write_all

    return {name: list(paths) for name, paths in write_all(_view(root), names, target).items()}


def write_available(console: Console, root: Path, names: Sequence[str]) -> dict[str, Path]:
    """Render the run in `root` in each format into the run itself; returns the main file of each format.

    A report that cannot be written is printed as a diagnostic, so that it does not hide what was measured.
    """
    from asct.errors import AsctError
    from asct.export import write

    written: dict[str, Path] = {}
    view = _view(root)
    for name in dict.fromkeys(names):
        try:
            written[name] = write(view, name, root)[0]
        except AsctError as problem:
            console.diagnostics(problem.diagnostics)
    return written


def print_tables(console: Console, root: Path) -> None:
    """Print the tables of every job of the run in `root`."""
    from asct.export.text import render

    console.result(render(_view(root), width=console.width).rstrip("\n"))


def _view(root: Path) -> RunView:
    from asct.analysis.view import open_view
    from asct.registry import installed

    return open_view(root, installed())
