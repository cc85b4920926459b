"""Distinguish the end of a cache from the reach of the TLB, using the curve of a chain that accesses only a few pages
at a time.

If loads access a working set at random, nearly every load needs another address translation. If the TLB covers less
memory than the cache holds, their latency rises before the cache ends, and the plateau of the curve then ends at the
reach of the TLB. A chain that visits one window of a few pages after another misses the TLB only once per page of each
window, so its latency rises where the cache ends. Saavedra and Smith, "Measuring cache and TLB performance and their
effect on benchmark run times", IEEE Transactions on Computers 44(10), 1995, distinguish the two by the stride of the
loads.

Beyond the first caches, such a chain is always faster than random loads, because the core prefetches adjacent lines
that are used soon. Therefore, each curve is first divided by its latency at the start of the level, and then the curves
are compared.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from asct.statistics.levels import MemoryLevel, last_inside
from asct.statistics.robust import median

TOLERANCE = 0.10
"""Maximum relative difference between latencies within a level. The search for level bounds uses the same limit."""
_TOLERANCE_MOST = 0.15
"""Maximum relative difference between latencies within a noisy level."""
_DEVIATIONS = 4.0
"""Number of standard deviations between sizes by which a latency within a level may differ, as in the search for level
bounds."""
_REFERENCE = 3
"""Number of sizes whose median represents a part of a curve; one outlier does not affect the median of three."""


@dataclass(frozen=True, slots=True)
class LevelEnd:
    """The ends of a level, in bytes. `cache` is the largest size that fits into the cache, `above` is the next measured
    size (None if unknown), and `tlb` is the largest size that the TLB covers (None if it covers the whole cache, or if
    unknown)."""

    cache: int
    above: int | None
    tlb: int | None = None


def find_end(
    level: MemoryLevel, limit: int | None, main: Mapping[int, float], local: Mapping[int, float], window: int
) -> LevelEnd:
    """Return the ends of a level, given the latencies of the main and the local chain by size, in the same unit.

    Both chains are the same up to the size `window`. `limit` is the lower bound of the next level. The upper bound of
    the level is used as the end of the cache if the local chain cannot show this end, either because it was measured at
    too few sizes within the level, or because the level ends within a window.
    """
    sizes = [size for size in sorted(local) if size >= level.lower and (limit is None or size < limit)]
    begin = [size for size in sizes if size <= level.upper]
    if level.upper <= window or len(begin) < _REFERENCE:
        return LevelEnd(level.upper, level.above)
    tolerance = min(max(_DEVIATIONS * level.scatter, TOLERANCE), _TOLERANCE_MOST)
    most = median([local[size] for size in begin[-_REFERENCE:]]) * (1.0 + tolerance)
    last = last_inside([local[size] <= most for size in sizes], len(begin) - 1)
    cache = max(sizes[last], level.upper)
    above = next((size for size in sorted({*sizes, *([limit] if limit else [])}) if size > cache), level.above)
    tlb = _tlb_end(sizes[: last + 1], main, local, tolerance)
    return LevelEnd(cache, above, tlb if tlb is not None and tlb * (1.0 + TOLERANCE) < cache else None)


def _tlb_end(
    sizes: Sequence[int], main: Mapping[int, float], local: Mapping[int, float], tolerance: float
) -> int | None:
    """Return the last size before random loads become slower than loads within windows, or None if they never do."""
    ratios = [interpolated(main, size) / local[size] for size in sizes]
    most = median(ratios[:_REFERENCE]) * (1.0 + tolerance)
    for at in range(1, len(sizes)):
        if ratios[at] > most and all(ratio > most for ratio in ratios[at + 1 : at + 2]):
            return sizes[at - 1]
    return None


def interpolated(curve: Mapping[int, float], size: int) -> float:
    """Return the value of a curve at a size. Between points, the logarithms are interpolated linearly; beyond its ends,
    the curve is constant.

    Raises ValueError for an empty curve.
    """
    known = sorted(curve)
    if not known:
        raise ValueError("the curve has no values")
    at = bisect_left(known, size)
    if at == 0 or at == len(known) or known[at] == size:
        return curve[known[min(at, len(known) - 1)]]
    low, high = known[at - 1], known[at]
    share = math.log(size / low) / math.log(high / low)
    return math.exp((1.0 - share) * math.log(curve[low]) + share * math.log(curve[high]))
