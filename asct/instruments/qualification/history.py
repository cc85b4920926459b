"""The rounds of a phase so far, and whether the drive is in its steady state."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from asct.instruments.fio.params import FioParams
from asct.instruments.fio.point import Point
from asct.instruments.qualification.journal import Journal, Summary
from asct.instruments.qualification.phase import Cell, Phase, Tracked
from asct.instruments.qualification.precondition import preconditioned_bytes
from asct.instruments.qualification.walk import walked
from asct.statistics.steady import Window, cliff, enough_from, last_window, window_of

Reason = Literal["", "rounds", "pause", "volume", "excursion", "slope"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """`reason` is what speaks against the steady state, empty if nothing does; `windows` are the last rounds.

    `rounds`: too few so far. `pause`: the repeat was cut off in or before the window. `volume`: too little was written
    since the purge, and no cliff was seen. `excursion`, `slope`: a dependent variable moves too much.
    """

    reason: Reason
    windows: tuple[tuple[Tracked, Window], ...] = ()

    @property
    def steady(self) -> bool:
        """Whether every dependent variable is steady."""
        return not self.reason


class History:
    """The whole rounds of a phase, counted from index 0. `number` is that of the first step name."""

    def __init__(self, journal: Journal, phase: Phase) -> None:
        self.journal = journal
        self.phase = phase

    @cached_property
    def rounds(self) -> int:
        """Whole rounds: all cells of them are done."""
        number = 0
        while all(self.journal.has(self.phase.step_name(number + 1, cell)) for cell in self.phase.cells):
            number += 1
        return number

    def params(self, index: int, cell: Cell) -> FioParams:
        """The process of the cell in a round. A sequential one goes on where it ended in the round before."""
        fresh = self.journal.fio(cell, self.phase, self.seed(index, cell))
        if cell.random:
            return fresh
        return walked(fresh, [self.summary(before, cell).io_bytes for before in range(index)])

    def point(self, index: int, cell: Cell) -> Point:
        """What the cell gave in a round."""
        return self.journal.point(self.phase.step_name(index + 1, cell), self.params(index, cell))

    def summary(self, index: int, cell: Cell) -> Summary:
        """The same in a few numbers."""
        return self.journal.summary(self.phase.step_name(index + 1, cell), self.params(index, cell))

    def seed(self, index: int, cell: Cell) -> int:
        """Every process has random offsets of its own."""
        return index * len(self.phase.cells) + self.phase.cells.index(cell)

    def values(self, tracked: Tracked) -> list[float]:
        """A dependent variable over the rounds."""
        return [self.summary(index, tracked.cell).value(tracked.quantity) for index in range(self.rounds)]

    @cached_property
    def resumed_at(self) -> int:
        """The first round that lies wholly behind every pause."""
        found = 0
        for index in range(self.rounds):
            for place, cell in enumerate(self.phase.cells):
                if self.journal.outputs[self.phase.step_name(index + 1, cell)].resumed:
                    found = index if place == 0 else index + 1
        return found

    def written(self) -> Iterator[int]:
        """Bytes written since the purge at the begin of each round, and at the end of the last one."""
        total = preconditioned_bytes(self.journal, self.phase)
        yield total
        for index in range(self.rounds):
            total += sum(self.summary(index, cell).written for cell in self.phase.cells)
            yield total

    @cached_property
    def enough_from(self) -> int | None:
        """The first round at whose begin enough was written; looks no further than needed."""
        needed = self.journal.params.steady_volume * self.journal.span
        found: list[int] = []
        for amount in self.written():
            found.append(amount)
            if amount >= needed:
                break
        return enough_from(found, needed)

    def verdict(self) -> Verdict:
        """Of the rounds so far."""
        rule = self.journal.params.rule
        if self.rounds < rule.window:
            return Verdict("rounds")
        series = [(tracked, self.values(tracked)) for tracked in self.phase.tracked]
        windows = tuple((tracked, _last(values, rule.window)) for tracked, values in series)
        first = self.rounds - rule.window
        if first < self.resumed_at:
            return Verdict("pause", windows)
        if any(last_window(values, rule, self._since(tracked, values)) is None for tracked, values in series):
            return Verdict("volume", windows)
        if any(window.excursion > rule.excursion for _, window in windows):
            return Verdict("excursion", windows)
        return Verdict("" if all(window.holds(rule) for _, window in windows) else "slope", windows)

    def _since(self, tracked: Tracked, values: Sequence[float]) -> int:
        """The first round that may count: enough was written by then, or the level had fallen."""
        rising = tracked.quantity == "latency"
        fall = cliff([1.0 / value for value in values] if rising else values)
        return min((index for index in (self.enough_from, fall) if index is not None), default=self.rounds)

    @property
    def over(self) -> bool:
        """Whether the rounds end: steady, or `rounds_max` of them without a pause between."""
        return self.rounds - self.resumed_at >= self.journal.params.rounds_max or self.verdict().steady


def _last(values: Sequence[float], count: int) -> Window:
    return window_of(values[-count:], len(values) - count)
