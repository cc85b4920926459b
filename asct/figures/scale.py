"""Axes and text of figures: SI prefixes that fit the values, round ticks on logarithmic axes, and escaped labels."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from asct.diagnostics.render import printable


def escape(text: object) -> str:
    """Return `text` escaped for plotly, which interprets some HTML in labels and treats text between dollar signs as
    TeX."""
    return html.escape(printable(str(text)), quote=False).replace("$", "&#36;")


MICRO: Final = "\N{MICRO SIGN}"
_SI: Final = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))
_PREFIXED: Final[dict[str, tuple[tuple[float, str], ...]]] = {
    "s": ((1.0, "s"), (1e-3, "ms"), (1e-6, f"{MICRO}s"), (1e-9, "ns")),
    "B/s": tuple((factor, f"{prefix}B/s") for factor, prefix in _SI),
    "ops/s": tuple((factor, f"{prefix} ops/s".strip()) for factor, prefix in _SI),
    "Hz": tuple((factor, f"{prefix}Hz") for factor, prefix in _SI),
    "B": ((2.0**40, "TiB"), (2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB"), (1.0, "B")),
}
_MOST_TICKS: Final = 10


@dataclass(frozen=True, slots=True)
class AxisScale:
    """The scale of an axis, which shows `value / factor` in `unit`."""

    factor: float
    unit: str


def scaling(values: Sequence[float | None], unit: str, logarithmic: bool = False) -> AxisScale:
    """Return the scale of an axis. The prefix fits the value with the largest magnitude or, on a logarithmic axis, the
    median."""
    steps = _PREFIXED.get(unit)
    sizes = sorted(abs(value) for value in values if value is not None and math.isfinite(value) and value != 0)
    if steps is None or not sizes:
        return AxisScale(1.0, "" if unit == "1" else unit)
    guide = sizes[len(sizes) // 2] if logarithmic else sizes[-1]
    factor, name = next((step for step in steps if guide >= step[0]), steps[-1])
    return AxisScale(factor, name)


def size_label(size: float) -> str:
    """Return a number of bytes as axis text: `128 B`, `32 KiB`, `1.5 MiB`, `1 GiB`."""
    factor, name = next((step for step in _PREFIXED["B"] if abs(size) >= step[0]), (1.0, "B"))
    return f"{size / factor:.4g} {name}"


def power_ticks(low: float, high: float) -> list[float]:
    """Return at most ten powers of two, evenly spaced, that cover `low` to `high` (both above 0). The exponents are
    multiples of the step."""
    first, last = math.floor(math.log2(low)), math.ceil(math.log2(high))
    step = max(1, math.ceil((last - first + 1) / _MOST_TICKS))
    return [2.0**power for power in range(math.ceil(first / step) * step, last + 1, step)]


def decade_ticks(low: float, high: float) -> list[float]:
    """Return 1, 2 and 5 for each decade from `low` to `high` (both above 0), or only powers of ten if there would be
    too many ticks."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    inside = [
        digit * 10.0**power
        for power in range(first, last + 1)
        for digit in (1.0, 2.0, 5.0)
        if low * 0.999 <= digit * 10.0**power <= high * 1.001
    ]
    if len(inside) <= _MOST_TICKS:
        return inside
    return [10.0**power for power in range(first, last + 1)]


def even_ticks(low: float, high: float) -> list[float]:
    """Return two to six round numbers from `low` to `high`, spaced by 1, 2 or 5 times a power of ten.

    `high` must be above `low`.
    """
    rough = (high - low) / 5
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(digit * power for digit in (1.0, 2.0, 5.0, 10.0) if digit * power >= rough * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [rounded(number * step, 6) or 0.0 for number in range(first, last + 1)]


def six_digits(value: float | None) -> float | None:
    """Return `value` rounded to six significant digits; None if it is None or not finite."""
    return None if value is None else rounded(value, 6)


def rounded(value: float, digits: int) -> float | None:
    """Return `value` rounded to `digits` significant digits; None if it is not finite."""
    return float(f"{value:.{digits}g}") if math.isfinite(value) else None
