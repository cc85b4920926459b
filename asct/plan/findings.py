"""Collect the errors and warnings about a plan in order to report all of them at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from asct.diagnostics.model import Diagnostic, Span
from asct.errors import PlanError
from asct.values.error import BadValueError

MOST = 500
"""Maximum number of findings kept; any others are only counted."""

Note = tuple[str, Span | None]
T = TypeVar("T")


class Findings:
    """The diagnostics of one plan: at most `MOST`, each listed once even if it affects several hosts or points."""

    def __init__(self) -> None:
        self._items: dict[tuple[str, str, Span | None], Diagnostic] = {}
        self._omitted = 0
        self._blocking = False
        self.errors = 0
        """The number of errors so far, including repeated ones. To check whether a step failed, compare it before and
        after."""

    def add(self, *diagnostics: Diagnostic) -> None:
        """Add diagnostics. All errors among them count as blocking."""
        self._blocking = self._blocking or any(item.severity == "error" for item in diagnostics)
        for item in diagnostics:
            self._add(item)

    def _add(self, item: Diagnostic) -> None:
        self.errors += item.severity == "error"
        if len(self._items) < MOST:
            self._items.setdefault((item.code, item.message, item.span), item)
        else:
            self._omitted += 1

    def error(
        self, code: str, message: str, span: Span | None, hint: str = "", *notes: Note, local: bool = False
    ) -> None:
        """Report an error at `span`. After a `local` error, later findings are still reliable (see `blocking`)."""
        self._blocking = self._blocking or not local
        self._add(Diagnostic(code, message, span, hint=hint, notes=notes))

    def warn(self, code: str, message: str, span: Span | None, hint: str = "") -> None:
        """Report a warning, which does not cause the plan to be rejected."""
        self._add(Diagnostic(code, message, span, hint=hint, severity="warning"))

    def take(self, problem: PlanError) -> None:
        """Report the diagnostics in an exception."""
        self.add(*problem.diagnostics)

    def attempt(self, call: Callable[..., T], *arguments: Any) -> T | None:
        """Call a function. If it raises a PlanError, report the diagnostics and return None."""
        try:
            return call(*arguments)
        except PlanError as problem:
            self.take(problem)
            return None

    def parsed(
        self, parse: Callable[..., T], value: object, span: Span, code: str = "E112", *, local: bool = False
    ) -> T | None:
        """Parse a value. If `parse` rejects it, report the error at `span` and return None."""
        try:
            return parse(value)
        except BadValueError as problem:
            self.bad_value(problem, span, code, local=local)
            return None

    def twice(self, code: str, message: str, span: Span, first: Span, hint: str) -> None:
        """Report a second definition at `span`, with a note that points to the first one."""
        self.error(code, message, span, hint, ("first defined here", first))

    def bad_value(self, problem: BadValueError, span: Span, code: str = "E112", *, local: bool = False) -> None:
        """Report a value rejected by a parser of `asct.values`."""
        self._blocking = self._blocking or not local
        self._add(Diagnostic(code, problem.message, span, label=problem.label, hint=problem.hint))

    @property
    def failed(self) -> bool:
        """Whether an error was reported."""
        return self.errors > 0 or self._omitted > 0

    @property
    def blocking(self) -> bool:
        """Whether an error makes the rest of the plan unreliable, so that further checks would report spurious
        errors."""
        return self._blocking or self._omitted > 0

    def all(self) -> tuple[Diagnostic, ...]:
        """Return all findings, ordered by file, line and column, and at the end the number of omitted ones."""
        ordered = sorted(self._items.values(), key=_position)
        if self._omitted:
            message = f"{self._omitted} more findings are not shown"
            ordered.append(Diagnostic("E109", message, hint="fix these first"))
        return tuple(ordered)


def _position(item: Diagnostic) -> tuple[str, int, int]:
    return (item.span.file, item.span.line, item.span.column) if item.span else ("", 0, 0)
