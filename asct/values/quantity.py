"""Quantities: a number in the base unit of a metric, or text with a unit (`130 ns`, `550k`, `12.5 GB/s`, `85%`).

Base units are s, B/s, ops/s, cycles, B/cycle, B, Hz, 1 (a plain ratio), % and degC. Prefixes are decimal (SI), except
in sizes and rates with binary units (`KiB`, `GiB/s`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from asct.values.error import BadValueError, clip
from asct.values.size import parse_size

_NUMBER: Final = re.compile(r"\s*([+-]?[0-9]{1,30}(?:\.[0-9]{1,30})?(?:[eE][+-]?[0-9]{1,3})?)\s*(\S*(?: ?\S+)?)\s*")
_LONGEST: Final = 100
_SI: Final = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_IEC: Final = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
_MICRO: Final = "\N{MICRO SIGN}"


def _times(prefixes: dict[str, int], *units: str) -> dict[str, Fraction]:
    return {prefix + unit: Fraction(factor) for prefix, factor in prefixes.items() for unit in units}


_SECONDS: Final = {
    "h": Fraction(3600), "m": Fraction(60), "min": Fraction(60), "s": Fraction(1), "ms": Fraction(1, 10**3),
    "us": Fraction(1, 10**6), f"{_MICRO}s": Fraction(1, 10**6), "\N{GREEK SMALL LETTER MU}s": Fraction(1, 10**6),
    "ns": Fraction(1, 10**9), "ps": Fraction(1, 10**12),
}  # fmt: skip
_UNITS: Final[dict[str, dict[str, Fraction]]] = {
    "s": _SECONDS,
    "B/s": _times(_SI | _IEC, "B/s"),
    "ops/s": _times(_SI, "", "ops/s", "IOPS", "iops"),
    "cycles": {"": Fraction(1), "cycles": Fraction(1), "cycle": Fraction(1)},
    "B/cycle": {"": Fraction(1), "B/cycle": Fraction(1)},
    "B": {},
    "Hz": _times(_SI, "Hz"),
    "1": {"": Fraction(1), "%": Fraction(1, 100), "x": Fraction(1)},
    "%": {"%": Fraction(1)},
    "degC": {"degC": Fraction(1)},
}
_FITTING: Final = {
    "s": "ns, us, ms, s, m or h", "B/s": "B/s, MB/s, GB/s or GiB/s", "ops/s": "no unit, k, M or ops/s",
    "cycles": "cycles", "B/cycle": "B/cycle", "B": "B, KiB, MiB, GiB or kB, MB, GB", "Hz": "Hz, MHz or GHz",
    "1": "no unit or %", "%": "%", "degC": "degC",
}  # fmt: skip
_EXAMPLE: Final = {
    "s": "130 ns", "B/s": "12.5 GB/s", "ops/s": "550k", "cycles": "4 cycles", "B/cycle": "16 B/cycle",
    "B": "64 KiB", "Hz": "2.6 GHz", "1": "0.85", "%": "85%", "degC": "70 degC",
}  # fmt: skip


def parse_quantity(text: object, unit: str) -> float:
    """Return the value of `text` in the base unit `unit`: `130 ns` in `s` is 1.3e-07. The module docstring lists the
    base units.

    A number without a unit is accepted if the base unit is usually omitted (ops/s, cycles, B/cycle, 1). Raises a
    BadValueError that lists the possible units if the dimension is wrong, and KeyError if the base unit is unknown.
    """
    known = _UNITS[unit]
    source_text = _as_text(text)
    if unit == "B" and source_text is not None:
        return float(parse_size(source_text))
    found = _NUMBER.fullmatch(source_text) if source_text is not None and len(source_text) <= _LONGEST else None
    if found is None:
        raise BadValueError(f"`{clip(text)}` is not a quantity", f"write a number and a unit: `{_EXAMPLE[unit]}`")
    number, suffix = found.groups()
    if _spelt(suffix) not in known:
        raise _wrong_unit(clip(source_text), number, suffix, unit)
    try:
        return float(Fraction(number) * known[_spelt(suffix)])
    except OverflowError:
        raise BadValueError(f"`{clip(source_text)}` is too large", "write a number below 1e308") from None


def is_quantity(text: object) -> bool:
    """Return whether `text` is a quantity in any of the base units."""

    def fits(unit: str) -> bool:
        try:
            parse_quantity(text, unit)
        except ValueError:
            return False
        return True

    return any(map(fits, _UNITS))


def _spelt(suffix: str) -> str:
    """Remove spaces, so that `k ops/s` and `kops/s` are the same unit."""
    return suffix.replace(" ", "")


def _as_text(value: object) -> str | None:
    """Return a number or a string as text, or None for any other type."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return repr(value)


def _wrong_unit(text: str, number: str, suffix: str, unit: str) -> BadValueError:
    fitting = f"use {_FITTING[unit]}, such as `{_EXAMPLE[unit]}`"
    if not suffix:
        return BadValueError(f"`{text}` needs a unit", fitting)
    other = next((name for name, known in _UNITS.items() if name != unit and _spelt(suffix) in known), None)
    if other is None and _is_size(number + suffix):
        other = "B"
    if other:
        return BadValueError(f"`{text}` is in {_unit_name(other)}, not in {_unit_name(unit)}", fitting)
    return BadValueError(f"unknown unit `{clip(suffix)}` in `{text}`", fitting)


def _is_size(text: str) -> bool:
    try:
        parse_size(text)
    except ValueError:
        return False
    return True


def _unit_name(unit: str) -> str:
    return {"s": "seconds", "B": "bytes", "1": "a plain ratio", "%": "percent"}.get(unit, unit)


_COUNT: Final = re.compile(r"\s*([+-]?[0-9]{1,30}(?:\.[0-9]{1,30})?)\s*([kKMGT]?)\s*", re.ASCII)


def parse_count(value: object) -> int | float:
    """Parse a count or rate with a decimal suffix: `550k` and `550K` are 550,000, and `1.5M` is 1,500,000. A number is
    returned unchanged.

    Results without a fraction are ints. Raises BadValueError (a ValueError) for anything else.
    """
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        return value
    found = _COUNT.fullmatch(value) if isinstance(value, str) and len(value) <= _LONGEST else None
    if found is None:
        raise BadValueError(f"`{clip(value)}` is not a count", "write a number, optionally with k, M, G or T: `550k`")
    exact = Fraction(found.group(1)) * _SI[found.group(2)]
    return exact.numerator if exact.denominator == 1 else float(exact)


_SCALES_SI: Final = ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))
SCALES: Final[dict[str, tuple[tuple[float, str], ...]]] = {
    "s": ((1.0, " s"), (1e-3, " ms"), (1e-6, f" {_MICRO}s"), (1e-9, " ns")),
    "B/s": tuple((factor, f" {prefix}B/s") for factor, prefix in _SCALES_SI),
    "ops/s": tuple((factor, f"{prefix} ops/s") for factor, prefix in _SCALES_SI),
    "Hz": tuple((factor, f" {prefix}Hz") for factor, prefix in _SCALES_SI),
    "B": ((2.0**40, " TiB"), (2.0**30, " GiB"), (2.0**20, " MiB"), (2.0**10, " KiB"), (1.0, " B")),
    "cycles": ((1.0, " cycles"),),
    "B/cycle": ((1.0, " B/cycle"),),
    "1": ((1.0, ""),),
    "%": ((1.0, " %"),),
}
"""The factors by which values in each base unit are divided for display, largest first, each with the text that follows
the number."""


def format_quantity(value: float, unit: str, digits: int = 3) -> str:
    """Format a value for display with `digits` significant digits: `98.4 ns`, `12.5 GB/s`, `57.9k ops/s`, `64 KiB`, `85
    %`.

    An unknown unit is appended unchanged.
    """
    if not math.isfinite(value):
        return f"{value}"
    scales = _scales(unit)
    magnitude = abs(value) or 1.0  # zero has the base unit
    index = next((i for i, (factor, _) in enumerate(scales) if magnitude >= factor), len(scales) - 1)
    text = _significant(value / scales[index][0], digits)
    if index > 0 and abs(float(text)) * scales[index][0] >= scales[index - 1][0]:
        index -= 1  # rounding reached the next unit: 999.96 ns is 1 us, not 1000 ns
        text = _significant(value / scales[index][0], digits)
    return text + scales[index][1]


def _significant(value: float, digits: int) -> str:
    """Format a number with `digits` significant digits.

    All digits before the decimal point are kept. There are no trailing zeros, and numbers up to 1e15 have no exponent.
    """
    if value == 0:
        return "0"
    whole = math.floor(math.log10(abs(value))) + 1
    if not -digits - 4 < whole <= 15:
        return f"{value:.{digits}g}"
    text = f"{value:.{max(0, digits - whole)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def format_alike(values: Sequence[float], unit: str = "B", digits: int = 3) -> list[str]:
    """Format values for comparison, all in the unit that suits the smallest one above 0: `98.2 GiB`, `2,048 GiB`."""
    smallest = min((abs(value) for value in values if value), default=0.0)
    scales = _scales(unit)
    factor, suffix = next((scale for scale in scales if smallest >= scale[0]), scales[-1])
    return [_grouped(value / factor, digits) + suffix for value in values]


def _grouped(value: float, digits: int) -> str:
    """Format a number with `digits` significant digits, or as a whole number with commas if it has as many digits
    before the decimal point."""
    return f"{value:,.0f}" if float(f"{abs(value):.{digits}g}") >= 10 ** (digits - 1) else _significant(value, digits)


def _scales(unit: str) -> tuple[tuple[float, str], ...]:
    return SCALES.get(unit) or ((1.0, f" {unit}"),)
