"""Markdown for pull requests and job summaries: the verdict and key results first, followed by hosts and tables."""

from __future__ import annotations

from collections.abc import Sequence

from asct.analysis.budget import MOST_BYTES, Part, fit
from asct.analysis.disturbances import DisturbanceCard, Remedy
from asct.analysis.grid import TextTable
from asct.analysis.markup import code, details, escape, prose, row_text, table
from asct.analysis.parts import (
    MOST_HOSTS,
    clipped,
    host_line,
    hosts_line,
    section_lines,
    tables,
    verdict_lines,
    warnings,
)
from asct.analysis.report import HostCard, ReportSection, RunReport, build
from asct.analysis.view import RunView
from asct.values.grouping import shortened

NAME = "markdown"
FILE = "summary.md"
SUMMARY = "a run summary as Markdown, for pull requests and CI job pages, at most 1 MiB"

_MOST_NAMED = 8


def render(view: RunView) -> str:
    """Return the summary of a run as Markdown, at most `MOST_BYTES` bytes long."""
    return within(view, MOST_BYTES)


def within(view: RunView, most: int) -> str:
    """Return a summary of at most `most` bytes. If necessary, its sections are shortened, the last ones first."""
    return fit(_parts(build(view)), most, _note)


def _note(names: Sequence[str]) -> str:
    return f"_Shortened or left out here: {escape(shortened(names, _MOST_NAMED))}. The other reports are complete._\n"


def _parts(report: RunReport) -> list[Part]:
    few = len(report.hosts) <= MOST_HOSTS
    return [
        Part("title", 0, (_head(report),)),
        *tables("expectations", 1, "", _as_list(report.expectations)),
        *tables("references", 2, "**References**", _as_list(report.references)),
        *tables("key results", 2, "## Key results", report.headline_grids),
        *warnings(report, 2, "## Warnings"),
        Part("coverage", 2, (_coverage(report),)),
        *tables("features", 3, "**Features**", _as_list(report.features)),
        Part("facts of the hosts", 4, (_hosts(report),)),
        Part("disturbances", 4, (_findings(report.findings, few, len(report.hosts) > 1),)),
        *(_section(section, len(report.hosts)) for section in report.sections),
        Part("run details", 3, (_tail(report),)),
    ]


def _as_list(grid: TextTable | None) -> list[TextTable]:
    return [] if grid is None else [grid]


def _head(report: RunReport) -> str:
    lines = [f"# {escape(clipped(report.title))}", "", *verdict_lines(report), "", hosts_line(report), ""]
    return "\n".join([*lines, *([escape(clipped(report.description)), ""] if report.description else [])])


def _coverage(report: RunReport) -> str:
    outcomes = [table(report.outcomes)] if report.outcomes is not None else []
    return "\n".join(["## Coverage by host", "", *outcomes])


def _hosts(report: RunReport) -> str:
    few, lines = len(report.hosts) <= MOST_HOSTS, []
    for host in report.hosts:
        if len(report.hosts) > 1 and (few or host.status != "ok"):
            lines += [host_line(host), ""]
        lines += _facts(host) if few else []
    return "\n".join(lines if few else [*lines, "_The HTML report contains the facts of each host._", ""])


def _facts(host: HostCard) -> list[str]:
    rows = [row_text((escape(label), escape(value))) for label, value in host.rows]
    rows += [row_text(("Unknown", escape(text))) for text in host.unknown]
    return details("Facts", ["| Fact | Value |", "| --- | --- |", *rows])


def _findings(findings: Sequence[DisturbanceCard], few: bool, several: bool) -> str:
    """Return the disturbances in a collapsed section, or an empty string if there are none.

    If there are many hosts, the commands are omitted because they differ between hosts.
    """
    lines = []
    for item in findings:
        hosts = f" on {escape(item.hosts)}" if several else ""
        rows = item.rows if few else (("Effect", item.effect),)
        description = "; ".join(f"{escape(label.lower())}: {prose(text)}" for label, text in rows)
        lines.append(f"- **{escape(item.title)}**{hosts} ({item.sure}). {description}")
        lines += [line for way in item.ways for line in _way(way, len(item.ways) > 1)] if few else []
    note = [] if few else ["", "_The HTML report explains how to fix each disturbance and how to undo the fix._"]
    return "\n".join(details(f"Disturbances ({len(findings)})", [*lines, *note]) if findings else [])


def _way(way: Remedy, several: bool) -> list[str]:
    on = f" on {escape(way.hosts)}" if several else ""
    lines = [f"  - fix{on}: {prose(way.advice)}"] if way.advice else []
    for label, text in (("fix", way.fix), ("undo", way.undo)):
        lines += [f"  - {label}{on}, as root: " + "; ".join(map(code, text.splitlines()))] if text else []
    return lines


def _section(section: ReportSection, hosts: int) -> Part:
    title = f"## {escape(section.title)} ({escape(section.id)})"
    return Part(section.id, 5, ("\n".join([title, "", *section_lines(section, hosts)]),))


def _tail(report: RunReport) -> str:
    rows = [row_text((escape(label), escape(value))) for label, value in report.facts]
    return "\n".join(details("Run details", ["| | |", "| --- | --- |", *rows]))
