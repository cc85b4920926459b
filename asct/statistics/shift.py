"""The interval for the ratio between two independent samples.

Sources: Hodges and Lehmann, "Estimates of location based on rank tests", Annals of Mathematical Statistics 34, 1963;
Hollander, Wolfe and Chicken, Nonparametric Statistical Methods, 3rd ed. 2014, sections 4.2 and 4.3.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from statistics import NormalDist

from asct.statistics.ranks import EXACT_MOST, rank_sums

_TAIL = 0.025
"""The probability that the ratio is below the interval, and the probability that it is above."""


def shift_interval(base: Sequence[float], new: Sequence[float]) -> tuple[float, float] | None:
    """Return the 95 % interval for the ratio `new / base` of positive values: the ratios that the Mann-Whitney test
    does not reject. Return None if the samples are too small.

    Raises ValueError if a value is not positive.
    """
    before, after = ([math.log(value) for value in sample] for sample in (base, new))
    shifts = sorted(second - first for second in after for first in before)
    outside = _outside(len(before), len(after))
    return (math.exp(shifts[outside - 1]), math.exp(shifts[-outside])) if outside > 0 else None


@lru_cache(maxsize=256)
def _outside(base: int, new: int) -> int:
    """Return 1 plus the number of sorted shifts that lie outside the interval at each end, or 0 if no such interval
    exists."""
    if base + new > EXACT_MOST:
        middle, spread = base * new / 2.0, math.sqrt(base * new * (base + new + 1) / 12.0)
        return max(0, math.floor(middle - NormalDist().inv_cdf(1.0 - _TAIL) * spread))
    sums = rank_sums(tuple(range(2, 2 * (base + new) + 2, 2)), new)
    every, below, outside = math.comb(base + new, new), 0, 0
    for total in sorted(sums):
        below += sums[total]
        if below / every > _TAIL:
            break
        outside += 1
    return outside
