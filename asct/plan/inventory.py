"""Ansible inventories as printed by `ansible-inventory --list`: JSON with `_meta.hostvars`, groups and children.

Variable names are those of Ansible's ssh connection and inventory parameters (docs.ansible.com, "List of behavioral
inventory parameters"), including the older `ansible_ssh_host`, `_port` and `_user`.
"""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from asct.diagnostics.model import Span
from asct.plan.findings import Findings
from asct.plan.hosts import RESERVED
from asct.plan.model import Node
from asct.plan.names import IDENTIFIER
from asct.values.error import clip
from asct.values.strict_json import DECODER

_IMPLIED: Final = ("_meta", "all", "ungrouped")
_DEEPEST: Final = 50
_NAMED: Final = 3
"""Maximum number of hosts that a warning lists by name; any further hosts are only counted."""


@dataclass(slots=True)
class Inventory:
    """The maps of hosts and the lists of group members, as in a plan. Messages about them point to the `from` key."""

    hosts: dict[str, Node] = field(default_factory=dict)
    groups: dict[str, Node] = field(default_factory=dict)


def read_inventory(
    text: str, name: str, place: Span, findings: Findings, plan_keys: Mapping[str, Collection[str]] | None = None
) -> Inventory | None:
    """Return the hosts and groups of an inventory, or None after an error (E117).

    `plan_keys` contains the keys that the plan sets for its hosts; values for these keys in the inventory are ignored.
    """
    try:
        document = DECODER.decode(text)
    except json.JSONDecodeError as problem:
        location = Span(name, problem.lineno, problem.colno)
        hint = "create it with `ansible-inventory --list > FILE`"
        findings.error("E117", f"the inventory is not JSON: {problem.msg.lower()}", location, hint)
        return None
    except (RecursionError, ValueError) as problem:
        findings.error("E117", f"the inventory is not JSON: {clip(str(problem))}", Span(name, 1, 1))
        return None
    if not isinstance(document, dict) or not all(isinstance(item, dict) for item in document.values()):
        findings.error(
            "E117", "not an inventory: it contains no map of groups", Span(name, 1, 1), "use `ansible-inventory --list`"
        )
        return None
    return _Reader(document, name, place, findings, plan_keys or {}).read()


@dataclass(slots=True)
class _Reader:
    """Converts an inventory's JSON document; `_place` is the location reported for every error."""

    _document: Mapping[str, Any]
    _name: str
    _place: Span
    _findings: Findings
    _plan_keys: Mapping[str, Collection[str]]
    _left_out: dict[str, list[str]] = field(default_factory=dict)
    _remarks: Counter[str] = field(default_factory=Counter)

    def read(self) -> Inventory:
        found = Inventory()
        meta = self._document.get("_meta", {}).get("hostvars", {})
        hostvars = meta if isinstance(meta, dict) else {}
        listed = [host for body in self._document.values() for host in _texts(body.get("hosts"))]
        for host in dict.fromkeys([*listed, *map(str, hostvars)]):
            variables = hostvars.get(host)
            self._take(found, host, variables if isinstance(variables, dict) else {})
        for group, body in self._document.items():
            if group not in _IMPLIED:
                found.groups[group] = self._node([self._node(name) for name in self._members(body, found)])
            if body.get("vars"):
                self._remarks["group variables (`--export`) are ignored: create the inventory without `--export`"] += 1
        self._say()
        return found

    def _members(self, body: Mapping[str, Any], found: Inventory) -> list[str]:
        """Return the hosts and groups in a group, omitting empty groups, which Ansible lists only as children of other
        groups."""
        groups = [child for child in _texts(body.get("children")) if child in self._document and child not in _IMPLIED]
        return [*(host for host in _texts(body.get("hosts")) if host in found.hosts), *groups]

    def _take(self, found: Inventory, host: str, variables: Mapping[str, Any]) -> None:
        if host in RESERVED:
            self._findings.error("E111", f"`{host}` cannot be the name of a host", self._place, "the name is reserved")
            return
        plan_keys = self._plan_keys.get(host, ())
        kind = connection(variables)
        if kind not in ("ssh", "local") and "transport" not in plan_keys:
            self._left_out.setdefault(kind, []).append(host)
            return
        translation = translated(variables, plan_keys)
        for misfit in translation.misfits:
            location = f"{self._name}: _meta.hostvars.{clip(host)}.{misfit.name}"
            hint = f"fix the inventory, or write `{clip(host)}: {{{misfit.key}: ...}}` next to `from`"
            self._findings.error("E117", f"{location}: {misfit.what}", self._place, hint)
        self._remarks.update(translation.remarks)
        members = {key: self._plain(value) for key, value in translation.keys.items()}
        own = {name: self._plain(value) for name, value in translation.vars.items() if _shallow(value)}
        if own:
            members["vars"] = self._node(own)
        found.hosts[host] = self._node(members)

    def _say(self) -> None:
        """Report each ignored part of the inventory once, however many hosts it affects."""
        for kind, hosts in self._left_out.items():
            more = f" and {len(hosts) - _NAMED} more" if len(hosts) > _NAMED else ""
            names = ", ".join(map(clip, hosts[:_NAMED])) + more
            message = f"{self._name}: skipped because asct does not support the connection `{clip(kind)}`: {names}"
            hint = "set its `transport` next to `from` if asct can reach it"
            self._findings.warn("E117", message, self._place, hint)
        for remark, number in sorted(self._remarks.items()):
            hint = "no action is needed if this is intended"
            self._findings.warn("E117", f"{self._name}: {remark} ({number} x)", self._place, hint)

    def _node(self, value: Any) -> Node:
        return Node(value, self._place, self._place)

    def _plain(self, value: Any) -> Node:
        """Return a value from the inventory as a node. Because the value is data and not a template, `${` is
        escaped."""
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


CONNECTIONS: Final = ("ssh", "smart", "paramiko", "paramiko_ssh")
"""Connections that asct treats as ssh. The name may start with a collection (`ansible.builtin.ssh`)."""
_NAMES: Final = {
    "address": ("ansible_host", "ansible_ssh_host"),
    "user": ("ansible_user", "ansible_ssh_user"),
    "identity_file": ("ansible_ssh_private_key_file", "ansible_private_key_file"),
    "port": ("ansible_port", "ansible_ssh_port"),
}
_ARGUMENTS: Final = ("ansible_ssh_args", "ansible_ssh_common_args", "ansible_ssh_extra_args")
_SECRETS: Final = ("ansible_password", "ansible_ssh_pass", "ansible_ssh_password", "ansible_become_password")
_USED: Final = {
    *(name for names in _NAMES.values() for name in names), *_ARGUMENTS, *_SECRETS,
    "ansible_become", "ansible_become_pass", "ansible_connection", "ansible_ssh_private_key",
}  # fmt: skip
_WITH_VALUE: Final = frozenset("BbcDEeFIiJLlmOopQRSWw")
"""Options of ssh(1) that take a value."""
_YES: Final = ("yes", "true", "on", "1")
_NO: Final = ("no", "false", "off", "0")
_SCALARS: Final = (str, int, float, bool)


_Reads = Callable[[Mapping[str, Any], "TranslatedHost"], Iterator[tuple[str, Any]]]


class UnsupportedVariable(Exception):
    """An unsupported variable: its name, why it is unsupported, and the plan key to use instead."""

    def __init__(self, name: str, what: str, key: str) -> None:
        super().__init__(f"{name}: {what}")
        self.name = name
        self.what = what
        self.key = key


@dataclass(slots=True)
class TranslatedHost:
    """A host's keys, variables and unsupported values, and notes about differences from Ansible."""

    keys: dict[str, Any] = field(default_factory=dict)
    vars: dict[str, Any] = field(default_factory=dict)
    misfits: list[UnsupportedVariable] = field(default_factory=list)
    remarks: set[str] = field(default_factory=set)


def connection(variables: Mapping[str, Any]) -> str:
    """Return `local`, `ssh`, or the name of an unsupported connection."""
    name = str(variables.get("ansible_connection") or "ssh")
    short = name.rpartition(".")[2]
    return "ssh" if short in CONNECTIONS else short


def translated(variables: Mapping[str, Any], plan_keys: Collection[str]) -> TranslatedHost:
    """Return the host that `variables` describe. Keys that the plan sets (`plan_keys`) are ignored."""
    found = TranslatedHost()
    local = connection(variables) == "local"
    if local:
        found.keys["transport"] = "local"
    for key, value in _keys(variables, found, local=local):
        if key not in plan_keys:
            found.keys[key] = value
    found.misfits = [misfit for misfit in found.misfits if misfit.key not in plan_keys]
    found.vars = {
        name: value
        for name, value in variables.items()
        if name not in _USED
        and IDENTIFIER.fullmatch(name)
        and (not name.startswith("ansible_") or isinstance(value, _SCALARS))  # skip Ansible's facts and groups
    }
    return found


def _keys(variables: Mapping[str, Any], found: TranslatedHost, *, local: bool) -> Iterator[tuple[str, Any]]:
    """Yield (key, value) pairs. If a key occurs more than once, its last value applies."""
    if any(variables.get(name) for name in _SECRETS):
        found.remarks.add("passwords are ignored: log in with a key or an agent")
    readers: list[_Reads] = [] if local else [_from_arguments, *(partial(_from_names, key) for key in _NAMES)]
    for reader in [*readers, _from_become]:
        try:
            yield from reader(variables, found)
        except UnsupportedVariable as misfit:
            found.misfits.append(misfit)


def _value(variables: Mapping[str, Any], name: str, key: str) -> str | None:
    """Return a variable as text, or None if it is empty. A Jinja template that ansible-inventory did not evaluate is an
    error."""
    value = variables.get(name)
    if value is None or value == "":
        return None
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise UnsupportedVariable(name, "is not text", key)
    if isinstance(value, str) and "{{" in value:
        raise UnsupportedVariable(name, f"`{clip(value)}` is a template that `ansible-inventory` did not evaluate", key)
    return str(value)


def _from_names(key: str, variables: Mapping[str, Any], found: TranslatedHost) -> Iterator[tuple[str, Any]]:
    """Yield the key and the value of the first variable that is set for it."""
    for name in _NAMES[key]:
        value = _value(variables, name, key)
        if value is not None:
            yield key, _port(name, value) if key == "port" else value
            return


def _port(name: str, value: str) -> int:
    if not (value.isascii() and value.isdecimal() and 0 < int(value) < 65536):
        raise UnsupportedVariable(name, f"`{clip(value)}` is not a port (1 to 65535)", "port")
    return int(value)


def _from_become(variables: Mapping[str, Any], found: TranslatedHost) -> Iterator[tuple[str, Any]]:
    value = variables.get("ansible_become")
    if value is None:
        return
    text = str(value).lower()
    if text not in (*_YES, *_NO):
        raise UnsupportedVariable("ansible_become", f"`{clip(value)}` is neither yes nor no", "sudo")
    yield "sudo", text in _YES


# ---- arguments of ssh


def _from_arguments(variables: Mapping[str, Any], found: TranslatedHost) -> Iterator[tuple[str, Any]]:
    for name in _ARGUMENTS:
        text = _value(variables, name, "jump")
        if text is None:
            continue
        try:
            words = shlex.split(text)
        except ValueError:
            raise UnsupportedVariable(name, f"`{clip(text)}` has an unclosed quote", "jump") from None
        for option, value in _options(words):
            yield from _option(name, option, value, found)


def _options(words: list[str]) -> Iterator[tuple[str, str]]:
    """Yield (letter, value) for each option in an ssh command line, and ("", word) for each other word."""
    remaining = iter(words)
    for word in remaining:
        if not word.startswith("-") or word == "-":
            yield "", word
            continue
        flags = word[1:]
        while flags:
            letter, flags = flags[0], flags[1:]
            if letter in _WITH_VALUE:
                yield letter, flags or next(remaining, "")
                break
            yield letter, ""


def _option(name: str, option: str, value: str, found: TranslatedHost) -> Iterator[tuple[str, Any]]:
    """Yield the keys that an option sets. Options that only tune the connection yield no keys."""
    plain = {"J": "jump", "i": "identity_file", "l": "user"}
    if option in plain:
        yield plain[option], value
    elif option == "p":
        yield "port", _port(name, value)
    elif option == "o":
        word, _, rest = value.replace("=", " ", 1).partition(" ")
        yield from _long_option(name, word.lower(), rest.strip().strip('"'), found)


def _long_option(name: str, option: str, value: str, found: TranslatedHost) -> Iterator[tuple[str, Any]]:
    plain = {"proxyjump": "jump", "identityfile": "identity_file", "user": "user", "hostname": "address"}
    unchecked = "asct always checks host keys, so StrictHostKeyChecking and UserKnownHostsFile are ignored"
    if option == "proxyjump" and value == "none":
        return
    if option in plain:
        yield plain[option], value
    elif option == "port":
        yield "port", _port(name, value)
    elif option == "proxycommand":
        yield "jump", _jump_of(name, value)
    elif option == "userknownhostsfile":
        if value == "/dev/null":
            found.remarks.add(unchecked)
        else:
            yield "known_hosts", value.split()[0] if value else value
    elif option == "stricthostkeychecking" and value in ("no", "off", "accept-new"):
        found.remarks.add(unchecked)


def _jump_of(name: str, command: str) -> str:
    """Return the jump host in `ssh -W %h:%p -q user@gateway`, which predates ProxyJump."""
    words = command.split()
    options = list(_options(words[1:]))
    values = dict(options)
    places = [value for option, value in options if option == ""]
    if words[:1] not in (["ssh"], ["/usr/bin/ssh"]) or values.get("W") != "%h:%p" or len(places) != 1:
        raise UnsupportedVariable(name, f"the ProxyCommand `{clip(command)}` is not supported", "jump")
    user = f"{values['l']}@" if "l" in values and "@" not in places[0] else ""
    return f"{user}{places[0]}" + (f":{_port(name, values['p'])}" if "p" in values else "")
