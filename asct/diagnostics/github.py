"""Annotations of GitHub's workflow runs: `::error file=x.yaml,line=5,col=5,title=E104::message`.

Values are escaped as the runner reads them back (docs.github.com, "Workflow commands"; actions/toolkit, command.ts).
"""

from __future__ import annotations

from typing import Literal

from asct.diagnostics.model import Diagnostic, Severity
from asct.diagnostics.render import printable

Level = Literal["error", "warning", "notice"]
_LEVELS: dict[Severity, Level] = {"error": "error", "warning": "warning", "note": "notice"}


def annotation(level: Level, title: str, message: str, place: tuple[str, int | None, int | None] | None = None) -> str:
    """One line. `place` is a file with line and column, as far as they are known; nothing in it can start another."""
    file, line, column = place or ("", None, None)
    properties = {"file": file, "line": line, "col": column, "title": title}
    listed = ",".join(f"{key}={_property(str(value))}" for key, value in properties.items() if value)
    return f"::{level} {listed}::{_data(message)}"


def github_line(item: Diagnostic) -> str:
    """The annotation of a finding, its hint in brackets."""
    place = None if item.span is None else (item.span.file, item.span.line, item.span.column)
    text = item.message + (f" ({item.hint})" if item.hint else "")
    return annotation(_LEVELS[item.severity], item.code, text, place)


def _data(text: str) -> str:
    """Line breaks are kept, as escapes; other control characters are not."""
    lines = text.replace("%", "%25").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return "%0A".join(map(printable, lines))


def _property(text: str) -> str:
    return _data(" ".join(text.splitlines())).replace(":", "%3A").replace(",", "%2C")
