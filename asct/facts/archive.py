"""Read the files in a tar archive into memory, in one forward pass. Limits apply to sizes and counts, and nothing is
extracted to disk."""

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
from typing import IO, Any, Final, cast

from asct.facts.filetree import MOST_FILE, MemoryTree, Path_, TreeEntry

MOST_MEMBERS = 100_000
"""Limit on the number of members. On a server with hundreds of CPUs, asct reads tens of thousands of files. A
compressed archive of only 4 MB may have 600,000 members."""
MOST_FOLDERS = 50_000
"""Limit on the number of folders. MOST_MEMBERS alone is not enough, because a single member may be nested in many
folders."""
MOST_BYTES = 256 << 20
"""Limit on the total size of all files, in bytes."""
MOST_LENGTH = 2 << 30
"""Limit on the size of the unpacked archive, in bytes. Nothing beyond this limit is read."""
MOST_HEADERS = 1 << 20
"""Limit on the total size of all headers, in bytes, in addition to USUAL_HEADER for each member. In some formats,
headers may contain lists of any length."""
USUAL_HEADER = 2048
"""Allowance for the header of each member, in bytes. This allowance includes the extra headers that precede a member
with a long name or with attributes."""
LONGEST_HEADER = 16 << 10
"""Limit on the size of one header, in bytes. A header contains a path and a link target (up to 4096 bytes each,
PATH_MAX in include/uapi/linux/limits.h), and attributes."""
DEEPEST_PATH = 64
"""Limit on the number of components in a member's path. The path of a device behind many bridges has about thirty
components below /sys."""
MOST_NOTES = 5
MOST_MEMORY: Final = 256 << 20
"""Limit on the memory used to unpack xz data, in bytes. `xz -9` needs 65 MiB (xz(1), "Compression preset level"), but a
header may request 4 GiB. The gzip and bzip2 formats limit the memory themselves (to 32 KiB and to 900 kB per block,
respectively)."""
_CHUNK: Final = 1 << 16
_OVERLONG_NUMBER = re.compile(rb"\d{64}")
"""Pattern for numbers that are too long for a valid header. Some versions of tarfile take quadratic time to reject them
(CVE-2024-6232)."""
_TOO_LONG = "its headers are too long"
_TORN = (tarfile.TarError, OSError, EOFError, zlib.error, lzma.LZMAError, ValueError, OverflowError, RecursionError)


class XzReader(io.RawIOBase):
    """A forward-only reader that unpacks xz data in limited memory. Like xz(1), it accepts concatenated streams.

    lzma.open cannot limit its memory use. The reader raises lzma.LZMAError if the data is damaged, is not xz or needs
    too much memory, and EOFError if the data ends early.
    """

    def __init__(self, packed: IO[bytes]) -> None:
        self._packed = packed
        self._stream = self._new()

    @staticmethod
    def _new() -> lzma.LZMADecompressor:
        return lzma.LZMADecompressor(format=lzma.FORMAT_XZ, memlimit=MOST_MEMORY)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = b""
        while not data:
            ahead = b""
            if self._stream.eof:  # zero bytes between streams are padding (xz file format 1.2.1, 2.2)
                ahead = self._stream.unused_data.lstrip(b"\0")
                while not ahead:
                    chunk = self._packed.read(_CHUNK)
                    if not chunk:
                        return 0
                    ahead = chunk.lstrip(b"\0")
                self._stream = self._new()
            elif self._stream.needs_input:
                ahead = self._packed.read(_CHUNK)
                if not ahead:
                    raise EOFError("it is truncated")
            data = self._stream.decompress(ahead, len(buffer))
        buffer[: len(data)] = data
        return len(data)


_OPENERS: dict[bytes, Callable[[Any], Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\x00": lambda packed: io.BufferedReader(XzReader(packed)),
}
"""Functions that unpack a file, keyed by its first bytes."""


class _Bounded(io.RawIOBase):
    """A forward-only stream that ends after MOST_LENGTH bytes, because a small packed file may unpack to any size.

    `header_budget` is the number of header bytes that may still be read; skipped bytes do not count.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._at = 0
        self.header_budget = MOST_HEADERS
        self.in_header = True

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        left = min(MOST_LENGTH - self._at, self.header_budget)
        if self.in_header and size > LONGEST_HEADER:
            raise EOFError(_TOO_LONG)
        data = self._stream.read(left if size < 0 else max(0, min(size, left)))
        self._at += len(data)
        self.header_budget -= len(data)
        if self.header_budget <= 0:
            raise EOFError(_TOO_LONG)
        if self.in_header and _OVERLONG_NUMBER.search(data):
            raise EOFError("a number in its headers is too long")
        return data

    def seek(self, offset: int, whence: int = 0) -> int:
        if whence != 0 or offset > MOST_LENGTH:
            raise EOFError("it is too long")
        if offset < self._at:
            raise EOFError("a size in its headers is negative")
        while self._at < offset and (data := self._stream.read(min(offset - self._at, _CHUNK))):
            self._at += len(data)
        return self._at

    def tell(self) -> int:
        return self._at


def read(path: Path) -> tuple[MemoryTree, list[str]]:
    """Read a tar archive (plain, gzip, bzip2 or xz) up to the first damaged part.

    Returns its files, and notes about skipped members. Raises OSError if the archive itself cannot be opened.
    """
    tree = MemoryTree()
    notes: list[str] = []
    with ExitStack() as stack:
        raw = stack.enter_context(path.open("rb"))
        head = raw.read(6)
        raw.seek(0)
        opener = next((one for magic, one in _OPENERS.items() if head.startswith(magic)), None)
        stream = stack.enter_context(cast(IO[bytes], opener(raw))) if opener else raw
        try:
            bounded = _Bounded(stream)
            with tarfile.open(fileobj=cast(IO[bytes], bounded), mode="r:", errors="replace") as archive:
                _take(archive, bounded, tree, notes)
        except _TORN as error:
            problem = "only part of it is readable" if tree.data else "it is not a tar archive"
            notes.append(f"{problem}: {str(error) or type(error).__name__}")
    more = len(notes) - MOST_NOTES
    return tree, [*notes[:MOST_NOTES], *([f"and {more} more notes of this kind"] if more > 0 else [])]


def _take(archive: tarfile.TarFile, bounded: _Bounded, tree: MemoryTree, notes: list[str]) -> None:
    total = 0
    for member in _members(archive, notes):
        bounded.header_budget += USUAL_HEADER
        path = _path(member.name)
        if path is None:
            notes.append(f"skipped a member outside the top folder: {member.name[:100]}")
        elif not path:
            continue
        elif len(path) > DEEPEST_PATH:
            notes.append(f"skipped a member nested too deeply: {member.name[:100]}")
        elif member.isfile():
            if member.size > MOST_FILE or total + member.size > MOST_BYTES:
                notes.append(f"skipped a file that is too large: {member.name[:100]}")
                continue
            data = _content(archive, member, bounded)
            total += len(data)
            tree.add(path, TreeEntry("file"), data)
        elif member.issym():
            tree.add(path, TreeEntry("link", member.linkname))
        elif member.islnk():  # a hard link to an earlier file
            tree.add(path, TreeEntry("file"), tree.data.get(_path(member.linkname) or ()))
        else:
            tree.add(path, TreeEntry("folder" if member.isdir() else "other"))
        if len(tree.folders) > MOST_FOLDERS:
            notes.append(f"only its first {MOST_FOLDERS} folders were read")
            return


def _content(archive: tarfile.TarFile, member: tarfile.TarInfo, bounded: _Bounded) -> bytes:
    """Read a regular file whose size is within the limit. The header limits do not apply to its content."""
    stream = archive.extractfile(member)
    before, bounded.header_budget, bounded.in_header = bounded.header_budget, MOST_LENGTH, False
    data = stream.read(MOST_FILE + 1) if stream is not None else b""
    bounded.header_budget, bounded.in_header = before, True
    return data


def _members(archive: tarfile.TarFile, notes: list[str]) -> Iterator[tarfile.TarInfo]:
    """Yield the members one by one, without keeping them in memory."""
    for _ in range(MOST_MEMBERS):
        member = archive.next()
        if member is None:
            return
        archive.members = []  # type: ignore[attr-defined]  # tarfile would keep them all
        yield member
    notes.append(f"only its first {MOST_MEMBERS} members were read")


def _path(name: str) -> Path_ | None:
    """Return the components of a member's path, or None if the path leaves the top folder."""
    parts = tuple(part for part in name.split("/") if part not in ("", "."))
    return None if ".." in parts else parts
