"""The verdict at the top of a report: one sentence, details, and a table of the expectations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from asct.analysis.expectations import NOT_MEASURED, is_blocking
from asct.analysis.grid import (
    ColumnHead,
    TableCell,
    TextTable,
    Tone,
    coordinates_text,
    plain,
    quantity_cell,
    with_columns,
)
from asct.analysis.machine.rows import counted
from asct.analysis.outcomes import reused_text
from asct.analysis.telemetry import hosts_line
from asct.analysis.view import RunView
from asct.store.model import Run, Verdict
from asct.values.grouping import grouped
from asct.values.quantity import format_quantity

Outcome = Literal["good", "bad", "doubt"]

_RANK = {"fail": 0, "unknown": 1, "pass": 2}
_TONES: dict[str, Tone] = {"fail": "bad", "unknown": "doubt", "pass": "good"}


@dataclass(frozen=True, slots=True)
class VerdictSummary:
    """The verdict on a run in one `sentence`, with `details`. `tone` is its color."""

    sentence: str
    details: tuple[str, ...]
    tone: Outcome


def summarize(view: RunView) -> VerdictSummary:
    """Summarize a run: first failed expectations, then unknown ones and missing measurements."""
    run = view.run
    counting = [item for item in run.verdicts if item.severity == "fail" or is_blocking(item)]
    problems = [*_verdict_problems(run, counting), *_run_problems(run)]
    if not problems:
        return VerdictSummary(_all_good(counting, sum(run.counts.values())), tuple(_remarks(view)), "good")
    (tone, first), *rest = ((tone, text[:1].upper() + text[1:]) for tone, text in problems)
    return VerdictSummary(first, (*(text for _, text in rest), *_remarks(view)), tone)


def _verdict_problems(run: Run, counting: Sequence[Verdict]) -> Iterator[tuple[Outcome, str]]:
    outcomes = [verdict.outcome for verdict in run.verdicts if is_blocking(verdict)]
    if failed := outcomes.count("fail"):
        yield "bad", f"{_share(failed, len(counting), 'expectation')} failed"
    if unknown := outcomes.count("unknown"):
        yield "doubt", _could_not(unknown, len(counting), "expectation", "judged")


def _run_problems(run: Run) -> Iterator[tuple[Outcome, str]]:
    if unusable := sum(host.status != "ok" for host in run.hosts):
        yield "doubt", _could_not(unusable, len(run.hosts), "host", "used")
    if lost := sum(run.counts.get(status, 0) for status in NOT_MEASURED):
        share = _share(lost, sum(run.counts.values()), "measurement")
        yield "doubt", f"{share} {'is' if lost == 1 else 'are'} missing"
    if run.status in ("running", "interrupted"):
        yield "doubt", f"the run {'has not finished' if run.status == 'running' else 'was interrupted'}"


def _could_not(part: int, whole: int, noun: str, verb: str) -> str:
    if 1 < part == whole:
        return f"none of the {whole} {noun}s could be {verb}"
    return f"{_share(part, whole, noun)} could not be {verb}"


def _share(part: int, whole: int, noun: str) -> str:
    if part == whole:
        return f"the only {noun}" if whole == 1 else f"all {whole} {noun}s"
    return f"{part} of {whole} {noun}s"


def _all_good(counting: Sequence[Verdict], total: int) -> str:
    if counting:
        held = sum(1 for item in counting if item.outcome == "pass")
        if held < len(counting):
            return f"{held} of {len(counting)} expectations held, none failed"
        return "The expectation held" if held == 1 else f"All {held} expectations held"
    return "The measurement is complete" if total == 1 else f"All {total} measurements are complete"


def _remarks(view: RunView) -> list[str]:
    run, remarks = view.run, []
    if noisy := run.counts.get("noisy", 0):
        remarks.append(counted(noisy, "noisy measurement"))
    for quantity, sides in grouped((s for job in view.jobs for s in job.disagreements), lambda s: s.quantity).items():
        names = ", ".join(dict.fromkeys(side.id for side in sides))
        remarks.append(plain(f"Different results for the same {quantity}: {names}"))
    if hosts := hosts_line(run.jobs):
        remarks.append(f"Measured {hosts}")
    if before := reused_text(run.jobs, run.started_at):
        remarks.append(plain(before))
    mild = [item for item in run.verdicts if item.outcome != "pass" and not is_blocking(item)]
    if mild:
        why = (
            f"severity: {item.severity}" if item.outcome == "fail" else f"if_missing: {item.if_missing}"
            for item in mild
        )
        remarks.append(f"{counted(len(mild), 'warning')} ({', '.join(sorted(set(why)))})")
    if not run.verdicts:
        remarks.append("The plan has no expectations")
    return remarks


def by_outcome(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Sort verdicts by outcome (failed, unknown, passed), keeping the order of the plan within each outcome."""
    return sorted(verdicts, key=lambda item: _RANK[item.outcome])


def verdict_grid(verdicts: Sequence[Verdict], slug: str = "expectations") -> TextTable:
    """Return a table of all verdicts, failed ones first. The columns for host and severity are omitted if they do not
    vary."""
    hidden = set() if len({item.host for item in verdicts if item.host}) > 1 else {"Host"}
    hidden |= set() if any(item.severity != "fail" for item in verdicts) else {"Severity"}
    titles = ("Outcome", "Metric", "At", "Host", "Measured", "Expected", "Severity", "Note")
    heads = tuple(ColumnHead(title, "right" if title == "Measured" else "left") for title in titles)
    rows = tuple(_verdict_row(item) for item in by_outcome(verdicts))
    kept = [i for i, title in enumerate(titles) if title not in hidden]
    return with_columns(TextTable(slug, "Expectations", heads, rows), kept)


def _verdict_row(verdict: Verdict) -> tuple[TableCell, ...]:
    tone = _TONES[verdict.outcome]
    if verdict.outcome == "fail" and verdict.severity != "fail":
        tone = "doubt"
    name = f"{verdict.id}.{verdict.metric}"
    at = coordinates_text(verdict.at)
    return (
        TableCell(verdict.outcome, float(_RANK[verdict.outcome]), tone, plain(verdict.text)),
        TableCell(plain(name), name),
        TableCell(at, at),
        TableCell(plain(verdict.host or ""), verdict.host or ""),
        quantity_cell(verdict.value, verdict.unit or "1"),
        TableCell(bound_text(verdict)),
        TableCell(verdict.severity, verdict.severity),
        TableCell(plain(verdict.reason)),
    )


def bound_text(verdict: Verdict) -> str:
    """Return the bound: `at most 130 ns`, `150 to 200 ns`. If the unit is unknown, return the bound as written in the
    plan."""
    unit = verdict.unit
    low, high = (
        None if bound is None or not unit else format_quantity(bound, unit, 4) for bound in (verdict.min, verdict.max)
    )
    if low is None and high is None:
        return plain(verdict.text.rpartition(": ")[2])
    if low is None or high is None:
        return f"at most {high}" if low is None else f"at least {low}"
    return f"{low} to {high}"


def measured_text(verdict: Verdict) -> str:
    """Return the measured value and the bound: `measured 140 ns, expected at most 130 ns`."""
    value = "not measured"
    if verdict.value is not None and verdict.unit:
        value = f"measured {format_quantity(verdict.value, verdict.unit, 4)}"
    return f"{value}, expected {bound_text(verdict)}"
