"""The answer at the top of a report: one sentence, why, and the expectations as a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from asct.analysis.expectations import NOT_MEASURED, is_blocking
from asct.analysis.grid import ColumnHead, TableCell, TextTable, Tone, coordinates_text, plain, quantity_cell
from asct.analysis.outcomes import reused_text
from asct.analysis.telemetry import hosts_line
from asct.analysis.view import RunView
from asct.store.model import Run, Verdict
from asct.values.quantity import format_quantity

Outcome = Literal["good", "bad", "doubt"]

_RANK = {"fail": 0, "unknown": 1, "pass": 2}
_TONES: dict[str, Tone] = {"fail": "bad", "unknown": "doubt", "pass": "good"}


@dataclass(frozen=True, slots=True)
class VerdictSummary:
    """`sentence` is the answer, `details` is further information, `tone` its colour."""

    sentence: str
    details: tuple[str, ...]
    tone: Outcome


def summarize(view: RunView) -> VerdictSummary:
    """The result of the run: failed expectations first, then unknown ones, then what was not measured."""
    run = view.run
    counting = [item for item in run.verdicts if item.severity == "fail" or is_blocking(item)]
    problems = [*_verdict_problems(run, counting), *_run_problems(run)]
    if not problems:
        return VerdictSummary(_all_good(counting, sum(run.counts.values())), tuple(_remarks(run)), "good")
    (tone, first), *rest = ((tone, text[:1].upper() + text[1:]) for tone, text in problems)
    return VerdictSummary(first, (*(text for _, text in rest), *_remarks(run)), tone)


def _verdict_problems(run: Run, counting: Sequence[Verdict]) -> Iterator[tuple[Outcome, str]]:
    outcomes = [verdict.outcome for verdict in run.verdicts if is_blocking(verdict)]
    if failed := outcomes.count("fail"):
        yield "bad", f"{_share(failed, len(counting), 'expectation')} failed"
    if unknown := outcomes.count("unknown"):
        if 1 < unknown == len(counting):
            yield "doubt", f"none of the {unknown} expectations could be judged"
        else:
            yield "doubt", f"{_share(unknown, len(counting), 'expectation')} could not be judged"


def _run_problems(run: Run) -> Iterator[tuple[Outcome, str]]:
    if unusable := sum(host.status != "ok" for host in run.hosts):
        if 1 < unusable == len(run.hosts):
            yield "doubt", f"none of the {unusable} hosts could be used"
        else:
            yield "doubt", f"{_share(unusable, len(run.hosts), 'host')} could not be used"
    if lost := sum(run.counts.get(status, 0) for status in NOT_MEASURED):
        share = _share(lost, sum(run.counts.values()), "measurement")
        yield "doubt", f"{share} {'is' if lost == 1 else 'are'} missing"
    if run.status in ("running", "interrupted"):
        yield "doubt", f"the run {'has not finished' if run.status == 'running' else 'was interrupted'}"


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


def _remarks(run: Run) -> list[str]:
    remarks = []
    noisy = run.counts.get("noisy", 0)
    if noisy:
        remarks.append(f"{noisy} noisy measurement{'' if noisy == 1 else 's'}")
    if hosts := hosts_line(run.jobs):
        remarks.append(f"Measured {hosts}")
    before = reused_text(run.jobs, run.started_at)
    if before:
        remarks.append(plain(before))
    mild = [item for item in run.verdicts if item.outcome != "pass" and not is_blocking(item)]
    if mild:
        why = (
            f"severity: {item.severity}" if item.outcome == "fail" else f"if_missing: {item.if_missing}"
            for item in mild
        )
        remarks.append(f"{len(mild)} warning{'' if len(mild) == 1 else 's'} ({', '.join(sorted(set(why)))})")
    if not run.verdicts:
        remarks.append("The plan has no expectations")
    return remarks


def by_outcome(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Failed ones first, then unknown, then passed; in the order of the plan within each."""
    return sorted(verdicts, key=lambda item: _RANK[item.outcome])


def verdict_grid(verdicts: Sequence[Verdict], slug: str = "expectations") -> TextTable:
    """All verdicts, failed ones first. Shows the host if there are several, and the severity if it varies."""
    heads = (
        ColumnHead("Outcome"),
        ColumnHead("Metric"),
        ColumnHead("At"),
        ColumnHead("Host"),
        ColumnHead("Measured", "right"),
        ColumnHead("Expected"),
        ColumnHead("Severity"),
        ColumnHead("Note"),
    )
    several = len({item.host for item in verdicts if item.host}) > 1
    mixed = any(item.severity != "fail" for item in verdicts)
    left_out = {name for name, shown in (("Host", several), ("Severity", mixed)) if not shown}
    kept = [i for i, head in enumerate(heads) if head.title not in left_out]
    rows = [_verdict_row(item) for item in by_outcome(verdicts)]
    return TextTable(
        slug, "Expectations", tuple(heads[i] for i in kept), tuple(tuple(row[i] for i in kept) for row in rows)
    )


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
    """`at most 130 ns`, `at least 550k ops/s`, `150 to 200 ns`; the bound as written when the unit is not known."""
    if (verdict.min is None and verdict.max is None) or not verdict.unit:
        return plain(verdict.text.rpartition(": ")[2])
    low = None if verdict.min is None else format_quantity(verdict.min, verdict.unit, 4)
    high = None if verdict.max is None else format_quantity(verdict.max, verdict.unit, 4)
    if low is not None and high is not None:
        return f"{low} to {high}"
    return f"at least {low}" if low is not None else f"at most {high}"
