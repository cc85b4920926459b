"""Records for tests that are about only a few of their fields."""

from __future__ import annotations

from typing import Any, Final

from asct.sdk.record import Record

_FIELDS: Final[dict[str, Any]] = {
    "run": "r", "plan": "p", "host": "h", "benchmark": "b", "id": "b", "version": "1", "point": {}, "coords": {},
    "point_id": "p1", "repeat": 1, "metric": "latency", "unit": "s", "better": "lower", "raw": "jobs/h/b/p1/r1",
}  # fmt: skip


def record(value: float, **fields: Any) -> Record:
    """Return a record with this value. It is a latency unless `fields` specify otherwise."""
    return Record(**{**_FIELDS, "value": value, **fields})
