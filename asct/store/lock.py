"""One writer per run: an flock on a file of the run's folder, gone with the process that holds it."""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path

from asct.diagnostics.model import Diagnostic
from asct.errors import SafetyError
from asct.store.files import writing


class RunLock:
    """Held from `take` to `release`. The file stays: removing it would let two writers hold different inodes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor = -1

    def take(self) -> None:
        """Raises SafetyError (E504) naming the process that holds it."""
        with writing(self.path):
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(descriptor, 64, 0).decode("ascii", errors="replace").strip() or "unknown"
            os.close(descriptor)
            message = f"{self.path.parent}: another asct writes into this run (process {holder})"
            raise SafetyError(Diagnostic("E504", message, hint="wait for it to end, or stop it")) from None
        except OSError:  # a file system without locks: one writer is then the user's care
            os.close(descriptor)
            return
        with suppress(OSError):
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{os.getpid()}\n".encode("ascii"), 0)
        self._descriptor = descriptor

    def release(self) -> None:
        """Let go; harmless when not held."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
