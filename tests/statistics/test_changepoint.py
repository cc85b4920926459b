"""Level changes in a series."""

from __future__ import annotations

import math
import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asct.statistics.changepoint import SHORTEST, Changepoint, changes


def noisy(level: float, count: int, share: float, seed: int) -> list[float]:
    source = random.Random(seed)
    return [level * (1.0 + share * source.gauss(0.0, 1.0)) for _ in range(count)]


def test_a_cliff_of_an_emulated_drive() -> None:
    """The values are the rates per second of a drive with a burst of 3,000 for 5 s, followed by 500."""
    values = [3337, 3002, 3000, 3000, 2520, 501, 499, 501, 500, 499, 501]
    [change] = changes([float(value) for value in values])
    assert change.index == 5
    assert change.before == pytest.approx(3000)
    assert change.after == pytest.approx(500, rel=0.01)


@pytest.mark.parametrize("seed", range(5))
def test_levels_in_noise(seed: int) -> None:
    values = noisy(8000, 40, 0.03, seed) + noisy(1000, 30, 0.1, seed + 100) + noisy(2000, 30, 0.05, seed + 200)
    found = changes(values)
    assert [change.index for change in found] == [40, 70]
    assert [change.after for change in found] == pytest.approx([1000, 2000], rel=0.05)
    assert found[0].before == pytest.approx(8000, rel=0.02)


def test_a_small_step_is_seen_in_noise_of_its_size() -> None:
    """The step is 1.6 standard deviations amid 100 values. If the noise were overestimated by a factor of two, the step
    would go unnoticed."""
    for seed in range(8):
        chance = random.Random(seed)
        values = [100 + chance.gauss(0, 1) + 1.6 * (index >= 50) for index in range(100)]
        assert len(changes(values, 0.001)) == 1


def test_noise_alone_has_no_levels() -> None:
    """At most two in a hundred series may show a change: in noise of 8 %, a change by 5 % is found only if the noise
    happens to look like one."""
    assert sum(bool(changes(noisy(50_000, 60, 0.08, seed))) for seed in range(100)) <= 2


@pytest.mark.parametrize("stall", [[0.0], [0.0, 10.0], [90_000.0]])
def test_a_second_that_stalls_is_no_level(stall: list[float]) -> None:
    assert changes(noisy(5000, 20, 0.02, 1) + stall + noisy(5000, 20, 0.02, 2)) == []


def test_three_seconds_are_a_level() -> None:
    values = [100.0] * 10 + [50.0] * 3 + [100.0] * 10
    assert changes(values) == [Changepoint(10, 100.0, 50.0), Changepoint(13, 50.0, 100.0)]


def test_a_small_change_is_not_told_and_may_be_asked_for() -> None:
    values = [1000.0] * 20 + [970.0] * 20
    assert changes(values) == []
    assert [change.index for change in changes(values, least=0.02)] == [20]


def test_a_rate_that_falls_to_nothing_and_one_that_never_was() -> None:
    assert changes([4000.0] * 8 + [0.0] * 8) == [Changepoint(8, 4000.0, 0.0)]
    assert changes([0.0] * 30) == []


def test_mostly_zero() -> None:
    """The median level and the median step are zero; the values still have a spread."""
    [change] = changes([0.0] * 12 + [700.0] * 8)
    assert change == Changepoint(12, 0.0, 700.0)


def test_too_few_values_have_no_change_and_infinite_ones_are_refused() -> None:
    assert changes([]) == []
    assert changes([1.0] * SHORTEST + [9.0] * (SHORTEST - 1)) == []
    with pytest.raises(ValueError, match="finite"):
        changes([1.0, math.nan] * 10)


positive = st.lists(st.integers(min_value=0, max_value=10**6).map(float), min_size=0, max_size=60)


@given(positive)
def test_segments_are_long_enough_and_differ(values: list[float]) -> None:
    found = changes(values)
    edges = [0, *(change.index for change in found), len(values)]
    if found:
        assert min(end - start for start, end in pairwise(edges)) >= SHORTEST
    for change in found:
        assert abs(change.after - change.before) >= 0.05 * max(change.before, change.after)


@given(positive, st.integers(min_value=-20, max_value=20))
def test_units_do_not_matter(values: list[float], power: int) -> None:
    factor = 2.0**power
    assert [c.index for c in changes(values)] == [c.index for c in changes([value * factor for value in values])]


def test_long_series_are_quick() -> None:
    """Pruning keeps the work near to linear: 20,000 values would need 2e8 steps without it."""
    values = [level for part in range(40) for level in noisy(1000.0 * (1 + part % 2), 500, 0.05, part)]
    assert [change.index for change in changes(values)] == [500 * part for part in range(1, 40)]
