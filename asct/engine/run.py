"""Runs a resolved plan on its hosts and leaves a results tree.

The order of a whole run, which the command line keeps:

1. `outcome = apply(resolved, options, listeners=...)`: measures; afterwards everything measured is on disk;
2. `verdicts = asct.analysis...judge(...)`: judges the expectations from what is on disk;
3. `code = finish_run(outcome, verdicts, render)`: writes verdicts and exit code into run.json, calls `render` for the
   reports, tells `RunEnded`, lets go of the run's folder.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import asct
from asct.diagnostics.model import Diagnostic
from asct.diagnostics.suggest import nearest
from asct.engine.events import EventBus, Listener, RunEnded, RunStarted, now
from asct.engine.host_session import HostSession
from asct.engine.job import estimate
from asct.engine.options import RunOptions
from asct.engine.provenance import git_commit
from asct.engine.services import Services, default_services
from asct.engine.shared import EarlierResults, Shared
from asct.engine.stop import StopRequest, signals
from asct.errors import StoreError, UsageError
from asct.planner.model import Job, ResolvedPlan
from asct.store.earlier import EarlierRuns
from asct.store.layout import RunLayout, run_id
from asct.store.model import JobEntry, Run, Verdict
from asct.store.writer import RunWriter

_GLANCE_S = 0.1
"""How often the main thread looks for a signal or the time limit."""
_INTERRUPT_AGAIN_S = 1.0
"""A host that began a step in the moment of the interruption is told again."""

Render = Callable[[RunLayout], Mapping[str, str]]
RunState = Literal["complete", "incomplete", "interrupted"]


@dataclass(slots=True)
class RunOutcome:
    """A run that has measured and is not yet finished. `signal` is the number of the signal that ended it, if any."""

    layout: RunLayout
    writer: RunWriter
    bus: EventBus
    resolved: ResolvedPlan
    signal: int | None
    started: float
    findings: list[tuple[str | None, Diagnostic]] = field(default_factory=list)

    @property
    def run(self) -> Run:
        """run.json as it stands."""
        return self.writer.run


def apply(
    resolved: ResolvedPlan,
    options: RunOptions,
    collaborators: Services | None = None,
    listeners: Iterable[Listener] = (),
    resume: RunLayout | None = None,
) -> RunOutcome:
    """Measure everything that `resolved` and `options` ask for, or with `resume` what that run still lacks.

    What fails on the way is in the outcome. Raises StoreError when the results folder cannot be made (nothing was
    touched then), SafetyError when another process writes into it, UsageError when `options` select nothing.
    """
    ports = collaborators or default_services()
    jobs = selected_jobs(resolved, options)
    started = time.monotonic()
    writer, earlier = _open_writer(resolved, options, ports, resume)
    try:
        bus = EventBus(writer, listeners)
        shared = Shared(resolved, options, ports, writer, bus, StopRequest(), earlier, _reuse(options, writer))
        for note in writer.notes:
            bus.notice(None, note)
        with signals(shared.stop):
            _measure(shared, jobs, started)
        return RunOutcome(writer.layout, writer, bus, resolved, shared.stop.signal, started, bus.findings)
    except BaseException:
        _abandon(writer)
        raise


def finish_run(outcome: RunOutcome, verdicts: Sequence[Verdict] = (), render: Render | None = None) -> int:
    """Write how the run ended, have the reports rendered, tell the listeners; returns the exit code.

    `render` gets the layout and gives the path of each format it wrote; run.json is whole by then. Raises StoreError
    when run.json cannot be written.
    """
    writer = outcome.writer
    jobs = writer.run.jobs
    strict = {(job.host, job.id): job.strict for job in outcome.resolved.jobs}
    broken = writer.failure is not None
    code = exit_code(jobs, verdicts, strict=strict, findings=broken, signal=outcome.signal)
    reports: Mapping[str, str] = {}
    try:
        writer.finish(
            verdicts=list(verdicts),
            exit_code=code,
            ended_at=now(),
            status=_state(outcome, strict),
            findings=[{**diagnostic.to_json(), "host": host} for host, diagnostic in outcome.findings],
        )
        if render is not None:
            reports = render(outcome.layout)
        elapsed = round(time.monotonic() - outcome.started, 3)
        outcome.bus.last(RunEnded(writer.run.run, _state(outcome, strict), code, elapsed, reports))
    finally:
        writer.close()
    return code


def _state(outcome: RunOutcome, strict: Mapping[tuple[str, str], bool]) -> RunState:
    if outcome.signal is not None:
        return "interrupted"
    lacking = exit_code(outcome.run.jobs, (), strict=strict, findings=outcome.writer.failure is not None)
    return "incomplete" if lacking else "complete"


def selected_jobs(resolved: ResolvedPlan, options: RunOptions) -> dict[str, list[Job]]:
    """Jobs by host in the plan's order, with the jobs that selected ones need; raises UsageError for a name unknown."""
    hosts = dict.fromkeys(job.host for job in resolved.jobs)
    ids = dict.fromkeys(job.id for job in resolved.jobs)
    _known("host", options.hosts, [*hosts])
    _known("benchmark", options.jobs, [*ids])
    wanted: set[str] = set()
    for job in reversed(resolved.jobs):
        chosen = not options.jobs or job.id in options.jobs or job.key in wanted
        if chosen and (not options.hosts or job.host in options.hosts):
            wanted.add(job.key)
            wanted.update(f"{job.host}/{needed}" for needed in job.needs.values())
    found: dict[str, list[Job]] = {}
    for job in resolved.jobs:
        if job.key in wanted:
            found.setdefault(job.host, []).append(job)
    if not found:
        raise UsageError(Diagnostic("E207", "the selection matches no job of the plan", hint="leave out `--host`"))
    return found


def _known(kind: str, names: Sequence[str], known: Sequence[str]) -> None:
    for name in names:
        if name not in known:
            close = nearest(name, known)
            hint = f"did you mean `{close}`?" if close else f"the plan has {', '.join(known)}"
            raise UsageError(Diagnostic("E207", f"the plan has no {kind} `{name}` with jobs", hint=hint))


def _open_writer(
    resolved: ResolvedPlan, options: RunOptions, ports: Services, resume: RunLayout | None
) -> tuple[RunWriter, EarlierResults]:
    if resume is not None:
        from asct.engine.resume import reopen

        return reopen(resolved, resume, ports)
    begun = datetime.now(UTC)
    plan_file = Path(resolved.path) if resolved.path else None
    head = Run(
        run=run_id(begun, resolved.hash),
        plan=resolved.name,
        description=resolved.description,
        title=resolved.report.title or resolved.name,
        label=options.label,
        plan_hash=resolved.hash,
        plan_file=resolved.path,
        tool_version=asct.__version__,
        git_commit=git_commit(plan_file) if plan_file is not None else None,
        started_at=begun.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        command=list(options.command),
    )
    return RunWriter.create(
        options.results, head, resolved.text, ports.freeze(resolved), options.folder
    ), EarlierResults()


def _reuse(options: RunOptions, writer: RunWriter) -> EarlierRuns | None:
    if options.reuse_s is None:
        return None
    from asct.engine.reuse import earlier_runs

    return earlier_runs(options.results, options.reuse_s, writer.layout.root)


def _measure(shared: Shared, jobs: Mapping[str, list[Job]], started: float) -> None:
    sessions = [HostSession(shared, shared.resolved.hosts[host], mine) for host, mine in jobs.items()]
    _note_state(shared, sessions)
    shared.bus.emit(_run_started(shared, jobs))
    workers = max(1, min(shared.options.forks, len(sessions)))
    with ThreadPoolExecutor(workers, thread_name_prefix="host") as pool:
        futures = [pool.submit(session.run) for session in sessions]
        _watch(shared, sessions, futures, started)
    _note_state(shared, sessions)
    _raise_bugs(shared, futures)


def _watch(shared: Shared, sessions: Sequence[HostSession], futures: Sequence[Future[None]], started: float) -> None:
    """Wait for the hosts; pass on signals, the time limit and a broken results tree to all of them."""
    pending = set(futures)
    told = 0.0
    limit = shared.options.timeout_s
    while pending:
        done, pending = wait(pending, _GLANCE_S, return_when=FIRST_EXCEPTION)
        if any(future.exception() is not None for future in done):
            shared.stop.request("store")
        if limit is not None and time.monotonic() - started > limit and not shared.stop.requested:
            shared.stop.request("timeout")
            hint = "raise `--timeout`; `asct resume` measures the rest"
            shared.bus.notice(None, Diagnostic("E618", f"the run reached its limit of {limit:g} s", hint=hint))
        if shared.stop.at_once and time.monotonic() - told > _INTERRUPT_AGAIN_S:
            told = time.monotonic()
            for session in sessions:
                session.interrupt()


def _raise_bugs(shared: Shared, futures: Sequence[Future[None]]) -> None:
    """A results tree that cannot be written ends the run with a finding; anything else is a bug and is raised."""
    for future in futures:
        error = future.exception()
        if error is not None and not isinstance(error, StoreError):
            raise error
    failure = shared.writer.failure
    if failure is not None:
        for diagnostic in failure.diagnostics:
            shared.bus.notice(None, diagnostic)
    elif shared.stop.reason == "fail-fast":
        hint = "`asct resume` goes on from here"
        message = "stopped at the first failed measurement (`--fail-fast`)"
        shared.bus.notice(None, Diagnostic("E619", message, hint=hint))


def _run_started(shared: Shared, jobs: Mapping[str, list[Job]]) -> RunStarted:
    every = [job for mine in jobs.values() for job in mine]
    per_host = {host: sum(len(job.points) * (job.repeats + job.warmup) for job in mine) for host, mine in jobs.items()}
    return RunStarted(
        run=shared.run,
        plan=shared.resolved.name,
        folder=str(shared.writer.layout.root),
        hosts=tuple(jobs),
        jobs=len(every),
        measurements=sum(per_host.values()),
        estimated_s={host: round(sum(estimate(shared, job) for job in mine), 3) for host, mine in jobs.items()},
        per_host=per_host,
    )


def _note_state(shared: Shared, sessions: Sequence[HostSession]) -> None:
    """Hosts, jobs and counts into run.json; on a full disk they are written by `finish_run`."""
    writer = shared.writer
    jobs = [state.entry() for session in sessions for state in session.states]
    totals: Counter[str] = Counter()
    for job in jobs:
        totals.update(job.counts)
    changes: dict[str, Any] = {
        "hosts": [session.entry for session in sessions],
        "jobs": jobs,
        "counts": dict(sorted(totals.items())),
    }
    writer.run = writer.run.model_copy(update=changes)
    if writer.failure is None:
        writer.save()


def _abandon(writer: RunWriter) -> None:
    """A bug, or a tree that broke at the start: say in run.json that the run did not end well, if that is possible."""
    try:
        writer.finish(status="incomplete", exit_code=70, ended_at=now())
    except StoreError:
        pass
    finally:
        writer.close()


OK, EXPECTATION, USAGE, NOT_MEASURED, REFUSED = 0, 1, 2, 3, 4
_MEASURED = ("ok", "noisy")


def exit_code(
    jobs: Iterable[JobEntry],
    verdicts: Iterable[Verdict],
    *,
    strict: Mapping[tuple[str, str], bool] | None = None,
    findings: bool = False,
    signal: int | None = None,
) -> int:
    """128 + signal when interrupted; else the highest of 0, 1, 3 and 4 that applies.

    `strict` maps (host, job id) to whether noisy repeats of that job count as not measured. `findings` says that
    something went wrong outside the jobs (the results tree could not be written).
    """
    if signal is not None:
        return 128 + signal
    codes = {OK}
    for job in jobs:
        codes.add(_of_job(job, bool(strict and strict.get((job.host, job.id)))))
    codes.update(_of_verdict(verdict) for verdict in verdicts)
    if findings:
        codes.add(NOT_MEASURED)
    return max(codes)


def _of_job(job: JobEntry, strict: bool) -> int:
    if job.refused:
        return REFUSED
    measured = _MEASURED[:1] if strict else _MEASURED
    missing = sum(number for status, number in job.counts.items() if status not in measured)
    complete = sum(job.counts.values()) >= job.points * job.repeats
    return NOT_MEASURED if missing or not complete else OK


def _of_verdict(verdict: Verdict) -> int:
    if verdict.outcome == "fail":
        return EXPECTATION if verdict.severity == "fail" else OK
    if verdict.outcome == "unknown":
        return NOT_MEASURED if verdict.if_missing == "fail" else OK
    return OK
