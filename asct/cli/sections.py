"""Sections of rows as text, no wider than asked for."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence

from asct.analysis.machine import MachineSection, Row

_WIDEST_LABEL = 22
_NARROWEST = 40


def section_lines(sections: Iterable[MachineSection], width: int) -> Iterator[str]:
    """Title, then label and value side by side; an empty line before each section."""
    for one in sections:
        yield ""
        yield one.title
        yield from row_lines([*one.rows, *one.details], width)


def row_lines(rows: Sequence[Row], width: int) -> Iterator[str]:
    """A label that is too long for its column has a line of its own."""
    wide = max(width, _NARROWEST)
    column = min(max((len(label) for label, _ in rows), default=0), _WIDEST_LABEL)
    indent = " " * (column + 4)
    for label, value in rows:
        lines = textwrap.wrap(value, wide - len(indent), break_on_hyphens=False) or [""]
        if len(label) > column:
            yield from textwrap.wrap(label, wide - 2, initial_indent="  ", subsequent_indent="    ")
        else:
            yield f"  {label:<{column}}  {lines.pop(0)}".rstrip()
        yield from (f"{indent}{line}" for line in lines)


def wrapped(text: str, width: int, indent: str = "  ") -> list[str]:
    """A line of words, those below it further in."""
    return textwrap.wrap(
        text, max(width, _NARROWEST), initial_indent=indent, subsequent_indent=f"{indent}  ", break_on_hyphens=False
    )
