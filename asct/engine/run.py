"""Run a resolved plan on its hosts and write a results tree. Each of at most `--forks` threads measures one host after
another.

A command calls these functions in this order:

1. `run = apply(resolved, options, listeners=..., stop=stop)` measures; afterward, all results are on disk.
2. `verdicts = asct.analysis.expectations.judge(...)` judges the expectations from the stored results, within
  `with judging(run, render):`.
3. `code = finish_run(run, verdicts, render)` writes verdicts and exit code to run.json, calls `render` for the reports,
  emits `RunEnded` and unlocks the run folder.

All of this happens within `with signals(stop):`, so that no signal can end the process in between.
"""

from __future__ import annotations

import json
import re
import time
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import asct
from asct.diagnostics.model import Diagnostic
from asct.diagnostics.wording import wording_of
from asct.disturbances import assess
from asct.engine.again import over_limits, suspected, unmeasured
from asct.engine.events import EventBus, Listener, MeasuringAgain, Notice, RunEnded, RunStarted, now
from asct.engine.host import HostSession
from asct.engine.job import JobRunner, estimate
from asct.engine.options import RunOptions
from asct.engine.preflight import disturbance_notice, measured_scope
from asct.engine.resume import EarlierResults, exports_of, keep_results, reopen
from asct.engine.reuse import earlier_runs, pilot_runs
from asct.engine.services import RunContext, Services, default_services
from asct.engine.stop import StopRequest
from asct.errors import AsctError, ConnectError, HostLocked, HostLost, NotMeasured, StoreError, exhausted
from asct.facts.describe import describe
from asct.plan.model import HostSpec
from asct.planner.freeze import freeze
from asct.planner.model import Job, ResolvedPlan
from asct.sdk.disturbance import subjects
from asct.store.layout import PointKey, RunLayout, run_id
from asct.store.model import HostEntry, HostStatus, JobEntry, Run, Verdict
from asct.store.reader import StoredRun, read_run
from asct.store.writer import RunWriter
from asct.values.grouping import grouped
from asct.values.timestamp import stamp

_POLL_S = 0.1
"""Interval, in seconds, at which the main thread checks for signals and the time limit."""
_INTERRUPT_AGAIN_S = 1.0
"""Seconds until hosts are interrupted again, in case a host was just starting a step at the first interruption.
"""
_FEWER_HOSTS = "reduce `--forks`, then run `asct resume`"
"""What to do if memory or threads run out during a run."""

_STATUSES: dict[type[AsctError], HostStatus] = {
    HostLost: "lost", HostLocked: "locked", ConnectError: "unreachable", NotMeasured: "unfit"
}  # fmt: skip
"""Maps each exception to the status of a host that it makes unusable. The first match applies."""

Render = Callable[[RunLayout], Mapping[str, str]]
RunState = Literal["complete", "incomplete", "interrupted"]


def apply(
    resolved: ResolvedPlan,
    options: RunOptions,
    services: Services | None = None,
    listeners: Iterable[Listener] = (),
    resume: RunLayout | None = None,
    stop: StopRequest | None = None,
) -> RunContext:
    """Measure all points of `resolved` or, with `resume`, only the missing points of that run. `stop` ends the run
    early.

    A failed measurement raises no exception. Raises StoreError if the results folder cannot be created (in that case
    nothing has been changed), and SafetyError if another process is writing to the run.
    """
    services = services or default_services()
    started = time.monotonic()
    writer, stored = _open_writer(resolved, options, resume)
    try:
        earlier = EarlierResults() if stored is None else keep_results(resolved, stored, writer, services)
        earlier = replace(earlier, pilots=pilot_runs(options.results, writer.layout.root))
        if options.reuse_s is not None:
            earlier = replace(earlier, runs=earlier_runs(options.results, options.reuse_s, writer.layout.root))
        stop = stop or StopRequest()
        stop.fail_fast = options.fail_fast
        events = EventBus(writer, listeners, wording_of(resolved.path, writer.layout.root))
        run = RunContext(resolved, services, writer, events, stop, started, options.wait_s, earlier.repeats)
        run.events.notices(None, [*writer.notes, *earlier.findings])
        _measure(run, earlier, options)
        return run
    except BaseException as error:
        _abandon(resolved, writer, error)
        raise


@contextmanager
def judging(run: RunContext, render: Render) -> Iterator[None]:
    """If the body of the `with` statement, which judges the run and measures points again, raises an exception, end the
    run as incomplete."""
    try:
        yield
    except BaseException as error:
        _abandon(run.plan, run.writer, error, lambda layout: _rendered(render, layout, run.stop))
        raise


def finish_run(
    run: RunContext, verdicts: Sequence[Verdict] = (), render: Render | None = None, *, rejected: bool = False
) -> int:
    """Record the end of the run, render the reports and emit `RunEnded`. Returns the exit code.

    `rejected` is true if values from different jobs disagree and are therefore treated as not measured, although each
    job succeeded.

    `render` returns the paths of the reports, keyed by format. When it is called, run.json is complete. If it raises an
    exception, the run ends as incomplete and without reports. Raises StoreError if run.json cannot be written.

    A signal that arrives after run.json is complete changes neither the outcome nor the exit code.
    """
    writer = run.writer
    jobs = writer.run.jobs
    broken = writer.failure is not None
    signal = run.stop.signal
    code = exit_code(jobs, verdicts, findings=broken or rejected, signal=signal)
    state = _state(run, signal)
    try:
        writer.finish(
            verdicts=list(verdicts),
            exit_code=code,
            ended_at=now(),
            status=state,
            findings=[{**diagnostic.to_json(), "host": host} for host, diagnostic in run.events.findings],
        )
        _report(writer, run.events, RunEnded(run.id, state, code, 0.0), run.started, render, run.stop)
    except BaseException as error:
        _abandon(run.plan, writer, error)
        raise
    writer.close()
    return code


def report_again(stored: StoredRun, render: Render, listeners: Iterable[Listener], stop: StopRequest) -> int:
    """Render the reports of a complete run that lacks some of them or its checksums, for example because it was killed
    while they were written, and emit `RunEnded`. Nothing is measured. Returns the exit code of the run.

    Raises StoreError if the run cannot be written, and SafetyError if another process is writing to it.
    """
    started, run = time.monotonic(), stored.run
    writer = RunWriter.reopen(stored.layout, run.model_copy(update={"sealed": False}), keep_reports=True)
    try:
        writer.save()
        events = EventBus(writer, listeners, wording_of(run.plan_file, stored.layout.root))
        ended = RunEnded(run.run, "complete", run.exit_code or OK, 0.0)
        _report(writer, events, ended, started, render, stop)
    finally:
        writer.close()
    return ended.exit_code


def _report(
    writer: RunWriter, events: EventBus, ended: RunEnded, started: float, render: Render | None, stop: StopRequest
) -> None:
    """Render the reports of a run whose run.json is complete, emit `ended` with their paths, and write the checksums.
    The second SIGINT ends the rendering."""
    reports: Mapping[str, str] = {}
    try:
        if render is not None:
            reports = _rendered(render, writer.layout, stop)
    except KeyboardInterrupt:
        hint = "`asct resume` writes them"
        lost = Diagnostic("E901", "interrupted before all reports were written", hint=hint, severity="warning")
        events.emit_last(Notice(None, events.reword(lost)))
    events.emit_last(replace(ended, elapsed_s=round(time.monotonic() - started, 3), reports=reports))
    writer.seal()


def _rendered(render: Render, layout: RunLayout, stop: StopRequest) -> Mapping[str, str]:
    """Render the reports. Raises KeyboardInterrupt at the second SIGINT."""
    with stop.reporting():
        return render(layout)


def _state(run: RunContext, signal: int | None) -> RunState:
    if signal is not None:
        return "interrupted"
    lacking = exit_code(run.writer.run.jobs, (), findings=run.writer.failure is not None)
    return "incomplete" if lacking else "complete"


def _open_writer(
    resolved: ResolvedPlan, options: RunOptions, resume: RunLayout | None
) -> tuple[RunWriter, StoredRun | None]:
    """Return the writer, and the run as it was if it is resumed."""
    if resume is not None:
        return reopen(resolved, resume)
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
        started_at=stamp(begun, "milliseconds"),
        command=list(options.command),
    )
    frozen = json.dumps(freeze(resolved), indent=1, allow_nan=False)
    return RunWriter.create(options.results, head, resolved.text, frozen, options.folder), None


class HostRunner:
    """Runs all jobs of one host in a separate thread, one measurement at a time. `entry` is the host's part of
    run.json."""

    def __init__(self, run: RunContext, spec: HostSpec, jobs: Sequence[Job], earlier: EarlierResults) -> None:
        self._run = run
        self.session = HostSession(run, spec, earlier.sessions.get(spec.name, ""))
        self.jobs = [JobRunner(run, self.session, job, earlier, last=job is jobs[-1]) for job in jobs]
        self._provided = {job: found for (host, job), found in earlier.exports.items() if host == spec.name}
        self.entry = HostEntry(
            name=spec.name, transport=spec.transport, address=spec.address, status="skipped", reason="not started"
        )

    def run(self) -> None:
        """Open the host, check and measure its jobs, and close it. Failures become notices; only StoreError is
        raised."""
        if self._run.stop.requested:
            return
        try:
            self._measure()
        except (NotMeasured, HostLocked) as error:
            self._failed(error, next(status for kind, status in _STATUSES.items() if isinstance(error, kind)))
            for job in self.jobs:
                job.entry.refused |= isinstance(error, HostLocked)
        except AsctError:
            raise
        except Exception as error:
            if (known := exhausted(error, _FEWER_HOSTS)) is None:
                raise
            self._failed(known, "unfit")
        finally:
            self.session.close()

    def _measure(self) -> None:
        self.session.open()
        self._set("ok", "")
        self.entry.description = describe(self.session.facts)
        for job in self.jobs:
            job.preflight()
        if not self._run.again:
            self._report_disturbances()
        self.session.host.plan_jobs([request for job in self.jobs if (request := job.request()) is not None])
        for job in self.jobs:
            exports = {**self._provided, **{one.job.id: one.exports for one in self.jobs}}
            job.run(exports, {one.job.id: one.entry.note for one in self.jobs})
            if not self.session.is_open:
                self._lost()
                break

    def _report_disturbances(self) -> None:
        """Store the disturbances on the host, and emit a notice if they affect its jobs. Raises HostLost."""
        host = self.session.host
        found = assess(self.session.facts, scope=measured_scope(host, (job.needs for job in self.jobs)))
        writer = self._run.writer
        writer.document(writer.layout.disturbances(self.entry.name), found, sync=False)
        line = disturbance_notice(found, {word for job in self.jobs for word in subjects(job.benchmark)})
        if line is not None:
            self._run.events.notice(self.entry.name, line)

    def _failed(self, error: AsctError, status: HostStatus) -> None:
        if self._run.stop.requested:
            self._set("skipped", "the run was stopped")
            return
        self._run.events.notices(self.entry.name, error.diagnostics)
        self._set(status, "; ".join(item.cause for item in error.diagnostics))
        for job in self.jobs:
            job.entry.note = job.entry.note or error.diagnostics[0].cause

    def _lost(self) -> None:
        reason = "the connection was lost and could not be restored"
        message = f"host {self.entry.name}: {reason}; its remaining measurements are skipped"
        hint = "`asct resume` measures them when the host can be reached again"
        finding = Diagnostic("E610", message, hint="" if self._run.again else hint)
        self._run.events.notice(self.entry.name, finding)
        self._set("lost", f"{finding.code} {reason}")
        for job in self.jobs:
            job.entry.note = job.entry.note or (finding.cause if job.document().lacking() else "")

    def not_written(self, cause: str) -> None:
        """Record that measurements are missing because the results tree cannot be written, whichever host noticed it
        first. A host that was locked for the run could be used."""
        if self.entry.status == "skipped":
            self._set(*(("ok", "") if self.session.generation else ("skipped", cause)))
        for job in self.jobs:
            job.entry.note = job.entry.note or (cause if job.document().lacking() else "")

    def _set(self, status: HostStatus, reason: str) -> None:
        self.entry.status, self.entry.reason = status, reason


def _measure(run: RunContext, earlier: EarlierResults, options: RunOptions) -> None:
    jobs = grouped(run.plan.jobs, lambda job: job.host)
    hosts = [HostRunner(run, run.plan.hosts[host], mine, earlier) for host, mine in jobs.items()]
    _save_state(run, hosts)
    run.events.emit(_run_started(run, jobs))
    futures = _finished(run, hosts, options)
    _save_state(run, hosts)
    _raise_bugs(run, futures)


def measure_again(run: RunContext, points: Collection[PointKey], options: RunOptions) -> dict[PointKey, str]:
    """Measure points again, with as many repeats as in the plan. The new repeats are numbered after those in the plan.
    Repeats that an earlier part of the run already measured again are kept, as with `asct resume`.

    Returns the points that were not measured again, with the reason: the run was stopped, measuring them would exceed a
    plan limit, the host could not be used, or a repeat failed. Call this function within `judging`.
    """
    if run.stop.requested:
        return dict.fromkeys(points, "the run was stopped")
    stored = read_run(run.writer.layout.root)
    problems = over_limits(run, suspected(run.plan.jobs, points), options.forks)
    exports = exports_of(run.plan, stored.records(), run.services)
    earlier = EarlierResults(run.measured, exports, pilots=pilot_runs(options.results, run.writer.layout.root))
    run = replace(run, again=True)
    jobs = grouped(suspected(run.plan.jobs, set(points) - set(problems)), lambda job: job.host)
    hosts = [HostRunner(run, run.plan.hosts[host], mine, earlier) for host, mine in jobs.items()]
    if hosts:
        run.events.emit(_measuring_again(run, jobs))
        _raise_bugs(run, _finished(run, hosts, options))
    for host in hosts:
        for job in host.jobs:
            reason = job.entry.note or ("" if host.entry.status == "ok" else host.entry.reason)
            problems.update(unmeasured(stored, job.job, reason))
    return problems


def _finished(run: RunContext, hosts: Sequence[HostRunner], options: RunOptions) -> list[Future[None]]:
    """Measure all hosts, up to `options.forks` at a time, and return the finished threads."""
    with ThreadPoolExecutor(max(1, min(options.forks, len(hosts))), thread_name_prefix="host") as pool:
        futures = _started(run, pool, hosts, options.forks)
        _wait(run, hosts, futures, options.timeout_s)
    if run.writer.failure is not None and run.stop.reason == "store":
        for host in hosts:
            host.not_written(run.writer.failure.diagnostics[0].cause)
    return futures


def _started(run: RunContext, pool: ThreadPoolExecutor, hosts: Sequence[HostRunner], forks: int) -> list[Future[None]]:
    """Start up to `forks` threads, each of which measures one host after another until none are left.

    If the system cannot start all threads, fewer hosts are measured at a time. Raises RuntimeError if no thread can be
    started.
    """
    waiting = deque(hosts)

    def measure_hosts() -> None:
        while True:
            try:
                host = waiting.popleft()
            except IndexError:  # no host is left
                return
            host.run()

    futures: list[Future[None]] = []
    threads = min(forks, len(hosts))
    try:
        while len(futures) < threads:
            futures.append(pool.submit(measure_hosts))
    except RuntimeError as error:
        known = exhausted(error, _FEWER_HOSTS)
        if known is None or not futures:
            raise
        message = f"measuring {len(futures)} of {threads} hosts at a time: {known.diagnostics[0].message}"
        run.events.notice(None, replace(known.diagnostics[0], message=message, severity="warning"))
    return futures


def _wait(run: RunContext, hosts: Sequence[HostRunner], futures: Sequence[Future[None]], limit_s: float | None) -> None:
    """Wait for the hosts. A signal, the time limit or an unwritable results tree interrupts all hosts."""
    pending = set(futures)
    interrupted = 0.0
    while pending:
        done, pending = wait(pending, _POLL_S, return_when=FIRST_EXCEPTION)
        if any(future.exception() is not None for future in done):
            run.stop.request("store")
        if limit_s is not None and time.monotonic() - run.started > limit_s and not run.stop.requested:
            run.stop.request("timeout")
            hint = "increase `--timeout`" + (
                "" if run.again else ", or run `asct resume` to measure the remaining points"
            )
            run.events.notice(None, Diagnostic("E618", f"the run reached its time limit of {limit_s:g} s", hint=hint))
        if run.stop.at_once and time.monotonic() - interrupted > _INTERRUPT_AGAIN_S:
            interrupted = time.monotonic()
            for host in hosts:
                host.session.interrupt()


def _raise_bugs(run: RunContext, futures: Sequence[Future[None]]) -> None:
    """Emit a notice if the results tree could not be written. Re-raise any other exception, because it is a bug."""
    for future in futures:
        error = future.exception()
        if error is not None and not isinstance(error, StoreError):
            raise error
    failure = run.writer.failure
    if failure is not None:
        run.events.notices(None, failure.diagnostics)
    elif run.stop.reason == "fail-fast":
        hint = "" if run.again else "`asct resume` measures the remaining points"
        message = "stopped at the first failed measurement (`--fail-fast`)"
        run.events.notice(None, Diagnostic("E619", message, hint=hint))


def _measuring_again(run: RunContext, jobs: Mapping[str, Sequence[Job]]) -> MeasuringAgain:
    per_host = _per_host(jobs)
    return MeasuringAgain(
        points=sum(len(job.points) for mine in jobs.values() for job in mine),
        hosts=tuple(jobs),
        measurements=sum(per_host.values()),
        estimated_s=_estimated(run, jobs),
        per_host=per_host,
    )


def _per_host(jobs: Mapping[str, Sequence[Job]]) -> dict[str, int]:
    return {host: sum(len(job.points) * (job.repeats + job.warmup) for job in mine) for host, mine in jobs.items()}


def _estimated(run: RunContext, jobs: Mapping[str, Sequence[Job]]) -> dict[str, float]:
    return {host: round(sum(estimate(run.services, job) for job in mine), 3) for host, mine in jobs.items()}


def _run_started(run: RunContext, jobs: Mapping[str, list[Job]]) -> RunStarted:
    per_host = _per_host(jobs)
    return RunStarted(
        run=run.id,
        plan=run.plan.name,
        folder=str(run.writer.layout.root),
        hosts=tuple(jobs),
        jobs=sum(len(mine) for mine in jobs.values()),
        measurements=sum(per_host.values()),
        estimated_s=_estimated(run, jobs),
        per_host=per_host,
    )


def _save_state(run: RunContext, hosts: Sequence[HostRunner]) -> None:
    """Write hosts, jobs and counts to run.json. If the disk is full, leave this to `finish_run`."""
    writer = run.writer
    jobs = [job.document() for host in hosts for job in host.jobs]
    totals: Counter[str] = Counter()
    for job in jobs:
        totals.update(job.counts)
    changes: dict[str, Any] = {
        "hosts": [host.entry for host in hosts],
        "jobs": jobs,
        "counts": dict(sorted(totals.items())),
    }
    writer.run = writer.run.model_copy(update=changes)
    if writer.failure is None:
        writer.save()


def _abandon(plan: ResolvedPlan, writer: RunWriter, error: BaseException, render: Render | None = None) -> None:
    """Mark the run as incomplete in run.json, because of a bug or because the results tree cannot be written or read.
    Reports that have been written are removed, because they state another outcome.

    Raises NotMeasured if `error` means that this machine has run out of memory or threads.
    """
    lacking = exhausted(error, _FEWER_HOSTS)
    known = error if isinstance(error, AsctError) else lacking
    try:
        writer.discard_reports()
        writer.finish(status="incomplete", exit_code=70 if known is None else known.exit_code, ended_at=now())
        if render is not None:
            with suppress(Exception, KeyboardInterrupt):  # this must not hide the original error
                render(writer.layout)
        writer.seal()
    except StoreError:
        pass
    finally:
        writer.close()
    if lacking is not None:
        raise NotMeasured(*map(wording_of(plan.path, writer.layout.root), lacking.diagnostics)) from error


OK, EXPECTATION, NOT_MEASURED, REFUSED = 0, 1, 3, 4


def exit_code(
    jobs: Iterable[JobEntry],
    verdicts: Iterable[Verdict],
    *,
    findings: bool = False,
    signal: int | None = None,
) -> int:
    """Return the exit code: 128 + the signal number if the run was interrupted, otherwise the highest of 0, 1, 3 and 4
    that applies.

    `findings` is True if something failed outside the jobs: the results tree could not be written, or values were
    rejected because they disagree.
    """
    if signal is not None:
        return 128 + signal
    return max(OK, NOT_MEASURED if findings else OK, *map(_of_job, jobs), *map(_of_verdict, verdicts))


def _of_job(job: JobEntry) -> int:
    return REFUSED if job.refused else NOT_MEASURED if job.lacking() else OK


def _of_verdict(verdict: Verdict) -> int:
    if verdict.outcome == "fail" and verdict.severity == "fail":
        return EXPECTATION
    return NOT_MEASURED if verdict.outcome == "unknown" and verdict.if_missing == "fail" else OK


_HASH = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


def git_commit(plan: Path) -> str | None:
    """Return the commit checked out in the folder that contains `plan`, or None if there is no repository or it cannot
    be read.

    The commit is read from .git without starting any program or hook.
    """
    try:
        entry = next((folder / ".git" for folder in plan.resolve().parents if (folder / ".git").exists()), None)
        if entry is None:
            return None
        if entry.is_file():  # a worktree or submodule: `gitdir: PATH`
            entry = (entry.parent / _line(entry).removeprefix("gitdir:").strip()).resolve()
        head = _line(entry / "HEAD")
        return _commit_of(entry, head[5:]) if head.startswith("ref: ") else _hash(head)
    except (OSError, ValueError):
        return None


def _line(path: Path) -> str:
    return path.read_text(encoding="utf-8").strip()


def _commit_of(folder: Path, branch: str) -> str | None:
    common = (folder / _line(folder / "commondir")).resolve() if (folder / "commondir").is_file() else folder
    for place in (folder, common):
        if ".." not in branch and (place / branch).is_file():
            return _hash(_line(place / branch))
    packed = common / "packed-refs"
    rows = [row.partition(" ") for row in _line(packed).splitlines()] if packed.is_file() else []
    return next((_hash(commit) for commit, _, ref in rows if ref == branch), None)


def _hash(text: str) -> str | None:
    return text if _HASH.fullmatch(text) else None
