"""Tests that count what the whole machine shares have it for themselves; all others run side by side. Those that judge
rates take turns, one for every two cores: more of them hurt each other.

Two locks for the machine, since a lock of many readers is never free for long: who wants it alone keeps the door, and
nobody enters the room any more. A turn is taken last and by nobody who then waits for the machine, so the two cannot
wait for each other.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

TURNS = max(1, len(os.sched_getaffinity(0)) // 2)
"""Tests of a run that judge rates at a time."""
_PLACES = ("door", "room")
_LOOK_S = 0.005


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


@contextmanager
def turn(folder: Path) -> Iterator[None]:
    """Within it at most `TURNS` tests judge rates, of those that share this folder."""
    with ExitStack() as held:
        with _locked(folder / "queue"):  # the first of those that wait looks for one, the others sleep
            while not any(_taken(folder / f"turn{number}", held) for number in range(TURNS)):
                time.sleep(_LOOK_S)
        yield


@contextmanager
def _locked(path: Path, kind: int = fcntl.LOCK_EX) -> Iterator[None]:
    """Raises BlockingIOError when others have it and `kind` says not to wait."""
    file = os.open(path, os.O_CREAT | os.O_RDONLY)
    try:
        fcntl.flock(file, kind)
        yield
        fcntl.flock(file, fcntl.LOCK_UN)  # also where a process that a test left behind has it open
    finally:
        os.close(file)


def _taken(path: Path, held: ExitStack) -> bool:
    try:
        held.enter_context(_locked(path, fcntl.LOCK_EX | fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    return True
