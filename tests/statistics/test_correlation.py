"""Values that are like their neighbours count for less, and intervals keep their promise then."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asct.statistics.correlation import CORRELATION_MAX, effective_count, neighbour_correlation
from asct.statistics.quantiles import median_interval


def series(count: int, memory: float, seed: int) -> list[float]:
    """Normal values around 0, a share `memory` of each being that of the one before."""
    draw = random.Random(seed)
    value, found = draw.gauss(0, 1), []
    for _ in range(count):
        value = memory * value + (1 - memory**2) ** 0.5 * draw.gauss(0, 1)
        found.append(value)
    return found


@pytest.mark.parametrize("memory", [0.0, 0.4, 0.8, 0.95])
def test_the_correlation_of_a_known_series_is_found(memory: float) -> None:
    assert neighbour_correlation(series(20_000, memory, 3)) == pytest.approx(memory, abs=0.03)


def test_outliers_do_not_hide_the_correlation() -> None:
    values = series(5000, 0.8, 11)
    for index in range(0, 5000, 50):
        values[index] = 1e6
    assert neighbour_correlation(values) == pytest.approx(0.8, abs=0.06)


def test_counts_of_plain_cases() -> None:
    assert effective_count([1.0, 2.0] * 50) == 100.0
    assert effective_count([7.0] * 20) == 20.0
    assert effective_count([3.0]) == 1.0
    step = [0.0] * 500 + [1.0] * 500
    assert effective_count(step) == pytest.approx(1000 * (1 - CORRELATION_MAX) / (1 + CORRELATION_MAX))
    with pytest.raises(ValueError, match="no values"):
        effective_count([])


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=80))
def test_the_count_is_between_one_and_all(values: list[float]) -> None:
    assert 1.0 <= effective_count(values) <= len(values)


@pytest.mark.parametrize("memory", [0.0, 0.5, 0.8])
def test_the_interval_takes_in_the_median_whether_neighbours_are_alike_or_not(memory: float) -> None:
    inside = 0
    for seed in range(400):
        values = series(300, memory, seed)
        interval = median_interval(values, effective=effective_count(values))
        assert interval is not None
        inside += interval[0] <= 0.0 <= interval[1]
    assert inside >= 0.93 * 400


def test_without_the_effective_count_it_would_not() -> None:
    inside = 0
    for seed in range(400):
        interval = median_interval(series(300, 0.8, seed))
        assert interval is not None
        inside += interval[0] <= 0.0 <= interval[1]
    assert inside < 0.75 * 400


@given(st.integers(6, 300), st.floats(1, 400))
def test_an_effective_count_widens_and_never_narrows(count: int, effective: float) -> None:
    values = [float(value) for value in range(count)]
    all_of_them, fewer = median_interval(values), median_interval(values, effective=effective)
    assert all_of_them is not None
    if effective < 6:
        assert fewer is None
    else:
        assert fewer is not None and fewer[0] <= all_of_them[0] + 1 and fewer[1] >= all_of_them[1] - 1
        assert median_interval(values, effective=float(count)) == all_of_them
