"""Plain text for a terminal: the verdict, followed by the tables of each job. The text is 80 columns wide if the tables
fit."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from asct.analysis.disturbances import DisturbanceCard
from asct.analysis.grid import ColumnHead, TextTable, coordinates_text, plain, with_columns, without_empty_columns
from asct.analysis.keyresults import KeyResult, KeyResults
from asct.analysis.report import HostPart, RunReport, build
from asct.analysis.sparkline import SweepText, sweeps
from asct.analysis.verdict import bound_text, by_outcome, value_text, word_of
from asct.analysis.view import RunView
from asct.store.model import Verdict
from asct.values.text import counted, display_width, padded, wrapped_lines

NAME = "stdout"
FILE = "report.txt"
SUMMARY = "plain-text tables, 80 columns wide"

WIDTH = 80
_NARROWEST = 12
_LONGEST_WORD = 24
_GAP = 2
"""Spaces between columns."""
_RULE = "─"
_SEVERAL = 3
"""Minimum number of columns that stay in the current block when a group of columns with shared words is split."""
_LONG = re.compile(r"[+-]?\d{4,}\.\d+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_MOST_SERIES = 8
_MOST_SWEEPS = 8
"""Maximum number of series that a summary shows."""


def render(view: RunView, width: int = WIDTH) -> str:
    """Return the verdict, expectations, warnings, tables and failures, uncolored and at most `width` columns wide."""
    report = build(view)
    blocks = [wrapped(report.summary.sentence + "".join(f". {text}" for text in report.summary.details), width)]
    blocks.append("\n".join(_verdict(item, width) for item in by_outcome(view.run.verdicts)))
    blocks.append("\n".join(_key_lines(report.key_results, width)))
    blocks += [_titled(grid, width) for grid in (report.references, report.features) if grid is not None]
    for item in report.warnings:
        host = f"{item.host}: " if item.host else ""
        hint = f"\n{wrapped(item.hint, width, '    ')}" if item.hint else ""
        blocks.append(wrapped(f"{item.severity}[{item.code}] {host}{item.message}", width) + hint)
    blocks.append("\n".join(_finding(item, len(report.hosts) > 1, width) for item in report.findings))
    for section in report.sections:
        for part in section.parts:
            blocks += _part(report, section.id, part, width)
        blocks += ["\n".join(_sweep(item, width)) for item in sweeps(section.figures, _MOST_SERIES)]
        blocks.append("\n".join(wrapped(f"{flag}: {text}", width) for flag, text in section.flags))
    return "\n\n".join(block.rstrip() for block in blocks if block) + "\n"


def result_lines(report: RunReport, width: int) -> list[str]:
    """Return the key results and, for each benchmark, its first sweep as a sparkline."""
    lines = _key_lines(report.key_results, width)
    firsts = (item for section in report.sections for item in islice(sweeps(section.figures, _MOST_SERIES), 1))
    for item in _up_to(_MOST_SWEEPS, firsts):
        lines += [*_sweep(item, width), ""]
    return lines


def _key_lines(found: KeyResults, width: int) -> list[str]:
    """Return the key results, grouped by subject and followed by an empty line, or nothing if there are none."""
    rows = [row for _, group in found.groups for row in group]
    if not rows:
        return []
    label = max(display_width(row.label) for row in rows)
    value = max(display_width(_value(row)) for row in rows)
    lines: list[str] = []
    for subject, group in found.groups:
        shared = group[0].id if len({row.id for row in group}) == 1 else ""
        lines.append(f"{subject} ({shared})" if shared else subject)
        for row in group:
            known = row.lines if shared else (*row.lines, row.id)
            lines += _key_result(row, known, (label, value), width)
    if found.doubts:
        lines += wrapped(f"Doubts about all of these values: {', '.join(found.doubts)}", width).split("\n")
    if found.left:
        lines.append(f"and {counted(found.left, 'more key result')} in the reports")
    return [*lines, ""]


def _value(row: KeyResult) -> str:
    return f"{row.value} {row.unit}".rstrip()


def _key_result(row: KeyResult, known: Sequence[str], sizes: tuple[int, int], width: int) -> Iterator[str]:
    """Yield the lines of a key result. The first line contains the label and the value, in columns with the widths
    `sizes`. The details in `known` are on the same line if they fit, otherwise below it.
    """
    head = f"  {padded(row.label, sizes[0])}  {padded(_value(row), sizes[1], right=True)}"
    known = [*known, *([f"doubtful: {', '.join(row.doubts)}"] if row.doubts else [])]
    if display_width(head) + 2 + display_width("; ".join(known)) <= width:
        yield f"{head}  {'; '.join(known)}"
        return
    yield head
    yield from (line for text in _joined(known, width - 6) for line in wrapped(text, width, " " * 6).split("\n"))


def _joined(texts: Iterable[str], room: int) -> Iterator[str]:
    """Join consecutive texts with semicolons as long as the line is at most `room` columns wide."""
    line = ""
    for text in texts:
        both = f"{line}; {text}" if line else text
        if line and display_width(both) > room:
            yield line
            both = text
        line = both
    if line:
        yield line


def _up_to(most: int, found: Iterable[SweepText]) -> Iterator[SweepText]:
    """Yield the first sweeps, up to a total of `most` series."""
    for item in found:
        most -= len(item.rows)
        if most < 0:
            return
        yield item


def _sweep(item: SweepText, width: int) -> Iterator[str]:
    """Yield a sweep's title and a line for each series."""
    yield from wrapped(item.title, width).split("\n")
    names = [name if len(item.rows) > 1 else "" for name, _, _ in item.rows]
    ranges = max(display_width(ends) for _, _, ends in item.rows)
    room = max(8, width - 6 - ranges - max(len(line) for _, line, _ in item.rows))
    size = min(room, max(map(display_width, names)))
    for name, (_, line, ends) in zip(names, item.rows, strict=True):
        short = name if display_width(name) <= size else f"{name[: size - 1]}…"
        yield f"  {short:<{size}}  {line}  {ends}" if size else f"  {line}  {ends}"


def verdict_text(verdict: Verdict) -> str:
    """Describe a verdict: `id.metric at level DRAM on n1: 140 ns, expected at most 130 ns; reason`."""
    at = f" at {coordinates_text(verdict.at)}" if verdict.at else ""
    host = f" on {verdict.host}" if verdict.host else ""
    reason = f"; {verdict.reason}" if verdict.reason else ""
    return plain(
        f"{verdict.id}.{verdict.metric}{at}{host}: {value_text(verdict)}, expected {bound_text(verdict)}{reason}"
    )


def _verdict(verdict: Verdict, width: int) -> str:
    """Return the outcome and the text of a verdict. Continuation lines are aligned with the text."""
    lead = f"{word_of(verdict):<8} "
    wrapped = wrapped_lines(verdict_text(verdict), width - len(lead), break_on_hyphens=False)
    return "\n".join((lead if number == 0 else " " * len(lead)) + line for number, line in enumerate(wrapped))


def _finding(item: DisturbanceCard, several: bool, width: int) -> str:
    """Describe a finding: `busy on h1 (likely): effect`. Other reports also show the fix and the undo."""
    on = f" on {item.hosts}" if several else ""
    return wrapped(f"{item.title}{on} ({item.sure}): {item.effect}", width)


def _part(report: RunReport, job_id: str, part: HostPart, width: int) -> list[str]:
    several = len(report.hosts) > 1 or len(report.sections) > 1
    where = f"{job_id} on {part.host}: " if several else ""
    blocks = [wrapped(f"{where}{part.line}", width)]
    if part.note:
        blocks.append(wrapped(part.note, width))
    if part.disturbed:
        blocks.append(wrapped(f"affected by: {', '.join(item.title for item in part.disturbed)}", width))
    blocks += [wrapped(remark, width) for remark in part.remarks]
    blocks += [_titled(grid, width) for grid in part.grids]
    for failure in part.failures:
        lines = [wrapped(f"{failure.status} ({failure.label}): {failure.message}", width)]
        lines += [f"    {line}" for line in failure.tail.splitlines()[-3:]]
        blocks.append("\n".join([*lines, *([f"    {failure.folder}"] if failure.folder else [])]))
    return blocks


def _titled(grid: TextTable, width: int) -> str:
    rule = "-" * min(width, display_width(grid.caption))
    notes = "".join(f"\n{wrapped(note, width)}" for note in grid.notes)
    return f"{grid.caption}\n{rule}\n{table(grid, width)}{notes}"


def table(grid: TextTable, width: int = WIDTH) -> str:
    """Return a table with aligned columns within `width`.

    Titles are wrapped first, then text cells. If the columns still do not fit, the table becomes compact: its columns
    are separated by one space, neighbors share the common words of their titles, and long numbers lose their decimals.
    Columns that still do not fit are shown below, after a copy of the first column. Only a single column can exceed
    `width`.
    """
    grid = without_empty_columns(grid)
    if _fits(_sizes(grid, width), width, _GAP):
        return _one_table(grid, width)
    parts = _parts(_rounded(grid), width)
    return "\n\n".join(
        _one_table(part, width) if _fits(_sizes(part, width), width, _GAP) else _compact_table(part, width)
        for part in parts
    )


def _fits(sizes: Sequence[int], width: int, gap: int) -> bool:
    return sum(sizes) + gap * (len(sizes) - 1) <= width


def _rounded(grid: TextTable) -> TextTable:
    """Return the table with all numbers of at least 1000 rounded to integers."""
    rows = tuple(
        tuple(replace(cell, text=f"{float(cell.text):.0f}") if _LONG.fullmatch(cell.text) else cell for cell in row)
        for row in grid.rows
    )
    return replace(grid, rows=rows)


def _parts(grid: TextTable, width: int) -> list[TextTable]:
    """Split the columns into blocks that fit the width in compact form. Each block starts with the first column.
    Columns whose titles share words stay together if they all fit into one block, unless the first `_SEVERAL` of them
    fit into the current block."""

    def fits(columns: Sequence[int]) -> bool:
        part = with_columns(grid, columns)
        return _fits(_compact_sizes(part, _groups(part), width), width, 1)

    blocks: list[list[int]] = [[0]]
    for group in ([index for index in one.columns if index] for one in _groups(grid)):
        all_fit, some_fit = fits([*blocks[-1], *group]), fits([*blocks[-1], *group[:_SEVERAL]])
        if len(blocks[-1]) > 1 and not (all_fit or some_fit) and fits([0, *group]):
            blocks.append([0])
        for index in group:
            if len(blocks[-1]) > 1 and not fits([*blocks[-1], index]):
                blocks.append([0])
            blocks[-1].append(index)
    return [with_columns(grid, block) for block in blocks]


def _one_table(full: TextTable, width: int) -> str:
    sizes = _sizes(full, width)
    lines = _cells([head.title for head in full.heads], full.heads, sizes, bottom=True)
    for row in full.rows:
        lines += _cells([cell.text for cell in row], full.heads, sizes)
    return "\n".join(line.rstrip() for line in lines)


@dataclass(frozen=True, slots=True)
class _Group:
    """Neighboring columns whose titles differ in one word. `shared` contains the other words, and `titles` what remains
    of each title, starting with that of the column `first`."""

    first: int
    shared: str
    titles: tuple[str, ...]

    @property
    def columns(self) -> range:
        return range(self.first, self.first + len(self.titles))


def _groups(grid: TextTable) -> list[_Group]:
    """Group neighboring numeric columns by shared words, and break the other titles between lowercase and capital
    letters."""
    found: list[_Group] = []
    titles = [head.title if head.align == "right" else "" for head in grid.heads]
    start = 0
    while start < len(titles):
        groups = (_Group(start, shared, _parted(shared, titles[start:])) for shared in _shorter(titles[start]))
        group = max(groups, key=lambda one: len(one.titles), default=None)
        if group is None or len(group.titles) < 2:
            group = _Group(start, "", (_CAMEL.sub(" ", grid.heads[start].title),))
        found.append(group)
        start = group.columns.stop
    return found


def _shorter(title: str) -> dict[str, str]:
    """Remove one word at a time from a title, and return a mapping from each remaining text to the removed word."""
    words = title.split()
    return {" ".join(words[:i] + words[i + 1 :]): word for i, word in enumerate(words) if len(words) > 1}


def _parted(shared: str, titles: Sequence[str]) -> tuple[str, ...]:
    """Return what remains of the first titles that share these words. A column whose title consists only of these words
    and which follows the column for writes covers both reads and writes."""
    own: list[str] = []
    for title in titles:
        word = "All" if title == shared and own[-1:] == ["Write"] else _shorter(title).get(shared)
        if word is None:
            break
        own.append(word)
    return tuple(own)


def _compact_sizes(grid: TextTable, groups: Sequence[_Group], width: int) -> list[int]:
    sizes = _needed(grid, [title for group in groups for title in group.titles])
    for group in groups:
        missing = display_width(group.shared) - sum(sizes[index] for index in group.columns) - len(group.titles) + 1
        sizes[group.columns[-1]] += max(0, missing)
    _shrink(sizes, grid, width - len(sizes) + 1)
    return sizes


def _compact_table(grid: TextTable, width: int) -> str:
    groups = _groups(grid)
    sizes = _compact_sizes(grid, groups, width)
    titles = [title for group in groups for title in group.titles]
    lines = _cells(titles, grid.heads, sizes, bottom=True, gap=1)
    lines = [""] * (2 - len(lines)) + lines
    lines[-2] = _with_shared(lines[-2], groups, sizes)
    for row in grid.rows:
        lines += _cells([cell.text for cell in row], grid.heads, sizes, gap=1)
    return "\n".join(line.rstrip() for line in lines)


def _with_shared(line: str, groups: Sequence[_Group], sizes: Sequence[int]) -> str:
    """Return `line`, the second-to-last line of the heading, with the shared words above the columns of each group."""
    start = 0
    for group in groups:
        room = sum(sizes[index] for index in group.columns) + len(group.titles) - 1
        if group.shared:
            line = line[:start].ljust(start) + group.shared.center(room, _RULE) + line[start + room :]
        start += room + 1
    return line


def _sizes(grid: TextTable, width: int) -> list[int]:
    """Return the column widths.

    Columns are as wide as their values. If there is space left, they are widened to fit their titles; if there is not
    enough space, text columns are narrowed.
    """
    sizes = _needed(grid, [head.title for head in grid.heads])
    room = width - _GAP * (len(sizes) - 1)
    _shrink(sizes, grid, room)
    titles = (display_width(head.title) for head in grid.heads)
    for index, title in sorted(enumerate(titles), key=lambda item: item[1]):
        if title > sizes[index] and sum(sizes) + title - sizes[index] <= room:
            sizes[index] = title
    return sizes


def _needed(grid: TextTable, titles: Sequence[str]) -> list[int]:
    """Return the widths of columns with these titles if neither their values nor the words in the titles are broken."""
    return [
        max([1, *map(display_width, (*(row[index].text for row in grid.rows), *title.split()))])
        for index, title in enumerate(titles)
    ]


def _shrink(sizes: list[int], grid: TextTable, room: int) -> None:
    """Shrink the widest left-aligned column repeatedly until the table fits or all such columns have their minimum
    width, at which only words longer than `_LONGEST_WORD` are broken.

    Numbers are never wrapped.
    """
    words = [{word for row in grid.rows for word in row[index].text.split()} for index in range(len(sizes))]
    least = [max(_NARROWEST, *(min(display_width(word), _LONGEST_WORD) for word in own), 0) for own in words]
    while sum(sizes) > room:
        texts = [index for index, head in enumerate(grid.heads) if head.align == "left" and sizes[index] > least[index]]
        if not texts:
            return
        sizes[max(texts, key=lambda index: sizes[index])] -= 1


def _lines_of(text: str, size: int) -> list[str]:
    """Break text into lines of at most `size` columns. textwrap is unsuitable because it counts characters, some of
    which are two columns wide."""
    if display_width(text) == len(text):
        return wrapped_lines(text, size, break_on_hyphens=False)
    lines = [""]
    for word in text.split():
        if lines[-1] and display_width(lines[-1]) + 1 + display_width(word) <= size:
            lines[-1] += f" {word}"
            continue
        if lines[-1]:
            lines.append("")
        for character in word:
            if lines[-1] and display_width(lines[-1] + character) > size:
                lines.append("")
            lines[-1] += character
    return lines


def _cells(
    texts: Sequence[str], heads: Sequence[ColumnHead], sizes: Sequence[int], bottom: bool = False, gap: int = _GAP
) -> list[str]:
    wrapped = [_lines_of(text, size) or [""] for text, size in zip(texts, sizes, strict=True)]
    height = max(len(lines) for lines in wrapped)
    cells = [
        [""] * (height - len(lines)) + lines if bottom else lines + [""] * (height - len(lines)) for lines in wrapped
    ]
    return [
        (" " * gap).join(
            padded(lines[row], size, head.align == "right")
            for lines, size, head in zip(cells, sizes, heads, strict=True)
        )
        for row in range(height)
    ]


def wrapped(text: str, width: int, indent: str = "") -> str:
    """Return a text as lines of at most `width` columns, the first of which begins with `indent`, and the others with
    `indent` or two spaces."""
    rest = indent or "  "
    return "\n".join(
        wrapped_lines(plain(text), width, initial_indent=indent, subsequent_indent=rest, break_on_hyphens=False)
    )
