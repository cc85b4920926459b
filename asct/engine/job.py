"""One job on one host: is it possible, prepare, measure every repeat in the planned order, clean up."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from asct.diagnostics.model import Diagnostic
from asct.engine.before import Before, done_before
from asct.engine.binding import bind_points, deferred, needed_values, total_seconds
from asct.engine.events import JobEnded, JobStarted, PointEnded, PointStarted
from asct.engine.guard import is_refusal
from asct.engine.point import BoundPoint, Outcome, PointRunner
from asct.engine.preflight import JobNeeds, PreflightProblem
from asct.engine.records import ExportLedger
from asct.engine.reuse_key import ReuseInputs, keyed
from asct.engine.shared import MeasuredRepeat, Shared
from asct.engine.site import Site
from asct.engine.steplog import StepOutputs
from asct.engine.stepping import Stepper
from asct.errors import HostError, HostLost, HostTimeout, NotMeasured
from asct.hosts.base import JobBrief, Task
from asct.planner.model import Job
from asct.sdk.benchmark import Benchmark, Context
from asct.sdk.needs import SHORTEST_LIMIT_S
from asct.sdk.record import Scalar
from asct.store.model import HostVerdict, JobEntry, Reused
from asct.values.quantity import format_quantity

Exports = Mapping[str, Mapping[str, Scalar] | None]


@dataclass(slots=True)
class JobState:
    """A job between preflight and its end. `note` says why it cannot run; `points` are bound once that is possible."""

    job: Job
    benchmark: Benchmark[Any]
    points: list[BoundPoint] | None = None
    demand: JobNeeds = field(default_factory=JobNeeds)
    note: str = ""
    refused: bool = False
    counts: Counter[str] = field(default_factory=Counter)
    host_states: Counter[str] = field(default_factory=Counter)
    host_reasons: Counter[str] = field(default_factory=Counter)
    elapsed_s: float = 0.0
    reused: dict[str, Reused] = field(default_factory=dict)
    """What of `counts` was taken from earlier runs, by run."""
    exports: dict[str, Scalar] | None = None
    """Results for other jobs; None while nothing was measured."""

    def take_in(self, done: MeasuredRepeat) -> None:
        """Count a repeat that is not measured again."""
        self.counts[done.status] += 1
        self.take_host(done.telemetry)
        if done.source:
            known = self.reused.setdefault(
                done.source, Reused(run=done.source, repeats=0, measured_at=done.measured_at)
            )
            known.repeats += 1
            known.measured_at = min(known.measured_at, done.measured_at)

    def take_host(self, found: HostVerdict | None) -> None:
        """Count in which state a repeat found the host; None: it was not looked at."""
        if found is not None:
            self.host_states[found.state] += 1
            self.host_reasons.update({reason.what for reason in found.reasons})

    def entry(self) -> JobEntry:
        """The job in run.json: every planned repeat is counted once."""
        job, counts = self.job, Counter(self.counts)
        missing = len(job.points) * job.repeats - counts.total()
        if missing > 0:
            counts["skipped"] += missing
        return JobEntry(
            id=job.id,
            benchmark=job.benchmark,
            version=job.version,
            host=job.host,
            points=len(job.points),
            repeats=job.repeats,
            reason=job.reason,
            counts={status: number for status, number in sorted(counts.items()) if number},
            elapsed_s=round(self.elapsed_s, 3),
            note=self.note,
            refused=self.refused,
            reused=list(self.reused.values()),
            host_states=dict(sorted(self.host_states.items())),
            host_reasons=dict(sorted(self.host_reasons.items())),
        )


@dataclass(frozen=True, slots=True)
class Turn:
    """A repeat to come. `outcome` is that of the attempt before this one."""

    point: BoundPoint
    repeat: int
    attempt: int = 1
    outcome: Outcome | None = None


class JobRunner:
    """Takes one job through its life on an open site. Raises StoreError, and HostLost before its first point."""

    def __init__(self, shared: Shared, site: Site, state: JobState, *, last: bool = False) -> None:
        """`last`: no other job of the host follows, so that its folder goes with the session."""
        self._shared = shared
        self._last = last
        self._site = site
        self._state = state
        self._job = state.job
        self._gate = site.gate.job(state.job)
        self._needs: Mapping[str, Scalar] = {}
        self._ledger = ExportLedger()
        self._stepper: Stepper | None = None
        self._context: Context | None = None
        self._generation = -1
        self._turns: deque[Turn] = deque()

    @property
    def _work(self) -> str:
        return f"{self._site.connection.work}/{self._job.id}"

    # ---- before the first point ----

    def preflight(self) -> None:
        """What can be known before any job ran; jobs whose settings wait for others are looked at in `run`."""
        if not deferred(self._job):
            self._bind()

    def _bind(self) -> None:
        state = self._state
        try:
            values = self._needs
            state.points, needs = bind_points(self._job, state.benchmark, self._shared.ports, values, self._site.facts)
        except NotMeasured as error:
            self._give_up([PreflightProblem(item) for item in error.diagnostics])
            return
        unfit = {point.unfit.message: point.unfit for point in state.points if point.unfit is not None}
        if not needs:
            self._give_up([PreflightProblem(item) for item in unfit.values()])
            return
        for item in unfit.values():
            self._shared.bus.notice(self._job.host, item)
        state.demand = JobNeeds.of(needs)
        self._give_up(self._site.assess(state.demand, self._gate))

    def _give_up(self, findings: list[PreflightProblem]) -> None:
        """Note why the job cannot run; does nothing without findings."""
        for finding in findings:
            self._shared.bus.notice(self._job.host, finding.diagnostic)
        if findings:
            self._state.note = findings[0].diagnostic.message
            self._state.refused = any(finding.refused for finding in findings)

    def brief(self) -> JobBrief | None:
        """What a scheduler must know of the job; None for one that will not run."""
        state, job = self._state, self._job
        if state.note:
            return None
        times = job.repeats + job.warmup
        if state.points is not None:
            seconds = sum(point.estimated_s for point in state.points) * times
        else:
            seconds = (job.timeout_s or SHORTEST_LIMIT_S) * len(job.points) * times
        return JobBrief(job.id, seconds, tuple(job.needs.values()))

    # ---- the job ----

    def run(self, exports: Exports) -> None:
        """Measure; afterwards `state` holds counts and results."""
        state = self._state
        if not self._admitted(exports):
            return
        started = time.monotonic()
        points = state.points or []
        estimate = sum(point.estimated_s for point in points) * (self._job.repeats + self._job.warmup)
        measurements = len(points) * (self._job.repeats + self._job.warmup)
        self._shared.bus.emit(
            JobStarted(self._job.host, self._job.id, self._job.benchmark, measurements, round(estimate, 3))
        )
        try:
            self._line_up(points)
            if self._turns:  # a scheduler gives no machine for what was measured before
                self._site.connection.begin_job(self._job.id)
            self._measure_all()
        finally:
            state.elapsed_s = time.monotonic() - started
        if self._site.host is not None:
            self._site.host.end_job(self._job.id, ok=bool(state.counts["ok"] or state.counts["noisy"]))
        if state.counts["ok"] or state.counts["noisy"]:
            state.exports = {**self._earlier_exports(), **self._ledger.values()}
        self._shared.bus.emit(JobEnded(self._job.host, self._job.id, state.entry().counts))

    def _admitted(self, exports: Exports) -> bool:
        state = self._state
        if state.note or self._shared.stop.requested:
            return False
        try:
            self._needs = needed_values(self._job, exports)
        except NotMeasured as error:
            self._give_up([PreflightProblem(item) for item in error.diagnostics])
            return False
        if state.points is None:
            self._bind()
        elif state.demand.targets:
            self._give_up(self._site.assess_targets(state.demand, self._gate))
        if not state.note and state.demand.writes:
            self._site.will_write(state.demand)
        return not state.note

    def _line_up(self, points: Sequence[BoundPoint]) -> None:
        """What is left to be measured. Raises HostLost."""
        self._state.points = points = self._keyed(points)
        done = self._done(points)
        turns = (Turn(points[index], repeat) for index, repeat in self._shared.ports.schedule(self._job))
        self._turns.extend(turn for turn in turns if not done.has(turn.point.id, turn.repeat))

    def _measure_all(self) -> None:
        points = self._state.points or []
        runner = PointRunner(self._shared, self._job, self._state.benchmark, self._site.facts)
        while self._turns and not (self._shared.stop.requested or self._state.note):
            if self._ready(points, runner):
                self._take(runner, self._turns.popleft())
        for turn in self._turns:
            if turn.outcome is not None:  # there is no second attempt any more: the first one counts
                self._conclude(turn, turn.outcome)
        self._end()

    def _done(self, points: Sequence[BoundPoint]) -> Before:
        """What is not measured, counted."""
        shared, state = self._shared, self._state
        before = done_before(shared, self._job, state.benchmark, points, self._site.facts, self._ledger)
        for one in before.repeats.values():
            state.take_in(one)
        return before

    def _keyed(self, points: Sequence[BoundPoint]) -> list[BoundPoint]:
        """The points with what their results depend on. Raises HostLost."""
        spec = self._shared.resolved.hosts[self._job.host]
        around = ReuseInputs(self._site.connection, spec, self._site.ready, self._needs)
        return keyed(self._job, self._state.benchmark, points, around)

    def _end(self) -> None:
        """Remove the job's folder; a host lost just now has none."""
        if self._site.host is None:
            return
        try:
            if self._turns:
                self._site.connection.cancel()
            if not self._last:
                self._site.remove([self._work])
        except HostLost:
            self._site.reopen()
        except HostTimeout as error:
            for diagnostic in error.diagnostics:
                self._shared.bus.notice(self._job.host, diagnostic)

    def _ready(self, points: list[BoundPoint], runner: PointRunner) -> bool:
        """The job's folder is prepared on the present connection; done again after the host was lost."""
        if self._site.host is None:
            self._state.note = self._state.note or f"host {self._job.host} was lost and did not answer again"
            return False
        if self._generation == self._site.generation:
            return True
        self._generation = self._site.generation
        self._stepper = Stepper(self._site.connection, self._site.ready, self._work, self._shared.writer, self._gate)
        self._context = Context(self._site.facts, self._work, (), self._needs, self._gate.consents)
        prepared = self._prepared(points, self._context, self._stepper)
        if prepared and not self._state.demand.written:  # what is written is looked at before each step
            self._announce(runner, self._stepper, self._context)
        return prepared

    def _announce(self, runner: PointRunner, stepper: Stepper, context: Context) -> None:
        """Tell the host what comes, as far as that is known: it then goes on by itself when the connection breaks."""
        tasks: list[Task] = []
        for turn in self._turns:
            found = runner.foreseen(stepper, turn.point, turn.repeat, context) if turn.attempt == 1 else []
            if not found:
                break
            tasks += found
        with suppress(HostError):  # each task will say so itself when it is asked for
            self._site.connection.ahead(tasks)

    def _prepared(self, points: list[BoundPoint], context: Context, stepper: Stepper) -> bool:
        trail = StepOutputs()
        steps = self._state.benchmark.prepare([point.params for point in points if point.unfit is None], context)
        if not steps:
            return True
        folder = self._shared.writer.layout.prepare(self._job.host, self._job.id)
        folder = self._shared.writer.repeat_folder(folder, self._generation)
        limit = self._job.timeout_s or sum(step.timeout_s or SHORTEST_LIMIT_S for step in steps)
        deadline = time.monotonic() + limit
        try:
            done = all(stepper.run(step, folder, trail, deadline) for step in steps)
        except HostError as error:
            trail.failure = error.diagnostics[0]
            done = False
        if not done and not self._shared.stop.at_once:
            self._give_up([PreflightProblem(_unprepared(self._job, trail.failure), refused=is_refusal(trail.failure))])
        return done and not self._shared.stop.requested

    # ---- one repeat ----

    def _take(self, runner: PointRunner, turn: Turn) -> None:
        """One attempt. One that is to be tried again comes last: the host may be busy with the others already."""
        job = self._job
        started = PointStarted(job.host, job.id, turn.point.id, turn.repeat, turn.point.label, turn.point.estimated_s)
        self._shared.bus.emit(started)
        outcome = self._attempt(runner, turn.point, turn.repeat, turn.attempt)
        given_up = outcome.lost and not self._site.reopen()
        if given_up or is_refusal(outcome.diagnostic) or self._shared.stop.requested:
            self._conclude(turn, outcome)
        elif outcome.lost and self._state.benchmark.continues(turn.point.params):  # that is no second attempt
            self._turns.appendleft(turn)
        elif outcome.status in job.retry.on and turn.attempt <= job.retry.max:
            self._turns.append(replace(turn, attempt=turn.attempt + 1, outcome=outcome))
        else:
            self._conclude(turn, outcome)

    def _conclude(self, turn: Turn, outcome: Outcome) -> None:
        """The repeat has come to its end."""
        job, point = self._job, turn.point
        if is_refusal(outcome.diagnostic):
            self._state.refused, self._state.note = True, outcome.diagnostic.message
        if turn.repeat > 0:
            self._state.counts[outcome.status] += 1
            self._state.take_host(outcome.telemetry.verdict if outcome.telemetry else None)
            if outcome.status in ("ok", "noisy"):
                self._ledger.add(point.id, outcome.exported)
            elif self._shared.options.fail_fast:
                self._shared.stop.request("fail-fast")
        self._shared.bus.emit(
            PointEnded(
                job.host, job.id, point.id, turn.repeat, outcome.status, outcome.elapsed_s,
                self._headline(outcome), outcome.diagnostic,
            )
        )  # fmt: skip

    def _attempt(self, runner: PointRunner, point: BoundPoint, repeat: int, attempt: int) -> Outcome:
        if self._stepper is None or self._context is None:
            raise RuntimeError("a point is measured only after its job was prepared")
        context = replace(self._context, written=self._gate.written)
        outcome = runner.measure(self._stepper, point, repeat, context, attempt)
        if outcome.advanced or not outcome.lost:
            self._site.measured()
        return outcome

    def _headline(self, outcome: Outcome) -> str:
        """The one value of a point, or how many there are."""
        found = outcome.measurements
        if not found:
            return ""
        metrics = {metric.name: metric for metric in self._state.benchmark.metrics}
        first = next((m for m in self._state.benchmark.metrics if sum(i.metric == m.name for i in found) == 1), None)
        if first is None:
            return f"{len(found)} values"
        value = next(item.value for item in found if item.metric == first.name)
        return f"{first.name} {format_quantity(value, metrics[first.name].unit)}"

    def _earlier_exports(self) -> Mapping[str, Scalar]:
        return self._shared.earlier.exports.get((self._job.host, self._job.id), {})


def _unprepared(job: Job, cause: Diagnostic | None) -> Diagnostic:
    why = cause.message if cause else "no reason was given"
    hint = cause.hint if cause else ""
    notes = cause.notes if cause else ()
    return Diagnostic("E613", f"{job.id} on {job.host}: the preparation failed: {why}", hint=hint, notes=notes)


def estimate(shared: Shared, job: Job) -> float:
    """Seconds for all repeats of a job as far as they are known without the host; 0 when nothing is known."""
    benchmark = shared.ports.catalog.get(job.benchmark)
    if benchmark is None or deferred(job):
        return 0.0
    params = [benchmark.params_model.model_validate(dict(point.settings)) for point in job.points]
    return total_seconds([benchmark.needs(item, None) for item in params], job.repeats + job.warmup)
