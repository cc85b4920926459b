"""The shift between two independent samples, with its interval.

Sources: Hodges and Lehmann, "Estimates of location based on rank tests", Annals of Mathematical Statistics 34, 1963;
Hollander, Wolfe and Chicken, Nonparametric Statistical Methods, 3rd ed. 2014, sections 4.2 and 4.3.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from statistics import NormalDist
from typing import NamedTuple

from asct.statistics.ranks import EXACT_MOST, rank_sums
from asct.statistics.robust import median


class Shift(NamedTuple):
    """The amount by which the values in one sample exceed those in another. `interval` is None if the samples are too
    small for the requested confidence."""

    value: float
    interval: tuple[float, float] | None


def hodges_lehmann(base: Sequence[float], new: Sequence[float], confidence: float = 0.95) -> Shift:
    """Return the median of all pairwise differences `new - base`, and the interval of the shifts that the Mann-Whitney
    test does not reject.

    Raises ValueError if a sample is empty.
    """
    if not base or not new:
        raise ValueError("a shift requires at least one value in each sample")
    differences = sorted(after - before for after in new for before in base)
    outside = _outside(len(base), len(new), (1.0 - confidence) / 2.0)
    interval = (differences[outside - 1], differences[-outside]) if outside > 0 else None
    return Shift(median(differences), interval)


def ratio(base: Sequence[float], new: Sequence[float], confidence: float = 0.95) -> Shift:
    """Return the shift as a ratio `new / base` of positive values, computed from their logarithms.

    Raises ValueError if a sample is empty or a value is not positive.
    """
    if min([*base, *new], default=1.0) <= 0.0:
        raise ValueError("a ratio requires positive values")
    shift = hodges_lehmann([math.log(value) for value in base], [math.log(value) for value in new], confidence)
    interval = None if shift.interval is None else (math.exp(shift.interval[0]), math.exp(shift.interval[1]))
    return Shift(math.exp(shift.value), interval)


@lru_cache(maxsize=256)
def _outside(base: int, new: int, tail: float) -> int:
    """Return 1 plus the number of sorted differences that lie outside the interval at each end, or 0 if no such
    interval exists."""
    if base + new > EXACT_MOST:
        middle, spread = base * new / 2.0, math.sqrt(base * new * (base + new + 1) / 12.0)
        return max(0, math.floor(middle - NormalDist().inv_cdf(1.0 - tail) * spread))
    sums = rank_sums(tuple(range(2, 2 * (base + new) + 2, 2)), new)
    every, below, outside = math.comb(base + new, new), 0, 0
    for total in sorted(sums):
        below += sums[total]
        if below / every > tail:
            break
        outside += 1
    return outside
