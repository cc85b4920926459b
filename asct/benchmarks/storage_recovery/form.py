"""The times and numbers of the tests: those of the specification, and the short form of the profile fast."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

_MINUTE: Final = 60.0
_HOUR: Final = 3600.0


@dataclass(frozen=True, slots=True)
class Form:
    """Seconds and counts; see the settings of the same names."""

    waits: tuple[float, ...]
    burst_time: float
    bursts: int
    baseline_time: float
    sequential_time: float
    random_time: float
    threads: tuple[int, ...]
    depths: tuple[int, ...]
    prewrite_time: float
    matrix_rounds: int
    settle_time: float
    histogram_time: float


FORMS: Final[Mapping[str, Mapping[str, Any]]] = {
    "pts": {
        "waits": (5.0, 10.0, 15.0, 25.0, 50.0), "burst_time": 5.0, "bursts": 360, "baseline_time": 30 * _MINUTE,
        "sequential_time": 8 * _HOUR, "random_time": 6 * _HOUR,
        "threads": (1, 2, 4, 6, 8, 16, 32), "depths": (1, 2, 4, 6, 8, 16, 32), "prewrite_time": 5 * _MINUTE,
        "matrix_rounds": 25, "settle_time": _HOUR, "histogram_time": 10 * _MINUTE,
    },
    "fast": {
        "waits": (2.0, 5.0), "burst_time": 2.0, "bursts": 10, "baseline_time": 20.0,
        "sequential_time": _MINUTE, "random_time": _MINUTE,
        "threads": (1, 4, 16), "depths": (1, 4, 16), "prewrite_time": 5.0,
        "matrix_rounds": 1, "settle_time": 5.0, "histogram_time": 10.0,
    },
}  # fmt: skip
"""By profile. The long form is that of SNIA's PTS 2.0."""
