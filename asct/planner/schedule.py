"""The order in which the repeats of a job's points are measured."""

from __future__ import annotations

import hashlib
from collections import Counter

from asct.planner.model import Job

ScheduledRepeat = tuple[int, int]
"""(index of the point, repeat). Repeats count 1, 2, ...; warm-ups are 0, -1, ... in the order they are made."""


def schedule(job: Job) -> list[ScheduledRepeat]:
    """Every (point index, repeat) of a job in the order of measurement.

    * interleaved: one round over all points per repeat, so that a drift of the machine touches all points alike; the
      rounds of warm-ups come first;
    * grouped: all of a point before the next one, its warm-ups first;
    * random: the measured repeats are shuffled by `job.seed`, the same on every machine and version of Python; the
      warm-ups of a point stand right before its first repeat.
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
    """Sorted by a keyed hash: a shuffle whose result no library's generator can change."""
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
