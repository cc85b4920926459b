"""Host idle recovery: bursts of writes with pauses between them, against writing without a pause.

SNIA Solid State Storage Performance Test Specification 2.0, "Host idle recovery": a drive that was driven to steady
state tidies up while the host is idle, so that short bursts find it faster than a lasting load does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from asct.instruments.qualification.slots import Slot
from asct.statistics.changepoint import changes
from asct.statistics.robust import median

RECENT: Final = 5
"""Pauses whose excess tells how long a program takes to start."""


@dataclass(frozen=True, slots=True)
class Burst:
    """Writes of one burst; `delay_s` is the pause that fio was told to make, `idle_s` the true one before it (None for
    the first burst, and after a test was cut off)."""

    iops: float
    delay_s: float
    idle_s: float | None


def next_delay(wait_s: float, bursts: Sequence[Burst]) -> float:
    """What to tell fio for a pause of `wait_s`: less by what programs took to end and to start so far."""
    excess = [burst.idle_s - burst.delay_s for burst in bursts[-RECENT:] if burst.idle_s is not None]
    return max(0.0, wait_s - median(excess)) if excess else wait_s


def settling_seconds(course: Sequence[Slot]) -> float:
    """Time of the last change of level in a course: until a lasting load has used up what idling gained."""
    found = changes([slot.iops for slot in course])
    return sum(slot.seconds for slot in course[: found[-1].index]) if found else 0.0
