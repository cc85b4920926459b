"""Run a resolved plan for `apply`, `run` and `resume`: measure, judge, write the reports and print a summary."""

from __future__ import annotations

import gc
import logging
import shlex
import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from asct.analysis.agreement import agreed
from asct.analysis.baseline import find_baseline
from asct.analysis.confirmation import confirmed, suspects
from asct.analysis.expectations import judge, with_units
from asct.analysis.groups import gather
from asct.analysis.losses import losses_of
from asct.analysis.view import RunView
from asct.cli.ci import folded, publish, report_names
from asct.cli.options import PROGRAM, GlobalOptions
from asct.cli.progress import choose, describe, repeat_line
from asct.cli.reports import view_of
from asct.cli.streams import continue_without_reader
from asct.cli.summary import print_summary
from asct.diagnostics.model import Diagnostic
from asct.diagnostics.render import one_line
from asct.engine import events
from asct.engine.options import RunOptions
from asct.engine.rebuild import survey
from asct.engine.resume import check_plan, missing
from asct.engine.run import apply, finish_run, judging, measure_again, report_again
from asct.engine.services import RunContext
from asct.engine.stop import StopRequest, signals
from asct.errors import AsctError, Interrupted, PlanError, exhausted
from asct.export import get as report_format
from asct.export import write as write_report
from asct.planner.freeze import thaw
from asct.planner.model import ResolvedPlan
from asct.registry import installed
from asct.store.documents import store_error, way_out
from asct.store.files import then_run
from asct.store.find import open_run
from asct.store.layout import RunLayout
from asct.store.model import Verdict
from asct.store.outputs import LogFile, open_logs
from asct.store.reader import StoredRun, read_run
from asct.values.text import counted, printable

_FORMAT = "%(asctime)s %(levelname)s %(message)s"
_LEVELS = {"error": logging.ERROR, "warning": logging.WARNING, "note": logging.INFO}


@dataclass(frozen=True)
class CommandOutcome:
    """The run folder and the exit code of the command."""

    folder: Path
    exit_code: int


def execute(
    options: GlobalOptions,
    resolved: ResolvedPlan,
    how: RunOptions,
    *,
    ci: bool = False,
    resume: RunLayout | None = None,
    results: bool = True,
) -> CommandOutcome:
    """Run a plan, or measure what is missing in the run `resume`, and print a summary. `results` determines whether the
    summary contains the key results; it should be false if the caller prints all results.

    With `ci`, also write and print what CI servers read (`cli/ci.py`). Raises StoreError if the run cannot be written.
    """
    reports = _Reports(options, resolved, ci)
    gc.freeze()  # the modules and the plan exist until the end of the run, so scanning them would be useless
    with _ending(reports, results=results) as stop:
        with _listeners(options, resolved) as listeners:
            how = replace(how, command=(PROGRAM, *sys.argv[1:]))
            with folded(options.console, f"measure {resolved.name}") if ci else nullcontext():
                run = apply(resolved, how, listeners=listeners, resume=resume, stop=stop)
            with judging(run, reports.render):
                verdicts, rejected = _judged(resolved, run, how)
            code = finish_run(run, verdicts, reports.render, rejected=rejected)
        options.end_run(code)
    return CommandOutcome(run.writer.layout.root, code)


@contextmanager
def _ending(reports: _Reports, *, results: bool = True) -> Iterator[StopRequest]:
    """While the body ends a run, let signals request its end, which the body notes with `end_run`. Then print the
    summary. Raises Interrupted if a signal came too late to interrupt the run, but the command has further runs."""
    options = reports.options
    continue_without_reader()
    stop = StopRequest()
    with signals(stop):
        yield stop
        with stop.reporting():
            reports.show(results=results)
    if stop.signal is not None and options.runs_left:
        raise Interrupted(stop.signal)


@contextmanager
def _listeners(options: GlobalOptions, resolved: ResolvedPlan) -> Iterator[list[events.Listener]]:
    """Yield the log and the display."""
    local = {name for name, host in resolved.hosts.items() if host.transport == "local"}
    with RunLog(options.log_level) as log, choose(options.console, local) as progress:
        yield [log, progress]


def resume_run(
    options: GlobalOptions, name: str, how: RunOptions, *, ci: bool, plan: ResolvedPlan | None = None
) -> int:
    """Measure what is missing in a run, using the plan as resolved for that run. Return the exit code.

    Raises StoreError if the run or its plan cannot be read, or if the run does not belong to `plan`.
    """
    stored = open_run(how.results, name)
    resolved = plan or _plan_of(stored)
    check_plan(resolved, stored)
    found = survey(stored, installed())
    number = len(missing(resolved, found))
    options.console.line(f"{stored.layout.root}: {counted(number, 'measurement')} missing")
    complete = not (number or found.differs or stored.torn()) and stored.run.status == "complete"
    if not complete or stored.run.exit_code is None:
        return execute(options, resolved, how, ci=ci, resume=stored.layout).exit_code
    reports, code = _Reports(options, resolved, ci), stored.run.exit_code
    with _ending(reports) as stop:
        if stored.run.sealed and reports.are_in(stored.layout.root):
            if options.json:
                _repeat_last_event(options, stored)
            if ci or not options.json:
                reports.view = view_of(stored.layout.root)
        else:
            with _listeners(options, resolved) as listeners:
                code = report_again(stored, reports.render, listeners, stop)
        options.end_run(code)
    return code


class _Reports:
    """The reports that a run of a plan writes, and its summary."""

    def __init__(self, options: GlobalOptions, resolved: ResolvedPlan, ci: bool) -> None:
        self.options = options
        self.view: RunView | None = None
        """The run as it is shown, or None if it is not shown."""
        self._ci = ci
        self._paths: dict[str, Path] = {}
        formats = resolved.report.formats
        self._formats = report_names(formats) if ci else tuple(dict.fromkeys(formats))

    def render(self, layout: RunLayout) -> Mapping[str, str]:
        """Write the reports, and return their paths, keyed by format."""
        view = view_of(layout.root)
        for name in self._formats:
            try:
                paths = write_report(view, name, layout.root)
            except Exception as problem:  # an error in a report must not hide the results
                known = problem if isinstance(problem, AsctError) else exhausted(problem)
                if known is None:
                    raise
                command = f"{PROGRAM} report {shlex.quote(str(layout.root))}"
                self.options.console.diagnostics([then_run(item, command) for item in known.diagnostics])
            else:  # a run without values has no CSV files and no pictures
                if paths:
                    self._paths[name] = paths[0]
        self.view = view
        return {name: str(path) for name, path in self._paths.items()}

    def are_in(self, root: Path) -> bool:
        """Find the reports in the run folder `root`. Return whether every report that consists of one file exists."""
        paths = {name: root / str(report_format(name).FILE) for name in self._formats}
        self._paths = {name: path for name, path in paths.items() if path.is_file()}
        return all(name in self._paths or "<" in path.name for name, path in paths.items())

    def show(self, *, results: bool) -> None:
        """Print the summary and what CI servers read."""
        if self.view is not None:
            print_summary(self.options.console, self.view, self._paths, results=results)
            if self._ci:
                publish(self.options.console, self.view)


def _repeat_last_event(options: GlobalOptions, stored: StoredRun) -> None:
    """Print the event that ended the run, as `JsonLines` did at that time. The journal adds the time to each event."""
    ends = [event for event in stored.journal() if event.get("t") == events.RunEnded.t]
    for event in ends[-1:]:
        options.console.json_line({name: value for name, value in event.items() if name != "at"})


def _plan_of(stored: StoredRun) -> ResolvedPlan:
    """Return the resolved plan of a run. Raises StoreError if it was modified, and PlanError if the run was
    imported."""
    body = stored.resolved()
    try:
        return thaw(body)
    except PlanError as problem:
        if any(item.code == "E260" for item in problem.diagnostics):
            raise
        path = str(stored.layout.resolved)
        raise store_error("E508", f"{path} was modified after the run started", way_out(path)) from problem


def _judged(resolved: ResolvedPlan, run: RunContext, how: RunOptions) -> tuple[list[Verdict], bool]:
    """Return the verdicts, and whether any value from a `strict` job disagrees with another value in the run.

    Values that seem to have regressed are measured again, unless the plan says otherwise.
    """
    strict = [job.key for job in resolved.jobs if job.strict]
    if not resolved.checks and not strict:
        return [], False
    stored = read_run(run.writer.layout.root)
    facts = stored.facts()
    records, found = agreed(stored.looks()[0], stored.resolved(), facts, installed())
    lost = losses_of(run.writer.run, resolved, stored.journal)
    baseline = find_baseline(resolved.baseline, run.writer.layout.root, installed()) if resolved.baseline else None
    places = gather(records, found)
    judged = judge(resolved.checks, places, run.writer.run, facts, strict=strict, losses=lost, baseline=baseline)
    verdicts = with_units(judged, run.writer.run, installed())
    if baseline is not None and resolved.confirm and (doubtful := suspects(verdicts, places)):
        problems = measure_again(run, {item.point for item in doubtful}, how)
        again = gather(read_run(run.writer.layout.root).looks()[1])
        verdicts = confirmed(verdicts, doubtful, again, baseline, problems)
    rejected = [side for side in found if f"{side.host}/{side.id}" in strict]
    for side in rejected:
        message = (
            f"{side.id} measured the {side.meaning}; with `strict`, values that disagree are treated as not measured"
        )
        hint = "reduce other activity on the host and measure both again; see `asct explain disagrees`"
        run.events.notice(side.host, Diagnostic("E617", message, hint=hint, severity="warning"))
    return verdicts, bool(rejected)


class RunLog(AbstractContextManager["RunLog"]):
    """A listener that writes every event, with a timestamp, to the run's asct.log and to `--log-file`."""

    def __init__(self, level: str) -> None:
        self._log = logging.getLogger(PROGRAM)
        self._level_before = self._log.level
        self._log.setLevel(level.upper())
        self._handler: logging.Handler | None = None

    def __call__(self, event: events.Event) -> None:
        if isinstance(event, events.RunStarted):
            self._open(Path(event.folder) / "asct.log")
        diagnostic = getattr(event, "diagnostic", None)
        if diagnostic is not None:
            host = getattr(event, "host", None) or "run"
            self._write(_LEVELS[diagnostic.severity], f"{host}: {one_line(diagnostic)}")
        elif isinstance(event, events.PointEnded):
            self._write(logging.DEBUG, repeat_line(event))
        elif isinstance(event, events.RunEnded):
            self._write(logging.INFO, f"{event.status}, exit code {event.exit_code}, {event.elapsed_s:.1f} s")
        elif text := describe(event):
            self._write(logging.INFO, text)

    def _write(self, level: int, text: str) -> None:
        """Log one line without control characters, so that output from a host cannot forge lines or control a
        terminal."""
        self._log.log(level, "%s", printable(text))

    def _open(self, path: Path) -> None:
        if path.resolve() in open_logs():  # `--log-file` is set to the same file, which is already open
            return
        try:
            # errors are ignored: the journal contains the same, and the store reports a full disk
            self._handler = LogFile(path, lambda _: None)
        except OSError:
            return
        self._handler.setFormatter(logging.Formatter(_FORMAT))
        self._log.addHandler(self._handler)

    def __exit__(self, *_: object) -> None:
        if self._handler is not None:
            self._log.removeHandler(self._handler)
            self._handler.close()
        self._log.setLevel(self._level_before)
