"""Cross stimulus recovery: how long a drive needs to stream again after a spell of random writes.

SNIA Solid State Storage Performance Test Specification 2.0, "Cross stimulus recovery": sequential, random, sequential.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from asct.statistics.robust import median

Group = Literal["before", "between", "after"]
GROUPS: Final[tuple[Group, ...]] = ("before", "between", "after")
_LASTING: Final = 3
"""Rounds that must be back at the level, so that one lucky round is no recovery."""


@dataclass(frozen=True, slots=True)
class Round:
    """One round of a group: time it took, bytes per second, mean and highest latency (s)."""

    seconds: float
    bandwidth: float
    mean_latency: float
    max_latency: float


def level(rounds: Sequence[Round], window: int) -> float:
    """The bandwidth that a group came to: the median of its last `window` rounds."""
    return median([one.bandwidth for one in rounds[-window:]])


def recovery_seconds(after: Sequence[Round], reference: float, tolerance: float) -> float | None:
    """Time until the stream is back at `reference` less `tolerance` (a share), and stays there; None if it never is.

    It stays if the next rounds are there as well (as many as the group still has, up to three). The time is that at
    which the first of them began: 0 when the very first one is there.
    """
    back = [one.bandwidth >= (1.0 - tolerance) * reference for one in after]
    passed = 0.0
    for index, one in enumerate(after):
        if all(back[index : index + _LASTING]):
            return passed
        passed += one.seconds
    return None
