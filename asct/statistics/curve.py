"""A latency curve over sizes made fit for analysis: sorted, freed of single bad sizes, thinned, with local slopes.

x is log2 of the size (octaves), y the natural logarithm of the latency, so a slope of 0.1 is 10 % per doubling.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from asct.statistics.robust import NORMAL_CONSISTENCY, median, median_slope, running_median

OUTLIER = math.log(1.15)
"""A size this far off the running median of five is a single bad size."""
DISTURBED = math.log(1.2)
"""A size this much slower than three consecutive larger ones was disturbed: a larger set is never faster."""


@dataclass(frozen=True, slots=True)
class LatencyCurve:
    """Points in rising order of size, with log2 of the size and the natural logarithm of the latency."""

    sizes: tuple[int, ...]
    x: tuple[float, ...]
    y: tuple[float, ...]

    def __len__(self) -> int:
        return len(self.sizes)

    def without(self, sizes: Collection[int]) -> LatencyCurve:
        """The points of all other sizes."""
        return self.take([index for index, size in enumerate(self.sizes) if size not in sizes])

    def take(self, indices: Sequence[int]) -> LatencyCurve:
        """The points of these indices."""
        return LatencyCurve(
            tuple(self.sizes[i] for i in indices), tuple(self.x[i] for i in indices), tuple(self.y[i] for i in indices)
        )


def latency_curve_of(latencies: Mapping[int, float]) -> LatencyCurve:
    """A curve from {size: latency}; any unit of latency. Raises ValueError unless all numbers are positive."""
    sizes = tuple(sorted(latencies))
    if any(size <= 0 for size in sizes) or any(not 0 < latencies[size] < math.inf for size in sizes):
        raise ValueError("sizes and latencies of a curve are positive")
    return LatencyCurve(sizes, tuple(math.log2(s) for s in sizes), tuple(math.log(latencies[s]) for s in sizes))


Suspicion = Literal["outlier", "disturbed"]


def suspects(curve: LatencyCurve) -> dict[int, Suspicion]:
    """Sizes that do not belong to the curve: `outlier` (off its neighbours), `disturbed` (slower than larger sizes).

    A running median of five leaves a rising curve as it is, whatever its steps, so only one or two bad sizes side by
    side stand out against it. A longer disturbance shows as larger sets being faster than a smaller one: no memory is.
    """
    smooth = running_median(curve.y)
    spread = max(OUTLIER, 4.0 * noise(curve))
    found: dict[int, Suspicion] = {
        size: "outlier"
        for size, value, level in zip(curve.sizes, curve.y, smooth, strict=True)
        if abs(value - level) > spread
    }
    kept = [index for index, size in enumerate(curve.sizes) if size not in found]
    floor = math.inf
    later: list[float] = []
    for index in reversed(kept):
        value = curve.y[index]
        if value > floor + max(DISTURBED, spread):
            found[curve.sizes[index]] = "disturbed"
            continue
        later.append(value)
        if len(later) >= 3:
            floor = min(floor, median(later[-3:]))
    return found


def noise(curve: LatencyCurve) -> float:
    """Standard deviation of log latency from point to point, from the second differences; 0.0 below four points.

    Robust, so neither a slow drift nor the few steps of a staircase enter. A second difference of independent values of
    variance v has the variance 1.5 v.
    """
    bends = [curve.y[i] - (curve.y[i - 1] + curve.y[i + 1]) / 2.0 for i in range(1, len(curve) - 1)]
    if len(bends) < 2:
        return 0.0
    return NORMAL_CONSISTENCY * median([abs(bend) for bend in bends]) / math.sqrt(1.5)


def thinned(curve: LatencyCurve, spacing: float = 0.25) -> list[int]:
    """Indices of at most one point per `spacing` octaves: the one nearest to the middle of its interval.

    Refined sizes lie close together at the edges of levels; without thinning they would outvote the plateaus.
    """
    best: dict[int, tuple[float, int]] = {}
    for index, x in enumerate(curve.x):
        cell = round(x / spacing)
        distance = abs(x - cell * spacing)
        if cell not in best or distance < best[cell][0]:
            best[cell] = (distance, index)
    return [best[cell][1] for cell in sorted(best)]


def local_slopes(curve: LatencyCurve, half_width: float = 0.51) -> list[float]:
    """Theil-Sen slope around each point, over all points within `half_width` octaves and at least both neighbours."""
    slopes = []
    last = len(curve) - 1
    for index, x in enumerate(curve.x):
        low, high = max(index - 1, 0), min(index + 1, last)
        while low > 0 and x - curve.x[low - 1] <= half_width:
            low -= 1
        while high < last and curve.x[high + 1] - x <= half_width:
            high += 1
        slopes.append(median_slope(curve.x[low : high + 1], curve.y[low : high + 1]))
    return slopes
