"""File transfer over ssh: small files through a shell, large and growing ones over sftp (paramiko)."""

from __future__ import annotations

import contextlib
import errno
import posixpath
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from asct.errors import HostError
from asct.hosts import errors
from asct.hosts.downloads import first_blocks, save
from asct.hosts.link import Channel
from asct.hosts.shell_files import ShellFiles

_SMALL = 1 << 20
"""Maximum size of a file, in bytes, that is copied through the shell."""
_BLOCK = 1 << 18
_READ = 32768
"""Number of bytes per sftp read."""


class SshFiles(ShellFiles):
    """A FileTransfer through a shell, and over sftp for large files.

    A small file takes one request through the shell and five over sftp. The shell starts programs for each request,
    however, so that growing files are read over sftp: it must not compute beside a measurement. `sftp` opens the sftp
    channel when it is first needed, and returns None if the server provides none; the shell then copies everything.
    """

    def __init__(self, host: str, label: str, channel: Channel, sftp: Callable[[], Sftp | None]) -> None:
        super().__init__(host, label, channel)
        self._sftp = sftp

    def fetch(self, source: str, target: Path, max_bytes: int) -> bool:
        if super().fetch(source, target, min(max_bytes, _SMALL)):
            return True
        if max_bytes <= _SMALL:
            return False
        sftp = self._sftp()
        return sftp.fetch(source, target, max_bytes) if sftp else super().fetch(source, target, max_bytes)

    fetch_regular = fetch

    def store(self, source: Path, target: str, partial: str, mode: int) -> None:
        sftp = self._sftp() if source.stat().st_size > _SMALL else None
        if sftp is None:
            super().store(source, target, partial, mode)
            return
        self.make_folder(posixpath.dirname(target))
        sftp.store(source, target, partial, mode)

    def tail(self, path: str, offset: int) -> bytes:
        sftp = self._sftp()
        return sftp.tail(path, offset) if sftp else super().tail(path, offset)


class Sftp:
    """Bounded reads and atomic writes over sftp. `client` is a paramiko.SFTPClient; `alive` distinguishes file errors
    from a broken connection."""

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
        """See `FileTransfer.fetch_regular`.

        The file object is left to the garbage collector, because paramiko then closes it without waiting for a reply.
        """
        with self._errors(source):
            file = self._client.open(source, "rb")
            size = file.stat().st_size or 0
            if size > max_bytes:
                return False
            file.prefetch(size)
        save(target, first_blocks(self._errors(source)(file.read), size, _READ))
        return True

    def store(self, source: Path, target: str, partial: str, mode: int) -> None:
        """See `FileTransfer.store`. The folder must exist."""
        with contextlib.suppress(HostError), self._errors(partial):  # the file usually does not exist
            self._client.remove(partial)
        with self._errors(target), source.open("rb") as data:
            try:
                self._copy(iter(lambda: data.read(_BLOCK), b""), partial, mode)
                self._client.posix_rename(partial, target)
            except BaseException:
                with contextlib.suppress(OSError, EOFError):
                    self._client.remove(partial)
                raise

    def _copy(self, blocks: Iterable[bytes], partial: str, mode: int) -> None:
        size = 0
        with self._client.open(partial, "wbx") as file:
            file.set_pipelined(True)
            for block in blocks:
                file.write(block)
                size += len(block)
            file.chmod(mode)
            if file.stat().st_size != size:  # paramiko ignores the replies to pipelined writes
                raise OSError(errno.ENOSPC, "the file is incomplete: the disk is full or a quota is exceeded")

    def tail(self, path: str, offset: int) -> bytes:
        """See `FileTransfer.tail`."""
        try:
            with self._client.open(path, "rb") as file:
                file.seek(offset)
                return bytes(file.read(2 * _READ))
        except FileNotFoundError:
            return b""
