"""Remove everything that must not be published from text, documents and paths.

`redactor` is for reports that anyone may read: it removes addresses, serial numbers and command lines of the Linux
kernel, but keeps the host names in the plan, except names that are addresses. `redaction_of` is for `--redact`: it also
removes the names of hosts and users.
"""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import lru_cache
from typing import Any, Final, TypeVar, cast, get_args

from pydantic import BaseModel

from asct.analysis.view import RunView
from asct.resources import data
from asct.sdk.facts import HostFacts
from asct.store.model import HostStatus, PointStatus, State

_Value = TypeVar("_Value")
_ADDRESS, _SERIAL, _COMMAND_LINE, _USER = "[address]", "[serial number]", "[kernel command line]", "user"
_PATTERNS: Final = (
    r"(?P<user>[\w.+-]+@[\w.-]*\w)",
    r"(?P<disk>/dev/disk/by-[a-z]+/)[^\s,;\"'`)\]}]+",
    r"(?P<serial>(?<![\w-])[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}(?![\w-])"
    r"|(?<![0-9A-Za-z])(?:wwn-0x|naa\.|eui\.|nvme\.)[0-9A-Fa-f]{8}[\w.-]*|(?<![0-9A-Za-z])nqn\.[\w.:-]+)",
    r"(?P<mac>(?<![\w:])[0-9A-Fa-f]{2}(?P<between>[:-])(?:[0-9A-Fa-f]{2}(?P=between)){4,18}[0-9A-Fa-f]{2}(?![\w:]))",
    r"(?P<ip>(?<![\w.:])(?:[0-9A-Fa-f]{0,4}:){2,7}[0-9A-Fa-f.]*|(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?![\w.]*\w))",
)
_HOME: Final = r"/(?:home|Users|media|run/media)/"
_OF_NAMES: Final = (
    rf"(?P<home>{_HOME})[^/\s,;:\"'`)\]}}<>|\\]+",
    r"(?P<option>(?<![\w-])user(?:name)?=)[^\s,;\"'`)\]}]+",
    r"(?P<boot>BOOT_IMAGE=[^\n]*)",
)
"""Patterns that only `--redact` removes: user names in paths and mount options, and command lines that boot loaders
pass on."""
_REPLACED: Final = {
    "user": _ADDRESS, "domain": _ADDRESS, "mac": _ADDRESS, "ip": _ADDRESS, "serial": _SERIAL, "boot": _COMMAND_LINE,
}  # fmt: skip
_AFTER: Final = {"disk": _SERIAL, "home": _USER, "option": _USER}
"""Replacements for the part of a match that follows its named group. The group itself is kept."""
_FIELDS: Final = {
    **dict.fromkeys(("serial", "uuid", "wwn", "nguid", "eui64", "subsysnqn"), _SERIAL),
    **dict.fromkeys(
        ("hostname", "nodename", "address", "jump", "mac", "ipv4", "ipv6", "gateways", "aliases"), _ADDRESS
    ),
    "command_line": _COMMAND_LINE,
    "user": _USER,
}
"""Keys in documents whose entire values are secret."""
_OWN: Final = data(__file__, "redaction.yaml")
_KEPT: Final = frozenset(_OWN["kept"])
_KEPT_IN_DOCUMENTS: Final = _KEPT.union(_OWN["kept_in_documents"])
_WORD: Final = re.compile(r"[\w ./%*-]{0,40}")
_IN_PATHS: Final = frozenset({"host", "id", "raw", "folder"})
"""Fields whose values are paths in the results tree, or names in these paths."""
_TOP: Final = frozenset({"build", "disturbances", "facts", "jobs"})
"""The folders in a run folder, whose names are never changed."""
_PCI: Final = re.compile(r"[0-9A-Fa-f]{4,}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7]")
_WORDS: Final = frozenset((*get_args(PointStatus), *get_args(HostStatus), *get_args(State), *_OWN["words"]))
_SHORTEST_NAME: Final = 5
"""Minimum length of a name that is also replaced where it is capitalized. If shorter names were included, a host named
`n1` would also change the N1 in a CPU name."""


class Redaction:
    """Replaces the `known` strings, and everything that has the form of an address or a serial number. It also replaces
    the names of machines in `domains` and, with `names`, user names in paths."""

    def __init__(self, known: Mapping[str, str], *, names: bool = False, domains: Iterable[str] = ()) -> None:
        self._known = known
        own = []
        if words := _any_of(known):
            own.append(rf"(?P<known>(?<![0-9A-Za-z])(?:{words})(?![0-9A-Za-z@]))")
        if words := _any_of(domains):
            own.append(rf"(?P<domain>(?<![\w-])(?:[\w-]+\.)*(?:{words})(?![\w-]))")
        self._pattern = re.compile("|".join((*own, *(_OF_NAMES if names else ()), *_PATTERNS)))
        self.text = lru_cache(maxsize=1 << 16)(self._text)
        """Return a text without secrets."""

    def _text(self, text: str) -> str:
        return self._pattern.sub(self._replaced, text)

    def _replaced(self, found: re.Match[str]) -> str:
        group = str(found.lastgroup)
        if group == "known":
            return self._known[found[0]]
        if group in _AFTER:
            return f"{found[group]}{_AFTER[group]}"
        return found[0] if group == "ip" and not _is_ip(found[0]) else _REPLACED[group]

    def path(self, path: str) -> str:
        """Return a path in the results tree without secrets. The parts of the path remain valid as file names."""
        first, *rest = path.split("/")
        return "/".join((first if first in _TOP or not rest else self._name(first), *map(self._name, rest)))

    def _name(self, name: str) -> str:
        found = self.text(name)
        return name if found == name else re.sub(r"[^\w.@+:]+", "-", found).strip("-.") or "redacted"

    def file(self, path: str, text: str) -> str:
        """Remove the secrets from the text of a file in the results tree. JSON documents remain JSON documents.

        The name of the baseline is removed from the resolved plan, because the baseline is a different run, which is
        not part of the copy.
        """
        if path == "plan.resolved.json" and isinstance(body := _parsed(text), dict):
            return json.dumps({**self.document(body), "baseline": None}, ensure_ascii=False, separators=(",", ":"))
        if path.endswith(".jsonl"):
            return "\n".join(map(self._json, text.split("\n")))
        return self._json(text) if path.endswith(".json") else self.text(text)

    def _json(self, text: str) -> str:
        value = _parsed(text)
        if value is None:
            return self.text(text)
        found = self.document(value)
        if found == value:
            return text
        indent, separators = (1, None) if "\n " in text else (None, (",", ":"))
        end = text[len(text.rstrip()) :]
        return json.dumps(found, ensure_ascii=False, indent=indent, separators=separators) + end

    def document(self, value: Any, key: str = "") -> Any:
        """Return a JSON value without secrets. `key` is the key under which the document contains this value."""
        if isinstance(value, str):
            return self._field(value, key)
        if isinstance(value, list):
            return [self.document(item, key) for item in value]
        if isinstance(value, dict):
            secret = key if key in _FIELDS else ""
            return {self._field(name, secret): self.document(item, secret or name) for name, item in value.items()}
        return value

    def _field(self, value: str, key: str) -> str:
        if key in _KEPT_IN_DOCUMENTS and _WORD.fullmatch(value):
            return value
        if key in _IN_PATHS:
            return self.path(value) if "/" in value else self._name(value)
        if key in _FIELDS and _is_secret(value):
            return self._known.get(value, _FIELDS[key])
        return self.text(value)


def _any_of(texts: Iterable[str]) -> str:
    """Return a pattern that matches any of the strings and prefers longer matches."""
    return "|".join(re.escape(text) for text in sorted(texts, key=lambda text: (-len(text), text)))


def redactor(view: RunView) -> Callable[[str], str]:
    """Return a function that removes addresses, serial numbers and Linux kernel command lines from text about a run."""
    names = {host.name for host in view.run.hosts}
    # Words without a digit, dot or colon are excluded: an ordinary word would be replaced wherever it occurs.
    particular = ((text, word) for text, word in _known(view) if len(text) >= 4 and re.search(r"[\d.:]", text))
    known = {text: word for text, word in particular if text not in names}
    numbered = _numbered(view)
    return Redaction(known | {name: word for name, word in numbered.items() if _is_ip(name) or "@" in name}).text


def redaction_of(view: RunView, files: Iterable[tuple[str, str]], *others: RunView) -> Redaction:
    """Return the redaction that removes all secrets of the run `view` and the runs `others`, including the names of
    hosts and users. `files` contains the path and the text of each file in the results trees of these runs."""
    views = (view, *others)
    found = {text: word for one in reversed(views) for text, word in _known(one)}
    for path, text in files:
        found |= {name: _USER for name in re.findall(rf"{_HOME}([A-Za-z_][\w.-]*)", text)}
        if path.endswith(".json"):
            found |= dict(_of_document(_parsed(text)))
    hosts = _numbered(*views)
    for host, facts in (item for one in reversed(views) for item in one.facts.items()):
        found[facts.system.hostname or host] = hosts.get(host, _ADDRESS)
    full = [name for name in found if re.fullmatch(r"[A-Za-z][\w-]*(\.[A-Za-z][\w-]*){2,}", name)]
    found |= {name.partition(".")[0]: found[name] for name in full} | hosts
    known = {text: word for text, word in found.items() if _is_secret(text)}
    capitals = {text.upper(): word for text, word in known.items() if len(text) >= _SHORTEST_NAME}
    return Redaction({**capitals, **known}, names=True, domains={name.partition(".")[2] for name in full})


def redacted(value: _Value, redact: Callable[[str], str]) -> _Value:
    """Return a value in which all text is redacted, including text in collections, dataclasses and models."""
    found: Any = value
    if isinstance(value, str):
        found = redact(value)
    elif isinstance(value, tuple | list | frozenset):
        kind = tuple if isinstance(value, tuple) else type(value)
        found = kind(redacted(item, redact) for item in value)
    elif isinstance(value, Mapping):
        found = {redacted(key, redact): redacted(item, redact) for key, item in value.items()}
    elif isinstance(value, BaseModel):
        found = value.model_copy(update=redacted(dict(value), redact))
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


def _numbered(*views: RunView) -> dict[str, str]:
    """Return an anonymous name for each host, such as `host-1`. Hosts are numbered in order of first appearance."""
    names = dict.fromkeys(host.name for view in views for host in view.run.hosts)
    return {name: f"host-{number}" for number, name in enumerate(names, start=1)}


def _known(view: RunView) -> Iterator[tuple[str, str]]:
    """Yield the addresses, serial numbers and command lines that the run itself contains, with their replacements."""
    for facts in view.facts.values():
        yield from _of_facts(facts)
    resolved = view.resolved.get("hosts") or ()
    addresses = [host.address for host in view.run.hosts]
    addresses += [
        str(host.get(key) or "") for host in resolved if isinstance(host, dict) for key in ("address", "jump")
    ]
    for address in addresses:
        yield address, _ADDRESS
        yield address.rpartition("@")[2], _ADDRESS


def _of_facts(facts: HostFacts) -> Iterator[tuple[str, str]]:
    system = facts.system
    yield system.hostname or "", _ADDRESS
    yield system.command_line or "", _COMMAND_LINE
    for serial in (system.product.serial, system.product.uuid, *(drive.serial for drive in facts.block_devices)):
        yield serial or "", _SERIAL


def _parsed(text: str) -> Any:
    """Return the value of a JSON document, or None if the text is not JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _of_document(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Yield the contents of the secret fields of a document, with their replacements."""
    if isinstance(value, str) and key in _FIELDS:
        yield value, _FIELDS[key]
        before, _, after = value.rpartition("@")
        yield before, _USER
        yield after, _FIELDS[key]
    elif isinstance(value, list):
        for item in value:
            yield from _of_document(item, key)
    elif isinstance(value, dict):
        secret = key if key in _FIELDS else ""
        for name, item in value.items():
            yield from _of_document(item, secret or name)
            yield from _of_document(name, secret)


def _is_secret(text: str) -> bool:
    """Return whether a text must be replaced. Single characters, common words and PCI addresses identify nothing."""
    return len(text) > 1 and text.casefold() not in _WORDS and not _PCI.fullmatch(text)
