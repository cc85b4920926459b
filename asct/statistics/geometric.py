"""Tools for quantities that live on a logarithmic scale: sizes, latencies, ratios."""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Sequence


def geometric_mean(values: Sequence[float]) -> float:
    """The n-th root of the product: the mean of ratios. Raises ValueError unless all values are positive."""
    if not values or min(values) <= 0:
        raise ValueError("a geometric mean needs values above 0")
    return math.exp(math.fsum(math.log(value) for value in values) / len(values))


def ratio_in_octaves(low: float, high: float) -> float:
    """How many doublings lie between two positive values."""
    return math.log2(high / low)


def geometric_sizes(low: int, high: int, per_octave: float, granule: int) -> list[int]:
    """Whole multiples of `granule` from `low` to `high`, `per_octave` of them per doubling, both ends included.

    The grid is anchored at `low`; sizes that round to the same multiple appear once. Raises ValueError if
    low < granule, high < low or per_octave <= 0.
    """
    if granule < 1 or low < granule or high < low or per_octave <= 0:
        raise ValueError(f"no sizes from {low} to {high} in multiples of {granule}, {per_octave} per octave")
    steps = math.floor(ratio_in_octaves(low, high) * per_octave + 1e-9)
    raw = [low * 2.0 ** (step / per_octave) for step in range(steps + 1)]
    grid = {round(size / granule) * granule for size in raw} | {_down(low, granule), _down(high, granule)}
    return sorted(size for size in grid if _down(low, granule) <= size <= high)


def between_sizes(low: int, high: int, ratio: float, granule: int) -> list[int]:
    """Multiples of `granule` strictly between `low` and `high`, neighbours (and ends) at most `ratio` apart.

    Where the granule is coarser than that, every multiple is taken. Empty when the ends are that close already.
    """
    if not 0 < low < high or ratio <= 1:
        return []
    steps = math.ceil(math.log(high / low) / math.log(ratio))
    raw = (low * (high / low) ** (step / steps) for step in range(1, steps))
    return sorted({size for size in (round(value / granule) * granule for value in raw) if low < size < high})


def log_interpolate(x: float, xs: Sequence[float], ys: Sequence[float]) -> float:
    """The value at `x` on the straight lines through (log xs, log ys); the end values outside the range.

    `xs` is sorted and rises strictly, all values are positive; raises ValueError otherwise.
    """
    if not xs or len(xs) != len(ys):
        raise ValueError("interpolation needs as many y as x, and at least one")
    if min(xs[0], x, *ys) <= 0 or any(right <= left for left, right in itertools.pairwise(xs)):
        raise ValueError("interpolation on a logarithmic scale needs positive values and rising x")
    if x <= xs[0]:
        return float(ys[0])
    if x >= xs[-1]:
        return float(ys[-1])
    right = bisect.bisect_right(xs, x)
    left = right - 1
    share = math.log(x / xs[left]) / math.log(xs[right] / xs[left])
    return math.exp((1.0 - share) * math.log(ys[left]) + share * math.log(ys[right]))


def _down(value: int, granule: int) -> int:
    return value // granule * granule
