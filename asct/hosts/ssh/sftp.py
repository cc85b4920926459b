"""File transfer over sftp (paramiko): bounded reads, atomic writes."""

from __future__ import annotations

import contextlib
import errno
import posixpath
import secrets
import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from asct.errors import HostError
from asct.hosts import errors
from asct.hosts.downloads import first_blocks, save

_BLOCK = 1 << 18
READ_BYTES = 32768
"""Number of bytes per sftp read. A smaller file requires only one read."""


class Files:
    """A FileTransfer over sftp. `client` is a paramiko.SFTPClient; `alive` distinguishes file errors from a broken
    connection."""

    def __init__(self, name: str, client: Any, alive: Callable[[], bool]) -> None:
        self._name = name
        self._client = client
        self._alive = alive

    @contextlib.contextmanager
    def _errors(self, path: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if isinstance(error, TimeoutError) or not self._alive():
                raise
            detail = error.strerror or str(error) or type(error).__name__
            raise HostError(self._name, errors.problem("file_failed", self._name, path=path, detail=detail)) from error

    def fetch(self, source: str, target: Path, max_bytes: int) -> bool:
        with self._errors(source):
            if not stat.S_ISREG(self._client.lstat(source).st_mode or 0):
                raise HostError(self._name, errors.problem("not_regular", self._name, path=source))
            return self.fetch_regular(source, target, max_bytes)

    def fetch_regular(self, source: str, target: Path, max_bytes: int) -> bool:
        """See `FileTransfer.fetch_regular`.

        The file object is left to the garbage collector, because paramiko then closes it without waiting for a reply.
        """
        with self._errors(source):
            file = self._client.open(source, "rb")
            size = file.stat().st_size or 0
            if size > max_bytes:
                return False
            if size > READ_BYTES:
                file.prefetch(size)
        save(target, first_blocks(self._errors(source)(file.read), size, READ_BYTES))
        return True

    def store(self, source: Path, target: str, partial: str, mode: int) -> None:
        with contextlib.suppress(HostError), self._errors(partial):  # the file usually does not exist
            self._client.remove(partial)
        with source.open("rb") as data:
            self._place(target, partial, iter(lambda: data.read(_BLOCK), b""), mode)

    def write(self, target: str, data: bytes) -> None:
        blocks = (data[start : start + _BLOCK] for start in range(0, len(data), _BLOCK))
        self._place(target, f"{target}.{secrets.token_hex(6)}.part", blocks, 0o600)

    def _place(self, target: str, partial: str, blocks: Iterable[bytes], mode: int) -> None:
        with self._errors(target):
            try:
                file = self._client.open(partial, "wbx")
            except FileNotFoundError:
                self._make_folder(posixpath.dirname(partial))
                file = self._client.open(partial, "wbx")
            try:
                size = 0
                with file:
                    file.set_pipelined(True)
                    for block in blocks:
                        file.write(block)
                        size += len(block)
                    file.chmod(mode)
                    if file.stat().st_size != size:  # paramiko ignores the replies to pipelined writes
                        raise OSError(errno.ENOSPC, "the file is incomplete: the disk is full or a quota is exceeded")
                self._client.posix_rename(partial, target)
            except BaseException:
                with contextlib.suppress(OSError, EOFError):
                    self._client.remove(partial)
                raise

    def exists(self, path: str) -> bool:
        with self._errors(path):
            return self._exists(path)

    def make_folder(self, path: str) -> bool:
        with self._errors(path):
            try:
                self._client.mkdir(path, 0o700)
            except OSError:
                if self._exists(path):
                    return False
                self._make_folder(path)
        return True

    def _exists(self, path: str) -> bool:
        try:
            self._client.lstat(path)
        except FileNotFoundError:
            return False
        return True

    def _make_folder(self, path: str) -> None:
        parent = posixpath.dirname(path)
        if not self._exists(parent):
            self._make_folder(parent)
        self._client.mkdir(path, 0o700)

    def tail(self, path: str, offset: int) -> bytes:
        try:
            with self._client.open(path, "rb") as file:
                file.seek(offset)
                return bytes(file.read(2 * READ_BYTES))
        except FileNotFoundError:
            return b""
