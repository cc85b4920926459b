"""Hosts side by side may share a home folder: the first builds there, the others look again when it has."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

_GUARD = threading.Lock()
_ENDED: dict[str, threading.Event] = {}


@contextmanager
def turn(place: str) -> Iterator[bool]:
    """Whether another thread was at this `place` (a path) before ours: then what it made may be there now.

    Only the first of a process is waited for, so hosts that share nothing wait for one build, not for each other's.
    """
    with _GUARD:
        first = place not in _ENDED
        ended = _ENDED.setdefault(place, threading.Event())
    if not first:
        ended.wait()
        yield True
        return
    try:
        yield False
    finally:
        ended.set()
