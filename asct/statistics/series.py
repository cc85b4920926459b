"""The interval for a ratio of sums, such as requests per second, from the consecutive parts of one run.

Neighboring parts are similar: a drive that is slow in one second is usually slow in the next. If they were treated as
independent, the value of the next run would often be outside the interval. Three corrections follow from the
correlation r of neighbors, on the assumption that it decays geometrically (an autoregressive process of order 1):

- n parts contain as much information as n (1 - r) / (1 + r) independent ones (Bayley and Hammersley, "The effective
  number of independent observations in an autocorrelated time series", Supplement to the Journal of the Royal
  Statistical Society 8, 1946). The variance of the parts around their mean is too low and is corrected accordingly.
- The r estimated from a short series is too low by about (1 + 3 r) / n (Kendall, "Note on bias in the estimation of
  autocorrelation", Biometrika 41, 1954).
- The standard error of r is sqrt((1 - r^2) / n) (Bartlett, "On the theoretical specification and sampling properties of
  autocorrelated time-series", Supplement to the Journal of the Royal Statistical Society 8, 1946). An r that is too low
  would make the interval too narrow, and nothing in the run would reveal the error. Therefore, the interval is computed
  with an r that is higher than the estimate by `_CAUTION` standard errors.

The residuals of a ratio are linearized: Cochran, Sampling Techniques, 3rd ed. 1977, chapter 6.

A change that takes longer than the run cannot be detected. Flyvbjerg and Petersen ("Error estimates on averages of
correlated data", Journal of Chemical Physics 91, 1989) form blocks of increasing length instead, which requires
hundreds of values; a run has at most 120.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from asct.statistics.visits import VISITS_MIN, cautious, correlation, independent, t_975

LEAST_INDEPENDENT: Final = VISITS_MIN
"""Minimum number of independent parts for an interval."""
_CAUTION: Final = 1.4
"""Number of standard errors added to the estimated correlation."""
_CORRELATION_LEAST, _CORRELATION_MOST = -0.5, 0.95
_LEAST_EFFECTIVE: Final = 3.0
"""Minimum effective number of parts. With fewer parts, Student's t alone would make the interval several times wider
than the whole range of the parts."""


def ratio_half_width(amounts: Sequence[float], sizes: Sequence[float]) -> float | None:
    """Return half the width of the 95 % interval for sum(amounts) / sum(sizes), in the unit of that ratio.

    `amounts` and `sizes` contain one number for each part of a run, in chronological order. The sum of `sizes` must be
    positive. Returns None if the parts contain less information than 6 independent parts would.
    """
    count = len(amounts)
    if count < LEAST_INDEPENDENT:
        return None
    total = math.fsum(sizes)
    ratio, scale = math.fsum(amounts) / total, count / total
    residuals = [(amount - ratio * size) * scale for amount, size in zip(amounts, sizes, strict=True)]
    likely, upper = dependence(residuals)
    if independent(count, likely) < LEAST_INDEPENDENT:
        return None
    effective = max(independent(count, upper), _LEAST_EFFECTIVE)
    variance = math.fsum(one * one for one in residuals) / count / (effective - 1.0)
    return t_975(math.floor(effective) - 1) * math.sqrt(variance)


def dependence(values: Sequence[float]) -> tuple[float, float]:
    """Return the correlation between neighboring values in a series of at least 6 values: the estimate, and a cautious
    upper bound that is unlikely to be exceeded. Both are limited to the range from -0.5 to 0.95."""
    count, found = len(values), correlation(values)
    if found is None:
        return 0.0, 0.0
    found /= 1.0 - 3.0 / count
    likely, upper = (
        min(max(one, _CORRELATION_LEAST), _CORRELATION_MOST) for one in (found, cautious(found, count, _CAUTION))
    )
    return likely, upper
