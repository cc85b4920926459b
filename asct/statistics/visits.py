"""Combine visits, that is, processes that measured the same value in fresh memory at different times.

All samples of one process come from the same pages, at the same time and with the same neighbors on the host, so their
spread does not predict the values of the next process. All of these conditions change between visits. Therefore, the
interval is computed from one median per visit. Sources: Kalibera and Jones, "Rigorous benchmarking in reasonable time",
ISMM 2013 (variance within and between executions); Georges, Buytaert and Eeckhout, "Statistically rigorous Java
performance evaluation", OOPSLA 2007 (t-interval over executions); Stein, "A two-sample test for a linear hypothesis
whose power is independent of the variance", Annals of Mathematical Statistics 16, 1945 (number of values determined by
a pilot).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import NormalDist, fmean, median, stdev, variance
from typing import NamedTuple

VISITS_MIN = 6
"""The minimum number of visits for computing an interval."""
RUNS_MIN = 3
"""The minimum number of runs, including the current one, for estimating the spread between runs."""
SAMPLES_MIN = 21
"""The minimum number of samples in a visit, so that its median is reliable."""
# The 0.975 quantile of Student's t for 1 to 30 degrees of freedom. For more, the quantile is computed from the first
# terms of its expansion around the normal quantile (Fisher and Cornish, Technometrics 2, 1960).
_T_975 = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
    2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
    2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip
_Z_975 = 1.959964
# The probability with which independent visits count as drifting. Two tests share it equally. At half of it, six visits
# pass the rank test only if their values are strictly monotone, which happens by chance in one of 360 cases.
_DRIFT_LEVEL = 0.01
# The gap between two states must be larger than a different working set or clock frequency can explain, and clearly
# larger than the range of each state. With this contrast, about 1 % of all groups of six normally distributed visits
# seem to have two states; with a contrast of 2, it would be 4 %. A single visit, or a few of many, are outliers rather
# than a state.
_STATE_GAP = 0.05
_STATE_CONTRAST = 3.0
_STATE_VISITS = 2
_STATE_SHARE = 0.2
# Within a millisecond, changing core and cache clocks can alter the latency between two CPUs by up to 20 % (by more
# than 5 % in 15 of 150 runs). If a CPU moves to another core, cache or socket, the latency changes by a factor of 1.5
# to 4.
_MOVE_GAP = 0.3
_QUARTERS = 4
# Reduces the number of independent values by a factor of at most 19.
_CORRELATION_MOST = 0.9
# This value was chosen by simulating 6 and 12 visits whose neighbors have a correlation of 0 to 0.5. With it, the
# interval contains the next run's value in 80 to 91 % of the cases, and half the interval's width is 2 to 3 standard
# deviations between runs. With 0 instead, the interval contains the value in only 71 to 85 % of the cases.
_CAUTION = 0.8
# Share of the values that get enough visits. With all of them, a few widely varying values would determine how long the
# measurement of all others takes.
_SERVED = 0.8
# Increases the half-width of an interval by at most 5 % (the square root of 1.1).
_SAMPLES_PART = 0.1
# More samples than any benchmark takes in a visit.
_SAMPLES_MOST = 10**6


@dataclass(frozen=True, slots=True)
class State:
    """One of two values between which visits alternate: their median, and their share of the visits."""

    value: float
    share: float


class Variation(NamedTuple):
    """The variation of one value in a pilot: its median, the number of visits (2 or more), the samples in each, and the
    variances between the medians of visits and within visits."""

    median: float
    visits: int
    samples: float
    between: float
    within: float


class Kept(NamedTuple):
    """The samples of one visit: their median, MAD and extremes, and how many were kept and dropped."""

    median: float
    mad: float
    least: float
    most: float
    kept: int
    dropped: int


@dataclass(frozen=True, slots=True)
class VisitSummary:
    """The combined value of several visits, in the unit of their values. Variances are in the square of that unit.

    `between` is the sample variance of the visits' medians. `ci95` is None for fewer than VISITS_MIN visits. `drift` is
    true if the values of the visits depend on the time: they rise or fall, or neighbors are correlated. `states`
    contains two items if the visits fall into two groups, and is empty otherwise.
    """

    median: float
    ci95: tuple[float, float] | None
    between: float | None
    drift: bool
    states: tuple[State, ...]


def summarise_visits(medians: Sequence[float]) -> VisitSummary:
    """Return a summary of the medians of visits (one per visit), which must be in chronological order. Raises
    ValueError if there are none.

    The interval is a t-interval with the half-width t s / sqrt(n) around the median of the visits; n is reduced if
    consecutive visits are similar. If all visits are positive, the lower end is below the median by the same factor by
    which the upper end is above it. If the visits drift or have two states, the interval spans all of them.
    """
    if not medians:
        raise ValueError("no visits to combine")
    count, middle = len(medians), float(median(medians))
    states, drift = _states(medians), _drifts(medians)
    between = variance(medians) if count > 1 else None
    interval = None
    if between is not None and count >= VISITS_MIN:
        reach = t_975(count - 1) * math.sqrt(between / effective_count(medians))
        low, high = _below(middle, reach) if min(medians) > 0.0 else middle - reach, middle + reach
        if states or drift:
            low, high = min(low, *medians), max(high, *medians)
        interval = (low, high)
    return VisitSummary(middle, interval, between, drift, states)


def dropped_bounds(visits: Sequence[Kept]) -> tuple[float, float]:
    """Return the smallest and the largest value that the median of the visits could have if the dropped samples had
    been kept: all of them below, or all of them above the median of their visit.

    A visit that dropped d samples and kept n has a median between the quantiles (1 - d / n) / 2 and (1 + d / n) / 2 of
    the samples kept (Horowitz and Manski, "Identification and robustness with contaminated and corrupted data",
    Econometrica 63, 1995). Half of the samples lie within one MAD of the median. Between the median and the quartiles,
    the quantiles are therefore at most as far from the median as on a straight line, if the distribution has one peak.
    Beyond the quartiles, the extremes are used; values beyond the extremes cannot be excluded if d > n.
    """
    ends = [_with_dropped(one) for one in visits]
    return float(median(low for low, _ in ends)), float(median(high for _, high in ends))


def _with_dropped(visit: Kept) -> tuple[float, float]:
    if 2 * visit.dropped > visit.kept:
        return visit.least, visit.most
    reach = 2.0 * visit.dropped / visit.kept * visit.mad
    return visit.median - reach, visit.median + reach


def next_run_interval(value: float, visits: tuple[float, float], earlier: Sequence[float]) -> tuple[float, float]:
    """Return the interval in which the next run is expected to measure this value, given the interval over this run's
    visits and the values of earlier runs in chronological order.

    Some conditions, such as the neighbors on the host and the physical CPUs behind virtual ones, vary only from run to
    run and are the same for all visits of a run. With RUNS_MIN or more runs, the interval is therefore at least as wide
    as a t-interval with the standard deviation between runs. Both ends of that interval differ from the value by the
    same factor. With fewer runs, this standard deviation is unknown. It is then assumed that this run and the next both
    have the error that the visits show, so that their difference varies sqrt(2) times as much (Hahn and Meeker,
    Statistical Intervals, 1991, section 4.8).
    """
    low, high = visits
    runs = [*earlier, value]
    if len(runs) < RUNS_MIN or value <= 0.0:
        below = math.sqrt(2.0) * (value - low)
        wider = _below(value, below * value / low) if low > 0.0 else value - below
        return wider, value + math.sqrt(2.0) * (high - value)
    reach = t_975(len(runs) - 1) * stdev(runs)
    return min(low, _below(value, reach)), max(high, value + reach)


def _below(value: float, reach: float) -> float:
    """Return the positive value that is below `value` by the same factor by which `value + reach` is above it.

    A latency or bandwidth cannot be negative, so its interval must not include negative values, however wide it is.
    """
    return value / (1.0 + reach / value)


def visits_needed(pilot: Sequence[Variation], target: float, most: int) -> int:
    """Return the number of visits, including those of the pilot, that is enough for four out of five values. The result
    is at least VISITS_MIN and at most `most`. A number of visits is enough for a value if it makes the value's interval
    no wider than `target` times the value's median. The remaining values vary more; they get a wider interval, because
    otherwise all values would need more visits. As in Stein's rule, the result depends only on the variances in the
    pilot; stopping as soon as the interval happens to be narrow would make it too narrow.
    """
    return _of_most([_visits_needed(value, target, most) for value in pilot], VISITS_MIN)


def _visits_needed(value: Variation, target: float, most: int) -> int:
    half = target / 2.0 * abs(value.median)
    spread = t_975(value.visits - 1) ** 2 * value.between
    needed = math.ceil(spread / half**2) if half > 0.0 else most
    return max(VISITS_MIN, min(needed, most))


def samples_needed(pilot: Sequence[Variation]) -> int:
    """Return the number of samples per visit that is enough for four out of five values. The result is at least
    SAMPLES_MIN and at most _SAMPLES_MOST.

    More samples would hardly make an interval narrower. With this number, the error of a visit's median adds at most a
    tenth to the variance between visits. (For normal samples, the variance of the median is pi / 2 times that of the
    mean.)
    """
    return _of_most([_samples_needed(value) for value in pilot], _SAMPLES_MOST)


def _samples_needed(value: Variation) -> int:
    within = math.pi / 2.0 * value.within
    others = _SAMPLES_PART * (value.between - within / value.samples)
    if others * _SAMPLES_MOST <= within:
        return _SAMPLES_MOST
    return max(SAMPLES_MIN, math.ceil(within / others))


def _of_most(needed: Sequence[int], default: int) -> int:
    return sorted(needed)[math.ceil(_SERVED * len(needed)) - 1] if needed else default


def t_975(degrees: int) -> float:
    """Return the 0.975 quantile of Student's t-distribution. Raises ValueError for less than one degree of freedom."""
    if degrees < 1:
        raise ValueError("Student's t-distribution requires at least one degree of freedom")
    if degrees <= len(_T_975):
        return _T_975[degrees - 1]
    return _Z_975 + (_Z_975**3 + _Z_975) / (4.0 * degrees)


def effective_count(in_time: Sequence[float]) -> float:
    """Return the number of independent values, from 1 to n, that would contain as much information as these values.

    The number is n (1 - r) / (1 + r) if r, the correlation between neighbors, is positive (Bayley and Hammersley,
    1946). With few values, the estimate of r has a bias of -1 / n (Kendall, Biometrika 41, 1954), which is corrected.
    An r that is too low would make an interval too narrow, and nothing in the run would reveal this. Therefore,
    _CAUTION standard errors (Bartlett, 1946) are added to r.
    """
    count, likely = len(in_time), correlation(in_time)
    if likely is None:
        return float(count)
    upper = min(max(cautious(likely, count, _CAUTION), 0.0), _CORRELATION_MOST)
    return max(1.0, independent(count, upper))


def correlation(in_time: Sequence[float]) -> float | None:
    """Return the correlation between neighbors, increased by its bias of 1 / n, or None if all values are equal."""
    middle = fmean(in_time)
    squares = math.fsum((value - middle) ** 2 for value in in_time)
    if squares == 0.0 or min(in_time) == max(in_time):  # the mean of equal values may differ from them by rounding
        return None
    return math.fsum((a - middle) * (b - middle) for a, b in pairwise(in_time)) / squares + 1.0 / len(in_time)


def cautious(likely: float, count: int, errors: float) -> float:
    """Return a correlation between `count` values, increased by a number of standard errors."""
    return likely + errors * math.sqrt((1.0 - min(likely * likely, 1.0)) / count)


def independent(count: int, neighbors: float) -> float:
    """Return how many independent values contain as much information as `count` values whose neighbors have this
    correlation."""
    return count * (1.0 - neighbors) / (1.0 + neighbors)


def moved(before: Sequence[float], after: Sequence[float], slowdown: float = 1.0) -> bool:
    """Return whether a virtual CPU moved between two short series of the same latency between two CPUs.

    A move is assumed if the lower quartiles of the series differ by more than _MOVE_GAP, and by more than
    _STATE_CONTRAST times the wider of the interquartile ranges. Disturbances lengthen some values of a series but do
    not affect its lower quartile. The result is False for fewer than four values.

    `slowdown` is the duration of a core cycle after the measurement, relative to its duration before the measurement.
    If only the clock changed, the change in latency is less than _MOVE_GAP in seconds, in cycles, or in both.
    """
    if min(len(before), len(after)) < _QUARTERS:
        return False
    return _differ(before, after) and _differ(before, [value / slowdown for value in after])


def _differ(before: Sequence[float], after: Sequence[float]) -> bool:
    (low, high), (low_after, high_after) = _middle_half(before), _middle_half(after)
    gap, widest = abs(low - low_after), max(high - low, high_after - low_after)
    return gap > _MOVE_GAP * min(low, low_after) and gap > _STATE_CONTRAST * widest


def _middle_half(values: Sequence[float]) -> tuple[float, float]:
    ordered = sorted(values)
    quarter = len(ordered) // _QUARTERS
    return ordered[quarter], ordered[-1 - quarter]


def _drifts(in_time: Sequence[float]) -> bool:
    """Return whether one of two tests rejects the hypothesis that the values are in random order: one against a trend,
    the other against a correlation between neighbors, such as a step or slow waves. Each test gets half of _DRIFT_LEVEL
    (Bonferroni)."""
    return len(in_time) >= VISITS_MIN and (_has_trend(in_time) or _are_correlated(in_time))


def _has_trend(in_time: Sequence[float]) -> bool:
    """Return the result of a rank test (Mann, "Nonparametric tests against trend", Econometrica 13, 1945)."""
    score = sum((b > a) - (b < a) for i, a in enumerate(in_time) for b in in_time[i + 1 :])
    return _tail_share(len(in_time), abs(score)) <= _DRIFT_LEVEL / 2.0


def _are_correlated(in_time: Sequence[float]) -> bool:
    """Return whether the correlation between neighbors is higher than chance explains. For n independent normal values,
    its expected value is -1 / n and its variance (n - 2)^2 / (n^2 (n - 1)) (Moran, "Some theorems on time series II",
    Biometrika 35, 1948)."""
    count, likely = len(in_time), correlation(in_time)
    error = (count - 2) / (count * math.sqrt(count - 1))
    return likely is not None and likely > NormalDist().inv_cdf(1.0 - _DRIFT_LEVEL / 2.0) * error


def _tail_share(count: int, score: int) -> float:
    """Return the probability that a random order of `count` values has a score of at least `score` in either direction.

    It is computed by counting the permutations for each number of inversions.
    """
    ways = [1]
    for size in range(2, count + 1):
        longer = [0] * (len(ways) + size - 1)
        for inversions, number in enumerate(ways):
            for extra in range(size):
                longer[inversions + extra] += number
        ways = longer
    inversions = (count * (count - 1) // 2 - score) // 2
    return min(1.0, 2.0 * sum(ways[: inversions + 1]) / sum(ways))


def _states(medians: Sequence[float]) -> tuple[State, ...]:
    """Return two groups of visits that are separated by a gap, or an empty tuple if there are none. Each group contains
    at least two visits and at least a fifth of all visits. The gap must be larger than _STATE_GAP (a share of the
    value), and larger than _STATE_CONTRAST times the range of either group.
    """
    ordered = sorted(medians)
    count = len(ordered)
    least = max(_STATE_VISITS, math.ceil(_STATE_SHARE * count))
    gaps = {cut: ordered[cut] - ordered[cut - 1] for cut in range(least, count - least + 1)}
    if count < VISITS_MIN or not gaps:
        return ()
    cut = max(gaps, key=lambda at: gaps[at])
    groups = ordered[:cut], ordered[cut:]
    widest = max(group[-1] - group[0] for group in groups)
    if gaps[cut] <= _STATE_GAP * abs(median(ordered)) or gaps[cut] <= _STATE_CONTRAST * widest:
        return ()
    return tuple(State(float(median(group)), len(group) / count) for group in groups)
