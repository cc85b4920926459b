"""`vars`: named constants. They may read one another, `plan`, `env` and, on a host, `host`; a circle is an error."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from asct.diagnostics.model import Diagnostic
from asct.errors import PlanError
from asct.plan.findings import Findings
from asct.plan.model import Node
from asct.plan.names import identifier
from asct.plan.scope import Scope
from asct.plan.templates import evaluate, has_template
from asct.values.problem import BadValueError


def resolved_vars(nodes: Mapping[str, Node], scope: Scope, findings: Findings, where: str = "vars") -> dict[str, Node]:
    """Every variable without templates. Plan variables (`where` is "vars") may read one another."""
    named: dict[str, Node] = {}
    for name, node in nodes.items():
        try:
            named[identifier(name, "a variable")] = node
        except BadValueError as problem:
            findings.bad_value(problem, node.key_span or node.span, "E111")
    if not any(map(_has_dollar, named.values())):
        return named
    lazy = _Lazy(named, scope)
    reading = replace(scope, vars=lazy) if where == "vars" else scope
    lazy.scope = reading
    found: dict[str, Node] = {}
    for name, node in named.items():
        try:
            found[name] = lazy[name]
        except PlanError as problem:
            found[name] = node
            findings.take(problem)
    return found


def _has_dollar(node: Node) -> bool:
    if isinstance(node.value, str):
        return "$" in node.value
    if isinstance(node.value, dict):
        return any(map(_has_dollar, node.value.values()))
    return has_template(node) or (isinstance(node.value, list) and any(map(_has_dollar, node.value)))


class _Lazy(Mapping[str, Node]):
    """Variables that are evaluated when they are first read."""

    def __init__(self, nodes: Mapping[str, Node], scope: Scope) -> None:
        self._nodes = nodes
        self._done: dict[str, Node] = {}
        self._open: list[str] = []
        self.scope = scope

    def __getitem__(self, name: str) -> Node:
        if name in self._done:
            return self._done[name]
        node = self._nodes[name]
        if name in self._open:
            circle = " -> ".join([*self._open[self._open.index(name) :], name])
            message = f"variables read one another in a circle: {circle}"
            raise PlanError(Diagnostic("E115", message, self._nodes[name].span, hint="give one of them a value"))
        if len(self._open) > 50:
            message = "variables that read one another over more than 50 steps"
            raise PlanError(Diagnostic("E115", message, node.span, hint="give one of them a value"))
        self._open.append(name)
        try:
            self._done[name] = evaluate(node, self.scope)
        finally:
            self._open.pop()
        return self._done[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._nodes)

    def __len__(self) -> int:
        return len(self._nodes)
