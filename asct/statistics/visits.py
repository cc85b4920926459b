"""Combine visits: processes that measured the same value with fresh memory, at different times.

All samples of one process come from the same pages, at the same time and with the same neighbors on the host, so their
spread does not predict the values of the next process. All of these conditions change between visits. Therefore, the
interval is computed from one median per visit. Sources: Kalibera and Jones, "Rigorous benchmarking in reasonable time",
ISMM 2013 (variance within and between executions); Georges, Buytaert and Eeckhout, "Statistically rigorous Java
performance evaluation", OOPSLA 2007 (t-interval over executions); Stein, "A two-sample test for a linear hypothesis
whose power is independent of the variance", Annals of Mathematical Statistics 16, 1945 (number of values fixed from a
pilot).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, median, stdev, variance
from typing import NamedTuple

VISITS_MIN = 6
"""Minimum number of visits for an interval."""
RUNS_MIN = 3
"""Minimum number of runs, including the current one, from which the spread between runs is estimated."""
SAMPLES_MIN = 21
"""Minimum number of samples for a reliable median of a visit."""
# Student's t, 0.975 quantile, for 1 to 30 degrees of freedom. Beyond that, the first terms of its expansion around the
# normal quantile are used (Fisher and Cornish, Technometrics 2, 1960).
_T_975 = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
    2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
    2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip
_Z_975 = 1.959964
# At 1 %, one in 360 values with six visits is considered to drift although it does not: only a strictly monotone order
# counts.
_DRIFT_LEVEL = 0.01
# Two states must differ by more than a working set or a clock can explain, and by clearly more than each of them
# varies.
_STATE_GAP = 0.05
_STATE_CONTRAST = 3.0
_STATE_VISITS = 2
_STATE_SHARE = 0.2
# Within a millisecond, clocks of cores and caches change the latency of a pair by up to 20 % (15 of 150 runs by more
# than 5 %). Another core, cache or socket takes 1.5 to 4 times as long.
_MOVE_GAP = 0.3
_QUARTERS = 4
_CORRELATION_MOST = 0.9
# In simulations with 6 and 12 visits, if the correlation between neighbors is 0 to 0.5, the interval contains the value
# of the next run in 80 to 91 % of the cases, and half its width is 2 to 3 standard deviations between runs. Without
# caution, it contains 71 to 85 %.
_CAUTION = 0.8
_SERVED = 0.8
_SAMPLES_PART = 0.1
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


@dataclass(frozen=True, slots=True)
class VisitSummary:
    """The combined value of several visits, in the unit of their values. Variances are in the square of that unit.

    `between` is the sample variance of the visits' medians. `ci95` is None for fewer than VISITS_MIN visits. `drift` is
    true if the values of the visits rise or fall over time. `states` contains two items if the visits fall into two
    groups, and is empty otherwise.
    """

    visits: int
    median: float
    ci95: tuple[float, float] | None
    between: float | None
    drift: bool
    states: tuple[State, ...]


def summarise_visits(medians: Sequence[float]) -> VisitSummary:
    """Return a summary of the medians of visits (one per visit), which must be in chronological order. Raises
    ValueError if there are none.

    The interval is a t-interval with the half-width t s / sqrt(n) around the median of the visits; n is reduced if
    neighbors in time are alike. If the visits drift or have two states, the interval spans all of them.
    """
    if not medians:
        raise ValueError("no visits to combine")
    count, middle = len(medians), float(median(medians))
    states, drift = _states(medians), _drifts(medians)
    between = variance(medians) if count > 1 else None
    interval = None
    if between is not None and count >= VISITS_MIN:
        reach = t_975(count - 1) * math.sqrt(between / effective_count(medians))
        low, high = middle - reach, middle + reach
        if states or drift:
            low, high = min(low, *medians), max(high, *medians)
        interval = (low, high)
    return VisitSummary(count, middle, interval, between, drift, states)


def next_run_interval(value: float, visits: tuple[float, float], earlier: Sequence[float]) -> tuple[float, float]:
    """Return the interval in which the next run is expected to measure this value, given the interval over this run's
    visits and the values of earlier runs in chronological order.

    Some conditions, such as the neighbors on the host and the physical CPUs behind virtual ones, vary only from run to
    run and are the same for all visits of a run. With RUNS_MIN or more runs, the interval is therefore at least as wide
    as a t-interval with the standard deviation between runs. Both ends of that interval differ from the value by the
    same factor, so that a bandwidth that doubles from run to run does not get an interval with negative values. With
    fewer runs, this standard deviation is unknown. Both this run and the next are then assumed to have the error that
    the visits show, so that their difference varies by sqrt(2) times as much (Hahn and Meeker, Statistical Intervals,
    1991, section 4.8).
    """
    low, high = visits
    runs = [*earlier, value]
    if len(runs) < RUNS_MIN or value <= 0.0:
        return value - math.sqrt(2.0) * (value - low), value + math.sqrt(2.0) * (high - value)
    factor = 1.0 + t_975(len(runs) - 1) * stdev(runs) / value
    return min(low, value / factor), max(high, value * factor)


def visits_needed(pilot: Sequence[Variation], target: float, most: int) -> int:
    """Return the number of visits, including those of the pilot, that suffices for four out of five values, but at most
    `most`. A number suffices for a value if the interval is then no wider than `target` times the value's median. The
    few values with a large variation get a wider interval, so that they do not increase the number of visits for all
    others. According to Stein's rule, the number depends only on the variance in the pilot, because stopping at a lucky
    moment would make the interval too narrow.
    """
    return _of_most([_visits_needed(value, target, most) for value in pilot], VISITS_MIN)


def _visits_needed(value: Variation, target: float, most: int) -> int:
    half = target / 2.0 * abs(value.median)
    spread = t_975(value.visits - 1) ** 2 * value.between
    needed = math.ceil(spread / half**2) if half > 0.0 else most
    return max(VISITS_MIN, min(needed, most))


def samples_needed(pilot: Sequence[Variation]) -> int:
    """Return the number of samples per visit that suffices for four out of five values, between SAMPLES_MIN and
    _SAMPLES_MOST.

    More samples would not make an interval narrower: with this number, the error of a visit's median (its variance is
    pi / 2 times that of the mean, for normal samples) adds at most a tenth to the variance between visits.
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
    """Return the number of independent values that would contain the same information, from 1 to n.

    It is n (1 - r) / (1 + r) if r, the correlation between neighbors, is positive (Bayley and Hammersley, 1946). With
    few values, the estimate of r has a bias of -1 / n (Kendall, Biometrika 41, 1954), which is corrected. An r that is
    too low makes an interval too narrow, and nothing in the run would reveal this. Therefore, _CAUTION standard errors
    (Bartlett, 1946) are added.
    """
    count, middle = len(in_time), fmean(in_time)
    squares = math.fsum((value - middle) ** 2 for value in in_time)
    if squares == 0.0:
        return float(count)
    together = math.fsum((a - middle) * (b - middle) for a, b in pairwise(in_time))
    likely = together / squares + 1.0 / count
    error = math.sqrt((1.0 - min(likely * likely, 1.0)) / count)
    correlation = min(max(likely + _CAUTION * error, 0.0), _CORRELATION_MOST)
    return max(1.0, count * (1.0 - correlation) / (1.0 + correlation))


def moved(before: Sequence[float], after: Sequence[float], slowdown: float = 1.0) -> bool:
    """Return whether a virtual CPU moved between two short series of the same latency between two CPUs.

    This is assumed if their lower quartiles differ by more than _MOVE_GAP, and by more than _STATE_CONTRAST times the
    wider of their interquartile ranges. Disturbances lengthen some values of a series but do not affect its lower
    quartile. The result is False for fewer than four values.

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
    """Return whether a rank test rejects the hypothesis that the values are in random order (Mann, "Nonparametric tests
    against trend", Econometrica 13, 1945)."""
    count = len(in_time)
    score = sum((b > a) - (b < a) for i, a in enumerate(in_time) for b in in_time[i + 1 :])
    return count >= VISITS_MIN and _tail_share(count, abs(score)) <= _DRIFT_LEVEL


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
    """Return two groups that are separated by a gap, each with at least two visits and at least a fifth of all visits.
    The result is empty if there are no such groups. The gap must be larger than _STATE_GAP (a share of the value), and
    larger than _STATE_CONTRAST times the range of either group.
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
