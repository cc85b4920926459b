"""Durations: seconds as a number, or text with units (`30s`, `15m`, `1h30m`, `250ms`).

A plain number is in seconds; JSON documents contain durations in this form. Values in plans and options must also pass
`require_unit`, which rejects `duration: 60`.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal
from fractions import Fraction
from typing import Final

from asct.values.error import BadValueError, clip

MAX_DURATION: Final = 1e9
"""The longest duration, in seconds (about 31 years)."""

_UNITS: Final = {
    "w": Fraction(604800),
    "d": Fraction(86400),
    "h": Fraction(3600),
    "m": Fraction(60),
    "min": Fraction(60),
    "s": Fraction(1),
    "ms": Fraction(1, 10**3),
    "us": Fraction(1, 10**6),
    "\N{MICRO SIGN}s": Fraction(1, 10**6),
    "\N{GREEK SMALL LETTER MU}s": Fraction(1, 10**6),
    "ns": Fraction(1, 10**9),
}
_WORDS: Final = {"week": "w", "day": "d", "hour": "h", "hr": "h", "sec": "s", "second": "s"}
_PART: Final = re.compile(r"\s*([0-9]{1,30}(?:\.[0-9]{1,60})?)\s*([A-Za-z\u00b5\u03bc]*)\s*")
_LONGEST: Final = 100
_HINT: Final = "write a number and a unit: `30s`, `15m`, `1h30m`, `250ms`"


def parse_duration(value: object) -> float:
    """Convert text with units, or a number of seconds, to seconds.

    Raises BadValueError (a ValueError) for text without a unit, units in the wrong order, or a negative or infinite
    duration.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise BadValueError(f"`{clip(value)}` is not a duration", _HINT)
    if isinstance(value, str):
        return _bounded(_read(value), clip(value))
    if isinstance(value, float) and not math.isfinite(value):
        raise BadValueError(f"`{value}` is not a duration", _HINT)
    return _bounded(value, clip(value))


def require_unit(value: object) -> None:
    """Reject a duration without a unit in a plan or a `--set` value, unless it is 0. Raises BadValueError with a hint
    that shows the number with units.
    """
    if isinstance(value, int | float) and not isinstance(value, bool) and value != 0:
        text = clip(value)
        raise BadValueError(f"`{text}` needs a unit", f"write `{text}s`, `{text}ms` or `{text}m`")


def _bounded(seconds: float, text: str) -> float:
    if seconds < 0:
        raise BadValueError(f"`{text}` is negative", "write a duration of 0s or more")
    if seconds > MAX_DURATION:
        raise BadValueError(f"`{text}` is too long", f"the maximum is {MAX_DURATION:.0f}s, about 31 years")
    return float(seconds)


def _read(text: str) -> float:
    """Return the sum of the parts. Only the sum is rounded, not each part."""
    if len(text) > _LONGEST or not text.strip():
        raise BadValueError(f"`{clip(text)}` is not a duration", _HINT)
    total, position, last = Fraction(0), 0, Fraction(10**9)
    while position < len(text):
        found = _PART.match(text, position)
        if found is None or (not found[2] and found.end() < len(text)):  # adding a unit does not make `3:1` valid
            raise BadValueError(f"`{clip(text)}` is not a duration", _HINT)
        number, unit = found.groups()
        factor = _factor(text.strip(), number, unit)
        if factor >= last:
            raise BadValueError(f"units out of order in `{clip(text)}`", "start with the largest unit: `1h30m`")
        total, position, last = total + Fraction(number) * factor, found.end(), factor
    return float(total)


def _factor(text: str, number: str, unit: str) -> Fraction:
    if unit in _UNITS:
        return _UNITS[unit]
    if not unit:
        if text == number and Fraction(number) == 0:
            return Fraction(1)
        raise BadValueError(f"`{clip(text)}` needs a unit", f"write `{text}s`, `{text}ms` or `{text}m`")
    known = next((name for name in _UNITS if name == unit.lower() or unit.lower().startswith(name + "in")), None)
    known = known or _WORDS.get(unit.lower().removesuffix("s"))
    hint = f"did you mean `{number}{known}`?" if known else "units are w, d, h, m, s, ms, us, ns"
    raise BadValueError(f"unknown unit `{clip(unit)}` in `{clip(text)}`", hint)


def format_duration(seconds: float) -> str:
    """Return the shortest common notation that parses to the same number: `1h30m`, `90.5s`, `250ms`, `1.5us`, `0s`."""
    if seconds == int(seconds):
        return _whole(int(seconds))
    exact = Decimal(repr(float(seconds)))
    for unit, power in (("s", 0), ("ms", 3), ("us", 6), ("ns", 9)):
        scaled = exact.scaleb(power)
        if scaled >= 1 or unit == "ns":
            return f"{scaled:f}{unit}" if "." not in f"{scaled:f}" else f"{scaled:f}".rstrip("0").rstrip(".") + unit
    raise AssertionError("the loop ends at ns")


def _whole(seconds: int) -> str:
    hours, rest = divmod(seconds, 3600)
    minutes, rest = divmod(rest, 60)
    parts = [f"{count}{unit}" for count, unit in ((hours, "h"), (minutes, "m"), (rest, "s")) if count]
    return "".join(parts) or "0s"
