"""Sizes on a logarithmic scale: grids, and what lies between two of them."""

from __future__ import annotations

import math


def ratio_in_octaves(low: float, high: float) -> float:
    """The number of doublings between two positive values."""
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


def _down(value: int, granule: int) -> int:
    return value // granule * granule
