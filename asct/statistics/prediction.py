"""Test whether the next value in a series of independent values is consistent with the earlier ones.

Sources: Hahn and Meeker, Statistical Intervals, 1991, section 4.7 (prediction of one future value of a normal
distribution); Abramowitz and Stegun, Handbook of Mathematical Functions, 1964, 26.7.3 and 26.7.4 (Student's
t-distribution with an integer number of degrees of freedom).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, stdev
from typing import NamedTuple


class Prior(NamedTuple):
    """A standard deviation known from another source, with the degrees of freedom of its estimate."""

    spread: float
    degrees: int


def next_p(earlier: Sequence[float], value: float, prior: Prior | None = None) -> float:
    """Return the probability that the next value is at least `value`, if it comes from the same normal distribution as
    the `earlier` ones. The standard deviation is computed from the earlier values, but is at least that of `prior`,
    because a few values may agree by chance or rounding. Raises ValueError for fewer than two earlier values.
    """
    if len(earlier) < 2:
        raise ValueError("predicting the next value requires at least two earlier ones")
    own = Prior(stdev(earlier), len(earlier) - 1)
    spread, degrees = max(own, prior or own)
    excess = value - fmean(earlier)
    if spread == 0.0:
        return 1.0 if excess <= 0.0 else 0.0
    return t_greater_p(excess / (spread * math.sqrt(1.0 + 1.0 / len(earlier))), max(own.degrees, degrees))


def t_greater_p(value: float, degrees: int) -> float:
    """Return the probability that a Student's t variable is at least `value`. Raises ValueError for less than one
    degree of freedom."""
    if degrees < 1:
        raise ValueError("Student's t-distribution requires at least one degree of freedom")
    angle = math.atan(abs(value) / math.sqrt(degrees))
    sine, cosine = math.sin(angle), math.cos(angle)
    odd = degrees % 2
    term, total = (cosine, 0.0) if odd else (1.0, 0.0)
    for step in range(degrees // 2):
        total += term
        term *= cosine * cosine * (2 * step + 1 + odd) / (2 * step + 2 + odd)
    within = 2.0 / math.pi * (angle + sine * total) if odd else sine * total
    tail = max(0.0, (1.0 - within) / 2.0)
    return tail if value >= 0.0 else 1.0 - tail
