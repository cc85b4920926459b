"""Format text for messages and reports: counts with nouns, text without control characters, and aligned columns."""

from __future__ import annotations

import re
import textwrap
import unicodedata
from collections.abc import Sequence, Set
from typing import Any, Final

NO_BREAK: Final = "\xa0"
"""The no-break space. It is written as a code point because resolving a character name loads a module, which fails if
memory is scarce."""
_BEFORE_UNIT: Final = re.compile(
    r" (?:(?<=\d )|(?<=\d[kMGTP] ))"
    r"(?=(?:%|[num\u00b5]?s|min|h|[kMGTP]?(?:B(?:/s|/cycle)?|ops/s|Hz)|[KMGT]iB(?:/s)?|[MG]T/s|cycles?|degC|\u00b0C)(?![\w/]))"
)
"""The space between a number, with its prefix if it has one (`615k ops/s`), and its unit."""
_REPLACEMENT = "\ufffd"


def counted(number: int | None, noun: str, several: str = "") -> str:
    """Return a number with its noun, such as `1 core` or `2,000 cores`, or an empty string if the number is unknown.
    The plural is `several` if given, otherwise the noun with an `s`."""
    return "" if number is None else f"{number:,} {noun if number == 1 else several or f'{noun}s'}"


def listed(words: Sequence[str]) -> str:
    """Return the words as a list for use in a sentence: `a`, `a and b`, `a, b and c`. The result is empty if there are
    none."""
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def printable(text: str, most: int | None = None) -> str:
    """Replace each line break and each control, format or surrogate character with U+FFFD. Text of more than `most`
    characters is truncated."""
    start = text if most is None else text[:most]
    if not start.isprintable():
        start = "".join(mark if mark.isprintable() else _REPLACEMENT for mark in start)
    return start if most is None or len(text) <= most else f"{start}..."


def truncated(text: str, most: int) -> str:
    """Truncate a text to `most` characters and append the number of omitted characters."""
    return text if len(text) <= most else f"{text[:most]} ... ({len(text) - most} more characters)"


def natural_order(text: str) -> list[tuple[int, str]]:
    """Return a sort key that compares numbers by value, so that loop2 precedes loop10."""
    return [_order(part) for part in re.split(r"(\d+)", text)]


def _order(part: str) -> tuple[int, str]:
    if not part.isdecimal():
        return 0, part
    return (int(part), "") if len(part) < 20 else (10**20, part)  # Python limits the length of numbers that it parses


def unbroken(text: str) -> str:
    """Replace the space between each number and its unit so that no line break can separate them."""
    return _BEFORE_UNIT.sub(NO_BREAK, text)


def wrapped_lines(text: str, width: int, **options: Any) -> list[str]:
    """Wrap a text as `textwrap.wrap` does, but keep each number and its unit on one line."""
    return [line.replace(NO_BREAK, " ") for line in textwrap.wrap(unbroken(text), width, **options)]


def display_width(text: str) -> int:
    """Return the width of `text` on a terminal: two columns for a wide East Asian character, none for a combining mark
    or a control character."""
    return sum(map(_width, text))


def _width(mark: str) -> int:
    if unicodedata.combining(mark) or mark < " ":
        return 0
    return 2 if unicodedata.east_asian_width(mark) in "WF" else 1


def aligned(rows: Sequence[Sequence[str]], right: Set[int] = frozenset()) -> list[str]:
    """Return the rows of a table as lines. Columns are separated by two spaces and left-aligned, except those in
    `right`."""
    sizes = [max(map(display_width, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(padded, row, sizes, (i in right for i in range(len(sizes))))).rstrip() for row in rows]


def padded(text: str, size: int, right: bool = False) -> str:
    """Return `text` padded with spaces to `size` columns: after the text, or before it if it is right-aligned."""
    space = " " * (size - display_width(text))
    return space + text if right else text + space
