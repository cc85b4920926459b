"""Compare the levels with the curve: no size inside a level may be faster than the level itself, and the curve falls
where the level ends."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final

from asct.instruments.memory.sizes import MEMORY_LEVEL
from asct.sdk.record import Measurement

BELOW_CURVE: Final = "below-curve"
"""Flag for a cache level that is slower than the curve at sizes that fit in the level."""
FEW_LINES: Final = "few-lines"
"""Flag for a size with few cache lines: starting and ending the loop takes a large part of the time."""
_CURVE_SHARE: Final = 0.95
"""Share of the highest bandwidth at sizes within a level that the level itself must reach. Smaller differences are
treated as noise."""
_INSIDE: Final = 4
"""A level is compared only with sizes on the curve that are at least as large as the level's own size divided by this
number."""
_FALL: Final = 1.4
"""Minimum ratio between the bandwidths of two levels for detecting the end of a level. Prefetching hides smaller
steps."""


def flagged(found: Sequence[Measurement]) -> list[Measurement]:
    """Return the measurements, flagging a cache level as BELOW_CURVE if the curve shows a higher bandwidth at some size
    within that level."""
    return [_flagged(item, found) for item in found]


def _flagged(item: Measurement, found: Sequence[Measurement]) -> Measurement:
    level, traffic = item.coords.get("level"), item.coords.get("traffic")
    if traffic is None or level in (None, MEMORY_LEVEL):
        return item
    size = next(one.value for one in found if one.metric == "data_size" and one.coords.get("level") == level)
    curve = _curve(found, item.metric, str(traffic))
    fastest = max((value for at, value in curve.items() if size / _INSIDE <= at <= size), default=0.0)
    return replace(item, flags=(*item.flags, BELOW_CURVE)) if item.value < _CURVE_SHARE * fastest else item


def curve_ends(found: Sequence[Measurement], traffic: str) -> list[Measurement]:
    """Return the size, in bytes, at which the curve of `traffic` leaves each cache level.

    At this size, which is interpolated between the working sets of two levels, the bandwidth is the geometric mean of
    the bandwidths of these levels. Sizes and bandwidths of caches differ by large factors, so both axes are
    logarithmic. A level has no such size if the next level is slower by less than a factor of _FALL, or if the curve
    crosses the mean more than once.
    """
    sizes = {str(one.coords["level"]): one.value for one in found if one.metric == "data_size"}
    rates = {
        str(one.coords["level"]): one.value
        for one in found
        if one.metric == "bandwidth" and "level" in one.coords and one.coords.get("traffic") == traffic
    }
    curve = _curve(found, "bandwidth", traffic)
    ends = []
    for level, outer in pairwise(sorted(rates.keys() & sizes.keys(), key=sizes.__getitem__)):
        if rates[level] >= _FALL * rates[outer]:
            between = {size: rate for size, rate in curve.items() if sizes[level] <= size <= sizes[outer]}
            end = _crossing(between, math.sqrt(rates[level] * rates[outer]))
            ends += [Measurement("curve_end", round(end), {"level": level})] if end else []
    return ends


def _curve(found: Sequence[Measurement], metric: str, traffic: str) -> Mapping[float, float]:
    """Return a mapping from each size to the value of a metric at that size, smallest size first."""
    return {
        float(one.coords["size"]): one.value
        for one in sorted((one for one in found if "size" in one.coords), key=lambda one: float(one.coords["size"]))
        if one.metric == metric and one.coords.get("traffic") == traffic and FEW_LINES not in one.flags
    }


def _crossing(curve: Mapping[float, float], rate: float) -> float | None:
    """Return the size at which a falling curve reaches this rate. Return None unless the curve crosses the rate exactly
    once."""
    falls = [(low, high) for low, high in pairwise(curve.items()) if low[1] >= rate > high[1]]
    rises = [low for low, high in pairwise(curve.items()) if low[1] < rate <= high[1]]
    if len(falls) != 1 or rises:
        return None
    (small, fast), (large, slow) = falls[0]
    return math.exp(math.log(small) + math.log(large / small) * math.log(fast / rate) / math.log(fast / slow))
