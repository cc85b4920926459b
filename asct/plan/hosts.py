"""The hosts of a plan: merge ranges, defaults, groups and variables into one specification per host."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

from asct.diagnostics.model import Span
from asct.plan.fields import ParseContext, Section, merged
from asct.plan.findings import Findings
from asct.plan.model import OPTION_FIELDS, REJECTED, HostSpec, Node
from asct.plan.names import MAX_HOSTS, case_conflict, cycle, expand_range, folder_name, is_pattern, matching
from asct.plan.scope import hidden_names
from asct.plan.sources import meant_file, path_near
from asct.plan.templates import resolved_vars
from asct.transports import Option, sources
from asct.transports import transport as transport_of
from asct.values.address import is_address, is_malformed_ipv4
from asct.values.error import BadValueError, clip
from asct.values.suggest import did_you_mean

HOST_KEYS: Final = ("transport", "address", "user", "sudo", "workdir", "labels", "vars", "config")
RESERVED: Final = ("defaults", "from", "all")
LOCAL: Final = "local"

_GROUP_KEYS: Final = ("hosts", "config", "vars")
_MAX_GROUP_DEPTH: Final = 50
_UNKNOWN: Final = ""
"""Placeholder for the unknown hosts in a group."""


@dataclass(slots=True)
class HostMaps:
    """The host maps, with ranges expanded and defaults merged. `spans` contains the location of each name."""

    maps: dict[str, Node] = field(default_factory=dict)
    spans: dict[str, Span] = field(default_factory=dict)

    def add(self, name: str, body: Node, span: Span, findings: Findings) -> None:
        """Add a host. Report a duplicate name as an error."""
        if name in self.maps:
            findings.twice(
                "E113", f"host `{clip(name)}` is defined twice", span, self.spans[name], "rename one of them"
            )
            return
        if len(self.maps) >= MAX_HOSTS:
            findings.error("E118", f"the plan has more than {MAX_HOSTS} hosts", span, "split the plan")
            findings.gaps.add(("hosts",))
            return
        self.maps[name] = body
        self.spans[name] = span


def expand_hosts(node: Node, findings: Findings) -> HostMaps:
    """Return the hosts in a `hosts:` map, except `from` and `defaults` (see `default_host`)."""
    found = HostMaps()
    if not isinstance(node.value, dict):
        if node.value is not REJECTED:
            findings.error("E106", "`hosts` must be a map of hosts", node.span, "write `hosts: {name: {address: ...}}`")
        findings.gaps.add(("hosts",))
        return found
    for key, body in node.value.items():
        if key in ("defaults", "from"):
            continue
        for name in _names(key, body.location, findings):
            if not _is_map(body, f"host `{clip(key)}`", findings):
                findings.gaps.add(("hosts", name))
            found.add(name, under(None, body), body.location, findings)
    return found


def _names(key: str, span: Span, findings: Findings) -> list[str]:
    """Return the names of the hosts that a key in `hosts` defines. An invalid name is reported but still returned,
    because other parts of the plan may refer to it."""
    try:
        names = expand_range(key)
    except BadValueError as problem:
        findings.bad_value(problem, span, "E118")
        findings.gaps.add(("hosts",))
        return []
    if any(findings.parsed(partial(folder_name, what="a host"), name, span, "E111") is None for name in names):
        return [key]
    if set(names) & set(RESERVED):
        findings.error("E111", f"`{names[0]}` cannot be the name of a host", span, "the name is reserved")
        return []
    return names


def default_host(node: Node | None, findings: Findings) -> Node | None:
    """Return the `defaults` in a `hosts:` map, or None if there are none."""
    defaults: Node | None = node.value.get("defaults") if node is not None and isinstance(node.value, dict) else None
    if defaults is None or not _is_map(defaults, "`defaults` of `hosts`", findings):
        return None
    return defaults


def _is_map(node: Node, what: str, findings: Findings) -> bool:
    if node.value is None or isinstance(node.value, dict):
        return True
    if node.value is not REJECTED:
        form = f"`{{address: {clip(node.value)}}}`" if isinstance(node.value, str) else "`{address: ..., user: ...}`"
        findings.error("E106", f"{what} must be a map", node.span, f"write {form}, or indent it below its host")
    return False


def under(defaults: Node | None, body: Node) -> Node:
    """Return a host's map merged over its defaults. An empty or invalid value is treated as an empty map."""
    whole = body if isinstance(body.value, dict) else body._replace(value={})
    if defaults is None or defaults.value is None:
        return whole
    return merged(defaults, whole)._replace(span=body.span, key_span=body.key_span)


def read_hosts(found: HostMaps, context: ParseContext) -> tuple[dict[str, HostSpec], dict[str, dict[str, Node]]]:
    """Return the specification of each host, and the settings of each host that has any."""
    hosts: dict[str, HostSpec] = {}
    config: dict[str, dict[str, Node]] = {}
    first: dict[str, str] = {}
    sections = {name: _section(name, node, context) for name, node in found.maps.items()}
    _reject_unused(found, sections, context.findings)
    for name, section in sections.items():
        known = first.setdefault(name.casefold(), name)
        if known != name:
            message, hint = case_conflict(name, known, "the hosts")
            context.findings.twice("E113", message, found.spans[name], found.spans[known], hint)
        hosts[name] = _host(name, section, found.spans[name])
        settings = section.mapping("config")
        if settings:
            config[name] = settings
    return hosts, config


def _section(name: str, node: Node, context: ParseContext) -> Section:
    """Return the map for a host without the keys of other transports. Its templates may read `host.name`."""
    inner = context._replace(scope=context.scope._replace(host=HostSpec(name)))
    transport = node.value.get("transport")
    chosen = _implied(name, node.value.get("address")) if transport is None else transport.value
    kinds = [chosen] if isinstance(chosen, str) and chosen in sources() else sources()
    keys = [*HOST_KEYS, *(key for kind in kinds for key in transport_of(kind).options)]
    members = {key: item for key, item in node.value.items() if key in keys or not _owners(key)}
    return Section(inner, node._replace(value=members), f"host `{clip(name)}`", keys, ("hosts", name))


def _owners(key: str) -> list[str]:
    """Return the transports that have a key."""
    return [kind for kind in sources() if key in transport_of(kind).options]


def _reject_unused(found: HostMaps, sections: Mapping[str, Section], findings: Findings) -> None:
    """Report the keys of transports that no host uses. The hosts that inherit a key from `defaults` or an inventory may
    have different transports, so it is enough if one of them uses the key. If `--set` changes the transport of a host,
    the keys of its former transport are ignored."""
    used = {item.location for section in sections.values() for item in section.members.values()}
    for name, section in sections.items():
        changed = "transport" in section.members and _is_set(section.members["transport"])
        for key, item in found.maps[name].value.items():
            if key in section.members or item.location in used or (changed and not _is_set(item)):
                continue
            kinds = _owners(key)
            if kinds and item.value is not REJECTED:
                used.add(item.location)
                choices = " or ".join(f"`transport: {kind}`" for kind in kinds)
                message = f"`{key}` has no effect on host `{clip(name)}`: it is a key of {choices}"
                findings.error("E104", message, item.location, f"remove the key, or set {choices}")


def _is_set(node: Node) -> bool:
    return node.span.file.startswith("--")


def _implied(name: str, address: Node | None) -> str:
    """Return the transport of a host for which none is set: `local` if the host is named `local` and has no address,
    otherwise `ssh`."""
    return "local" if name == LOCAL and address is None else "ssh"


def _host(name: str, section: Section, span: Span) -> HostSpec:
    transport = section.choice("transport", tuple(sources())) or _implied(name, section.members.get("address"))
    address = _address(section) or ""
    if not address and transport != "local" and is_malformed_ipv4(name):
        section.findings.error("E112", f"`{name}` is not a valid `address`", span, _NUMBERS_HINT)
    options = _options(section, transport_of(transport).options)
    fields = {key: options.pop(key) for key in OPTION_FIELDS if key in options}
    spec = HostSpec(
        name=name,
        transport=transport,
        address=address or ("" if transport == "local" else name),
        user=section.text("user"),
        sudo=section.flag("sudo") or False,
        labels=section.labels("labels", "label"),
        options=options,
        span=span,
        **fields,
    )
    workdir = _workdir(section)
    if workdir is not None:
        spec = spec._replace(workdir=workdir)
    variables = section.mapping("vars")
    hidden = (*section.context.scope.hidden, *hidden_names(section.findings.gaps, spec))
    scope = section.context.scope._replace(host=spec, hidden=hidden)
    return spec._replace(vars=resolved_vars(variables, scope, section.findings, "host.vars"))


def _path(section: Section, key: str) -> str | None:
    """Return the absolute path of a file on this machine. A missing or unreadable file is reported (E101)."""
    text = section.text(key)
    if text is None:
        return None
    node = section.members[key]
    path = path_near(node, text)
    reason = "no such file" if not os.path.exists(path) else "it is a directory" if os.path.isdir(path) else ""  # noqa: PTH110, PTH112 - as `path_near`
    if not reason and not os.access(path, os.R_OK):
        reason = "permission denied"
    if reason:
        near = meant_file(text, Path(path)) if reason == "no such file" else None
        hint = f"check the path of `{key}`; a relative path is resolved against the folder of the file that contains it"
        message = f"cannot read `{clip(text)}`: {reason}"
        section.findings.error("E101", message, node.span, f"did you mean `{near}`?" if near else hint)
    return path


_NUMBERS_HINT: Final = "write four numbers from 0 to 255 without leading zeros, such as `10.0.0.7`"


def _address(section: Section) -> str | None:
    text = section.text("address")
    if text is not None and (hint := address_problem(text)):
        message = f"`{clip(text)}` is not a valid `address`"
        section.findings.error("E112", message, section.members["address"].span, hint)
    return text


def address_problem(text: str) -> str:
    """Return a hint for an address that is neither a host name nor an IP address, or an empty string if it is valid."""
    if is_address(text):
        return ""
    user, at, rest = text.rpartition("@")
    name, colon, port = rest.rpartition(":")
    host = name if colon else rest
    if is_malformed_ipv4(host):
        return _NUMBERS_HINT
    if not is_address(host) or (colon and not port.isdecimal()):
        return "write a host name or an IP address, such as `altra-01.lab` or `10.0.0.7`"
    keys = {"user": user if at else "", "address": host, "port": port if colon else ""}
    return "write " + ", ".join(f"`{key}: {clip(value)}`" for key, value in keys.items() if value)


def _workdir(section: Section) -> str | None:
    text = section.text("workdir")
    if text is None or (text.startswith("/") and text.isprintable() and "/../" not in f"{text}/"):
        return text
    hint = "write an absolute path on the host: `/var/tmp/asct`"
    section.findings.error("E112", f"`{clip(text)}` is not a valid work folder", section.members["workdir"].span, hint)
    return None


def _options(section: Section, declared: Mapping[str, Option]) -> dict[str, Any]:
    """Return the valid values of the keys that the host's transport defines."""
    found = {key: _option(section, key, option) for key, option in declared.items() if key in section.members}
    return {key: value for key, value in found.items() if value is not None}


def _option(section: Section, key: str, option: Option) -> Any:
    match option.kind:
        case "duration":
            return section.duration(key)
        case "whole":
            return section.whole(key, *option.bounds)
        case "path":
            return _path(section, key)
        case "texts":
            nodes = section.text_nodes(key)
            for node in nodes:
                _check(option, node.value, node, f"in `{key}`", section.findings)
            return [str(node.value) for node in nodes]
        case "text":
            value: str | int | None = section.text(key)
        case "scalar":
            value = section.scalar(key)
    if value is not None:
        _check(option, value, section.members[key], f"`{key}`", section.findings)
    return value


def _check(option: Option, value: str | int, node: Node, where: str, findings: Findings) -> None:
    if problem := option.check(str(value)):
        findings.error("E112", f"`{clip(value)}` cannot be {where}: {problem}", node.span, option.hint)


def split_hosts(hosts: HostMaps, groups: Node | None, context: ParseContext) -> tuple[HostMaps, Node | None]:
    """Replace each entry that stands for several hosts, such as the nodes of a cluster, with the hosts that its
    transport splits it into. Return the hosts, and `groups` with an additional group for each such entry. The group has
    the name of the entry and contains its hosts.
    """
    found, new_groups = HostMaps(), {}
    for name, body in hosts.maps.items():
        span = hosts.spans[name]
        members = list(_members(name, body, context))
        for host, one in members or [(name, body)]:
            found.add(host, one, span, context.findings)
        if members:
            new_groups[name] = Node([Node(host, span) for host, _ in members], span, span)
    if not new_groups:
        return hosts, groups
    plan_groups = groups.value if groups is not None and isinstance(groups.value, dict) else {}
    for name in new_groups.keys() & plan_groups.keys():
        span = plan_groups[name].location
        context.findings.twice(
            "E113", f"`{clip(name)}` is the name of both a group and a host with several nodes", span,
            hosts.spans[name], "rename one of them",
        )  # fmt: skip
    whole = groups if groups is not None else Node({}, next(iter(new_groups.values())).span)
    return found, whole._replace(value={**new_groups, **plan_groups})


def _members(name: str, body: Node, context: ParseContext) -> Iterator[tuple[str, Node]]:
    """Yield the hosts that an entry stands for, or nothing if it is a single host."""
    chosen = body.value.get("transport") if isinstance(body.value, dict) else None
    if chosen is None or not isinstance(chosen.value, str):
        return
    transport, inner = transport_of(chosen.value), context._replace(scope=context.scope._replace(host=HostSpec(name)))
    split_nodes = {key: body.value[key] for key in transport.split_keys if key in body.value}
    try:
        values = {key: settled.value for key, node in split_nodes.items() if (settled := inner.settled(node)).sound}
        for suffix, changes in transport.split(values):
            settings = {key: item for key, item in body.value.items() if key not in split_nodes}
            settings |= {key: split_nodes[key]._replace(value=value) for key, value in changes.items()}
            yield folder_name(f"{name}-{suffix}", "a host"), body._replace(value=settings)
    except BadValueError as problem:
        context.findings.bad_value(problem, next(iter(split_nodes.values())).span, "E112")


@dataclass(slots=True)
class Groups:
    """The members, settings and variables of groups, keyed by group name. `nodes` contains the members as written,
    and `flat` the hosts that they resolve to during parsing."""

    nodes: dict[str, list[Node]] = field(default_factory=dict)
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
        if _usable_group(name, body, hosts, context.findings):
            whole = body if isinstance(body.value, dict) else body._replace(value={"hosts": body})
            section = Section(context, whole, f"group `{clip(name)}`", _GROUP_KEYS, ("groups", name))
            section.required("hosts", "add `hosts: [...]`")
            found.nodes[name] = section.text_nodes("hosts")
            found.config[name] = section.mapping("config")
            found.vars[name] = section.mapping("vars")
    for name in found.nodes:
        chosen = _flattened(name, found, hosts, context.findings, (name,))
        found.members[name] = tuple(host for host in hosts if host in chosen)
        if _UNKNOWN in chosen:
            context.findings.gaps.add(("groups", name, "hosts"))
        hidden = context.findings.hides("groups", name, "hosts")
        if (hidden and found.vars[name]) or context.findings.hides("groups", name, "vars"):
            context.findings.gaps.update(("hosts", host, "vars") for host in (hosts if hidden else found.members[name]))
    return found


def _usable_group(name: str, body: Node, hosts: Sequence[str], findings: Findings) -> bool:
    span = body.location
    if name in hosts or name in RESERVED:
        what = "a host has the same name" if name in hosts else "the name is reserved"
        findings.error("E111", f"`{clip(name)}` cannot be the name of a group", span, f"{what}; choose another name")
        return False
    findings.parsed(partial(folder_name, what="a group"), name, span, "E111")
    return True


def _flattened(name: str, groups: Groups, hosts: Sequence[str], findings: Findings, path: tuple[str, ...]) -> set[str]:
    chosen: set[str] = set()
    for node in groups.nodes[name]:
        word = str(node.value)
        if word in path:
            findings.error("E115", f"groups form a cycle: {cycle(path, word)}", node.span, "remove one of them")
        elif word in groups.flat:
            chosen |= groups.flat[word]
        elif word in groups.nodes and len(path) >= _MAX_GROUP_DEPTH:
            message = f"groups are nested deeper than {_MAX_GROUP_DEPTH} levels at `{clip(word)}`"
            findings.error("E115", message, node.span, "use fewer group levels")
        elif word in groups.nodes:
            chosen |= _flattened(word, groups, hosts, findings, (*path, word))
        else:
            chosen |= _group_hosts(node, word, [*hosts, *groups.nodes], hosts, findings)
    groups.flat[name] = chosen
    return chosen


def _group_hosts(node: Node, word: str, known: Sequence[str], hosts: Sequence[str], findings: Findings) -> set[str]:
    if word in hosts:
        return {word}
    if word == "all":
        return set(hosts)
    chosen = set(matching(word, hosts)) if is_pattern(word) else set()
    if chosen:
        return chosen
    if not findings.hides("hosts"):
        what = (
            f"pattern `{clip(word)}` matches no host" if is_pattern(word) else f"unknown host or group `{clip(word)}`"
        )
        hint = did_you_mean(word, hosts if is_pattern(word) else known)
        findings.error("E114", what, node.span, hint)
    return {_UNKNOWN}


def with_group_vars(found: HostMaps, groups: Groups, findings: Findings) -> HostMaps:
    """Return the hosts with the variables of their groups added. A host's own variables override those of its groups.

    Conflicting groups are an error.
    """
    vars_by_host: dict[str, dict[str, Node]] = {}
    for group, variables in groups.vars.items():
        for host in groups.members[group] if variables else ():
            known = vars_by_host.setdefault(host, {})
            for name, node in variables.items():
                first = known.setdefault(name, node)
                if first.plain() != node.plain():
                    message = f"two groups set different values for host `{host}`: `vars.{clip(name)}`"
                    hint = "set it for the host, or in only one of the groups"
                    findings.twice("E113", message, node.span, first.span, hint)
    maps = {name: _with_vars(body, vars_by_host.get(name)) for name, body in found.maps.items()}
    return HostMaps(maps, found.spans)


def _with_vars(body: Node, shared: Mapping[str, Node] | None) -> Node:
    if not shared:
        return body
    own = body.value.get("vars")
    if own is not None and not isinstance(own.value, dict):
        return body
    node = Node({**shared, **(own.value if own else {})}, own.span if own else body.span, own.key_span if own else None)
    return body._replace(value={**body.value, "vars": node})
