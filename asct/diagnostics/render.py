"""Diagnostics as plain text (location, source line, caret, label, hint) and as GitHub annotations.

    error[E112]: ambiguous size `64k`
      ┌ plans/lab.yaml:4:12
    4 │     array: 64k
      │            ^^^ 64 000 (SI) or 65 536 (fio)?
      └
    hint: write `64kB` or `64KiB`

All functions are pure. Text from a malicious file cannot control the terminal, because U+FFFD replaces unprintable
characters. Lines have at most `width` columns unless a word is longer; only the part of a long source line around the
caret is shown.

GitHub annotations have the form `::error file=x.yaml,line=5,col=5,title=E104::message`. Values are escaped as GitHub's
runner expects (docs.github.com, "Workflow commands"; actions/toolkit, command.ts).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from asct.diagnostics.model import Diagnostic, Severity, Span
from asct.values.text import display_width, natural_order, printable, wrapped_lines

_BREAKS = re.compile("\r\n|[\r\n\x85\u2028\u2029]")
"""Matches the line breaks that libyaml recognizes, so that line numbers agree with those from libyaml."""
_TAB = 4
_NARROWEST = 40
_MORE = "…"
_STYLES = {"error": "31", "warning": "33", "note": "36", "caret": "31", "hint": "36", "gutter": "34"}
_RANK = {"error": 0, "warning": 1, "note": 2}

Level = Literal["error", "warning", "notice"]
LEVELS: dict[Severity, Level] = {"error": "error", "warning": "warning", "note": "notice"}
"""The annotation level for each severity."""


def in_order(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Sort diagnostics by location; diagnostics without a location come first."""

    def key(item: Diagnostic) -> tuple[str, int, int, int, str, Sequence[object], str]:
        span = item.span or Span("", 0, 0)
        place = span.file, span.line, span.column
        return *place, _RANK[item.severity], item.code, natural_order(item.message), item.message

    return sorted(diagnostics, key=key)


def render(diagnostic: Diagnostic, files: Mapping[str, str], *, width: int = 80, colour: bool = False) -> str:
    """Render a diagnostic.

    `files` maps file names to file contents. If a file is missing from `files`, only the location is shown, without the
    source line.
    """
    width = max(width, _NARROWEST)
    head = f"{diagnostic.severity}[{diagnostic.code}]"
    lines = _wrapped(f"{head}: ", printable(diagnostic.message), width, indent="  ")
    lines[0] = _paint(head, diagnostic.severity, colour) + lines[0][len(head) :]
    if diagnostic.span:
        lines += _excerpt(diagnostic.span, files, printable(diagnostic.label), width, colour)
    for text, span in diagnostic.notes:
        lines += _wrapped("note: ", printable(text), width)
        if span:
            lines += _excerpt(span, files, "", width, colour)
    if diagnostic.hint:
        hint = _wrapped("hint: ", printable(diagnostic.hint), width)
        lines += [_paint("hint:", "hint", colour) + hint[0][5:], *hint[1:]]
    if diagnostic.verbatim:
        lines.append(printable(diagnostic.verbatim))
    return "\n".join(lines)


def one_line(item: Diagnostic) -> str:
    """Return a diagnostic as one line for a log: its code, message and hint."""
    text = f"{item.cause} ({item.hint})" if item.hint else item.cause
    return printable(text.replace("\n", " "))


def _wrapped(first: str, text: str, width: int, indent: str | None = None) -> list[str]:
    rest = " " * len(first) if indent is None else indent
    lines = wrapped_lines(
        first + text,
        width,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
        drop_whitespace=True,
    )
    return lines or [first.rstrip()]


def _paint(text: str, style: str, colour: bool) -> str:
    return f"\x1b[1;{_STYLES[style]}m{text}\x1b[0m" if colour and text else text


def _excerpt(span: Span, files: Mapping[str, str], label: str, width: int, colour: bool) -> list[str]:
    """Return the location, the source line and the caret below it."""
    number = str(span.line)
    margin = " " * len(number)
    lines = [f"{margin} {_paint('┌', 'gutter', colour)} {printable(span.file)}:{span.line}:{span.column}"]
    source = _source_line(files.get(span.file), span.line)
    bar = _paint("│", "gutter", colour)
    if source is not None:
        text, start, stop = _window(source, span, width - len(number) - 3)
        caret, *rest = _caret(start, stop, label, width - len(number) - 3)
        lines.append(f"{number} {bar} {text}".rstrip())
        lines.append(f"{margin} {bar} {' ' * start}{_paint(caret, 'caret', colour)}")
        lines += [f"{margin} {bar} {line}" for line in rest]
    elif label:
        lines.append(f"{margin} {bar} {label}")
    return [*lines, f"{margin} {_paint('└', 'gutter', colour)}"]


def _caret(start: int, stop: int, label: str, room: int) -> list[str]:
    """Return `^^^ label`, with the label on its own line if it does not fit next to the caret."""
    carets = "^" * max(1, stop - start)
    if start + len(carets) + 1 + display_width(label) <= room or not label:
        return [f"{carets} {label}".rstrip()]
    return [carets, *wrapped_lines(label, room, break_on_hyphens=False)]


def _source_line(text: str | None, line: int) -> str | None:
    if text is None:
        return None
    start = 0
    for _ in range(line - 1):
        found = _BREAKS.search(text, start)
        if found is None:
            return None
        start = found.end()
    found = _BREAKS.search(text, start)
    return text[start : found.start() if found else len(text)]


def _window(source: str, span: Span, room: int) -> tuple[str, int, int]:
    """Return the part of a line that fits in `room` columns, and the first and last column (counted from 0) of the
    caret in that part."""
    first = min(span.column - 1, len(source))
    last = min(first + span.length, len(source))
    low, high = max(0, first - 4 * room), min(len(source), last + 4 * room)
    marks = [" " * _TAB if mark == "\t" else printable(mark) for mark in source[low:high]]
    first, last = first - low, max(last - low, first - low)
    widths = [display_width(mark) for mark in marks]
    if low == 0 and high == len(source) and sum(widths) <= room:
        begin = sum(widths[:first])
        return "".join(marks), begin, begin + sum(widths[first:last])
    return _cut(marks, widths, first, last, room)


def _cut(marks: list[str], widths: list[int], first: int, last: int, room: int) -> tuple[str, int, int]:
    """Cut off both ends of a line so that the caret is about a third of the way into the remaining part."""
    begin, before = first, 0
    while begin > 0 and before + widths[begin - 1] <= room // 3:
        begin -= 1
        before += widths[begin]
    lead = _MORE if begin > 0 else ""
    end, used = begin, len(lead) + 1
    while end < len(marks) and used + widths[end] <= room:
        used += widths[end]
        end += 1
    tail = _MORE if end < len(marks) else ""
    start = len(lead) + before
    return lead + "".join(marks[begin:end]) + tail, start, start + sum(widths[first : max(first, min(last, end))])


def annotation(
    level: Level, title: str, message: str, location: tuple[str, int | None, int | None] | None = None
) -> str:
    """Return an annotation, which is always a single line, whatever the values contain. `location` is the file, line
    and column, if known."""
    file, line, column = location or ("", None, None)
    properties = {"file": file, "line": line, "col": column, "title": title}
    listed = ",".join(f"{key}={_property(str(value))}" for key, value in properties.items() if value)
    return f"::{level} {listed}::{_data(message)}"


def _data(text: str) -> str:
    """Escape line breaks, and replace other control characters."""
    lines = text.replace("%", "%25").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return "%0A".join(map(printable, lines))


def _property(text: str) -> str:
    return _data(" ".join(text.splitlines())).replace(":", "%3A").replace(",", "%2C")
