"""Sizes that are still missing at the bounds of levels.

The kernel bisects the steepest stretches of the curve by itself. Where its budget ended before a bound was known to
2 %, a second, short run measures the sizes in between.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from asct.statistics.geometric import between_sizes
from asct.statistics.levels import Level

RESOLUTION: Final = 1.02
COARSE_BOUND: Final = 0.025
"""A bound is coarse if the next size is further away: the resolution and some room for whole lines."""
MOST: Final = 48


def missing_sizes(levels: Sequence[Level], measured: Collection[int], granule: int) -> tuple[int, ...]:
    """Sizes 2 % apart in every gap beside a bound that is wider, rising, at most `MOST`; empty when all is known.

    Where there are more, each gap gets its share.
    """
    gaps = {(lv.below, lv.lower) for lv in levels if lv.below is not None and (lv.lower_gap or 0.0) > COARSE_BOUND}
    gaps |= {(lv.upper, lv.above) for lv in levels if lv.above is not None and (lv.upper_gap or 0.0) > COARSE_BOUND}
    if not gaps:
        return ()
    share = MOST // len(gaps)
    found: set[int] = set()
    for low, high in gaps:
        ratio = max(RESOLUTION, (high / low) ** (1.0 / (share + 1)))
        found.update(between_sizes(low, high, ratio, granule))
    return tuple(sorted(found - set(measured)))
