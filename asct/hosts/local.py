"""This machine. As on other hosts, a runner executes the tasks, but it is connected through pipes.

Tasks continue even if asct is killed.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import secrets
import stat
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from asct.errors import HostError
from asct.hosts import errors
from asct.hosts.base import Host, Task, TaskResult
from asct.hosts.downloads import first_blocks, save
from asct.hosts.remote import RemoteHost
from asct.hosts.script import below
from asct.hosts.shell import ShellLink
from asct.plan.model import HostSpec

RECONNECT_S = 10.0
"""Seconds allowed for restarting a runner that was killed."""
_TAIL_BYTES = 1 << 16
_BLOCK = 1 << 18


def make(spec: HostSpec, folder: Path) -> Host:
    """Return this machine as a host. `folder` is ignored."""
    return LocalHost(spec.name, spec.workdir)


class LocalHost(RemoteHost):
    """The Host protocol on this machine.

    Tasks are submitted one at a time, so that asct never processes a result while the next one is being measured.
    """

    def __init__(self, name: str, base: str) -> None:
        super().__init__(name, "local", base, LocalLink(name), RECONNECT_S)

    def announce(self, tasks: Sequence[Task]) -> None:
        """Do nothing: each task is submitted when `run` is called for it."""

    def run(self, task: Task, on_line: Callable[[str], None] | None = None) -> TaskResult:
        """See `Host.run`. If possible, this process creates the task's folder itself, because the runner would have to
        start a program to do so."""
        if task.fresh:
            folder = below(self.name, task.main.cwd, [self.work])
            with contextlib.suppress(HostError):  # the runner reports why
                self._link.files.make_folder(folder)
        return super().run(task, on_line)


class LocalLink(ShellLink):
    """A Link that uses pipes to shells on this machine."""

    breaks_silently = False

    def __init__(self, name: str) -> None:
        super().__init__(name, lambda command: ["sh", "-c", command])

    def connect(self) -> None:
        self._files = LocalFiles(self._name)

    def alive(self) -> bool:
        return self._files is not None


class LocalFiles:
    """A FileTransfer within this machine's file system."""

    def __init__(self, name: str) -> None:
        self._name = name

    @contextlib.contextmanager
    def _errors(self, path: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            detail = errors.problem("file_failed", self._name, path=path, detail=error.strerror or str(error))
            raise HostError(self._name, detail) from error

    def fetch(self, source: str, target: Path, max_bytes: int) -> bool:
        with self._errors(source):
            if not stat.S_ISREG(Path(source).lstat().st_mode):
                raise HostError(self._name, errors.problem("not_regular", self._name, path=source))
            return self.fetch_regular(source, target, max_bytes)

    def fetch_regular(self, source: str, target: Path, max_bytes: int) -> bool:
        with self._errors(source):
            data = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            size = os.fstat(data).st_size
            if size > max_bytes:
                return False
            save(target, first_blocks(self._errors(source)(functools.partial(os.read, data)), size, _BLOCK))
            return True
        finally:
            os.close(data)

    def store(self, source: Path, target: str, partial: str, mode: int) -> None:
        """Store the file with cp(1).

        If asct wrote the file itself, a process forked by another thread at that moment would inherit the open file and
        keep it open until it executes a program. Until then, attempts to run the file would fail ("Text file busy").
        """
        self.make_folder(os.path.dirname(target))  # noqa: PTH120 - a path on the host, as in other transports
        result = subprocess.run(
            ["cp", "--", str(source), partial], check=False, capture_output=True, text=True, errors="replace"
        )
        try:
            if result.returncode:
                detail = result.stderr.strip().rpartition(": ")[2] or "cp failed"
                raise HostError(self._name, errors.problem("file_failed", self._name, path=target, detail=detail))
            with self._errors(target):
                Path(partial).chmod(mode)
                Path(partial).replace(target)
        except BaseException:
            Path(partial).unlink(missing_ok=True)
            raise

    def write(self, target: str, data: bytes) -> None:
        partial = f"{target}.{secrets.token_hex(6)}.part"
        try:
            with self._errors(target):
                with open(partial, "xb", buffering=0) as out:  # noqa: PTH123 - called for each of a thousand tasks
                    view = memoryview(data)
                    while view:
                        view = view[out.write(view) :]
                os.replace(partial, target)  # noqa: PTH105 - as above
        except BaseException:
            Path(partial).unlink(missing_ok=True)
            raise

    def sums(self, path: str) -> list[str]:
        try:
            recorded = Path(f"{path}.sha256").read_text("utf-8", "replace").split()[:1]
            content = Path(path).read_bytes()
        except OSError:
            return []
        return [*recorded, hashlib.sha256(content).hexdigest()] if recorded and os.access(path, os.X_OK) else []

    def exists(self, path: str) -> bool:
        return os.path.lexists(path)

    def make_folder(self, path: str) -> bool:
        with self._errors(path):
            try:
                Path(path).mkdir(mode=0o700)
            except FileExistsError:
                return False
            except FileNotFoundError:
                self.make_folder(os.path.dirname(path))  # noqa: PTH120 - `parents=True` would ignore the mode
                Path(path).mkdir(mode=0o700)
            return True

    def tail(self, path: str, offset: int) -> bytes:
        try:
            with self._errors(path), open(path, "rb") as file:  # noqa: PTH123 - as for `write`
                file.seek(offset)
                return file.read(_TAIL_BYTES)
        except HostError as error:
            if isinstance(error.__cause__, FileNotFoundError):
                return b""
            raise
