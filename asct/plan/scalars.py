"""Resolve plain scalars according to the YAML 1.2 core schema: `no`, `on` and `3:1` are text, and `1e3` is a number."""

from __future__ import annotations

import math
import re
from typing import Final

from asct.values.error import BadValueError, clip

Scalar = str | int | float | bool | None

_CONSTANTS: Final[dict[str, bool | None]] = {
    "": None, "~": None, "null": None, "Null": None, "NULL": None,
    "true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False,
}  # fmt: skip
_INTEGER: Final = re.compile(r"[-+]?[0-9]+", re.ASCII)
_BASED: Final = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+", re.ASCII)
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", re.ASCII)
_NOT_FINITE: Final = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)", re.ASCII)
_LEADING_ZERO: Final = re.compile(r"[-+]?0[0-9]+", re.ASCII)
_STARTS_NUMBER: Final = frozenset("+-.0123456789")
_MOST_DIGITS: Final = 40


def resolve(text: str) -> Scalar:
    """Return the value of a plain (unquoted) scalar.

    Raises BadValueError for a number that has more than 40 digits or is not finite.
    """
    if not text or text[0] not in _STARTS_NUMBER:
        return _CONSTANTS.get(text, text)
    if _INTEGER.fullmatch(text):
        return int(_bounded(text))
    if _BASED.fullmatch(text):
        return int(_bounded(text), 0)
    if _FLOAT.fullmatch(text):
        number = float(_bounded(text))
        if math.isfinite(number):
            return number
        raise BadValueError(f"`{text}` is too large", "quote it if it is text")
    if _NOT_FINITE.fullmatch(text):
        raise BadValueError(f"`{text}` is not a finite number", "write a number, or quote it if it is text")
    return text


def has_leading_zero(text: str) -> bool:
    """Return whether a plain number has a leading zero. In YAML 1.2, `017` is 17, but in YAML 1.1, it is 15."""
    return text[:1] in _STARTS_NUMBER and _LEADING_ZERO.fullmatch(text) is not None


def _bounded(text: str) -> str:
    if len(text) > _MOST_DIGITS:
        raise BadValueError(f"`{clip(text)}` has more than {_MOST_DIGITS} digits", "quote it if it is text")
    return text
