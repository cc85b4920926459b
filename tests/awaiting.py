"""Wait for events as long as a busy machine may need. A test that times out here hangs."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

PATIENCE_S = 120.0
_LOOK_S = 0.02
_T = TypeVar("_T")


def until(holds: Callable[[], _T], what: str = "", seconds: float = PATIENCE_S) -> _T:
    """Wait until a function returns something true, and return that; fail with `what` after this time."""
    deadline = time.monotonic() + seconds
    while not (found := holds()):
        assert time.monotonic() < deadline, what or f"{holds} did not come true"
        time.sleep(_LOOK_S)
    return found
