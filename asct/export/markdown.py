"""Markdown for pull requests and job summaries: the verdict first, then what was measured on what, then the tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from asct.analysis.grid import Grid, plain
from asct.analysis.report import HostCard, HostPart, Report, Section, build
from asct.analysis.view import RunView

NAME = "markdown"
SUFFIX = ".md"
FILE = "summary.md"
SUMMARY = "a summary for pull requests and job summaries, at most 1 MiB"

MOST_BYTES = 1 << 20
"""GitHub drops a job summary above this as a whole."""
_MOST_ROWS = 200
_MOST_HOSTS = 4
"""Of more hosts the facts are left out: a comment on a pull request has room for 65,536 characters."""
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~!$@&])")
_SIGNS = {"good": "✅", "bad": "❌", "doubt": "⚠️"}


def render(view: RunView) -> str:
    """The summary; sections that would pass 1 MiB are left out from the end, and it says so."""
    report = build(view)
    parts = [_head(report), *_sections(report), _tail(report)]
    note = "\n_The summary ends here because GitHub shows at most 1 MiB; the other reports are whole._\n"
    budget, kept = MOST_BYTES - len(note.encode()), []
    for part in parts:
        budget -= len(part.encode()) + 1
        if budget < 0:
            kept.append(note)
            break
        kept.append(part)
    return "\n".join(kept)


def escape(text: str) -> str:
    """`text` on one line and letter by letter: no markup, no HTML, no mention, no table cell ends in it."""
    one_line = re.sub(r"\s+", " ", plain(text)).strip()
    safe = _SPECIAL.sub(r"\\\1", one_line)
    safe = re.sub(r"^(\d*)([-+.)])(?=\s|$)", r"\1\\\2", safe)
    return re.sub(r"(?i)\b(https?|ftp)://", r"\1:\\/\\/", re.sub(r"(?i)\bwww\.", r"www\\.", safe))


def code(text: str) -> str:
    """`text` as inline code that it cannot leave (CommonMark 6.1), also inside a table.

    An odd backslash before a bar is doubled: some readers take the pair for one and the bar for the end of the cell.
    """
    one_line = re.sub(r"(?<!\\)((?:\\\\)*)(\\?)\|", r"\1\2\2\\|", re.sub(r"\s+", " ", plain(text)))
    longest = max((len(run) for run in re.findall(r"`+", one_line)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if one_line.startswith("`") or one_line.endswith("`") or not one_line else ""
    return f"{fence}{pad}{one_line}{pad}{fence}"


def prose(text: str) -> str:
    """`text` escaped, with what stands between backticks as code."""
    parts = plain(text).split("`")
    if len(parts) % 2 == 0:
        return escape(text)
    kept = []
    for number, part in enumerate(parts):
        space = " " if part[:1].isspace() else ""
        trail = " " if part[-1:].isspace() and part.strip() else ""
        kept.append(code(part) if number % 2 else f"{space}{escape(part)}{trail}")
    return "".join(kept).strip()


def table(grid: Grid) -> str:
    """A pipe table; long ones are cut, and say so."""
    aligns = ["---:" if head.align == "right" else "---" for head in grid.heads]
    lines = [_row(escape(head.title) for head in grid.heads), _row(aligns)]
    lines += [_row(prose(cell.text) for cell in row) for row in grid.rows[:_MOST_ROWS]]
    if len(grid.rows) > _MOST_ROWS:
        lines += ["", f"_{len(grid.rows) - _MOST_ROWS} more rows stand in the other reports._"]
    lines += [f"\n_{escape(note)}_" for note in grid.notes]
    return "\n".join(lines) + "\n"


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _head(report: Report) -> str:
    lines = [f"# {escape(report.title)}", "", f"{_SIGNS[report.summary.tone]} **{escape(report.summary.sentence)}**"]
    if report.summary.details:
        lines += ["", escape(". ".join(report.summary.details)) + "."]
    if report.description:
        lines += ["", escape(report.description)]
    if report.expectations is not None:
        lines += ["", table(report.expectations).rstrip()]
    if report.warnings:
        lines += ["", "## Warnings", ""]
        for item in report.warnings:
            host = f"{escape(item.host)}: " if item.host else ""
            hint = f" Way out: {prose(item.hint)}" if item.hint else ""
            lines.append(f"- **{escape(item.severity)}** {code(item.code)} {host}{prose(item.message)}.{hint}")
    return "\n".join([*lines, "", *_measured(report), ""])


def _measured(report: Report) -> Sequence[str]:
    lines = ["## What was measured on what", ""]
    if report.outcomes is not None:
        lines += [table(report.outcomes), ""]
    for host in report.hosts:
        state = "" if host.status == "ok" else f" ({escape(host.status)}: {escape(host.reason)})"
        lines += [f"**{escape(host.name)}**{state} {escape(host.line)}", ""]
        lines += [*_facts(host), *_disturbances(host)] if len(report.hosts) <= _MOST_HOSTS else []
    if len(report.hosts) > _MOST_HOSTS:
        lines += ["_The facts of each host, and what disturbs measurement there, stand in the HTML report._", ""]
    if report.headlines:
        lines += ["| Host | Benchmark | Figure | Value | |", "| --- | --- | --- | ---: | --- |"]
        for item in report.headlines:
            detail = "; ".join(text for text in (item.detail, item.doubt) if text)
            cells = (item.host, item.id, item.label, f"{item.value} {item.unit}", detail)
            lines.append(_row(escape(text) for text in cells))
    return lines


def _facts(host: HostCard) -> list[str]:
    rows = [_row((escape(label), escape(value))) for label, value in host.rows]
    rows += [_row(("Not known", escape(text))) for text in host.unknown]
    return ["<details><summary>Facts</summary>", "", "| Fact | Value |", "| --- | --- |", *rows, "", "</details>", ""]


def _disturbances(host: HostCard) -> list[str]:
    """What disturbs measurement on a host, folded; the effect beside each benchmark stands there."""
    if not host.disturbances:
        return []
    lines = [f"<details><summary>What disturbs measurement ({len(host.disturbances)})</summary>", ""]
    for item in host.disturbances:
        told = "; ".join(f"{escape(label.lower())}: {prose(text)}" for label, text in item.rows)
        lines.append(f"- **{escape(item.title)}** {told}")
        for label, text in (("fix", item.fix), ("undo", item.undo)):
            lines += [f"  - {label}, as root: " + "; ".join(map(code, text.splitlines()))] if text else []
    return [*lines, "", "</details>", ""]


def _sections(report: Report) -> list[str]:
    return [_section(section, len(report.hosts) > 1) for section in report.sections]


def _section(section: Section, several: bool) -> str:
    lines = [f"## {escape(section.title)} ({escape(section.id)})", ""]
    if section.summary:
        lines += [prose(section.summary), ""]
    for part in section.parts:
        lines += _part(part, several)
    lines += [f"- {code(flag)}: {prose(text)}" for flag, text in section.flags] + [""] * bool(section.flags)
    return "\n".join(lines)


def _part(part: HostPart, several: bool) -> list[str]:
    lines = [f"### {escape(part.host)}", ""] if several else []
    lines += [f"{escape(part.line)}.", ""]
    if part.note:
        lines += [f"_{escape(part.note)}_", ""]
    lines += [f"- ⚠️ disturbed by **{escape(item.title)}**: {prose(item.effect)}" for item in part.disturbed]
    lines += [""] * bool(part.disturbed)
    lines += [f"- ⚠️ {prose(remark)}" for remark in part.remarks] + [""] * bool(part.remarks)
    for grid in part.grids:
        lines += [f"**{escape(grid.caption)}**", "", table(grid)]
    for failure in part.failures:
        message = f"{escape(failure.label)}: {escape(failure.status)}. {prose(failure.message)}"
        lines.append(f"- ❌ {message} ({code(failure.folder)})")
    if part.failures_left:
        lines.append(f"- and {part.failures_left} more")
    return [*lines, ""] if part.failures else lines


def _tail(report: Report) -> str:
    lines = ["<details><summary>About this run</summary>", "", "| | |", "| --- | --- |"]
    lines += [_row((escape(label), escape(value))) for label, value in report.facts]
    return "\n".join([*lines, "", "</details>", ""])
