"""Robust location and spread: median, median absolute deviation, running medians and slopes.

All functions take sequences of finite numbers, return values in the same unit, and raise ValueError if the sequence is
empty.

Sources: Huber and Ronchetti, Robust Statistics, 2nd ed. 2009, chapter 5 (MAD); Tukey, Exploratory Data Analysis, 1977,
chapter 7 (running medians); Sen, "Estimates of the regression coefficient based on Kendall's tau", Journal of the
American Statistical Association 63, 1968 (median of pairwise slopes).
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from itertools import combinations

NORMAL_CONSISTENCY = 1.4826
"""This factor times the MAD of normally distributed values is an estimate of their standard deviation. The factor is 1
/ (0.75 quantile of the normal distribution)."""


def median(values: Sequence[float]) -> float:
    """Return the middle value, or the mean of the two middle values."""
    if not values:
        raise ValueError("a median requires at least one value")
    return float(statistics.median(values))


def mad(values: Sequence[float]) -> float:
    """Return the median absolute deviation from the median, without scaling it to a standard deviation."""
    middle = median(values)
    return median([abs(value - middle) for value in values])


def shorth_median(values: Sequence[float]) -> float:
    """Return the median of the shorth, the densest half of positive values (the half whose ends have the smallest
    ratio). If more than half of the values are level and the rest drift away, the result stays with the level part,
    whereas the median of all values shifts once nearly half of them have drifted. Source: D. F. Andrews et al., "Robust
    Estimates of Location", Princeton University Press, 1972.
    """
    ordered = sorted(values)
    if not ordered or ordered[0] <= 0:
        raise ValueError("the shorth requires positive values")
    half = len(ordered) // 2 + 1
    start = min(range(len(ordered) - half + 1), key=lambda first: ordered[first + half - 1] / ordered[first])
    return median(ordered[start : start + half])


def running_median(values: Sequence[float], width: int = 5) -> list[float]:
    """Return, for each value, the median of the `width` values around it. `width` must be odd; the window shrinks
    symmetrically at both ends.

    A monotone sequence is returned unchanged, so the edges of levels do not move.
    """
    if width < 1 or width % 2 == 0:
        raise ValueError(f"the width of a running median must be odd and positive, not {width}")
    last = len(values) - 1
    smoothed = []
    for index in range(len(values)):
        half = min(width // 2, index, last - index)
        smoothed.append(median(values[index - half : index + half + 1]))
    return smoothed


def median_slope(x: Sequence[float], y: Sequence[float]) -> float:
    """Return the Theil-Sen slope: the median slope over all pairs of points with different x, or 0.0 if there are no
    such pairs.

    Up to 29 % of the points can be outliers without affecting the result.
    """
    pairs = combinations(range(len(x)), 2)
    slopes = [(y[right] - y[left]) / (x[right] - x[left]) for left, right in pairs if x[right] != x[left]]
    return median(slopes) if slopes else 0.0
