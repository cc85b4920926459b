"""A comparison as Markdown for a pull request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from asct.analysis.budget import MOST_BYTES, Part, fit
from asct.analysis.diff.figures import matrix_grid
from asct.analysis.diff.report import DiffPart, DiffReport, DiffSection
from asct.analysis.markup import SIGNS, escape, prose, table
from asct.export.diff.text import EQUAL_RUNS, LISTED
from asct.values.grouping import shortened

_MOST_NAMED: Final = 6


def render(report: DiffReport) -> str:
    """Return the comparison: the verdict first, then what differs, and then the tables of each run."""
    head = f"# {escape(report.title)}\n\n{SIGNS[report.tone]} **{prose(report.sentence)}**\n"
    parts = [Part("title", 0, (head,)), Part("what differs", 1, (_differing(report),))]
    for section in report.sections:
        parts += _section(section)
    return fit(parts, MOST_BYTES, _note)


def _note(names: Sequence[str]) -> str:
    return f"_Left out here: {escape(shortened(names, _MOST_NAMED))}. The CSV and JSON files are complete._\n"


def _differing(report: DiffReport) -> str:
    notes = "".join(f"- {prose(note)}\n" for note in report.notes)
    found = f"{EQUAL_RUNS[:1].upper()}{EQUAL_RUNS[1:]}.\n" if report.differing is None else table(report.differing)
    return "\n".join(filter(None, (notes, "## What differs\n", found)))


def _section(section: DiffSection) -> Iterator[Part]:
    sentence = f"{SIGNS[section.tone]} {prose(section.sentence)}\n" if section.sentence else ""
    yield Part(section.title, 0, ("\n".join(filter(None, (f"## {escape(section.title)}\n", sentence))),))
    for part in section.parts:
        yield Part(part.title, 3, (_part(part),))
    left_out = [f"{section.left_out}{LISTED}"] if section.left_out else []
    lines = "".join(f"- {prose(line)}\n" for line in (*section.notes, *section.remarks, *left_out))
    yield Part("remarks", 2, (lines,))


def _part(part: DiffPart) -> str:
    matrices = [grid for figure in part.maps if (grid := matrix_grid(figure)) is not None]
    values = [f"### {escape(part.title)}\n\n{table(part.grid)}"] if part.grid.rows else []
    return "\n".join([*values, *(f"**{escape(grid.caption)}**\n\n{table(grid)}" for grid in matrices)])
