"""Removes from texts what must not be published: addresses, serial numbers and command lines of the Linux kernel.

The names of hosts in the plan are kept. A name that is itself an address is replaced by a number.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, Final, TypeVar, cast

from asct.analysis.view import RunView
from asct.sdk.facts import HostFacts

_Value = TypeVar("_Value")
_ADDRESS, _SERIAL, _COMMAND_LINE = "[address]", "[serial number]", "[kernel command line]"
_PATTERNS: Final = (
    r"(?P<user>[\w.+-]+@[\w.-]*\w)",
    r"(?P<disk>/dev/disk/by-[a-z]+/)[^\s,;\"'`)\]}]+",
    r"(?P<mac>(?<![\w:])(?:[0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}(?![\w:]))",
    r"(?P<ip>(?<![\w.:])(?:[0-9A-Fa-f]{0,4}:){2,7}[0-9A-Fa-f.]*|(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?![\w.]*\w))",
)
_KEPT: Final = frozenset({"tone", "status", "severity", "slug"})
"""Fields whose values are words of asct."""


def redactor(view: RunView) -> Callable[[str], str]:
    """Return a function that redacts texts about a run."""
    known = _known(view)
    words = "|".join(re.escape(text) for text in sorted(known, key=len, reverse=True))
    own = rf"(?P<known>(?<![\w.-])(?:{words})(?![\w-]))|" if words else ""
    pattern = re.compile(own + "|".join(_PATTERNS))

    def replaced(found: re.Match[str]) -> str:
        if found.lastgroup == "known":
            return known[found[0]]
        if found.lastgroup == "disk":
            return f"{found['disk']}{_SERIAL}"
        return found[0] if found.lastgroup == "ip" and not _is_ip(found[0]) else _ADDRESS

    return lambda text: pattern.sub(replaced, text)


def redacted(value: _Value, redact: Callable[[str], str]) -> _Value:
    """Return a value with all texts in it redacted, including those in tuples and dataclasses."""
    found: Any = value
    if isinstance(value, str):
        found = redact(value)
    elif isinstance(value, tuple):
        found = tuple(redacted(item, redact) for item in value)
    elif is_dataclass(value) and not isinstance(value, type):
        changed = {
            one.name: redacted(getattr(value, one.name), redact) for one in fields(value) if one.name not in _KEPT
        }
        found = replace(value, **changed)
    return cast("_Value", found)


def _is_ip(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return len(text) > 2


def _known(view: RunView) -> Mapping[str, str]:
    """Return the texts that the run itself contains as addresses, serial numbers and command lines, with their
    replacements."""
    names = {host.name for host in view.run.hosts}
    found: dict[str, str] = {}
    for facts in view.facts.values():
        found |= dict(_of_facts(facts))
    resolved = view.resolved.get("hosts") or ()
    addresses = [host.address for host in view.run.hosts]
    addresses += [
        str(host.get(key) or "") for host in resolved if isinstance(host, dict) for key in ("address", "jump")
    ]
    found |= {text: _ADDRESS for address in addresses for text in (address, address.rpartition("@")[2])}
    known = {text: word for text, word in found.items() if text not in names and _is_particular(text)}
    numbered = {host.name: f"host {number}" for number, host in enumerate(view.run.hosts, start=1)}
    return known | {name: word for name, word in numbered.items() if _is_ip(name) or "@" in name}


def _of_facts(facts: HostFacts) -> Iterator[tuple[str, str]]:
    system = facts.system
    yield system.hostname or "", _ADDRESS
    yield system.command_line or "", _COMMAND_LINE
    for serial in (system.product.serial, system.product.uuid, *(drive.serial for drive in facts.block_devices)):
        yield serial or "", _SERIAL


def _is_particular(text: str) -> bool:
    """Return whether a text cannot be an ordinary word, which would be replaced everywhere."""
    return len(text) >= 4 and bool(re.search(r"[\d.:]", text))
