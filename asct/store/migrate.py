"""Convert runs from older asct versions to the current format (`asct results migrate`)."""

from __future__ import annotations

import os
import re
from typing import Final

from asct.store.checksums import scan, text_checksum
from asct.store.documents import load, read_text
from asct.store.files import clear_unfinished, write_atomic
from asct.store.folders import hold_lock, lock_holder, locked
from asct.store.reader import PARTS, StoredRun
from asct.store.writer import by_line

_STATUS: Final = re.compile(r"jobs/[^/]+/[^/]+/[^/]+/[^/]+/status\.json")
"""The only documents that exist in an older version (`asct.store.documents.MIGRATIONS`)."""
_OLDER: Final = re.compile(r'"schema"\s*:\s*"asct\.status/1"')


def migrate(stored: StoredRun) -> int:
    """Migrate a run's documents on disk, and return how many were migrated. If all are current, nothing is written. The
    content of command.json and telemetry.json becomes part of status.json; the two files themselves are kept.

    The checksums are written first. If the process is killed before it has written all documents, the next call
    continues. Damaged files keep their recorded checksum and are therefore reported by `verify` as before.

    Raises StoreError (E508, E509 and others) if a document cannot be migrated, and SafetyError (E504) if the run is in
    progress; in both cases nothing is written.
    """
    layout = stored.layout
    if holder := lock_holder(layout.lock):
        raise locked(layout.root, holder)
    if not _migrated(stored):
        return 0
    with hold_lock(layout.lock):
        clear_unfinished(layout.root)
        texts = _migrated(stored)
        for path, text in texts.items():
            write_atomic(layout.root / path, text)
    return sum(map(bool, map(_STATUS.fullmatch, texts)))


def _migrated(stored: StoredRun) -> dict[str, str]:
    """Return the new content of each file that must be written, keyed by path. SHA256SUMS comes first."""
    layout = stored.layout
    sums = read_text(stored.inside(layout.sums)) if layout.sums.exists() else ""
    texts: dict[str, str] = {}
    for path in filter(_STATUS.fullmatch, scan(layout.root).files):
        before = read_text(stored.inside(layout.root / path))
        status = stored.status((layout.root / path).parent)
        if status is not None and _OLDER.search(before):
            _check_parts(stored, path)
            texts[path] = by_line(status)
            old, new = text_checksum(before), text_checksum(texts[path])
            sums = sums.replace(f"{old}  {path}\n", f"{new}  {path}\n")
    return {layout.relative(layout.sums): sums, **texts} if texts and sums else texts


def _check_parts(stored: StoredRun, status: str) -> None:
    """Raise StoreError if command.json or telemetry.json next to a status.json is damaged, because the new status.json
    would then silently lack its content."""
    for kind, model in PARTS.items():
        place = (stored.layout.root / status).with_name(f"{kind}.json")
        if os.path.lexists(place):
            load(model, kind, stored.inside(place))
