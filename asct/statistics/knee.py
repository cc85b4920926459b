"""Analyze curves measured at increasing load: find the knee and the plateau at the top, and interpolate between points.

A point is (throughput, response time), in any units. Points are ordered by load, not by throughput, because after
saturation, more load may result in less throughput.

The knee is the point of greatest *power*, throughput / response (Kleinrock, "Power and deterministic rules of thumb for
probabilistic problems in computer communications", ICC 1979; Jain and Ramakrishnan, "Congestion avoidance in computer
networks with a connectionless network layer", 1988). At the knee, a ray from the origin touches the curve: below it,
additional load gains more in throughput than it costs in response time; above it, less. Unlike the point of greatest
curvature or of greatest distance from the chord (Satopaa et al., "Finding a Kneedle in a haystack", 2011), the knee
does not depend on the last point measured and needs no threshold.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

LoadPoint = tuple[float, float]

PASSED: Final = 0.9
"""A curve has passed its knee if power falls to this share of its maximum at a higher load. A smaller drop may be
noise."""
MIN_POINTS: Final = 4
LEVEL: Final = 0.02
"""Values form a plateau if the largest exceeds the smallest by at most this share."""


def knee_index(points: Sequence[LoadPoint]) -> int | None:
    """Return the index of the point with the greatest power. Return None if the curve has fewer than 4 points, or if
    power never falls to `PASSED` of its maximum at a higher load, so that the curve may not have reached its knee.

    Raises ValueError unless all response times are positive.
    """
    if any(response <= 0 for _, response in points):
        raise ValueError("the response times of a curve must be positive")
    power = [throughput / response for throughput, response in points]
    if len(power) < MIN_POINTS:
        return None
    best = max(range(len(power)), key=power.__getitem__)
    return best if min(power[best:]) <= PASSED * power[best] else None


def response_at(points: Sequence[LoadPoint], throughput: float) -> float | None:
    """Return the response time at which the curve first reaches `throughput`, interpolated linearly between points.

    Returns None if the curve starts above that throughput or never reaches it.
    """
    return next(_crossings(points, throughput), None)


def throughput_at(points: Sequence[LoadPoint], response: float) -> float | None:
    """Return the throughput beyond which the response time stays above `response`, or None if the curve never rises
    past `response`.

    The last crossing counts, so that a single slow point at low load is ignored.
    """
    *_, last = (None, *_crossings([(y, x) for x, y in points], response))
    return last


def _crossings(points: Sequence[LoadPoint], threshold: float) -> Iterator[float]:
    """Yield the second coordinate of the curve wherever the first coordinate rises to `threshold`."""
    for (low, before), (high, after) in pairwise(points):
        if low <= threshold <= high:
            share = (threshold - low) / (high - low) if high > low else 0.0
            yield before + share * (after - before)


def top_plateau(values: Sequence[float], tolerance: float = LEVEL) -> range:
    """Return the indices of the longest run of adjacent values within `tolerance` (a share) of each other and of the
    maximum.

    If several runs have the same length, the first is returned. The range is empty if no value is positive.
    """
    highest = max(values, default=0.0)
    best = range(0)
    if highest <= 0.0:
        return best
    for start in range(len(values)):
        end = start
        while end < len(values) and min(values[start : end + 1]) > 0 and spread(values[start : end + 1]) <= tolerance:
            end += 1
        if end - start > len(best) and max(values[start:end]) * (1.0 + tolerance) >= highest:
            best = range(start, end)
    return best


def spread(values: Sequence[float]) -> float:
    """Return the difference between the largest and the smallest value as a share of the smallest. Values must be
    positive."""
    return max(values) / min(values) - 1.0
