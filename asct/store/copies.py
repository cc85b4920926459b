"""Copies of a run for use outside the results tree: a zip archive, and a tree without secrets."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from asct.diagnostics.model import Diagnostic
from asct.errors import StoreError
from asct.store.checksums import (
    EMPTY,
    STATUS,
    blocks,
    content,
    evidence,
    is_evidence,
    raw_checksums,
    repeat_of,
    scan,
    sums_text,
    text_checksum,
)
from asct.store.documents import unreadable
from asct.store.files import reason_of, write_atomic, writing
from asct.store.layout import RunLayout
from asct.store.outputs import check_output

_FIRST_TIME = (1980, 1, 1, 0, 0, 0)
"""The earliest timestamp that a zip archive can store."""


def files_of(root: Path) -> list[str]:
    """Return the paths of all run files that belong in a copy: every file except reports, temporary files and links."""
    layout = RunLayout(root)
    return [path for path in scan(root).files if is_evidence(path) or path in (layout.sums.name, layout.log.name)]


def write_bundle(
    path: Path, root: Path, folder: str, started_at: str, reports: Mapping[str, str | bytes], *, force: bool = False
) -> None:
    """Write the run in the folder `root`, together with `reports` (keyed by file name), to the zip archive `path`. All
    paths in the archive start with `folder`. The same content always produces the same bytes, because the files are
    sorted and have the timestamp of the run.

    Raises UsageError if the archive exists and `force` is not set, and StoreError if a file cannot be read or written.
    """
    check_output(path, force=force)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    time = _zip_time(started_at)
    try:
        with zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
            for name in sorted({*files_of(root), *reports}):
                entry = zipfile.ZipInfo(f"{folder}/{name}".encode(errors="backslashreplace").decode(), time)
                entry.compress_type, entry.external_attr, entry.create_system = zipfile.ZIP_DEFLATED, 0o644 << 16, 3
                if name in reports:
                    archive.writestr(entry, reports[name])
                else:
                    _add(archive, entry, root / name)
        temporary.replace(path)
    except OSError as error:
        message = f"cannot write {path}: {reason_of(error)}"
        raise StoreError(Diagnostic("E912", message, hint="choose a writable location with `-o DIRECTORY`")) from error
    finally:
        with suppress(OSError):
            temporary.unlink()


def _add(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, place: Path) -> None:
    try:
        entry.file_size = place.stat().st_size
        source = blocks(place)
        first = next(source, b"")
    except OSError as error:
        raise unreadable(place, error) from error
    with archive.open(entry, "w") as target:
        target.write(first)
        for block in source:
            target.write(block)


def _zip_time(started_at: str) -> tuple[int, int, int, int, int, int]:
    try:
        found = datetime.fromisoformat(started_at)
    except ValueError:
        return _FIRST_TIME
    time = (found.year, found.month, found.day, found.hour, found.minute, found.second)
    return max(time, _FIRST_TIME)


def readable(root: Path) -> Iterator[tuple[str, str]]:
    """Yield the path and text of each run file that belongs in a copy without secrets. Binary files are left out,
    because secrets cannot be found in them. The raw output from which the hosts' facts were read is also left out,
    because it contains serial numbers and names that asct does not parse. Raises StoreError.
    """
    for path in files_of(root):
        if path.startswith("facts/") and path.count("/") > 1:
            continue
        try:
            data = content(root / path)
        except OSError as error:
            raise unreadable(root / path, error) from error
        if b"\0" not in data:
            yield path, data.decode("utf-8", errors="replace")


def redacted_copy(root: Path, target: Path, path_of: Callable[[str], str], text_of: Callable[[str, str], str]) -> None:
    """Copy the run in the folder `root` to the folder `target`, leaving out secrets. The checksums in the copy are
    recomputed, so that the copy can be verified.

    `path_of` removes secrets from the path of a file, and `text_of`, given this path, from its text. Raises StoreError
    if a file cannot be read or written.
    """
    sums = RunLayout(root).sums.name
    for path, text in readable(root):
        if path != sums:
            place = target / path_of(path)
            with writing(place):
                place.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(place, text_of(path, text), sync=False)
    _seal_repeats(target)
    if (root / sums).exists():
        write_atomic(target / sums, sums_text(evidence(target)), sync=False)


def _seal_repeats(root: Path) -> None:
    """Recompute the checksums in every status.json from the files and records in this tree."""
    lines: dict[str, list[str]] = {}
    records = RunLayout(root).records
    for line in records.read_text(encoding="utf-8").split("\n") if records.exists() else ():
        with suppress(ValueError, KeyError, TypeError):
            lines.setdefault(json.loads(line)["raw"], []).append(f"{line}\n")
    for path in scan(root).files:
        folder = repeat_of(path)
        if path != f"{folder}/{STATUS}":
            continue
        with suppress(ValueError, TypeError, AttributeError):  # a damaged document remains as it is
            body = json.loads((root / path).read_text(encoding="utf-8"))
            missing = {name: digest for name, digest in body["files"].items() if digest == EMPTY}
            body["files"] = {**missing, **raw_checksums(root / folder, drop_empty=False)}
            if body.get("records_sha256"):
                body["records_sha256"] = text_checksum("".join(lines.get(folder, ())))
            write_atomic(root / path, json.dumps(body, ensure_ascii=False, separators=(",", ":")) + "\n", sync=False)
