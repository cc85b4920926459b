"""A plan and the files it includes, laid together: variables, hosts, groups and profiles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from asct.plan.fields import Desk, Section
from asct.plan.findings import Findings
from asct.plan.hosts import HostMaps, default_host, expand_hosts, under
from asct.plan.inventory import read_inventory
from asct.plan.model import Node
from asct.plan.nodes import parse_yaml
from asct.plan.scope import Scope
from asct.plan.sources import Sources
from asct.values.problem import shown

INCLUDED_KEYS: Final = ("hosts", "groups", "vars", "profiles", "include")
_MOST_FILES: Final = 100


@dataclass(slots=True)
class Gathered:
    """What a file and the files it includes give. Profiles, groups and hosts have one origin each."""

    hosts: HostMaps = field(default_factory=HostMaps)
    groups: dict[str, Node] = field(default_factory=dict)
    vars: dict[str, Node] = field(default_factory=dict)
    profiles: dict[str, Node] = field(default_factory=dict)


class Gatherer:
    """Follows `include` and `hosts: {from: ...}`; each file is taken in once."""

    def __init__(self, sources: Sources, findings: Findings) -> None:
        self._sources = sources
        self._findings = findings
        self._desk = Desk(findings, Scope(), literal=True)
        self._seen: set[str] = set()

    def gather(self, section: Section, chain: tuple[str, ...]) -> Gathered:
        """What the map of a file gives; `chain` names the files on the way to it, the file itself last.

        Variables of the including file win over those of what it includes. Any other name given twice is an error.
        """
        found = Gathered()
        for node in section.items("include"):
            self._merge(found, self._included(node, chain))
        own = self._own(section)
        found.vars |= own.vars
        self._once(found.groups, own.groups, "group")
        self._once(found.profiles, own.profiles, "profile")
        self._join_hosts(found, own, section.members.get("hosts"))
        return found

    def _included(self, node: Node, chain: tuple[str, ...]) -> Gathered:
        source = self._sources.beside(node, "`include`")
        if source is None:
            return Gathered()
        name, text = source
        if name in chain:
            circle = " -> ".join([*chain[chain.index(name) :], name])
            self._findings.error("E115", f"files include one another: {circle}", node.span, "take one `include` out")
            return Gathered()
        if name in self._seen:
            return Gathered()
        if len(self._seen) >= _MOST_FILES:
            self._findings.error("E109", f"more than {_MOST_FILES} included files", node.span, "include fewer")
            return Gathered()
        self._seen.add(name)
        body = parse_yaml(text, name, self._findings)
        if body is None:
            return Gathered()
        section = Section(self._desk, body, f"the included file {shown(name)}", INCLUDED_KEYS, whole=True)
        return self.gather(section, (*chain, name))

    def _merge(self, found: Gathered, other: Gathered) -> None:
        self._once(found.vars, other.vars, "variable")
        self._once(found.groups, other.groups, "group")
        self._once(found.profiles, other.profiles, "profile")
        for name, body in other.hosts.maps.items():
            found.hosts.add(name, body, other.hosts.spans[name], self._findings)

    def _once(self, known: dict[str, Node], more: Mapping[str, Node], what: str) -> None:
        for name, node in more.items():
            if name in known:
                span, first = node.key_span or node.span, known[name].key_span or known[name].span
                message = f"{what} `{shown(name)}` is given twice"
                self._findings.twice("E113", message, span, first, "keep one of the two")
            else:
                known[name] = node

    def _own(self, section: Section) -> Gathered:
        found = Gathered(
            groups=dict(section.mapping("groups")),
            vars=dict(section.mapping("vars")),
            profiles=dict(section.mapping("profiles")),
        )
        hosts = section.members.get("hosts")
        if hosts is not None:
            found.hosts = expand_hosts(hosts, self._findings)
            self._inventory(hosts, found)
            self._lay_defaults(found, hosts)
        return found

    def _inventory(self, hosts: Node, found: Gathered) -> None:
        """Hosts of `from`: what the plan says of a host itself is laid over what the inventory says."""
        node = hosts.value.get("from") if isinstance(hosts.value, dict) else None
        source = self._sources.beside(node, "`from`") if node is not None else None
        if node is None or source is None:
            return
        given = {name: body.value.keys() for name, body in found.hosts.maps.items()}
        inventory = read_inventory(source[1], source[0], node.span, self._findings, given)
        if inventory is None:
            return
        listed = expand_hosts(Node(inventory.hosts, node.span), self._findings)
        for name, body in listed.maps.items():
            own = found.hosts.maps.get(name)
            found.hosts.maps[name] = under(body, own) if own is not None else body
            found.hosts.spans.setdefault(name, node.span)
        self._once(found.groups, inventory.groups, "group")

    def _join_hosts(self, found: Gathered, own: Gathered, hosts: Node | None) -> None:
        """The including file's defaults hold for included hosts too, below what their own file says."""
        self._lay_defaults(found, hosts)
        for name, body in own.hosts.maps.items():
            found.hosts.add(name, body, own.hosts.spans[name], self._findings)

    def _lay_defaults(self, found: Gathered, hosts: Node | None) -> None:
        defaults = default_host(hosts, self._findings)
        found.hosts.maps = {name: under(defaults, body) for name, body in found.hosts.maps.items()}


def as_node(members: Mapping[str, Node], like: Node | None, fallback: Node) -> Node:
    """A map as a node, at the place of the section it stands for."""
    base = like if like is not None else fallback
    return replace(base, value=dict(members))
