"""Robust location, intervals from order statistics, and logarithmic functions, compared with known values and
definitions."""

from __future__ import annotations

import itertools
import math
import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asct.sdk.samples import stats_of
from asct.statistics.geometric import between_sizes, geometric_sizes
from asct.statistics.quantiles import median_interval, median_ranks, relative_half_width
from asct.statistics.robust import mad, median, median_slope, running_median

FINITE = st.floats(-1e9, 1e9)
SAMPLES = st.lists(FINITE, min_size=1, max_size=60)


def test_median_and_mad() -> None:
    assert median([3, 1, 2]) == 2
    assert median([4, 1, 2, 3]) == 2.5
    assert mad([1, 1, 2, 2, 4, 6, 9]) == 1  # the example of the definition: deviations 1 1 0 0 2 4 7
    with pytest.raises(ValueError, match="at least one value"):
        median([])


@given(SAMPLES)
def test_running_median_leaves_a_monotone_sequence_alone(values: list[float]) -> None:
    assert running_median(sorted(values)) == sorted(values)


def test_running_median_removes_two_bad_values_side_by_side() -> None:
    assert running_median([1, 1, 1, 9, 9, 1, 1, 1], 5) == [1] * 8
    with pytest.raises(ValueError, match="odd"):
        running_median([1.0], 4)


def test_median_slope_survives_outliers() -> None:
    x = [float(i) for i in range(20)]
    y = [2.0 * value + 1.0 for value in x]
    y[3], y[11], y[17] = 500.0, -300.0, 80.0
    assert median_slope(x, y) == pytest.approx(2.0)
    assert median_slope([1.0, 1.0], [2.0, 3.0]) == 0.0


def test_median_ranks_against_the_published_table() -> None:
    # David and Nagaraja, section 7.1: two-sided 95 % intervals of the median
    expected = {5: None, 6: (1, 6), 9: (2, 8), 12: (3, 10), 20: (6, 15), 25: (8, 18), 50: (18, 33), 100: (40, 61)}
    assert {count: median_ranks(count) for count in expected} == expected
    assert median_ranks(0) is None


@pytest.mark.parametrize("count", [6, 7, 21, 64, 100, 500, 2000])
def test_median_ranks_are_the_narrowest_that_cover(count: int) -> None:
    ranks = median_ranks(count)
    assert ranks is not None
    low, high = ranks

    def coverage(rank: int) -> float:
        return sum(math.comb(count, k) for k in range(rank, count + 1 - rank)) / 2**count

    assert low + high == count + 1
    assert coverage(low) >= 0.95
    assert coverage(low + 1) < 0.95


def test_large_samples_agree_with_the_exact_ranks() -> None:
    exact, approximate = median_ranks(2000), median_ranks(2001)
    assert exact is not None
    assert approximate is not None
    assert abs(exact[0] - approximate[0]) <= 1
    assert median_ranks(10_000) == (4902, 5099)


def test_interval_covers_the_true_median_as_often_as_promised() -> None:
    rng = random.Random(7)
    hits = 0
    for _ in range(2000):
        interval = median_interval([rng.expovariate(1.0) for _ in range(15)])
        assert interval is not None
        hits += interval[0] <= math.log(2) <= interval[1]
    assert 0.94 <= hits / 2000 <= 0.985  # the exact coverage of ranks 4 and 12 of 15 is 0.965


def test_no_interval_below_six_samples() -> None:
    assert median_interval([1.0] * 5) is None
    assert median_interval([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]) == (1.0, 6.0)
    assert relative_half_width((9.0, 11.0), 10.0) == pytest.approx(0.1)
    assert relative_half_width(None, 10.0) is None


@given(SAMPLES)
def test_summary_is_consistent(values: list[float]) -> None:
    summary = stats_of(values)
    assert summary.n == len(values)
    assert summary.min <= summary.median <= summary.max
    assert summary.median == statistics.median(values)
    assert (summary.ci95 is None) == (len(values) < 6)
    assert stats_of(values, independent=False).ci95 is None


def test_geometric_sizes() -> None:
    sizes = geometric_sizes(128, 1 << 30, 4, 64)
    assert sizes[0] == 128
    assert sizes[-1] == 1 << 30
    assert all(size % 64 == 0 for size in sizes)
    assert max(b / a for a, b in itertools.pairwise(sizes)) <= 1.51
    assert {1 << power for power in range(7, 31)} <= set(sizes)
    for bad in ((32, 128, 4, 64), (128, 64, 4, 64), (128, 256, 0, 64)):
        with pytest.raises(ValueError, match="cannot list sizes"):
            geometric_sizes(*bad)


@given(st.integers(64, 1 << 30), st.floats(1.001, 3.0), st.sampled_from([64, 128]))
def test_between_sizes_leaves_no_wide_gap(low: int, factor: float, granule: int) -> None:
    low = low // granule * granule + granule
    high = max(low + granule, int(low * factor) // granule * granule)
    inner = between_sizes(low, high, 1.02, granule)
    assert all(low < size < high and size % granule == 0 for size in inner)
    walk = [low, *inner, high]
    assert all(b <= a * 1.02 + granule for a, b in itertools.pairwise(walk))
