"""The profile `fast`: only the tracked workloads run until the steady state, then every workload is measured once.

A workload ends when its rate has settled. The tracked workloads are measured again after the others (sentinels): if one
of them changed, the drive left its steady state, and all workloads are measured again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from asct.instruments.fio.params import FioParams
from asct.instruments.fio.point import FioPoint
from asct.instruments.qualification.journal import StepJournal, fio_process
from asct.instruments.qualification.rounds import RoundHistory, phase_steps
from asct.instruments.qualification.settings import Phase, TrackedMetric, Workload
from asct.sdk.benchmark import Context
from asct.sdk.guard import StopRule
from asct.sdk.step import Step

FAST: Final = "fast"
MOVED: Final = "invalid-drift"
_LATER_SEEDS: Final = 1_000_000
"""Added to the seed of each pass, so that its random offsets differ from those of the rounds."""


class Passes:
    """The rounds of the tracked workloads of a phase, and the passes over all workloads that follow."""

    def __init__(self, journal: StepJournal, phase: Phase) -> None:
        self.journal = journal
        self.phase = phase
        cells = tuple(dict.fromkeys(tracked.cell for tracked in phase.tracked))
        self.history = RoundHistory(journal, replace(phase, cells=cells))

    @property
    def count(self) -> int:
        """The number of complete passes, including their sentinels."""
        number = 0
        while all(self.journal.has(self._name(number + 1, "sentinel", cell)) for cell in self.history.phase.cells):
            number += 1
        return number

    def steps(self, context: Context) -> Sequence[Step]:
        """Return the next steps; empty if the state did not change during a pass, or after the last pass."""
        before = phase_steps(self.journal, self.history.phase, context)
        if before:
            return before
        number = self.count
        if number and (number >= self.journal.params.fast_passes or not self.moved(number)):
            return ()
        return self._pass(number + 1, context)

    def _pass(self, number: int, context: Context) -> Sequence[Step]:
        params = self.journal.params
        stop = StopRule(params.fast_interval / 100.0, min(params.fast_min_time, self.phase.seconds))
        wanted: list[tuple[str, Workload, StopRule | None]] = [("pass", cell, stop) for cell in self.phase.cells]
        wanted += [("sentinel", cell, None) for cell in self.history.phase.cells]
        return [
            fio_process(self._params(number, kind, cell), context, name, rule)
            for kind, cell, rule in wanted
            if not self.journal.has(name := self._name(number, kind, cell))
        ]

    def point(self, number: int, cell: Workload) -> FioPoint:
        """Return the result of a workload in a pass (from 1)."""
        return self.journal.point(self._name(number, "pass", cell), self._params(number, "pass", cell))

    def _sentinel(self, number: int, tracked: TrackedMetric) -> float:
        name = self._name(number, "sentinel", tracked.cell)
        return self.journal.summary(name, self._params(number, "sentinel", tracked.cell)).value(tracked.quantity)

    def drift(self, number: int, tracked: TrackedMetric) -> float:
        """Return the relative change of a dependent variable since the previous sentinel, or the window."""
        after = self._sentinel(number, tracked)
        if number > 1:
            before = self._sentinel(number - 1, tracked)
        else:
            before = next(window.mean for one, window in self.history.verdict().windows if one == tracked)
        return after / before - 1.0

    def moved(self, number: int) -> bool:
        """Return whether a dependent variable changed too much during a pass."""
        limit = self.journal.params.fast_drift / 100.0
        return any(abs(self.drift(number, tracked)) > limit for tracked in self.phase.tracked)

    def _name(self, number: int, kind: str, cell: Workload) -> str:
        return f"{self.phase.name}{kind}{number}-{cell.name}"

    def _params(self, number: int, kind: str, cell: Workload) -> FioParams:
        place = self.phase.cells.index(cell) + (len(self.phase.cells) if kind == "sentinel" else 0)
        return self.journal.fio(cell, self.phase, _LATER_SEEDS * number + place)
