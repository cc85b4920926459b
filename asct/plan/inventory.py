"""An Ansible inventory, as `ansible-inventory --list` prints it: JSON with `_meta.hostvars`, groups and children."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from asct.diagnostics.model import Span
from asct.plan.ansible import connection, translated
from asct.plan.findings import Findings
from asct.plan.hosts import RESERVED
from asct.plan.model import Node
from asct.values.problem import shown

_IMPLIED: Final = ("_meta", "all", "ungrouped")
_DEEPEST: Final = 50
_NAMED: Final = 3
"""Hosts that a remark names; of the others it says how many."""


@dataclass(slots=True)
class Inventory:
    """Host maps and group member lists, as if written in a plan; every place is the `from` that named the file."""

    hosts: dict[str, Node] = field(default_factory=dict)
    groups: dict[str, Node] = field(default_factory=dict)


def read_inventory(
    text: str, name: str, place: Span, findings: Findings, given: Mapping[str, Collection[str]] | None = None
) -> Inventory | None:
    """The hosts and groups of an inventory; None after an error (E117).

    `given` are the keys that the plan itself gives its hosts: what the inventory says of those does not matter.
    """
    try:
        document = json.loads(text, parse_constant=_no_constant)
    except json.JSONDecodeError as problem:
        where = Span(name, problem.lineno, problem.colno)
        hint = "make it with `ansible-inventory --list > FILE`"
        findings.error("E117", f"the inventory is not JSON: {problem.msg.lower()}", where, hint)
        return None
    except (RecursionError, ValueError) as problem:
        findings.error("E117", f"the inventory is not JSON: {shown(str(problem))}", Span(name, 1, 1))
        return None
    if not isinstance(document, dict) or not all(isinstance(item, dict) for item in document.values()):
        findings.error("E117", "not an inventory: no map of groups", Span(name, 1, 1), "use `ansible-inventory --list`")
        return None
    return _Reader(document, name, place, findings, given or {}).read()


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is not JSON")


class _Reader:
    def __init__(
        self,
        document: Mapping[str, Any],
        name: str,
        place: Span,
        findings: Findings,
        given: Mapping[str, Collection[str]],
    ) -> None:
        self._document = document
        self._name = name
        self._place = place
        self._findings = findings
        self._given = given
        self._left_out: dict[str, list[str]] = {}
        self._remarks: Counter[str] = Counter()
        meta = document.get("_meta", {}).get("hostvars", {})
        self._variables: Mapping[str, Any] = meta if isinstance(meta, dict) else {}

    def read(self) -> Inventory:
        found = Inventory()
        listed = [host for body in self._document.values() for host in _texts(body.get("hosts"))]
        for host in dict.fromkeys([*listed, *map(str, self._variables)]):
            variables = self._variables.get(host)
            self._take(found, host, variables if isinstance(variables, dict) else {})
        for group, body in self._document.items():
            if group not in _IMPLIED:
                found.groups[group] = self._node([self._node(name) for name in self._members(body, found)])
            if body.get("vars"):
                self._remarks[
                    "variables of groups (`--export`) are not taken: make the inventory without `--export`"
                ] += 1
        self._say()
        return found

    def _members(self, body: Mapping[str, Any], found: Inventory) -> list[str]:
        """Hosts and groups of a group; an empty group is named among the children of others and stands nowhere else."""
        groups = [child for child in _texts(body.get("children")) if child in self._document and child not in _IMPLIED]
        return [*(host for host in _texts(body.get("hosts")) if host in found.hosts), *groups]

    def _take(self, found: Inventory, host: str, variables: Mapping[str, Any]) -> None:
        if host in RESERVED:
            self._findings.error(
                "E111", f"`{host}` cannot be the name of a host", self._place, "it has a meaning of its own"
            )
            return
        given = self._given.get(host, ())
        kind = connection(variables)
        if kind not in ("ssh", "local") and "transport" not in given:
            self._left_out.setdefault(kind, []).append(host)
            return
        read = translated(variables, given)
        for misfit in read.misfits:
            where = f"{self._name}: _meta.hostvars.{shown(host)}.{misfit.name}"
            hint = f"mend the inventory, or write `{shown(host)}: {{{misfit.key}: ...}}` beside `from`"
            self._findings.error("E117", f"{where}: {misfit.what}", self._place, hint)
        self._remarks.update(read.remarks)
        members = {key: self._plain(value) for key, value in read.keys.items()}
        own = {name: self._plain(value) for name, value in read.vars.items() if _shallow(value)}
        if own:
            members["vars"] = self._node(own)
        found.hosts[host] = self._node(members)

    def _say(self) -> None:
        """Once for all hosts what was not taken from the inventory."""
        for kind, hosts in self._left_out.items():
            more = f" and {len(hosts) - _NAMED} more" if len(hosts) > _NAMED else ""
            names = ", ".join(map(shown, hosts[:_NAMED])) + more
            message = f"{self._name}: left out, since asct has no connection `{shown(kind)}`: {names}"
            hint = "give such a host a `transport` beside `from` if it can be measured"
            self._findings.warn("E117", message, self._place, hint)
        for remark, number in sorted(self._remarks.items()):
            hint = "nothing needs to be done if that is what you want"
            self._findings.warn("E117", f"{self._name}: {remark} ({number} x)", self._place, hint)

    def _node(self, value: Any) -> Node:
        return Node(value, self._place, self._place)

    def _plain(self, value: Any) -> Node:
        """A value of the inventory as a node; it is data, so a `${` in it is no template."""
        if isinstance(value, dict):
            return self._node({str(key): self._plain(item) for key, item in value.items()})
        if isinstance(value, list):
            return self._node([self._plain(item) for item in value])
        return self._node(value.replace("$", "$$") if isinstance(value, str) else value)


def _texts(value: Any) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _shallow(value: Any, depth: int = 0) -> bool:
    if depth > _DEEPEST:
        return False
    if isinstance(value, dict):
        return all(_shallow(item, depth + 1) for item in value.values())
    return not isinstance(value, list) or all(_shallow(item, depth + 1) for item in value)
