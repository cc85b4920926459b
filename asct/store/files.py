"""Write files atomically (temporary name, sync, rename) and append lines. Each failure becomes a StoreError with a
hint."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

from asct.diagnostics.model import Diagnostic
from asct.errors import StoreError

_AGAIN: Final = "run the command again"


def is_full(error: OSError) -> bool:
    """Return whether a write failed because of a full disk, a quota or the file size limit."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def reason_of(error: OSError) -> str:
    """Return the operating system's error message in a form that can be placed at the end of a sentence."""
    return (error.strerror or str(error)).lower()


def write_error(path: Path, error: OSError) -> StoreError:
    """Return the error for a failed attempt to write `path`, which is part of a run or a report."""
    reason = reason_of(error)
    if is_full(error):
        hint = f"free some space on the file system of {path.parent}, then {_AGAIN}"
        return StoreError(Diagnostic("E503", f"{path}: {reason}", hint=hint))
    hint = f"make {path.parent} writable, then {_AGAIN}"
    return StoreError(Diagnostic("E502", f"{path}: cannot be written: {reason}", hint=hint))


def then_run(diagnostic: Diagnostic, command: str) -> Diagnostic:
    """If the hint says to run the failed command again, let it name `command` instead."""
    return replace(diagnostic, hint=diagnostic.hint.replace(_AGAIN, f"run `{command}`"))


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Convert an OSError raised by the body to the StoreError for `path`."""
    try:
        yield
    except OSError as error:
        raise write_error(path, error) from error


def sync_folder(folder: Path) -> None:
    """Flush the entries of a folder to disk. Has no effect if the file system does not support this."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with suppress(OSError):
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_files(root: Path, folder: Path, names: Iterable[str]) -> None:
    """Flush the files `names` in `folder` to disk, together with all folders from `folder` up to `root`. Raises
    OSError."""
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
    """Replace `path` atomically: a reader sees either the old file or the new one.

    A link at `path` is replaced, not followed, because other accounts may be able to write to a results folder. If
    `sync` is False, the file is not flushed to disk. This is intended for the many small files of a repeat. Losing them
    does no harm: a repeat without a valid status.json is treated as not measured.
    """
    folder, name = os.path.split(path)  # pathlib takes longer than writing three hundred bytes
    temporary = os.path.join(folder, f".{name}.{os.getpid()}.tmp")  # noqa: PTH118 - for speed, as above
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
            os.replace(temporary, path)  # noqa: PTH105 - for speed
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)  # noqa: PTH108 - for speed
            raise
        if sync:
            sync_folder(path.parent)


def clear_unfinished(folder: Path) -> None:
    """Remove temporary files that a killed process left in `folder` and its subfolders. Only the single writer of the
    folder may do this."""
    for path in folder.rglob(".*.tmp"):
        with suppress(OSError):
            path.unlink()


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


class LineFile:
    """An append-only file of lines. Each `append` is one write; if it fails, a partial line is removed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with writing(path):
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
            self._end_last_line()
            self.size = os.fstat(self._descriptor).st_size

    def _end_last_line(self) -> None:
        """Remove an incomplete last line, so that the next line is not appended to it."""
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
        """Append complete lines (`text` must end with a newline). `sync` flushes them to disk."""
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
        """Truncate the file to `size`, which is an earlier value of `self.size`. Raises no exception."""
        with suppress(OSError):
            os.ftruncate(self._descriptor, size)
            self.size = size

    def close(self) -> None:
        """Flush and close the file. Can be called repeatedly."""
        if self._descriptor >= 0:
            with suppress(OSError):
                os.fsync(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = -1
