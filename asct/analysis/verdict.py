"""The verdict at the top of a report: one sentence, details, and a table of the expectations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from asct.analysis.baseline import ignored_metrics
from asct.analysis.compared import diff_of
from asct.analysis.expectations import is_blocking
from asct.analysis.grid import (
    ColumnHead,
    TableCell,
    TextTable,
    Tone,
    coordinates_text,
    plain,
    quantity_cell,
    with_columns,
    without_empty_columns,
)
from asct.analysis.groups import MetricGroup, gather
from asct.analysis.outcomes import WORST_FIRST, causes, planned, reused_text, share, tone_of, unmeasured
from asct.analysis.telemetry import hosts_line
from asct.analysis.view import RunView
from asct.errors import StoreError
from asct.sdk.record import Record
from asct.store.model import BaselineValue, Run, Verdict
from asct.values.grouping import grouped
from asct.values.quantity import format_quantity
from asct.values.text import counted, listed

_RANK = {"fail": 0, "unknown": 1, "pass": 2, "not planned": 3}
_MOST_CAUSES = 3
_OF_REPEATS: Mapping[Tone, tuple[str, str]] = {
    "refused": ("was refused", "were refused"),
    "bad": ("failed", "failed"),
    "missing": ("is missing", "are missing"),
    "invalid": ("is invalid", "are invalid"),
    "doubt": ("is too noisy for `strict`", "are too noisy for `strict`"),
}
_OF_STATUS: Mapping[str, tuple[str, str]] = {
    "skipped": ("was skipped", "were skipped"),
    "interrupted": ("was interrupted", "were interrupted"),
}
"""The words for repeats that are missing if all of them have the same status, which other outputs show."""


@dataclass(frozen=True, slots=True)
class VerdictSummary:
    """The verdict on a run in one `sentence`. `tone` is its color: green only if nothing failed and nothing is unknown,
    missing or doubtful.

    `causes` says why repeats were not measured, `others` contains the less serious problems and the expectations that
    were met, and `remarks` what else a reader should know about the run.
    """

    sentence: str
    tone: Tone
    causes: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def details(self) -> tuple[str, ...]:
        """The sentences that follow the first one."""
        return (*self.causes, *self.others, *self.remarks)


@dataclass(frozen=True, slots=True)
class _Problem:
    """A problem as a sentence. `also` continues the sentence about a more serious problem of the same `noun`."""

    tone: Tone
    sentence: str
    noun: str = ""
    also: str = ""


def summarize(view: RunView) -> VerdictSummary:
    """Summarize a run: the most serious problem becomes the sentence, and the causes and other problems become
    details. Problems that count the same things share a sentence."""
    run = view.run
    judged = [item for item in run.verdicts if item.outcome != "not planned"]
    counting = judged if any(item.severity == "fail" or is_blocking(item) for item in judged) else []
    problems = list(_problems(view, counting))
    if not problems and run.exit_code:
        problems = [_Problem("missing", f"the run ended with exit code {run.exit_code}")]
    problems += _doubts(view)
    remarks = tuple(_remarks(view))
    if not problems:
        return VerdictSummary(_all_good(counting, sum(run.counts.values())), "good", remarks=remarks)
    first, *rest = map(_joined, grouped(problems, lambda item: item.noun or item.sentence).values())
    met = [_all_good(counting, 0)] if counting and not any(map(is_blocking, run.verdicts)) else []
    reasons = tuple(_first_few(causes(run.jobs), "other cause"))
    return VerdictSummary(first, problems[0].tone, reasons, (*rest, *met), remarks)


def _joined(problems: Sequence[_Problem]) -> str:
    """Return one sentence about all problems of a noun, such as `3 of 9 measurements failed and 2 are missing`."""
    first, *others = problems
    return _sentence(listed([first.sentence, *(item.also for item in others)]))


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _first_few(found: Sequence[str], others: str) -> list[str]:
    more = len(found) - _MOST_CAUSES
    return [*found[:_MOST_CAUSES], *([counted(more, others)] if more > 0 else [])]


def _problems(view: RunView, counting: Sequence[Verdict]) -> Iterator[_Problem]:
    """Yield the problems that cause a nonzero exit code, each cause before its consequences."""
    run = view.run
    lost = unmeasured(run.jobs)
    outcomes = [verdict.outcome for verdict in run.verdicts if is_blocking(verdict)]
    yield from _repeats(lost, run, ("refused",))
    if unusable := sum(host.status != "ok" for host in run.hosts):
        yield _could_not("missing", unusable, len(run.hosts), "host", "used")
    if failed := outcomes.count("fail"):
        yield _counted("bad", failed, len(counting), "expectation", "failed")
    yield from _repeats(lost, run, ("bad", "missing", "invalid", "doubt"))
    if unknown := outcomes.count("unknown"):
        yield _could_not("unknown", unknown, len(counting), "expectation", "judged")
    if run.status in ("running", "interrupted"):
        yield _Problem("missing", f"the run {'has not finished' if run.status == 'running' else 'was interrupted'}")


def _repeats(lost: Mapping[str, int], run: Run, tones: Sequence[Tone]) -> Iterator[_Problem]:
    for tone in tones:
        found = {status: number for status, number in lost.items() if number and tone_of(status) == tone}
        if number := sum(found.values()):
            only = next(iter(found)) if len(found) == 1 else ""
            one, several = _OF_STATUS.get(only, _OF_REPEATS[tone])
            # The color for doubt is reserved for runs that end with exit code 0.
            display_tone: Tone = "invalid" if tone == "doubt" else tone
            yield _counted(display_tone, number, planned(run.jobs), "measurement", one if number == 1 else several)


def _counted(tone: Tone, part: int, whole: int, noun: str, what: str) -> _Problem:
    return _Problem(tone, f"{share(part, whole, noun)} {what}", noun, f"{part:,} {what}")


def _doubts(view: RunView) -> Iterator[_Problem]:
    """Yield the doubts about results that do not change the exit code."""
    run = view.run
    if noisy := sum(job.counts.get("noisy", 0) for job in run.jobs if not job.strict):
        yield _counted("doubt", noisy, planned(run.jobs), "measurement", f"{'is' if noisy == 1 else 'are'} noisy")
    for quantity, sides in grouped((s for job in view.jobs for s in job.disagreements), lambda s: s.quantity).items():
        names = ", ".join(dict.fromkeys(side.id for side in sides))
        yield _Problem("doubt", plain(f"values of the {quantity} disagree: {names}"))
    mild = [item for item in run.verdicts if word_of(item) in ("warning", "unknown") and not is_blocking(item)]
    if mild:
        why = (
            # an invalid value was measured, so `if_missing` does not apply to it
            f"severity: {item.severity}"
            if item.severity != "fail" and (item.outcome == "fail" or item.value is not None)
            else f"if_missing: {item.if_missing}"
            for item in mild
        )
        yield _Problem("doubt", f"{counted(len(mild), 'warning')} ({', '.join(sorted(set(why)))})")
    if number := sum(map(is_unconfirmed, run.verdicts)):
        regressions = counted(number, "regression was", "regressions were")
        yield _Problem("doubt", f"{regressions} not confirmed by a second measurement")
    if number := sum(map(is_inconclusive, run.verdicts)):
        worse = counted(number, "value is", "values are")
        yield _Problem("doubt", f"{worse} worse than the limit allows, but this may be due to chance")


def _could_not(tone: Tone, part: int, whole: int, noun: str, verb: str) -> _Problem:
    if 1 < part == whole:
        none = f"neither {noun}" if whole == 2 else f"none of the {whole} {noun}s"
        return _Problem(tone, f"{none} could be {verb}", noun)
    return _counted(tone, part, whole, noun, f"could not be {verb}")


def _all_good(counting: Sequence[Verdict], total: int) -> str:
    if counting:
        met = sum(1 for item in counting if item.outcome == "pass")
        if met < len(counting):
            return f"{met} of {len(counting)} expectations were met, and none failed"
        return "The expectation was met" if met == 1 else _sentence(f"{share(met, met, 'expectation')} were met")
    if total == 1:
        return "The measurement is complete"
    return _sentence(f"{share(total, total, 'measurement')} are complete")


def _remarks(view: RunView) -> list[str]:
    run, regressed = view.run, map(_sentence, _regressed(view))
    remarks = [*regressed, *_first_few(list(_baselines(run.verdicts)), "other baseline")]
    if hosts := hosts_line(run.jobs):
        remarks.append(hosts)
    if before := reused_text(run.jobs, run.started_at):
        remarks.append(plain(before))
    if not run.verdicts:
        remarks.append("The plan has no expectations")
    if skipped := sum(item.outcome == "not planned" for item in run.verdicts):
        remarks.append(
            f"{counted(skipped, 'expectation matches', 'expectations match')} no value that was planned in this run"
        )
    return remarks


def _regressed(view: RunView) -> Iterator[str]:
    """Yield a sentence about the regressed values that no expectation compares with the baseline, if there are any.

    If expectations compare all values that can regress, the runs are not compared again.
    """
    judged = {_identity(item) for item in view.run.verdicts if item.baseline}
    if all(_identity(group) in judged for group in gather(_directed_records(view))):
        return
    try:
        found = diff_of(view)
    except StoreError:  # the comparison section of the report gives the reason
        return
    if found is None:
        return
    diff, why = found
    values = [
        row.verdict for run in diff.runs for row in run.rows if row.compared and _identity(row.group) not in judged
    ]
    if number := values.count("regressed"):
        others = " without an expectation" if judged else ""
        is_baseline = {item.baseline.run for item in view.run.verdicts if item.baseline} == {diff.base.name}
        base = "the baseline" if is_baseline else f"{diff.base.name} ({why})"
        yield plain(f"{share(number, len(values), 'value')}{others} regressed relative to {base}")


def _directed_records(view: RunView) -> Iterator[Record]:
    """Yield the records of the metrics that can regress."""
    ignored = ignored_metrics((record.benchmark for record in view.records), view.catalog) if view.catalog else ()
    for record in view.records:
        if record.better != "neither" and (record.benchmark, record.metric) not in ignored:
            yield record


def _identity(value: Verdict | MetricGroup) -> tuple[str | None, str, str, str]:
    """Return what identifies a value in its run."""
    return value.host, value.id, value.metric, coordinates_text(value.at)


def _baselines(verdicts: Iterable[Verdict]) -> Iterator[str]:
    """Yield a sentence about each run that values were compared with: the baseline, and runs whose values were
    accepted."""
    found = Counter((item.baseline.run, item.baseline.chosen) for item in verdicts if item.baseline is not None)
    for (run, chosen), number in found.most_common():
        part = f" of {counted(number, 'value')}" if len(found) > 1 else ""
        yield plain(f"The baseline{part} is {run} ({chosen})")


def is_unconfirmed(verdict: Verdict) -> bool:
    """Return whether the value seemed to have regressed, but a second measurement did not confirm this."""
    again = verdict.baseline.again if verdict.baseline else None
    return again is not None and not again.confirmed


def is_inconclusive(verdict: Verdict) -> bool:
    """Return whether the value is far beyond the limit, but the expectation passed because the difference may be due to
    chance. Such passes, like failures, are ignored if the severity is `info`."""
    far = verdict.baseline is not None and verdict.baseline.inconclusive
    return far and verdict.outcome == "pass" and verdict.severity != "info"


def word_of(verdict: Verdict) -> str:
    """Return the outcome as one word. A failed expectation with severity `warn` or `info` does not make the run fail,
    so the word for it is `warning` or `info`. A regression that a second measurement did not confirm is `unconfirmed`,
    and a value that is far beyond the limit, possibly by chance, is `inconclusive`."""
    if is_unconfirmed(verdict):
        return "unconfirmed"
    if is_inconclusive(verdict):
        return "inconclusive"
    if verdict.outcome == "fail" and verdict.severity != "fail":
        return "warning" if verdict.severity == "warn" else "info"
    return verdict.outcome


def by_outcome(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Sort verdicts by outcome (failed, unknown, passed, not planned), keeping the order of the plan within each
    outcome."""
    return sorted(verdicts, key=lambda item: _RANK[item.outcome])


def verdict_grid(verdicts: Sequence[Verdict]) -> TextTable:
    """Return a table of all verdicts, failed ones first. The columns for the host and the severity are omitted if their
    values do not vary."""
    hidden = set() if len({item.host for item in verdicts if item.host}) > 1 else {"Host"}
    hidden |= set() if any(item.severity != "fail" for item in verdicts) else {"Severity"}
    titles = ("Outcome", "Metric", "At", "Host", "Measured", "Expected", "Severity", "Note")
    heads = tuple(ColumnHead(title, "right" if title == "Measured" else "left") for title in titles)
    rows = tuple(_verdict_row(item) for item in by_outcome(verdicts))
    columns = [i for i, title in enumerate(titles) if title not in hidden]
    return with_columns(TextTable("expectations", "Expectations", heads, rows), columns)


def change_grid(verdicts: Sequence[Verdict]) -> TextTable:
    """Return a table that compares values with those of the baseline: failed and unknown verdicts first, and then the
    largest changes. It also lists values that only the baseline contains. Changes within the noise floor, and values
    that cannot be compared, are only counted."""
    pairs = [(item, item.baseline) for item in verdicts if item.baseline is not None]
    compared = [(item, base, base.change) for item, base in pairs if base.change is not None]
    notable = [
        (item, base) for item, base, change in compared if word_of(item) != "pass" or abs(change) > (base.noise or 0.0)
    ]
    missing = [(item, base) for item, base in pairs if item.value is None]

    def rank(pair: tuple[Verdict, BaselineValue]) -> tuple[int, bool, float]:
        item, base = pair
        return _RANK[item.outcome], word_of(item) == "pass", -abs(base.change or 0.0)

    rows = tuple(_change_row(item, base) for item, base in sorted([*missing, *notable], key=rank))
    heads = tuple(
        ColumnHead(title, "right" if title in ("Baseline", "Measured") else "left")
        for title in ("Outcome", "Metric", "At", "Host", "Baseline", "Measured", "Change", "Note")
    )
    quiet = len(compared) - len(notable)
    notes = [f"{counted(quiet, 'further value')} did not change by more than the noise floor."] if quiet else []
    reasons = Counter(item.reason for item, base in pairs if base.change is None and item.value is not None)
    for reason, number in reasons.most_common(_MOST_CAUSES):
        notes.append(f"{counted(number, 'value')} could not be compared: {plain(reason)}.")
    return without_empty_columns(TextTable("changes", "Changes", heads, rows, tuple(notes)))


def _change_row(verdict: Verdict, base: BaselineValue) -> tuple[TableCell, ...]:
    word, unit, text = word_of(verdict), verdict.unit or "1", ""
    if base.change is not None:
        low, high = base.ci95 or (None, None)
        text = f"{base.change:+z.1%}"
        text += f" ({low:+z.1%} to {high:+z.1%})" if low is not None and high is not None else ""
    return (
        TableCell(word, float(WORST_FIRST.index(word)), tone_of(word)),
        TableCell(plain(f"{verdict.id}.{verdict.metric}")),
        TableCell(coordinates_text(verdict.at)),
        TableCell(plain(verdict.host or "")),
        quantity_cell(base.value, unit),
        quantity_cell(verdict.value, unit),
        TableCell(text.replace("%", " %")),
        TableCell("" if word == "pass" else plain(verdict.reason)),
    )


def _verdict_row(verdict: Verdict) -> tuple[TableCell, ...]:
    word = word_of(verdict)
    name = f"{verdict.id}.{verdict.metric}"
    at = coordinates_text(verdict.at)
    return (
        TableCell(word, float(WORST_FIRST.index(word)), tone_of(word), plain(verdict.text)),
        TableCell(plain(name), name),
        TableCell(at, at),
        TableCell(plain(verdict.host or ""), verdict.host or ""),
        quantity_cell(verdict.value, verdict.unit or "1"),
        TableCell(bound_text(verdict)),
        TableCell(verdict.severity, verdict.severity),
        TableCell(plain(verdict.reason)),
    )


def bound_text(verdict: Verdict) -> str:
    """Return the bound as text, such as `at most 130 ns` or `150 to 200 ns`. If the unit is unknown, return the bound
    as written in the plan."""
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
    """Return the measured value and the bound as text, such as `measured 140 ns, expected at most 130 ns`."""
    measured = "measured " if verdict.value is not None else ""
    return f"{measured}{value_text(verdict)}, expected {bound_text(verdict)}"


def value_text(verdict: Verdict) -> str:
    """Return the measured value as text, such as `140 ns`; `not measured` if there is none, or `no baseline` if there
    is nothing to compare it with."""
    if verdict.value is None:
        return "no baseline" if verdict.no_baseline else "not measured"
    return format_quantity(verdict.value, verdict.unit or "1", 4)
