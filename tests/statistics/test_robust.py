"""The densest half of values."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asct.statistics.robust import median, shorth_median


def test_the_densest_half_stays_with_the_level_part() -> None:
    level, drift = [5.35, 5.34, 5.36, 5.35, 5.35], [5.6, 6.0, 6.4, 6.9]
    assert shorth_median(level + drift) == pytest.approx(5.35)
    assert median(level + drift) == pytest.approx(5.36)
    assert shorth_median([*level, *drift, 7.2, 7.4]) < median([*level, *drift, 7.2, 7.4])


@given(st.lists(st.floats(1e-10, 1e-3), min_size=1, max_size=60))
def test_the_densest_half_lies_within_the_values(values: list[float]) -> None:
    assert min(values) <= shorth_median(values) <= max(values)


@pytest.mark.parametrize("values", [[], [0.0, 1.0], [-1.0]])
def test_the_densest_half_needs_positive_values(values: list[float]) -> None:
    with pytest.raises(ValueError, match="positive"):
        shorth_median(values)
