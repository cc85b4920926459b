"""NUMA nodes, from /sys/devices/system/node. Numbers may have holes; a node may have memory only."""

from __future__ import annotations

import re

from asct.facts.gaps import Gaps, whole
from asct.facts.snapshot import Snapshot
from asct.facts.sources import NODE
from asct.sdk.facts import Node

_LINE = re.compile(r"Node\s+\d+\s+(\w+):\s+(\d+)\s*kB")


def nodes(found: Snapshot, gaps: Gaps) -> list[Node]:
    """Online nodes by number. Empty and noted when the kernel was built without NUMA."""
    texts: dict[int, dict[str, str]] = {}
    for match, text in found.matching(rf"{NODE}/node(\d{{1,5}})/(cpulist|distance|meminfo)"):
        texts.setdefault(int(match[1]), {})[match[2]] = text
    if not texts:
        gaps.note("nodes", f"{NODE} lists no nodes")
    return [_node(number, texts[number], gaps) for number in sorted(texts)]


def _node(number: int, texts: dict[str, str], gaps: Gaps) -> Node:
    memory = {name: int(kib) * 1024 for name, kib in _LINE.findall(texts.get("meminfo", ""))}
    distances = [whole(one) for one in texts.get("distance", "").split()]
    for field, known in (("memory_bytes", "MemTotal" in memory), ("distances", bool(distances))):
        if not known:
            gaps.note(f"nodes.{number}.{field}", f"{NODE}/node{number} does not say it")
    return Node(
        id=number,
        cpus=gaps.cpus(f"nodes.{number}.cpus", texts.get("cpulist", ""), f"{NODE}/node{number}/cpulist"),
        memory_bytes=memory.get("MemTotal"),
        free_bytes=memory.get("MemFree"),
        distances=[] if None in distances else [one for one in distances if one is not None],
    )
