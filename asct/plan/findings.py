"""Collects what is wrong with a plan while it is read, so that every error comes at once."""

from __future__ import annotations

from asct.diagnostics.model import Diagnostic, Span
from asct.errors import PlanError
from asct.values.problem import BadValueError

MOST = 500
"""More findings than that help nobody; the rest are counted."""

Note = tuple[str, Span | None]


class Findings:
    """Diagnostics in the order they were met, each once; beyond 500 they are only counted."""

    def __init__(self) -> None:
        self._items: dict[Diagnostic, None] = {}
        self._left_out = 0
        self._blocking = False

    def add(self, diagnostic: Diagnostic) -> None:
        """Keep a finding unless the same one is there already."""
        if len(self._items) < MOST:
            self._items.setdefault(diagnostic)
        else:
            self._left_out += 1

    def error(
        self, code: str, message: str, span: Span | None, hint: str = "", label: str = "", *, local: bool = False
    ) -> None:
        """An error of `code` at `span`; a `local` one leaves the rest of the plan as it was meant."""
        self._blocking = self._blocking or not local
        self.add(Diagnostic(code, message, span, label=label, hint=hint))

    def take(self, problem: PlanError) -> None:
        """What was raised."""
        self._blocking = True
        for item in problem.diagnostics:
            self.add(item)

    def twice(self, code: str, message: str, span: Span, first: Span, hint: str) -> None:
        """Something given a second time at `span`; the note shows the first place."""
        self._blocking = True
        self.add(Diagnostic(code, message, span, hint=hint, notes=(("first given here", first),)))

    def warn(self, code: str, message: str, span: Span, hint: str) -> None:
        """Something that is taken, though perhaps not as it was meant."""
        self.add(Diagnostic(code, message, span, hint=hint, severity="warning"))

    def bad_value(self, problem: BadValueError, span: Span, code: str = "E112", *, local: bool = False) -> None:
        """What a parser of `asct.values` refused."""
        self.error(code, problem.message, span, problem.hint, problem.label, local=local)

    @property
    def failed(self) -> bool:
        """Whether there is an error among them."""
        return self._left_out > 0 or any(item.severity == "error" for item in self._items)

    @property
    def blocking(self) -> bool:
        """Whether an error makes the rest of the plan unsure, so that looking for more would find false ones."""
        return self._blocking or self._left_out > 0

    def all(self) -> tuple[Diagnostic, ...]:
        """Everything found, in order of place, and a line about what was left out."""
        ordered = sorted(self._items, key=_place)
        if self._left_out:
            message = f"{self._left_out} more findings are not shown"
            ordered.append(Diagnostic("E109", message, hint="mend these first"))
        return tuple(ordered)


def _place(item: Diagnostic) -> tuple[str, int, int]:
    return (item.span.file, item.span.line, item.span.column) if item.span else ("", 0, 0)
