"""Collects what is wrong with a plan while it is resolved, so that every error comes at once and none comes twice."""

from __future__ import annotations

from asct.diagnostics.model import Diagnostic, Severity, Span

Note = tuple[str, Span | None]


class Findings:
    """A list of diagnostics in the order they were met. The same finding of a hundred hosts is kept once."""

    def __init__(self) -> None:
        self._items: dict[tuple[str, str, Span | None], Diagnostic] = {}

    def add(self, diagnostic: Diagnostic) -> None:
        """Keep a finding unless the same one is there already."""
        self._items.setdefault((diagnostic.code, diagnostic.message, diagnostic.span), diagnostic)

    def error(self, code: str, message: str, span: Span | None, hint: str = "", *notes: Note) -> None:
        """An error of `code` at `span`; `notes` are further facts with their places."""
        self.add(Diagnostic(code, message, span, hint=hint, notes=notes))

    def warn(self, code: str, message: str, span: Span | None, hint: str = "") -> None:
        """A finding that does not stop the plan."""
        severity: Severity = "warning"
        self.add(Diagnostic(code, message, span, hint=hint, severity=severity))

    def all(self) -> tuple[Diagnostic, ...]:
        """Everything found so far."""
        return tuple(self._items.values())

    @property
    def count(self) -> int:
        """How many errors there are; compare before and after a step to see whether it failed."""
        return sum(item.severity == "error" for item in self._items.values())
