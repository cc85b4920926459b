"""Rewrite the documents of a run that older versions of asct wrote in the current formats (`asct results migrate`)."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from typing import Final

from asct.store.checksums import scan, text_checksum
from asct.store.documents import current, parse_object, read_text
from asct.store.files import clear_unfinished, write_atomic
from asct.store.folders import held, lock_holder, locked
from asct.store.reader import StoredRun
from asct.store.writer import by_line

_REPEAT: Final = r"jobs/[^/]+/[^/]+/[^/]+/[^/]+"
_KINDS: Final = {
    re.compile(r"run\.json"): "run",
    re.compile(r"records\.jsonl"): "record",
    re.compile(r"journal\.jsonl"): "event",
    re.compile(r"facts/[^/]+\.json"): "facts",
    re.compile(r"disturbances/[^/]+\.json"): "disturbances",
    re.compile(r"jobs/[^/]+/[^/]+/audit\.json"): "audit",
    re.compile(rf"{_REPEAT}/steps\.jsonl"): "step",
    re.compile(rf"{_REPEAT}/status\.json"): "status",
}
"""The kind of each document, by path; status.json is last, because it contains checksums of others. command.json and
telemetry.json are left as they are: their content becomes part of status.json."""
_CHECKSUM: Final = re.compile(r"\b[0-9a-f]{64}\b")


def migrate(stored: StoredRun) -> Counter[str]:
    """Migrate the documents of a run on disk, and return how many of each kind were migrated. If all are current,
    nothing is written.

    The checksums are written first and the documents that they cover last. If the process is killed in between, at
    least one older document remains, so that the next call continues. Damaged files keep their recorded checksum and
    are therefore reported by `verify` as before.

    Raises StoreError (E507, E508, E509 and others) if a document cannot be migrated, and SafetyError (E504) if the run
    is in progress; in both cases nothing is written.
    """
    layout = stored.layout
    if holder := lock_holder(layout.lock):
        raise locked(layout.root, holder)
    if not _migrated(stored)[1]:
        return Counter()
    with held(layout.lock):
        clear_unfinished(layout.root)
        texts, counts = _migrated(stored)
        for path, text in reversed(texts.items()):
            write_atomic(layout.root / path, text)
    return counts


def _migrated(stored: StoredRun) -> tuple[dict[str, str], Counter[str]]:
    """Return the new text of each file that must be written, by path, with the checksums last, and the number of older
    documents by kind."""
    layout = stored.layout
    sums = read_text(stored.inside(layout.sums)) if layout.sums.exists() else ""
    texts: dict[str, str] = {}
    counts: Counter[str] = Counter()
    digests: dict[str, str] = {}
    for path, kind in _documents(stored):
        before = read_text(stored.inside(layout.root / path))
        lifted = _lifted(stored, path, kind, before)
        counts[kind] += lifted != before
        after = _sealed(lifted, digests) if kind == "status" else lifted
        if after != before:
            texts[path] = after
            old, new = text_checksum(before), text_checksum(after)
            sums = sums.replace(f"{old}  {path}\n", f"{new}  {path}\n")
            digests |= {old: new, **(_of_repeats(before, after) if kind == "record" else {})}
    if texts and sums:
        texts[layout.relative(layout.sums)] = sums
    return texts, +counts


def _documents(stored: StoredRun) -> list[tuple[str, str]]:
    """Return the path and kind of each document, in the order of `_KINDS`."""
    files = scan(stored.layout.root).files
    return [(path, kind) for pattern, kind in _KINDS.items() for path in files if pattern.fullmatch(path)]


def _lifted(stored: StoredRun, path: str, kind: str, text: str) -> str:
    """Return the text of a document in the current format; a current document stays as it is."""
    place = str(stored.layout.root / path)
    if path.endswith(".jsonl"):
        *lines, torn = text.split("\n")
        return "".join(f"{_line(line, kind, f'{place}:{number}')}\n" for number, line in enumerate(lines, 1)) + torn
    before = parse_object(text, place)
    after = current(before, kind, place)
    if after == before:
        return text
    status = stored.status((stored.layout.root / path).parent) if kind == "status" else None
    return by_line(status) if status is not None else json.dumps(after, indent=1, ensure_ascii=False) + "\n"


def _line(line: str, kind: str, place: str) -> str:
    before = parse_object(line, place)
    after = current(before, kind, place)
    return line if after == before else json.dumps(after, separators=(",", ":"), ensure_ascii=False)


def _sealed(text: str, digests: dict[str, str]) -> str:
    """Return the text of a status in which the checksums of migrated files and records are replaced."""
    return _CHECKSUM.sub(lambda found: digests.get(found[0], found[0]), text)


def _of_repeats(before: str, after: str) -> dict[str, str]:
    """Return the new checksum of each repeat's lines in records.jsonl, by the old one."""
    old, new = defaultdict[str, str](str), defaultdict[str, str](str)
    for was, now in zip(before.split("\n")[:-1], after.split("\n"), strict=False):
        raw = json.loads(was).get("raw")
        old[raw] += f"{was}\n"
        new[raw] += f"{now}\n"
    return {text_checksum(old[raw]): text_checksum(new[raw]) for raw in old}
