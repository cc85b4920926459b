"""A clock beside a connection: some answers are waited for without end, so a late one ends the connection."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from asct.errors import HostLost, HostTimeout
from asct.hosts import problems

LOOK_S = 1.0
"""Each connection has such a clock, and those of a fleet are many; a limit is of many seconds."""


class Watch:
    """Calls `on_late` from its own thread once `deadline` (time.monotonic) has passed; then `fired` is True."""

    def __init__(self, name: str, on_late: Callable[[], None]) -> None:
        self.deadline: float | None = None
        self.fired = False
        self._name = name
        self._on_late = on_late
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, name="asct-watch", daemon=True)

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def stop(self) -> None:
        """Look no more."""
        self._over.set()

    def _look(self) -> None:
        while not self._over.wait(LOOK_S):
            deadline = self.deadline
            if deadline is not None and time.monotonic() > deadline:
                self.fired = True
                self._on_late()
                return

    @contextmanager
    def within(self, place: str, seconds: float, doing: str, *broken: type[Exception]) -> Iterator[None]:
        """As of `link.Link`. A broken connection raises one of `broken`; a TimeoutError is the body's own."""
        if self.fired:
            raise HostLost(self._name, problems.connection_lost(place, doing, "it was given up before"))
        before, self.deadline = self.deadline, time.monotonic() + seconds
        late = HostTimeout(self._name, problems.no_answer(place, doing, seconds))
        try:
            yield
        except Exception as error:
            if self.fired and isinstance(error, (HostLost, *broken)):
                raise late from error
            if isinstance(error, broken) and not isinstance(error, TimeoutError):
                raise HostLost(self._name, problems.connection_lost(place, doing, str(error))) from error
            raise
        else:
            if self.fired:  # what was read until then is not whole
                raise late
        finally:
            self.deadline = before
