"""The resolution of printed values, derived from their digits."""

from __future__ import annotations

import pytest

from asct.statistics.rounding import resolution


@pytest.mark.parametrize(
    ("values", "step"),
    [
        ([98.1e-9], 1e-10),
        ([1251 * 1e-12], 1e-12),
        ([3 * 0.1], 1e-3),
        ([0.1 + 0.2 + 100.0], 0.1),
        ([-98.1], 0.1),
        ([100.0], 1.0),
        ([2.0], 0.01),
        ([123456.0], 1.0),
        ([98.0, 98.1], 0.1),
        ([98.1, 98.0], 0.1),
        ([1e9, 1.23456e9], 1e4),
    ],
)
def test_the_resolution_is_the_last_digit_of_the_most_precise_value(values: list[float], step: float) -> None:
    assert resolution(values) == pytest.approx(step)


def test_values_that_were_computed_have_no_resolution_of_interest() -> None:
    assert resolution([1.0 / 3.0]) < 1e-11
