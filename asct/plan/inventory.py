"""An Ansible inventory, as `ansible-inventory --list` prints it: JSON with `_meta.hostvars`, groups and children."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from asct.diagnostics.model import Span
from asct.plan.findings import Findings
from asct.plan.model import Node
from asct.values.problem import shown

_FIELDS: Final = {
    "ansible_host": "address", "ansible_port": "port", "ansible_user": "user", "ansible_become": "sudo",
    "ansible_ssh_private_key_file": "identity_file",
}  # fmt: skip
_IMPLIED: Final = ("_meta", "all", "ungrouped")
_IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_DEEPEST: Final = 50


@dataclass(slots=True)
class Inventory:
    """Host maps and group member lists, as if written in a plan; every place is the `from` that named the file."""

    hosts: dict[str, Node] = field(default_factory=dict)
    groups: dict[str, Node] = field(default_factory=dict)


def read_inventory(text: str, name: str, place: Span, findings: Findings) -> Inventory | None:
    """The hosts and groups of an inventory; None after an error (E117)."""
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
    return _Reader(document, place).read()


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is not JSON")


class _Reader:
    def __init__(self, document: Mapping[str, Any], place: Span) -> None:
        self._document = document
        self._place = place

    def read(self) -> Inventory:
        found = Inventory()
        meta = self._document.get("_meta", {}).get("hostvars", {})
        variables = meta if isinstance(meta, dict) else {}
        for group, body in self._document.items():
            names = _texts(body.get("hosts"))
            for host in names:
                known = variables.get(host)
                found.hosts.setdefault(host, self._host(known if isinstance(known, dict) else {}))
            if group not in _IMPLIED:
                found.groups[group] = self._node([self._node(item) for item in [*names, *_texts(body.get("children"))]])
        for host, known in variables.items():
            found.hosts.setdefault(str(host), self._host(known if isinstance(known, dict) else {}))
        return found

    def _node(self, value: Any) -> Node:
        return Node(value, self._place, self._place)

    def _host(self, variables: Mapping[str, Any]) -> Node:
        members = {
            field: self._plain(variables[name]) for name, field in _FIELDS.items() if variables.get(name) is not None
        }
        if variables.get("ansible_connection") == "local":
            members["transport"] = self._node("local")
        own = {
            name: self._plain(value)
            for name, value in variables.items()
            if not name.startswith("ansible_") and _IDENTIFIER.fullmatch(name) and _shallow(value)
        }
        if own:
            members["vars"] = self._node(own)
        return self._node(members)

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
