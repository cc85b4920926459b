"""Open a run in the results tree for reports, and print its tables on the terminal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from asct.analysis.view import RunView
    from asct.cli.console import Console


def view_of(root: Path) -> RunView:
    """Open the run in the folder `root` for reports, with the installed benchmarks."""
    from asct.analysis.view import open_view
    from asct.registry import installed

    return open_view(root, installed())


def print_tables(console: Console, view: RunView) -> None:
    """Print the tables of every job of a run."""
    from asct.export.text import render

    console.result(render(view, width=console.width).rstrip("\n"))
