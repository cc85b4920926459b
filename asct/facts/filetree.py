"""Select files with shell patterns from a dump of another machine (a folder or a tar archive).

Links are followed only inside the dump: absolute links are resolved against the top folder of the dump, and no link can
lead out of the dump. Nothing is extracted, and only regular files are read.
"""

from __future__ import annotations

import fnmatch
import os
import re
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Protocol

from asct.facts.snapshot import cleaned

MOST_LINKS = 40
"""Limit on the number of links followed for one file. The Linux kernel has the same limit (MAXSYMLINKS in
include/linux/namei.h)."""
MOST_FILE = 8 << 20
"""Limit on the size of a file, in bytes. The limit exceeds the longest text that is parsed (the flags of thousands of
CPUs)."""
MOST_LOOKS = 2_000_000
"""Limit on the number of name lookups in one dump. A server with 576 CPUs needs two thirds of this number, but circular
links could cause any number of lookups."""
MOST_TEXT = 64 << 20
"""Limit on the number of bytes read from one dump, because many links may lead to the same file."""
Path_ = tuple[str, ...]
"""A path, as the sequence of names from the top folder of the dump to the file."""


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """A directory entry. `target` is the unresolved target of a link."""

    kind: str
    """`folder`, `file`, `link` or `other`."""
    target: str = ""


class FileTree(Protocol):
    """The entries of a dump. Links are not followed."""

    def names(self, folder: Path_) -> list[str]:
        """Return the names in a folder, sorted."""
        ...

    def entry(self, path: Path_) -> TreeEntry | None:
        """Return the entry at a path, or None if there is none. Folders in the path must not be links."""
        ...

    def read(self, path: Path_) -> bytes | None:
        """Read a regular file; return None if it is unreadable or too large."""
        ...


def resolve(tree: FileTree, path: Path_) -> Path_ | None:
    """Resolve all links in a path. Return None if the path does not exist or its links form a loop."""
    done: list[str] = []
    ahead = list(reversed(path))
    links = 0
    while ahead:
        name = ahead.pop()
        if name == "..":
            del done[-1:]
            continue
        if name in ("", "."):
            continue
        found = tree.entry((*done, name))
        if found is None:
            return None
        if found.kind != "link":
            done.append(name)
            continue
        links += 1
        if links > MOST_LINKS or len(ahead) > 1000:
            return None
        if found.target.startswith("/"):
            done.clear()
        ahead += reversed(found.target.split("/"))
    return tuple(done)


def paths(tree: FileTree, pattern: str, above: Path_ = ()) -> Iterator[Path_]:
    """Yield the paths below `above` that match a shell pattern, in the order in which a shell lists them. Links in the
    paths are preserved."""
    yield from _fitting(tree, above, pattern.strip("/").split("/"))


def _fitting(tree: FileTree, above: Path_, parts: list[str]) -> Iterator[Path_]:
    real = resolve(tree, above)
    if real is None:
        return
    if not any(char in parts[0] for char in "*?["):
        names = [parts[0]] if parts[0] == ".." or tree.entry((*real, parts[0])) else []
    else:
        fits = _compiled(parts[0])
        names = [name for name in tree.names(real) if fits.match(name) and not name.startswith(".")]
    for name in names:
        if len(parts) == 1:
            yield (*above, name)
        else:
            yield from _fitting(tree, (*above, name), parts[1:])


@lru_cache(maxsize=4096)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(fnmatch.translate(pattern))


def texts(tree: FileTree, files: Iterable[Path_]) -> dict[str, str]:
    """Return the contents of the regular files that the paths lead to, keyed by absolute path. Unreadable files are
    omitted."""
    folders: dict[Path_, Path_ | None] = {}
    found = {}
    for path in files:
        if path[:-1] not in folders:
            folders[path[:-1]] = resolve(tree, path[:-1])
        above = folders[path[:-1]]
        real = resolve(tree, (*above, path[-1])) if above is not None else None
        entry = tree.entry(real) if real else None
        data = tree.read(real) if real and entry is not None and entry.kind == "file" else None
        if data is not None:
            found["/" + "/".join(path)] = cleaned(data.decode("utf-8", "replace"))
    return found


@dataclass
class FolderTree:
    """A dump in a folder on this machine."""

    root: Path

    def _at(self, path: Path_) -> str:
        return "/".join((str(self.root), *path))

    def names(self, folder: Path_) -> list[str]:
        try:
            return sorted(os.listdir(self._at(folder)))  # noqa: PTH208 - names suffice, and there are thousands
        except OSError:
            return []

    def entry(self, path: Path_) -> TreeEntry | None:
        at = self._at(path)
        try:
            mode = os.lstat(at).st_mode
            if stat.S_ISLNK(mode):
                return TreeEntry("link", os.readlink(at))  # noqa: PTH115 - Path.readlink would normalize it
        except (OSError, ValueError):
            return None
        return TreeEntry("folder" if stat.S_ISDIR(mode) else "file" if stat.S_ISREG(mode) else "other")

    def read(self, path: Path_) -> bytes | None:
        try:
            handle = os.open(self._at(path), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            with os.fdopen(handle, "rb") as file:
                data = file.read(MOST_FILE + 1) if stat.S_ISREG(os.fstat(handle).st_mode) else None
        except OSError:
            return None
        return data if data is not None and len(data) <= MOST_FILE else None


@dataclass
class MemoryTree:
    """A dump in memory, read from a tar archive."""

    folders: dict[Path_, dict[str, TreeEntry]] = field(default_factory=lambda: {(): {}})
    data: dict[Path_, bytes] = field(default_factory=dict)

    def add(self, path: Path_, entry: TreeEntry, data: bytes | None = None) -> None:
        """Add an entry and the folders above it. A later entry replaces an earlier one with the same name."""
        for depth in range(1, len(path)):
            above, name = path[: depth - 1], path[depth - 1]
            self.folders.setdefault(above, {}).setdefault(name, TreeEntry("folder"))
        self.folders.setdefault(path[:-1], {})[path[-1]] = entry
        if entry.kind == "folder":
            self.folders.setdefault(path, {})
        if data is not None:
            self.data[path] = data

    def names(self, folder: Path_) -> list[str]:
        return sorted(self.folders.get(folder, {}))

    def entry(self, path: Path_) -> TreeEntry | None:
        return self.folders.get(path[:-1], {}).get(path[-1]) if path else TreeEntry("folder")

    def read(self, path: Path_) -> bytes | None:
        return self.data.get(path)


@dataclass
class SubTree:
    """The part of a tree below a folder, within limits.

    Once a limit has been reached, the tree is `exhausted`, and all further entries appear to be missing.
    """

    tree: FileTree
    top: Path_
    exhausted: bool = False
    _looks: int = 0
    _bytes: int = 0

    def names(self, folder: Path_) -> list[str]:
        names = self.tree.names((*self.top, *folder)) if self._may(1) else []
        return names if self._may(len(names)) else []

    def entry(self, path: Path_) -> TreeEntry | None:
        return self.tree.entry((*self.top, *path)) if self._may(1) else None

    def read(self, path: Path_) -> bytes | None:
        data = self.tree.read((*self.top, *path)) if self._may(1) else None
        self._bytes += len(data or b"")
        self.exhausted = self.exhausted or self._bytes > MOST_TEXT
        return None if self.exhausted else data

    def _may(self, looks: int) -> bool:
        self._looks += looks
        self.exhausted = self.exhausted or self._looks > MOST_LOOKS
        return not self.exhausted
