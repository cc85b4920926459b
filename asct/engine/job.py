"""Run one job on one host: checks, preparation, repeats in the planned order, retries, and results for other jobs.

Only `JobRunner._measure` decides whether a repeat is retried.
"""

from __future__ import annotations

import hashlib
import time
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from asct.diagnostics.model import Diagnostic
from asct.engine.events import JobEnded, JobStarted, PointEnded, PointStarted
from asct.engine.guard import is_refusal
from asct.engine.host import HostSession
from asct.engine.points import BoundPoint, bind_points, cautions, needed_values, shared_results, waits_for_results
from asct.engine.repeat import Attempt, RepeatRunner
from asct.engine.resume import EarlierResults
from asct.engine.reuse import Reuse
from asct.engine.reuse_key import with_reuse_keys
from asct.engine.services import RunContext, Services
from asct.errors import HostError, HostLost, HostTimeout, NotMeasured
from asct.hosts.base import JobRequest, Task
from asct.planner.costs import needs_of
from asct.planner.model import Job
from asct.sdk.benchmark import Benchmark
from asct.sdk.needs import SHORTEST_LIMIT_S, JobNeeds
from asct.sdk.record import Measurement, Scalar
from asct.store.model import MEASURED, HostVerdict, JobEntry, Reused, Status
from asct.values.quantity import format_quantity
from asct.values.text import counted


class JobRunner:
    """One job in a host session.

    `entry` is the job's part of run.json; its counts are updated while the job runs. `exports` contains the job's
    results for other jobs, or None until something has been measured.
    """

    def __init__(
        self, run: RunContext, session: HostSession, job: Job, earlier: EarlierResults, *, last: bool = False
    ) -> None:
        """Create a runner. `last` is true for the last job on the host, whose folder is removed together with the
        session."""
        self._run = run
        self._session = session
        self._earlier = earlier
        self._before = job.repeats if run.again else 0
        """Number of planned repeats that precede this job's repeats in the numbering: 0 unless points are measured
        again."""
        self._last = last
        self._guard = session.guard.job(job)
        self._points: Sequence[BoundPoint] | None = None
        self._needed: Mapping[str, Scalar] = {}
        self._results: dict[str, list[Mapping[str, Scalar]]] = {}
        """Maps each point id to the results that its repeats provide for other jobs."""
        self._repeats: RepeatRunner | None = None
        self._generation = -1
        self._given_up = False
        """True if no further repeats will be measured."""
        self._queue: deque[Attempt] = deque()
        self.job = job
        self.benchmark = run.services.benchmark(job)
        self.needs = JobNeeds()
        self.exports: dict[str, Scalar] | None = None
        self.entry = JobEntry(
            id=job.id,
            benchmark=job.benchmark,
            version=job.version,
            host=job.host,
            points=len(job.points),
            repeats=job.repeats,
            reason=job.reason,
            strict=job.strict,
        )
        self._done = self._completed_earlier()

    @property
    def _numbers(self) -> range:
        return range(self._before + 1, self._before + self.job.repeats + 1)

    def document(self) -> JobEntry:
        """Return the job's entry in run.json.

        Every planned repeat is counted once; repeats without a status are counted as skipped or refused.
        """
        entry = self.entry
        measured = {status: number for status, number in entry.counts.items() if status in entry.accepted}
        counts = {**measured, **entry.lacking()}
        found = {"counts": counts, "host_states": entry.host_states, "host_reasons": entry.host_reasons}
        return entry.model_copy(update={name: dict(sorted(numbers.items())) for name, numbers in found.items()})

    # ---- before the first point ----

    def preflight(self) -> None:
        """Check the job before any job on the host runs. A job that needs results from other jobs is checked later, in
        `run`."""
        if not waits_for_results(self.job):
            self._bind()

    def _bind(self) -> None:
        job = self.job
        try:
            self._points, needs = bind_points(job, self.benchmark, self._needed, self._session.facts)
        except NotMeasured as error:
            self._give_up(error.diagnostics)
            return
        unfit = {point.unfit.message: point.unfit for point in self._points if point.unfit is not None}
        if not needs:
            self._give_up([*unfit.values()])
            return
        self._run.events.notices(job.host, unfit.values())
        if not self._run.again:
            self._run.events.notices(job.host, cautions(job, self.benchmark, self._points, self._session.facts))
        self.needs = JobNeeds.of(needs, job.repeats + job.warmup, job.timeout_s)
        self._give_up(self._session.assess(self.needs, self._guard))

    def _give_up(self, problems: Sequence[Diagnostic]) -> None:
        """Record the reasons why the job cannot run. Does nothing if `problems` is empty."""
        self._run.events.notices(self.job.host, problems)
        if problems:
            self._given_up = True
            cause = self._run.events.reword(next(filter(is_refusal, problems), problems[0]))
            self.entry.note, self.entry.refused = cause.cause, is_refusal(cause)

    def request(self) -> JobRequest | None:
        """Return what the job requests from a scheduler, or None if the job will not be run."""
        job = self.job
        if self._given_up:
            return None
        if self._points is not None:
            seconds = self.needs.seconds
        else:
            seconds = (job.timeout_s or SHORTEST_LIMIT_S) * len(job.points) * (job.repeats + job.warmup)
        return JobRequest(job.id, seconds, tuple(job.needs.values()))

    # ---- the job ----

    def run(self, exports: Mapping[str, Mapping[str, Scalar] | None], causes: Mapping[str, str]) -> None:
        """Measure the job. `exports` contains the results of the host's jobs, some of which this job may need, keyed by
        job id. `causes` contains the reasons why jobs have no results.

        Raises StoreError, and HostLost if the connection is lost before the first point.
        """
        job, session = self.job, self._session
        points = self._admitted(exports, causes)
        if points is None:
            return
        started = time.monotonic()
        measurements, estimate = len(points) * (job.repeats + job.warmup), round(self.needs.seconds, 3)
        self._run.events.emit(JobStarted(job.host, job.id, job.benchmark, measurements, estimate))
        try:
            self._queue.extend(self._pending(points))
            if self._queue:  # the scheduler must not allocate a node if there is nothing left to measure
                session.host.begin_job(job.id)
            self._measure_all()
        finally:
            self.entry.elapsed_s = round(time.monotonic() - started, 3)
        measured = any(self.entry.counts.get(status) for status in MEASURED)
        if session.is_open:
            session.host.end_job(job.id, ok=measured)
        if measured:
            self.exports = {
                **self._earlier.exports.get((job.host, job.id), {}),
                **shared_results(self._results.values()),
            }
        self._run.events.emit(JobEnded(job.host, job.id, self.document().counts))

    def _admitted(
        self, exports: Mapping[str, Mapping[str, Scalar] | None], causes: Mapping[str, str]
    ) -> Sequence[BoundPoint] | None:
        """Return the points if the job may start, otherwise None. It may start if the results that it needs exist and
        its targets pass the checks."""
        if self._given_up or self._run.stop.requested:
            return None
        try:
            self._needed = needed_values(self.job, exports, causes)
        except NotMeasured as error:
            self._give_up(error.diagnostics)
            return None
        if self._points is None:
            self._bind()
        elif self.needs.targets:
            self._give_up(self._session.assess_targets(self.needs, self._guard))
        if not self._given_up and self.needs.written_paths:
            self._session.will_write(self.needs)
        return None if self._given_up else self._points

    def _pending(self, points: Sequence[BoundPoint]) -> list[Attempt]:
        """Return the repeats to measure, in planned order.

        Repeats that were measured by an earlier part of this run or reused from another run are excluded. Raises
        HostLost.
        """
        job, session = self.job, self._session
        self._points = points = with_reuse_keys(job, self.benchmark, points, session, self._needed)
        done = self._completed(points)
        whole = {point.id for point in points if all((point.id, number) in done for number in self._numbers)}
        planned = [
            Attempt(points[index], repeat + self._before if repeat > 0 else repeat) for index, repeat in schedule(job)
        ]
        return [
            attempt
            for attempt in planned
            if (attempt.point.id, attempt.repeat) not in done
            and not (attempt.repeat < 1 and attempt.point.id in whole)  # no warm-up for a complete point
        ]

    def _completed(self, points: Sequence[BoundPoint]) -> set[tuple[str, int]]:
        """Return (point id, repeat) for each repeat that need not be measured again, and count the reused ones. Raises
        StoreError."""
        job, done = self.job, set(self._done)
        if self._earlier.runs is not None:
            begun = {point_id for point_id, _ in done}
            reuse = Reuse(self._run, self._earlier.runs, job, self.benchmark, self._session.facts)
            fresh = [point for point in points if point.id not in begun]
            for status, exported in reuse.reuse(fresh):
                done.add((status.point_id, status.repeat))
                self._count_earlier(status)
                self._results.setdefault(status.point_id, []).append(exported)
        return done

    def _completed_earlier(self) -> set[tuple[str, int]]:
        """Count the repeats measured by an earlier part of this run, and return (point id, repeat) for each. They are
        counted even if the job or its host turns out to be unusable now."""
        job, done = self.job, set[tuple[str, int]]()
        for point in job.points:
            for repeat in self._numbers:
                found = self._earlier.repeats.get((job.host, job.id, point.id, repeat))
                if found is not None:
                    done.add((point.id, repeat))
                    self._count_earlier(found)
        return done

    def _count_earlier(self, found: Status) -> None:
        _count(self.entry.counts, found.status)
        self._count_host_state(found.host_state)
        if source := found.reused_from:
            known = next((item for item in self.entry.reused if item.run == source), None)
            if known is None:
                known = Reused(run=source, repeats=0, measured_at=found.started_at)
                self.entry.reused.append(known)
            known.repeats += 1
            known.measured_at = min(known.measured_at, found.started_at)

    def _count_host_state(self, found: HostVerdict | None) -> None:
        if found is not None:
            _count(self.entry.host_states, found.state)
            for what in {reason.what for reason in found.reasons}:
                _count(self.entry.host_reasons, what)

    def _measure_all(self) -> None:
        while self._queue and not (self._run.stop.requested or self._given_up):
            repeats = self._prepared()
            if repeats is not None:
                self._measure(repeats, self._queue.popleft())
        for attempt in self._queue:
            if attempt.previous is not None:  # there will be no retry, so the previous attempt counts
                self._conclude(attempt.previous)
        self._clean_up()

    def _clean_up(self) -> None:
        """Remove the job's folder, unless it was just lost together with the host."""
        session = self._session
        if not session.is_open:
            return
        try:
            if self._queue:
                session.host.cancel()
            if not self._last:
                session.remove(f"{session.host.work}/{self.job.id}")
        except HostLost:
            session.reopen()
        except HostTimeout as error:
            self._run.events.notices(self.job.host, error.diagnostics)

    # ---- preparation, repeated after a lost connection ----

    def _prepared(self) -> RepeatRunner | None:
        """Prepare the job, and return a runner for the current connection, or None if the preparation fails."""
        session = self._session
        if not session.is_open:
            self._given_up = True
            return None
        if self._generation != session.generation:
            self._generation = session.generation
            self._repeats = RepeatRunner(self._run, self.job, session, self._guard, self._needed, self._earlier)
            failure = self._repeats.prepare(self._points or (), self._generation)
            if failure is not None and not self._run.stop.at_once:
                message = f"{self.job.id} on {self.job.host}: preparation failed: {failure.message}"
                failed = Diagnostic("E613", message, hint=failure.hint, notes=failure.notes)
                self._give_up([failure if is_refusal(failure) else failed])
            if failure is not None or self._run.stop.requested:
                return None
            if not self.needs.written_paths:  # targets to be written are checked before each step
                self._announce(self._repeats)
        return self._repeats

    def _announce(self, repeats: RepeatRunner) -> None:
        """Send the tasks that are known in advance to the host, so that it can run them without a connection."""
        tasks: list[Task] = []
        for attempt in self._queue:
            found = repeats.planned_tasks(attempt)
            if not found:
                break
            tasks += found
        with suppress(HostError):  # each task reports its own error when it runs
            self._session.host.announce(tasks)

    # ---- one repeat ----

    def _measure(self, repeats: RepeatRunner, attempt: Attempt) -> None:
        """Measure one attempt and decide whether its outcome is final.

        Retries go to the end of the queue, because the cause of the failure may have disappeared by the time they run.
        """
        job, point = self.job, attempt.point
        self._run.events.emit(PointStarted(job.host, job.id, point.id, attempt.repeat, point.label, point.estimated_s))
        repeats.measure(attempt)
        lost = attempt.end == "lost"
        if attempt.advanced or not lost:
            self._session.forgive_losses()
        given_up = lost and not self._session.reopen()
        if given_up or is_refusal(attempt.diagnostic) or self._run.stop.requested:
            self._conclude(attempt)
        elif lost and self.benchmark.continues(point.params):
            self._queue.appendleft(attempt.again(counted=False))
        elif attempt.status in job.retry.on and attempt.number <= job.retry.max:
            self._queue.append(attempt.again())
        else:
            self._conclude(attempt)
        if attempt.steps_left and self._session.is_open:
            self._announce_anew(repeats)

    def _announce_anew(self, repeats: RepeatRunner) -> None:
        """Withdraw the remaining steps of a failed attempt, and announce the steps of later repeats again."""
        try:
            self._session.host.cancel()
        except HostLost:
            self._session.reopen()
        except HostTimeout as error:
            self._run.events.notices(self.job.host, error.diagnostics)
        else:
            self._announce(repeats)

    def _conclude(self, attempt: Attempt) -> None:
        """Record the outcome of this attempt as the outcome of the repeat."""
        job, point = self.job, attempt.point
        if is_refusal(attempt.diagnostic):
            self._given_up, self.entry.refused, self.entry.note = True, True, attempt.diagnostic.cause
        if attempt.repeat > 0:
            _count(self.entry.counts, attempt.status)
            self._count_host_state(attempt.telemetry.verdict if attempt.telemetry else None)
            if attempt.status in MEASURED:
                self._results.setdefault(point.id, []).append(attempt.exported)
            if attempt.status not in self.entry.accepted:
                self._run.stop.measurement_failed()
                self.entry.note = self.entry.note or (attempt.diagnostic.cause if attempt.diagnostic else "")
        self._run.events.emit(
            PointEnded(
                job.host, job.id, point.id, attempt.repeat, attempt.status, attempt.elapsed_s,
                _headline(self.benchmark, attempt.measurements), attempt.diagnostic,
            )
        )  # fmt: skip


def _count(counts: dict[str, int], key: str) -> None:
    counts[key] = counts.get(key, 0) + 1


def _headline(benchmark: Benchmark[Any], found: Sequence[Measurement]) -> str:
    """Return the value of the first metric with exactly one value or, if there is no such metric, the number of
    values."""
    for metric in benchmark.metrics:
        values = [item.value for item in found if item.metric == metric.name]
        if len(values) == 1:
            return f"{metric.name} {format_quantity(values[0], metric.unit)}"
    return counted(len(found), "value") if found else ""


def estimate(services: Services, job: Job) -> float:
    """Estimate the time, in seconds, for all repeats of a job without contacting its host. Returns 0 if there is no
    estimate."""
    benchmark = services.catalog.get(job.benchmark)
    if benchmark is None or waits_for_results(job):
        return 0.0
    return needs_of(job, benchmark).seconds


ScheduledRepeat = tuple[int, int]
"""(point index, repeat). Repeats are numbered 1, 2, ...; warm-ups are numbered 0, -1, ... in order of execution.
"""


def schedule(job: Job) -> list[ScheduledRepeat]:
    """Return all repeats of a job in measurement order.

    * interleaved: each repeat is a pass over all points, so that drift affects all points equally; warm-ups come first;
    * grouped: all warm-ups and repeats of a point come before the next point;
    * random: repeats are shuffled with `job.seed`, identically on every machine and Python version; the warm-ups of a
      point come immediately before its first repeat.
    """
    points, warmups = range(len(job.points)), [-number for number in range(job.warmup)]
    repeats = [*warmups, *range(1, job.repeats + 1)]
    if job.order == "grouped":
        return [(index, repeat) for index in points for repeat in repeats]
    if job.order == "random":
        return _shuffled(job, warmups)
    return [(index, repeat) for repeat in repeats for index in points]


def _shuffled(job: Job, warmups: Sequence[int]) -> list[ScheduledRepeat]:
    """Return the repeats sorted by a keyed hash, so that their order does not depend on a library's random number
    generator."""
    slots = [index for index in range(len(job.points)) for _ in range(job.repeats)]
    ranked = sorted(range(len(slots)), key=lambda slot: hashlib.sha256(f"{job.seed}:{slot}".encode()).digest())
    done: Counter[int] = Counter()
    order: list[ScheduledRepeat] = []
    for slot in ranked:
        index = slots[slot]
        if not done[index]:
            order += [(index, warmup) for warmup in warmups]
        done[index] += 1
        order.append((index, done[index]))
    return order
