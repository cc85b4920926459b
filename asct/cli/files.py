"""Command reports in several formats, and the files written for `--output-dir`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from asct.diagnostics.model import Diagnostic
from asct.errors import StoreError, UsageError
from asct.store.outputs import check_output, occupant, write_output
from asct.store.outputs import output_folder as make_folder

if TYPE_CHECKING:
    from asct.cli.console import Console


def output_folder(name: str, force: bool) -> Path:
    """Create the output directory. Raises the errors of `check_folder`, and StoreError if it cannot be created."""
    check_folder(name, force)
    make_folder(Path(name))
    return Path(name)


def check_folder(name: str, force: bool) -> None:
    """Check an output directory before the command does anything. Raises StoreError if the directory cannot be read,
    and UsageError if the path is not a directory. Unless `force` is set, also raises UsageError if the directory
    contains anything but the log of this command."""
    folder = Path(name)
    try:
        exists = folder.exists() or folder.is_symlink()
        used = not force and folder.is_dir() and occupant(folder)
    except OSError as problem:
        message = f"cannot read the output directory {name}: {problem.strerror}"
        raise StoreError(Diagnostic("E912", message, hint="choose another directory")) from problem
    if exists and not folder.is_dir():
        message, hint = f"{name} is not a directory", "choose another output directory"
        raise UsageError(Diagnostic("E911", message, hint=hint))
    if used:
        hint = "choose another directory, or add `--force` to replace the results in it"
        raise UsageError(Diagnostic("E911", f"the output directory {name} is not empty", hint=hint))


def write_texts(console: Console, folder: Path, texts: Mapping[str, str], form: str, *, force: bool) -> None:
    """Write all files to a folder before printing their paths, so that all are written even if the output stream is
    closed. With `--format stdout`, write the document in all formats; otherwise, only in the requested format. Pictures
    are always written."""
    kinds = {"csv": ".csv", "json": ".json", "markdown": ".md", "html": ".html"}
    others = tuple(kind for name, kind in kinds.items() if form in kinds and name != form)
    texts = {name: text for name, text in texts.items() if not name.endswith(others)}
    for name in texts:
        check_output(folder / name, force=force)
    for name, text in texts.items():
        write_output(folder / name, text, force=force)
    for name in texts:
        console.line(str(folder / name))


def csv_text(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    """Return CSV with a header line. Missing values become empty cells."""
    from asct.export.csv import csv_lines

    return csv_lines(columns, ([row.get(name) for name in columns] for row in rows))


def print_report(
    console: Console, form: str, document: Mapping[str, Any], table: str, lines: Iterable[str], *, to_files: bool
) -> None:
    """Print a report in the requested format: JSON, CSV (`table`) or text (`lines`). With --quiet, a report that was
    written to files (`to_files`) is not printed."""
    if console.style.quiet and to_files:
        return
    if console.style.json or form == "json":
        console.document(document)
    elif form == "csv":
        console.result(table.rstrip("\n"))
    else:
        for line in lines:
            console.result(line)
