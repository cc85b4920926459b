"""Steady state of a drive: whether the values of the last rounds of a test stay on one level.

SNIA, Solid State Storage Performance Test Specification 2.0.1, definition of steady state: within a measurement window
of 5 rounds the excursion (largest minus smallest value) is at most 20 % of the average, and the line fitted by least
squares rises or falls by at most 10 % of the average from the first round of the window to the last.

That rule takes the plateau of a burst (a write cache that is not full yet, credits of a volume) for the steady state.
So a window counts only from a round on: when enough was written, or behind a fall of the level that shows that the
burst is over.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from asct.statistics.changepoint import SHORTEST, changes

CLIFF: Final = 0.5
"""A fall by this share of the level is a cliff: a full cache or spent credits, rather than a drive that wanders."""


@dataclass(frozen=True, slots=True)
class SteadyRule:
    """Rounds of the window; the largest excursion and the largest drift in it as shares of the average."""

    window: int = 5
    excursion: float = 0.20
    drift: float = 0.10

    def __post_init__(self) -> None:
        if self.window < 2:
            raise ValueError(f"a window of {self.window} rounds has neither excursion nor drift; it takes 2 or more")


@dataclass(frozen=True, slots=True)
class SteadyWindow:
    """Successive values from index `first` on; `excursion` and `drift` (signed) are shares of `mean`.

    `slope` is that of the fitted line, in the unit of the values per round.
    """

    first: int
    values: tuple[float, ...]
    mean: float
    excursion: float
    slope: float
    drift: float

    def holds(self, rule: SteadyRule) -> bool:
        """Whether the values are steady by `rule`."""
        return self.excursion <= rule.excursion and abs(self.drift) <= rule.drift

    def line(self) -> tuple[float, ...]:
        """The fitted line at each value."""
        middle = (len(self.values) - 1) / 2.0
        return tuple(self.mean + self.slope * (index - middle) for index in range(len(self.values)))


def window_of(values: Sequence[float], first: int = 0) -> SteadyWindow:
    """All of `values` as a window that begins at index `first` of its series.

    Raises ValueError for fewer than two values, and for one that is not above 0: a drive that did nothing has no level.
    """
    count = len(values)
    if count < 2 or min(values) <= 0:
        raise ValueError("a window has two or more values above 0")
    mean = sum(values) / count
    middle = (count - 1) / 2.0
    squares = sum((index - middle) ** 2 for index in range(count))
    slope = sum((index - middle) * (value - mean) for index, value in enumerate(values)) / squares
    return SteadyWindow(
        first, tuple(values), mean, (max(values) - min(values)) / mean, slope, slope * (count - 1) / mean
    )


def last_window(values: Sequence[float], rule: SteadyRule, since: int = 0) -> SteadyWindow | None:
    """The last `rule.window` values as a window; None if it would reach back before index `since`."""
    first = len(values) - rule.window
    return window_of(values[first:], first) if first >= since and first >= 0 else None


def cliff(values: Sequence[float], least: float = CLIFF) -> int | None:
    """The index of the last drop of the level by at least `least` (a share).

    None without such a drop. A drop is detected only with three values on either side of it.
    """
    if len(values) < 2 * SHORTEST:
        return None
    falls = [one.index for one in changes(values, least) if one.after <= (1.0 - least) * one.before]
    return falls[-1] if falls else None


def enough_from(written: Sequence[float], needed: float) -> int | None:
    """The index of the first round before which `needed` had been written; None if there is none.

    `written` is what had been written at the begin of each round, ascending, in any unit.
    """
    if any(after < before for before, after in pairwise(written)):
        raise ValueError("what was written does not become less")
    return next((index for index, amount in enumerate(written) if amount >= needed), None)
