"""Hosts of a plan: ranges, defaults and variables laid together into one specification for each host."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from asct.diagnostics.model import Span
from asct.plan.fields import ParseContext, Section, merged
from asct.plan.findings import Findings
from asct.plan.model import HostSpec, Node
from asct.plan.names import MAX_HOSTS, alike, expand_range, folder_name
from asct.plan.sources import path_near
from asct.plan.templates import resolved_vars
from asct.values.problem import BadValueError, shown

DURATIONS: Final = ("connect_timeout", "reconnect_timeout")
TRANSPORTS: Final[dict[str, tuple[str, ...]]] = {
    "local": (),
    "ssh": DURATIONS,
    "slurm": ("partition", "account", "nodes", "nodelist", "constraint", "options"),
    "dryrun": (),
    "replay": ("answers",),
}
"""Transports and the keys that only they have; those go into `HostSpec.options`."""
HOST_KEYS: Final = (
    "transport", "address", "port", "user", "identity_file", "known_hosts", "jump", "sudo", "workdir", "labels",
    "vars", "config",
)  # fmt: skip
RESERVED: Final = ("defaults", "from", "all")
LOCAL: Final = "local"


@dataclass(slots=True)
class HostMaps:
    """Hosts as maps, ranges expanded and defaults laid under; `spans` says where each name stands."""

    maps: dict[str, Node] = field(default_factory=dict)
    spans: dict[str, Span] = field(default_factory=dict)

    def add(self, name: str, body: Node, span: Span, findings: Findings) -> None:
        """One more host; a name that is there already is an error."""
        if name in self.maps:
            findings.twice(
                "E113", f"host `{shown(name)}` is given twice", span, self.spans[name], "rename one of the two"
            )
            return
        if len(self.maps) >= MAX_HOSTS:
            findings.error("E118", f"more than {MAX_HOSTS} hosts", span, "split the plan")
            return
        self.maps[name] = body
        self.spans[name] = span


def expand_hosts(node: Node, findings: Findings) -> HostMaps:
    """The hosts of one `hosts:` map, without `from` and `defaults`, which `default_host` gives."""
    found = HostMaps()
    if not isinstance(node.value, dict):
        findings.error("E106", "`hosts` must be a map of names", node.span, "write `hosts: {name: {address: ...}}`")
        return found
    for key, body in node.value.items():
        if key in ("defaults", "from") or not _is_map(body, f"host `{shown(key)}`", findings):
            continue
        span = body.location
        try:
            names = [folder_name(name, "a host") for name in expand_range(key)]
        except BadValueError as problem:
            findings.bad_value(problem, span, "E118" if "[" in key else "E111")
            continue
        for name in names:
            if name in RESERVED:
                findings.error("E111", f"`{name}` cannot be the name of a host", span, "it has a meaning of its own")
                continue
            found.add(name, under(None, body), span, findings)
    return found


def default_host(node: Node | None, findings: Findings) -> Node | None:
    """What a `hosts:` map says of hosts that do not say it themselves."""
    defaults: Node | None = node.value.get("defaults") if node is not None and isinstance(node.value, dict) else None
    if defaults is None or not _is_map(defaults, "`defaults` of hosts", findings):
        return None
    return defaults


def _is_map(node: Node, what: str, findings: Findings) -> bool:
    if node.value is None or isinstance(node.value, dict):
        return True
    findings.error("E106", f"{what} must be a map", node.span, "write `{address: ..., user: ...}`")
    return False


def under(defaults: Node | None, body: Node) -> Node:
    """A host's map with defaults for what it does not say; nothing at all counts as an empty map."""
    whole = replace(body, value={}) if body.value is None else body
    if defaults is None or defaults.value is None:
        return whole
    return replace(merged(defaults, whole), span=body.span, key_span=body.key_span)


@dataclass(frozen=True, slots=True)
class ReadHosts:
    """The finished hosts, and the settings that each gives."""

    hosts: dict[str, HostSpec]
    config: dict[str, dict[str, Node]]


def read_hosts(found: HostMaps, context: ParseContext) -> ReadHosts:
    """The specification of every host."""
    hosts: dict[str, HostSpec] = {}
    config: dict[str, dict[str, Node]] = {}
    first: dict[str, str] = {}
    for name, node in found.maps.items():
        known = first.setdefault(name.casefold(), name)
        if known != name:
            message, hint = alike(name, known, "the hosts")
            context.findings.twice("E113", message, found.spans[name], found.spans[known], hint)
        section = _section(name, node, context)
        hosts[name] = _host(name, section, found.spans[name])
        settings = section.mapping("config")
        if settings:
            config[name] = settings
    return ReadHosts(hosts, config)


def _section(name: str, node: Node, context: ParseContext) -> Section:
    """The map of a host, its keys checked by its transport, its templates reading `host.name`."""
    named = replace(context, scope=replace(context.scope, host=HostSpec(name)))
    transport = node.value.get("transport")
    chosen = _implied(name, node.value.get("address")) if transport is None else transport.value
    extra = TRANSPORTS.get(chosen, ()) if isinstance(chosen, str) else ()
    return Section(named, node, f"host `{shown(name)}`", (*HOST_KEYS, *extra))


def _implied(name: str, address: Node | None) -> str:
    """The transport of a host that names none: a machine called `local` without an address is this one."""
    return "local" if name == LOCAL and address is None else "ssh"


def _host(name: str, section: Section, span: Span) -> HostSpec:
    transport = section.choice("transport", tuple(TRANSPORTS)) or _implied(name, section.members.get("address"))
    address = section.text("address") or ""
    spec = HostSpec(
        name=name,
        transport=transport,
        address=address or ("" if transport == "local" else name),
        port=section.whole("port", 1, 65535) or 22,
        user=section.text("user"),
        identity_file=_path(section, "identity_file"),
        known_hosts=_path(section, "known_hosts"),
        jump=section.text("jump"),
        sudo=section.flag("sudo") or False,
        labels=_labels(section),
        options=_options(section, TRANSPORTS.get(transport, ())),
        span=span,
    )
    workdir = _workdir(section)
    if workdir is not None:
        spec = replace(spec, workdir=workdir)
    scope = replace(section.context.scope, host=spec)
    return replace(spec, vars=resolved_vars(section.mapping("vars"), scope, section.findings, "host.vars"))


def _path(section: Section, key: str) -> str | None:
    text = section.text(key)
    return None if text is None else path_near(section.members[key], text)


def _workdir(section: Section) -> str | None:
    text = section.text("workdir")
    if text is None or (text.startswith("/") and text.isprintable() and "/../" not in f"{text}/"):
        return text
    hint = "write an absolute path on the host: `/var/tmp/asct`"
    section.findings.error("E112", f"`{shown(text)}` is not a work folder", section.members["workdir"].span, hint)
    return None


def _labels(section: Section) -> Mapping[str, str]:
    labels: dict[str, str] = {}
    for key, node in section.mapping("labels").items():
        value = section.context.settled(node)
        if value is not None and isinstance(value.value, str | int | float):
            labels[key] = str(value.value).lower() if isinstance(value.value, bool) else str(value.value)
        elif value is not None:
            section.wrong(value, f"label `{shown(key)}`", "a text")
    return labels


def _options(section: Section, keys: tuple[str, ...]) -> Mapping[str, Any]:
    options: dict[str, Any] = {}
    for key in keys:
        if key not in section.members:
            continue
        if key == "options":
            options[key] = list(section.texts(key))
        elif key in DURATIONS:
            options[key] = section.duration(key)
        elif (node := section.settled(key)) is not None:
            if isinstance(node.value, str | int) and not isinstance(node.value, bool):
                options[key] = node.value
            else:
                section.wrong(node, f"`{key}`", "a text or a number")
    return options
