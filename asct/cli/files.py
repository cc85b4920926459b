"""Files that commands write when asked to (`--output-dir`): never into a folder that exists, unless --force."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from asct.diagnostics.model import Diagnostic
from asct.errors import StoreError, UsageError

if TYPE_CHECKING:
    from asct.cli.console import Console
    from asct.cli.listing import Listing
    from asct.cli.options import Settings


def output_folder(name: str, force: bool) -> Path:
    """Make the folder; one that exists is refused unless `force`. Raises UsageError or StoreError."""
    folder = Path(name)
    if not force:
        refuse_existing(name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise StoreError(
            Diagnostic("E912", f"cannot make the output folder {name}: {problem.strerror}", hint="name another one")
        ) from problem
    return folder


def refuse_existing(name: str) -> None:
    """Raises UsageError for a folder that exists."""
    if os.path.lexists(name):
        raise UsageError(
            Diagnostic("E911", f"the output folder {name} exists", hint="name another one, or add `--force` to use it")
        )


def write_text(path: Path, text: str) -> None:
    """Write a file that was asked for; a failure names it. Raises StoreError."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as problem:
        raise StoreError(
            Diagnostic("E912", f"cannot write {path}: {problem.strerror}", hint="choose a place that can be written")
        ) from problem


def write_texts(console: Console, folder: Path, texts: Mapping[str, str]) -> None:
    """Write files into a folder, all before the first is named: whoever stops reading does not lose any."""
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


def write_listing(settings: Settings, listing: Listing, folder: str, form: str, force: bool) -> None:
    """Write a listing as CSV or JSON into `folder` and name the file."""
    stem = "benchmark_list" if listing.name == "benchmarks" else f"{listing.name}_list"
    suffix = "csv" if form == "csv" else "json"
    if suffix == "csv":
        text = csv_text(listing.columns, listing.rows)
    else:
        document = {"schema": f"asct.list.{listing.name}/1", listing.name: listing.rows}
        text = json.dumps(document, indent=2, allow_nan=False) + "\n"
    place = output_folder(folder, force) / f"{stem}.{suffix}"
    write_text(place, text)
    settings.console.result(str(place))
