"""Steady state: the values of a published report, synthetic series, and series that must not be accepted as steady."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asct.statistics.steady import SteadyRule, SteadyWindow, cliff, enough_from, last_window, window_of

RULE = SteadyRule()
POSITIVE = st.floats(1e-3, 1e9)
IOPS = (12207.0, 12920.0, 11712.0, 11806.0, 11740.0)
THROUGHPUT = (211428.0, 187733.0, 206387.0, 175822.0, 211849.0)
LATENCY = (55.05859, 51.016463, 46.472058, 47.450451, 54.728707)


@pytest.mark.parametrize(
    ("values", "mean", "excursion", "drift"),
    [
        (IOPS, 12077.0, 0.100, -0.068),
        (THROUGHPUT, 198643.8, 0.181, -0.022),
        (LATENCY, 50.9452538, 0.169, -0.033),
    ],
    ids=["iops", "throughput", "latency"],
)
def test_the_windows_of_a_published_report(
    values: tuple[float, ...], mean: float, excursion: float, drift: float
) -> None:
    window = window_of(values)
    assert window.mean == pytest.approx(mean, rel=1e-9)
    assert window.excursion == pytest.approx(excursion, abs=5e-4)
    assert window.drift == pytest.approx(drift, abs=1e-3)
    assert window.holds(RULE)
    assert not window.holds(SteadyRule(drift=0.02))


@pytest.mark.parametrize(
    ("values", "steady"),
    [
        ([100, 100, 100, 100, 100], True),
        ([90, 110, 100, 100, 100], True),
        ([90, 110.1, 100, 100, 100], False),  # excursion
        ([95.1, 97.5, 100, 102.5, 104.9], True),
        ([94.9, 97.4, 100, 102.6, 105.1], False),  # drift upwards, excursion 10 %
        ([105.1, 102.6, 100, 97.4, 94.9], False),  # drift downwards
    ],
)
def test_both_conditions_hold_at_once(values: list[float], steady: bool) -> None:
    assert window_of(values).holds(RULE) is steady


@given(st.floats(1e-6, 1e9), st.permutations([0.9, 1.1, 1.0, 1.0, 1.0]))
def test_at_the_limit_of_the_excursion_a_window_is_steady_in_any_unit(factor: float, shape: list[float]) -> None:
    rule = SteadyRule(drift=1.0)
    assert window_of([factor * value for value in shape]).holds(rule)
    assert not window_of([factor * value * (1.0 + 1e-8 * (value > 1.0)) for value in shape]).holds(rule)


@given(st.floats(1e-6, 1e9), st.sampled_from([-1, 1]))
def test_at_the_limit_of_the_drift_a_window_is_steady_in_any_unit(factor: float, sign: int) -> None:
    rule = SteadyRule(excursion=1.0)
    assert window_of([factor * (1.0 + sign * 0.025 * (index - 2)) for index in range(5)]).holds(rule)
    assert not window_of([factor * (1.0 + sign * 0.025001 * (index - 2)) for index in range(5)]).holds(rule)


@given(st.lists(POSITIVE, min_size=2, max_size=30), st.floats(1e-3, 1e3))
def test_the_unit_does_not_matter(values: list[float], factor: float) -> None:
    plain, scaled = window_of(values), window_of([value * factor for value in values])
    assert scaled.excursion == pytest.approx(plain.excursion, rel=1e-6, abs=1e-9)
    assert scaled.drift == pytest.approx(plain.drift, rel=1e-6, abs=1e-9)


@given(st.lists(POSITIVE, min_size=2, max_size=30))
def test_backwards_the_drift_turns_and_the_excursion_stays(values: list[float]) -> None:
    plain, turned = window_of(values), window_of(values[::-1])
    assert turned.excursion == pytest.approx(plain.excursion)
    assert turned.drift == pytest.approx(-plain.drift, rel=1e-6, abs=1e-9)


@given(POSITIVE, st.floats(-0.1, 0.1), st.integers(2, 20))
def test_a_straight_line_is_its_own_fit(start: float, step: float, count: int) -> None:
    values = [start * (1.0 + 0.1 * step * index) for index in range(count)]
    assert window_of(values).line() == pytest.approx(values, rel=1e-6)


@given(st.lists(POSITIVE, min_size=1, max_size=30), st.integers(0, 30))
def test_the_last_window_never_reaches_back_too_far(values: list[float], since: int) -> None:
    window = last_window(values, RULE, since)
    assert (window is None) is (len(values) - 5 < since)
    if window is not None:
        assert window.values == tuple(values[-5:])
        assert window.first == len(values) - 5


@pytest.mark.parametrize("values", [[], [1.0], [1.0, 0.0], [1.0, -1.0]])
def test_nothing_done_is_no_level(values: list[float]) -> None:
    with pytest.raises(ValueError, match="two or more values above 0"):
        window_of(values)


def test_a_window_of_one_round_says_nothing() -> None:
    with pytest.raises(ValueError, match="must have at least 2"):
        SteadyRule(window=1)


def test_the_cliff_of_a_cache_that_is_full() -> None:
    values = [8004.0, 7991, 8010, 7995, 1003, 998, 1001, 1000, 1002]
    assert cliff(values) == 4
    assert cliff([1 / value for value in values]) is None  # a rise
    assert cliff(values[:4]) is None
    assert cliff([100, 98, 101, 70, 71, 69, 70]) is None  # a drive that wanders
    assert cliff([9000, 9010, 8990, 4000, 4010, 3990, 1000, 1001, 999]) == 6  # the last one counts


@given(st.lists(st.floats(80, 120), min_size=6, max_size=40))
def test_noise_is_no_cliff(values: list[float]) -> None:
    assert cliff(values) is None


def test_enough_counts_from_the_begin_of_a_round() -> None:
    assert enough_from([0, 10, 20, 30], 20) == 2
    assert enough_from([0, 10, 20], 0) == 0
    assert enough_from([0, 10, 20], 21) is None


def test_a_burst_is_left_behind() -> None:
    """The rate is 8,000 requests per second until the cache is full, and then 1,000. The plain rule accepts round 5."""
    values = [8000.0] * 8 + [1000.0] * 8
    plain = last_window(values[:5], RULE)
    assert isinstance(plain, SteadyWindow)
    assert plain.holds(RULE)
    found = [
        last_window(values[:rounds], RULE, since)
        for rounds in range(1, len(values) + 1)
        if (since := cliff(values[:rounds])) is not None
    ]
    steady = [window for window in found if window is not None and window.holds(RULE)]
    assert [window.mean for window in steady] == [1000.0] * 4
