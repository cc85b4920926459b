"""Quantiles of a sample and intervals from its order statistics: no distribution is assumed.

Sources: Hyndman and Fan, "Sample quantiles in statistical packages", The American Statistician 50(4), 1996 (types 1
to 9); David and Nagaraja, Order Statistics, 3rd ed. 2003, section 7.1 (interval of a quantile, from the binomial
distribution).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

_EXACT_UP_TO = 2000
_NORMAL_975 = 1.959963984540054


def quantile(values: Sequence[float], probability: float, kind: int = 7) -> float:
    """The sample quantile at `probability` (0 to 1), interpolated between order statistics.

    `kind` is Hyndman and Fan's type: 6 (Weibull), 7 (the default of R and numpy) or 8 (approximately median-unbiased,
    their recommendation). Raises ValueError on an empty sample, another type or a probability outside 0..1.
    """
    if not values:
        raise ValueError("a quantile of no values does not exist")
    if not 0.0 <= probability <= 1.0:
        raise ValueError(f"a probability is between 0 and 1, not {probability}")
    count = len(values)
    offsets = {6: probability, 7: 1.0 - probability, 8: (probability + 1.0) / 3.0}
    if kind not in offsets:
        raise ValueError(f"quantile type {kind} is not one of 6, 7, 8")
    ordered = sorted(values)
    position = min(max(count * probability + offsets[kind], 1.0), float(count))
    below = math.floor(position)
    share = position - below
    low = ordered[below - 1]
    return low if share == 0.0 else low + share * (ordered[min(below, count - 1)] - low)


@lru_cache(maxsize=512)
def median_ranks(count: int, confidence: float = 0.95) -> tuple[int, int] | None:
    """Ranks (from 1) of the two order statistics that enclose the median with at least `confidence`.

    The number of values below the median is binomial (n, 1/2), so the pair (r, n + 1 - r) covers it with probability
    1 - 2 P(B < r). None if even (1, n) covers less: below 6 values at 95 %. Exact up to 2,000 values, then by the
    normal approximation, rounded outwards.
    """
    if count < 1:
        return None
    if count > _EXACT_UP_TO:
        z = _NORMAL_975 if confidence == 0.95 else _normal_quantile(0.5 + confidence / 2.0)
        rank = math.floor((count - z * math.sqrt(count)) / 2.0)
        return max(rank, 1), count + 1 - max(rank, 1)
    budget = (1.0 - confidence) / 2.0
    total = 1 << count
    tail, term, rank = 0, 1, 0
    while (tail + term) / total <= budget:
        tail += term
        term = term * (count - rank) // (rank + 1)
        rank += 1
    return (rank, count + 1 - rank) if rank >= 1 else None


def median_interval(values: Sequence[float], confidence: float = 0.95) -> tuple[float, float] | None:
    """Order-statistic interval of the median, in the unit of the values; None when there are too few (below 6 at 95 %).

    The values must be independent samples: repeats of one reading do not count, and batches that follow one another do
    not either, whose intervals the kernels form themselves (kernels/kit/stats.h).
    """
    count = len(values)
    ranks = median_ranks(count, confidence)
    if ranks is None:
        return None
    ordered = sorted(values)
    return float(ordered[ranks[0] - 1]), float(ordered[ranks[1] - 1])


def relative_half_width(interval: tuple[float, float] | None, center: float) -> float | None:
    """Half the width of an interval as a share of `center`; None without an interval or around 0."""
    if interval is None or center == 0.0:
        return None
    return (interval[1] - interval[0]) / 2.0 / abs(center)


def _normal_quantile(probability: float) -> float:
    from statistics import NormalDist

    return NormalDist().inv_cdf(probability)
