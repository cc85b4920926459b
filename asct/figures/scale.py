"""Scales and ticks of axes: SI prefixes that fit the values, round ticks, and text with three to four significant
digits."""

from __future__ import annotations

import html
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from asct.values.quantity import SCALES
from asct.values.text import printable


def escape(text: object) -> str:
    """Return `text` escaped for plotly, which interprets some HTML in labels and treats text between dollar signs as
    TeX."""
    return html.escape(printable(str(text)), quote=False).replace("$", "&#36;")


_MOST_TICKS: Final = 10
_LEAST_TICKS: Final = 3
_STEPS: Final = (1.0, 2.0, 5.0, 10.0)
_DIGITS: Final = ((1.0,), (1.0, 2.0, 5.0), (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0))
"""The possible leading digits of the ticks on a logarithmic axis, from few ticks per decade to many."""


@dataclass(frozen=True, slots=True)
class AxisScale:
    """The scale of an axis, which shows `value / factor` in `unit`."""

    factor: float
    unit: str

    def text(self, value: float) -> str:
        """Return a value with its unit: `98.4 ns`, `57.9k ops/s`."""
        return f"{significant(value / self.factor)}{self.suffix}"

    @property
    def suffix(self) -> str:
        """The unit as it is written after a number, which a prefix such as `k` follows immediately."""
        return self.unit if self.unit[1:2] == " " else f" {self.unit}".rstrip()


def guide(values: Sequence[float | None], logarithmic: bool = False) -> float | None:
    """Return the magnitude that the prefix of an axis should fit: the largest magnitude or, on a logarithmic axis, the
    median. Return None if there is no value other than 0."""
    sizes = sorted(abs(value) for value in values if value is not None and math.isfinite(value) and value != 0)
    if not sizes:
        return None
    return sizes[len(sizes) // 2] if logarithmic else sizes[-1]


def prefixed(size: float | None, unit: str) -> AxisScale:
    """Return the scale whose prefix fits values of the magnitude `size`."""
    steps = SCALES.get(unit)
    if steps is None or size is None:
        return AxisScale(1.0, "" if unit == "1" else unit)
    factor, name = next((step for step in steps if size >= step[0]), steps[-1])
    return AxisScale(factor, name.strip())


def size_label(size: float) -> str:
    """Return a number of bytes as axis text, in the notation of plans and tables: `128`, `32K`, `1.5M`, `1G`."""
    scale = prefixed(abs(size), "B")
    return f"{significant(size / scale.factor)}{scale.unit[:-1].rstrip('i')}"


def significant(value: float) -> str:
    """Return a number with at most four significant digits, but with all digits before the decimal point: `0.1235`,
    `98.4`, `12,346`."""
    if value == 0:
        return "0"
    if 1000 <= abs(value) < 1e15:
        return f"{value:,.0f}"
    return f"{value:.4g}"


def tick_label(value: float) -> str:
    """Return a tick value as text; ticks are round, so all digits are shown."""
    return f"{value:,.10g}" if abs(value) < 1e10 else f"{value:.4g}"


def power_ticks(low: float, high: float) -> list[float]:
    """Return three to ten ticks between `low` and `high` (both above 0): evenly spaced powers of two or, if there are
    too few, finer steps."""
    first, last = math.ceil(math.log2(low) - 1e-9), math.floor(math.log2(high) + 1e-9)
    step = max(1, math.ceil((last - first + 1) / _MOST_TICKS))
    powers = [2.0**power for power in range(math.ceil(first / step) * step, last + 1, step)]
    if len(powers) >= _LEAST_TICKS:
        return powers
    halves = [size for power in range(first - 1, last + 1) for size in (2.0**power, 1.5 * 2.0**power)]
    inside = [size for size in halves if low * 0.999 <= size <= high * 1.001]
    return inside if len(inside) >= _LEAST_TICKS else linear_ticks(low, high)


def decade_ticks(low: float, high: float) -> list[float]:
    """Return three or more ticks between `low` and `high` (both above 0): powers of ten or, if there are too few of
    them, the multiples 1, 2 and 5 in each decade, or finer steps."""
    for digits in _DIGITS:
        inside = list(_within_decades(low, high, digits))
        if len(inside) >= _LEAST_TICKS + (len(digits) == 1):
            return inside
    return linear_ticks(low, high)


def _within_decades(low: float, high: float, digits: Sequence[float]) -> Iterator[float]:
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    step = max(1, math.ceil((last - first) / _MOST_TICKS))
    for power in range(first, last + 1, step):
        for digit in digits:
            tick = float(f"{digit:g}e{power}")
            if low * 0.999 <= tick <= high * 1.001:
                yield tick


def linear_ticks(low: float, high: float) -> list[float]:
    """Return four to ten round numbers from `low` to `high`, spaced by 1, 2 or 5 times a power of ten.

    `high` must be above `low`.
    """
    power = math.floor(math.log10((high - low) / 3))
    steps = [digit * 10.0**exponent for exponent in (power + 1, power, power - 1) for digit in reversed(_STEPS[:3])]
    return next(found for step in steps if len(found := _multiples(low, high, step)) > _LEAST_TICKS)


def whole_ticks(low: float, high: float) -> list[float]:
    """Return round whole numbers from `low` to `high`: all of them if there are at most ten."""
    return _multiples(low, high, 1.0) if high - low < _MOST_TICKS else linear_ticks(low, high)


def _multiples(low: float, high: float, step: float) -> list[float]:
    first, last = math.ceil(low / step - 1e-6), math.floor(high / step + 1e-6)
    return [float(f"{number * step:.12g}") for number in range(first, last + 1)]


def even_ticks(low: float, high: float) -> list[float]:
    """Return two to six round numbers from `low` to `high`, spaced by 1, 2 or 5 times a power of ten, for a color bar.

    `high` must be above `low`.
    """
    rough = (high - low) / 5
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(digit * power for digit in _STEPS if digit * power >= rough * 0.999)
    return [rounded(tick) or 0.0 for tick in _multiples(low, high, step)]


def rounded(value: float, digits: int = 6) -> float | None:
    """Return `value` rounded to `digits` significant digits, or None if it is not finite."""
    return float(f"{value:.{digits}g}") if math.isfinite(value) else None
