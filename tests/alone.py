"""Tests that count what the whole machine shares have it for themselves; all others run side by side.

Two locks, since a lock of many readers is never free for long: who wants the machine alone keeps the door, and nobody
enters the room any more.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PLACES = ("door", "room")


@contextmanager
def machine(folder: Path | None = None, *, alone: bool) -> Iterator[None]:
    """Within it no other test of this account measures (`alone`), or none that wants to be alone runs."""
    folder = folder or Path(tempfile.gettempdir())
    door, room = (os.open(folder / f"asct-tests-{os.geteuid()}-{name}", os.O_CREAT | os.O_RDONLY) for name in _PLACES)
    try:
        fcntl.flock(door, fcntl.LOCK_EX)
        fcntl.flock(room, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        if not alone:
            fcntl.flock(door, fcntl.LOCK_UN)
        yield
    finally:
        os.close(room)
        os.close(door)
