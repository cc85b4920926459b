"""What libyaml says about text that is not YAML, in words that help: the usual causes are known."""

from __future__ import annotations

import re
from typing import Any, Final

from asct.diagnostics.model import Span

_BREAKS: Final = re.compile("\r\n|[\r\n\x85\u2028\u2029]")
_QUOTE_TEMPLATE: Final = 'inside `{...}` and `[...]` quote templates: "${vars.name}"'
_HINTS: Final = (
    (re.compile(r"\{\{"), "templates are written `${vars.name}`, not `{{ name }}`"),
    (re.compile(r"[\w-]\[[0-9]+:[0-9]+"), 'quote host ranges: "node[01:16]"'),
)
_BY_PROBLEM: Final = (
    ("unknown escape character", "use single quotes for a text with backslashes"),
    ("cannot start any token", "indent with spaces, and quote a text that begins with `%`, `@` or a backquote"),
    ("mapping values are not allowed", "quote a text that contains `: `, and check the indentation"),
    ("could not find expected ':'", "every line of a map needs `key: value`; check the indentation"),
    ("unexpected end of stream", "a quote or bracket is not closed"),
    ("did not find expected ',' or", "a bracket is not closed, or a comma is missing"),
    ("did not find expected key", "check the indentation and the quotes"),
    ("did not find expected '-' indicator", "check the indentation of the list"),
    ("did not find expected alphabetic or numeric character", 'quote a pattern that begins with `*`: "*"'),
    ("block sequence entries are not allowed", "begin the list on a line of its own"),
)
_UNQUOTED_TEMPLATE: Final = re.compile(r"(?<![\"'\w])\$\{")


def syntax_error(problem: Exception, text: str) -> tuple[str, str]:
    """(message, hint) for what PyYAML raised."""
    said = str(getattr(problem, "problem", None) or getattr(problem, "reason", None) or "it cannot be read")
    context = getattr(problem, "context", None)
    lines = _near(problem, text)
    return f"not valid YAML: {said}" + (f" {context}" if context else ""), _hint(said, lines)


def _hint(said: str, lines: list[str]) -> str:
    if any(_UNQUOTED_TEMPLATE.search(line) and re.search(r"[\[{]", line.replace("${", "")) for line in lines):
        return _QUOTE_TEMPLATE
    for pattern, hint in _HINTS:
        if any(pattern.search(line) for line in lines):
            return hint
    return next((hint for part, hint in _BY_PROBLEM if part in said), "check quotes, brackets and indentation")


def _mark(problem: Exception) -> Any:
    return getattr(problem, "problem_mark", None) or getattr(problem, "context_mark", None)


def _near(problem: Exception, text: str) -> list[str]:
    """The line of the problem, the one before and the one where its context begins."""
    mark, context = _mark(problem), getattr(problem, "context_mark", None)
    if mark is None:
        return []
    lines = _BREAKS.split(text)
    numbers = {mark.line, mark.line - 1, context.line if context else mark.line}
    return [lines[number] for number in sorted(numbers) if 0 <= number < len(lines)]


def syntax_place(problem: Exception, text: str, file: str) -> Span:
    """Where the problem is; one that libyaml sees at the end of the text is shown on the last line with content."""
    mark = _mark(problem)
    if mark is None:
        return Span(file, 1, 1)
    lines = _BREAKS.split(text)
    if mark.line < len(lines) and (lines[mark.line].strip() or mark.line == 0):
        return Span(file, mark.line + 1, mark.column + 1)
    filled = [number for number, line in enumerate(lines[: mark.line]) if line.strip()]
    last = filled[-1] if filled else 0
    return Span(file, last + 1, max(1, len(lines[last].rstrip())))
