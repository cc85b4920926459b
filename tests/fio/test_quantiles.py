"""Quantiles of counted values, compared with those of the individual values."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asct.instruments.fio.histogram import Latency, LatencyCourse, Quantiles

COUNTS = st.dictionaries(st.integers(0, 10**6), st.integers(0, 5), min_size=1, max_size=40)


def written_out(counts: dict[int, int]) -> list[int]:
    return sorted(value for value, count in counts.items() for _ in range(count))


@given(COUNTS, st.floats(0.001, 1.0))
def test_a_quantile_is_the_value_that_reaches_the_share(counts: dict[int, int], share: float) -> None:
    values = written_out(counts)
    if not values:
        with pytest.raises(ValueError, match="without values"):
            Quantiles(counts).at(share)
        return
    assert Quantiles(counts).n == len(values)
    assert Quantiles(counts).at(share) == values[max(0, math.ceil(share * len(values)) - 1)]


@given(COUNTS)
def test_octaves_hold_every_value_once(counts: dict[int, int]) -> None:
    expected: dict[int, int] = {}
    for value in written_out(counts):
        exponent = max(1, value).bit_length() - 1
        expected[exponent] = expected.get(exponent, 0) + 1
    assert Quantiles(counts).octaves() == expected


@given(COUNTS, st.integers(0, 10**6))
def test_the_deviation_is_the_median_distance(counts: dict[int, int], middle: int) -> None:
    away = sorted(abs(value - middle) for value in written_out(counts))
    if away:
        assert Quantiles(counts).deviation(middle) == away[math.ceil(0.5 * len(away)) - 1]


def test_a_percentile_needs_values_above_it() -> None:
    assert Quantiles({1: 990, 2: 10}).percentile(99.0) == 1.0
    assert Quantiles({1: 990, 2: 9}).percentile(99.0) is None


def test_the_spread_adds_up_deviations_on_both_sides() -> None:
    stats = Latency(8, 100, 300, 200.0, 50.0, {100: 2, 200: 3, 300: 3}).mean_stats()
    assert stats is not None
    assert (stats.median, stats.mad) == (pytest.approx(200e-9), pytest.approx(100e-9))


@pytest.mark.parametrize(("n", "percent"), [(20, 50.0), (100, 90.0), (127, 90.0), (200, 95.0), (1000, 99.0)])
def test_the_interval_of_a_percentile_covers_it_as_often_as_it_says(n: int, percent: float) -> None:
    """The coverage is computed from the binomial distribution itself, for the smallest number of requests for which a
    percentile is reported, and for numbers near it."""
    latency = Latency(n, 1, n, n / 2.0, 1.0, {rank: 1 for rank in range(1, n + 1)})
    stats = latency.percentile_stats(percent, LatencyCourse(latency.quantiles, [latency.quantiles] * 8))
    assert stats is not None and stats.ci95 is not None
    low, high = (round(end * 1e9) for end in stats.ci95)
    share = percent / 100.0
    covers = sum(math.comb(n, below) * share**below * (1.0 - share) ** (n - below) for below in range(low, high))
    assert 0.95 <= covers <= 0.99


def test_latencies_that_differ_between_the_seconds_widen_the_interval() -> None:
    """The same requests are distributed in three ways: equally over all seconds, over alternating fast and slow
    seconds, and with all slow seconds in a row."""
    alike = [Quantiles({100: 500, 300: 500})] * 24
    apart = [Quantiles({100: 1000}), Quantiles({300: 1000})] * 12
    in_a_row = [Quantiles({100: 1000})] * 12 + [Quantiles({300: 1000})] * 12
    latency = Latency(24_000, 100, 300, 200.0, 100.0, {100: 12_000, 300: 12_000})
    widths = []
    for parts in (alike, apart):
        course = LatencyCourse(latency.quantiles, parts)
        mean, tail = latency.mean_stats(course), latency.percentile_stats(45.0, course)
        assert mean is not None and tail is not None and mean.ci95 is not None and tail.ci95 is not None
        widths.append((mean.ci95[1] - mean.ci95[0], tail.ci95[1] - tail.ci95[0]))
    assert widths[0] == (0.0, 0.0)
    assert widths[1] > (20e-9, 100e-9)
    correlated = latency.mean_stats(LatencyCourse(latency.quantiles, in_a_row))
    assert correlated is not None and correlated.ci95 is None
