"""Read JSON as RFC 8259 defines it. NaN, Infinity and numbers too large for a float are rejected, although Python's
decoder accepts them by default."""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"the number {text if len(text) <= 20 else text[:17] + '...'} is too large")
    return value


DECODER = json.JSONDecoder(parse_constant=_refuse, parse_float=_finite)
"""A single decoder for all documents, because creating one takes as long as decoding a line."""


def json_object(text: str) -> dict[str, Any] | None:
    """Return the JSON object in the text, or None if the text is anything else."""
    try:
        found = DECODER.decode(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
