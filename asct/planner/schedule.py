"""The order in which the repeats of a job's points are measured."""

from __future__ import annotations

import hashlib
from collections import Counter

from asct.planner.model import Job

ScheduledRepeat = tuple[int, int]
"""(index of the point, repeat). Repeats are numbered 1, 2, ...; warm-ups 0, -1, ... in order of execution."""


def schedule(job: Job) -> list[ScheduledRepeat]:
    """All repeats of a job in the order of measurement.

    * interleaved: one pass over all points per repeat, so that drift affects all points equally; warm-ups come first;
    * grouped: all warm-ups and repeats of a point before the next point;
    * random: repeats are shuffled with `job.seed`, identically on every machine and Python version; the warm-ups of a
      point come directly before its first repeat.
    """
    if job.order == "grouped":
        return [(index, repeat) for index in range(len(job.points)) for repeat in _repeats(job)]
    if job.order == "random":
        return _shuffled(job)
    return [(index, repeat) for repeat in _repeats(job) for index in range(len(job.points))]


def _warmups(job: Job) -> list[int]:
    return [-index for index in range(job.warmup)]


def _repeats(job: Job) -> list[int]:
    return [*_warmups(job), *range(1, job.repeats + 1)]


def _shuffled(job: Job) -> list[ScheduledRepeat]:
    """Sorts by a keyed hash, which does not depend on a library's random generator."""
    slots = [index for index in range(len(job.points)) for _ in range(job.repeats)]
    ranked = sorted(range(len(slots)), key=lambda slot: hashlib.sha256(f"{job.seed}:{slot}".encode()).digest())
    done: Counter[int] = Counter()
    turns: list[ScheduledRepeat] = []
    for slot in ranked:
        index = slots[slot]
        if not done[index]:
            turns += [(index, warmup) for warmup in _warmups(job)]
        done[index] += 1
        turns.append((index, done[index]))
    return turns
