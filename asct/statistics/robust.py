"""Robust location and spread: the median, the median absolute deviation, running medians and slopes.

All functions take plain sequences of finite numbers, keep their unit, and raise ValueError on an empty one.

Sources: Huber and Ronchetti, Robust Statistics, 2nd ed. 2009, chapter 5 (MAD); Tukey, Exploratory Data Analysis, 1977,
chapter 7 (running medians); Sen, "Estimates of the regression coefficient based on Kendall's tau", Journal of the
American Statistical Association 63, 1968 (median of pairwise slopes).
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence

NORMAL_CONSISTENCY = 1.4826
"""1 / (the 0.75 quantile of the normal distribution): MAD times this estimates a normal standard deviation."""


def median(values: Sequence[float]) -> float:
    """The middle value, or the mean of the two middle ones."""
    if not values:
        raise ValueError("the median of no values does not exist")
    return float(statistics.median(values))


def mad(values: Sequence[float], center: float | None = None) -> float:
    """Median absolute deviation from `center` (the median if not given), not scaled."""
    middle = median(values) if center is None else center
    return median([abs(value - middle) for value in values])


def shorth_median(values: Sequence[float]) -> float:
    """Median of the shorth, the densest half of positive values: the half whose largest is least times its smallest.

    Where values are level for more than half of their number and then drift away, it stays with the level part, while
    the median of all begins to move once nearly half have drifted. D. F. Andrews et al., "Robust Estimates of
    Location", Princeton University Press, 1972.
    """
    ordered = sorted(values)
    if not ordered or ordered[0] <= 0:
        raise ValueError("the densest half is taken of positive values")
    half = len(ordered) // 2 + 1
    start = min(range(len(ordered) - half + 1), key=lambda first: ordered[first + half - 1] / ordered[first])
    return median(ordered[start : start + half])


def running_median(values: Sequence[float], width: int = 5) -> list[float]:
    """Median of the `width` (odd) values around each one; the window shrinks symmetrically at both ends.

    A monotone sequence comes back unchanged, so edges between levels keep their place.
    """
    if width < 1 or width % 2 == 0:
        raise ValueError(f"the width of a running median is odd and positive, not {width}")
    last = len(values) - 1
    smoothed = []
    for index in range(len(values)):
        half = min(width // 2, index, last - index)
        smoothed.append(median(values[index - half : index + half + 1]))
    return smoothed


def median_slope(x: Sequence[float], y: Sequence[float]) -> float:
    """Theil-Sen slope: the median of the slopes of all pairs of points with different x; 0.0 without such a pair.

    Up to 29 % of the points may be wild without moving it.
    """
    slopes = [
        (y[right] - y[left]) / (x[right] - x[left])
        for left in range(len(x))
        for right in range(left + 1, len(x))
        if x[right] != x[left]
    ]
    return median(slopes) if slopes else 0.0
