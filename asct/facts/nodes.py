"""NUMA nodes, from /sys/devices/system/node. Numbers may have holes; a node may have memory only."""

from __future__ import annotations

import re

from asct.facts.gaps import Gaps, whole
from asct.facts.snapshot import Snapshot
from asct.facts.sources import NODE
from asct.sdk.facts import Node

_LINE = re.compile(r"Node\s+\d+\s+([\w()]+):\s+(\d+)\s*kB")


def nodes(found: Snapshot, gaps: Gaps) -> list[Node]:
    """Online nodes by number. Empty and noted when the kernel was built without NUMA."""
    texts: dict[int, dict[str, str]] = {}
    for match, text in found.matching(rf"{NODE}/node(\d{{1,5}})/(cpulist|cpumap|distance|meminfo)"):
        texts.setdefault(int(match[1]), {})[match[2]] = text
    if not texts:
        gaps.note("nodes", f"{NODE} lists no nodes")
    return [_node(number, texts[number], gaps) for number in sorted(texts)]


def _cpus(number: int, texts: dict[str, str], gaps: Gaps) -> list[int]:
    """The CPUs of a node; from the mask where there is no list (some copies of /sys). A memory-only node has none."""
    mask = texts.get("cpumap", "").strip().replace(",", "")
    if "cpulist" not in texts and re.fullmatch(r"[0-9a-fA-F]{1,20000}", mask):
        bits = int(mask, 16)
        return [cpu for cpu in range(bits.bit_length()) if bits >> cpu & 1]
    return gaps.cpus(f"nodes.{number}.cpus", texts.get("cpulist"), f"{NODE}/node{number}/cpulist")


def _node(number: int, texts: dict[str, str], gaps: Gaps) -> Node:
    memory = {name: int(kib) * 1024 for name, kib in _LINE.findall(texts.get("meminfo", ""))}
    distances = [whole(one) for one in texts.get("distance", "").split()]
    for field, known in (("memory_bytes", "MemTotal" in memory), ("distances", bool(distances))):
        if not known:
            gaps.note(f"nodes.{number}.{field}", f"{NODE}/node{number} does not say it")
    free = memory.get("MemFree")
    return Node(
        id=number,
        cpus=_cpus(number, texts, gaps),
        memory_bytes=memory.get("MemTotal"),
        free_bytes=free,
        available_bytes=None if free is None else free + memory.get("Inactive(file)", 0),
        distances=[] if None in distances else [one for one in distances if one is not None],
    )
