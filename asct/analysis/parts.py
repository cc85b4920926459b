"""The parts of a Markdown report, each in several versions, from the longest to the shortest, for documents of limited
size."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from asct.analysis.budget import Part
from asct.analysis.grid import TextTable, with_micro_sign
from asct.analysis.markup import MOST_ROWS, SIGNS, code, escape, prose, table
from asct.analysis.outcomes import short_names
from asct.analysis.report import Caution, HostCard, HostPart, ReportSection, RunReport

MOST_HOSTS = 4
"""Maximum number of hosts for which facts, fixes and tables are shown."""
_LONGEST = 1000
"""Maximum number of characters in each text at the beginning of a report."""
_FEWER = (MOST_ROWS, 50, 10)
"""Maximum number of table rows in the versions of a part, from the longest version to the shortest."""


def clipped(text: str) -> str:
    """Return a text, truncated to `_LONGEST` characters (including an ellipsis) if it is longer."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def verdict_lines(report: RunReport) -> list[str]:
    """Return the verdict on the run and its details as lines of Markdown."""
    lines = [f"{SIGNS[report.summary.tone]} **{prose(clipped(report.summary.sentence))}**"]
    if report.summary.details:
        lines += ["", prose(". ".join(map(clipped, report.summary.details))) + "."]
    return lines


def hosts_line(report: RunReport) -> str:
    """Return a line that describes the only host or lists the names of all hosts."""
    if len(report.hosts) == 1:
        return host_line(report.hosts[0])
    return f"{len(report.hosts)} hosts: {escape(clipped(short_names([host.name for host in report.hosts])))}"


def host_line(host: HostCard) -> str:
    """Return the name, the state and the description of a host."""
    state = "" if host.status == "ok" else f" ({escape(host.status)}: {escape(clipped(host.reason))})"
    return f"**{escape(host.name)}**{state} {escape(clipped(host.line))}".rstrip()


def tables(name: str, rank: int, title: str, grids: Sequence[TextTable]) -> list[Part]:
    """Return a part that consists of a title and tables, with fewer rows in each successive version. Return nothing if
    there are no tables."""
    if not grids:
        return []

    def version(most: int) -> str:
        lines = [title, ""] if title else []
        for grid in grids:
            lines += [f"**{escape(grid.caption)}**", ""] if len(grids) > 1 else []
            lines.append(table(grid, most))
        return "\n".join(lines)

    longest = max(len(grid.rows) for grid in grids)
    fewer = [most for number, most in enumerate(_FEWER) if number == 0 or most < longest]
    return [Part(name, rank, tuple(map(version, fewer)))]


def warnings(report: RunReport, rank: int, title: str) -> list[Part]:
    """Return the warnings as a bulleted list under `title`, with a shorter version that contains the first ten."""
    lines = [_caution(item) for item in report.warnings]
    if not lines:
        return []
    texts = ["\n".join([title, "", *lines, ""])]
    if len(lines) > 10:
        texts.append("\n".join([title, "", *lines[:10], f"- and {len(lines) - 10} more", ""]))
    return [Part("warnings", rank, tuple(texts))]


def _caution(item: Caution) -> str:
    host = f"{escape(item.host)}: " if item.host else ""
    hint = f" Fix: {prose(item.hint)}" if item.hint else ""
    return f"- **{escape(item.severity)}** {code(item.code)} {host}{prose(item.message)}.{hint}"


def section_lines(section: ReportSection, hosts: int, most: int = MOST_ROWS) -> list[str]:
    """Return the section of a benchmark entry, without its title.

    If there are many hosts, the section lists only problems, because the key results show the values.
    """
    lines = [prose(section.summary), ""] if section.summary else []
    for part in section.parts:
        if hosts <= MOST_HOSTS or part.failures or part.remarks or part.note:
            lines += _part(part, hosts, most)
    lines += [] if hosts <= MOST_HOSTS else ["_The other reports contain the tables of each host._", ""]
    return [*lines, *(f"- {code(flag)}: {prose(text)}" for flag, text in section.flags), *[""] * bool(section.flags)]


def _part(part: HostPart, hosts: int, most: int) -> list[str]:
    lines = [f"### {escape(part.host)}", ""] if hosts > 1 else []
    lines += [f"{escape(part.line)}.", ""]
    if part.note:
        lines += [f"_{escape(part.note)}_", ""]
    lines += _doubts(part)
    for grid in part.grids if hosts <= MOST_HOSTS else ():
        lines += [f"**{escape(grid.caption)}**", "", table(with_micro_sign(grid), most)]
    return [*lines, *_failures(part)]


def _doubts(part: HostPart) -> list[str]:
    names = ", ".join(f"**{escape(item.title)}**" for item in part.disturbed)
    doubts = [f"- ⚠️ affected by {names}"] if names else []
    doubts += [f"- ⚠️ {prose(remark)}" for remark in part.remarks]
    return [*doubts, ""] if doubts else []


def _failures(part: HostPart) -> Iterable[str]:
    for failure in part.failures:
        message = f"{escape(failure.status)} ({escape(failure.label)}): {prose(failure.message)}"
        folder = f" ({code(failure.folder)})" if failure.folder else ""
        yield f"- {SIGNS[failure.tone]} {message}{folder}"
    if part.failures_left:
        yield f"- and {part.failures_left} more"
    if part.failures:
        yield ""
