"""Writing reports of a run that is on disk."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from asct.analysis.view import RunView
    from asct.cli.console import Console
    from asct.cli.options import Settings


def write_reports(root: Path, names: Sequence[str], target: Path) -> dict[str, list[Path]]:
    """Render the run below `root` in each format into `target`; returns the files of each format, the main one first.

    Raises UsageError for an unknown format and StoreError when a file cannot be written.
    """
    from asct.export import write_all

    return {name: list(paths) for name, paths in write_all(_view(root), names, target).items()}


def write_what_can_be(console: Console, root: Path, names: Sequence[str]) -> dict[str, Path]:
    """The same into the run itself; a report that cannot be written is said and never hides what was measured."""
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


def _view(root: Path) -> RunView:
    from asct.analysis.view import open_view
    from asct.registry import installed

    return open_view(root, installed())


def write_ad_hoc(settings: Settings, folder: Path, form: str) -> None:
    """What `asct run --format` asks for: tables on stdout, or the files of the documents that users of ASCT know."""
    if form == "stdout":
        if not settings.json:
            from asct.cli.recap import print_tables
            from asct.store.reader import read_run

            print_tables(settings.console, read_run(folder))
        return
    for paths in write_reports(folder, ("csv", "json"), folder).values():
        for path in paths:
            settings.console.line(str(path))
