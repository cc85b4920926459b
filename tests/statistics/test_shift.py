"""The interval for the ratio between two samples, and the hierarchical bootstrap."""

from __future__ import annotations

import random
from statistics import median

import pytest
from scipy.stats import bootstrap, mannwhitneyu

from asct.statistics.bootstrap import ratio_interval
from asct.statistics.shift import shift_interval


def draw(rng: random.Random, count: int, middle: float = 100.0) -> list[float]:
    return [rng.gauss(middle, 1.0) for _ in range(count)]


@pytest.mark.parametrize("sizes", [(5, 5), (6, 9), (12, 12), (40, 40)])
def test_the_interval_ends_where_scipy_begins_to_reject(sizes: tuple[int, int]) -> None:
    rng = random.Random(str(sizes))
    base, new = draw(rng, sizes[0]), draw(rng, sizes[1], 101.0)
    interval = shift_interval(base, new)
    assert interval is not None
    low, high = interval
    assert low < median(new) / median(base) < high
    for end, inward in ((low, 1.0 + 1e-9), (high, 1.0 - 1e-9)):
        inside, outside = (
            mannwhitneyu([value / (end * side) for value in new], base).pvalue for side in (inward, 1.0 / inward)
        )
        assert outside < 0.05 <= inside


def test_three_values_have_no_interval() -> None:
    assert shift_interval([1.0, 2.0, 3.0], [4.0, 5.0, 6.0]) is None
    assert shift_interval([1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]) is not None


def test_a_ratio_needs_positive_values() -> None:
    assert shift_interval([100.0] * 5, [95.0] * 5) == pytest.approx((0.95, 0.95))
    with pytest.raises(ValueError):
        shift_interval([0.0, 1.0], [1.0, 1.0])


def test_19_of_20_intervals_contain_the_truth() -> None:
    rng = random.Random(2)
    held = 0
    for _ in range(1000):
        interval = shift_interval(draw(rng, 8), draw(rng, 8, 103.0))
        assert interval is not None
        held += interval[0] <= 1.03 <= interval[1]
    assert held >= 940


def test_the_bootstrap_of_single_visits_is_near_that_of_scipy() -> None:
    rng = random.Random(3)
    base, new = draw(rng, 30), draw(rng, 30, 110.0)
    found = ratio_interval([[value] for value in base], [[value] for value in new])

    def of_medians(first: list[float], second: list[float]) -> float:
        return float(median(second) / median(first))

    expected = bootstrap(
        (base, new), of_medians, method="percentile", n_resamples=2000, vectorized=False, random_state=1
    ).confidence_interval
    assert found == pytest.approx((expected.low, expected.high), abs=0.003)


def test_repeats_that_differ_widen_the_interval() -> None:
    """Visits within a repeat agree to 0.1 %, whereas repeats agree only to 5 %."""
    rng = random.Random(4)
    sides = []
    for _ in range(2):
        middles = [rng.gauss(100.0, 5.0) for _ in range(6)]
        sides.append([[rng.gauss(middle, 0.1) for _ in range(8)] for middle in middles])
    nested = ratio_interval(*sides)
    flat = ratio_interval(*[[[value] for visits in side for value in visits] for side in sides])
    assert nested is not None
    assert flat is not None
    assert nested[1] - nested[0] > 1.5 * (flat[1] - flat[0])


def test_a_single_repeat_has_no_interval() -> None:
    assert ratio_interval([[1.0, 2.0]], [[1.0], [2.0]]) is None
    with pytest.raises(ValueError, match="at least one visit"):
        ratio_interval([[1.0], []], [[1.0], [2.0]])
