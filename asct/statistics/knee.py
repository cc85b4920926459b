"""Analyzes a curve of response time over throughput: where the knee lies, and what holds between its points.

A point is (throughput, response), in any units; the points of a curve stand in the order of rising load, not of rising
throughput: past saturation more load may bring less.

The knee is the point of greatest *power*, throughput / response (Kleinrock, "Power and deterministic rules of thumb for
probabilistic problems in computer communications", ICC 1979; Jain and Ramakrishnan, "Congestion avoidance in computer
networks with a connectionless network layer", 1988). There the ray from the origin touches the curve: below it more
load buys more throughput than it costs in time, above it less. Unlike the point of greatest curvature or of greatest
distance from the chord (Satopaa et al., "Finding a Kneedle in a haystack", 2011), it does not move with the last point
measured, and it asks for no threshold.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

Point = tuple[float, float]

PASSED: Final = 0.9
"""The knee was passed if power falls to this share of its maximum under more load; less may be scatter."""
MIN_POINTS: Final = 4


def knee_index(points: Sequence[Point]) -> int | None:
    """The index of the point of greatest power; None if the curve does not go past it, or has fewer than 4 points.

    Raises ValueError unless all responses are positive.
    """
    if any(response <= 0 for _, response in points):
        raise ValueError("response times of a curve are positive")
    power = [throughput / response for throughput, response in points]
    if len(power) < MIN_POINTS:
        return None
    best = max(range(len(power)), key=power.__getitem__)
    return best if min(power[best:]) <= PASSED * power[best] else None


def response_at(points: Sequence[Point], throughput: float) -> float | None:
    """The response where the curve first reaches `throughput`, on the straight line between the points beside it.

    None if it begins beyond it or never reaches it.
    """
    return next(_crossings(points, throughput), None)


def throughput_at(points: Sequence[Point], response: float) -> float | None:
    """The throughput from which on the response stays above `response`; interpolated, or None, as in `response_at`.

    It is the last time that the response rises so far: a single slow point under little load does not count.
    """
    *_, last = (None, *_crossings([(y, x) for x, y in points], response))
    return last


def _crossings(points: Sequence[Point], wanted: float) -> Iterator[float]:
    """The second value at each place where the first one rises to `wanted`."""
    for (low, before), (high, after) in pairwise(points):
        if low <= wanted <= high:
            share = (wanted - low) / (high - low) if high > low else 0.0
            yield before + share * (after - before)
