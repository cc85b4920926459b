"""Checksums of a run's files, which are stored in two places. Each status.json lists the raw files of its repeat, with
their checksums. SHA256SUMS, written at the end of a run, lists all other evidence, including every status.json, and can
be checked with `sha256sum -c SHA256SUMS`. Neither of them lists reports or logs, because asct may render reports again
and append to logs. The checksums reveal damage but not forgery.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

EMPTY = hashlib.sha256(b"").hexdigest()
"""The checksum of an empty file. A listed file with this checksum need not exist, because empty raw files are not
kept."""
STATUS = "status.json"
_DOCUMENTS = frozenset({"run.json", "plan.yaml", "plan.resolved.json", "journal.jsonl", "records.jsonl"})
_FOLDERS = frozenset({"facts", "disturbances", "build", "jobs"})
_LINE = re.compile(r"([0-9a-f]{64})  (.+)")
_PLAIN = re.compile(r"[^\0-\x1f\x7f\\]+")
_BLOCK = 1 << 20
_REPEAT_DEPTH = 5
"""Number of path components in jobs/<host>/<id>/<point>/r<k>."""


def content(path: str | Path) -> bytes:
    """Return the content of a regular file, without following a link. Raises OSError."""
    return b"".join(blocks(path))


def checksum(path: str | Path) -> str:
    """Return the SHA-256 of a regular file, without following a link. Raises OSError."""
    digest = hashlib.sha256()
    for block in blocks(path):
        digest.update(block)
    return digest.hexdigest()


def blocks(path: str | Path) -> Iterator[bytes]:
    """Yield the content of a regular file in blocks, without following a link. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        while block := os.read(descriptor, _BLOCK):
            yield block
    finally:
        os.close(descriptor)


def text_checksum(text: str) -> str:
    """Return the SHA-256 of a text as it is stored in a file."""
    return hashlib.sha256(text.encode("utf-8", errors="backslashreplace")).hexdigest()


@dataclass(slots=True)
class TreeScan:
    """The contents of a folder and its subfolders: regular files, other files (links, pipes), and folders that cannot
    be read. All paths are relative and sorted."""

    files: list[str] = field(default_factory=list)
    strange: list[str] = field(default_factory=list)
    unreadable: list[tuple[str, OSError]] = field(default_factory=list)


def scan(root: Path) -> TreeScan:
    """Return the contents of `root`, without following links."""
    found = TreeScan()
    waiting = [""]
    while waiting:
        folder = waiting.pop()
        try:
            with os.scandir(f"{root}/{folder}") as listed:
                entries = [*listed]
        except OSError as error:
            found.unreadable.append((folder.rstrip("/"), error))
            continue
        for entry in entries:
            path = folder + entry.name
            if entry.is_dir(follow_symlinks=False):
                waiting.append(f"{path}/")
            else:
                (found.files if entry.is_file(follow_symlinks=False) else found.strange).append(path)
    found.files.sort()
    found.strange.sort()
    return found


def raw_checksums(folder: Path, *, drop_empty: bool) -> dict[str, str]:
    """Return the checksum of each file below a repeat's folder, except its status.json, keyed by path.

    With `drop_empty`, empty files are removed, but their checksums are still returned. Raises OSError.
    """
    found: dict[str, str] = {}
    for path in scan(folder).files:
        if path == STATUS:
            continue
        place = f"{folder}/{path}"
        found[path] = checksum(place)
        if drop_empty and found[path] == EMPTY:
            os.unlink(place)  # noqa: PTH108 - pathlib doubles the time for thousands of files
    return found


def changed_file(folder: Path, files: Mapping[str, str]) -> str:
    """Return the path of the first listed file that is missing, unreadable or changed, or an empty string if all are
    intact."""
    return next((name for name, expected in files.items() if not is_intact(folder, name, expected)), "")


def is_intact(folder: Path, name: str, expected: str) -> bool:
    """Return whether a file has this checksum. A missing file is treated as empty."""
    try:
        return checksum(f"{folder}/{name}") == expected
    except FileNotFoundError:
        return expected == EMPTY
    except OSError:
        return False


def repeat_of(path: str) -> str:
    """Return the folder jobs/<host>/<id>/<point>/r<k> that contains the file `path`, or an empty string for all other
    files."""
    parts = path.split("/", _REPEAT_DEPTH)
    return path[: -len(parts[-1]) - 1] if len(parts) > _REPEAT_DEPTH and parts[0] == "jobs" else ""


def is_inner(path: str) -> bool:
    """Return whether a path in a document is below the document's folder."""
    return "\0" not in path and not path.startswith("/") and ".." not in path.split("/")


def is_evidence(path: str) -> bool:
    """Return whether a file in a run folder is a result or a document, as opposed to a report, a log or a temporary
    file."""
    first, _, rest = path.partition("/")
    temporary = path.rpartition("/")[2].startswith(".")
    return first in (_FOLDERS if rest else _DOCUMENTS) and not temporary


def evidence(root: Path) -> dict[str, str]:
    """Return the checksums for SHA256SUMS, keyed by path. They cover all evidence except raw files that are listed in
    their status.json. Files that cannot be read, and names with control characters, are omitted."""
    files = [path for path in scan(root).files if is_evidence(path) and _PLAIN.fullmatch(path)]
    found: dict[str, str] = {}
    sealing = set()
    statuses = [path for path in files if path == f"{repeat_of(path)}/{STATUS}"]
    for path in (*statuses, *files):
        folder = repeat_of(path)
        if path in found or folder in sealing:
            continue
        try:
            data = content(root / path) if path.endswith(STATUS) else b""
            found[path] = hashlib.sha256(data).hexdigest() if data else checksum(root / path)
        except OSError:
            continue
        if folder and _lists_files(data):
            sealing.add(folder)
    return dict(sorted(found.items()))


def _lists_files(status: bytes) -> bool:
    """Return whether a status.json contains checksums. A truncated file contains none, even if the word appears in
    it."""
    try:
        body = json.loads(status) if status else None
    except ValueError:
        return False
    return isinstance(body, dict) and isinstance(body.get("files"), dict)


def sums_text(found: Mapping[str, str]) -> str:
    """Return the content of SHA256SUMS in the format that sha256sum uses."""
    return "".join(f"{digest}  {path}\n" for path, digest in found.items())


def read_sums(text: str) -> tuple[dict[str, str], list[int]]:
    """Return the checksums in SHA256SUMS, keyed by path, and the line numbers of damaged lines."""
    found: dict[str, str] = {}
    damaged = []
    *lines, rest = text.split("\n")
    for number, line in enumerate(lines, start=1):
        match = _LINE.fullmatch(line)
        if match is None or not is_evidence(match[2]) or not is_inner(match[2]) or match[2] in found:
            damaged.append(number)
        else:
            found[match[2]] = match[1]
    return found, [*damaged, len(lines) + 1] if rest else damaged
