"""Open the output files that the user specifies. A device is never opened; an existing file is opened only with the
user's consent."""

from __future__ import annotations

import errno
import logging
import os
import re
import stat
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TextIO

import asct
from asct.diagnostics.model import Diagnostic
from asct.errors import StoreError, UsageError
from asct.store.files import reason_of

_KINDS = {
    stat.S_IFBLK: "a block device",
    stat.S_IFCHR: "a character device",
    stat.S_IFDIR: "a directory",
    stat.S_IFSOCK: "a socket",
}


_LOG_START_LENGTH = 64
_LOG_START = re.compile(rb"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} [A-Z]+ |Traceback \(most recent call last\):")
"""The beginning of a log. With a level such as `error`, a log may begin with the traceback of a bug in asct."""


def check_output(path: Path, *, force: bool = False, append: bool = False) -> bool:
    """Return whether the file exists.

    Raises UsageError if it is neither a regular file nor a pipe, or if it exists and neither `force` (overwrite) nor
    `append` is set. Raises StoreError if it cannot be examined.
    """
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return False
    except OSError as problem:
        raise _unwritable(path, problem) from problem
    _check_mode(path, mode, force or append)
    return True


def check_log(path: Path) -> None:
    """Raise UsageError if `path` is neither a pipe nor a regular file, or if it contains something other than a log of
    asct. Raises StoreError if it cannot be examined."""
    if not (check_output(path, append=True) and path.is_file()):
        return
    try:
        with path.open("rb") as file:
            start = file.read(_LOG_START_LENGTH)
    except OSError as problem:
        raise _unwritable(path, problem) from problem
    if start and not _LOG_START.match(start):
        hint = "choose another name: `--log-file` appends only to an empty file or to a log of asct"
        raise UsageError(Diagnostic("E911", f"{path} already exists and is not a log of asct", hint=hint))


def open_output(path: Path, *, force: bool = False, append: bool = False) -> TextIO:
    """Open a file for output according to the rules of `check_output`. The file is truncated unless `append` is set.
    Before that, the check is repeated on the open file, in case a device has replaced it in the meantime.
    """
    exists = check_output(path, force=force, append=append)
    flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOCTTY | (os.O_APPEND if append else 0)
    if not (exists or force or append):
        flags |= os.O_EXCL
    try:
        descriptor = os.open(path, flags, 0o666)
    except FileExistsError as problem:
        raise _existing(path) from problem
    except OSError as problem:
        raise _unwritable(path, problem) from problem
    try:
        mode = os.fstat(descriptor).st_mode
        _check_mode(path, mode, force or append or not exists)
        if stat.S_ISREG(mode) and not append:
            os.ftruncate(descriptor, 0)
        return os.fdopen(descriptor, "a" if append else "w", encoding="utf-8")
    except BaseException:
        os.close(descriptor)
        raise


def output_folder(path: Path) -> None:
    """Create the output directory that the user specifies, if necessary. Raises StoreError if nothing can be written to
    it."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        if not os.access(path, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as problem:
        raise _unwritable(path, problem) from problem


def occupant(folder: Path) -> str:
    """Return the name of any file or folder in `folder` other than the log of this command (`--log-file`), or an empty
    string if there is none. Raises OSError."""
    logs = log_names(folder)
    return next((path.name for path in folder.iterdir() if path.name not in logs), "")


def log_names(folder: Path) -> set[str]:
    """Return the names of the files and folders directly in `folder` that are or contain a log of this command."""
    root = folder.resolve()
    return {log.relative_to(root).parts[0] for log in open_logs() if log.is_relative_to(root)}


def open_logs() -> set[Path]:
    """Return the files to which this process logs."""
    handlers = logging.getLogger(asct.__name__).handlers
    return {Path(one.baseFilename).resolve() for one in handlers if isinstance(one, logging.FileHandler)}


def write_output(path: Path, text: str, *, force: bool) -> None:
    """Write `text` to a file that the user specifies. If this fails, remove the incomplete file. Raises the same
    exceptions as `open_output`."""
    try:
        with open_output(path, force=force) as file:
            file.write(text)
    except OSError as problem:  # also if a second attempt to write the buffered text fails when the file is closed
        with suppress(OSError):
            if path.is_file():
                path.unlink()
        raise _unwritable(path, problem) from problem


class LogFile(logging.FileHandler):
    """A log that a full disk neither interrupts nor fills the terminal with tracebacks: `lost` receives the first
    error."""

    def __init__(self, path: Path, lost: Callable[[StoreError], None]) -> None:
        super().__init__(path, encoding="utf-8")
        self._lost: Callable[[StoreError], None] | None = lost

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the name in the standard library
        problem = sys.exc_info()[1]
        if not isinstance(problem, OSError):
            super().handleError(record)
        elif self._lost is not None:
            lost, self._lost = self._lost, None
            lost(_unwritable(Path(self.baseFilename), problem))

    def close(self) -> None:
        with suppress(OSError):  # `lost` has already received the error
            super().close()


def _check_mode(path: Path, mode: int, overwrite: bool) -> None:
    if stat.S_ISFIFO(mode):
        return
    if not stat.S_ISREG(mode):
        kind = _KINDS.get(stat.S_IFMT(mode), "not a regular file")
        hint = "choose another name: asct writes output only to regular files and pipes, even with `--force`"
        raise UsageError(Diagnostic("E915", f"{path} is {kind}; nothing was written to it", hint=hint))
    if not overwrite:
        raise _existing(path)


def _existing(path: Path) -> UsageError:
    hint = "choose another name, or add `--force` to overwrite it"
    return UsageError(Diagnostic("E911", f"{path} already exists", hint=hint))


def _unwritable(path: Path, problem: OSError) -> StoreError:
    return StoreError(
        Diagnostic("E912", f"cannot write {path}: {reason_of(problem)}", hint="choose a writable location")
    )
