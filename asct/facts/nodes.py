"""NUMA nodes, from /sys/devices/system/node. Numbers may have holes; a node may have memory only."""

from __future__ import annotations

import re

from asct.facts.memory import pools
from asct.facts.snapshot import Snapshot
from asct.facts.sources import NODE
from asct.facts.unknown import UnknownFacts, cpu_mask, folders, whole
from asct.sdk.facts import NodePerformance, NumaNode

_LINE = re.compile(r"Node\s+\d+\s+([\w()]+):\s+(\d{1,18})\s*kB", re.ASCII)
_NAME = re.compile(r"node(\d{1,5})", re.ASCII)
_KNOWN = ("cpulist", "cpumap", "distance", "meminfo")


def nodes(found: Snapshot, gaps: UnknownFacts) -> list[NumaNode]:
    """Online nodes by number. Empty and noted when the kernel was built without NUMA."""
    texts = {
        int(match[1]): files
        for name, files in folders(found, NODE).items()
        if (match := _NAME.fullmatch(name)) and any(known in files for known in _KNOWN)
    }
    if not texts:
        gaps.note("nodes", f"{NODE} lists no nodes")
    made = [_node(number, texts[number], gaps) for number in sorted(texts)]
    if made and not any(node.firmware for node in made):
        gaps.note("nodes.firmware", "the firmware does not report it (ACPI HMAT)")
    return made


def _cpus(number: int, texts: dict[str, str], gaps: UnknownFacts) -> list[int]:
    """The CPUs of a node; from the mask where there is no list (some copies of /sys). A memory-only node has none."""
    mask = cpu_mask(texts.get("cpumap"))
    if "cpulist" not in texts and mask is not None:
        return mask
    return gaps.cpus(f"nodes.{number}.cpus", texts.get("cpulist"), f"{NODE}/node{number}/cpulist")


def _node(number: int, texts: dict[str, str], gaps: UnknownFacts) -> NumaNode:
    memory = {name: int(kib) * 1024 for name, kib in _LINE.findall(texts.get("meminfo", ""))}
    distances = [whole(one) for one in texts.get("distance", "").split()]
    for field, known in (("memory_bytes", "MemTotal" in memory), ("distances", bool(distances))):
        if not known:
            gaps.note(f"nodes.{number}.{field}", f"{NODE}/node{number} does not report it")
    free = memory.get("MemFree")
    return NumaNode(
        id=number,
        cpus=_cpus(number, texts, gaps),
        memory_bytes=memory.get("MemTotal"),
        free_bytes=free,
        available_bytes=None if free is None else free + memory.get("Inactive(file)", 0),
        distances=[] if None in distances else [one for one in distances if one is not None],
        huge_pages=pools(texts),
        firmware=_firmware(texts),
    )


def _firmware(texts: dict[str, str]) -> NodePerformance | None:
    """Megabytes per second and nanoseconds (Documentation/ABI/stable/sysfs-devices-node); 0 means not reported."""
    scales = {"read_bandwidth": 1e6, "write_bandwidth": 1e6, "read_latency": 1e-9, "write_latency": 1e-9}
    values = {name: whole(texts.get(f"access0/initiators/{name}")) for name in scales}
    if not any(values.values()):
        return None
    return NodePerformance(**{name: value * scales[name] if value else None for name, value in values.items()})
