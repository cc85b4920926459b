"""A comment for a pull request: the verdict and the changes come first; everything else is in sections that the reader
can expand.

The first line is a hidden marker, which allows a program to find and replace the comment from an earlier run of the
same plan. Anyone can read a comment, so it contains no addresses, serial numbers or kernel command lines.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from asct.analysis.budget import Part, fit
from asct.analysis.ci import ci_job
from asct.analysis.grid import TextTable
from asct.analysis.keyresults import KeyResults
from asct.analysis.markup import code, details, escape, prose, table
from asct.analysis.outcomes import TONES
from asct.analysis.parts import MOST_HOSTS, clipped, hosts_line, section_lines, tables, verdict_lines, warnings
from asct.analysis.problems import problems_of
from asct.analysis.redaction import redacted, redactor
from asct.analysis.report import HostPart, ReportSection, RunReport, build
from asct.analysis.verdict import change_grid, verdict_grid
from asct.analysis.view import RunView
from asct.store.model import Run
from asct.values.grouping import shortened

NAME = "comment"
FILE = "comment.md"
SUMMARY = "a comment for a pull request, at most 65,000 characters"

MOST_BYTES = 65_000
"""Size limit in bytes, which also limits the number of characters. GitHub rejects comments above 65,536 characters."""
_MOST_NAMED = 8
_MOST_LISTED = 10
_FEW_ROWS = 20
_LOST = frozenset(TONES) - {"ok", "noisy", "warning"}


def render(view: RunView) -> str:
    """Return the comment. If it becomes too large, collapsed sections are left out first; the last line says what was
    left out and where to find it."""
    run, redact = view.run, redactor(view)
    report = redacted(_public(build(view)), redact)
    compared = [item for item in run.verdicts if item.baseline is not None]
    unmet = [item for item in run.verdicts if item.baseline is None and item.outcome in ("fail", "unknown")]
    changes = [redacted(change_grid(compared), redact)] if compared else []
    expectations = [redacted(verdict_grid(unmet), redact)] if unmet else []
    link = ci_job().artifacts
    parts = [
        Part("title", 0, (_head(report, run, redact(run.plan_file), link),)),
        *tables("changes", 1, "### Changes from the baseline", changes),
        *tables("expectations", 1, "### Expectations not met", expectations),
        *_unmeasured(view, redact),
        *tables("key results", 2, "### Key results", report.headline_grids),
        *(Part(part.name, 3, tuple(map(_closed_warnings, part.texts))) for part in warnings(report, 3, "")),
        *_coverage(report.outcomes),
        *(_section(section, len(report.hosts)) for section in report.sections),
    ]
    return fit(parts, MOST_BYTES, lambda names: _left_out(names, link))


def marker(plan: str) -> str:
    """Return the hidden first line of a comment, which is the same for all runs of a plan."""
    name = re.sub(r"[^A-Za-z0-9._@+-]", "_", plan).replace("--", "- -")
    return f"<!-- asct: {name} -->"


def _public(report: RunReport) -> RunReport:
    """Return the report without the parts that a comment does not show."""
    few = len(report.hosts) <= MOST_HOSTS

    def reduced(part: HostPart) -> HostPart:
        return replace(part, commands=(), grids=part.grids if few else ())

    empty = TextTable("", "", (), ())
    sections = (
        replace(one, figures=(), settings=empty, grids=(), parts=tuple(map(reduced, one.parts)))
        for one in report.sections
    )
    hosts = (replace(host, rows=(), picture="", found=(), unknown=()) for host in report.hosts)
    return replace(
        report,
        sections=tuple(sections),
        hosts=tuple(hosts),
        headlines=(),
        findings=(),
        facts=(),
        cause=None,
        key_results=KeyResults((), (), 0),
    )


def _head(report: RunReport, run: Run, plan_file: str, link: str) -> str:
    commit = f" at commit {code(run.git_commit[:12])}{' (modified)' if run.git_dirty else ''}" if run.git_commit else ""
    where = f" The [artifacts]({link}) contain the full report." if link else ""
    origin = f"Plan {code(clipped(plan_file))}{commit}, run {code(clipped(run.run))}, exit code {run.exit_code}.{where}"
    title = f"## {escape(clipped(report.title))}"
    return "\n".join([marker(run.plan), title, "", *verdict_lines(report), "", origin, "", hosts_line(report), ""])


def _unmeasured(view: RunView, redact: Callable[[str], str]) -> list[Part]:
    """Return the first points that were not measured, with their causes."""
    found = [item for item in problems_of(view) if item.level == "error" and item.check in _LOST]
    lines = [f"- {escape(redact(item.title))}: {prose(clipped(redact(item.message)))}" for item in found[:_MOST_LISTED]]
    left = len(found) - _MOST_LISTED
    lines += [f"- and {left} more"] if left > 0 else []
    return (
        [Part("points that were not measured", 1, ("\n".join(["### Not measured", "", *lines, ""]),))] if found else []
    )


def _closed_warnings(text: str) -> str:
    return "\n".join(details("Warnings", text.strip().splitlines()))


def _coverage(outcomes: TextTable | None) -> list[Part]:
    if outcomes is None:
        return []
    return [Part("coverage by host", 3, ("\n".join(details("Coverage by host", table(outcomes).splitlines())),))]


def _section(section: ReportSection, hosts: int) -> Part:
    """Return the collapsed section of a benchmark entry in two versions, the second with shorter tables."""
    title = f"{section.title} ({section.id})"
    versions = (section_lines(section, hosts), section_lines(section, hosts, _FEW_ROWS))
    return Part(section.id, 4, tuple("\n".join(details(title, lines)) for lines in versions))


def _left_out(names: Sequence[str], link: str) -> str:
    where = f"The [artifacts]({link}) contain them" if link else "The other reports of the run contain them"
    return f"_Shortened or left out for lack of space: {escape(clipped(shortened(names, _MOST_NAMED)))}. {where}._\n"
