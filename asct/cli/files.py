"""Reports of commands in several formats, and the files written with `--output-dir`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from asct.diagnostics.model import Diagnostic
from asct.errors import StoreError, UsageError
from asct.store.outputs import check_output, write_output

if TYPE_CHECKING:
    from asct.cli.console import Console


def output_folder(name: str, force: bool) -> Path:
    """Create the directory.

    Raises UsageError if it exists and `force` is not set, and StoreError if it cannot be created.
    """
    folder = Path(name)
    if not force:
        refuse_existing(name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise StoreError(
            Diagnostic(
                "E912",
                f"cannot create the output directory {name}: {problem.strerror}",
                hint="choose another directory",
            )
        ) from problem
    return folder


def refuse_existing(name: str) -> None:
    """Raise UsageError if the directory exists."""
    if os.path.lexists(name):
        raise UsageError(
            Diagnostic(
                "E911",
                f"the output directory {name} already exists",
                hint="choose another directory, or add `--force` to use it",
            )
        )


def write_texts(console: Console, folder: Path, texts: Mapping[str, str], form: str, *, force: bool) -> None:
    """Write all files to a folder, then print their paths, so that a closed output does not prevent files from being
    written. If the format is csv or json, write only the tables of this format and the pictures."""
    others = {"csv": ".json", "json": ".csv"}.get(form)
    texts = {name: text for name, text in texts.items() if not others or not name.endswith(others)}
    for name in texts:
        check_output(folder / name, force=force)
    for name, text in texts.items():
        write_output(folder / name, text, force=force)
    for name in texts:
        console.line(str(folder / name))


def csv_text(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    """Return CSV with a header line; a missing value is an empty cell."""
    from asct.export.csv import csv_lines

    return csv_lines(columns, ([row.get(name) for name in columns] for row in rows))


def print_report(
    console: Console, form: str, document: Mapping[str, Any], table: str, lines: Iterable[str], *, written: bool
) -> None:
    """Print a report in the requested format: JSON, CSV (`table`) or text (`lines`). With --quiet, a report that was
    `written` to files is not printed."""
    if console.style.quiet and written:
        return
    if console.style.json or form == "json":
        console.document(document)
    elif form == "csv":
        console.result(table.rstrip("\n"))
    else:
        for line in lines:
            console.result(line)
