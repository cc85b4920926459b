"""The problems of a run, with their locations in the plan: expectations that were not met, points that were not
measured, and warnings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from asct.analysis.agreement import planned_jobs
from asct.analysis.expectations import is_blocking
from asct.analysis.grid import coordinates_text
from asct.analysis.outcomes import planned, share
from asct.analysis.provenance import failures_of, remarks_of
from asct.analysis.report import build
from asct.analysis.verdict import measured_text, summarize, word_of
from asct.analysis.view import RunView
from asct.diagnostics.model import Diagnostic
from asct.diagnostics.render import LEVELS, Level
from asct.store.model import Verdict

_WORDS: Final = {
    "fail": "failed", "warning": "not met", "info": "not met", "unconfirmed": "not confirmed",
    "inconclusive": "inconclusive",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem, as shown to readers of a CI job's results. Errors are the problems that cause a nonzero exit code.

    `check` names the kind of problem. `identity` is the same in every run that has this problem, regardless of the
    measured values.
    """

    level: Level
    check: str
    title: str
    message: str
    file: str = ""
    line: int | None = None
    column: int | None = None
    identity: tuple[str, ...] = ()


def problems_of(view: RunView) -> list[Problem]:
    """Return the problems of a run. The result contains an error if and only if the exit code is not 0."""
    found = [*_expectations(view), *_points(view), *_warnings(view)]
    if view.run.exit_code == 0:  # errors such as a failed warm-up do not fail the run
        return [replace(item, level="warning") if item.level == "error" else item for item in found]
    if all(item.level != "error" for item in found):
        found.append(Problem("error", "run", "asct", summarize(view).sentence, view.run.plan_file, identity=("run",)))
    return found


def problem_of(item: Diagnostic) -> Problem:
    """Convert a diagnostic to a problem whose text includes the hint."""
    file, line, column = (item.span.file, item.span.line, item.span.column) if item.span else ("", None, None)
    text = item.message + (f" ({item.hint})" if item.hint else "")
    return Problem(LEVELS[item.severity], item.code, item.code, text, file, line, column)


def _expectations(view: RunView) -> Iterable[Problem]:
    for verdict in view.run.verdicts:
        grave = is_blocking(verdict)
        if word_of(verdict) in ("pass", "not planned") or (verdict.severity == "info" and not grave):
            continue
        check = f"expectation {_WORDS.get(word_of(verdict), 'unknown')}"
        name, at = f"{verdict.id}.{verdict.metric}", coordinates_text(verdict.at)
        yield Problem(
            "error" if grave else "warning", check.replace(" ", "-"), f"{check}: {name}", _verdict_text(verdict, at),
            verdict.file or view.run.plan_file, verdict.line, identity=(check, name, at, verdict.host or ""),
        )  # fmt: skip


def _verdict_text(verdict: Verdict, at: str) -> str:
    host = f"host {verdict.host}" if verdict.host else ""
    return "; ".join(filter(None, (measured_text(verdict), ", ".join(filter(None, (at, host))), verdict.reason)))


def _points(view: RunView) -> Iterable[Problem]:
    entries = planned_jobs(view.resolved)
    for job in view.jobs:
        file, line = _location(entries.get((job.entry.host, job.entry.id), {}), view.run.plan_file)
        for failure in failures_of(view.root, job):
            text = f"{failure.label}: {failure.message or failure.status}"
            point = failure.folder.rpartition("/")[0]
            yield Problem("error", failure.status, f"{failure.status}: {job.key}", text, file, line,
                          identity=(failure.status, job.key, point))  # fmt: skip
        if noisy := 0 if job.entry.strict else job.entry.counts.get("noisy", 0):
            text = f"{share(noisy, planned([job.entry]), 'measurement')}: {'; '.join(remarks_of(job)[:1])}"
            yield Problem("warning", "noisy", f"noisy: {job.key}", text, file, line, identity=("noisy", job.key))


def _location(job: Mapping[str, Any], plan_file: str) -> tuple[str, int | None]:
    """Return the file and line of a job's entry in the plan, or only the plan's file if the line is unknown."""
    match job:
        case {"span": [str(file), int(line), *_]}:
            return file, line
    return plan_file, None


def _warnings(view: RunView) -> Iterable[Problem]:
    for item in build(view).warnings:
        host = f"{item.host}: " if item.host else ""
        hint = f" ({item.hint})" if item.hint else ""
        if item.severity != "note":
            code = item.code or "asct"
            yield Problem("error" if item.severity == "error" else "warning", code, code, f"{host}{item.message}{hint}",
                          view.run.plan_file, identity=(code, item.host, item.message))  # fmt: skip
