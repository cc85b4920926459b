"""Collect the errors and warnings about a plan in order to report all of them at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, TypeVar

from asct.diagnostics.model import Diagnostic, Span
from asct.errors import PlanError, UsageError
from asct.plan.model import Gap
from asct.values.error import BadValueError
from asct.values.text import counted

MOST = 10_000
"""Maximum number of findings kept; any others are only counted."""

_ONCE_PER_PLACE: Final = frozenset({"E214", "E215", "E217", "E218"})
"""The codes of errors in sweeps. Entries can inherit sweeps, so one mistake can cause several messages that differ only
in the name of the entry."""

Note = tuple[str, Span | None]
T = TypeVar("T")


class Findings:
    """The diagnostics of one plan. At most `MOST` are kept. A diagnostic that affects several hosts or points is listed
    once.

    `gaps` lists the parts of the plan that errors hide. A name that may be defined in such a part is not reported as
    unknown, because it may exist once the errors are fixed.
    """

    def __init__(self, gaps: Iterable[Gap] = ()) -> None:
        self._items: dict[tuple[str, str, Span | None], Diagnostic] = {}
        self._omitted = 0
        self.gaps = set(gaps)
        self.errors = 0
        """The number of errors so far, including repeated ones. A step that increases this number has reported an
        error."""

    def add(self, *diagnostics: Diagnostic) -> None:
        """Add diagnostics, except those already listed. Once `MOST` are listed, only count the others."""
        for item in diagnostics:
            self.errors += item.severity == "error"
            text = "" if item.code in _ONCE_PER_PLACE else item.message
            key = (item.code, text, item.span)
            if key not in self._items and len(self._items) >= MOST:
                self._omitted += 1
            else:
                self._items.setdefault(key, item)

    def error(self, code: str, message: str, span: Span | None, hint: str = "", *notes: Note) -> None:
        self.add(Diagnostic(code, message, span, hint=hint, notes=notes))

    def hides(self, *path: str) -> bool:
        """Return whether an error may hide the definition of a path, or the definition of a map that contains
        the path."""
        return any(path[:length] in self.gaps for length in range(1, len(path) + 1))

    def warn(self, code: str, message: str, span: Span | None, hint: str = "") -> None:
        """Report a warning. A plan with warnings is not rejected."""
        self.add(Diagnostic(code, message, span, hint=hint, severity="warning"))

    def take(self, problem: PlanError) -> None:
        """Report the diagnostics that an exception contains."""
        self.add(*problem.diagnostics)

    def attempt(self, call: Callable[..., T], *arguments: Any) -> T | None:
        """Call a function. If it raises a PlanError, report the diagnostics and return None."""
        try:
            return call(*arguments)
        except PlanError as problem:
            self.take(problem)
            return None

    def parsed(self, parse: Callable[..., T], value: object, span: Span, code: str = "E112") -> T | None:
        """Parse a value. If `parse` rejects it, report the error at `span` and return None."""
        try:
            return parse(value)
        except BadValueError as problem:
            self.bad_value(problem, span, code)
            return None

    def twice(self, code: str, message: str, span: Span, first: Span, hint: str) -> None:
        """Report a second definition at `span`, and add a note that points to the first one."""
        self.error(code, message, span, hint, ("first defined here", first))

    def bad_value(self, problem: BadValueError, span: Span, code: str = "E112") -> None:
        """Report a value that a parser in `asct.values` rejected."""
        self.add(Diagnostic(code, problem.message, span, label=problem.label, hint=problem.hint))

    @property
    def failed(self) -> bool:
        """Whether an error was reported."""
        return self.errors > 0 or self._omitted > 0

    def require(self) -> None:
        """Raise UsageError with all findings if an error was reported."""
        if self.failed:
            raise UsageError(*self.all())

    def all(self) -> tuple[Diagnostic, ...]:
        """Return all findings, ordered by file, line and column. If some were omitted, the last finding states their
        number."""
        ordered = sorted(self._items.values(), key=_position)
        if self._omitted:
            message = f"{counted(self._omitted, 'more finding is', 'more findings are')} not shown"
            ordered.append(Diagnostic("E109", message, hint="fix these first"))
        return tuple(ordered)


def _position(item: Diagnostic) -> tuple[str, int, int]:
    return (item.span.file, item.span.line, item.span.column) if item.span else ("", 0, 0)
