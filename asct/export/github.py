"""GitHub workflow commands, which annotate the plan with failed expectations and points."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from asct.analysis.expectations import is_blocking
from asct.analysis.grid import coordinates_text
from asct.analysis.outcomes import planned, share
from asct.analysis.provenance import failures_of, remarks_of
from asct.analysis.report import build
from asct.analysis.verdict import measured_text, summarize, word_of
from asct.analysis.view import RunView
from asct.diagnostics.render import Level, annotation
from asct.store.model import Verdict

NAME = "github"
FILE = "annotations.txt"
SUMMARY = "GitHub workflow commands: ::error and ::warning lines"

MOST = 10
"""Maximum number of errors that GitHub shows per step. The same limit applies to warnings."""


_WORDS: Final = {"fail": "failed", "warning": "not met", "info": "not met"}


@dataclass(frozen=True, slots=True)
class _Note:
    level: Level
    title: str
    message: str
    file: str = ""
    line: int | None = None


def render(view: RunView) -> str:
    """Return at most ten errors and ten warnings, the most severe first. A final notice states how many were
    omitted."""
    notes = [*_expectations(view), *_points(view), *_findings(view)]
    if view.run.exit_code != 0 and all(note.level != "error" for note in notes):
        notes.append(_Note("error", "asct", summarize(view).sentence, view.run.plan_file))
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
        if verdict.outcome in ("pass", "not planned") or (verdict.severity == "info" and not grave):
            continue
        title = f"expectation {_WORDS.get(word_of(verdict), 'unknown')}: {verdict.id}.{verdict.metric}"
        yield _Note("error" if grave else "warning", title, _verdict_text(verdict), verdict.file or "", verdict.line)


def _verdict_text(verdict: Verdict) -> str:
    host = f"host {verdict.host}" if verdict.host else ""
    where = ", ".join(filter(None, (coordinates_text(verdict.at), host)))
    return "; ".join(filter(None, (measured_text(verdict), where, verdict.reason)))


def _points(view: RunView) -> Iterable[_Note]:
    for job in view.jobs:
        for failure in failures_of(view.root, job):
            text = f"{failure.label}: {failure.message or failure.status}"
            yield _Note("error", f"{failure.status}: {job.key}", text, view.run.plan_file)
        if noisy := 0 if job.entry.strict else job.entry.counts.get("noisy", 0):
            text = f"{share(noisy, planned([job.entry]), 'measurement')}: {'; '.join(remarks_of(job)[:1])}"
            yield _Note("warning", f"noisy: {job.key}", text, view.run.plan_file)


def _findings(view: RunView) -> Iterable[_Note]:
    for item in build(view).warnings:
        level: Level = "error" if item.severity == "error" else "warning"
        host = f"{item.host}: " if item.host else ""
        hint = f" ({item.hint})" if item.hint else ""
        if item.severity != "note":
            yield _Note(level, item.code or "asct", f"{host}{item.message}{hint}", view.run.plan_file)


def _line(note: _Note) -> str:
    return annotation(note.level, note.title, note.message, (note.file, note.line, None))
