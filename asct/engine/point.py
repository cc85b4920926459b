"""One repeat of one point: its steps, its values, its documents. Whatever fails is an outcome, not an exception."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from asct.diagnostics.model import Diagnostic
from asct.engine.events import DriveRates, PointStatus, StepStarted, now
from asct.engine.failures import lost, started_over, unbound, unplaced, unreadable
from asct.engine.guard import RateFeed, Rates
from asct.engine.records import ContractBreach, RecordOrigin, Swept, records_of
from asct.engine.shared import Shared
from asct.engine.steplog import StepNotes, StepOutputs, StepsChangedError
from asct.engine.stepping import Stepper
from asct.engine.telemetry.summary import summarize
from asct.errors import HostError, HostLost
from asct.hosts.base import Task
from asct.planner.model import Job
from asct.sdk.benchmark import Benchmark, Context, Unsuitable
from asct.sdk.facts import HostFacts
from asct.sdk.guard import KERNEL
from asct.sdk.needs import SHORTEST_LIMIT_S
from asct.sdk.params import Params
from asct.sdk.record import INVALID_HOST, NOISY_HOST, Measurement, Record, Scalar, doubtful
from asct.sdk.step import Kernel, Step
from asct.store.layout import RunLayout
from asct.store.model import Command, Status, Telemetry

_MOST_STEPS = 10_000
"""A benchmark that still wants steps after so many would go on for ever."""
_SHAPE_ERRORS = (ValueError, LookupError, TypeError, ArithmeticError)
"""What reading an output of another shape than expected raises."""


class _UnreadableError(Exception):
    """A benchmark cannot make its next steps of the outputs of those before."""

    def __init__(self, reason: Exception) -> None:
        super().__init__(str(reason))
        self.reason = reason


@dataclass(frozen=True, slots=True)
class BoundPoint:
    """A point ready to be measured: `settings` without templates, `params` made of them."""

    id: str
    params: Params
    settings: Mapping[str, Any]
    swept: Swept
    estimated_s: float = 0.0
    limit_s: float = SHORTEST_LIMIT_S
    """What one attempt may take."""
    unfit: Diagnostic | None = None
    """Why the host has no room for it: it fails without being tried, and the other points go on."""
    reuse_key: str = ""
    """All that its values depend on, as a hash; empty for one whose results are not taken again."""

    @property
    def label(self) -> str:
        """The swept values, for people."""
        return ", ".join(f"{name}={value}" for name, value in self.swept.items())


@dataclass(slots=True)
class Outcome:
    """How one repeat ended. `lost` says that the connection is gone."""

    status: PointStatus
    elapsed_s: float = 0.0
    measurements: Sequence[Measurement] = ()
    exported: Mapping[str, Scalar] = field(default_factory=dict)
    diagnostic: Diagnostic | None = None
    lost: bool = False
    cut_off: bool = False
    """It ended before its last step was done."""
    advanced: bool = False
    """It left steps behind which a further attempt goes on."""
    telemetry: Telemetry | None = None
    """What else the host did meanwhile; None when nothing was run."""


@dataclass(slots=True)
class _Attempt:
    """One attempt at one repeat: where its files go, and what its steps left."""

    point: BoundPoint
    repeat: int
    number: int
    folder: Path
    log: StepNotes | None = None
    trail: StepOutputs = field(default_factory=StepOutputs)


class PointRunner:
    """Measures the points of one job on one open host."""

    def __init__(self, shared: Shared, job: Job, benchmark: Benchmark[Any], facts: HostFacts) -> None:
        self._shared = shared
        self._job = job
        self._benchmark = benchmark
        self._facts = facts
        self._origin = RecordOrigin.of(shared.run, shared.resolved.name, job, benchmark)
        self._layout: RunLayout = shared.writer.layout

    def measure(self, stepper: Stepper, point: BoundPoint, repeat: int, context: Context, attempt: int) -> Outcome:
        """Run one attempt and write what it left. Raises StoreError only."""
        started_at, started = now(), time.monotonic()
        one = self._opened(point, repeat, context, attempt)
        if point.unfit is not None:
            outcome = self._failed("failed", point.unfit)
        else:
            outcome = self._measured(stepper, one, context)
        outcome.telemetry = summarize(one.trail.readings) if one.trail.readings else None
        records: list[Record] = []
        if outcome.status == "ok":
            records = self._evaluate(one, outcome)
        measured_s = (
            sum(output.elapsed_ns for output in one.trail.outputs) / 1e9
        )  # it may have run before it was asked for
        outcome.elapsed_s = round(max(time.monotonic() - started, measured_s), 6)
        if one.log is not None:
            self._leave(one.log, outcome)
        self._document(one, outcome, records, started_at)
        return outcome

    def identity(self, point: BoundPoint, repeat: int, attempt: int) -> list[str]:
        """What tells this attempt from every other of the run: also from one in an earlier part that came to an end."""
        told = self._shared.earlier.told.get((self._job.host, self._job.id, point.id, repeat), 0)
        return [self._shared.resolved.hash, self._job.key, point.id, str(repeat), str(told), str(attempt)]

    def foreseen(self, stepper: Stepper, point: BoundPoint, repeat: int, context: Context) -> list[Task]:
        """The tasks of a repeat whose steps are known beforehand; else none."""
        benchmark, params = self._benchmark, point.params
        if point.unfit is not None or not benchmark.foreseeable(params, self._facts) or benchmark.continues(params):
            return []
        try:
            steps = benchmark.steps(params, context)
        except _SHAPE_ERRORS:
            return []  # it will fail when its turn comes, and say why
        folder = self._layout.repeat(self._job.host, self._job.id, point.id, repeat)
        return stepper.foreseen(steps, folder, point.limit_s, self.identity(point, repeat, 1))

    def _opened(self, point: BoundPoint, repeat: int, context: Context, attempt: int) -> _Attempt:
        """The repeat's folder: empty, or with the finished steps of before for a benchmark that goes on behind them."""
        folder = self._layout.repeat(self._job.host, self._job.id, point.id, repeat)
        one = _Attempt(point, repeat, attempt, folder)
        if point.unfit is None and self._benchmark.continues(point.params):
            identity = [self._shared.resolved.hash, self._job.key, point.id, str(repeat), *self._versions(point)]
            one.log = StepNotes(self._shared.writer, folder, identity, context.work)
        if one.log is not None and one.log.found:
            one.log.begin()
        else:
            self._shared.writer.repeat_folder(folder, attempt)
        return one

    def _versions(self, point: BoundPoint) -> list[str]:
        """The programs of the host that measure."""
        tools = {
            name: self._facts.tools.get(name) for name, _ in self._benchmark.needs(point.params, self._facts).tools
        }
        return [f"{name} {fact.version}" for name, fact in tools.items() if fact is not None]

    def _measured(self, stepper: Stepper, one: _Attempt, context: Context) -> Outcome:
        """All steps; from the first one when those of before turn out to be of another measurement."""
        try:
            return self._run(stepper, one, context)
        except StepsChangedError as change:
            finding = started_over(self._job.host, self._job.id, one.point.id, str(change))
            self._shared.bus.notice(self._job.host, finding)
            self._shared.writer.repeat_folder(one.folder, one.number)
            one.trail = StepOutputs()
            if one.log is not None:
                one.log.drop()
            return self._run(stepper, one, context)

    def _leave(self, log: StepNotes, outcome: Outcome) -> None:
        """A repeat whose steps are all done, but whose values do not count, begins with its first step next time."""
        outcome.elapsed_s = round(outcome.elapsed_s + log.before_s, 6)
        outcome.advanced = log.finished > 0
        if not outcome.cut_off and outcome.status != "ok":
            log.forget()

    def _run(self, stepper: Stepper, one: _Attempt, context: Context) -> Outcome:
        """All steps; what keeps them from being made or run is an outcome. Raises StepsChangedError."""
        try:
            return self._walk(stepper, one, replace(context, done=one.trail.outputs))
        except HostLost as error:
            return replace(self._failed("host-lost", lost(self._job.host, error)), lost=True)
        except HostError as error:
            return self._failed("failed", error.diagnostics[0])
        except _UnreadableError as error:
            raw = self._layout.relative(one.folder)
            return Outcome(
                "failed", diagnostic=unreadable(self._job, one.trail.outputs, one.trail.notes, raw, error.reason)
            )
        except (LookupError, ValueError) as error:
            unmade = unbound if isinstance(error, LookupError) else unplaced
            return self._failed("failed", unmade(self._job, error))

    def _walk(self, stepper: Stepper, one: _Attempt, context: Context) -> Outcome:
        """Each step is read back if it is noted, else run and noted."""
        deadline = time.monotonic() + one.point.limit_s
        for step in self._course(one.point, context):
            if one.log is not None and one.log.replay(step, one.trail):
                continue
            identity = self.identity(one.point, one.repeat, one.number)
            if not stepper.run(step, one.folder, one.trail, deadline, self._watched(step, one), identity):
                return self._failed("timeout" if one.trail.timed_out else "failed", one.trail.failure)
            if self._shared.stop.at_once:  # a program that was told to end may have ended well, but too early
                return self._failed("interrupted", None)
            if one.log is not None:
                one.log.note(step, one.trail)
        if one.log is not None:
            one.log.check_replayed()
        return Outcome("ok")

    def _watched(self, step: Step, one: _Attempt) -> Callable[[str], None] | None:
        """Tell that a step of a repeat of hours begins; who hears what a program below guard prints."""
        place = (self._job.host, self._job.id, one.point.id, one.repeat)
        bus = self._shared.bus
        if one.log is not None:
            bus.tell(StepStarted(*place, len(one.trail.rows) + 1, step.label or step.name))
        if step.program != Kernel(KERNEL):
            return None

        def tell(rates: Rates) -> None:
            reads, read_bytes, writes, written_bytes = rates
            bus.tell(DriveRates(*place, read_bytes, written_bytes, reads, writes))

        return RateFeed(tell)

    def _course(self, point: BoundPoint, context: Context) -> Iterator[Step]:
        """Steps one by one; the benchmark is asked for more when those before are done."""
        while steps := self._more_steps(point, context):
            yield from steps
            if len(context.done) > _MOST_STEPS:
                raise ValueError(f"it asked for more than {_MOST_STEPS} steps")

    def _more_steps(self, point: BoundPoint, context: Context) -> Sequence[Step]:
        """Raises _UnreadableError when it reads what the steps before put out, and that is of another shape."""
        try:
            return self._benchmark.steps(point.params, context)
        except _SHAPE_ERRORS as error:
            if not context.done or isinstance(error, Unsuitable):
                raise
            raise _UnreadableError(error) from error

    def _failed(self, status: PointStatus, diagnostic: Diagnostic | None) -> Outcome:
        """A failure before the last step was done; one that the end of the run brought about is an interruption."""
        if self._shared.stop.at_once:
            return Outcome("interrupted", cut_off=True)
        return Outcome(status, diagnostic=diagnostic, cut_off=True)

    def _evaluate(self, one: _Attempt, outcome: Outcome) -> list[Record]:
        """Values and records from the outputs; turns `outcome` into a failure when they cannot be had."""
        point, raw = one.point, self._layout.relative(one.folder)
        try:
            found = self._marked(self._benchmark.parse(point.params, one.trail.outputs, self._facts), outcome)
            records = records_of(self._origin, point.id, point.swept, one.repeat, found, raw)
            exported = self._benchmark.export(found) if found else {}
        except ContractBreach as error:
            outcome.status, outcome.diagnostic = "failed", Diagnostic("E615", str(error), hint="please report this")
            return []
        except _SHAPE_ERRORS as error:
            outcome.status, outcome.diagnostic = (
                "failed",
                unreadable(self._job, one.trail.outputs, one.trail.notes, raw, error),
            )
            return []
        if not found:
            message = f"{self._job.benchmark} measured no value"
            hint = f"the raw output is in {raw}/"
            outcome.status, outcome.diagnostic = "failed", Diagnostic("E616", message, hint=hint)
            return []
        outcome.measurements, outcome.exported = found, exported
        self._judge(outcome)
        return records

    def _marked(self, found: Iterable[Measurement], outcome: Outcome) -> tuple[Measurement, ...]:
        """The values, flagged when the host puts them in doubt. One that was only noisy does so under `strict`: the
        kernels of asct tell themselves whether noise reached what they measure."""
        state = outcome.telemetry.verdict.state if outcome.telemetry else "unknown"
        flag = INVALID_HOST if state == "invalid" else NOISY_HOST if state == "noisy" and self._job.strict else ""
        return tuple(replace(item, flags=(*item.flags, flag)) if flag else item for item in found)

    def _judge(self, outcome: Outcome) -> None:
        """Noisy or invalid results make the repeat `noisy`; under `strict` with a reason why it does not count.

        A detail does not: what sums it up carries a flag of its own if its details leave it in doubt.
        """
        results = [item for item in outcome.measurements if not item.detail]
        doubts = sorted({flag for item in results for flag in item.flags if doubtful(flag)})
        if not doubts:
            return
        outcome.status = "noisy"
        if self._job.strict:
            message = f"the values are flagged {', '.join(doubts)} and `strict` is set: counts as not measured"
            hint = "quieten the host, raise `repeats`, or take `strict` out"
            outcome.diagnostic = Diagnostic("E617", message, hint=hint, severity="warning")

    def _document(self, one: _Attempt, outcome: Outcome, records: Sequence[Record], started_at: str) -> None:
        trail, point = one.trail, one.point
        status = Status(
            status=outcome.status,
            point_id=point.id,
            repeat=one.repeat,
            started_at=started_at,
            elapsed_s=outcome.elapsed_s,
            flags=sorted({flag for item in outcome.measurements for flag in item.flags}),
            notes=trail.notes,
            diagnostic=outcome.diagnostic.to_json() if outcome.diagnostic else None,
            attempts=one.number,
            steps=trail.rows,
            reuse_key=point.reuse_key,
            telemetry=outcome.telemetry.verdict if outcome.telemetry else None,
        )
        if outcome.telemetry is not None:
            self._shared.writer.telemetry(one.folder, outcome.telemetry)
        command = Command(
            host=self._job.host,
            benchmark=self._job.benchmark,
            settings=dict(point.settings),
            swept=dict(point.swept),
            steps=trail.commands,
        )
        self._shared.writer.finish_repeat(one.folder, command, status, records if one.repeat > 0 else ())
