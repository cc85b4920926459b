"""The files of a tar, read into memory in one pass and within bounds; nothing is extracted."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import re
import tarfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any, cast

from asct.facts.trees import MOST_FILE, Entry, MemoryTree, Path_
from asct.facts.xz import XzStream

MOST_MEMBERS = 500_000
MOST_BYTES = 256 << 20
"""Of all files together."""
MOST_LENGTH = 2 << 30
"""Of the tar, unpacked: what lies behind is not looked for."""
MOST_HEADERS = 1 << 20
"""Bytes of all headers beyond those that members usually have. Some formats keep lists of any length there."""
USUAL_HEADER = 2048
"""Bytes of a member: its header, and before it those of a long name or with attributes."""
LONGEST_HEADER = 16 << 10
"""Bytes of one: a path and a link (4096 each, PATH_MAX in include/uapi/linux/limits.h), and attributes."""
DEEPEST_PATH = 64
"""Names in the path of a member. Below /sys, devices behind many bridges have some thirty."""
MOST_NOTES = 5
_NUMBER_WITHOUT_END = re.compile(rb"\d{64}")
"""No header has such a number, and some versions of tarfile need the square of its length to find that out
(CVE-2024-6232)."""
_OPENERS: dict[bytes, Callable[[Any], Any]] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\x00": XzStream}
"""What unpacks by the first bytes. The memory for gzip and bzip2 is small by their formats (32 KiB, 900 kB a block)."""
_TOO_LONG = "its headers are too long"
_TORN = (tarfile.TarError, OSError, EOFError, zlib.error, lzma.LZMAError, ValueError, OverflowError)


class _Bounded(io.RawIOBase):
    """A stream that ends after MOST_LENGTH bytes: a few of a packed file can stand for any number. `spare` is how many
    may be read as headers; what is skipped does not count. It never goes back, for a packed one would be unpacked from
    its beginning each time."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self.spare = MOST_HEADERS
        self.in_header = True

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        left = min(MOST_LENGTH - self._stream.tell(), self.spare)
        if self.in_header and size > LONGEST_HEADER:
            raise EOFError(_TOO_LONG)
        data = self._stream.read(left if size < 0 else max(0, min(size, left)))
        self.spare -= len(data)
        if self.spare <= 0:
            raise EOFError(_TOO_LONG)
        if self.in_header and _NUMBER_WITHOUT_END.search(data):
            raise EOFError("a number in its headers has no end")
        return data

    def seek(self, offset: int, whence: int = 0) -> int:
        if whence != 0 or offset > MOST_LENGTH:
            raise EOFError("it is longer than is looked at")
        if offset < self._stream.tell():
            raise EOFError("a size in its headers is less than nothing")
        return self._stream.seek(offset)

    def tell(self) -> int:
        return self._stream.tell()


def read(place: Path) -> tuple[MemoryTree, list[str]]:
    """What a tar holds, packed by gzip, bzip2, xz or not at all, and what was odd about it. A torn one gives what is
    there. Raises OSError when the file itself cannot be opened."""
    tree, notes = MemoryTree(), _Notes()
    with ExitStack() as stack:
        raw = stack.enter_context(place.open("rb"))
        head = raw.read(6)
        raw.seek(0)
        opener = next((one for magic, one in _OPENERS.items() if head.startswith(magic)), None)
        stream = stack.enter_context(cast(IO[bytes], opener(raw))) if opener else raw
        try:
            bounded = _Bounded(stream)
            with tarfile.open(fileobj=cast(IO[bytes], bounded), mode="r:", errors="replace") as archive:
                _take(archive, bounded, tree, notes)
        except _TORN as error:
            what = "it can be read only in part" if tree.data else "it is no tar"
            notes.add(f"{what}: {str(error) or type(error).__name__}")
    return tree, notes.told()


class _Notes:
    """The first few things that are odd, and how many more there are."""

    def __init__(self) -> None:
        self._notes: list[str] = []
        self._more = 0

    def add(self, note: str) -> None:
        if len(self._notes) < MOST_NOTES:
            self._notes.append(note)
        else:
            self._more += 1

    def told(self) -> list[str]:
        return [*self._notes, *([f"and {self._more} more things like these"] if self._more else [])]


def _take(archive: tarfile.TarFile, bounded: _Bounded, tree: MemoryTree, notes: _Notes) -> None:
    held = 0
    for member in _members(archive, notes):
        bounded.spare += USUAL_HEADER
        path = _path(member.name)
        if path is None:
            notes.add(f"a member outside of the top folder was left out: {member.name[:100]}")
        elif not path:
            continue
        elif len(path) > DEEPEST_PATH:
            notes.add(f"a member too many folders deep was left out: {member.name[:100]}")
        elif member.isfile():
            if member.size > MOST_FILE or held + member.size > MOST_BYTES:
                notes.add(f"a file that is too large was left out: {member.name[:100]}")
                continue
            data = _content(archive, member, bounded)
            held += len(data)
            tree.add(path, Entry("file"), data)
        elif member.issym():
            tree.add(path, Entry("link", member.linkname))
        elif member.islnk():  # another name of a file that came before
            tree.add(path, Entry("file"), tree.data.get(_path(member.linkname) or ()))
        else:
            tree.add(path, Entry("folder" if member.isdir() else "other"))


def _content(archive: tarfile.TarFile, member: tarfile.TarInfo, bounded: _Bounded) -> bytes:
    """Of a regular file that is not too large; no header is read meanwhile."""
    stream = archive.extractfile(member)
    before, bounded.spare, bounded.in_header = bounded.spare, MOST_LENGTH, False
    data = stream.read(MOST_FILE + 1) if stream is not None else b""
    bounded.spare, bounded.in_header = before, True
    return data


def _members(archive: tarfile.TarFile, notes: _Notes) -> Iterator[tarfile.TarInfo]:
    """One after the other, without keeping them all."""
    for _ in range(MOST_MEMBERS):
        member = archive.next()
        if member is None:
            return
        archive.members = []  # type: ignore[attr-defined]  # else it keeps every one
        yield member
    notes.add(f"only its first {MOST_MEMBERS} members were read")


def _path(name: str) -> Path_ | None:
    """The names of a member's path; None when it would leave the folder that it is unpacked in."""
    parts = tuple(part for part in name.split("/") if part not in ("", "."))
    return None if ".." in parts else parts
