"""The files that asct reads from a host and the programs that it looks for, as listed in sources.yaml. exchange.py
combines them into one script."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from asct.resources import data

BLOCK = "/sys/block"
CLOCKS = "/sys/devices/system/clocksource/clocksource0"
CPU = "/sys/devices/system/cpu"
DMI = "/sys/class/dmi/id"
EVENTS = "/sys/bus/event_source/devices"
HWMON = "/sys/class/hwmon"
MESH_MAPS = "/sys/kernel/debug/arm-cmn"
MM = "/sys/kernel/mm"
NET = "/sys/class/net"
NODE = "/sys/devices/system/node"
NVME = "/sys/class/nvme"
SECURITY = "/sys/kernel/security"
BIG_ENDIAN = frozenset({"s390x", "s390", "ppc64", "ppc", "mips", "mips64", "sparc64", "parisc", "aarch64_be"})
"""Big-endian architectures, whose most significant byte comes first."""
VULNERABILITIES = f"{CPU}/vulnerabilities"
ZONES = "/sys/class/thermal"


@dataclass(frozen=True, slots=True)
class FolderSet:
    """The same files in many folders, such as the folders of all CPUs or block devices.

    The shell patterns in `patterns` select the folders, in the order in which they are read; `files` are names or
    patterns in each folder. At most `most` folders are read; folders that contain `device` (hardware) come first. The
    facts record the number of omitted folders under `field`.
    """

    field: str
    patterns: tuple[str, ...]
    files: tuple[str, ...]
    most: int


def _placed(text: str) -> str:
    """Replace the names of folders, such as `{CPU}`, with their paths."""
    return re.sub(r"\{(\w+)\}", lambda match: str(globals()[match[1]]), text)


def _files(items: Iterable[str | Mapping[str, str]]) -> tuple[str, ...]:
    """Return the paths of all names in the items. An item is a string of names, or maps folders to such strings."""
    pairs = [pair for item in items for pair in ([("", item)] if isinstance(item, str) else item.items())]
    return tuple(_placed(f"{folder}/{name}" if folder else name) for folder, names in pairs for name in names.split())


def _folders(entry: Mapping[str, Any]) -> FolderSet:
    return FolderSet(entry["field"], tuple(map(_placed, entry["patterns"])), _files(entry["files"]), entry["most"])


_SOURCES: Mapping[str, Any] = data(__file__, "sources.yaml")
FILES = _files(_SOURCES["files"])
FOLDERS = tuple(map(_folders, _SOURCES["folders"]))
DUMPED = tuple(map(_folders, _SOURCES["dumped"]))
GROUPS = _folders(_SOURCES["groups"])
TOOLS: Mapping[str, str] = _SOURCES["tools"]
FIELDS = tuple((_placed(start), field) for start, field in _SOURCES["fields"].items())
KERNEL_OPTIONS = _SOURCES["kernel_options"].replace(" ", "|")
EVIDENCE = {pattern: tuple(map(_placed, places)) for pattern, places in _SOURCES["evidence"].items()}

_SECRETS = ("pass", "pwd", "secret", "token", "credential", "key")
_ANY_CASE = "|".join("".join(f"[{char.upper()}{char}]" for char in word) for word in _SECRETS)
SECRET_OPTION = f"([ ,][A-Za-z0-9_.-]*({_ANY_CASE})[A-Za-z0-9_.-]*)=[^ ]*"
"""Pattern for mount options whose values may be secrets; the first group matches the option's name. The pattern is an
extended regular expression, which cannot ignore case. The Linux kernel does not escape commas in values, so everything
after the option is treated as its value."""
