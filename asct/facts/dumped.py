"""What some commands would have printed on a machine of which there are only files: what stands where in a dump.

These are commands for what no file of a living host holds as text: where links lead, and the kernel's command line,
which leaves a host only with its secrets masked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime

from asct.facts.gaps import real
from asct.facts.kernel import masked
from asct.facts.snapshot import Said
from asct.facts.trees import Path_, Tree, paths, resolve, texts

_PLACES = ("/sys/class/nvme/nvme*", "/sys/class/hwmon/hwmon*", "/sys/block/*", "/sys/class/net/*")
_OF_PCI = ("numa_node", "current_link_speed", "current_link_width", "max_link_speed", "max_link_width", "uevent")
_MOST = 2048
_START = re.compile(r"^btime ([0-9]{1,10})$", re.MULTILINE)
_OLDEST_S = 1e9
_VERSION = re.compile(r"Linux version (\S+) [^#]*(#.*)?", re.DOTALL)
_UNAME = (
    "/proc/sys/kernel/arch",
    "/proc/sys/kernel/hostname",
    "/proc/sys/kernel/osrelease",
    "/proc/sys/kernel/version",
    "/proc/version",
)


def said(tree: Tree, left: dict[str, int]) -> dict[str, Said]:
    """The answers by the name of the command in `sources`; only of commands of which the dump has something. What they
    leave out is counted in `left`."""
    found = {
        "devices": "\n".join(_devices(tree, left)),
        "command-line": masked(_text(tree, "/proc/cmdline")),
        "uname": _uname(tree),
    }
    return {name: Said(0, text) for name, text in found.items() if text.strip()}


def _text(tree: Tree, path: str) -> str:
    return next(iter(texts(tree, [tuple(path.strip("/").split("/"))]).values()), "")


def _uname(tree: Tree) -> str:
    """Lines as those of `uname -m; uname -n; uname -r; uname -v`; only since Linux 6.1 a file says the first."""
    arch, host, release, version, line = (_text(tree, path) for path in _UNAME)
    match = _VERSION.match(line)
    if match:
        release, version = release or match[1], version or (match[2] or "")
    return "\n".join((arch, host, release, version))


def taken(tree: Tree) -> datetime | None:
    """When the files were copied: the start of the machine and its age then (proc(5): `btime` of /proc/stat in seconds
    since 1970, /proc/uptime); None where not both are there."""
    start, age = _START.search(_text(tree, "/proc/stat")), real(_text(tree, "/proc/uptime").partition(" ")[0])
    if start is None or age is None or age > _OLDEST_S:
        return None
    return datetime.fromtimestamp(int(start[1]) + int(age), UTC)


def _devices(tree: Tree, left: dict[str, int]) -> Iterator[str]:
    """As the command of sources.storage prints them."""
    every = [path for pattern in _PLACES for path in paths(tree, pattern)]
    found = [path for path in every if resolve(tree, (*path, "device"))]
    if len(found) > _MOST:
        left["block_devices.node"] = len(found) - _MOST
    for at in found[:_MOST]:
        real = resolve(tree, at)
        if real is not None:
            yield "|".join([_absolute(at), _absolute(real), *_queues(tree, at), *_pci(tree, real)])


def _queues(tree: Tree, at: Path_) -> tuple[str, str]:
    if at[:2] == ("sys", "block"):
        return str(len(list(paths(tree, "mq/*", at)))), ""
    if at[:3] == ("sys", "class", "net"):
        first, second = (str(len(list(paths(tree, f"queues/{way}-*", at)))) for way in ("rx", "tx"))
        return first, second
    return "", ""


def _pci(tree: Tree, real: Path_) -> list[str]:
    """Of the first folder upwards that has a configuration space."""
    while real and tree.entry((*real, "config")) is None:
        real = real[:-1]
    if not real:
        return []
    values = [next(iter(texts(tree, [(*real, name)]).values()), "") for name in _OF_PCI]
    return [value.partition("\n")[0] for value in values]


def _absolute(path: Path_) -> str:
    return "/" + "/".join(path)
