"""Identity by content: the canonical JSON of a value, and the hashes made from it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from asct.planner.model import Deferred

POINT_DIGITS = 12


def _plain(value: Any) -> Any:
    """What json cannot write by itself. A deferred value is known by its text and by what else the text reads."""
    if isinstance(value, Deferred):
        return {"deferred": value.text, "values": dict(value.values)}
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} has no canonical form")


_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False, default=_plain)


def canonical_json(value: Any) -> str:
    """One text for one value: keys sorted, no spaces, no NaN. Raises ValueError for NaN and TypeError for objects."""
    return _ENCODER.encode(value)


def digest(value: Any) -> str:
    """64 hex digits: SHA-256 (FIPS 180-4) of the canonical JSON in UTF-8."""
    return hashlib.sha256(_ENCODER.encode(value).encode()).hexdigest()


def point_id(benchmark: str, version: str, settings: Mapping[str, Any]) -> str:
    """12 hex digits for one full set of settings of one version of a benchmark, on any host and in any order."""
    return digest([benchmark, version, settings])[:POINT_DIGITS]


def frozen_key(value: Any) -> Any:
    """`value` as something that can be compared and put into a set; `1`, `1.0` and `True` stay apart."""
    if isinstance(value, list | tuple):
        return tuple(frozen_key(item) for item in value)
    if isinstance(value, Mapping):
        return tuple(sorted((key, frozen_key(item)) for key, item in value.items()))
    return (type(value).__name__, value) if isinstance(value, bool) else value
