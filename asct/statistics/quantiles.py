"""Confidence intervals for the median, computed from order statistics without assuming a distribution.

Source: David and Nagaraja, Order Statistics, 3rd ed. 2003, section 7.1 (interval for a quantile, from the binomial
distribution).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

_EXACT_UP_TO = 2000
_NORMAL_975 = 1.959963984540054


@lru_cache(maxsize=512)
def median_ranks(count: int) -> tuple[int, int] | None:
    """Return the ranks (from 1) of the two order statistics that enclose the median of `count` values with a confidence
    of at least 95 %.

    The number of values below the median is binomial (n, 1/2), so the pair (r, n + 1 - r) covers the median with a
    probability of 1 - 2 P(B < r). The result is None for fewer than 6 values, because even (1, n) then covers the
    median with less than 95 % probability. The ranks are exact for up to 2,000 values. For more values, they come from
    the normal approximation, rounded outward.
    """
    if count < 1:
        return None
    if count > _EXACT_UP_TO:
        rank = max(1, math.floor((count - _NORMAL_975 * math.sqrt(count)) / 2.0))
        return rank, count + 1 - rank
    total = 1 << count
    tail, term, rank = 0, 1, 0
    while (tail + term) / total <= 0.025:
        tail += term
        term = term * (count - rank) // (rank + 1)
        rank += 1
    return (rank, count + 1 - rank) if rank >= 1 else None


def median_interval(values: Sequence[float]) -> tuple[float, float] | None:
    """Return the 95 % interval for the median, in the unit of the values, or None for fewer than 6 values.

    The values must be independent samples. Copies of one reading are not independent. Neither are consecutive batches,
    for which the measurement kernels compute the interval (kernels/kit/stats.h).
    """
    ranks = median_ranks(len(values))
    if ranks is None:
        return None
    ordered = sorted(values)
    return float(ordered[ranks[0] - 1]), float(ordered[ranks[1] - 1])


def relative_half_width(interval: tuple[float, float] | None, center: float) -> float | None:
    """Return half the width of an interval as a share of `center`, or None if there is no interval or if `center` is
    0."""
    if interval is None or center == 0.0:
        return None
    return (interval[1] - interval[0]) / 2.0 / abs(center)
