"""Timestamps in ISO 8601 with a time zone, and their age."""

from __future__ import annotations

from datetime import datetime
from typing import Final, Literal

_UNITS: Final = (("d", 86400), ("h", 3600), ("min", 60), ("s", 1))


def stamp(moment: datetime, precision: Literal["seconds", "milliseconds"] = "seconds") -> str:
    """Format a time, which must be in UTC: `2026-11-01T04:28:13Z`."""
    return moment.isoformat(timespec=precision).replace("+00:00", "Z")


def age(moment: str, present: str) -> str:
    """Return the time from `moment` to `present` in the largest unit that yields a value of at least 2: `3 h`, `2 d`.

    If `moment` is in the future, the result is `0 s`. Raises ValueError if a timestamp is invalid.
    """
    seconds = max(0.0, (datetime.fromisoformat(present) - datetime.fromisoformat(moment)).total_seconds())
    unit, size = next(((unit, size) for unit, size in _UNITS if seconds >= 2 * size), ("s", 1))
    return f"{seconds // size:.0f} {unit}"
