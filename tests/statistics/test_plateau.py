"""Where the top of a curve is level."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from asct.statistics.knee import LEVEL, spread, top_plateau


def test_the_level_top_of_a_curve() -> None:
    assert top_plateau([1800.0, 3046.0, 3046.0, 3050.0, 3046.0]) == range(1, 5)
    assert top_plateau([3046.0, 3046.0, 3053.0, 2034.0, 1018.0]) == range(3)


def test_a_level_stretch_below_the_top_is_none() -> None:
    assert top_plateau([1000.0, 1000.0, 1000.0, 2000.0]) == range(3, 4)


def test_slow_growth_is_level_only_as_far_as_the_tolerance() -> None:
    assert len(top_plateau([100.0 * 1.015**step for step in range(20)])) == 2
    assert len(top_plateau([100.0, 100.5, 101.0], tolerance=0.001)) == 1


def test_the_first_of_equally_long_runs_counts() -> None:
    assert top_plateau([100.0, 100.0, 50.0, 100.0, 100.0]) == range(2)


def test_nothing_is_level_without_a_rate() -> None:
    assert top_plateau([]) == range(0)
    assert top_plateau([0.0, 0.0, 0.0]) == range(0)


@given(st.lists(st.floats(min_value=0.0, max_value=1e9), max_size=30))
def test_what_is_found_is_level_and_at_the_top(values: list[float]) -> None:
    part = [values[index] for index in top_plateau(values)]
    if part:
        assert spread(part) <= LEVEL
        assert max(part) * (1.0 + LEVEL) >= max(values)
    else:
        assert max(values, default=0.0) == 0.0
