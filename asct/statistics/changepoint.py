"""Detect level changes in a series, such as the write cliff of a drive, the end of burst credits, or throttling.

The series is divided into segments, each with a constant level, such that the sum of the squared distances from the
levels plus a penalty for each cut is minimal. The method is optimal partitioning with the pruning of PELT (Killick,
Fearnhead and Eckley, "Optimal detection of changepoints with a linear computational cost", Journal of the American
Statistical Association 107, 2012). The noise is estimated from the differences between neighbors, which are hardly
affected by a few level changes. The penalty grows with the logarithm of the length, as in Yao, "Estimating the number
of change-points via Schwarz' criterion", Statistics & Probability Letters 6, 1988. A running median, which preserves
the edges of levels, is applied first. This median removes up to two adjacent outliers, so that a single stalled second
does not count as a change.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Final

from asct.statistics.robust import NORMAL_CONSISTENCY, median, running_median

LEAST_CHANGE: Final = 0.05
"""Changes smaller than this share of the larger level are ignored, even if they are statistically significant."""
SHORTEST: Final = 3
"""Minimum number of values in a segment."""
_PENALTY: Final = 5.0
"""The penalty for a cut, in multiples of log(n). Yao's criterion uses 2, but it assumes independent noise, and
smoothing correlates the noise."""
_LEAST_NOISE: Final = 0.002
"""The lower limit for the noise, as a share of the largest value. Without this limit, rounding would count as a change:
counts are integers, and throttled rates hardly vary."""


@dataclass(frozen=True, slots=True)
class Changepoint:
    """A level change at `index`, with the medians of the segments before and after it in the unit of the values."""

    index: int
    before: float
    after: float


def changes(values: Sequence[float], least: float = LEAST_CHANGE) -> list[Changepoint]:
    """Return the level changes in chronological order. The list is empty if the series is too short for two segments.

    `least` is the smallest change to report, as a share of the level with the larger absolute value. Raises ValueError
    if a value is not finite.
    """
    if not all(math.isfinite(value) for value in values):
        raise ValueError("changes can only be detected in a series of finite values")
    if len(values) < 2 * SHORTEST or len(set(values)) == 1:
        return []
    cuts = _relevant(values, _partition(running_median(values), _noise(values)), least)
    levels = _levels(values, cuts)
    return [Changepoint(cut, before, after) for cut, (before, after) in zip(cuts, pairwise(levels), strict=True)]


def _noise(values: Sequence[float]) -> float:
    """Return the standard deviation of the values around their levels.

    The difference between two independent values with variance v has variance 2 v.
    """
    steps = [abs(after - before) for before, after in pairwise(values)]
    floor = _LEAST_NOISE * max(abs(value) for value in values)
    return max(NORMAL_CONSISTENCY * median(steps) / math.sqrt(2.0), floor)


def _partition(values: Sequence[float], noise: float) -> list[int]:
    """Return the cuts with the lowest cost; `noise` is positive."""
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
    """Return the cuts between levels that differ by `least` or more. Smaller changes are removed, starting with the
    smallest, and the levels on either side are merged."""
    remaining = list(cuts)
    while remaining:
        sizes = [_share(before, after) for before, after in pairwise(_levels(values, remaining))]
        smallest = min(sizes)
        if smallest >= least:
            break
        del remaining[sizes.index(smallest)]
    return remaining


def _levels(values: Sequence[float], cuts: Sequence[int]) -> list[float]:
    """Return the median of each segment."""
    return [median(values[start:end]) for start, end in pairwise([0, *cuts, len(values)])]


def _share(before: float, after: float) -> float:
    larger = max(abs(before), abs(after))
    return abs(after - before) / larger if larger else 0.0
