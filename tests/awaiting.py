"""Waiting for what must come, for as long as a machine may take that others hold up: a test that fails here hangs."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE_S = 120.0
_LOOK_S = 0.02


def until(holds: Callable[[], object], what: str = "") -> None:
    """Wait until a function is true; `what` is told when it does not come true."""
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, what or f"{holds} did not come true"
        time.sleep(_LOOK_S)
