"""The connection used by a `remote.RemoteHost`: commands with their three standard streams, and file transfers."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from asct.errors import HostError, HostLost, HostTimeout
from asct.hosts import errors

CHECK_S = 1.0
"""The interval, in seconds, between a watchdog's checks. A long interval is sufficient because time limits are many
seconds long, and it saves CPU time because a fleet has one watchdog per connection."""
SLOWEST = 10_000
"""Bytes per second that a file transfer must reach on average, so that it does not end at the time limit."""

ANSWER_S = 8.0
"""Seconds of silence after which a host is considered lost while asct ends its session. Even at the rate `SLOWEST`, the
answer to a request arrives sooner, because no more than a block of a file is ahead of the request."""


class Channel(Protocol):
    """A running command on a host."""

    def send(self, data: bytes) -> None:
        """Write to the command's standard input. Has no effect after the command has ended."""
        ...

    def finish_input(self) -> None:
        """Close the command's standard input."""
        ...

    def receive(self, timeout_s: float) -> bytes:
        """Read from the command's standard output. Return empty bytes at the end of the output.

        Raises TimeoutError if nothing arrives within `timeout_s`.
        """
        ...

    def receive_error(self) -> bytes:
        """Read the part of the command's standard error that is already available, without waiting."""
        ...

    def message(self) -> str:
        """Return the standard error of a shell that failed to start, as one line."""
        ...

    def status(self) -> int:
        """Return the exit status of the command, or -1 if a signal killed it. The command's output must already have
        ended."""
        ...

    def close(self) -> None:
        """Abandon the command."""
        ...


def quoted(error: bytes) -> str:
    """Return standard error as one line for a diagnostic."""
    return "; ".join(error.decode("utf-8", "replace").splitlines())[: errors.QUOTED]


class FileTransfer(Protocol):
    """Transfers files by absolute path. Raises HostError if a file cannot be read or written."""

    def fetch(self, source: str, target: Path, max_bytes: int) -> bool:
        """Copy a file from the host. Returns False if it is larger than `max_bytes`. Raises HostError for a link or
        device."""
        ...

    def fetch_regular(self, source: str, target: Path, max_bytes: int) -> bool:
        """Copy a file like `fetch`, but only if the path is already known to refer to a regular file."""
        ...

    def store(self, source: Path, target: str, partial: str, mode: int) -> None:
        """Copy a file to the host under the name `partial`, which may already exist, then rename it. Missing folders
        are created with mode 0700."""
        ...

    def write(self, target: str, data: bytes) -> None:
        """Write a file with mode 0600 on the host under a temporary name, then rename it."""
        ...

    def sums(self, path: str) -> list[str]:
        """Return the SHA-256 recorded in `path`.sha256 and, if the host can compute it, that of the executable file
        `path`. Return an empty list if one of the files is missing or not executable."""
        ...

    def exists(self, path: str) -> bool:
        """Return whether a file or folder with this path exists."""
        ...

    def make_folder(self, path: str) -> bool:
        """Create a folder and its parents with mode 0700. Returns False if the path already exists."""
        ...

    def tail(self, path: str, offset: int) -> bytes:
        """Return at most 64 KiB of a growing file, starting at `offset`, or no bytes if the file does not exist yet."""
        ...


class Link(Protocol):
    """A connection to a host. Every failure raises HostError. `within` limits the duration of a `with` statement's
    body."""

    label: str
    """The name of the connection in messages, such as `altra-01 (bench@10.0.0.7:2222)`."""
    breaks_silently: bool
    """Whether the host may disappear without closing its streams. If so, asct must ping the host after a period of
    silence."""

    def connect(self) -> None:
        """Connect. Raises ConnectError."""
        ...

    def close(self) -> None: ...

    def alive(self) -> bool: ...

    def cut(self) -> None:
        """Drop the connection immediately, without notifying the host, because the host may not respond."""
        ...

    def hurry(self) -> None:
        """From now on, drop this connection if the host gives no sign of life for `ANSWER_S`, as if a time limit had
        been reached. Returns immediately; may be called from any thread. Links that cannot ask for a sign of life
        ignore this."""
        ...

    def within(
        self, seconds: float, doing: str, interrupted: Callable[[], bool] = lambda: False
    ) -> AbstractContextManager[None]:
        """Limit the duration of the `with` body in seconds. The time during which a file is copied does not count.

        Raises HostTimeout and drops the connection if the body takes longer. Raises HostLost if the connection breaks,
        and HostError if `interrupted` returns true while a file transfer waits for data.
        """
        ...

    def start(self, command: str) -> Channel:
        """Run a constant command line in the account's login shell."""
        ...

    @property
    def files(self) -> FileTransfer:
        """The file transfer over this connection. Use it within the body of `within`, since it may open a channel."""
        ...


@dataclass(slots=True)
class _Exchange:
    """The body of a `within` statement."""

    doing: str
    seconds: float
    interrupted: Callable[[], bool]
    deadline: float


class TimedLink:
    """The part of a Link that limits the duration of each exchange.

    Because some libraries wait for a reply indefinitely, a watchdog drops the connection if an exchange takes too long.
    """

    breaks_silently = True
    broken: tuple[type[Exception], ...] = ()
    """The exceptions that the library raises for a broken connection."""

    def __init__(self, name: str) -> None:
        self.label = name
        self._name = name
        self._exchange: _Exchange | None = None
        self._over: threading.Event | None = None
        self._hurried = False
        self.asked: float | None = None
        """When the host was asked for a sign of life, or None if it has answered since."""
        self.late = 0.0
        """The time limit, in seconds, at which the watchdog dropped the connection, or 0 if it did not."""

    def cut(self) -> None:
        """See `Link.cut`."""
        raise NotImplementedError

    def hurry(self) -> None:
        """See `Link.hurry`."""
        self._hurried = True

    def ask(self) -> None:
        """Ask the host for a sign of life, without waiting for it: set `asked`, and reset it when the answer arrives. A
        link that cannot ask does nothing."""

    def heard(self) -> float:
        """Return when anything last arrived from the host. A slow connection may deliver other data before the
        answer."""
        return 0.0

    def watch(self) -> None:
        """Start the watchdog for a new connection."""
        self.unwatch()
        self._exchange, self._over, self.late = None, threading.Event(), 0.0
        self._hurried, self.asked = False, None
        threading.Thread(target=self._check, args=(self._over,), name="asct-watch", daemon=True).start()

    def unwatch(self) -> None:
        """Stop the watchdog."""
        if self._over is not None:
            self._over.set()

    def _check(self, over: threading.Event) -> None:
        while not over.wait(CHECK_S):
            if self._hurried and self.asked is None:
                self.ask()
            if limit_s := self.overdue():
                self.late = limit_s
                self.cut()
                return

    def overdue(self) -> float:
        """Return the time limit, in seconds, that has been exceeded: that of the current exchange, or that for a sign
        of life. Return 0 if there is none."""
        now, asked, exchange = time.monotonic(), self.asked, self._exchange
        if asked is not None and now - max(asked, self.heard()) > ANSWER_S:
            return ANSWER_S
        return exchange.seconds if exchange is not None and now > exchange.deadline else 0.0

    def progress(self, size: int) -> None:
        """Postpone the time limit of the exchange because `size` bytes of a file have been copied, but never beyond the
        full time limit from now. Raises HostError if the exchange was interrupted."""
        exchange = self._exchange
        if exchange is None:
            return
        if exchange.interrupted():
            raise HostError(self._name, errors.problem("interrupted", self.label, doing=exchange.doing))
        exchange.deadline = min(time.monotonic() + exchange.seconds, exchange.deadline + size / SLOWEST)

    @contextmanager
    def within(self, seconds: float, doing: str, interrupted: Callable[[], bool] = lambda: False) -> Iterator[None]:
        """See `Link.within`. A TimeoutError raised by the body is propagated. Links that do not use a network need no
        limit."""
        if not self.breaks_silently:
            yield
            return
        if self._over is None or self.late:
            detail = "not connected" if self._over is None else "it had already been dropped"
            raise HostLost(self._name, errors.connection_lost(self.label, doing, detail))
        before = self._exchange
        self._exchange = _Exchange(doing, seconds, interrupted, time.monotonic() + seconds)
        try:
            yield
        except Exception as error:
            if self.late and isinstance(error, (HostLost, *self.broken)):
                raise self._no_answer(doing) from error
            if isinstance(error, self.broken) and not isinstance(error, TimeoutError):
                raise HostLost(self._name, errors.connection_lost(self.label, doing, str(error))) from error
            raise
        else:
            if self.late:  # the data is incomplete
                raise self._no_answer(doing)
        finally:
            self._exchange = before

    def _no_answer(self, doing: str) -> HostTimeout:
        return HostTimeout(self._name, errors.problem("no_answer", self.label, doing=doing, seconds=self.late))
