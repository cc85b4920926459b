"""The steps of a phase: inspection, purge and preconditioning, then rounds until the steady state.

The next steps depend only on the finished steps.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, Literal

from asct.instruments.fio.counters import FIELDS, device_course
from asct.instruments.fio.params import FioParams
from asct.instruments.fio.point import FioPoint
from asct.instruments.fio.process import INSPECTION
from asct.instruments.fio.sections import sections_of
from asct.instruments.qualification.journal import FioSummary, StepJournal, fio_process
from asct.instruments.qualification.purge import purge_steps
from asct.instruments.qualification.settings import Phase, TrackedMetric, Workload
from asct.sdk.benchmark import Context
from asct.sdk.guard import StopRule
from asct.sdk.step import Step
from asct.statistics.steady import SteadyWindow, cliff, enough_from, last_window, window_of, within

# SNIA PTS, workload independent preconditioning: twice the capacity, with random data in requests of 128 KiB. Each job
# writes its own slice; if all jobs started at the first byte, two jobs would write the range four times.

INCOMPLETE: Final = "invalid-precondition"
_SHORT: Final = 0.999


def pass_names(journal: StepJournal, phase: Phase) -> Sequence[str]:
    """Return the names of the steps that write the whole active range, one per pass."""
    return [f"{phase.name}precondition-{number}" for number in range(1, journal.params.precondition + 1)]


def precondition_steps(journal: StepJournal, phase: Phase, context: Context) -> Sequence[Step]:
    """Return one step for each remaining pass. An interrupted pass is repeated."""
    params = journal.params.precondition_params(journal.span, phase.sequential_block)
    return [fio_process(params, context, name) for name in pass_names(journal, phase) if not journal.has(name)]


def preconditioned_bytes(journal: StepJournal, phase: Phase) -> int:
    """Return the number of bytes that the passes wrote, according to fio. Raises ValueError if a pass failed."""
    params = journal.params.precondition_params(journal.span, phase.sequential_block)
    done = [name for name in pass_names(journal, phase) if journal.has(name)]
    return sum(journal.point(name, params).sides["write"].io_bytes for name in done)


def precondition_fell(journal: StepJournal, phase: Phase) -> bool:
    """Return whether the write rate dropped by half during the passes, according to the drive's counters. Return False
    if the drive has no counters."""
    params = journal.params.precondition_params(journal.span, phase.sequential_block)
    points = [journal.point(name, params) for name in pass_names(journal, phase) if journal.has(name)]
    course = [part for one in points for part in device_course(one.guard.samples, FIELDS["write"], one.window)]
    return cliff([rate for _, rate in course]) is not None


def precondition_flags(journal: StepJournal, phase: Phase) -> tuple[str, ...]:
    """Return `invalid-precondition` if less was written than requested, because a pass exceeded its time limit."""
    requested_bytes = journal.params.precondition * journal.span
    return (INCOMPLETE,) if preconditioned_bytes(journal, phase) < _SHORT * requested_bytes else ()


# Every fio process starts at the first byte of its range. With one-minute rounds, sequential workloads would use only
# the beginning of a large drive (and TKperf's throughput test reads mostly unwritten blocks). Therefore, a round
# continues where the previous one ended, and stops at the end of the range.

_WORTH: Final = 4
"""The rest of the range is skipped if it is smaller than 1 / _WORTH of a round."""


@dataclass(frozen=True, slots=True)
class StreamPosition:
    """The range of a round: `size` bytes from `offset`. If `once` is set, the round ends after one pass over this
    range."""

    offset: int
    size: int
    once: bool = False


def next_position(span: int, volumes: Iterable[int], block: int) -> StreamPosition:
    """Return the part of a range of `span` bytes that the next round uses. `volumes` contains the number of bytes that
    each previous round covered.

    If a round covers the whole range within its time, every round uses the whole range.
    """
    position = last = 0
    for last in volumes:
        position = (position + last) % span // block * block if last < span else 0
        if span - position < max(block, last // _WORTH):
            position = 0
    left = (span - position) // block * block
    return StreamPosition(position, left, once=position > 0 and left < 2 * last)


def continued(params: FioParams, volumes: Iterable[int]) -> FioParams:
    """Return `params` for the next round of a workload. `volumes` contains the number of bytes that each previous round
    covered. The settings remain unchanged if the requests are random or if there are several jobs, each with its own
    slice.
    """
    if not params.sequential or params.numjobs > 1 or params.filesize is None:
        return params
    walk = next_position(params.filesize, volumes, params.block_size)
    changes: dict[str, int] = {"offset": params.offset + walk.offset, "filesize": walk.size}
    return params.model_copy(update=changes | ({"io_size": walk.size} if walk.once else {}))


def continued_sections(params: FioParams, rounds: Sequence[Sequence[int]]) -> FioParams:
    """Return the settings for concurrent sections in the next round. For each previous round, `rounds` contains the
    number of bytes that each job covered. A sequential section with a single job continues where it ended; at the end
    of the range, it starts again."""
    text, first = params.job_file, 0
    for name, section in sections_of(params):
        if section.sequential and section.numjobs == 1 and section.filesize is not None:
            walk = next_position(section.filesize, [jobs[first] for jobs in rounds], section.block_size)
            own = f"[{name}]\noffset={section.offset + walk.offset}\nsize={walk.size}\n"
            text = text.replace(f"[{name}]\n", own)
        first += section.numjobs
    return params.model_copy(update={"job_file": text})


Reason = Literal["", "rounds", "pause", "volume", "excursion", "slope"]


@dataclass(frozen=True, slots=True)
class SteadyVerdict:
    """The reason why the state is not steady (empty if it is), and the window of each dependent variable.

    The reason is `rounds` if there are too few rounds so far, `pause` if the test was interrupted within the window,
    `volume` if too little was written since the purge and the rate did not drop, and `excursion` or `slope` if a
    dependent variable changes too much.
    """

    reason: Reason
    windows: tuple[tuple[TrackedMetric, SteadyWindow], ...] = ()

    @property
    def steady(self) -> bool:
        """Whether every dependent variable is steady."""
        return not self.reason


def _fall(tracked: TrackedMetric, values: Sequence[float]) -> int | None:
    """Return the round in which the rate last dropped by half or the latency last doubled, or None if neither
    happened."""
    return cliff([1.0 / value for value in values] if tracked.quantity == "latency" else values)


class RoundHistory:
    """The complete rounds of a phase. Indices start at 0, whereas the numbers in step names start at 1."""

    def __init__(self, journal: StepJournal, phase: Phase) -> None:
        self.journal = journal
        self.phase = phase

    @cached_property
    def rounds(self) -> int:
        """The number of rounds in which all workloads have finished."""
        return self.journal.rounds(lambda number: (self.phase.step_name(number, cell) for cell in self.phase.cells))

    def params(self, index: int, cell: Workload) -> FioParams:
        """Return the settings for a workload in a round. A sequential workload continues where it ended in the previous
        round."""
        fresh = self.journal.fio(cell, self.phase, self.seed(index, cell))
        if cell.random:
            return fresh
        if fresh.job_file:
            return continued_sections(fresh, [self.summary(before, cell).job_bytes for before in range(index)])
        return continued(fresh, [self.summary(before, cell).io_bytes for before in range(index)])

    def point(self, index: int, cell: Workload) -> FioPoint:
        """Return the full result for a workload in the round with this index, including histograms."""
        return self.journal.point(self.phase.step_name(index + 1, cell), self.params(index, cell))

    def summary(self, index: int, cell: Workload) -> FioSummary:
        """Return the result for a workload in the round with this index, without histograms."""
        return self.journal.summary(self.phase.step_name(index + 1, cell), self.params(index, cell))

    def seed(self, index: int, cell: Workload) -> int:
        """Return the number to add to the seed, so that every process has different random offsets."""
        return index * len(self.phase.cells) + self.phase.cells.index(cell)

    def values(self, tracked: TrackedMetric) -> list[float]:
        """Return the values of a dependent variable, one per complete round."""
        return [self.summary(index, tracked.cell).value(tracked.quantity) for index in range(self.rounds)]

    @cached_property
    def resumed_at(self) -> int:
        """The index of the first round after the last interruption, or 0 if there was no interruption."""
        found = 0
        for index in range(self.rounds):
            for cell in self.phase.cells:
                if self.journal.outputs[self.phase.step_name(index + 1, cell)].resumed:
                    found = index if cell == self.phase.cells[0] else index + 1
        return found

    def written_volumes(self) -> Iterator[int]:
        """Yield the number of bytes written since the purge at the start of each round, and at the end of the last
        round."""
        total = preconditioned_bytes(self.journal, self.phase)
        yield total
        for index in range(self.rounds):
            total += sum(self.summary(index, cell).written_bytes for cell in self.phase.cells)
            yield total

    @cached_property
    def enough_from(self) -> int | None:
        """The first round that started after enough data had been written, or None if there is none.

        The results of later rounds are not read.
        """
        return enough_from(self.written_volumes(), self.journal.params.steady_volume * self.journal.span)

    def verdict(self) -> SteadyVerdict:
        """Return whether the rounds so far are steady or, if they are not, why."""
        rule = self.journal.params.rule
        if self.rounds < rule.window:
            return SteadyVerdict("rounds")
        series = [(tracked, self.values(tracked)) for tracked in self.phase.tracked]
        first = self.rounds - rule.window
        windows = tuple((tracked, window_of(values[first:], first)) for tracked, values in series)
        if first < self.resumed_at:
            return SteadyVerdict("pause", windows)
        if any(last_window(values, rule, self._since(tracked, values)) is None for tracked, values in series):
            return SteadyVerdict("volume", windows)
        if any(not within(window.excursion, rule.excursion) for _, window in windows):
            return SteadyVerdict("excursion", windows)
        return SteadyVerdict("" if all(window.holds(rule) for _, window in windows) else "slope", windows)

    def _since(self, tracked: TrackedMetric, values: Sequence[float]) -> int:
        """Return the first round that the window may include. Before this round, enough data had been written or the
        rate had dropped."""
        found = (self.enough_from, _fall(tracked, values))
        return min((index for index in found if index is not None), default=self.rounds)

    @property
    def fell(self) -> bool:
        """Whether the rate has dropped by half since the purge, as it does at the end of a burst.

        The write rate is examined during preconditioning, and the dependent variables are examined during the rounds.
        """
        fell = any(_fall(tracked, self.values(tracked)) is not None for tracked in self.phase.tracked)
        return fell or precondition_fell(self.journal, self.phase)

    @property
    def over(self) -> bool:
        """Whether the rounds are complete: the state is steady, or `rounds_max` rounds have run without an
        interruption."""
        return self.rounds - self.resumed_at >= self.journal.params.rounds_max or self.verdict().steady


def opening_steps(journal: StepJournal, phase: Phase, context: Context) -> Sequence[Step]:
    """Return the next steps before the rounds: inspect, purge and precondition the target.

    Raises ValueError if the settings do not fit the target.
    """
    if not journal.has(INSPECTION):
        return [journal.inspection(context)]
    return purge_steps(journal, phase, context) or precondition_steps(journal, phase, context)


def phase_steps(journal: StepJournal, phase: Phase, context: Context) -> Sequence[Step]:
    """Return the next steps of a phase: those before the rounds, then the rest of the current round. Return an empty
    sequence if the phase is complete."""
    return opening_steps(journal, phase, context) or _round_steps(RoundHistory(journal, phase), context)


def _round_steps(history: RoundHistory, context: Context) -> Sequence[Step]:
    index, phase = history.rounds, history.phase
    if index and history.over:
        return ()
    title, count = f"{phase.name}round {index + 1}, workload", len(phase.cells)
    return [
        replace(fio_process(history.params(index, cell), context, name), label=f"{title} {number} of {count}")
        for number, cell in enumerate(phase.cells, 1)
        if not history.journal.has(name := phase.step_name(index + 1, cell))
    ]


# With the profile `fast`, only the tracked workloads run until the steady state is reached; after that, every workload
# is measured once. A workload ends when its rate has settled. The tracked workloads are measured again after the others
# (as sentinels). If the result of any of them changed, the drive has left its steady state, and all workloads are
# measured again.

FAST: Final = "fast"
MOVED: Final = "invalid-drift"
_LATER_SEEDS: Final = 1_000_000
"""Number added to the seed of each pass, so that its random offsets differ from those of the rounds."""


class Passes:
    """The rounds that run only the tracked workloads of a phase, and the subsequent passes over all of its
    workloads."""

    def __init__(self, journal: StepJournal, phase: Phase) -> None:
        self.journal = journal
        self.phase = phase
        cells = tuple(dict.fromkeys(tracked.cell for tracked in phase.tracked))
        self.history = RoundHistory(journal, replace(phase, cells=cells))

    @property
    def count(self) -> int:
        """The number of complete passes, including their sentinels (the repeated measurements of the tracked
        workloads)."""
        cells = self.history.phase.cells
        return self.journal.rounds(lambda number: (self._name(number, "sentinel", cell) for cell in cells))

    def steps(self, context: Context) -> Sequence[Step]:
        """Return the next steps. The result is empty if the state did not change during a pass, or after the last
        permitted pass."""
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
        workloads: list[tuple[str, Workload, StopRule | None]] = [("pass", cell, stop) for cell in self.phase.cells]
        workloads += [("sentinel", cell, None) for cell in self.history.phase.cells]
        return [
            fio_process(self._params(number, kind, cell), context, name, rule)
            for kind, cell, rule in workloads
            if not self.journal.has(name := self._name(number, kind, cell))
        ]

    def point(self, number: int, cell: Workload) -> FioPoint:
        """Return the result for a workload in a pass (numbered from 1)."""
        return self.journal.point(self._name(number, "pass", cell), self._params(number, "pass", cell))

    def _sentinel(self, number: int, tracked: TrackedMetric) -> float:
        name = self._name(number, "sentinel", tracked.cell)
        return self.journal.summary(name, self._params(number, "sentinel", tracked.cell)).value(tracked.quantity)

    def drift(self, number: int, tracked: TrackedMetric) -> float:
        """Return the relative change in a dependent variable since the previous sentinel or, for the first pass, since
        the window."""
        after = self._sentinel(number, tracked)
        if number > 1:
            before = self._sentinel(number - 1, tracked)
        else:
            before = next(window.mean for one, window in self.history.verdict().windows if one == tracked)
        return after / before - 1.0

    def moved(self, number: int) -> bool:
        """Return whether a dependent variable changed too much during a pass."""
        limit = self.journal.params.fast_drift / 100.0
        return any(not within(abs(self.drift(number, tracked)), limit) for tracked in self.phase.tracked)

    def _name(self, number: int, kind: str, cell: Workload) -> str:
        return f"{self.phase.name}{kind}{number}-{cell.name}"

    def _params(self, number: int, kind: str, cell: Workload) -> FioParams:
        place = self.phase.cells.index(cell) + (len(self.phase.cells) if kind == "sentinel" else 0)
        return self.journal.fio(cell, self.phase, _LATER_SEEDS * number + place)
