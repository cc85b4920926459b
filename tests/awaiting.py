"""Wait for events as long as a busy machine may need. A test that times out here hangs."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE_S = 120.0
_LOOK_S = 0.02


def until(holds: Callable[[], object], what: str = "") -> None:
    """Wait until a function returns true; fail with `what` after PATIENCE_S."""
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, what or f"{holds} did not come true"
        time.sleep(_LOOK_S)
