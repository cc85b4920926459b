"""The lock of this machine: one run measures on it at a time. File and card beside it are those of runner.sh."""

from __future__ import annotations

import fcntl
import os
import stat
import time
from contextlib import suppress
from pathlib import Path

from asct.errors import ConnectError, HostLocked
from asct.hosts import problems
from asct.hosts.folders import began, boot_id

LOCK = Path("/var/tmp/asct.lock")  # noqa: S108 - one path for all accounts; opened for reading, never followed as a link
SECOND_LOOK_S = 1.0


class HostLock:
    """Held from `take` to `release`, and gone with this process. `.card` tells others who holds it."""

    def __init__(self, host: str, path: Path = LOCK) -> None:
        self._host = host
        self._path = path
        self._held = -1
        self._shown = False

    @property
    def card(self) -> Path:
        """Process, its start and boot in a line, then its owner in words; one for each account."""
        return self._path.with_name(f"{self._path.name}.{os.getuid()}")

    def take(self, owner: str) -> None:
        """Raises HostLocked with what the holder says of itself, ConnectError when there can be no lock."""
        try:
            self._held = self._opened()
            if not self._locked():
                time.sleep(SECOND_LOOK_S)  # the run before may be about to end
                if not self._locked():
                    raise self._refusal()
            self._show(owner)
        except OSError as error:
            self.release()
            detail = f"{self._path}: {error.strerror or error}"
            raise ConnectError(
                self._host, problems.no_work_folder(self._host, str(self._path.parent), detail)
            ) from error
        except HostLocked:
            self.release()
            raise

    def release(self) -> None:
        """Let go; harmless when not held."""
        held, self._held = self._held, -1
        if held < 0:
            return
        if self._shown:
            self._shown = False
            with suppress(OSError):
                self.card.unlink()  # this process may live on, and would be taken for the holder
        os.close(held)

    def _opened(self) -> int:
        """The file of the lock for reading: another account may have made it."""
        if not self._path.exists():
            with suppress(FileExistsError):
                made = os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o666)
                os.fchmod(made, 0o666)
                os.close(made)
        found = os.open(self._path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        if not stat.S_ISREG(os.fstat(found).st_mode):
            os.close(found)
            raise FileNotFoundError(0, "is not a file")
        return found

    def _locked(self) -> bool:
        try:
            fcntl.flock(self._held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return os.path.samestat(os.fstat(self._held), self._path.stat())

    def _show(self, owner: str) -> None:
        """For messages only: not to be had when another account has taken the name."""
        with suppress(OSError):
            self.card.unlink(missing_ok=True)
            made = os.open(self.card, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o644)
            with os.fdopen(made, "w") as file:
                file.write(f"{os.getpid()} {began(os.getpid())} {boot_id()}\n{owner}\n")
            self._shown = True

    def _refusal(self) -> HostLocked:
        for card in sorted(self._path.parent.glob(f"{self._path.name}.[0-9]*")):
            with suppress(OSError, ValueError):
                first, owner = card.read_text("utf-8", "replace").split("\n")[:2]
                pid, start, _boot = first.split(" ")
                if start and began(int(pid)) == start:
                    age = f"{max(0.0, time.time() - card.stat().st_mtime):.0f}"
                    return HostLocked(self._host, owner, problems.host_locked(self._host, owner, pid, age))
        return HostLocked(self._host, "", problems.host_locked(self._host, "unknown", "0", "0"))
