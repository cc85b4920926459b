"""Files that commands write on request (`--output-dir`), never to an existing directory unless --force is given."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from asct.diagnostics.model import Diagnostic
from asct.errors import StoreError, UsageError

if TYPE_CHECKING:
    from asct.cli.console import Console


def output_folder(name: str, force: bool) -> Path:
    """Make the directory; an existing one is refused unless `force`. Raises UsageError or StoreError."""
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
    """Raises UsageError for an existing directory."""
    if os.path.lexists(name):
        raise UsageError(
            Diagnostic(
                "E911",
                f"the output directory {name} exists",
                hint="choose another directory, or add `--force` to use it",
            )
        )


def write_text(path: Path, text: str) -> None:
    """Write a requested file. Raises StoreError, which names it."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as problem:
        raise StoreError(
            Diagnostic("E912", f"cannot write {path}: {problem.strerror}", hint="choose a writable location")
        ) from problem


def write_texts(console: Console, folder: Path, texts: Mapping[str, str]) -> None:
    """Write all files to a folder, then print their paths: a reader that stops early does not prevent any."""
    for name, text in texts.items():
        write_text(folder / name, text)
    for name in texts:
        console.line(str(folder / name))


def csv_text(columns: Sequence[str], rows: Iterable[dict[str, Any]]) -> str:
    """CSV with a header line."""
    from asct.export.csv import harmless

    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(columns), extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: harmless(value) for name, value in row.items()} for row in rows)
    return text.getvalue()
