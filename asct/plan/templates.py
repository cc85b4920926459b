"""Evaluate templates (`${...}` in the text values of a plan), the variables that they read, and the conditions in
`where`.

If a template is the whole text, its value keeps its type; if it is only part of the text, its value is converted to
text. `$$` stands for a dollar sign. A template is evaluated only once: its result is not treated as a template. A
template that reads results of `needs` becomes a PendingValue, which `evaluate_pending` evaluates when the results are
available.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from operator import is_
from typing import Any, Final

from asct.diagnostics.model import Diagnostic, Span
from asct.errors import PlanError
from asct.plan.expressions import Expression, ExpressionError, Run, Seconds, compiled, parse_expression, paths
from asct.plan.findings import Findings
from asct.plan.model import REJECTED, Node, PendingValue
from asct.plan.names import IDENTIFIER, cycle, identifier
from asct.plan.scope import Scope, UndefinedError
from asct.values.duration import format_duration
from asct.values.suggest import did_you_mean

MAX_TEXT: Final = 65_536
"""Maximum number of characters in the result of a template."""

Part = str | tuple[int, Expression]
"""Literal text, or an expression and its offset in the template."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A compiled `where` condition. `names` contains the axes that it reads, and `run` evaluates it for a point."""

    names: tuple[str, ...]
    node: Node
    run: Run

    def __call__(self, point: Mapping[str, Any]) -> bool:
        """Return whether to keep a point. Raises PlanError if the condition cannot be evaluated."""
        try:
            result = self.run(point)
        except ExpressionError as problem:
            values = ", ".join(f"{name} = {point[name]}" for name in self.names if name in point)
            raise PlanError(_located(problem, self.node, values and f"at {values}")) from None
        if isinstance(result, bool):
            return result
        hint = "write a comparison, such as `iodepth * numjobs <= 128`"
        raise PlanError(Diagnostic("E123", "`where` is neither true nor false", self.node.span, hint=hint))


def has_template(node: Node, mark: str = "${") -> bool:
    """Return whether any text in the node contains `mark`."""
    if isinstance(node.value, str):
        return mark in node.value
    inner = node.value.values() if isinstance(node.value, dict) else node.value if isinstance(node.value, list) else ()
    return any(has_template(item, mark) for item in inner)


def evaluate(node: Node, scope: Scope, findings: Findings) -> Node:
    """Replace all templates in the node, including those in its lists and maps, with their values. Locations are
    preserved.

    A value may be a PendingValue. Errors (E120 to E122) are reported. Text that contains an error or reads a rejected
    value becomes REJECTED.
    """
    value = node.value
    if isinstance(value, str):
        return _text(node, scope, findings) if "$" in value else node
    if isinstance(value, list):
        items = [evaluate(item, scope, findings) for item in value]
        return node if all(map(is_, items, value)) else node._replace(value=items)
    if isinstance(value, dict):
        members = {key: evaluate(item, scope, findings) for key, item in value.items()}
        return node if all(map(is_, members.values(), value.values())) else node._replace(value=members)
    return node


def evaluate_pending(text: str, needs: Mapping[str, Any], values: Mapping[str, Any]) -> Any:
    """Evaluate the text of a PendingValue, given the results in `needs` ({"cache.dram.optimum_size": 553648128}).

    Raises PlanError if a result is missing or the value cannot be computed.
    """
    node = Node(text, Span("", 1, 1, len(text) or 1))
    known = {**values, **{f"needs.{path}": value for path, value in needs.items()}}
    try:
        parts = _split(text)
        missing = sorted({path for path, _, _ in _read_paths(parts) if path not in known})
        if missing:
            names = ", ".join(f"`{path}`" for path in missing)
            message = f"{names} {'was' if len(missing) == 1 else 'were'} not measured"
            raise PlanError(Diagnostic("E121", message, hint="set the value in the plan instead"))
        return _joined(parts, known)
    except ExpressionError as problem:
        raise PlanError(replace(_located(problem, node), span=None)) from None


def compile_where(node: Node, axes: Collection[str], scope: Scope) -> Condition:
    """Compile a `where` condition to a function of a point's axes. Variables and host values are evaluated immediately.

    Raises PlanError for a syntax error (E120), an unknown name (E121) or a value that is not text (E123). If `where`
    reads a rejected value, the PlanError contains no diagnostics.
    """
    if isinstance(node.value, bool):
        return Condition((), node, compiled(Expression("const", 0, value=node.value), {}))
    if not isinstance(node.value, str) or "${" in node.value:
        hint = "write it without `${...}`, such as `iodepth * numjobs <= vars.max_qd`"
        raise PlanError(Diagnostic("E123", "`where` is not a condition", node.span, hint=hint))
    try:
        tree = parse_expression(node.value)
    except ExpressionError as problem:
        raise PlanError(_located(problem, node)) from None
    known: dict[str, Any] = {}
    findings = []
    read = paths(tree)
    for path, at, length in read:
        if path not in axes:
            finding = _known_to_where(path, axes, scope, known)
            if finding:
                findings.append(replace(finding, span=_inside(node, at, length)))
    if findings or REJECTED in known.values():
        raise PlanError(*findings)
    names = tuple(dict.fromkeys(path for path, _, _ in read if path in axes))
    return Condition(names, node, compiled(tree, known))


def _known_to_where(path: str, axes: Collection[str], scope: Scope, known: dict[str, Any]) -> Diagnostic | None:
    if "." not in path:
        hint = did_you_mean(path, axes, f"the axes are {', '.join(sorted(axes))}; put text in quotes")
        return Diagnostic("E121", f"`{path}` is not an axis of this sweep", hint=hint)
    if path.startswith("needs."):
        hint = "asct must know all points before the first job runs, but results exist only afterward"
        return Diagnostic("E121", "`where` cannot read results of `needs`", hint=hint)
    try:
        known[path] = scope.lookup(path)
    except UndefinedError as problem:
        return Diagnostic("E121", problem.message, hint=problem.hint)
    return None


def _text(node: Node, scope: Scope, findings: Findings) -> Node:
    try:
        parts = _split(node.value)
        read = _read_paths(parts)
        known = _looked_up(node, read, scope, findings)
        if known is None:
            return node.rejected()
        needed = [
            (path.removeprefix("needs."), _inside(node, at, length))
            for path, at, length in read
            if path.startswith("needs.")
        ]
        if needed:
            aliases = tuple(dict.fromkeys(path.partition(".")[0] for path, _ in needed))
            return node._replace(value=PendingValue(node.value, aliases, node.span, known, tuple(needed)))
        return node._replace(value=_joined(parts, known))
    except ExpressionError as problem:
        findings.add(_located(problem, node))
        return node.rejected()


def _looked_up(node: Node, read: list[tuple[str, int, int]], scope: Scope, findings: Findings) -> dict[str, Any] | None:
    """Return the values of the paths in a text, except paths in `needs`. Return None after an error, or if a value is
    rejected."""
    known: dict[str, Any] = {}
    problems = []
    for path, at, length in read:
        try:
            known[path] = scope.lookup(path)
        except UndefinedError as problem:
            problems.append(Diagnostic("E121", problem.message, _inside(node, at, length), hint=problem.hint))
    if REJECTED in known.values():
        return None
    findings.add(*problems)
    return None if problems else {path: value for path, value in known.items() if not path.startswith("needs.")}


@lru_cache(maxsize=1024)
def _split(text: str) -> tuple[Part, ...]:
    """Split text into literal parts and expressions, and replace `$$`. Raises ExpressionError with its position in
    `text`."""
    parts: list[Part] = []
    literal, position = "", 0
    while (dollar := text.find("$", position)) >= 0:
        literal += text[position:dollar]
        following = text[dollar + 1 : dollar + 2]
        if following == "{":
            end = _closing(text, dollar)
            parts += [literal, (dollar + 2, _expression(text, dollar + 2, end))]
            literal, position = "", end + 1
        else:
            literal += "$"
            position = dollar + (2 if following == "$" else 1)
    return tuple(part for part in [*parts, literal + text[position:]] if part != "")


def _closing(text: str, start: int) -> int:
    """Return the position of the closing `}`, ignoring those inside quotes."""
    quote = ""
    for position in range(start + 2, len(text)):
        mark = text[position]
        if quote:
            quote = "" if mark == quote else quote
        elif mark in "'\"":
            quote = mark
        elif mark == "}":
            return position
    raise ExpressionError("E120", "`${` is not closed", start, 2, "add `}`, or write `$$` for a dollar sign")


def _expression(text: str, start: int, end: int) -> Expression:
    if not text[start:end].strip():
        raise ExpressionError(
            "E120", "the template is empty", start - 2, end - start + 3, "write a path: `${vars.name}`"
        )
    try:
        return parse_expression(text[start:end])
    except ExpressionError as problem:
        raise problem.shifted(start) from None


def _read_paths(parts: tuple[Part, ...]) -> list[tuple[str, int, int]]:
    return [
        (path, at + part[0], length)
        for part in parts
        if not isinstance(part, str)
        for path, at, length in paths(part[1])
    ]


def _joined(parts: tuple[Part, ...], known: Mapping[str, Any]) -> Any:
    """Return the value of the template if it is the whole text, otherwise all parts joined as text."""
    if len(parts) == 1 and not isinstance(parts[0], str):
        value = _computed(parts[0], known)
        return _as_text(value, 0) if isinstance(value, Seconds) else value
    texts = [part if isinstance(part, str) else _as_text(_computed(part, known), part[0]) for part in parts]
    if sum(map(len, texts)) > MAX_TEXT:
        raise ExpressionError("E122", f"the result has more than {MAX_TEXT} characters", 0)
    return "".join(texts)


def _computed(part: tuple[int, Expression], known: Mapping[str, Any]) -> Any:
    offset, tree = part
    try:
        return compiled(tree, known)({})
    except ExpressionError as problem:
        raise problem.shifted(offset) from None


def _as_text(value: Any, at: int) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Seconds):
        return format_duration(value) if value >= 0 else f"-{format_duration(-value)}"
    if isinstance(value, str | int | float):
        return str(value)
    kind = "a list" if isinstance(value, list) else "a map" if isinstance(value, dict) else "nothing"
    hint = "use the template as the whole value"
    raise ExpressionError("E122", f"{kind} cannot be part of text", at, 1, hint)


def _located(problem: ExpressionError, node: Node, label: str = "") -> Diagnostic:
    span = _inside(node, problem.at, problem.length)
    return Diagnostic(problem.code, problem.message, span, label=label, hint=problem.hint)


def _inside(node: Node, at: int, length: int) -> Span:
    """Return the location of a part of the node's text. If the text contains escapes or line breaks, return the
    location of the whole node."""
    span, size = node.span, len(node.value)
    quotes = span.length - size
    if quotes not in (0, 2) or at > size:
        return span
    return Span(span.file, span.line, span.column + at + quotes // 2, max(1, min(length, size - at)))


def resolved_vars(nodes: Mapping[str, Node], scope: Scope, findings: Findings, where: str = "vars") -> dict[str, Node]:
    """Return the variables with their templates evaluated. Plan variables (`where` is "vars") may read one another."""
    nodes_by_name: dict[str, Node] = {}
    for name, node in nodes.items():
        if findings.parsed(partial(identifier, what="a variable"), name, node.location, "E111") is not None:
            nodes_by_name[name] = node
        elif start := IDENTIFIER.match(name):
            nodes_by_name.setdefault(start.group(), node.rejected())  # `${vars.max-qd}` reads `vars.max`
    if not any(has_template(node, "$") for node in nodes_by_name.values()):
        return nodes_by_name
    lazy = _Lazy(nodes_by_name, scope, findings)
    if where == "vars":
        lazy.scope = scope._replace(vars=lazy)
    return {name: lazy[name] for name in nodes_by_name}


class _Lazy(Mapping[str, Node]):
    """Variables that are evaluated when they are first read. Errors are reported, and the affected variables are
    rejected."""

    def __init__(self, nodes: Mapping[str, Node], scope: Scope, findings: Findings) -> None:
        self._nodes = nodes
        self._findings = findings
        self._done: dict[str, Node] = {}
        self._open: list[str] = []
        self.scope = scope

    def __getitem__(self, name: str) -> Node:
        if name in self._done:
            return self._done[name]
        node = self._nodes[name]
        if name in self._open:
            return self._rejected(node, f"variables form a cycle: {cycle(self._open, name)}")
        if len(self._open) > 50:
            return self._rejected(node, "variables refer to one another in a chain of more than 50 variables")
        self._open.append(name)
        self._done[name] = evaluate(node, self.scope, self._findings)
        self._open.pop()
        return self._done[name]

    def _rejected(self, node: Node, message: str) -> Node:
        self._findings.error("E115", message, node.span, "set one of the variables to a value without variables")
        return node.rejected()

    def __iter__(self) -> Iterator[str]:
        return iter(self._nodes)

    def __len__(self) -> int:
        return len(self._nodes)
