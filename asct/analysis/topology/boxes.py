"""A machine as nested boxes: sockets, NUMA nodes, caches, clusters, cores, and their drives and interfaces.

Each box is inside the smallest one that contains all of its CPUs. The kernel's groups do not always form such a tree (a
node may span parts of two sockets); a group that overlaps another one is not drawn but listed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, Literal

from asct.analysis.grid import plain, size_text
from asct.analysis.machine.rows import decimal_size
from asct.sdk.facts import BlockDevice, CacheLevel, HostFacts, Interface, NumaNode
from asct.values.quantity import format_quantity

Kind = Literal["machine", "socket", "node", "die", "cache", "cluster", "core", "drive", "interface"]
_RANK: Final[dict[Kind, int]] = {"machine": 0, "socket": 1, "node": 2, "die": 3, "cache": 4, "cluster": 5, "core": 6}
"""Of two boxes with the same CPUs the one of lower rank is outside."""
_VIRTUAL: Final = frozenset({"loopback", "veth", "tun", "bridge", "bond", "vlan"})


@dataclass(frozen=True, slots=True)
class Box:
    """A box: `title` counts it (`socket 0`), `detail` gives the features of its design (`L2 1M, 2 threads`)."""

    kind: Kind
    title: str
    detail: str = ""
    cpus: tuple[int, ...] = ()
    parts: tuple[Box, ...] = ()

    @property
    def shape(self) -> tuple[object, ...]:
        """The same for boxes that differ in their numbers only."""
        return self.kind, self.detail, len(self.cpus), tuple(part.shape for part in self.parts)


@dataclass(slots=True)
class _BoxGroup:
    kind: Kind
    title: str
    detail: str
    cpus: frozenset[int]
    order: int = 0
    inner: list[_BoxGroup] = field(default_factory=list)
    beside: list[Box] = field(default_factory=list)

    def part(self) -> Box:
        inner = sorted(self.inner, key=lambda group: min(group.cpus))
        return Box(
            self.kind, self.title, self.detail, tuple(sorted(self.cpus)),
            (*(group.part() for group in inner), *self.beside),
        )  # fmt: skip


def machine(facts: HostFacts) -> tuple[Box, list[str]]:
    """The whole machine, and the groups that overlap others. Without CPUs it is one empty box."""
    known = [cpu.cpu for cpu in facts.cpu.logical] or facts.cpu.online
    whole = _BoxGroup("machine", plain(facts.system.hostname or facts.host), _machine_detail(facts), frozenset(known))
    across: list[str] = []
    places = {node.id: whole for node in facts.nodes}
    for group in sorted(_groups(facts, whole.cpus), key=lambda one: (-len(one.cpus), _RANK[one.kind], one.order)):
        outside = _smallest(whole, group, across)
        if outside is not None:
            outside.inner.append(group)
            if group.kind == "node":
                places[group.order] = group
    for node in facts.nodes:
        if not set(node.cpus) & whole.cpus:
            place = _BoxGroup("node", f"NUMA node {node.id}", f"{_size(node)}, no CPUs", frozenset())
            whole.beside.append(place.part())
    for number, part in _devices(facts):
        places.get(-1 if number is None else number, whole).beside.append(part)
    return whole.part(), across


def _smallest(outside: _BoxGroup, group: _BoxGroup, across: list[str]) -> _BoxGroup | None:
    """The innermost box that has all CPUs of the group; None (and noted) when it overlaps one there."""
    for one in outside.inner:
        if group.cpus <= one.cpus:
            return _smallest(one, group, across)
        if group.cpus & one.cpus:
            across.append(f"{group.title} overlaps {one.title}")
            return None
    return outside


def _machine_detail(facts: HostFacts) -> str:
    cpu, memory = facts.cpu, facts.memory
    items = [
        _counted(cpu.sockets, "socket"),
        _counted(cpu.cores, "core"),
        _counted(cpu.cpus, "CPU"),
        "" if memory.total_bytes is None else format_quantity(memory.total_bytes, "B"),
    ]
    return ", ".join(item for item in items if item)


def _counted(number: int | None, noun: str) -> str:
    return "" if not number else f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _groups(facts: HostFacts, known: frozenset[int]) -> Iterator[_BoxGroup]:
    """All groups of CPUs to draw: dies only where a socket has several, clusters only where they differ from sockets
    and cores."""
    cpu, logical = facts.cpu, facts.cpu.logical
    for number, cpus in _by((one.cpu, one.socket) for one in logical):
        yield _BoxGroup("socket", f"socket {number}", _models(facts, cpus), cpus, number)
    if cpu.dies and cpu.sockets and cpu.dies > cpu.sockets:
        yield from (_BoxGroup("die", f"die {n}", "", cpus, n) for n, cpus in _by((one.cpu, one.die) for one in logical))
    for node in facts.nodes:
        if cpus := frozenset(node.cpus) & known:
            yield _BoxGroup("node", f"NUMA node {node.id}", _size(node), cpus, node.id)
    cores = dict(_by((one.cpu, one.core) for one in logical))
    for level in facts.cache_levels:
        if level.level > 1 and level.type != "Instruction":
            yield from _caches(level, known, set(cores.values()))
    if cpu.clusters and cpu.cores and (cpu.sockets or 1) < cpu.clusters < cpu.cores:
        clusters = _by((one.cpu, one.cluster) for one in logical)
        yield from (_BoxGroup("cluster", f"cluster {number}", "", cpus, number) for number, cpus in clusters)
    for number, cpus in cores.items():
        yield _BoxGroup("core", f"core {number}", _core_detail(facts, cpus), cpus, number)


def _by(pairs: Iterable[tuple[int, int | None]]) -> list[tuple[int, frozenset[int]]]:
    """CPUs by the number of their group, without those that have none."""
    found: dict[int, set[int]] = defaultdict(set)
    for cpu, number in pairs:
        if number is not None:
            found[number].add(cpu)
    return [(number, frozenset(found[number])) for number in sorted(found)]


def _caches(level: CacheLevel, known: frozenset[int], cores: set[frozenset[int]]) -> Iterator[_BoxGroup]:
    """Caches shared by several cores; a core's private caches are drawn inside it."""
    for number, instance in enumerate(level.instances):
        cpus = frozenset(instance) & known
        if cpus and cpus not in cores:
            yield _BoxGroup("cache", f"L{level.level} {number}", _cache_name(level), cpus, 100 - level.level)


def _cache_name(level: CacheLevel) -> str:
    letter = {"Data": "d", "Instruction": "i", "Unified": ""}[level.type]
    return f"L{level.level}{letter}" + (f" {size_text(level.size_bytes)}" if level.size_bytes else "")


def _models(facts: HostFacts, cpus: frozenset[int]) -> str:
    """The designs of the cores of a socket; of a machine with one design the name that it is sold by."""
    if len(facts.cpu.kinds) <= 1:
        return plain(facts.cpu.model or facts.cpu.microarchitecture or "")
    kinds = [kind for kind in facts.cpu.kinds if set(kind.cpus) & cpus]
    return plain(", ".join(kind.microarchitecture or kind.model or "unknown type" for kind in kinds))


def _core_detail(facts: HostFacts, cpus: frozenset[int]) -> str:
    """Its design where there are several, its own caches from the outermost to the innermost, its threads."""
    kinds = facts.cpu.kinds if len(facts.cpu.kinds) > 1 else []
    design = [plain(kind.microarchitecture or kind.model or "") for kind in kinds if set(kind.cpus) & cpus]
    own = [
        _cache_name(level)
        for level in sorted(facts.cache_levels, key=lambda one: (-one.level, one.type))
        if any(
            cpus == frozenset(instance) or (level.level == 1 and cpus & set(instance)) for instance in level.instances
        )
    ]
    threads = [f"{len(cpus)} threads"] if len(cpus) > 1 else []
    return ", ".join(item for item in (*design, *own, *threads) if item)


def _size(node: NumaNode) -> str:
    return "size unknown" if node.memory_bytes is None else format_quantity(node.memory_bytes, "B")


def _devices(facts: HostFacts) -> Iterator[tuple[int | None, Box]]:
    """Drives and interfaces of hardware, with the node that they hang at."""
    for drive in facts.block_devices:
        if drive.kind == "disk":
            yield drive.node, Box("drive", plain(drive.name), _drive_detail(drive))
    for interface in facts.network.interfaces:
        if interface.kind not in _VIRTUAL and (interface.driver or interface.pci_address):
            yield interface.node, Box("interface", plain(interface.name), _interface_detail(interface))


def _drive_detail(drive: BlockDevice) -> str:
    return plain(", ".join(item for item in (drive.model or drive.transport, decimal_size(drive.size_bytes)) if item))


def _interface_detail(interface: Interface) -> str:
    speed = "" if not interface.speed else f"{interface.speed / 1e9:g} Gbit/s"
    return plain(", ".join(item for item in (interface.driver or "", speed, interface.state or "") if item))
