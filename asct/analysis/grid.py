"""Tables for display, with the same cells in HTML, Markdown and plain text. Renderers only escape the cells."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from asct.sdk.figure import Column, Table
from asct.values.quantity import format_quantity

Align = Literal["left", "right"]
Tone = Literal["", "good", "doubt", "invalid", "bad", "refused", "missing", "unknown", "muted"]
"""The color of a text, which is the same in all formats. Each kind of outcome has its own color."""

_BINARY = ("", "K", "M", "G", "T", "P")
ABSENT = "–"
_MICROSECONDS = re.compile(r"(?<=\d )us$")


@dataclass(frozen=True, slots=True)
class TableCell:
    """A cell. `text` is displayed, `sort` is its sort key, `tone` is its color, and `note` explains it."""

    text: str
    sort: float | str = ""
    tone: Tone = ""
    note: str = ""


NO_VALUE = TableCell(ABSENT, tone="muted")
"""The cell that represents a missing value."""


@dataclass(frozen=True, slots=True)
class ColumnHead:
    """The heading of a column: its title, the alignment of its cells, a line of help text, and whether the column is
    kept even if it is empty."""

    title: str
    align: Align = "left"
    help: str = ""
    kept: bool = False


@dataclass(frozen=True, slots=True)
class TextTable:
    """A table of text cells. Every row has one cell per column heading; the first cell names the row."""

    slug: str
    caption: str
    heads: tuple[ColumnHead, ...]
    rows: tuple[tuple[TableCell, ...], ...]
    notes: tuple[str, ...] = ()


def from_table(table: Table) -> TextTable:
    """Return a benchmark's table, with values scaled and rounded according to its columns."""
    heads = tuple(
        ColumnHead(column.title, "left" if column.format == "text" else "right", column.help, column.kept)
        for column in table.columns
    )
    rows = tuple(tuple(cell(column, row.get(column.key)) for column in table.columns) for row in table.rows)
    return TextTable(slug(table.slug), table.title, heads, rows, table.notes)


def with_micro_sign(grid: TextTable) -> TextTable:
    """Return a benchmark's table with `µs` instead of `us` in the titles of columns and in cells, as in the figures
    beside it. CSV files and the terminal keep the titles of Arm's ASCT."""
    heads = (replace(head, title=head.title.replace("(us)", "(\N{MICRO SIGN}s)")) for head in grid.heads)
    rows = (tuple(_with_micro_sign(one) for one in row) for row in grid.rows)
    return replace(grid, heads=tuple(heads), rows=tuple(rows))


def _with_micro_sign(found: TableCell) -> TableCell:
    return replace(found, text=_MICROSECONDS.sub("\N{MICRO SIGN}s", found.text)) if "us" in found.text else found


def cell(column: Column, value: Any) -> TableCell:
    """Return a value in the format of its column. A missing value becomes a dash."""
    if value is None:
        return NO_VALUE
    if isinstance(value, bool) or not isinstance(value, int | float):
        return TableCell(as_text(value), as_text(value))
    if column.format in ("size", "text"):
        return size_cell(value) if column.format == "size" else TableCell(as_text(value), float(value))
    number = value / column.scale
    digits = 0 if column.format == "integer" or abs(round(number, column.digits)) >= 10_000 else column.digits
    text = f"{number:.{digits}f}"
    if value and not float(text):  # a small value must not be shown as 0
        text = f"{number:.1g}"
    return TableCell(text, float(value))


def size_cell(size: float) -> TableCell:
    """Format a number of bytes with four significant digits (`32.06K`)."""
    return TableCell(size_text(size, exact=False), float(size))


def size_text(size: float, *, exact: bool = True) -> str:
    """Format bytes with a binary suffix. If `exact` is set and four decimals suffice, the number is exact (`128`,
    `32.0625K`, `1G`); otherwise, it has four significant digits (`24.99M`)."""
    power = 0
    while abs(size) >= 1024 ** (power + 1) and power < len(_BINARY) - 1:
        power += 1
    if not power:
        return f"{size:.0f}"
    scaled = size / 1024**power
    text = f"{scaled:.4f}".rstrip("0").rstrip(".")
    return (text if exact and float(text) == scaled else f"{scaled:.4g}") + _BINARY[power]


def quantity_cell(value: float | None, unit: str, digits: int = 4) -> TableCell:
    """Return a value with its unit, for a column that contains different units."""
    return NO_VALUE if value is None else TableCell(format_quantity(value, unit, digits), value)


def as_text(value: Any) -> str:
    """Format a setting or coordinate on one line: lists are joined with commas, booleans are written as in YAML, and
    None becomes a dash."""
    if value is None:
        return ABSENT
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return ", ".join(as_text(item) for item in value)
    if isinstance(value, dict):
        return ", ".join(f"{key}={as_text(item)}" for key, item in value.items())
    if isinstance(value, float):
        return f"{value:.12g}"
    return plain(str(value))


def plain(text: str, keep_lines: bool = False) -> str:
    """Replace control characters, and characters that change the text direction, because such characters could make a
    terminal or page display misleading text."""
    return text if text.isprintable() else text.translate(_IN_LINES if keep_lines else _ON_A_LINE)


class _Plain(dict[int, str]):
    """A map from each character to its replacement, computed once per character because a plan may be megabytes
    long."""

    def __missing__(self, code: int) -> str:
        mark = chr(code)
        odd = unicodedata.category(mark) in ("Cc", "Cf", "Cs", "Zl", "Zp")
        self[code] = " " if mark in "\n\r\t" else "�" if odd else mark
        return self[code]


_ON_A_LINE = _Plain()
_IN_LINES = _Plain({ord(mark): mark for mark in "\n\t"})


def coordinates_text(at: Mapping[str, Any], sizes: Collection[str] = ()) -> str:
    """Format coordinates: `level L1, block_size 4K`. `sizes` contains the keys whose values are in bytes; these have
    four significant digits."""
    pairs = ((plain(str(key)), setting_text(value, key in sizes, exact=False) or "none") for key, value in at.items())
    return ", ".join(f"{key} {value}" for key, value in pairs)


def setting_text(value: Any, is_size: bool, *, exact: bool = True) -> str:
    """Format the value of a setting or coordinate. `is_size` states whether numbers are bytes; for `exact`, see
    `size_text`."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return size_text(value, exact=exact) if is_size and number else as_text(value)


def slug(text: str) -> str:
    """Return a stable id for links to `text`. The id consists of lowercase letters, digits and hyphens, and is never
    empty."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "x"


def distinct(slugs: Iterable[str], others: Collection[str] = ()) -> list[str]:
    """Make the slugs unique: the second `a` becomes `a-2`. `others` contains slugs that are already in use."""
    used = set(others)
    result = []
    for name in slugs:
        number, candidate = 1, name
        while candidate in used:
            number += 1
            candidate = f"{name}-{number}"
        used.add(candidate)
        result.append(candidate)
    return result


def without_empty_columns(grid: TextTable) -> TextTable:
    """Return the table without its empty columns. Columns marked `kept`, and the only column of a table, are not
    removed."""
    used = [
        i for i, head in enumerate(grid.heads) if head.kept or any(row[i].text not in ("", ABSENT) for row in grid.rows)
    ]
    return with_columns(grid, used if grid.rows and used else sorted({0, *used}))


def with_columns(grid: TextTable, indices: Collection[int]) -> TextTable:
    """Return a table with only the columns at these indices."""
    rows = tuple(tuple(row[i] for i in indices) for row in grid.rows)
    return replace(grid, heads=tuple(grid.heads[i] for i in indices), rows=rows)
