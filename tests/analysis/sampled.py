"""Values with given visits, and three kinds of noise from which visits are drawn."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, get_args

from asct.analysis.groups import MetricGroup
from asct.sdk.record import Stats
from asct.statistics.visits import summarise_visits
from tests.records import record

Noise = Literal["normal", "heavy-tailed", "two states"]
NOISES: tuple[Noise, ...] = get_args(Noise)
SPREAD = 0.02
"""The standard deviation of simulated visits, as a fraction."""
_RARE = 0.1
_TAIL = 5.0
_STATES = (0.0, 0.1)


def draw(noise: Noise, spread: float, rng: random.Random) -> float:
    """Return the relative deviation of one visit. `spread` is the standard deviation of the normal part: one visit in
    ten of the heavy-tailed kind deviates five times as far, and visits with two states differ by another 10 %."""
    wide = _TAIL if noise == "heavy-tailed" and rng.random() < _RARE else 1.0
    state = rng.choice(_STATES) if noise == "two states" else 0.0
    return max(-0.9, rng.gauss(0.0, spread * wide) + state)


def sampled(values: Sequence[float], **changes: Any) -> MetricGroup:
    """Return a value with these visits, as one repeat of a memory benchmark records it."""
    found = summarise_visits(values)
    stats = Stats(
        n=21, median=found.median, mad=0.0, ci95=found.ci95, min=min(values), max=max(values), visits=len(values),
        visit_values=tuple(values),
    )  # fmt: skip
    return single(stats, **changes)


def single(stats: Stats, **changes: Any) -> MetricGroup:
    """Return a value measured in one repeat, which is the median of `stats` unless `changes` specify otherwise."""
    fixed = {"value": stats.median, "host": "a", "benchmark": "bench", "id": "job", "coords": {"level": "L1"}}
    one = record(**{**fixed, "stats": stats, **changes})
    return MetricGroup(one.host, one.id, one.metric, one.coords, (one,))


def repeated(repeats: Sequence[Sequence[float]], **changes: Any) -> MetricGroup:
    """Return a value with several repeats, each of which has these visits."""
    groups = [sampled(visits, repeat=number, **changes) for number, visits in enumerate(repeats, 1)]
    return replace(groups[0], records=tuple(record for group in groups for record in group.records))


def correlated(noise: Noise, repeats: int, visits: int, rng: random.Random) -> MetricGroup:
    """Return a value of 1 whose repeats differ as much as the visits of each of them."""

    def repeat() -> list[float]:
        level = 1.0 + draw(noise, SPREAD, rng)
        return [level * (1.0 + draw(noise, SPREAD, rng)) for _ in range(visits)]

    return repeated([repeat() for _ in range(repeats)])
