"""The test of the next value in a series, compared with scipy and checked by simulation."""

from __future__ import annotations

import math
import random

import pytest
from scipy import stats

from asct.statistics.prediction import Prior, next_p, t_greater_p


@pytest.mark.parametrize("degrees", [1, 2, 3, 4, 5, 9, 10, 19, 30])
@pytest.mark.parametrize("value", [-3.0, -0.5, 0.0, 0.1, 1.0, 2.5, 4.0, 8.0])
def test_the_tail_of_students_t_is_that_of_scipy(degrees: int, value: float) -> None:
    assert t_greater_p(value, degrees) == pytest.approx(float(stats.t.sf(value, degrees)), rel=1e-7, abs=1e-13)


def test_one_of_a_hundred_next_values_is_below_one_percent() -> None:
    rng = random.Random(8)
    found = 0
    for _ in range(4000):
        *earlier, value = (rng.gauss(100.0, 3.0) for _ in range(6))
        found += next_p(earlier, value) <= 0.01
    assert 20 <= found <= 62  # 40 expected; three and a half standard deviations


def test_a_known_spread_counts_if_it_is_larger() -> None:
    alike, prior = [5.0, 5.0, 5.0], Prior(1.0, 20)
    assert next_p(alike, 5.1) == 0.0
    assert next_p(alike, 5.0) == 1.0
    assert next_p(alike, 5.1, prior) > 0.4
    assert next_p(alike, 9.0, prior) == pytest.approx(float(stats.t.sf(4.0 / math.sqrt(4.0 / 3.0), 20)))
    apart = [1.0, 5.0, 9.0]
    assert next_p(apart, 30.0, prior) == next_p(apart, 30.0)


def test_too_little_is_refused() -> None:
    with pytest.raises(ValueError, match="at least two earlier"):
        next_p([1.0], 2.0)
    with pytest.raises(ValueError, match="degree of freedom"):
        t_greater_p(1.0, 0)
