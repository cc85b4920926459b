"""The request to end a run early: checked by the thread of each host between measurements, set by signal handlers."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Literal

Reason = Literal["signal", "timeout", "fail-fast", "store"]


class StopRequest:
    """Whether and why a run must end. There is no lock because a signal handler must never wait."""

    def __init__(self, *, fail_fast: bool = False) -> None:
        self._fail_fast = fail_fast
        self.reason: Reason | None = None
        self.signal: int | None = None
        """The signal that the exit code reports (128 + number)."""
        self.hung_up = False

    def request(self, reason: Reason) -> None:
        """Request the end; the first reason is kept, but any other one replaces `fail-fast`."""
        if self.reason in (None, "fail-fast"):
            self.reason = reason

    def measurement_failed(self) -> None:
        """With `--fail-fast`, end the run because a repeat ended without values."""
        if self._fail_fast:
            self.request("fail-fast")

    def on_signal(self, number: int, _frame: FrameType | None) -> None:
        """Handle a signal; a second one changes nothing, so that cleaning up is never cut short.

        A closed terminal (SIGHUP) ends a run like SIGTERM and is reported as such: 143 is the exit code documented for
        a run that was ended from outside after cleaning up, 129 has no meaning there.
        """
        if self.signal is None:
            self.hung_up = number == signal.SIGHUP
            self.signal = signal.SIGTERM if self.hung_up else number
        self.request("signal")

    @property
    def requested(self) -> bool:
        """No further measurement may begin."""
        return self.reason is not None

    @property
    def at_once(self) -> bool:
        """Whether running tasks must be stopped as well."""
        return self.reason in ("signal", "timeout", "store")


@contextmanager
def signals(stop: StopRequest) -> Iterator[None]:
    """SIGINT, SIGTERM and SIGHUP request `stop` while the body runs. Only the main thread can install handlers, others
    leave them alone. A SIGHUP that is ignored, as below nohup, stays ignored."""
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
        if stop.hung_up:  # the shell of a closed terminal sends another one
            before[signal.SIGHUP] = signal.SIG_IGN
        for number, handler in before.items():
            signal.signal(number, handler)
