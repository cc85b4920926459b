"""The course of a write saturation test: when it is over, and where its level falls."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final, Literal

from asct.instruments.qualification.slots import Slot, joined
from asct.statistics.changepoint import changes
from asct.statistics.steady import CLIFF, Rule, Window, cliff, enough_from, last_window

Reason = Literal["volume", "time", "steady"]
_MOST_SLOTS: Final = 1200
"""Slots of a course that is searched for cliffs: the search takes a time that grows faster than their number."""


@dataclass(frozen=True, slots=True)
class Goal:
    """What ends the test: bytes written, seconds of load, and a steady state of samples of `sample_s` seconds each.

    `sample_s` 0: the steady state ends nothing. A window counts when `settled` bytes were written before it, or behind
    a fall of the level by half, so that the plateau of a burst ends nothing.
    """

    written: int
    seconds: float
    sample_s: float
    settled: float
    rule: Rule


@dataclass(frozen=True, slots=True)
class Cliff:
    """A lasting fall from `before` to `after` requests per second, after `written` bytes and `seconds` of load."""

    written: int
    seconds: float
    before: float
    after: float


def samples(rounds: Iterable[Slot], length_s: float) -> list[Slot]:
    """Rounds joined to samples of at least `length_s`; an unfinished one at the end is left out."""
    found: list[Slot] = []
    pending: list[Slot] = []
    for one in rounds:
        pending.append(one)
        if sum(slot.seconds for slot in pending) >= length_s * (1.0 - 1e-3):
            found.append(joined(pending))
            pending = []
    return found


def steady_window(rounds: Sequence[Slot], goal: Goal, since: int = 0) -> Window | None:
    """The last samples as a window when they are steady; None if they are not, or the steady state ends nothing.

    Samples begin with the round of index `since`: the drive rested before it when the test was cut off.
    """
    if goal.sample_s <= 0:
        return None
    found = samples(rounds[since:], goal.sample_s)
    rates = [slot.iops for slot in found]
    rested = sum(slot.written for slot in rounds[:since])
    before = list(accumulate((slot.written for slot in found), initial=rested))
    seen = (enough_from(before, goal.settled), cliff(rates))
    since = min((index for index in seen if index is not None), default=len(rates))
    window = last_window(rates, goal.rule, since)
    return window if window is not None and window.holds(goal.rule) else None


def over(rounds: Sequence[Slot], goal: Goal, since: int = 0) -> Reason | None:
    """Why the test is over after `rounds`; None while it is not. `since`: as of `steady_window`."""
    if sum(one.written for one in rounds) >= goal.written:
        return "volume"
    if sum(one.seconds for one in rounds) >= goal.seconds:
        return "time"
    return "steady" if steady_window(rounds, goal, since) is not None else None


def first_cliff(course: Sequence[Slot], least: float = CLIFF) -> Cliff | None:
    """The first fall of the level by `least` (a share) or more: a write cache that is full, or free blocks used up.

    The first part of the course is looked at in full resolution, the whole of it in slots that are joined, so that a
    small cache is found in a test of a day.
    """
    for slots in (course[:_MOST_SLOTS], _thinned(course)):
        rates = [slot.iops for slot in slots]
        for change in changes(rates, least):
            if change.after <= (1.0 - least) * change.before:
                before = joined(slots[: change.index])
                return Cliff(before.written, before.seconds, change.before, change.after)
    return None


def _thinned(course: Sequence[Slot]) -> list[Slot]:
    width = -(-len(course) // _MOST_SLOTS) or 1
    return [joined(course[start : start + width]) for start in range(0, len(course), width)]
