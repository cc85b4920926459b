"""The rounds of a phase: inspection, purge and preconditioning, then rounds until the steady state. The next steps are
a pure function of the finished ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, Literal

from asct.instruments.fio.params import FioParams
from asct.instruments.fio.point import FioPoint
from asct.instruments.fio.process import INSPECTION
from asct.instruments.qualification.journal import FioSummary, StepJournal, fio_process
from asct.instruments.qualification.purge import purge_steps
from asct.instruments.qualification.settings import Phase, TrackedMetric, Workload
from asct.sdk.benchmark import Context
from asct.sdk.step import Step
from asct.statistics.steady import SteadyWindow, cliff, enough_from, last_window, window_of

# SNIA PTS, workload independent preconditioning: twice the capacity in requests of 128 KiB, random data. Each job
# writes a slice of its own; were all of them to start at the first byte, two jobs would write the range four times.

INCOMPLETE: Final = "invalid-precondition"
_SHORT: Final = 0.999


def pass_names(journal: StepJournal, phase: Phase) -> Sequence[str]:
    """The step of each pass."""
    return [f"{phase.name}precondition-{number}" for number in range(1, journal.params.precondition + 1)]


def precondition_steps(journal: StepJournal, phase: Phase, context: Context) -> Sequence[Step]:
    """The remaining passes, one step each; an interrupted pass is repeated."""
    params = journal.params.precondition_params(journal.span, phase.sequential_block)
    return [fio_process(params, context, name) for name in pass_names(journal, phase) if not journal.has(name)]


def preconditioned_bytes(journal: StepJournal, phase: Phase) -> int:
    """Bytes that the passes wrote, according to fio. Raises ValueError if one failed."""
    params = journal.params.precondition_params(journal.span, phase.sequential_block)
    done = [name for name in pass_names(journal, phase) if journal.has(name)]
    return sum(journal.point(name, params).sides["write"].io_bytes for name in done)


def precondition_flags(journal: StepJournal, phase: Phase) -> tuple[str, ...]:
    """`invalid-precondition` when less was written than asked for: a pass took too long and was cut off."""
    wanted = journal.params.precondition * journal.span
    return (INCOMPLETE,) if preconditioned_bytes(journal, phase) < _SHORT * wanted else ()


# Every fio begins at the first byte of its span. Rounds of a minute would then work on the same beginning of a large
# drive again and again, while the rest of it lies idle (TKperf's throughput test reads mostly what was never
# written). So a round goes on where the one before it ended, and one that comes to the end of the span stops there.

_WORTH: Final = 4
"""The rest of the range is skipped if it is smaller than 1 / _WORTH of a round."""


@dataclass(frozen=True, slots=True)
class StreamPosition:
    """The range of a round: `size` bytes from `offset`. With `once`, the round ends when it has covered them."""

    offset: int
    size: int
    once: bool = False


def next_position(span: int, volumes: Iterable[int], block: int) -> StreamPosition:
    """The part of a range of `span` bytes for the round after those that covered `volumes` bytes each.

    If a round covers the whole range within its time, every round is the whole range.
    """
    position = last = 0
    for last in volumes:
        position = (position + last) % span // block * block if last < span else 0
        if span - position < max(block, last // _WORTH):
            position = 0
    left = (span - position) // block * block
    return StreamPosition(position, left, once=position > 0 and left < 2 * last)


def continued(params: FioParams, volumes: Iterable[int]) -> FioParams:
    """`params` of a sequential round after those of the same workload that covered `volumes` bytes each.

    Unchanged for several jobs, which have a slice each, and for random requests, which go everywhere.
    """
    if not params.sequential or params.numjobs > 1 or params.filesize is None:
        return params
    walk = next_position(params.filesize, volumes, params.block_size)
    changes: dict[str, int] = {"offset": params.offset + walk.offset, "filesize": walk.size}
    return params.model_copy(update=changes | ({"io_size": walk.size} if walk.once else {}))


Reason = Literal["", "rounds", "pause", "volume", "excursion", "slope"]


@dataclass(frozen=True, slots=True)
class SteadyVerdict:
    """`reason` tells why the state is not steady, empty if it is; `windows` are the last rounds.

    `rounds`: too few so far. `pause`: the repeat was cut off in or before the window. `volume`: too little was written
    since the purge, and no cliff was seen. `excursion`, `slope`: a dependent variable moves too much.
    """

    reason: Reason
    windows: tuple[tuple[TrackedMetric, SteadyWindow], ...] = ()

    @property
    def steady(self) -> bool:
        """Whether every dependent variable is steady."""
        return not self.reason


class RoundHistory:
    """The whole rounds of a phase, counted from index 0. `number` is the number in the first step name."""

    def __init__(self, journal: StepJournal, phase: Phase) -> None:
        self.journal = journal
        self.phase = phase

    @cached_property
    def rounds(self) -> int:
        """Whole rounds: all cells of them are done."""
        number = 0
        while all(self.journal.has(self.phase.step_name(number + 1, cell)) for cell in self.phase.cells):
            number += 1
        return number

    def params(self, index: int, cell: Workload) -> FioParams:
        """The process of the workload in a round. A sequential one continues where it ended in the previous round."""
        fresh = self.journal.fio(cell, self.phase, self.seed(index, cell))
        if cell.random:
            return fresh
        return continued(fresh, [self.summary(before, cell).io_bytes for before in range(index)])

    def point(self, index: int, cell: Workload) -> FioPoint:
        """The result of the workload in a round."""
        return self.journal.point(self.phase.step_name(index + 1, cell), self.params(index, cell))

    def summary(self, index: int, cell: Workload) -> FioSummary:
        """The same in a few numbers."""
        return self.journal.summary(self.phase.step_name(index + 1, cell), self.params(index, cell))

    def seed(self, index: int, cell: Workload) -> int:
        """The seed of a process: every process has its own random offsets."""
        return index * len(self.phase.cells) + self.phase.cells.index(cell)

    def values(self, tracked: TrackedMetric) -> list[float]:
        """A dependent variable over the rounds."""
        return [self.summary(index, tracked.cell).value(tracked.quantity) for index in range(self.rounds)]

    @cached_property
    def resumed_at(self) -> int:
        """The first round that is completely after every pause."""
        found = 0
        for index in range(self.rounds):
            for place, cell in enumerate(self.phase.cells):
                if self.journal.outputs[self.phase.step_name(index + 1, cell)].resumed:
                    found = index if place == 0 else index + 1
        return found

    def written(self) -> Iterator[int]:
        """Bytes written since the purge, at the start of each round and at the end of the last one."""
        total = preconditioned_bytes(self.journal, self.phase)
        yield total
        for index in range(self.rounds):
            total += sum(self.summary(index, cell).written for cell in self.phase.cells)
            yield total

    @cached_property
    def enough_from(self) -> int | None:
        """The first round before which enough was written; stops reading there."""
        needed = self.journal.params.steady_volume * self.journal.span
        found: list[int] = []
        for amount in self.written():
            found.append(amount)
            if amount >= needed:
                break
        return enough_from(found, needed)

    def verdict(self) -> SteadyVerdict:
        """The verdict on the rounds so far."""
        rule = self.journal.params.rule
        if self.rounds < rule.window:
            return SteadyVerdict("rounds")
        series = [(tracked, self.values(tracked)) for tracked in self.phase.tracked]
        windows = tuple((tracked, _last(values, rule.window)) for tracked, values in series)
        first = self.rounds - rule.window
        if first < self.resumed_at:
            return SteadyVerdict("pause", windows)
        if any(last_window(values, rule, self._since(tracked, values)) is None for tracked, values in series):
            return SteadyVerdict("volume", windows)
        if any(window.excursion > rule.excursion for _, window in windows):
            return SteadyVerdict("excursion", windows)
        return SteadyVerdict("" if all(window.holds(rule) for _, window in windows) else "slope", windows)

    def _since(self, tracked: TrackedMetric, values: Sequence[float]) -> int:
        """The first round that may count: enough was written before it, or the level had fallen."""
        rising = tracked.quantity == "latency"
        fall = cliff([1.0 / value for value in values] if rising else values)
        return min((index for index in (self.enough_from, fall) if index is not None), default=self.rounds)

    @property
    def over(self) -> bool:
        """Whether the rounds end: steady, or `rounds_max` of them without a pause between."""
        return self.rounds - self.resumed_at >= self.journal.params.rounds_max or self.verdict().steady


def _last(values: Sequence[float], count: int) -> SteadyWindow:
    return window_of(values[-count:], len(values) - count)


def opening_steps(journal: StepJournal, phase: Phase, context: Context) -> Sequence[Step]:
    """The next steps before the rounds: inspect, purge and precondition the target. Raises ValueError for a target that
    the settings do not fit."""
    if not journal.has(INSPECTION):
        return [journal.inspection(context)]
    return purge_steps(journal, phase, context) or precondition_steps(journal, phase, context)


def round_steps(history: RoundHistory, context: Context) -> Sequence[Step]:
    """The missing workloads of the current round; empty when the rounds are complete."""
    if history.rounds and history.over:
        return ()
    return steps_of_round(history, history.rounds, context)


def steps_of_round(history: RoundHistory, index: int, context: Context) -> Sequence[Step]:
    """The workloads of a round (from 0) that have not run."""
    journal, phase = history.journal, history.phase
    title = f"{phase.name}round {index + 1}, cell"
    return [
        replace(fio_process(history.params(index, cell), context, name), label=f"{title} {place} of {len(phase.cells)}")
        for place, cell in enumerate(phase.cells, 1)
        if not journal.has(name := phase.step_name(index + 1, cell))
    ]


def phase_steps(journal: StepJournal, phase: Phase, context: Context) -> Sequence[Step]:
    """A whole phase: the opening, then rounds until an end condition is met."""
    return opening_steps(journal, phase, context) or round_steps(RoundHistory(journal, phase), context)
