"""Changes of the level of a series: the cliff of a drive whose cache is full, the end of burst credits, a throttle.

The series is cut into segments of one level each, so that the squared distances from the levels and a penalty for each
cut are least: optimal partitioning, searched with the pruning of PELT (Killick, Fearnhead and Eckley, "Optimal
detection of changepoints with a linear computational cost", Journal of the American Statistical Association 107, 2012).
The noise is estimated from the differences of neighbours, which a few changes of level hardly touch, and the penalty
grows with the logarithm of the length as in Yao, "Estimating the number of change-points via Schwarz' criterion",
Statistics & Probability Letters 6, 1988. A single stalled second is no change: one or two odd values are smoothed away
by a running median, which leaves the edges of levels where they are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Final

from asct.statistics.robust import NORMAL_CONSISTENCY, median, running_median

LEAST_CHANGE: Final = 0.05
"""A change of level below this share of the larger one is of no interest, however certain."""
SHORTEST: Final = 3
"""Values of the shortest segment."""
_PENALTY: Final = 5.0
"""Times log(n) for each cut. The criterion asks for 2 with independent noise, which smoothed seconds do not have."""
_LEAST_NOISE: Final = 0.002
"""Of the largest value: counts are whole numbers, and a throttle is steadier than any statistic of it."""


@dataclass(frozen=True, slots=True)
class Change:
    """At `index` the level goes from `before` to `after`, each the median of its segment, in the unit of the values."""

    index: int
    before: float
    after: float


def changes(values: Sequence[float], least: float = LEAST_CHANGE) -> list[Change]:
    """Changes of level in order; none in a series shorter than two segments. Raises ValueError unless all are finite.

    `least` is the smallest change of interest as a share of the larger of both levels (of their amounts).
    """
    if not all(math.isfinite(value) for value in values):
        raise ValueError("a series in which changes are sought has finite values")
    if len(values) < 2 * SHORTEST or len(set(values)) == 1:
        return []
    cuts = _relevant(values, _partition(running_median(values), _noise(values)), least)
    edges = [0, *cuts, len(values)]
    levels = [median(values[start:end]) for start, end in pairwise(edges)]
    return [Change(cut, before, after) for cut, (before, after) in zip(cuts, pairwise(levels), strict=True)]


def _noise(values: Sequence[float]) -> float:
    """Standard deviation around the levels. A difference of independent values of variance v has the variance 2 v."""
    steps = [abs(after - before) for before, after in pairwise(values)]
    floor = _LEAST_NOISE * max(abs(value) for value in values)
    return max(NORMAL_CONSISTENCY * median(steps) / math.sqrt(2.0), floor)


def _partition(values: Sequence[float], noise: float) -> list[int]:
    """The cuts of least cost, for a noise above 0."""
    scaled = [(value - values[0]) / noise for value in values]
    sums = [0.0, *accumulate(scaled)]
    squares = [0.0, *accumulate(value * value for value in scaled)]

    def cost(start: int, end: int) -> float:
        return squares[end] - squares[start] - (sums[end] - sums[start]) ** 2 / (end - start)

    penalty = _PENALTY * math.log(len(values))
    best = [-penalty] + [math.inf] * len(values)
    last = [0] * (len(values) + 1)
    starts: list[int] = []
    for end in range(SHORTEST, len(values) + 1):
        starts.append(end - SHORTEST)
        costs = [best[start] + cost(start, end) for start in starts]
        least = min(costs)
        best[end], last[end] = least + penalty, starts[costs.index(least)]
        starts = [start for start, total in zip(starts, costs, strict=True) if total <= best[end]]
    cuts = []
    at = last[-1]
    while at > 0:
        cuts.append(at)
        at = last[at]
    return cuts[::-1]


def _relevant(values: Sequence[float], cuts: Sequence[int], least: float) -> list[int]:
    """The cuts whose levels differ by `least` or more; the smallest change is taken back first, which joins levels."""
    kept = list(cuts)
    while kept:
        edges = [0, *kept, len(values)]
        levels = [median(values[start:end]) for start, end in pairwise(edges)]
        sizes = [_share(before, after) for before, after in pairwise(levels)]
        smallest = min(sizes)
        if smallest >= least:
            break
        del kept[sizes.index(smallest)]
    return kept


def _share(before: float, after: float) -> float:
    larger = max(abs(before), abs(after))
    return abs(after - before) / larger if larger else 0.0
