"""Finds where a curve is flat: the values that a limit holds down."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

LEVEL: Final = 0.02
"""Values are level while the largest is at most this share above the smallest."""


def top_plateau(values: Sequence[float], tolerance: float = LEVEL) -> range:
    """The longest run of neighbours that are level and lie at the top: none of all values is above the run's.

    "Above" means by more than `tolerance`. The range is empty if there are no values, or none above 0.
    """
    highest = max(values, default=0.0)
    best = range(0)
    if highest <= 0.0:
        return best
    for start in range(len(values)):
        end = start
        while end < len(values) and _level(values[start : end + 1], tolerance):
            end += 1
        if end - start > len(best) and max(values[start:end]) * (1.0 + tolerance) >= highest:
            best = range(start, end)
    return best


def spread(values: Sequence[float]) -> float:
    """The excess of the largest of positive values over the smallest, as a share."""
    return max(values) / min(values) - 1.0


def _level(values: Sequence[float], tolerance: float) -> bool:
    return min(values) > 0.0 and spread(values) <= tolerance
