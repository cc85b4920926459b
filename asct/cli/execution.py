"""Runs a resolved plan as `apply` and `run` do: measure, judge, finish, report, recap."""

from __future__ import annotations

import gc
import os
import select
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from asct.cli.options import PROGRAM, Settings
from asct.cli.words import counted

if TYPE_CHECKING:
    from asct.engine.options import RunOptions
    from asct.engine.run import RunOutcome
    from asct.planner.model import ResolvedPlan
    from asct.store.layout import RunLayout
    from asct.store.model import Verdict


@dataclass(frozen=True)
class Outcome:
    """Where a run lies and how it ended."""

    folder: Path
    exit_code: int


def execute(
    settings: Settings,
    resolved: ResolvedPlan,
    options: RunOptions,
    resume: RunLayout | None = None,
    *,
    ci: bool = False,
) -> Outcome:
    """Run one plan to its end, or what the run in `resume` lacks, and print the recap.

    Raises StoreError when nothing can be written at all.
    """
    from asct.cli.progress import choose
    from asct.cli.recap import recap
    from asct.cli.reporting import write_what_can_be
    from asct.cli.runlog import RunLog
    from asct.engine.run import apply, finish_run

    reports: dict[str, Path] = {}

    def render(layout: RunLayout) -> Mapping[str, str]:
        names = (*resolved.report.formats, "junit") if ci else resolved.report.formats
        reports.update(write_what_can_be(settings.console, layout.root, names))
        return {name: str(path) for name, path in reports.items()}

    _rarely_collect()
    with RunLog(settings.log_level) as log, choose(settings.console) as progress:
        outcome = apply(
            resolved, replace(options, command=(PROGRAM, *sys.argv[1:])), listeners=[log, progress], resume=resume
        )
        if outcome.signal is not None:
            _discard_closed_outputs()
        code = finish_run(outcome, _judged(resolved, outcome), render)
    recap(settings.console, outcome.run, outcome.layout.root, reports)
    if ci:
        _tell_ci(settings, outcome.layout)
    return Outcome(outcome.layout.root, code)


def _rarely_collect() -> None:
    """A run makes many small objects and hardly a cycle: looking for some takes a tenth of a short point's time."""
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)


def resume_run(
    settings: Settings, name: str, options: RunOptions, plan: ResolvedPlan | None = None, *, ci: bool = False
) -> int:
    """Measure what a run lacks, with the plan as it was resolved then; returns the exit code.

    Raises StoreError when the run or its plan cannot be read, and when it measured something else than `plan`.
    """
    from asct.engine.resume import check_plan, missing
    from asct.planner.freeze import thaw
    from asct.store.find import open_run

    stored = open_run(options.results, name)
    resolved = plan or thaw(stored.resolved())
    check_plan(resolved, stored)
    lacking = len(missing(resolved, stored.layout))
    settings.console.line(f"{stored.layout.root}: {counted(lacking, 'measurement')} missing")
    whole = not lacking and stored.run.status == "complete" and not stored.torn()
    if whole and stored.run.exit_code is not None:
        return stored.run.exit_code
    return execute(settings, resolved, options, stored.layout, ci=ci).exit_code


def _discard_closed_outputs() -> None:
    """Writing to a terminal that was closed fails; the run is finished nonetheless, with what it prints discarded."""
    for stream in (sys.stdout, sys.stderr):
        poller = select.poll()
        poller.register(stream.fileno(), 0)  # hang-ups and errors are reported without being asked for
        if poller.poll(0):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _judged(resolved: ResolvedPlan, outcome: RunOutcome) -> list[Verdict]:
    from asct.analysis.expectations import judge
    from asct.store.reader import read_run

    if not resolved.checks:
        return []
    stored = read_run(outcome.layout.root)
    strict = [job.key for job in resolved.jobs if job.strict]
    return judge(resolved.checks, stored.records(), outcome.run, stored.facts(), strict=strict)


def _tell_ci(settings: Settings, layout: RunLayout) -> None:
    """Under GitHub Actions: annotations on stdout, and the summary into the job's summary, below its limit of 1 MiB."""
    if not os.environ.get("GITHUB_ACTIONS"):
        return
    from asct.analysis.view import open_view
    from asct.errors import StoreError
    from asct.export import render
    from asct.registry import installed
    from asct.store.files import writing

    lines = render(open_view(layout.root, installed()), "github")
    settings.console.annotations(str(lines).rstrip("\n"))
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if summary and layout.markdown.exists():
        try:
            with writing(Path(summary)), Path(summary).open("a", encoding="utf-8") as target:
                target.write(layout.markdown.read_text(encoding="utf-8"))
        except StoreError as error:  # what was measured stands in the run
            settings.console.diagnostics(error.diagnostics)
