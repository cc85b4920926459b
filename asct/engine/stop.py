"""The request to end a run early. Signal handlers set it, and the threads that measure hosts check it between
measurements."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Literal

Reason = Literal["signal", "timeout", "fail-fast", "store"]


class StopRequest:
    """The request to end a run, and the reason for it. It uses no lock, because a signal handler must never wait."""

    def __init__(self) -> None:
        self.fail_fast = False
        """Whether a repeat that ends without values ends the run (`--fail-fast`)."""
        self.reason: Reason | None = None
        self.signal: int | None = None
        """The signal that the exit code reports (128 + number), or None if there was none."""
        self.hung_up = False
        self._reporting = False
        self._interrupted = False
        """Whether a SIGINT has arrived within `reporting`."""

    def request(self, reason: Reason) -> None:
        """Request the end of the run. The first reason is kept, except that any other reason replaces `fail-fast`."""
        if self.reason in (None, "fail-fast"):
            self.reason = reason

    def measurement_failed(self) -> None:
        """End the run because a repeat ended without values. Does nothing without `--fail-fast`."""
        if self.fail_fast:
            self.request("fail-fast")

    def on_signal(self, number: int, _frame: FrameType | None) -> None:
        """Handle a signal. A second signal has no effect, so that it cannot interrupt the cleanup, unless it ends
        `reporting`.

        A closed terminal (SIGHUP) stops a run in the same way as SIGTERM and is reported as SIGTERM, because the
        documented exit code of a run that was terminated from outside and has cleaned up is 143, not 129.
        """
        if self.signal is None:
            self.hung_up = number == signal.SIGHUP
            self.signal = signal.SIGTERM if self.hung_up else number
        self.request("signal")
        if number == signal.SIGINT and self._reporting:
            if self._interrupted:
                self._reporting = False
                raise KeyboardInterrupt
            self._interrupted = True

    @contextmanager
    def reporting(self) -> Iterator[None]:
        """While the body writes reports or output, let the second SIGINT raise KeyboardInterrupt, because this may take
        long. All other signals are handled as before."""
        self._reporting, self._interrupted = True, False
        try:
            yield
        finally:
            self._reporting = False

    @property
    def requested(self) -> bool:
        """Whether the run must end. If so, no further measurement may start."""
        return self.reason is not None

    @property
    def at_once(self) -> bool:
        """Whether running tasks must also be stopped."""
        return self.reason in ("signal", "timeout", "store")


@contextmanager
def signals(stop: StopRequest) -> Iterator[None]:
    """While the body runs, let SIGINT, SIGTERM and SIGHUP request `stop`.

    Only the main thread can install handlers; in any other thread, this function has no effect. If SIGHUP is ignored,
    as under nohup, it remains ignored.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        numbers.append(signal.SIGHUP)
    before = {number: signal.signal(number, stop.on_signal) for number in numbers}
    try:
        yield
    finally:
        if stop.hung_up:  # the shell of a closed terminal sends a second SIGHUP
            before[signal.SIGHUP] = signal.SIG_IGN
        for number, handler in before.items():
            signal.signal(number, handler)
