"""GitHub workflow commands: annotates the plan with failed expectations and points."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from asct.analysis.expectations import is_blocking
from asct.analysis.grid import coordinates_text
from asct.analysis.provenance import failures_of
from asct.analysis.report import build
from asct.analysis.verdict import measured_text
from asct.analysis.view import RunView
from asct.diagnostics.render import Level, annotation
from asct.store.model import Verdict

NAME = "github"
FILE = "annotations.txt"
SUMMARY = "GitHub workflow commands: ::error and ::warning lines"

MOST = 10
"""Maximum number of errors that GitHub shows per step. The same limit applies to warnings."""


@dataclass(frozen=True, slots=True)
class _Note:
    level: Level
    title: str
    message: str
    file: str = ""
    line: int | None = None


def render(view: RunView) -> str:
    """Return at most ten errors and ten warnings, the most severe first. A final notice states how many are omitted."""
    notes = [*_expectations(view), *_points(view), *_findings(view)]
    lines: list[str] = []
    left = 0
    levels: tuple[Level, ...] = ("error", "warning")
    for level in levels:
        found = [note for note in notes if note.level == level]
        lines += [_line(note) for note in found[:MOST]]
        left += max(0, len(found) - MOST)
    if left:
        lines.append(_line(_Note("notice", "asct", f"{left} more findings are in summary.md")))
    return "".join(line + "\n" for line in lines)


def _expectations(view: RunView) -> Iterable[_Note]:
    for verdict in view.run.verdicts:
        grave = is_blocking(verdict)
        if verdict.outcome == "pass" or (verdict.severity == "info" and not grave):
            continue
        word = "failed" if verdict.outcome == "fail" else "unknown"
        title = f"expectation {word}: {verdict.id}.{verdict.metric}"
        yield _Note("error" if grave else "warning", title, _verdict_text(verdict), verdict.file or "", verdict.line)


def _verdict_text(verdict: Verdict) -> str:
    host = f"host {verdict.host}" if verdict.host else ""
    where = ", ".join(filter(None, (coordinates_text(verdict.at), host)))
    return "; ".join(filter(None, (measured_text(verdict), where, verdict.reason)))


def _points(view: RunView) -> Iterable[_Note]:
    for job in view.jobs:
        for failure in failures_of(view.root, job):
            message = failure.message or failure.status
            yield _Note("error", f"not measured: {job.key}", f"{failure.label}: {message}", view.run.plan_file)


def _findings(view: RunView) -> Iterable[_Note]:
    for item in build(view).warnings:
        level: Level = "error" if item.severity == "error" else "warning"
        host = f"{item.host}: " if item.host else ""
        hint = f" ({item.hint})" if item.hint else ""
        if item.severity != "note":
            yield _Note(level, item.code or "asct", f"{host}{item.message}{hint}", view.run.plan_file)


def _line(note: _Note) -> str:
    return annotation(note.level, note.title, note.message, (note.file, note.line, None))
