"""Text for a terminal: durations, wrapped lines, and rows of labels and values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from asct.values.grouping import breakable
from asct.values.text import wrapped_lines

if TYPE_CHECKING:
    from asct.analysis.machine.rows import MachineSection, TextRow
    from asct.cli.console import Console

_WIDEST_LABEL = 22
_NARROWEST = 40


def short_time(seconds: float) -> str:
    """Format a duration: `40s`, `3m40s`, `2h05m`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02d}s"
    return f"{whole // 3600}h{whole % 3600 // 60:02d}m"


def wrapped(text: str, width: int, indent: str = "  ", rest: str | None = None) -> list[str]:
    """Wrap `text` to `width` columns, or to 40 if `width` is smaller.

    The first line begins with `indent`, and the others with `rest` (by default, `indent` and two more spaces). Words
    longer than a line are not broken.
    """
    return wrapped_lines(
        text,
        max(width, _NARROWEST),
        initial_indent=indent,
        subsequent_indent=f"{indent}  " if rest is None else rest,
        break_long_words=False,
        break_on_hyphens=False,
    )


def say(console: Console, text: str, rest: str | None = None) -> None:
    """Print a line on stdout, wrapped if it should fit in the terminal. The lines after the first begin with `rest` (by
    default, two more spaces than `text`)."""
    inner = text.lstrip()
    indent = text[: len(text) - len(inner)]
    for line in wrapped(inner, console.width, indent, rest) if console.folds and inner else [text]:
        console.result(line)


def section_lines(sections: Iterable[MachineSection], width: int) -> Iterator[str]:
    """Yield an empty line, the title and the rows of each section."""
    for one in sections:
        yield ""
        yield one.title
        yield from row_lines([*one.rows, *one.details], width)


def row_lines(rows: Sequence[TextRow], width: int) -> Iterator[str]:
    """Yield each label and value side by side. A label that is wider than its column gets its own line."""
    wide = max(width, _NARROWEST)
    column = min(max((len(label) for label, _ in rows), default=0), _WIDEST_LABEL)
    indent = " " * (column + 4)
    for label, value in rows:
        room = wide - len(indent)
        lines = wrapped_lines(breakable(value, room), room, break_on_hyphens=False) or [""]
        if len(label) > column:
            yield from wrapped_lines(label, wide - 2, initial_indent="  ", subsequent_indent="    ")
        else:
            yield f"  {label:<{column}}  {lines.pop(0)}".rstrip()
        yield from (f"{indent}{line}" for line in lines)
