"""Sizes: bytes as an integer, or text with a unit.

`K`, `Ki`, `KiB` (and M, G, T, P) are powers of 1024; `kB`, `KB`, `MB` ... are powers of 1000 (IEC 80000-13). A single
lower-case letter is rejected because it is ambiguous: `4k` is 4096 in fio, but 4000 in SI.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Final

from asct.values.error import BadValueError, clip

MAX_SIZE: Final = 2**63 - 1
"""The largest size, in bytes, which is the limit of off_t."""

_LETTERS: Final = "KMGTP"
_BINARY: Final = {letter: 1024 ** (power + 1) for power, letter in enumerate(_LETTERS)}
_DECIMAL: Final = {letter: 1000 ** (power + 1) for power, letter in enumerate(_LETTERS)}
_NUMBER: Final = r"([0-9]{1,30}(?:\.[0-9]{1,30})?)"
_PATTERN: Final = re.compile(rf"\s*{_NUMBER}\s*([A-Za-z]*)\s*", re.ASCII)
_LONGEST: Final = 80


def _units() -> dict[str, int]:
    units = {"": 1, "B": 1, "kB": 1000, "kiB": 1024}
    for letter in _LETTERS:
        units |= {letter: _BINARY[letter], f"{letter}i": _BINARY[letter], f"{letter}iB": _BINARY[letter]}
        units[f"{letter}B"] = _DECIMAL[letter]
    return units


_UNITS: Final = _units()


def parse_size(value: object) -> int:
    """Return the number of bytes for a size such as `512`, `4K` (4096, the same as `4KiB`), `4kB` (4000, the same as
    `4KB`) or `32.0625K`. An integer is returned unchanged.

    Raises BadValueError (a ValueError) for a bool, a float, a negative or too large number, an unknown or ambiguous
    unit, a fraction of a byte, or any other text.
    """
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise BadValueError(
            f"`{clip(value)}` is not a size", "write a whole number of bytes, or a number with a unit: `64KiB`"
        )
    if isinstance(value, int):
        return _bounded(value, clip(value))
    found = _PATTERN.fullmatch(value) if len(value) <= _LONGEST else None
    if found is None:
        raise BadValueError(f"`{clip(value)}` is not a size", "write a number and a unit: `64KiB`, `4K`, `10GB`")
    number, unit = found.groups()
    exact = Fraction(number) * _factor(number, unit)
    if exact.denominator != 1:
        raise BadValueError(f"`{clip(value)}` is not a whole number of bytes", f"the nearest size is `{round(exact)}`")
    return _bounded(exact.numerator, clip(value))


def _bounded(number: int, text: str) -> int:
    if number < 0:
        raise BadValueError(f"size `{text}` is negative", "write a size of 0 or more")
    if number > MAX_SIZE:
        raise BadValueError(f"size `{text}` is too large", f"the maximum is {MAX_SIZE} bytes (8192 PiB minus 1)")
    return number


def _factor(number: str, unit: str) -> int:
    """Return the factor of a unit. Raises BadValueError if the unit is unknown or ambiguous."""
    if unit in _UNITS:
        return _UNITS[unit]
    letter = unit.upper()[:1]
    if unit in ("k", "m", "g", "t", "p"):
        si, binary = Fraction(number) * _DECIMAL[letter], Fraction(number) * _BINARY[letter]
        prefix = "k" if unit == "k" else letter
        raise BadValueError(
            f"ambiguous size `{number}{unit}`",
            f"write `{number}{letter}` (binary, as in fio) or `{number}{prefix}B` (decimal)",
            label=f"{_grouped(si)} (SI) or {_grouped(binary)} (fio)?",
        )
    spellings = {known.lower(): known for known in _UNITS if known.endswith("B")} | {"kb": "kB"}
    known = spellings.get(unit.lower())
    hint = f"did you mean `{number}{known}`?" if known else "units are B, K = KiB, kB, M = MiB, MB, G, GB, T, TB, P, PB"
    raise BadValueError(f"unknown unit `{clip(unit)}` in size `{clip(number + unit)}`", hint)


def _grouped(number: Fraction) -> str:
    return f"{int(number):,}".replace(",", " ") if number.denominator == 1 else f"{float(number):g}"


def _decimal(number: int, factor: int, places: int) -> str | None:
    """Return `number / factor`, written exactly with at most `places` decimals, or None if this is impossible."""
    scaled, rest = divmod(number * 10**places, factor)
    if rest:
        return None
    digits = str(scaled).rjust(places + 1, "0")
    return f"{digits[:-places]}.{digits[-places:]}".rstrip("0").rstrip(".")


def about_size(n: int) -> str:
    """Format `n` rounded to three digits for short labels: `47.9K`, `1.39M`, `1023K`."""
    for letter in reversed(_LETTERS):
        if n >= _BINARY[letter]:
            share = n / _BINARY[letter]
            return f"{share:.0f}{letter}" if share >= 1000 else f"{share:.3g}{letter}"
    return str(n)


def format_size(n: int) -> str:
    """Return the shortest exact text for which `parse_size(format_size(n)) == n`: `64K`, `32.0625K`, `400MB`,
    `1001`."""
    texts = [f"{_decimal(n, _BINARY[letter], 4)}{letter}" for letter in _LETTERS if n >= _BINARY[letter]]
    texts += [
        f"{_decimal(n, _DECIMAL[letter], 1)}{'k' if letter == 'K' else letter}B"
        for letter in _LETTERS
        if n >= _DECIMAL[letter]
    ]
    exact = [text for text in texts if not text.startswith("None")]
    return min(exact, key=len, default=str(n))
