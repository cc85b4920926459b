"""What was left out of an answer to keep it short, by the facts that are not whole for it."""

from __future__ import annotations

from collections.abc import Mapping

from asct.facts.sources import CPU, MM, NODE
from asct.facts.sources.network import NET
from asct.facts.sources.perf import EVENTS, HWMON, ZONES
from asct.facts.sources.storage import BLOCK, NVME

_FIELDS = (
    ("/proc/self/mount", "mounts"),
    ("/proc/cpuinfo", "cpu"),
    ("/proc/iomem", "interconnects"),
    ("/proc/meminfo", "memory"),
    (CPU, "cpu"),
    (NODE, "nodes"),
    (MM, "memory"),
    (BLOCK, "block_devices"),
    (NVME, "block_devices"),
    (NET, "network.interfaces"),
    (EVENTS, "perf"),
    (HWMON, "thermal"),
    (ZONES, "thermal"),
)
"""Beginnings of paths, and the fact that is read of what is there; of all others it is `system`."""


def reasons(left: Mapping[str, int]) -> dict[str, str]:
    """Why a fact is not whole, by its field. `left` counts by the field already (entries, lines of a command) or by the
    path of a file (lines)."""
    files: dict[str, dict[str, int]] = {}
    made: dict[str, str] = {}
    for name, count in left.items():
        if name.startswith("/"):
            field = next((field for start, field in _FIELDS if name.startswith(start)), "system")
            files.setdefault(field, {})[name] = count
        else:
            made[name] = f"{count} more were left out: there are too many"
    for field, counts in files.items():
        told = f"lines of {', '.join(counts)} were left out ({sum(counts.values())}): there are too many"
        made[field] = f"{made[field]}; {told}" if field in made else told
    return made
