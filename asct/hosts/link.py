"""What `remote.RemoteHost` needs of a connection: commands with three streams, and files."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol

from asct.errors import HostLost, HostTimeout
from asct.hosts import errors

CHECK_S = 1.0
"""Each connection has a watchdog, and those of a fleet are many; a limit is of many seconds."""


class Channel(Protocol):
    """One running command."""

    def send(self, data: bytes) -> None:
        """To its standard input. A command that has ended loses it silently."""
        ...

    def finish_input(self) -> None:
        """End of its standard input."""
        ...

    def receive(self, timeout_s: float) -> bytes:
        """From its standard output; empty at the end; raises TimeoutError when nothing came in time."""
        ...

    def receive_error(self) -> bytes:
        """What is there of its standard error, without waiting."""
        ...

    def status(self) -> int:
        """Its exit status once the output has ended; -1 when a signal ended it."""
        ...

    def close(self) -> None:
        """Give it up."""
        ...


class FileTransfer(Protocol):
    """Files by absolute path. A file that cannot be read or written raises HostError."""

    def fetch(self, source: str, target: Path, max_bytes: int) -> bool:
        """Copy a file here; False when it is larger than `max_bytes`. A link or device raises HostError."""
        ...

    def fetch_regular(self, source: str, target: Path, max_bytes: int) -> bool:
        """The same for a path that is known to be a regular file."""
        ...

    def store(self, source: Path, target: str, partial: str, mode: int) -> None:
        """Copy a file there under the name `partial`, whatever has that, then rename. Missing folders get mode 0700."""
        ...

    def write(self, target: str, data: bytes) -> None:
        """Make a file of mode 0600 there under a temporary name, then rename."""
        ...

    def exists(self, path: str) -> bool:
        """Whether something of that name is there."""
        ...

    def make_folder(self, path: str) -> bool:
        """Make a folder with mode 0700, and those above it; False when something of that name exists already."""
        ...

    def tail(self, path: str, offset: int) -> bytes:
        """What stands in a growing file from `offset` on, at most 64 KiB; empty when it does not exist yet."""
        ...


class Link(Protocol):
    """A connection to one host. All failures are HostError; `within` bounds what is done inside it."""

    label: str
    """How messages name it: `altra-01 (bench@10.0.0.7:2222)`."""
    breaks_silently: bool
    """Whether the host may be gone without an end of the streams, so that a silent one has to be asked."""

    def connect(self, *, files: bool = True) -> None:
        """Make the connection; without `files` its file transfer is not opened, which takes exchanges of its own."""
        ...

    def close(self) -> None: ...

    def alive(self) -> bool: ...

    def cut(self) -> None:
        """Give the connection up at once, without a word to the host: it does not answer."""
        ...

    def within(self, seconds: float, doing: str) -> AbstractContextManager[None]:
        """Raises HostTimeout, and ends the connection, when the body takes longer; HostLost when it breaks."""
        ...

    def extend(self, seconds: float) -> None:
        """Move the end of the current `within` to `seconds` from now."""
        ...

    def start(self, command: str) -> Channel:
        """Run a command line of ours (no values in it) in the account's login shell."""
        ...

    @property
    def files(self) -> FileTransfer:
        """The connection's file transfer."""
        ...


class TimedLink:
    """The part of a Link that bounds each exchange. A watchdog ends the connection when an exchange takes too long,
    because some libraries wait for an answer without a limit."""

    breaks_silently = True

    def __init__(self, name: str, cut: Callable[[], None], *broken: type[Exception]) -> None:
        """`cut` gives the connection up; `broken` are the exceptions of a connection that broke."""
        self.label = name
        self._name = name
        self._on_late = cut
        self._broken = broken
        self._deadline: float | None = None
        self._over: threading.Event | None = None
        self.late = False
        """Whether the watchdog ended the connection."""

    def watch(self) -> None:
        """Begin to watch a new connection."""
        self.unwatch()
        self._deadline, self._over, self.late = None, threading.Event(), False
        threading.Thread(target=self._check, args=(self._over,), name="asct-watch", daemon=True).start()

    def unwatch(self) -> None:
        """Watch no more."""
        if self._over is not None:
            self._over.set()

    def _check(self, over: threading.Event) -> None:
        while not over.wait(CHECK_S):
            deadline = self._deadline
            if deadline is not None and time.monotonic() > deadline:
                self.late = True
                self._on_late()
                return

    def extend(self, seconds: float) -> None:
        """As of `Link`."""
        self._deadline = time.monotonic() + seconds

    @contextmanager
    def within(self, seconds: float, doing: str) -> Iterator[None]:
        """As of `Link`. A TimeoutError is the body's own."""
        if self._over is None or self.late:
            detail = "not connected" if self._over is None else "it was given up before"
            raise HostLost(self._name, errors.connection_lost(self.label, doing, detail))
        before, self._deadline = self._deadline, time.monotonic() + seconds
        late = HostTimeout(self._name, errors.no_answer(self.label, doing, seconds))
        try:
            yield
        except Exception as error:
            if self.late and isinstance(error, (HostLost, *self._broken)):
                raise late from error
            if isinstance(error, self._broken) and not isinstance(error, TimeoutError):
                raise HostLost(self._name, errors.connection_lost(self.label, doing, str(error))) from error
            raise
        else:
            if self.late:  # what was read until then is incomplete
                raise late
        finally:
            self._deadline = before
