"""Whole files or none: written under a temporary name, synced, renamed. Failures become StoreError with the way out."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from asct.diagnostics.model import Diagnostic
from asct.errors import StoreError

FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""No space, over quota, over the file size limit: more room helps."""


def is_full(error: OSError) -> bool:
    """Whether `error` says that no room is left."""
    return error.errno in FULL


def write_error(path: Path, error: OSError) -> StoreError:
    """The error of a failed write to `path` below a results tree."""
    reason = (error.strerror or str(error)).lower()
    if is_full(error):
        hint = f"free some space on the file system of {path.parent}, then run `asct resume`"
        return StoreError(Diagnostic("E503", f"{path}: {reason}; the run cannot go on", hint=hint))
    hint = f"make {path.parent} writable or choose another place with `--results DIR`, then run `asct resume`"
    return StoreError(Diagnostic("E502", f"{path}: cannot be written: {reason}", hint=hint))


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn an OSError of the body into the StoreError for `path`."""
    try:
        yield
    except OSError as error:
        raise write_error(path, error) from error


def sync_folder(folder: Path) -> None:
    """Flush a folder's entries; file systems that cannot do so are left to themselves."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with suppress(OSError):
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_files(root: Path, folder: Path, names: Iterable[str]) -> None:
    """Flush files of `folder`, and the folders from it up to `root`; raises OSError."""
    for name in names:
        descriptor = os.open(folder / name, os.O_RDONLY | os.O_NOFOLLOW)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    while folder != root:
        sync_folder(folder)
        folder = folder.parent


def write_atomic(path: Path, content: str | bytes, *, sync: bool = True) -> None:
    """Put `content` at `path` as a whole: a reader sees the old file or the new one. A link in its way is replaced and
    never followed: a folder of results may be open to others.

    `sync` False leaves out flushing to the disk: for the many small files of a repeat, whose journal line is flushed
    after them and whose loss is noticed (an empty or missing status.json counts as not measured).
    """
    folder, name = os.path.split(path)  # three hundred bytes are written in less time than pathlib needs
    temporary = os.path.join(folder, f".{name}.{os.getpid()}.tmp")  # noqa: PTH118
    with writing(path):
        try:
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
            try:
                data = content.encode("utf-8", errors="backslashreplace") if isinstance(content, str) else content
                _write_all(descriptor, data)
                if sync:
                    os.fsync(descriptor)
            finally:
                os.close(descriptor)
            os.replace(temporary, path)  # noqa: PTH105
        except OSError:
            with suppress(OSError):
                os.unlink(temporary)  # noqa: PTH108
            raise
        if sync:
            sync_folder(path.parent)


def clear_unfinished(folder: Path) -> None:
    """Remove what `write_atomic` left anywhere below `folder` when its process was killed; only for its one writer."""
    for path in folder.rglob(".*.tmp"):
        with suppress(OSError):
            path.unlink()


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


class LineFile:
    """An append-only file of lines. Each `append` is one write; a line that fails half-way is taken back."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with writing(path):
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
            self._end_last_line()
            self.size = os.fstat(self._descriptor).st_size

    def _end_last_line(self) -> None:
        """Cut off a torn last line, so that appending after a crash does not glue two lines together."""
        size = os.fstat(self._descriptor).st_size
        position = size
        while position > 0:
            start = max(0, position - 65536)
            block = os.pread(self._descriptor, position - start, start)
            if (found := block.rfind(b"\n")) >= 0:
                position = start + found + 1
                break
            position = start
        if position != size:
            os.ftruncate(self._descriptor, position)

    def append(self, text: str, *, sync: bool) -> None:
        """Append whole lines (`text` ends with a newline); `sync` flushes them to the disk."""
        with writing(self.path):
            data = text.encode("utf-8", errors="backslashreplace")
            try:
                _write_all(self._descriptor, data)
            except OSError:
                self.take_back(self.size)
                raise
            self.size += len(data)
            if sync:
                os.fdatasync(self._descriptor)

    def take_back(self, size: int) -> None:
        """Cut the file back to `size`, an earlier value of `self.size`; never raises."""
        with suppress(OSError):
            os.ftruncate(self._descriptor, size)
            self.size = size

    def close(self) -> None:
        """Flush and close; closing twice is harmless."""
        if self._descriptor >= 0:
            with suppress(OSError):
                os.fsync(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = -1
