"""The Mann-Whitney test, compared with scipy and with counting, and the error rate of many tests at once."""

from __future__ import annotations

import math
import random
from itertools import combinations

import pytest
from scipy.stats import mannwhitneyu

from asct.statistics.ranks import EXACT_MOST, can_reach, doubled_ranks, greater_p, holm, least_each

Sample = list[float]


def samples(seed: int, base: int, new: int, shift: float = 0.0) -> tuple[Sample, Sample]:
    rng = random.Random(seed)
    return [rng.gauss(0, 1) for _ in range(base)], [rng.gauss(shift, 1) for _ in range(new)]


@pytest.mark.parametrize("sizes", [(1, 1), (2, 5), (5, 5), (6, 12), (20, 20), (30, 30)])
def test_without_ties_the_exact_probability_is_that_of_scipy(sizes: tuple[int, int]) -> None:
    for seed in range(5):
        base, new = samples(seed, *sizes, shift=0.5)
        expected = mannwhitneyu(new, base, alternative="greater", method="exact").pvalue
        assert math.isclose(greater_p(base, new), expected, rel_tol=1e-9)


def test_beyond_the_exact_sizes_the_probability_is_the_normal_one_of_scipy() -> None:
    base, new = samples(1, EXACT_MOST, 40, shift=0.3)
    base, new = [round(value, 1) for value in base], [round(value, 1) for value in new]  # with ties
    expected = mannwhitneyu(new, base, alternative="greater", method="asymptotic").pvalue
    assert math.isclose(greater_p(base, new), expected, rel_tol=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_with_ties_the_probability_is_the_share_of_all_arrangements(seed: int) -> None:
    rng = random.Random(seed)
    base, new = ([float(rng.randrange(4)) for _ in range(count)] for count in (5, 4))
    ranks = doubled_ranks([*base, *new])
    reached = sum(ranks[5:])
    sums = [sum(chosen) for chosen in combinations(ranks, 4)]
    assert math.isclose(greater_p(base, new), sum(value >= reached for value in sums) / len(sums))


def test_equal_values_say_nothing() -> None:
    assert greater_p([1.0] * 5, [1.0] * 5) == 1.0
    assert greater_p([1.0] * 50, [1.0] * 50) == 1.0


def test_an_empty_sample_is_an_error() -> None:
    with pytest.raises(ValueError, match="at least one value"):
        greater_p([], [1.0])


def test_the_visits_that_a_level_requires() -> None:
    assert (least_each(0.01), least_each(0.01, 64)) == (5, 8)
    assert can_reach(5, 5, 0.01)
    assert not can_reach(4, 4, 0.01)
    assert can_reach(2, 20, 0.01)
    assert not can_reach(0, 20, 0.01)


def test_holm_adjusts_in_steps_and_keeps_the_order() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []
    assert holm([0.9, 0.8]) == [1.0, 1.0]


DISTRIBUTIONS = {
    "normal": lambda rng: rng.gauss(0, 1),
    "heavy-tailed": lambda rng: rng.gauss(0, 1) / max(1e-9, abs(rng.gauss(0, 1))),
    "bimodal": lambda rng: rng.choice((0.0, 10.0)) + rng.gauss(0, 1),
}


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_at_most_1_percent_of_unchanged_gates_fail(name: str) -> None:
    """The test simulates 2,000 gates of eight metrics each, with a fixed seed."""
    rng, draw, failed = random.Random(name), DISTRIBUTIONS[name], 0
    for _ in range(2000):
        tests = [greater_p([draw(rng) for _ in range(8)], [draw(rng) for _ in range(8)]) for _ in range(8)]
        failed += min(holm(tests)) <= 0.01
    assert failed / 2000 <= 0.012
