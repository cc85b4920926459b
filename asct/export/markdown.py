"""Markdown for pull requests and job summaries: the verdict and key results first, followed by hosts and tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from asct.analysis.disturbances import DisturbanceCard, Remedy
from asct.analysis.grid import TableCell, TextTable, Tone, plain
from asct.analysis.outcomes import short_names
from asct.analysis.report import HostCard, HostPart, ReportSection, RunReport, build
from asct.analysis.view import RunView

NAME = "markdown"
FILE = "summary.md"
SUMMARY = "a summary for pull requests and job summaries, at most 1 MiB"

MOST_BYTES = 1 << 20
"""Size limit in bytes. GitHub discards larger job summaries."""
_MOST_ROWS = 200
_MOST_HOSTS = 4
"""The maximum number of hosts for which facts, fixes and tables are shown, because a pull request comment is limited to
65,536 characters."""
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~!$@&])")
_REFERENCE = re.compile(r"(\\@(?=\w)|(?:\\#|\b[Gg][Hh]-)(?=\d))")
"""Matches mentions, URLs and issue numbers. GitHub turns these into links after removing backslashes, so escaping is
not sufficient; an invisible empty comment breaks them up (github/cmark-gfm, issue 181)."""
_SIGNS: Final[Mapping[Tone, str]] = {
    "good": "✅", "doubt": "⚠️", "invalid": "🟣", "bad": "❌", "refused": "⛔", "missing": "🔵", "unknown": "❔",
}  # fmt: skip
"""The signs that represent the colors of outcomes, because Markdown has no colors."""


def render(view: RunView) -> str:
    """Return the summary. If it exceeds 1 MiB, sections at the end are replaced with a note."""
    report = build(view)
    parts = [_head(report), *(_section(section, len(report.hosts)) for section in report.sections), _tail(report)]
    note = "\n_Truncated here: GitHub shows at most 1 MiB. The other reports are complete._\n"
    budget, kept = MOST_BYTES - len(note.encode()), []
    for part in parts:
        budget -= len(part.encode()) + 1
        if budget < 0:
            kept.append(note)
            break
        kept.append(part)
    return "\n".join(kept)


def escape(text: str) -> str:
    """Return `text` as one line, escaped so that it contains no markup, HTML, mention or reference and cannot end a
    table cell."""
    one_line = re.sub(r"\s+", " ", plain(text)).strip()
    safe = _SPECIAL.sub(r"\\\1", one_line)
    safe = re.sub(r"^(\d*)([-+.)=])(?=\s|$|[-=]+$)", r"\1\\\2", _REFERENCE.sub(r"\1<!-- -->", safe))
    return re.sub(r"(?i)\b(https?|ftp)://", r"\1:\\/\\/", re.sub(r"(?i)\bwww\.", r"www\\.", safe))


def code(text: str) -> str:
    """Return `text` as inline code (CommonMark 6.1), also for use in a table. The text cannot end the code.

    If the number of backslashes before a vertical bar is odd, another one is added. Otherwise, some renderers would
    pair the last one with the backslash that escapes the bar, and treat the bar as the end of the cell.
    """
    one_line = re.sub(r"(?<!\\)((?:\\\\)*)(\\?)\|", r"\1\2\2\\|", re.sub(r"\s+", " ", plain(text)))
    longest = max((len(run) for run in re.findall(r"`+", one_line)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if one_line.startswith("`") or one_line.endswith("`") or not one_line else ""
    return f"{fence}{pad}{one_line}{pad}{fence}"


def prose(text: str) -> str:
    """Return `text` escaped, and the parts between backticks as code."""
    parts = plain(text).split("`")
    if len(parts) % 2 == 0:
        return escape(text)
    kept = []
    for number, part in enumerate(parts):
        space = " " if part[:1].isspace() else ""
        trail = " " if part[-1:].isspace() and part.strip() else ""
        kept.append(code(part) if number % 2 else f"{space}{escape(part)}{trail}")
    return "".join(kept).strip()


def table(grid: TextTable) -> str:
    """Return a pipe table. If the table is long, truncate it and add a note."""
    aligns = ["---:" if head.align == "right" else "---" for head in grid.heads]
    lines = [_row(escape(head.title) for head in grid.heads), _row(aligns)]
    lines += [_row(map(_cell, row)) for row in grid.rows[:_MOST_ROWS]]
    if len(grid.rows) > _MOST_ROWS:
        lines += ["", f"_{len(grid.rows) - _MOST_ROWS} more rows are in the other reports._"]
    lines += [f"\n_{escape(note)}_" for note in grid.notes]
    return "\n".join(lines) + "\n"


def _cell(cell: TableCell) -> str:
    sign = _SIGNS.get(cell.tone, "")
    return f"{sign} {prose(cell.text)}" if sign else prose(cell.text)


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _head(report: RunReport) -> str:
    lines = [f"# {escape(report.title)}", "", f"{_SIGNS[report.summary.tone]} **{prose(report.summary.sentence)}**"]
    if report.summary.details:
        lines += ["", prose(". ".join(report.summary.details)) + "."]
    lines += ["", _where(report)]
    if report.description:
        lines += ["", escape(report.description)]
    if report.expectations is not None:
        lines += ["", table(report.expectations).rstrip()]
    lines += ["", *_headlines(report)]
    if report.warnings:
        lines += ["## Warnings", ""]
        for item in report.warnings:
            host = f"{escape(item.host)}: " if item.host else ""
            hint = f" Fix: {prose(item.hint)}" if item.hint else ""
            lines.append(f"- **{escape(item.severity)}** {code(item.code)} {host}{prose(item.message)}.{hint}")
        lines.append("")
    return "\n".join([*lines, *_measured(report)])


def _where(report: RunReport) -> str:
    """Return a line that describes the only host or lists the names of all hosts."""
    if len(report.hosts) == 1:
        return _line(report.hosts[0])
    return f"{len(report.hosts)} hosts: {escape(short_names([host.name for host in report.hosts]))}"


def _line(host: HostCard) -> str:
    state = "" if host.status == "ok" else f" ({escape(host.status)}: {escape(host.reason)})"
    return f"**{escape(host.name)}**{state} {escape(host.line)}".rstrip()


def _headlines(report: RunReport) -> list[str]:
    if not report.headlines:
        return []
    lines = ["## Key results", ""]
    for grid in report.headline_grids:
        lines += [f"**{escape(grid.caption)}**", "", table(grid)]
    if not report.headline_grids:
        lines += ["| Benchmark | Metric | Value | |", "| --- | --- | ---: | --- |"]
        for item in report.headlines:
            detail = "; ".join(text for text in (item.detail, item.doubt) if text)
            cells = (item.id, item.label, f"{item.value} {item.unit}".rstrip(), detail)
            lines.append(_row(escape(text) for text in cells))
        lines.append("")
    return lines


def _measured(report: RunReport) -> list[str]:
    lines = ["## Coverage by host", ""]
    if report.outcomes is not None:
        lines += [table(report.outcomes), ""]
    few = len(report.hosts) <= _MOST_HOSTS
    for host in report.hosts:
        if len(report.hosts) > 1 and (few or host.status != "ok"):
            lines += [_line(host), ""]
        lines += _facts(host) if few else []
    lines += [] if few else ["_The HTML report contains the facts of each host._", ""]
    return [*lines, *_findings(report.findings, few, len(report.hosts) > 1)]


def _facts(host: HostCard) -> list[str]:
    rows = [_row((escape(label), escape(value))) for label, value in host.rows]
    rows += [_row(("Unknown", escape(text))) for text in host.unknown]
    return ["<details><summary>Facts</summary>", "", "| Fact | Value |", "| --- | --- |", *rows, "", "</details>", ""]


def _findings(findings: Sequence[DisturbanceCard], few: bool, several: bool) -> list[str]:
    """Return the disturbances in a collapsed section.

    If there are many hosts, the commands are omitted because they differ between hosts.
    """
    if not findings:
        return []
    lines = [f"<details><summary>Disturbances ({len(findings)})</summary>", ""]
    for item in findings:
        hosts = f" on {escape(item.hosts)}" if several else ""
        rows = item.rows if few else (("Effect", item.effect),)
        told = "; ".join(f"{escape(label.lower())}: {prose(text)}" for label, text in rows)
        lines.append(f"- **{escape(item.title)}**{hosts} ({item.sure}). {told}")
        lines += [line for way in item.ways for line in _way(way, len(item.ways) > 1)] if few else []
    note = [] if few else ["", "_The HTML report contains the fix and undo of each disturbance._"]
    return [*lines, *note, "", "</details>", ""]


def _way(way: Remedy, several: bool) -> list[str]:
    on = f" on {escape(way.hosts)}" if several else ""
    lines = [f"  - fix{on}: {prose(way.advice)}"] if way.advice else []
    for label, text in (("fix", way.fix), ("undo", way.undo)):
        lines += [f"  - {label}{on}, as root: " + "; ".join(map(code, text.splitlines()))] if text else []
    return lines


def _section(section: ReportSection, hosts: int) -> str:
    """Return the section of a benchmark entry.

    If there are many hosts, the section lists only problems, because the key results show the values.
    """
    lines = [f"## {escape(section.title)} ({escape(section.id)})", ""]
    if section.summary:
        lines += [prose(section.summary), ""]
    for part in section.parts:
        if hosts <= _MOST_HOSTS or part.failures or part.remarks or part.note:
            lines += _part(part, hosts)
    lines += [] if hosts <= _MOST_HOSTS else ["_The other reports contain the tables of each host._", ""]
    lines += [f"- {code(flag)}: {prose(text)}" for flag, text in section.flags] + [""] * bool(section.flags)
    return "\n".join(lines)


def _part(part: HostPart, hosts: int) -> list[str]:
    lines = [f"### {escape(part.host)}", ""] if hosts > 1 else []
    lines += [f"{escape(part.line)}.", ""]
    if part.note:
        lines += [f"_{escape(part.note)}_", ""]
    names = ", ".join(f"**{escape(item.title)}**" for item in part.disturbed)
    doubts = [f"- ⚠️ affected by {names}"] if names else []
    doubts += [f"- ⚠️ {prose(remark)}" for remark in part.remarks]
    lines += [*doubts, ""] if doubts else []
    for grid in part.grids if hosts <= _MOST_HOSTS else ():
        lines += [f"**{escape(grid.caption)}**", "", table(grid)]
    for failure in part.failures:
        message = f"{escape(failure.status)}: {escape(failure.label)}: {prose(failure.message)}"
        where = f" ({code(failure.folder)})" if failure.folder else ""
        lines.append(f"- {_SIGNS[failure.tone]} {message}{where}")
    if part.failures_left:
        lines.append(f"- and {part.failures_left} more")
    return [*lines, ""] if part.failures else lines


def _tail(report: RunReport) -> str:
    lines = ["<details><summary>Run details</summary>", "", "| | |", "| --- | --- |"]
    lines += [_row((escape(label), escape(value))) for label, value in report.facts]
    return "\n".join([*lines, "", "</details>", ""])
