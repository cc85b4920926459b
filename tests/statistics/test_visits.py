"""Combining visits: how often the interval contains the next run's value, drift, two states, and the number of
visits."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from statistics import NormalDist, median

import pytest

from asct.statistics.robust import mad
from asct.statistics.visits import (
    SAMPLES_MIN,
    VISITS_MIN,
    Kept,
    Variation,
    dropped_bounds,
    effective_count,
    moved,
    next_run_interval,
    samples_needed,
    summarise_visits,
    t_975,
    visits_needed,
)

Draw = Callable[[random.Random, int], list[float]]


def normal(rng: random.Random, count: int) -> list[float]:
    return [rng.gauss(100, 3) for _ in range(count)]


def skewed(rng: random.Random, count: int) -> list[float]:
    return [100 + rng.expovariate(0.2) for _ in range(count)]


def correlated(rng: random.Random, count: int) -> list[float]:
    """Return values whose neighbors have a correlation of 0.5."""
    found = [rng.gauss(0, 1)]
    while len(found) < count:
        found.append(0.5 * found[-1] + math.sqrt(0.75) * rng.gauss(0, 1))
    return [100 + 3 * one for one in found]


@pytest.mark.parametrize("count", [6, 8, 12])
@pytest.mark.parametrize("draw", [normal, skewed], ids=["normal", "skewed"])
def test_the_next_run_lies_in_the_interval_as_often_as_theory_says(draw: Draw, count: int) -> None:
    # 95 % of intervals hold the mean; the median of another run of the same size falls into about 83 % of them, and
    # into more of those that are widened for a correlation that few visits cannot exclude
    assert 0.82 <= share_inside(draw, count) <= 0.95


@pytest.mark.parametrize("count", [6, 12])
def test_visits_that_are_alike_in_time_still_hold_for_the_next_run(count: int) -> None:
    assert share_inside(correlated, count) >= 0.78


def share_inside(draw: Draw, count: int) -> float:
    rng = random.Random(count)
    hits = 0
    for _ in range(1500):
        low, high = summarise_visits(draw(rng, count)).ci95 or (0.0, 0.0)
        hits += low <= median(draw(rng, count)) <= high
    return hits / 1500


@pytest.mark.parametrize("runs", [3, 4, 6, 10])
def test_the_spread_between_runs_holds_for_the_next_run(runs: int) -> None:
    """The runs differ five times as much as the visits of one run, as core-to-core latencies do in a guest."""
    rng = random.Random(runs)
    hits = hits_alone = 0
    for _ in range(1500):
        *earlier, value, following = (100 + rng.gauss(0, 5) for _ in range(runs + 1))
        alone = summarise_visits([value + rng.gauss(0, 1) for _ in range(8)]).ci95
        assert alone is not None
        low, high = next_run_interval(value, alone, earlier)
        hits += low <= following <= high
        hits_alone += alone[0] <= following <= alone[1]
    assert 0.83 <= hits / 1500 <= 0.97
    assert hits_alone / 1500 < 0.3


def test_positive_values_have_a_positive_interval_however_much_runs_differ() -> None:
    """The values are the memory bandwidth, in GB/s, of a guest whose neighbors used more of it during one run."""
    low, high = next_run_interval(39.9, (39.0, 41.0), [66.1, 55.6])
    assert 0.0 < low < 20.0 and 66.1 < high < 400.0
    assert low * high == pytest.approx(39.9**2)


def test_a_value_of_zero_leaves_the_spread_between_runs_unknown() -> None:
    assert next_run_interval(0.0, (-1.0, 1.0), [0.0, 10.0]) == next_run_interval(0.0, (-1.0, 1.0), [])


def test_an_interval_never_becomes_narrower_because_of_earlier_runs() -> None:
    assert next_run_interval(10.0, (8.0, 11.0), [10.0, 10.1]) == (8.0, 11.0)
    wider = (10 / (1 + math.sqrt(2) / 4), 10 + math.sqrt(2))
    assert next_run_interval(10.0, (8.0, 11.0), [10.0]) == pytest.approx(wider)


def test_positive_visits_have_a_positive_interval_however_much_they_differ() -> None:
    """The values are the latency, in nanoseconds, of a cache line between two CPUs that moved apart for two visits."""
    found = summarise_visits([6.1, 6.0, 29.2, 6.1, 6.1, 28.9]).ci95
    assert found is not None and 0.0 < found[0] < 6.0 and found[1] >= 29.2
    assert 0.0 < next_run_interval(6.1, found, [])[0] < found[0]


def test_an_interval_around_zero_is_symmetric() -> None:
    low, high = summarise_visits([-1.0, 1.0, -2.0, 2.0, 0.0, 0.0]).ci95 or (0.0, 0.0)
    assert low == -high < 0.0
    assert next_run_interval(0.0, (low, high), [])[0] == pytest.approx(math.sqrt(2) * low)


def test_fewer_than_six_visits_give_no_interval() -> None:
    assert summarise_visits([1.0] * (VISITS_MIN - 1)).ci95 is None
    assert summarise_visits([1.0] * VISITS_MIN).ci95 == (1.0, 1.0)
    assert summarise_visits([7.0]).between is None
    with pytest.raises(ValueError, match="no visits"):
        summarise_visits([])


def test_visits_that_rise_steadily_drift_and_the_interval_spans_them() -> None:
    rising = [100.0, 101, 102, 103, 104, 105]
    found = summarise_visits(rising)
    assert found.drift
    assert found.ci95 is not None
    assert found.ci95[0] <= 100 and found.ci95[1] >= 105
    assert summarise_visits(rising[::-1]).drift
    assert not summarise_visits([100.0, 103, 101, 105, 102, 104]).drift


@pytest.mark.parametrize(
    "values",
    [
        [100.2, 99.8, 100.1, 99.9, 100.0, 100.1, 103.9, 104.2, 103.8, 104.1, 104.0, 103.9],  # a step
        [100.0, 100.9, 101.4, 101.5, 100.8, 100.1, 99.2, 98.6, 98.5, 99.1, 100.1, 100.8],  # a wave
    ],
    ids=["step", "wave"],
)
def test_neighbours_that_are_alike_drift_without_a_trend_and_the_interval_spans_them(values: list[float]) -> None:
    found = summarise_visits(values)
    assert found.drift and not found.states
    assert found.ci95 is not None
    assert found.ci95[0] <= min(values) and found.ci95[1] >= max(values)
    ordered = sorted(values)
    mixed = [one for pair in zip(ordered[:6], ordered[:5:-1], strict=True) for one in pair]
    assert not summarise_visits(mixed).drift, "the same values in another order"


def test_equal_values_do_not_drift_although_their_mean_is_rounded() -> None:
    for value in (3.4e-08, 0.1, 1.1, 2.2e-9):
        assert not any(summarise_visits([value] * count).drift for count in range(6, 21))


@pytest.mark.parametrize("draw", [normal, skewed], ids=["normal", "skewed"])
def test_independent_visits_hardly_ever_drift_or_have_two_states(draw: Draw) -> None:
    rng = random.Random(3)
    found = [summarise_visits(draw(rng, count)) for count in range(6, 21) for _ in range(400)]
    assert sum(one.drift for one in found) < 0.012 * len(found)
    assert draw is skewed or sum(bool(one.states) for one in found) < 0.01 * len(found)


def test_two_groups_of_visits_are_two_states_with_their_shares() -> None:
    found = summarise_visits([55.0, 225.0, 55.4, 224.0, 54.8, 55.1, 226.0, 55.2])
    assert [(state.value, state.share) for state in found.states] == [(55.1, 0.625), (225.0, 0.375)]
    assert found.ci95 is not None
    assert found.ci95[0] <= 54.8 and found.ci95[1] >= 226.0


@pytest.mark.parametrize(
    "values",
    [
        [100.0, 101, 102, 103, 104, 105.5],  # spread evenly
        [100.0, 100.1, 100.2, 103, 103.1, 103.2],  # less than 5 % apart
        [100.0, 100.1, 100.2, 100.3, 100.2, 180.0],  # one visit alone is an accident
        [55.0, 55.1, 225.0, 226.0],  # too few visits
    ],
)
def test_what_are_no_two_states(values: Sequence[float]) -> None:
    assert summarise_visits(values).states == ()


def test_neighbours_that_are_alike_count_less() -> None:
    slow = [1.0, 1.1, 1.2, 1.1, 0.4, 0.3, 0.2, 0.3]
    mixed = [1.0, 0.3, 1.2, 0.2, 1.1, 0.3, 1.1, 0.4]
    assert effective_count(slow) < 4
    assert effective_count(mixed) == 8, "more than caution adds"
    assert effective_count([2.0, 2.0, 2.0]) == 3


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ([55.0, 56, 55, 57] * 8, [225.0, 224, 226, 225] * 8, True),
        ([225.0, 224, 226, 225] * 8, [55.0, 56, 55, 57] * 8, True),
        ([61.0, 61, 61, 62] * 8, [50.7, 51, 51, 51] * 8, False),  # measured: what the clocks of a busy host explain
        ([24.0, 24, 25, 24] * 8, [60.0, 61, 61, 60] * 8, True),  # measured: from threads of one core to two cores
        (
            [60.0, 61, 62, 63] * 8,
            [60.0, 61, 90, 110] * 8,
            False,
        ),  # disturbed, but its quick batches are those of before
        ([60.0, 70, 80, 90] * 8, [66.0, 76, 86, 96] * 8, False),  # scattered
        ([60.0] * 3, [240.0] * 32, False),  # too few
        ([], [], False),
    ],
)
def test_two_short_series_of_different_states(before: list[float], after: list[float], expected: bool) -> None:
    assert moved(before, after) is expected


@pytest.mark.parametrize(
    ("after", "slowdown", "expected"),
    [
        ([95.0, 96, 96, 97] * 8, 1.6, False),  # the slower clocks alone
        ([78.0, 79, 79, 80] * 8, 1.6, False),  # the same if half of the distance does not depend on them
        ([230.0, 231, 232, 231] * 8, 1.6, True),
        ([60.0, 61, 61, 62] * 8, 1.6, False),  # the distance does not depend on them
    ],
)
def test_other_clocks_are_no_other_state(after: list[float], slowdown: float, expected: bool) -> None:
    assert moved([60.0, 60, 61, 61] * 8, after, slowdown) is expected


def variation(between: float, within: float = 0.0, *, middle: float = 100.0) -> Variation:
    """Return the variation of six visits, given standard deviations."""
    return Variation(middle, 6, 63.0, between**2, within**2)


def test_the_pilot_fixes_the_number_of_visits() -> None:
    assert visits_needed([variation(0.1)], 0.03, 12) == 6
    assert visits_needed([variation(25)], 0.03, 12) == 12
    assert 6 < visits_needed([variation(1.1)], 0.02, 100) < 100
    assert visits_needed([variation(0, middle=0)], 0.03, 12) == 12, "a share of nothing is not reached"
    assert visits_needed([], 0.03, 12) == 6


def test_a_few_wild_values_do_not_make_all_others_wait() -> None:
    steady, wild = variation(0.1), variation(25)
    assert visits_needed([steady, steady, steady, steady, wild], 0.03, 12) == 6
    assert visits_needed([steady, steady, steady, wild], 0.03, 12) == 12


def test_samples_that_make_no_interval_narrower_are_saved() -> None:
    assert samples_needed([variation(2, 1)]) == SAMPLES_MIN
    between = samples_needed([variation(2, 4)])
    assert SAMPLES_MIN < between < 100
    assert math.pi / 2 * 4**2 / between <= 0.1 * 2**2 * 1.01, "a tenth of the variance between visits"
    assert samples_needed([variation(1, 20)]) > 1000, "all scatter comes from within the visits"
    assert samples_needed([variation(2, 1)] * 4 + [variation(1, 20)]) == SAMPLES_MIN


def test_quantiles_of_student() -> None:
    assert [t_975(one) for one in (1, 5, 30)] == [12.706, 2.571, 2.042]
    assert t_975(40) == pytest.approx(2.021, abs=2e-3)
    assert t_975(120) == pytest.approx(1.980, abs=1e-3)
    with pytest.raises(ValueError, match="degree"):
        t_975(0)


def test_dropped_samples_move_the_median_of_the_visits_by_less_than_the_ranks_allow() -> None:
    """The bounds contain the median of all samples of a visit, wherever the dropped ones were."""
    values = [100.0 + NormalDist(0, 2).inv_cdf((rank + 0.5) / 201) for rank in range(201)]
    for dropped in (1, 10, 50, 60):
        for kept in (values[dropped:], values[:-dropped]):
            visit = Kept(median(kept), mad(kept), min(kept), max(kept), len(kept), dropped)
            low, high = dropped_bounds([visit] * 3)
            assert low <= median(values) <= high
            assert high - low < 12 * dropped / len(kept)


def test_dropped_samples_in_one_of_many_visits_hardly_matter() -> None:
    clean = [Kept(100.0 + at, 1.0, 90.0, 110.0, 63, 0) for at in range(5)]
    assert dropped_bounds(clean) == (102.0, 102.0)
    assert dropped_bounds([*clean[:4], clean[4]._replace(dropped=60)]) == (101.0, 102.0)
    assert dropped_bounds([one._replace(dropped=60) for one in clean]) == (90.0, 110.0)
    assert dropped_bounds([one._replace(dropped=21) for one in clean]) == pytest.approx((102 - 2 / 3, 102 + 2 / 3))
