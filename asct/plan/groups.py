"""Groups of hosts: resolve names, patterns and other groups to hosts, and apply the variables of the groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from asct.diagnostics.suggest import did_you_mean
from asct.plan.fields import ParseContext, Section
from asct.plan.findings import Findings
from asct.plan.hosts import RESERVED, HostMaps
from asct.plan.model import Node
from asct.plan.names import folder_name, is_pattern, matching
from asct.values.error import shown

_DEEPEST: Final = 50
_KEYS = ("hosts", "config", "vars")


@dataclass(slots=True)
class Groups:
    """The members, settings and variables of groups, by group name. `written` contains the members as written, and
    `flat` the hosts to which they are resolved during parsing."""

    written: dict[str, list[Node]] = field(default_factory=dict)
    members: dict[str, tuple[str, ...]] = field(default_factory=dict)
    flat: dict[str, set[str]] = field(default_factory=dict)
    config: dict[str, dict[str, Node]] = field(default_factory=dict)
    vars: dict[str, dict[str, Node]] = field(default_factory=dict)


def read_groups(node: Node | None, hosts: Sequence[str], context: ParseContext) -> Groups:
    """Read `groups: {lab: [a, b], r1: "node*", big: {hosts: [lab], config: {...}, vars: {...}}}`."""
    found = Groups()
    if node is None:
        return found
    for name, body in Section(context, node, "`groups`", None, ("hosts",)).members.items():
        if _usable(name, body, hosts, context.findings):
            whole = body if isinstance(body.value, dict) else body._replace(value={"hosts": body})
            section = Section(context, whole, f"group `{shown(name)}`", _KEYS, ("groups", name))
            section.required("hosts", "add `hosts: [...]`")
            found.written[name] = section.text_nodes("hosts")
            found.config[name] = section.mapping("config")
            found.vars[name] = section.mapping("vars")
    for name in found.written:
        chosen = _flattened(name, found, hosts, context.findings, (name,))
        found.members[name] = tuple(host for host in hosts if host in chosen)
        if UNKNOWN in chosen:
            context.findings.gaps.add(("groups", name, "hosts"))
        hidden = context.findings.hides("groups", name, "hosts")
        if (hidden and found.vars[name]) or context.findings.hides("groups", name, "vars"):
            context.findings.gaps.update(("hosts", host, "vars") for host in (hosts if hidden else found.members[name]))
    return found


def _usable(name: str, body: Node, hosts: Sequence[str], findings: Findings) -> bool:
    span = body.location
    if name in hosts or name in RESERVED:
        what = "a host has the same name" if name in hosts else "the name is reserved"
        findings.error("E111", f"`{shown(name)}` cannot be the name of a group", span, f"{what}; choose another name")
        return False
    findings.parsed(partial(folder_name, what="a group"), name, span, "E111")
    return True


def _flattened(name: str, groups: Groups, hosts: Sequence[str], findings: Findings, path: tuple[str, ...]) -> set[str]:
    chosen: set[str] = set()
    for node in groups.written[name]:
        word = str(node.value)
        if word in path:
            circle = " -> ".join([*path[path.index(word) :], word])
            findings.error("E115", f"groups form a cycle: {circle}", node.span, "remove one of them")
        elif word in groups.flat:
            chosen |= groups.flat[word]
        elif word in groups.written and len(path) >= _DEEPEST:
            message = f"groups are nested deeper than {_DEEPEST} levels at `{shown(word)}`"
            findings.error("E115", message, node.span, "use fewer levels of groups")
        elif word in groups.written:
            chosen |= _flattened(word, groups, hosts, findings, (*path, word))
        else:
            chosen |= _hosts(node, word, [*hosts, *groups.written], hosts, findings)
    groups.flat[name] = chosen
    return chosen


def _hosts(node: Node, word: str, known: Sequence[str], hosts: Sequence[str], findings: Findings) -> set[str]:
    if word in hosts:
        return {word}
    if word == "all":
        return set(hosts)
    chosen = set(matching(word, hosts)) if is_pattern(word) else set()
    if chosen:
        return chosen
    if not findings.hides("hosts"):
        what = (
            f"pattern `{shown(word)}` matches no host" if is_pattern(word) else f"unknown host or group `{shown(word)}`"
        )
        hint = did_you_mean(word, hosts if is_pattern(word) else known)
        findings.error("E114", what, node.span, hint)
    return {UNKNOWN}


UNKNOWN: Final = ""
"""Placeholder for the unknown hosts in a group."""


def with_group_vars(found: HostMaps, groups: Groups, findings: Findings) -> HostMaps:
    """Return the hosts with the variables of their groups, which the hosts' own variables override.

    Conflicting groups are an error.
    """
    given: dict[str, dict[str, Node]] = {}
    for group, variables in groups.vars.items():
        for host in groups.members[group] if variables else ():
            known = given.setdefault(host, {})
            for name, node in variables.items():
                first = known.setdefault(name, node)
                if first.plain() != node.plain():
                    message = f"two groups set different values for host `{host}`: `vars.{shown(name)}`"
                    hint = "set it for the host, or in only one of the groups"
                    findings.twice("E113", message, node.span, first.span, hint)
    maps = {name: _with_vars(body, given.get(name)) for name, body in found.maps.items()}
    return HostMaps(maps, found.spans)


def _with_vars(body: Node, given: Mapping[str, Node] | None) -> Node:
    if not given:
        return body
    own = body.value.get("vars")
    if own is not None and not isinstance(own.value, dict):
        return body
    whole = Node({**given, **(own.value if own else {})}, own.span if own else body.span, own.key_span if own else None)
    return body._replace(value={**body.value, "vars": whole})
