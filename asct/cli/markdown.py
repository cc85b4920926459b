"""Markdown as text for a terminal: headings in capitals, aligned tables, and wrapped paragraphs and items.

Inline code keeps its backquotes, as in messages, and emphasis loses its asterisks. With `colour`, escape sequences
replace both, and headings are bold.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from asct.values.text import aligned, display_width, wrapped_lines

_ITEM = re.compile(r"(?:[*-]|\d+\.) ")
_CODE = re.compile(r"`[^`]+`")
_STRONG = re.compile(r"(?<![\w*])\*\*(\S(?:[^*]*\S)?)\*\*(?![\w*])")
_EMPHASIS = re.compile(r"(?<![\w*])\*(\S(?:[^*]*\S)?)\*(?![\w*])")
_LINK = re.compile(r"\[([^\]]+)\]\(([^)\s]+)\)")
_CELL = re.compile(r"(?<!\\)\|")
_MARKS = {"\x01": "\x1b[36m", "\x02": "\x1b[1m", "\x03": "\x1b[3m", "\x04": "\x1b[0m"}
"""Characters that stand for escape sequences until the text is wrapped: the start and end of code, strong and
emphasis."""
_CUT = "\x05"
"""A placeholder for inline code while other markup is replaced. Without it, asterisks in code would be treated as
markup."""


def reflowed(text: str, width: int, *, colour: bool = False) -> str:
    """Return Markdown as text that is at most `width` columns wide. Code lines and long words may be wider."""
    blocks = "\n\n".join(_blocks(text, width, colour))
    for mark, sequence in _MARKS.items():
        blocks = blocks.replace(mark, sequence)
    return blocks


def _blocks(text: str, width: int, colour: bool) -> Iterator[str]:
    for block in re.split(r"\n{2,}", _unfenced(text).strip("\n")):
        if block.startswith("#"):
            title = block.lstrip("# ")
            title = title if block.startswith("# ") else title.upper()
            yield f"\x02{title}\x04" if colour else title
        elif block.startswith(" ") or (not _ITEM.match(block) and "\n  " in block):
            yield block
        elif block.startswith("|"):
            yield _table(_inline(block, colour), width)
        elif _ITEM.match(block):
            yield "\n".join(_wrap_item(item, width) for item in _items(_inline(block, colour)))
        else:
            yield _wrap(_inline(block, colour), width)


def _unfenced(text: str) -> str:
    """Indent code blocks instead of fencing them, and add an empty line after headings."""
    lines: list[str] = []
    fenced = False
    for line in text.split("\n"):
        if line.startswith("```"):
            fenced = not fenced
            lines.append("")
        elif fenced:
            lines.append(f"    {line}".rstrip())
        else:
            lines += [line, ""] if line.startswith("#") else [line]
    return "\n".join(lines)


def _inline(text: str, colour: bool) -> str:
    """Replace the markup for links, emphasis and code."""
    codes = iter(_CODE.findall(text))
    strong, emphasis = ("\x02\\g<1>\x04", "\x03\\g<1>\x04") if colour else (r"\g<1>", r"\g<1>")
    text = _LINK.sub(r"\1 (\2)", _CODE.sub(_CUT, text))
    text = _EMPHASIS.sub(emphasis, _STRONG.sub(strong, text))
    return re.sub(_CUT, lambda _: f"\x01{next(codes)[1:-1]}\x04" if colour else next(codes), text)


def _table(block: str, width: int) -> str:
    """Return a table with aligned columns if it fits; otherwise, return each row as indented text below its first
    cell."""
    lines = [_CELL.split(line.strip().strip("|")) for line in block.split("\n")]
    rows = [[cell.strip().replace("\\|", "|") for cell in line] for line in lines]
    head, body = rows[0], [row for row in rows[1:] if not all(re.fullmatch(r":?-+:?", cell) for cell in row)]
    if not body:
        return _wrap(", ".join(head), width)
    table = aligned([head, *body])
    if max(map(display_width, table)) <= width:
        return "\n".join(table)
    found = []
    for first, *further in body:
        found.append(_wrap(first, width, "  "))
        found += [_wrap(f"    {cell}", width, "    ") for cell in further if cell]
    return "\n".join(found)


def _items(block: str) -> list[str]:
    """Return each list item as one line."""
    items: list[str] = []
    for line in block.split("\n"):
        if _ITEM.match(line) or not items:
            items.append(line)
        else:
            items[-1] += f" {line.strip()}"
    return items


def _wrap_item(item: str, width: int) -> str:
    marker = _ITEM.match(item)
    return _wrap(item, width, " " * (marker.end() if marker else 2))


def _wrap(text: str, width: int, indent: str = "") -> str:
    style = {"break_long_words": False, "break_on_hyphens": False}
    return "\n".join(wrapped_lines(text, width, subsequent_indent=indent, **style))
