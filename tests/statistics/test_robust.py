"""The densest half of values, running medians and slopes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asct.statistics.robust import median, median_slope, running_median, shorth_median


def test_the_densest_half_stays_with_the_level_part() -> None:
    level, drift = [5.35, 5.34, 5.36, 5.35, 5.35], [5.6, 6.0, 6.4, 6.9]
    assert shorth_median(level + drift) == pytest.approx(5.35)
    assert median(level + drift) == pytest.approx(5.36)
    assert shorth_median([*level, *drift, 7.2, 7.4]) < median([*level, *drift, 7.2, 7.4])


@given(st.lists(st.floats(1e-10, 1e-3), min_size=1, max_size=60))
def test_the_densest_half_lies_within_the_values(values: list[float]) -> None:
    assert min(values) <= shorth_median(values) <= max(values)


@pytest.mark.parametrize("values", [[], [0.0, 1.0], [-1.0]])
def test_the_densest_half_needs_positive_values(values: list[float]) -> None:
    with pytest.raises(ValueError, match="positive"):
        shorth_median(values)


def test_a_running_median_leaves_a_monotone_series_as_it_is() -> None:
    series = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0]
    assert running_median(series, 5) == series
    assert running_median([1.0, 1.0, 9.0, 1.0, 1.0, 1.0]) == [1.0] * 6


def test_the_median_slope_counts_pairs_of_equal_values_and_no_pairs_of_equal_places() -> None:
    assert median_slope([0.0, 1.0, 2.0, 3.0, 4.0], [1.0, 1.0, 1.0, 1.0, 5.0]) == 0.0
    assert median_slope([0.0, 1.0, 2.0], [0.0, 2.0, 4.0]) == 2.0
    assert median_slope([1.0, 1.0], [0.0, 5.0]) == 0.0
