"""Generate sizes on a logarithmic scale."""

from __future__ import annotations

import math


def geometric_sizes(low: int, high: int, per_octave: float, granule: int) -> list[int]:
    """Return multiples of `granule` from `low` to `high`, including both ends, with `per_octave` sizes per doubling.

    The grid starts at `low`; sizes that round to the same multiple appear once. Raises ValueError if low < granule,
    high < low or per_octave <= 0.
    """
    if granule < 1 or low < granule or high < low or per_octave <= 0:
        raise ValueError(f"cannot list sizes from {low} to {high} in multiples of {granule}, {per_octave} per octave")
    first, last = low // granule * granule, high // granule * granule
    steps = math.floor(math.log2(high / low) * per_octave + 1e-9)
    raw = (low * 2.0 ** (step / per_octave) for step in range(steps + 1))
    grid = {round(size / granule) * granule for size in raw} | {first, last}
    return sorted(size for size in grid if first <= size <= last)


def between_sizes(low: int, high: int, ratio: float, granule: int) -> list[int]:
    """Return multiples of `granule` strictly between `low` and `high` such that adjacent sizes, including both ends,
    differ by a factor of at most `ratio`.

    If the granule is too coarse, return every multiple. If the ends are close enough, return an empty list.
    """
    if not 0 < low < high or ratio <= 1:
        return []
    steps = math.ceil(math.log(high / low) / math.log(ratio))
    raw = (low * (high / low) ** (step / steps) for step in range(1, steps))
    return sorted({size for size in (round(value / granule) * granule for value in raw) if low < size < high})
