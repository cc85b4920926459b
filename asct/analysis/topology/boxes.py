"""A machine as nested boxes: sockets, NUMA nodes, caches, clusters and cores, with their drives and interfaces.

Each box is inside the smallest one that contains all of its CPUs. The groups of CPUs that the Linux kernel reports do
not always form a tree (a node may span parts of two sockets). If a group overlaps another one, it is listed instead of
being drawn.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from asct.analysis.grid import plain, size_text
from asct.analysis.machine.hardware import cache_name, node_cpus
from asct.analysis.machine.rows import listed, size
from asct.analysis.topology.box import Box, Kind, each
from asct.analysis.topology.devices import devices
from asct.sdk.facts import CacheLevel, HostFacts, NumaNode
from asct.values.grouping import grouped
from asct.values.text import counted

_RANK: Final[dict[Kind, int]] = {"machine": 0, "socket": 1, "node": 2, "die": 3, "cache": 4, "cluster": 5, "core": 6}
"""If two boxes contain the same CPUs, the one with the lower rank is the outer one."""


def machine(facts: HostFacts) -> tuple[Box, list[tuple[str, str]]]:
    """Return the machine as a box and, for each group that overlaps a box, the titles of the group and the box.

    If no CPUs are known, the machine is an empty box.
    """
    cpus = frozenset([cpu.cpu for cpu in facts.cpu.logical] or facts.cpu.online)
    whole = Box("machine", plain(facts.system.hostname or facts.host), _machine_detail(facts), cpus)
    across: list[tuple[str, str]] = []
    places = {node.id: whole for node in facts.nodes}
    groups = sorted(_groups(facts, cpus), key=lambda item: (-len(item[1].cpus), _RANK[item[1].kind], item[0]))
    for number, group in groups:
        outside = _smallest(whole, group, across)
        if outside is not None:
            outside.parts.append(group)
            if group.kind == "node":
                places[number] = group
    for box in each(whole):
        box.parts.sort(key=lambda part: min(part.cpus))
    for node in facts.nodes:
        if not set(node.cpus) & cpus:
            whole.parts.append(Box("node", f"NUMA node {node.id}", f"{_size(node)}, {node_cpus(facts, node)}"))
    for number, part in devices(facts):
        places.get(number, whole).parts.append(part)
    return whole, across


def _smallest(outside: Box, group: Box, across: list[tuple[str, str]]) -> Box | None:
    """Return the innermost box that contains the group. If the group overlaps another box, add a note to `across` and
    return None."""
    for one in outside.parts:
        if group.cpus <= one.cpus:
            return _smallest(one, group, across)
        if group.cpus & one.cpus:
            across.append((group.title, one.title))
            return None
    return outside


def _machine_detail(facts: HostFacts) -> str:
    cpu, memory = facts.cpu, facts.memory
    nouns = ((cpu.sockets, "socket"), (cpu.cores, "core"), (cpu.cpus, "CPU"))
    return listed(*(counted(number or None, noun) for number, noun in nouns), size(memory.total_bytes))


def _groups(facts: HostFacts, known: frozenset[int]) -> Iterator[tuple[int, Box]]:
    """Yield all groups of CPUs with their sort order.

    Dies are omitted unless a socket has several of them. Clusters are omitted unless they differ from both sockets and
    cores.
    """
    cpu, logical = facts.cpu, facts.cpu.logical
    for number, cpus in _by((one.cpu, one.socket) for one in logical):
        yield number, Box("socket", f"socket {number}", _models(facts, cpus), cpus)
    if cpu.dies and cpu.sockets and cpu.dies > cpu.sockets:
        yield from ((n, Box("die", f"die {n}", "", cpus)) for n, cpus in _by((one.cpu, one.die) for one in logical))
    for node in facts.nodes:
        if cpus := frozenset(node.cpus) & known:
            yield node.id, Box("node", f"NUMA node {node.id}", _size(node), cpus)
    cores = dict(_by((one.cpu, one.core) for one in logical))
    for level in facts.cache_levels:
        if level.level > 1 and level.type != "Instruction":
            yield from _caches(level, known, set(cores.values()))
    if cpu.clusters and cpu.cores and (cpu.sockets or 1) < cpu.clusters < cpu.cores:
        clusters = _by((one.cpu, one.cluster) for one in logical)
        yield from ((number, Box("cluster", f"cluster {number}", "", cpus)) for number, cpus in clusters)
    for number, cpus in cores.items():
        yield number, Box("core", f"core {number}", _core_detail(facts, cpus), cpus)


def _by(pairs: Iterable[tuple[int, int | None]]) -> list[tuple[int, frozenset[int]]]:
    """Return the index of each group with the CPUs in that group, skipping CPUs without a group."""
    groups = grouped(pairs, lambda pair: pair[1])
    known = sorted((number, own) for number, own in groups.items() if number is not None)
    return [(number, frozenset(cpu for cpu, _ in own)) for number, own in known]


def _caches(level: CacheLevel, known: frozenset[int], cores: set[frozenset[int]]) -> Iterator[tuple[int, Box]]:
    """Yield the caches shared by several cores. Private caches are part of the description of a core."""
    for number, instance in enumerate(level.instances):
        cpus = frozenset(instance) & known
        if cpus and cpus not in cores:
            yield 100 - level.level, Box("cache", f"L{level.level} {number}", _sized(level), cpus)


def _sized(level: CacheLevel) -> str:
    return cache_name(level) + (f" {size_text(level.size_bytes)}" if level.size_bytes else "")


def _models(facts: HostFacts, cpus: frozenset[int]) -> str:
    """Return the core designs of a socket, or the model name if the machine has only one design."""
    if len(facts.cpu.kinds) <= 1:
        return plain(facts.cpu.model or facts.cpu.microarchitecture or "")
    kinds = [kind for kind in facts.cpu.kinds if set(kind.cpus) & cpus]
    return plain(", ".join(kind.microarchitecture or kind.model or "unknown type" for kind in kinds))


def _core_detail(facts: HostFacts, cpus: frozenset[int]) -> str:
    """Describe a core: its design (if the machine has several designs), its private caches (highest level first) and
    its threads."""
    kinds = facts.cpu.kinds if len(facts.cpu.kinds) > 1 else []
    design = [plain(kind.microarchitecture or kind.model or "") for kind in kinds if set(kind.cpus) & cpus]
    own = [
        _sized(level)
        for level in sorted(facts.cache_levels, key=lambda one: (-one.level, one.type))
        if any(
            cpus == frozenset(instance) or (level.level == 1 and cpus & set(instance)) for instance in level.instances
        )
    ]
    threads = [f"{len(cpus)} threads"] if len(cpus) > 1 else []
    return listed(*design, *own, *threads)


def _size(node: NumaNode) -> str:
    behind = (f"behind a memory-side cache of {size_text(cache.size_bytes)}" for cache in node.caches)
    return listed(size(node.memory_bytes) or "size unknown", *behind, by=" ")
