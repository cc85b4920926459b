"""Why a run ends early. Asked by every host's thread between measurements; set from a signal handler too."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Literal

Reason = Literal["signal", "timeout", "fail-fast", "store"]


class StopRequest:
    """Plain attributes, no lock: the handler runs between two instructions of the main thread and must never wait."""

    def __init__(self, *, fail_fast: bool = False) -> None:
        self._fail_fast = fail_fast
        self.reason: Reason | None = None
        self.signal: int | None = None

    def request(self, reason: Reason) -> None:
        """Ask for the end; the first reason stays, except that a signal wins over `fail-fast`."""
        if self.reason is None or (reason in ("signal", "timeout", "store") and self.reason == "fail-fast"):
            self.reason = reason

    def measurement_failed(self) -> None:
        """A repeat ended without values: with `--fail-fast` no further one begins."""
        if self._fail_fast:
            self.request("fail-fast")

    def on_signal(self, number: int, _frame: FrameType | None) -> None:
        """The signal handler: a second signal changes nothing, so that cleaning up is never cut short half-way."""
        if self.signal is None:
            self.signal = number
        self.request("signal")

    @property
    def requested(self) -> bool:
        """No further measurement may begin."""
        return self.reason is not None

    @property
    def at_once(self) -> bool:
        """What runs now must end too."""
        return self.reason in ("signal", "timeout", "store")


@contextmanager
def signals(stop: StopRequest) -> Iterator[None]:
    """SIGINT and SIGTERM ask `stop` while the body runs; only the main thread can do so, others leave them alone."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, stop.on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
