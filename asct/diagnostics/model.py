"""Diagnostics as data: what is wrong, where, and how to fix it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple

Severity = Literal["error", "warning", "note"]


class Span(NamedTuple):
    """A part of a source line. `line` and `column` start at 1; `length` is in characters and at least 1."""

    file: str
    line: int
    column: int
    length: int = 1


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """An error or warning. `message` describes the problem; it starts with a lower-case letter and has no final period.
    `hint` says how to fix the problem.

    A file in errors/ explains `code`, `label` is shown next to the caret, and `notes` are additional facts, each with
    its location if known.
    """

    code: str
    message: str
    span: Span | None = None
    label: str = ""
    hint: str = ""
    severity: Severity = "error"
    notes: tuple[tuple[str, Span | None], ...] = ()
    verbatim: str = ""
    """Text to copy, shown on its own line after the hint and never wrapped."""

    @property
    def cause(self) -> str:
        """The code and the message: `E424 h1: the device is mounted`."""
        return f"{self.code} {self.message}"

    def to_json(self) -> dict[str, object]:
        """Return the diagnostic as an `asct.diagnostic/1` document."""
        return {
            "schema": "asct.diagnostic/1",
            "code": self.code,
            "severity": self.severity,
            "message": self.message,
            "file": self.span.file if self.span else None,
            "line": self.span.line if self.span else None,
            "column": self.span.column if self.span else None,
            "length": self.span.length if self.span else None,
            "label": self.label or None,
            "hint": f"{self.hint}: {self.verbatim}" if self.verbatim else self.hint or None,
            "notes": [text for text, _ in self.notes],
        }


def errors(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Return the errors, which stop the command."""
    return [item for item in diagnostics if item.severity == "error"]
