"""The content of a report, independent of its format."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from typing import Any

from asct.analysis.cause import Cause, first_cause
from asct.analysis.combined import combined_figures
from asct.analysis.disturbances import DisturbanceCard, DisturbanceLink, DisturbanceSummary, beside, findings_of
from asct.analysis.fleet import FEW_HOSTS, MEDIAN, fleet_figures, host_figures
from asct.analysis.grid import (
    ABSENT,
    ColumnHead,
    TableCell,
    TextTable,
    distinct,
    from_table,
    plain,
    slug,
    without_empty_columns,
)
from asct.analysis.headline import HeadlineMetric, headline_grids, headlines, in_common_units
from asct.analysis.keyresults import KeyResults, key_results
from asct.analysis.machine import host_rows, one_line, unknown_lines
from asct.analysis.machine.rows import TextRow
from asct.analysis.outcomes import outcome_grid, reused_text, short_names
from asct.analysis.provenance import CommandLine, Failure, command_of, failures_of, remarks_of, settings_of, text_at
from asct.analysis.references import RatedValue, rated_values, reference_grid, with_references
from asct.analysis.telemetry import hosts_line, meanings
from asct.analysis.topology.boxes import machine
from asct.analysis.topology.latency import CoreLatency, core_latencies
from asct.analysis.topology.svg import drawing
from asct.analysis.verdict import VerdictSummary, summarize, verdict_grid
from asct.analysis.view import JobView, RunView
from asct.sdk.facts import HostFacts
from asct.sdk.figure import Figure, Heatmap
from asct.sdk.record import COMMON_FLAGS, doubtful
from asct.values.grouping import grouped, shortened
from asct.values.text import counted

MOST_COMMANDS = 200
MOST_FAILURES = 20
MOST_REMARKS = 12
_DISTURBED = "E432"
"""The warning that states the number of findings on a host. Reports list the findings themselves instead."""
_OWN = frozenset(
    {
        "main", "verdict", "verdict-title", "headlines", "headlines-title", "warnings", "warnings-title", "hosts",
        "hosts-title", "findings", "findings-title", "expectations", "expectations-title", "baseline",
        "baseline-title", "consistency", "consistency-title", "appendix", "appendix-title", "announce", "downloads",
        "run-data", "run-data-gzip", "plan-gzip", "page-data-gzip", "host-data-gzip",
        "plotly-gzip",
    }
)  # fmt: skip
"""Ids on the HTML page, which benchmark entries must not use as slugs."""
_MOST_NAMED = 6
"""Maximum number of hosts that a warning lists by name; any others are only counted."""


@dataclass(frozen=True, slots=True)
class Caution:
    """A warning about the results; `hint` is the fix."""

    severity: str
    code: str
    host: str
    message: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class HostPart:
    """One job in a section: its tables, commands and failures on one host."""

    host: str
    slug: str
    line: str
    note: str
    grids: tuple[TextTable, ...]
    commands: tuple[CommandLine, ...]
    commands_left: int
    failures: tuple[Failure, ...]
    failures_left: int
    remarks: tuple[str, ...] = ()
    disturbed: tuple[DisturbanceLink, ...] = ()
    """Disturbances at the start of the run that affect the results of this job."""
    figures: tuple[Figure, ...] = ()
    """The figures of this host, if the section's own figures show many hosts together."""
    same_as: tuple[str, str] | None = None
    """The name and the slug of an earlier host with the same commands. The commands are listed only for that host."""


@dataclass(frozen=True, slots=True)
class ReportSection:
    """One benchmark entry of the plan on all of its hosts."""

    slug: str
    title: str
    id: str
    benchmark: str
    version: str
    summary: str
    reason: str
    figures: tuple[Figure, ...]
    parts: tuple[HostPart, ...]
    settings: TextTable
    """The settings that were not left at their defaults, for all hosts."""
    grids: tuple[TextTable, ...] = ()
    """The tables of several hosts side by side. The tuple is empty if there is only one host."""
    flags: tuple[TextRow, ...] = ()
    """The meanings of all flags in the tables, and of all reasons for a noisy host."""

    @property
    def headings(self) -> frozenset[str]:
        """The headings of all columns in the section's tables."""
        grids = (*self.grids, *(grid for part in self.parts for grid in part.grids))
        return frozenset(head.title for grid in grids for head in grid.heads)

    @property
    def foremost(self) -> str:
        """The host that is shown next to the median in more figures than any other host, or an empty string if no host
        is shown."""
        charts = (figure for figure in self.figures if not isinstance(figure, Heatmap))
        counts = Counter(host for figure in charts for host in {one.host for one in figure.series} - {MEDIAN})
        return max(sorted(counts), key=lambda host: counts[host], default="")


@dataclass(frozen=True, slots=True)
class HostCard:
    """One host: a one-line description, its state and its facts. `picture` shows its topology as an SVG element, or is
    empty. `same_as` is the name and the slug of an earlier host with the same topology, whose picture represents both
    hosts."""

    name: str
    slug: str
    status: str
    reason: str
    line: str
    rows: tuple[TextRow, ...]
    found: tuple[DisturbanceLink, ...] = ()
    """All disturbances on the host, including possible ones."""
    picture: str = ""
    unknown: tuple[str, ...] = ()
    same_as: tuple[str, str] | None = None
    same_facts: tuple[str, str] | None = None
    """The name and the slug of an earlier host with the same facts, except for `other_facts`."""
    other_facts: tuple[TextRow, ...] = ()


@dataclass(frozen=True, slots=True)
class RunReport:
    """A complete report, from the verdict to the appendix."""

    title: str
    description: str
    summary: VerdictSummary
    cause: Cause | None
    """The first cause of a failure, or None if nothing failed."""
    expectations: TextTable | None
    references: TextTable | None
    """The values for which the plan contains a reference."""
    features: TextTable | None
    """The features that the plan states for the measured hardware, side by side."""
    warnings: tuple[Caution, ...]
    hosts: tuple[HostCard, ...]
    findings: tuple[DisturbanceCard, ...]
    """Disturbances on the hosts at the start of the run, each listed once for all hosts."""
    headlines: tuple[HeadlineMetric, ...]
    headline_grids: tuple[TextTable, ...]
    """All key results: one table for one host, or one table per benchmark for several hosts."""
    key_results: KeyResults
    """The key results that are shown first."""
    outcomes: TextTable | None
    """The outcome of each benchmark on each host."""
    sections: tuple[ReportSection, ...]
    facts: tuple[TextRow, ...]
    """The plan, times, status and asct version of the run, shown below the title and in the appendix."""


@lru_cache(maxsize=1)
def build(view: RunView) -> RunReport:
    """Return the content of the report on a run. The result is cached and shared by all formats."""
    run = view.run
    slugs = distinct((slug(name) for name in view.ids()), _OWN)
    findings = findings_of(view)
    rated = rated_values(view)
    sections = [_section(view, name, unique, findings, rated) for name, unique in zip(view.ids(), slugs, strict=True)]
    found = in_common_units([item for job in view.jobs for item in headlines(job)])
    return RunReport(
        title=plain(run.title or run.plan),
        description=plain(run.description),
        summary=summarize(view),
        cause=first_cause(view),
        expectations=without_empty_columns(verdict_grid(run.verdicts)) if run.verdicts else None,
        references=reference_grid(rated),
        features=_feature_grid(view.resolved),
        warnings=tuple(_warnings(view)),
        hosts=tuple(_facts_once(_host_cards(view, findings))),
        findings=findings.cards,
        headlines=tuple(found),
        headline_grids=tuple(headline_grids(found, len(run.hosts) > 1)),
        key_results=key_results(found),
        outcomes=outcome_grid(run),
        sections=tuple(sections),
        facts=tuple(_run_rows(view)),
    )


def _warnings(view: RunView) -> Iterable[Caution]:
    order = {"error": 0, "warning": 1, "note": 2}
    findings = [
        Caution(
            text_at(item, "severity") or "warning", *(text_at(item, key) for key in ("code", "host", "message", "hint"))
        )
        for item in view.run.findings
        if text_at(item, "code") != _DISTURBED or not view.disturbances
    ]
    findings += [
        Caution(note.severity, note.code, "", plain(note.message.replace(f"{view.root}/", "")), plain(note.hint))
        for note in view.notes
    ]
    return sorted(together(dict.fromkeys(findings)), key=lambda item: order.get(item.severity, 1))


def together(findings: Iterable[Caution]) -> list[Caution]:
    """Merge identical warnings about several hosts into one that lists all of these hosts."""

    def general(item: Caution) -> Caution:
        return replace(item, host="", message=_without_host(item.message, item.host))

    groups = grouped(findings, general)
    hosts = [shortened([one.host for one in same if one.host], _MOST_NAMED) for same in groups.values()]
    return [replace(item, host=names) for item, names in zip(groups, hosts, strict=True)]


def _without_host(message: str, host: str) -> str:
    """Strip the leading host and address from a message, because a warning states its host separately."""
    return re.sub(rf"\A(host )?{re.escape(host)}( \([^()]*\))?: ", "", message) if host else message


def _feature_grid(resolved: Mapping[str, Any]) -> TextTable | None:
    """Return the features that the plan states for the measured hardware (`report: features:`), with a row for each
    feature and a column for each item, or None if it states none."""
    report = resolved.get("report")
    value = report.get("features") if isinstance(report, dict) else None
    columns = {name: own for name, own in value.items() if isinstance(own, dict)} if isinstance(value, dict) else {}
    if not columns:
        return None
    heads = (ColumnHead("Feature"), *(ColumnHead(plain(name), kept=True) for name in columns))
    features = dict.fromkeys(feature for own in columns.values() for feature in own)
    rows = tuple(
        (TableCell(plain(feature)), *(TableCell(plain(str(own.get(feature, ABSENT)))) for own in columns.values()))
        for feature in features
    )
    return TextTable("features", "Features", heads, rows, ("As stated in the plan.",))


def _host_cards(view: RunView, findings: DisturbanceSummary) -> Iterable[HostCard]:
    """Yield the hosts in the order of the plan."""
    slugs = distinct(f"host-{slug(host.name)}" for host in view.run.hosts)
    latencies = core_latencies(view.records)
    first: dict[str, tuple[str, str]] = {}
    for host, unique in zip(view.run.hosts, slugs, strict=True):
        facts, found = view.facts.get(host.name), view.disturbances.get(host.name)
        name, latency = plain(host.name), latencies.get(host.name)
        picture, same = "", None
        if facts is not None and facts.cpu.logical:
            original = first.setdefault(drawing_content(facts, latency), (name, unique))
            same = None if original == (name, unique) else original
            picture = "" if same else drawing(facts, latency)
        yield HostCard(
            name, unique, host.status, plain(host.reason), one_line(host, facts), tuple(host_rows(host, facts)),
            findings.mention(found.findings if found else ()), picture,
            () if facts is None else tuple(unknown_lines(facts)), same,
        )  # fmt: skip


def drawing_content(facts: HostFacts, latency: CoreLatency | None) -> str:
    """Return what a drawing of the machine shows, without the machine's name. This takes less time than drawing it."""
    whole, across = machine(facts)
    return repr((replace(whole, title=""), across, latency))


def _facts_once(cards: Iterable[HostCard]) -> Iterator[HostCard]:
    """Yield the hosts. A host refers to the first host with the same kinds of facts, unless most of them differ."""
    first: dict[tuple[tuple[str, ...], tuple[str, ...]], HostCard] = {}
    for card in cards:
        same = first.setdefault((tuple(label for label, _ in card.rows), card.unknown), card)
        own = tuple(row for row, other in zip(card.rows, same.rows, strict=True) if row != other)
        alike = same is not card and 2 * len(own) < len(card.rows)
        yield replace(card, same_facts=(same.name, same.slug), other_facts=own) if alike else card


def _section(
    view: RunView, job_id: str, unique: str, findings: DisturbanceSummary, rated: Sequence[RatedValue]
) -> ReportSection:
    jobs = [job for job in view.jobs if job.entry.id == job_id]
    first = jobs[0]
    figures, alone = _figures(jobs, [item for item in rated if item.place.id == job_id])
    names = distinct(f"{unique}-{slug(figure.slug)}" for figure in figures)
    hosts = distinct(f"{unique}-on-{slug(job.entry.host)}" for job in jobs)
    parts = tuple(_part(view, job, name, findings) for job, name in zip(jobs, hosts, strict=True))
    ambiguous = any(job.title == first.title and job.entry.id != job_id for job in view.jobs)
    return ReportSection(
        slug=unique,
        title=plain(f"{first.title}: {job_id}" if ambiguous else first.title),
        id=plain(job_id),
        benchmark=plain(first.entry.benchmark),
        version=plain(first.entry.version),
        summary=first.benchmark.summary if first.benchmark else "",
        reason=plain(first.entry.reason),
        figures=tuple(replace(figure, slug=name) for figure, name in zip(figures, names, strict=True)),
        parts=tuple(_commands_once(_with_figures(parts, alone))) if alone else parts,
        settings=settings_of(jobs, f"{unique}-settings", view.resolved),
        grids=tuple(_notes_once(side_by_side(jobs, unique))) if len(jobs) > 1 else (),
        flags=(*_flags(jobs), *meanings(jobs).items()),
    )


def side_by_side(jobs: Sequence[JobView], unique: str) -> Iterator[TextTable]:
    """Yield the tables of several jobs, each with the rows of all hosts and a second column that names the host.

    If the tables have the same rows, each row is followed by the corresponding rows of the other hosts. Otherwise, all
    rows of one host are followed by all rows of the next host. Tables with different columns are not merged. The slugs
    start with `unique`.
    """
    tables = [(job.entry.host, from_table(table)) for job in jobs for table in job.tables if not table.bulk]
    groups = grouped(tables, lambda one: (one[1].slug, one[1].caption, one[1].heads)).values()
    slugs = distinct(f"{unique}-{group[0][1].slug}" for group in groups)
    for group, name in zip(groups, slugs, strict=True):
        yield replace(without_empty_columns(_joined(group)), slug=name)


def _joined(group: Sequence[tuple[str, TextTable]]) -> TextTable:
    """Join the tables of several hosts, each given with the name of its host, into one table."""
    first = group[0][1]
    rows = [[(row[0], TableCell(plain(host), host), *row[1:]) for row in grid.rows] for host, grid in group]
    names = [[row[0].text for row in own] for own in rows]
    same_rows = all(one == names[0] for one in names)
    ordered = (
        [row for same in zip(*rows, strict=True) for row in same] if same_rows else [row for own in rows for row in own]
    )
    heads = (first.heads[0], ColumnHead("Host", kept=True), *first.heads[1:])
    return replace(first, heads=heads, rows=tuple(ordered), notes=tuple(_joined_notes(group)))


def _joined_notes(group: Sequence[tuple[str, TextTable]]) -> Iterator[str]:
    """Yield the notes of joined tables. A note that applies to only some of the hosts begins with their names."""
    notes = [(note, host) for host, grid in group for note in dict.fromkeys(grid.notes)]
    for note, pairs in grouped(notes, lambda one: one[0]).items():
        yield note if len(pairs) == len(group) else f"{short_names([host for _, host in pairs])}: {note}"


def _notes_once(grids: Iterable[TextTable]) -> Iterator[TextTable]:
    """Yield the tables of a section without the notes that an earlier one of them already has."""
    seen: set[str] = set()
    for grid in grids:
        yield replace(grid, notes=tuple(note for note in grid.notes if note not in seen))
        seen.update(grid.notes)


def _figures(jobs: Sequence[JobView], rated: Sequence[RatedValue]) -> tuple[list[Figure], list[tuple[Figure, ...]]]:
    """Return the figures of all hosts together and, if there are many hosts, those of each host."""
    if len(jobs) <= FEW_HOSTS:
        return with_references(combined_figures({job.entry.host: job.figures for job in jobs}), rated), []
    own = grouped(rated, lambda item: item.place.host)
    by_host = {job.entry.host: with_references(job.figures, own.get(job.entry.host, ())) for job in jobs}
    together = fleet_figures(by_host)
    return together, [host_figures(host, figures, together) for host, figures in by_host.items()]


def _with_figures(parts: Sequence[HostPart], figures: Sequence[Sequence[Figure]]) -> tuple[HostPart, ...]:
    names = [f"{part.slug}-{slug(one.slug)}" for part, own in zip(parts, figures, strict=True) for one in own]
    unique = iter(distinct(names, frozenset(part.slug for part in parts)))
    return tuple(
        replace(part, figures=tuple(replace(one, slug=next(unique)) for one in own))
        for part, own in zip(parts, figures, strict=True)
    )


def _commands_once(parts: Iterable[HostPart]) -> Iterator[HostPart]:
    """Yield the parts of a section with many hosts. A part whose commands are the same as those of an earlier part
    refers to that part."""
    first: dict[tuple[CommandLine, ...], HostPart] = {}
    for part in parts:
        same = first.setdefault(tuple(replace(one, folder="") for one in part.commands), part)
        yield part if same is part or not part.commands else replace(part, commands=(), same_as=(same.host, same.slug))


def _flags(jobs: Sequence[JobView]) -> Iterable[TextRow]:
    """Yield the meanings of the flags in the displayed tables. Flags that cast doubt on a value come first.

    A flag that names another value, such as `disagrees:idle-latency`, is explained with both values.
    """
    texts = {**COMMON_FLAGS}
    texts |= {flag: text for job in jobs if job.benchmark for flag, text in job.benchmark.flags.items()}
    flags = dict.fromkeys(flag for job in jobs for table in job.tables if not table.bulk for flag in table.flags)
    for flag in flags:
        name = flag.partition(":")[0]
        if flag != name and name in COMMON_FLAGS:
            sides = dict.fromkeys(side.meaning for job in jobs for side in job.disagreements if side.flag == flag)
            texts[flag] = ": ".join((COMMON_FLAGS[name], *filter(None, [plain("; ".join(sides))])))
    return [(flag, texts[flag]) for flag in sorted(flags, key=lambda flag: not doubtful(flag)) if flag in texts]


def _part(view: RunView, job: JobView, unique: str, findings: DisturbanceSummary) -> HostPart:
    grids = list(_notes_once(without_empty_columns(from_table(table)) for table in job.tables if not table.bulk))
    names = distinct(f"{unique}-{grid.slug}" for grid in grids)
    failed = failures_of(view.root, job)
    repeats = [item for item in job.repeats if item.command is not None]
    return HostPart(
        host=plain(job.entry.host),
        slug=unique,
        line=_job_line(job, view.run.started_at),
        note=plain(job.note),
        grids=tuple(replace(grid, slug=name) for grid, name in zip(grids, names, strict=True)),
        commands=tuple(command_of(view.root, item) for item in repeats[:MOST_COMMANDS]),
        commands_left=max(0, len(repeats) - MOST_COMMANDS),
        failures=tuple(failed[:MOST_FAILURES]),
        failures_left=max(0, len(failed) - MOST_FAILURES),
        remarks=tuple(remarks_of(job)[:MOST_REMARKS]),
        disturbed=findings.mention(beside(view, job)),
    )


def _job_line(job: JobView, started_at: str) -> str:
    entry = job.entry
    counts = ", ".join(f"{count} {status}" for status, count in entry.counts.items() if count)
    size = f"{counted(entry.points, 'point')}, {counted(entry.repeats, 'repeat')}{' each' * (entry.points != 1)}"
    before = plain(reused_text([entry], started_at))
    took = duration_text(entry.elapsed_s) if entry.elapsed_s else ""
    texts = (size, counts, hosts_line([entry]), took, before)
    return "; ".join(text for text in texts if text)


def duration_text(seconds: float) -> str:
    """Format a duration: `0.4 s`, `12 s`, `3 min 40 s`, `2 h 05 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def _run_rows(view: RunView) -> Iterable[TextRow]:
    run = view.run
    commit = run.git_commit or ""
    rows = [
        ("Plan", f"{run.plan} ({run.plan_file})"),
        ("Plan hash", run.plan_hash),
        ("Plan commit", f"{commit} (modified)" if commit and run.git_dirty else commit),
        ("Run", run.run),
        ("Label", run.label or ""),
        ("Started", run.started_at),
        ("Ended", run.ended_at or ""),
        ("Duration", elapsed(run.started_at, run.ended_at)),
        ("Status", run.status),
        ("Exit code", "" if run.exit_code is None else str(run.exit_code)),
        ("asct", run.tool_version),
        ("Command", shlex.join(run.command)),
    ]
    return [(label, plain(text)) for label, text in rows if text]


def elapsed(start: str, end: str | None) -> str:
    """Return the time between two ISO 8601 timestamps as text, or an empty string if one of them is missing or
    malformed."""
    try:
        first, last = datetime.fromisoformat(start), datetime.fromisoformat(end or "")
        return duration_text(max(0.0, (last - first).total_seconds()))
    except (ValueError, TypeError):
        return ""
