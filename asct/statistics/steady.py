"""Determine whether a drive is in steady state, that is, whether the values of the last rounds stay at one level.

SNIA, Solid State Storage Performance Test Specification 2.0.1, definition of steady state: within a measurement window
of 5 rounds, the excursion (largest minus smallest value) is at most 20 % of the average, and the line fitted by least
squares rises or falls by at most 10 % of the average from the first round of the window to the last.

By this rule alone, a plateau during a burst (while a write cache is filling, or while a cloud volume has burst credits)
would count as steady state. Therefore, a window is accepted only after enough data has been written, or after a drop in
the level that marks the end of the burst.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from asct.statistics.changepoint import Changepoint, changes

_ROUNDING: Final = 1e-9
"""Relative tolerance for the limits. It ensures that a window exactly at a limit counts as steady despite rounding,
whatever the unit."""
_CLIFF: Final = 0.5
"""A drop in the level by at least this share indicates a full cache or exhausted credits rather than variation."""


@dataclass(frozen=True, slots=True)
class SteadyRule:
    """The number of rounds in the window, and the maximum excursion and drift, as fractions of the mean."""

    window: int = 5
    excursion: float = 0.20
    drift: float = 0.10

    def __post_init__(self) -> None:
        if self.window < 2:
            raise ValueError(f"a window of {self.window} rounds is too short; it must have at least 2")


@dataclass(frozen=True, slots=True)
class SteadyWindow:
    """Consecutive values, starting at index `first`, and their mean. `excursion` and `drift` (signed) are fractions of
    the mean; `slope` is the slope of the fitted line: its change per round, in the unit of the values."""

    first: int
    values: tuple[float, ...]
    mean: float
    excursion: float
    slope: float
    drift: float

    def holds(self, rule: SteadyRule) -> bool:
        """Return whether the values are steady according to `rule`."""
        return within(self.excursion, rule.excursion) and within(abs(self.drift), rule.drift)

    def line(self) -> tuple[float, ...]:
        """Return the value of the fitted line at each index."""
        middle = (len(self.values) - 1) / 2.0
        return tuple(self.mean + self.slope * (index - middle) for index in range(len(self.values)))


def within(share: float, limit: float) -> bool:
    """Return whether `share` is at most `limit`, ignoring rounding errors of up to 1e-9 of the limit."""
    return share <= limit * (1.0 + _ROUNDING)


def window_of(values: Sequence[float], first: int = 0) -> SteadyWindow:
    """Return all `values` as a window. `first` is the index of the first value in its series.

    Raises ValueError if there are fewer than two values or if a value is not positive.
    """
    count = len(values)
    if count < 2 or min(values) <= 0:
        raise ValueError("a window requires two or more values above 0")
    mean = sum(values) / count
    middle = (count - 1) / 2.0
    squares = sum((index - middle) ** 2 for index in range(count))
    slope = sum((index - middle) * (value - mean) for index, value in enumerate(values)) / squares
    return SteadyWindow(
        first, tuple(values), mean, (max(values) - min(values)) / mean, slope, slope * (count - 1) / mean
    )


def last_window(values: Sequence[float], rule: SteadyRule, since: int = 0) -> SteadyWindow | None:
    """Return the last `rule.window` values as a window, or None if the window would start before index `since`."""
    first = len(values) - rule.window
    return window_of(values[first:], first) if first >= since and first >= 0 else None


def drops(values: Sequence[float]) -> list[Changepoint]:
    """Return the points at which the level drops by at least half.

    A drop is detected only if there are at least three values on either side of it.
    """
    return [one for one in changes(values, _CLIFF) if one.after <= (1.0 - _CLIFF) * one.before]


def cliff(values: Sequence[float]) -> int | None:
    """Return the index of the last drop, or None if there is none."""
    return max((one.index for one in drops(values)), default=None)


def enough_from(amounts: Iterable[float], needed: float) -> int | None:
    """Return the index of the first round that started after at least `needed` had been written, or None if there is
    none.

    `amounts` contains the total amount written before each round, in any unit and in ascending order.
    """
    return next((index for index, amount in enumerate(amounts) if amount >= needed), None)
