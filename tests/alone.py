"""Locks between tests. A test that counts resources shared by the machine runs without other tests that measure. The
number of tests that judge rates at the same time is limited, because they disturb each other.

The machine has two locks, because a lock with many readers may never be free. A test that needs the machine alone holds
`door`, so that no further test can lock `room`. A test acquires a turn last and never waits for the machine afterward,
so the two cannot deadlock.
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
"""The number of tests of one run that may judge rates at the same time."""
_PLACES = ("door", "room")
_LOOK_S = 0.005


@contextmanager
def machine(folder: Path | None = None, *, alone: bool) -> Iterator[None]:
    """While held, no other test of this account measures (if `alone` is set), or no test that needs the machine alone
    runs."""
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
    """While held, at most `TURNS` tests that use this folder judge rates."""
    with ExitStack() as held:
        with _locked(folder / "queue"):  # only the first test in the queue polls
            while not any(_taken(folder / f"turn{number}", held) for number in range(TURNS)):
                time.sleep(_LOOK_S)
        yield


@contextmanager
def _locked(path: Path, kind: int = fcntl.LOCK_EX) -> Iterator[None]:
    """Hold a lock. Raises BlockingIOError if it is already held and `kind` includes LOCK_NB."""
    file = os.open(path, os.O_CREAT | os.O_RDONLY)
    try:
        fcntl.flock(file, kind)
        yield
        fcntl.flock(file, fcntl.LOCK_UN)  # a process that the test left behind may hold the file open
    finally:
        os.close(file)


def _taken(path: Path, held: ExitStack) -> bool:
    try:
        held.enter_context(_locked(path, fcntl.LOCK_EX | fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    return True
