"""Measure one repeat of a point: run its steps, parse their outputs and write its files.

A failure becomes a status, not an exception. Each step becomes a task for the transport. The outputs of the tasks are
parsed into measurements, which become records. status.json is written last; its presence means that the attempt has
ended.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, Literal

from asct.diagnostics.model import Diagnostic
from asct.engine.events import DriveRates, StepStarted, now
from asct.engine.failures import (
    connection_lost,
    failure_of,
    invalid_settings,
    judged,
    missing_result,
    steps_changed,
    unreadable,
)
from asct.engine.gate import JobGuard
from asct.engine.guard import RateFeed, Rates, is_refusal
from asct.engine.host import HostSession
from asct.engine.points import BoundPoint
from asct.engine.programs import MissingProgram, process_of, texts
from asct.engine.resume import EarlierResults
from asct.engine.reuse import earlier_records, earlier_values
from asct.engine.services import RunContext
from asct.engine.steps import StepNotes, StepOutputs, StepsChangedError, step_key
from asct.engine.telemetry.summary import summarize
from asct.engine.values import SHAPE_ERRORS, ContractBreachError, adjusted, records_of
from asct.errors import HostError, HostLost
from asct.hosts.base import Process, Task, TaskResult
from asct.planner.model import Job
from asct.sdk.benchmark import Context, Unsuitable
from asct.sdk.needs import GUARD, SHORTEST_LIMIT_S
from asct.sdk.record import Measurement, Record, Scalar
from asct.sdk.step import Kernel, Output, Step
from asct.store.model import CommandDocument, EarlierValues, PointStatus, Status, Telemetry

_MOST_STEPS = 10_000
"""Maximum number of steps in a repeat, as a safeguard against a benchmark that never ends."""


@dataclass(slots=True)
class Attempt:
    """One attempt to measure one repeat of a point: what to measure, the results of its steps, and how it ended.

    Repeats are numbered from 1; warm-ups are numbered 0, -1, ...
    """

    point: BoundPoint
    repeat: int
    number: int = 1
    previous: Attempt | None = None
    """The failed attempt before this one, or None for the first attempt."""
    folder: Path = field(default_factory=Path)
    steps: StepOutputs = field(default_factory=StepOutputs)
    notes: StepNotes | None = None
    """Notes about the finished steps, or None if the benchmark cannot continue after its last finished step."""
    status: PointStatus = "ok"
    elapsed_s: float = 0.0
    measurements: Sequence[Measurement] = ()
    earlier: Sequence[EarlierValues] = ()
    exported: Mapping[str, Scalar] = field(default_factory=dict)
    diagnostic: Diagnostic | None = None
    end: Literal["complete", "early", "lost"] = "complete"
    """How the steps ended: all of them finished, one of them failed or was interrupted, or the connection was lost."""
    steps_left: bool = False
    """Whether the attempt failed although its remaining steps had already been announced to the host."""
    telemetry: Telemetry | None = None
    """The host state during the steps, or None if no step was run."""

    @property
    def advanced(self) -> bool:
        """Whether the attempt finished any steps from which the next attempt can continue."""
        return self.notes is not None and self.notes.finished > 0

    def again(self, *, counted: bool = True) -> Attempt:
        """Return the next attempt at this repeat. `counted` is False if that attempt only continues this one."""
        return Attempt(self.point, self.repeat, self.number + counted, self if counted else self.previous)

    def fail(self, status: PointStatus, diagnostic: Diagnostic | None) -> None:
        """End the attempt without values. A refusal for safety reasons has its own status, which reports show."""
        self.status, self.diagnostic = "refused" if is_refusal(diagnostic) else status, diagnostic


class RepeatRunner:
    """Runs repeats of one job over one connection to its host. After a reconnection, a new runner is needed.

    The only exception that the methods raise is StoreError.
    """

    def __init__(
        self,
        run: RunContext,
        job: Job,
        session: HostSession,
        guard: JobGuard,
        needed: Mapping[str, Scalar],
        earlier: EarlierResults,
    ) -> None:
        """Create a runner. `needed` contains the results that the job needs from other jobs."""
        work = f"{session.host.work}/{job.id}"
        self._run = run
        self._job = job
        self._benchmark = run.services.benchmark(job)
        self._guard = guard
        self._context = Context(session.facts, work, (), needed, session.guard.consents)
        self._ends = earlier.ends
        self._pilots = earlier.pilots if self._benchmark.uses_earlier else None
        self._session = session
        self._host = session.host
        self._programs = session.programs
        self._writer = run.writer
        self._layout = run.writer.layout
        self._numbers = count(1)

    def prepare(self, points: Sequence[BoundPoint], number: int) -> Diagnostic | None:
        """Run the steps that prepare a job. Returns a diagnostic if a step failed, otherwise None.

        `number` counts the preparations within the job.
        """
        steps = self._benchmark.prepare([point.params for point in points if point.unfit is None], self._context)
        if not steps:
            return None
        done = StepOutputs()
        folder = self._writer.repeat_folder(self._layout.prepare(self._job.host, self._job.id), number)
        limit = self._job.timeout_s or sum(step.timeout_s or SHORTEST_LIMIT_S for step in steps)
        deadline = time.monotonic() + limit
        try:
            all(self._run_step(step, folder, done, deadline) for step in steps)
        except HostError as error:
            return error.diagnostics[0]
        return done.failure

    def measure(self, attempt: Attempt) -> None:
        """Run one attempt and write its files."""
        started_at, started = now(), time.monotonic()
        self._open(attempt)
        if attempt.point.unfit is not None:
            self._end_early(attempt, "failed", attempt.point.unfit)
        else:
            self._run_steps(attempt)
        done = attempt.steps
        attempt.telemetry = summarize([*zip(done.outputs, done.readings, strict=True)]) if done.outputs else None
        records = self._evaluate(attempt) if attempt.status == "ok" else []
        # announced tasks may have run before their results were requested
        measured_s = sum(output.elapsed_ns for output in done.outputs) / 1e9
        attempt.elapsed_s = round(max(time.monotonic() - started, measured_s), 6)
        if attempt.notes is not None:
            self._close_notes(attempt, attempt.notes)
        self._document(attempt, records, started_at)
        attempt.steps = StepOutputs()  # the results are on disk, so an attempt that waits for its retry needs no memory

    def planned_tasks(self, attempt: Attempt) -> list[Task]:
        """Return the tasks for the first attempt at a repeat if its steps are known in advance, otherwise an empty
        list."""
        benchmark, point, context = self._benchmark, attempt.point, self._context
        params = point.params
        if (
            attempt.number > 1
            or point.unfit is not None
            or not benchmark.steps_known_ahead(params, context.facts)
            or benchmark.continues(params)
        ):
            return []
        try:
            steps = benchmark.steps(params, context)
        except SHAPE_ERRORS:
            return []  # the attempt itself will fail and report the reason
        folder, identity = self._folder(attempt), self._identity(attempt)
        try:
            return [
                self._task(step, number, self._layout.step(folder, number, step.name),
                           min(point.limit_s, step.timeout_s or point.limit_s), StepOutputs(), identity)
                for number, step in enumerate(steps)
            ]  # fmt: skip
        except MissingProgram:
            return []

    def _folder(self, attempt: Attempt) -> Path:
        return self._layout.repeat(self._job.host, self._job.id, attempt.point.id, attempt.repeat)

    def _identity(self, attempt: Attempt) -> list[str]:
        """Return values that distinguish this attempt from all other attempts in the run, including its earlier
        parts."""
        point_id, repeat = attempt.point.id, attempt.repeat
        ends = self._ends.get((self._job.host, self._job.id, point_id, repeat), 0)
        return [self._run.plan.hash, self._job.key, point_id, str(repeat), str(ends), str(attempt.number)]

    # ---- the steps of an attempt ----

    def _open(self, attempt: Attempt) -> None:
        """Create the attempt's folder, or keep the existing one if an earlier part of the run finished steps in it."""
        point = attempt.point
        attempt.folder = self._folder(attempt)
        if point.unfit is None and self._benchmark.continues(point.params):
            facts = self._context.facts
            tools = [name for name, _ in self._benchmark.needs(point.params, facts).tools]
            versions = [f"{name} {facts.tools[name].version}" for name in dict.fromkeys(tools) if name in facts.tools]
            identity = [self._run.plan.hash, self._job.key, point.id, str(attempt.repeat), *versions]
            attempt.notes = StepNotes(self._writer, attempt.folder, identity, self._context.work)
        if attempt.notes is not None and attempt.notes.found:
            attempt.notes.reopen()
        else:
            self._writer.repeat_folder(attempt.folder, attempt.number)

    def _run_steps(self, attempt: Attempt) -> None:
        """Run all steps that have no note. If the notes belong to a different measurement, start again at the first
        step. Exceptions are converted to a status of the attempt."""
        try:
            self._next_steps(attempt)
        except StepsChangedError as change:
            self._start_over(attempt, str(change))
            self._run_steps(attempt)
        except HostLost as error:
            self._end_early(attempt, "host-lost", connection_lost(self._job.host, error))
            attempt.end = "lost"
        except HostError as error:
            self._end_early(attempt, "failed", error.diagnostics[0])
        except (LookupError, ValueError) as error:
            reason = missing_result if isinstance(error, LookupError) else invalid_settings
            self._end_early(attempt, "failed", reason(self._job, error))

    def _start_over(self, attempt: Attempt, why: str) -> None:
        """Discard the finished steps of an attempt, because they belong to a different measurement."""
        self._run.events.notice(self._job.host, steps_changed(self._job.host, self._job.id, attempt.point.id, why))
        self._writer.repeat_folder(attempt.folder, attempt.number)
        attempt.steps = StepOutputs()
        if attempt.notes is not None:
            attempt.notes.discard_earlier()

    def _next_steps(self, attempt: Attempt) -> None:
        deadline = time.monotonic() + attempt.point.limit_s
        done, notes, identity = attempt.steps, attempt.notes, self._identity(attempt)
        for step in self._steps(attempt):
            if notes is not None and notes.replay(step, done):
                continue
            on_line = self._announce_step(step, attempt)
            if not self._run_step(step, attempt.folder, done, deadline, on_line, identity):
                self._end_early(attempt, "timeout" if done.timed_out else "failed", done.failure)
                attempt.steps_left = len(self.planned_tasks(attempt)) > len(done.rows)
                return
            if self._run.stop.at_once:  # an interrupted program may have stopped early and still exited with 0
                self._end_early(attempt, "interrupted", None)
                return
            if notes is not None:
                notes.add(step, done)
        if notes is not None and attempt.status == "ok":
            notes.check_replayed()

    def _steps(self, attempt: Attempt) -> Iterator[Step]:
        """Yield the steps one by one. Further steps are requested from the benchmark only after the earlier ones have
        finished."""
        point, pilots, facts = attempt.point, self._pilots, self._context.facts
        version = self._benchmark.version
        context = replace(
            self._context,
            done=attempt.steps.outputs,
            written_paths=self._session.guard.begun,
            earlier=earlier_records(pilots, self._job.host, point.id, version, facts) if pilots else (),
        )
        while steps := self._more_steps(attempt, context):
            yield from steps
            if len(context.done) > _MOST_STEPS:
                raise ValueError(f"the benchmark returned more than {_MOST_STEPS} steps")

    def _more_steps(self, attempt: Attempt, context: Context) -> Sequence[Step]:
        """Return the next steps. If the benchmark cannot read the outputs of earlier steps, the attempt fails, and no
        steps are returned."""
        try:
            return self._benchmark.steps(attempt.point.params, context)
        except SHAPE_ERRORS as error:
            if not context.done or isinstance(error, Unsuitable):
                raise
            self._fail_unreadable(attempt, error)
            return ()

    def _announce_step(self, step: Step, attempt: Attempt) -> Callable[[str], None] | None:
        """Emit an event for the start of a step if the repeat is long.

        Returns a function that processes each line of guard's output, or None if the step does not run guard.
        """
        coordinates = (self._job.host, self._job.id, attempt.point.id, attempt.repeat)
        events = self._run.events
        if attempt.notes is not None:
            events.broadcast(StepStarted(*coordinates, len(attempt.steps.rows) + 1, step.label or step.name))
        if step.program != Kernel(GUARD):
            return None

        def emit(rates: Rates) -> None:
            reads, read_bytes, writes, written_bytes = rates
            events.broadcast(DriveRates(*coordinates, read_bytes, written_bytes, reads, writes))

        return RateFeed(emit)

    def _end_early(self, attempt: Attempt, status: PointStatus, diagnostic: Diagnostic | None) -> None:
        """End the attempt before its last step. If the run is being stopped, the status is `interrupted`."""
        attempt.end = "early"
        if self._run.stop.at_once:
            status, diagnostic = "interrupted", None
        attempt.fail(status, diagnostic)

    # ---- one step ----

    def _run_step(
        self,
        step: Step,
        folder: Path,
        done: StepOutputs,
        deadline: float,
        on_line: Callable[[str], None] | None = None,
        identity: Sequence[str] = (),
    ) -> bool:
        """Run one step, fetch its files into `folder` (the repeat's folder) and add the step to `done`. Returns False
        if the step failed.

        `deadline` is a value of `time.monotonic`. `on_line` receives each line of standard output while the step runs.
        Raises HostError.
        """
        number = len(done.rows)
        into = self._layout.step(folder, number, step.name)
        if number:
            into = self._writer.repeat_folder(into)
        limit = max(0.001, deadline - time.monotonic())
        limit = limit if step.timeout_s is None else min(limit, step.timeout_s)
        try:
            task = self._task(step, number, into, limit, done, identity)
        except MissingProgram as error:
            message = f"host {self._host.name}: {error} is not installed"
            done.failure = Diagnostic("E420", message, hint=f"install {error}")
            return False
        done.failure = self._guard.begin(step)
        if done.failure is not None:
            return False
        done.commands.append(_command(step, task))
        finished = self._run_task(task, on_line)
        output = Output(step, finished.status or 0, texts(into, finished.fetched), finished.elapsed_ns)
        raw = self._layout.relative(into)
        done.add(output, finished.status, raw, finished.notes, finished.readings)
        done.timed_out = finished.status is None
        late = limit if done.timed_out else None
        done.failure = self._guard.settle(output, raw) or failure_of(output, self._host.name, raw, task.main.argv, late)
        return done.failure is None

    def _run_task(self, task: Task, on_line: Callable[[str], None] | None) -> TaskResult:
        try:
            for name, text in task.files.items():
                (task.into / name).write_text(text, encoding="utf-8")
            finished = self._host.run(task, on_line)
        except OSError as error:  # a failure of the transport is a HostError, so this error concerns the results tree
            raise self._writer.fail(task.into, error) from error
        if finished.notes:  # if a file could not be fetched, the local disk may be about to fill up
            self._writer.probe()
        return finished

    def _task(
        self, step: Step, number: int, into: Path, limit: float, done: StepOutputs, identity: Sequence[str]
    ) -> Task:
        """Return the task for a step. Each step has its own folder on the host, so that it cannot find files from other
        steps."""
        key = step_key(identity, number, step, self._context.work)[:24] if identity else ""
        folder = f"{self._context.work}/{key or next(self._numbers)}"
        path, sudo = self._programs.path(step.program), self._programs.through_sudo(step)
        return Task(
            main=process_of(self._guard.limited(step), path, folder, sudo=sudo),
            into=into,
            files=step.files,
            companions=tuple(self._companions(step, folder, done)),
            collect=step.collect,
            timeout_s=limit,
            key=key,
        )

    def _companions(self, step: Step, folder: str, done: StepOutputs) -> Iterable[Process]:
        for companion in step.companions:
            try:
                path = self._programs.path(companion.program)
            except MissingProgram as error:
                done.notes.append(f"{error} is not installed on {self._host.name}; the point was measured without it")
                continue
            yield process_of(companion, path, folder)

    # ---- values and files ----

    def _evaluate(self, attempt: Attempt) -> list[Record]:
        """Parse the outputs and return the records. If there are none, the attempt fails."""
        point, raw = attempt.point, self._layout.relative(attempt.folder)
        try:
            measured = self._benchmark.parse(point.params, attempt.steps.outputs, self._context.facts)
            if self._pilots:
                version, facts = self._benchmark.version, self._context.facts
                attempt.earlier = earlier_values(self._pilots, self._job.host, point.id, version, facts, measured)
            verdict = attempt.telemetry.verdict if attempt.telemetry else None
            found = adjusted(measured, verdict, attempt.earlier)
            records = records_of(found, self._benchmark, self._record_of(attempt, raw))
            exported = self._benchmark.export(found) if found else {}
        except ContractBreachError as error:
            attempt.fail("failed", Diagnostic("E615", str(error), hint="please report this"))
            return []
        except SHAPE_ERRORS as error:
            self._fail_unreadable(attempt, error)
            return []
        if not found:
            message = f"{self._job.benchmark} returned no value"
            attempt.fail("failed", Diagnostic("E616", message, hint=f"the raw output is in {raw}/"))
            return []
        attempt.measurements, attempt.exported = found, exported
        attempt.status, attempt.diagnostic = judged(found, strict=self._job.strict)
        return records

    def _record_of(self, attempt: Attempt, raw: str) -> Callable[..., Record]:
        job, point = self._job, attempt.point
        return partial(
            Record, run=self._run.id, plan=self._run.plan.name, host=job.host, benchmark=job.benchmark, id=job.id,
            version=job.version, point=point.swept, point_id=point.id, repeat=attempt.repeat, raw=raw,
        )  # fmt: skip

    def _fail_unreadable(self, attempt: Attempt, error: Exception) -> None:
        done, raw = attempt.steps, self._layout.relative(attempt.folder)
        attempt.fail("failed", unreadable(self._job, done.outputs, done.notes, raw, error))

    def _close_notes(self, attempt: Attempt, notes: StepNotes) -> None:
        """Discard the notes for a repeat that ran all steps but has no valid values, because the repeat must start
        again."""
        attempt.elapsed_s = round(attempt.elapsed_s + notes.earlier_s, 6)
        if attempt.end == "complete" and attempt.status != "ok":
            self._writer.discard_steps(attempt.folder)

    def _document(self, attempt: Attempt, records: Sequence[Record], started_at: str) -> None:
        done, point = attempt.steps, attempt.point
        if attempt.diagnostic is not None:
            attempt.diagnostic = self._run.events.reword(attempt.diagnostic)
        status = Status(
            status=attempt.status,
            point_id=point.id,
            repeat=attempt.repeat,
            started_at=started_at,
            elapsed_s=attempt.elapsed_s,
            flags=sorted({flag for item in attempt.measurements for flag in item.flags}),
            notes=done.notes,
            diagnostic=attempt.diagnostic.to_json() if attempt.diagnostic else None,
            attempts=attempt.number,
            steps=done.rows,
            reuse_key=point.reuse_key,
            command=CommandDocument(
                host=self._job.host,
                benchmark=self._job.benchmark,
                settings=dict(point.settings),
                swept=dict(point.swept),
                steps=done.commands,
            ),
            telemetry=attempt.telemetry,
            earlier=list(attempt.earlier),
        )
        self._writer.finish_repeat(attempt.folder, status, records if attempt.repeat > 0 else ())


def _command(step: Step, task: Task) -> dict[str, Any]:
    return {
        "name": step.name,
        "argv": list(task.main.argv),
        "cwd": task.main.cwd,
        "env": dict(step.env),
        "files": dict(step.files),
        "companions": [list(process.argv) for process in task.companions],
        "collect": list(step.collect),
        "timeout_s": round(task.timeout_s, 3),
    }
