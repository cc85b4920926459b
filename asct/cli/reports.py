"""Open a run in the results tree for reports, print its tables on the terminal, and pack it for sharing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from asct.analysis.diff.source import DiffSource
    from asct.analysis.view import RunView
    from asct.cli.console import Console


def view_of(root: Path) -> RunView:
    """Open the run in the folder `root` for reports, using the installed benchmarks."""
    from asct.analysis.view import open_view
    from asct.registry import installed

    return open_view(root, installed())


@contextmanager
def published(root: Path, *, redact: bool) -> Iterator[RunView]:
    """Open the run in the folder `root` for sharing. With `redact`, open a copy without secrets, which is deleted when
    the context ends."""
    if not redact:
        yield view_of(root)
        return
    from asct.analysis.compared import sources_of
    from asct.analysis.redaction import redacted, redaction_of
    from asct.analysis.view import open_without_records
    from asct.errors import StoreError
    from asct.registry import installed
    from asct.store.copies import readable, redacted_copy

    view = replace(open_without_records(root), catalog=installed())
    sources: tuple[DiffSource, DiffSource, str] | str | None
    try:
        sources = sources_of(view)
    except StoreError as error:
        sources = error.diagnostics[0].message
    base = [sources[0].root] if isinstance(sources, tuple) else []
    redaction = redaction_of(view, chain.from_iterable(map(readable, (root, *base))), *map(open_without_records, base))
    with TemporaryDirectory(prefix="asct-") as folder:
        copy = Path(folder) / view.run.run
        redacted_copy(root, copy, redaction.path, redaction.file)
        try:
            found = view_of(copy)
        except StoreError:
            view_of(root)  # raises the same error, but with the path in the run instead of the copy
            raise
        yield replace(found, sources=redacted(sources, redaction.text))


def write_bundle(view: RunView, names: Sequence[str], folder: Path, *, force: bool) -> Path:
    """Write the run and its reports in the formats `names` to a zip archive in `folder`. Return the archive path."""
    from asct.export import documents_of
    from asct.store.copies import write_bundle as write

    path = folder / f"{view.run.plan}-{view.run.run}.zip"
    reports = {
        name: content for found in documents_of(view, names, view.root).values() for name, content in found.items()
    }
    write(path, view.root, view.run.run, view.run.started_at, reports, force=force)
    return path


def print_tables(console: Console, view: RunView) -> None:
    """Print the tables for every job in a run."""
    from asct.export.stdout import render

    console.result(render(view, width=console.width).rstrip("\n"))


def write_pictures(console: Console, view: RunView) -> None:
    """Write each figure of a run as a PNG file to the run folder, and print the paths.

    A failure is reported as a warning, because it must not hide the results.
    """
    from asct.errors import AsctError
    from asct.export import write
    from asct.store.folders import hold_lock
    from asct.store.layout import RunLayout
    from asct.values.grouping import grouped
    from asct.values.text import counted

    if not any(job.figures for job in view.jobs):
        return
    try:
        with hold_lock(RunLayout(view.root).lock):
            paths = write(view, "png", view.root)
    except AsctError as problem:
        console.diagnostics([replace(item, severity="warning") for item in problem.diagnostics])
        return
    for folder, found in grouped(paths, lambda path: path.parent).items():
        console.line(str(found[0]) if len(found) == 1 else f"{folder}: {counted(len(found), 'picture')}")
