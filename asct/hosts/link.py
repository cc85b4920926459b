"""The connection of a `remote.RemoteHost`: commands with their three streams, and file transfer."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol

from asct.errors import HostLost, HostTimeout
from asct.hosts import errors

CHECK_S = 1.0
"""Interval of a watchdog. Limits are many seconds, and a fleet has as many watchdogs as connections."""


class Channel(Protocol):
    """A running command."""

    def send(self, data: bytes) -> None:
        """Write to its standard input; ignored when the command has ended."""
        ...

    def finish_input(self) -> None:
        """Close its standard input."""
        ...

    def receive(self, timeout_s: float) -> bytes:
        """Read from its standard output; empty at the end. Raises TimeoutError after `timeout_s` without output."""
        ...

    def receive_error(self) -> bytes:
        """Read the available part of its standard error, without waiting."""
        ...

    def status(self) -> int:
        """The exit status of the command, once the output has ended; -1 for a signal."""
        ...

    def close(self) -> None:
        """Abandon the command."""
        ...


class FileTransfer(Protocol):
    """Files by absolute path. A file that cannot be read or written raises HostError."""

    def fetch(self, source: str, target: Path, max_bytes: int) -> bool:
        """Copy a file from the host; False when it is larger than `max_bytes`. A link or device raises HostError."""
        ...

    def fetch_regular(self, source: str, target: Path, max_bytes: int) -> bool:
        """The same for a path that is known to be a regular file."""
        ...

    def store(self, source: Path, target: str, partial: str, mode: int) -> None:
        """Copy a file to the host, first as `partial`, which may exist. Missing folders get mode 0700."""
        ...

    def write(self, target: str, data: bytes) -> None:
        """Write a file of mode 0600 on the host, first under a temporary name."""
        ...

    def exists(self, path: str) -> bool:
        """Whether a file or folder of this name exists."""
        ...

    def make_folder(self, path: str) -> bool:
        """Make a folder and its parents with mode 0700; False when the name exists."""
        ...

    def tail(self, path: str, offset: int) -> bytes:
        """The content of a growing file from `offset` on, at most 64 KiB; empty while the file does not exist."""
        ...


class Link(Protocol):
    """A connection to a host. All failures are HostError; `within` limits the time of its body."""

    label: str
    """Its name in messages: `altra-01 (bench@10.0.0.7:2222)`."""
    breaks_silently: bool
    """Whether the host may disappear without closing its streams, so that a silent one must be pinged."""

    def connect(self, *, files: bool = True) -> None:
        """Connect; without `files` no file transfer is opened, which saves its exchanges."""
        ...

    def close(self) -> None: ...

    def alive(self) -> bool: ...

    def cut(self) -> None:
        """Drop the connection at once, without notifying a host that does not respond."""
        ...

    def within(self, seconds: float, doing: str) -> AbstractContextManager[None]:
        """Raises HostTimeout and drops the connection when the body takes longer; HostLost when it breaks."""
        ...

    def start(self, command: str) -> Channel:
        """Run a constant command line in the account's login shell."""
        ...

    @property
    def files(self) -> FileTransfer:
        """The connection's file transfer."""
        ...


class TimedLink:
    """The part of a Link that bounds each exchange. A watchdog ends the connection when an exchange takes too long,
    because some libraries wait for a reply without a limit."""

    breaks_silently = True
    broken: tuple[type[Exception], ...] = ()
    """The library's exceptions for a broken connection."""

    def __init__(self, name: str) -> None:
        self.label = name
        self._name = name
        self._deadline: float | None = None
        self._over: threading.Event | None = None
        self.late = False
        """Whether the watchdog ended the connection."""

    def cut(self) -> None:
        """See `Link.cut`."""
        raise NotImplementedError

    def watch(self) -> None:
        """Start the watchdog of a new connection."""
        self.unwatch()
        self._deadline, self._over, self.late = None, threading.Event(), False
        threading.Thread(target=self._check, args=(self._over,), name="asct-watch", daemon=True).start()

    def unwatch(self) -> None:
        """Stop the watchdog."""
        if self._over is not None:
            self._over.set()

    def _check(self, over: threading.Event) -> None:
        while not over.wait(CHECK_S):
            deadline = self._deadline
            if deadline is not None and time.monotonic() > deadline:
                self.late = True
                self.cut()
                return

    @contextmanager
    def within(self, seconds: float, doing: str) -> Iterator[None]:
        """See `Link.within`. A TimeoutError is the body's own. Without a network there is no limit to watch."""
        if not self.breaks_silently:
            yield
            return
        if self._over is None or self.late:
            detail = "not connected" if self._over is None else "it was dropped before"
            raise HostLost(self._name, errors.connection_lost(self.label, doing, detail))
        before, self._deadline = self._deadline, time.monotonic() + seconds
        late = HostTimeout(self._name, errors.no_answer(self.label, doing, seconds))
        try:
            yield
        except Exception as error:
            if self.late and isinstance(error, (HostLost, *self.broken)):
                raise late from error
            if isinstance(error, self.broken) and not isinstance(error, TimeoutError):
                raise HostLost(self._name, errors.connection_lost(self.label, doing, str(error))) from error
            raise
        else:
            if self.late:  # the data is incomplete
                raise late
        finally:
            self._deadline = before
