"""Markdown: escaped text, inline code, pipe tables and sections that a reader can expand."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from asct.analysis.grid import TableCell, TextTable, Tone, plain
from asct.values.text import counted

MOST_ROWS = 200
"""Maximum number of rows in a Markdown table; further rows are only counted."""
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~!$@&])")
_REFERENCE = re.compile(r"(\\@(?=\w)|(?:\\#|\b[Gg][Hh]-)(?=\d))")
"""Matches mentions, URLs and issue numbers. GitHub turns these into links after removing backslashes, so escaping is
not sufficient; an invisible empty comment breaks them up (github/cmark-gfm, issue 181)."""
SIGNS: Final[Mapping[Tone, str]] = {
    "good": "✅", "doubt": "⚠️", "invalid": "🟣", "bad": "❌", "refused": "⛔", "missing": "🔵", "unknown": "❔",
}  # fmt: skip
"""The symbols that represent outcome colors, because Markdown has no colors."""


def escape(text: str) -> str:
    """Return `text` as one line, escaped so that it contains no markup, HTML, mention or reference and cannot end a
    table cell."""
    one_line = re.sub(r"\s+", " ", plain(text)).strip()
    safe = _SPECIAL.sub(r"\\\1", one_line)
    safe = re.sub(r"^(\d*)([-+.)=])(?=\s|$|[-=]+$)", r"\1\\\2", _REFERENCE.sub(r"\1<!-- -->", safe))
    return re.sub(r"(?i)\b(https?|ftp)://", r"\1:\\/\\/", re.sub(r"(?i)\bwww\.", r"www\\.", safe))


def code(text: str) -> str:
    """Return `text` as inline code (CommonMark 6.1) that can also be used in a table. Nothing in the text can end the
    inline code.

    If the number of backslashes before a vertical bar is odd, another one is added. Without it, some renderers would
    pair the last backslash with the one that escapes the bar, and treat the bar as the end of the cell.
    """
    one_line = re.sub(r"(?<!\\)((?:\\\\)*)(\\?)\|", r"\1\2\2\\|", re.sub(r"\s+", " ", plain(text)))
    longest = max((len(run) for run in re.findall(r"`+", one_line)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if one_line.startswith("`") or one_line.endswith("`") or not one_line else ""
    return f"{fence}{pad}{one_line}{pad}{fence}"


def prose(text: str) -> str:
    """Return `text`, escaped, with the parts between backticks as inline code."""
    parts = plain(text).split("`")
    if len(parts) % 2 == 0:
        return escape(text)
    pieces = []
    for number, part in enumerate(parts):
        space = " " if part[:1].isspace() else ""
        trail = " " if part[-1:].isspace() and part.strip() else ""
        pieces.append(code(part) if number % 2 else f"{space}{escape(part)}{trail}")
    return "".join(pieces).strip()


def table(grid: TextTable, most: int = MOST_ROWS) -> str:
    """Return a pipe table. If it has more than `most` rows, truncate it and add a note."""
    aligns = ["---:" if head.align == "right" else "---" for head in grid.heads]
    lines = [row_text(escape(head.title) for head in grid.heads), row_text(aligns)]
    lines += [row_text(map(_cell, row)) for row in grid.rows[:most]]
    if len(grid.rows) > most:
        lines += ["", f"_{counted(len(grid.rows) - most, 'more row is', 'more rows are')} in the other reports._"]
    lines += [f"\n_{escape(note)}_" for note in grid.notes]
    return "\n".join(lines) + "\n"


def _cell(cell: TableCell) -> str:
    sign = SIGNS.get(cell.tone, "")
    return f"{sign} {prose(cell.text)}" if sign else prose(cell.text)


def row_text(cells: Iterable[str]) -> str:
    """Return a row of a pipe table. `cells` must already be Markdown."""
    return "| " + " | ".join(cells) + " |"


def details(title: str, lines: Sequence[str]) -> list[str]:
    """Return a section that is collapsed until the reader expands it. `lines` contains Markdown.

    `title` may be any text. It is escaped as HTML, because Markdown is not rendered in a title; references are broken
    up as in `escape`.
    """
    summary = re.sub(r"([@#]|\b[Gg][Hh]-)(?=\w)", r"\1<!-- -->", html.escape(plain(title)))
    return [f"<details><summary>{summary}</summary>", "", *lines, "", "</details>", ""]
