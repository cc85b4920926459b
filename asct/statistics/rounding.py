"""The resolution of values that were printed as decimal numbers.

If all samples of a value are equal, they do not show how precise the value is, because the program printed too few
digits to show how the samples differ. The last digit is then the only known limit to the precision.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

_DIGITS: Final = 12
"""Digits beyond these are rounding errors from the conversion to base units."""
_FEWEST_DIGITS: Final = 3
"""A value with fewer digits may be exact (a count), or its last digits may happen to be zeros (100 ns)."""


def resolution(values: Iterable[float]) -> float:
    """Return the step between neighboring numbers with as many decimal places as the most precise of these values:
    1e-10 for 9.81e-08 and 9.8e-08. The values must not be zero. At least three digits of each value count as
    printed."""
    return min(map(_last_place, values))


def _last_place(value: float) -> float:
    mantissa, exponent = f"{value:.{_DIGITS - 1}e}".split("e")
    digits = max(_FEWEST_DIGITS, len(mantissa.lstrip("-").replace(".", "").rstrip("0")))
    return float(f"1e{int(exponent) - digits + 1}")
