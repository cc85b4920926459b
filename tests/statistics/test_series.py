"""The interval for a ratio over the parts of a run: how often it contains the value of the next run, whatever the
correlation."""

from __future__ import annotations

import math
import random

import pytest

from asct.statistics.series import dependence, ratio_half_width

TRIALS = 1000


def correlated(rng: random.Random, count: int, correlation: float) -> list[float]:
    """Return an autoregressive series of order 1 around 1,000 with a standard deviation of 50."""
    found, state = [], rng.gauss(0, 1)
    for _ in range(count):
        found.append(1000.0 + 50.0 * state)
        state = correlation * state + math.sqrt(1 - correlation**2) * rng.gauss(0, 1)
    return found


def shares(count: int, correlation: float) -> tuple[float, float]:
    """Return the share of runs of `count` seconds that have an interval, and the share of these intervals that contain
    the next run's value."""
    rng = random.Random(f"{count} {correlation}")
    given = held = 0
    for _ in range(TRIALS):
        run, after = (correlated(rng, count, correlation) for _ in range(2))
        half = ratio_half_width(run, [1.0] * count)
        if half is not None:
            given += 1
            held += abs(sum(run) - sum(after)) / count <= half
    return given / TRIALS, held / given


@pytest.mark.parametrize("correlation", [-0.4, 0.0, 0.2, 0.4, 0.6, 0.8, 0.9])
@pytest.mark.parametrize("count", [60, 120])
def test_the_next_run_lies_in_the_interval_whatever_the_correlation(count: int, correlation: float) -> None:
    given, held = shares(count, correlation)
    assert 0.80 <= held <= 0.95
    assert given >= 0.98 or correlation > 0.5


@pytest.mark.parametrize("correlation", [0.0, 0.2, 0.4, 0.6, 0.8, 0.9])
@pytest.mark.parametrize("count", [12, 21, 30])
def test_a_short_run_has_a_wide_interval_or_none(count: int, correlation: float) -> None:
    given, held = shares(count, correlation)
    assert given <= 0.35 or 0.80 <= held <= 0.96
    assert given * (1.0 - held) <= 0.10  # runs that claim an interval which the next one leaves


def test_fewer_than_six_independent_parts_have_no_interval() -> None:
    assert ratio_half_width([1.0, 2.0, 1.0, 2.0, 1.0], [1.0] * 5) is None
    assert ratio_half_width([7.0] * 6, [1.0] * 6) == 0.0
    rising = [1000.0 + second for second in range(30)]
    assert ratio_half_width(rising, [1.0] * 30) is None
    assert ratio_half_width([0.0] * 8, [1.0] * 8) == 0.0


def test_parts_count_by_their_size() -> None:
    """A short part with few requests has little effect, and the interval scales with the unit of the size."""
    amounts, sizes = [1000.0, 990.0, 1010.0, 1005.0, 995.0, 1002.0, 998.0, 1001.0], [1.0] * 8
    half = ratio_half_width(amounts, sizes)
    assert half is not None
    with_rest = ratio_half_width([*amounts, 5.0], [*sizes, 0.01])
    assert with_rest == pytest.approx(half, rel=0.5)
    assert ratio_half_width(amounts, [0.25] * 8) == pytest.approx(4 * half)


def test_the_cautious_correlation_is_the_higher_one() -> None:
    likely, upper = dependence(correlated(random.Random(1), 120, 0.6))
    assert 0.4 <= likely <= 0.8 and likely < upper <= 0.95
    assert dependence([1.0, -1.0] * 30)[1] == -0.5
