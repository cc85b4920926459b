"""A clock beside a connection: paramiko waits for some answers without end, so a late one ends the connection."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

LOOK_S = 0.25


class Watch:
    """Calls `on_late` from its own thread once `deadline` (time.monotonic) has passed; then `fired` is True."""

    def __init__(self, on_late: Callable[[], None]) -> None:
        self.deadline: float | None = None
        self.fired = False
        self._on_late = on_late
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, name="asct-ssh-watch", daemon=True)

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
