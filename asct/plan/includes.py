"""Merge the files of a plan: those listed under `include` and `hosts: {from: ...}`, and the plan given by `extends`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Final

from asct.plan.fields import ParseContext, Section, kind_of, merged
from asct.plan.findings import Findings
from asct.plan.hosts import HostMaps, default_host, expand_hosts, under
from asct.plan.model import Node
from asct.plan.names import cycle
from asct.plan.nodes import parse_yaml
from asct.plan.scope import Scope
from asct.plan.sources import PlanFiles
from asct.values.error import clip

INCLUDED_KEYS: Final = ("hosts", "groups", "vars", "profiles", "benchmarks", "expect", "safety", "include")
_MOST_FILES: Final = 100


def inherited(root: Node, path: str, sources: PlanFiles, findings: Findings) -> Node:
    """Return the plan at `path`, merged over the plan that it extends: maps are merged, and any other value is
    replaced. The extended plan may itself extend another one. Consent is never inherited; it is an error if an extended
    plan contains any."""
    chain, bodies = [path], [root]
    while (node := bodies[-1].value.get("extends")) is not None:
        source = sources.beside(node, "`extends`", shipped=True)
        if source is not None and source[0] in chain:
            message = f"`extends` forms a cycle: {cycle(chain, source[0])}"
            findings.error("E115", message, node.span, "remove one `extends`")
            source = None
        body = None if source is None else _base(source, node, findings)
        if body is None or source is None:
            findings.gaps |= {(key,) for key in ("name", *INCLUDED_KEYS)}
            break
        chain.append(source[0])
        bodies.append(body)
    whole: Node = reduce(merged, reversed(bodies))
    return whole._replace(value={key: item for key, item in whole.value.items() if key != "extends"})


def _base(source: tuple[str, str], node: Node, findings: Findings) -> Node | None:
    """Return the content of a plan that another one extends, or None after an error."""
    name, text = source
    before = findings.errors
    body = parse_yaml(text, name, findings)
    if body is not None and isinstance(body.value, dict):
        safety = body.value.get("safety")
        return body if safety is None else body._replace(value={**body.value, "safety": _limits(safety, findings)})
    if findings.errors == before:
        what = "empty" if body is None else f"{kind_of(body.value)}, not a map"
        findings.error("E106", f"the extended plan {clip(name)} is {what}", node.span, "name a plan")
    return None


def _limits(safety: Node, findings: Findings) -> Node:
    """Return the `safety` section of an included or extended file without `destroys`. If such a file contains
    `destroys`, report an error."""
    if not isinstance(safety.value, dict) or "destroys" not in safety.value:
        return safety
    node = safety.value["destroys"]
    hint = "move `destroys` into the plan that you run"
    findings.error("E126", "only the plan itself can consent to overwriting a device", node.location, hint)
    findings.gaps.add(("safety", "destroys"))
    return safety._replace(value={key: item for key, item in safety.value.items() if key != "destroys"})


@dataclass(slots=True)
class MergedFiles:
    """The hosts, groups, variables, profiles, benchmarks, expectations and safety limits in a file and in the files
    that it includes."""

    hosts: HostMaps = field(default_factory=HostMaps)
    groups: dict[str, Node] = field(default_factory=dict)
    vars: dict[str, Node] = field(default_factory=dict)
    profiles: dict[str, Node] = field(default_factory=dict)
    lists: dict[str, Node] = field(default_factory=dict)
    """The items of `benchmarks` and `expect`. Those from included files come first."""
    safety: list[Node] = field(default_factory=list)
    """The `safety` sections of included files."""


class FileMerger:
    """Reads the files named by `include` and `hosts: {from: ...}`, each only once."""

    def __init__(self, sources: PlanFiles, findings: Findings) -> None:
        self._sources = sources
        self._findings = findings
        self._context = ParseContext(findings, Scope(), literal=True)
        self._seen: set[str] = set()

    def gather(self, section: Section, chain: tuple[str, ...]) -> MergedFiles:
        """Return the contents of a file and its includes. `chain` lists the files that lead to this one through
        `include`, followed by the file itself.

        Variables in the including file override those in included files. All other duplicate names are errors.
        """
        found = MergedFiles()
        for node in section.items("include"):
            self._merge(found, self._included(node, chain))
        own = self._own(section)
        if len(chain) > 1:
            safety = section.members.get("safety")
            own.safety = [] if safety is None else [_limits(safety, self._findings)]
        found.vars |= own.vars
        self._lay_defaults(found, section.members.get("hosts"))  # the defaults of included files take precedence
        own.vars = {}
        self._merge(found, own)
        return found

    def _included(self, node: Node, chain: tuple[str, ...]) -> MergedFiles:
        source = self._sources.beside(node, "`include`")
        if source is None:
            return self._nothing()
        name, text = source
        if name in chain:
            message = f"included files form a cycle: {cycle(chain, name)}"
            self._findings.error("E115", message, node.span, "remove one `include`")
            return MergedFiles()
        if name in self._seen:
            return MergedFiles()
        if len(self._seen) >= _MOST_FILES:
            self._findings.error(
                "E109", f"the plan includes more than {_MOST_FILES} files", node.span, "include fewer files"
            )
            return self._nothing()
        self._seen.add(name)
        before = self._findings.errors
        body = parse_yaml(text, name, self._findings)
        if body is None:
            return MergedFiles() if self._findings.errors == before else self._nothing()
        section = Section(self._context, body, f"the included file {clip(name)}", INCLUDED_KEYS)
        return self.gather(section, (*chain, name)) if isinstance(body.value, dict) else self._nothing()

    def _nothing(self) -> MergedFiles:
        """Return empty content for an unreadable file, and mark as hidden the parts that the file might define."""
        self._findings.gaps |= {("hosts",), ("vars",), ("profiles",), ("benchmarks",)}
        return MergedFiles()

    def _merge(self, found: MergedFiles, other: MergedFiles) -> None:
        self._once(found.vars, other.vars, "variable")
        self._once(found.groups, other.groups, "group")
        self._once(found.profiles, other.profiles, "profile")
        for name, body in other.hosts.maps.items():
            found.hosts.add(name, body, other.hosts.spans[name], self._findings)
        for key, node in other.lists.items():
            found.lists[key] = _joined(found.lists.get(key), node)
        found.safety += other.safety

    def _once(self, known: dict[str, Node], more: Mapping[str, Node], what: str) -> None:
        for name, node in more.items():
            if name in known:
                span, first = node.location, known[name].location
                message = f"{what} `{clip(name)}` is defined twice"
                self._findings.twice("E113", message, span, first, "remove one of them")
            else:
                known[name] = node

    def _own(self, section: Section) -> MergedFiles:
        found = MergedFiles(
            groups=dict(section.mapping("groups")),
            vars=dict(section.mapping("vars")),
            profiles=dict(section.mapping("profiles")),
            lists={key: node for key in ("benchmarks", "expect") if (node := section.members.get(key)) is not None},
        )
        hosts = section.members.get("hosts")
        if hosts is not None:
            found.hosts = expand_hosts(hosts, self._findings)
            self._inventory(hosts, found)
            self._lay_defaults(found, hosts)
        return found

    def _inventory(self, hosts: Node, found: MergedFiles) -> None:
        """Add the hosts in the inventory given by `from`. Keys set in the plan override those in the inventory."""
        node = hosts.value.get("from") if isinstance(hosts.value, dict) else None
        source = self._sources.beside(node, "`from`") if node is not None else None
        if node is None:
            return
        if source is None:
            self._findings.gaps.add(("hosts",))
            return
        from asct.plan.inventory import read_inventory  # imported here because it is rarely needed

        plan_keys = {name: body.value.keys() for name, body in found.hosts.maps.items()}
        inventory = read_inventory(source[1], source[0], node.span, self._findings, plan_keys)
        if inventory is None:
            self._findings.gaps.add(("hosts",))
            return
        listed = expand_hosts(Node(inventory.hosts, node.span), self._findings)
        for name, body in listed.maps.items():
            own = found.hosts.maps.get(name)
            found.hosts.maps[name] = under(body, own) if own is not None else body
            found.hosts.spans.setdefault(name, node.span)
        self._once(found.groups, inventory.groups, "group")

    def _lay_defaults(self, found: MergedFiles, hosts: Node | None) -> None:
        defaults = default_host(hosts, self._findings)
        found.hosts.maps = {name: under(defaults, body) for name, body in found.hosts.maps.items()}


def _joined(first: Node | None, second: Node) -> Node:
    """Return the items of both lists as one list. If either value is not a list, return only that value; it is reported
    as an error later."""
    if first is None or not isinstance(second.value, list):
        return second
    return second._replace(value=[*first.value, *second.value]) if isinstance(first.value, list) else first
