"""A comparison as plain text, 80 columns wide if the tables fit."""

from __future__ import annotations

from collections.abc import Iterator

from asct.analysis.diff.figures import matrix_grid
from asct.analysis.diff.report import DiffPart, DiffReport, DiffSection
from asct.export.stdout import WIDTH, table, wrapped
from asct.values.text import display_width

LISTED = "; -v lists all values"
"""The end of the sentence about omitted values, for formats that list more values if `-v` is given."""
EQUAL_RUNS = "machine, software, plan and settings are the same, as far as the runs describe them"


def render(report: DiffReport, width: int = WIDTH) -> str:
    """Return the comparison: what differs, the tables of each run, and the verdict at the end."""
    blocks = [
        wrapped(report.title, width),
        wrapped(EQUAL_RUNS, width)
        if report.differing is None
        else _titled("What differs", table(report.differing, width), width),
        "\n".join(wrapped(note, width) for note in report.notes),
    ]
    for section in report.sections:
        blocks += _section(section, width)
    blocks.append(wrapped(report.sentence, width))
    return "\n\n".join(block for block in blocks if block) + "\n"


def _section(section: DiffSection, width: int) -> Iterator[str]:
    if section.sentence:
        yield _titled(section.title, wrapped(section.sentence, width), width, "=")
    yield "\n".join(wrapped(note, width) for note in section.notes)
    for part in section.parts:
        yield from _part(part, width)
    remarks = (*section.remarks, *([f"{section.left_out}{LISTED}"] if section.left_out else []))
    yield "\n".join(wrapped(remark, width) for remark in remarks)


def _part(part: DiffPart, width: int) -> Iterator[str]:
    if part.grid.rows:
        yield _titled(part.title, table(part.grid, width), width)
    for figure in part.maps:
        grid = matrix_grid(figure)
        if grid is not None:
            yield _titled(grid.caption, table(grid, width), width)


def _titled(title: str, text: str, width: int, rule: str = "-") -> str:
    return f"{wrapped(title, width)}\n{rule * min(width, display_width(title))}\n{text}"
