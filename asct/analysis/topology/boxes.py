"""A machine as nested boxes: sockets, NUMA nodes, caches, clusters and cores, with their drives, network interfaces,
GPUs and other PCI devices.

Each box is inside the smallest one that contains all of its CPUs. The groups of CPUs that the Linux kernel reports do
not always form a tree (a node may span parts of two sockets). If a group overlaps another one, it is listed instead of
being drawn. PCI devices are inside the bridges that they share.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from asct.analysis.grid import plain, size_text
from asct.analysis.machine.hardware import cache_name, node_cpus
from asct.analysis.machine.rows import decimal_size, listed, pcie_link, size
from asct.sdk.facts import BlockDevice, CacheLevel, HostFacts, Interface, NumaNode, PciDevice
from asct.values.grouping import grouped
from asct.values.text import counted

Kind = Literal[
    "machine", "socket", "node", "die", "cache", "cluster", "core", "bridge", "controller", "drive", "interface", "gpu"
]
_RANK: Final[dict[Kind, int]] = {"machine": 0, "socket": 1, "node": 2, "die": 3, "cache": 4, "cluster": 5, "core": 6}
"""If two boxes contain the same CPUs, the one with the lower rank is the outer one."""
_GPUS: Final = ("03", "0b40", "12")
"""The first digits of the PCI class codes for GPUs and accelerators."""
_VIRTUAL: Final = frozenset({"loopback", "veth", "tun", "bridge", "bond", "vlan"})
_DOMAIN: Final = "0000:"


@dataclass(slots=True)
class Box:
    """A part of the machine, and the parts inside it.

    `title` contains the number of the part (`socket 0`), and `detail` the properties that similar parts share (`L2 1M,
    2 threads`).
    """

    kind: Kind
    title: str
    detail: str = ""
    cpus: frozenset[int] = frozenset()
    parts: list[Box] = field(default_factory=list)

    @property
    def shape(self) -> tuple[object, ...]:
        """A key that is equal for boxes that differ only in their numbers."""
        return self.kind, self.detail, len(self.cpus), tuple(part.shape for part in self.parts)


_Placed = tuple[tuple[str, ...], Box]
"""The bridges above a device, from its root bus downward, followed by the device itself."""


def each(part: Box) -> Iterator[Box]:
    """Yield a part and all parts inside it."""
    yield part
    for inner in part.parts:
        yield from each(inner)


def machine(facts: HostFacts) -> tuple[Box, list[tuple[str, str]]]:
    """Return the machine as a box and, for each group that overlaps a box, the titles of the group and the box.

    If no CPUs are known, the machine is an empty box.
    """
    cpus = frozenset([cpu.cpu for cpu in facts.cpu.logical] or facts.cpu.online)
    whole = Box("machine", plain(facts.system.hostname or facts.host), _machine_detail(facts), cpus)
    across: list[tuple[str, str]] = []
    places: dict[int | None, Box] = {node.id: whole for node in facts.nodes}
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
    for place, part in _devices(facts):
        places.get(place, whole).parts.append(part)
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


def _devices(facts: HostFacts) -> Iterator[tuple[int | None, Box]]:
    """Yield the devices, each with the node to which it is attached, if known: first PCI devices, ordered by root bus,
    and then the others.

    Virtual functions are not listed; each physical function states only their number.
    """
    known = {one.address for one in facts.pci}
    drives = [one for one in facts.block_devices if one.kind == "disk"]
    interfaces = [one for one in facts.network.interfaces if one.kind not in _VIRTUAL]
    virtual = Counter(one.physical for one in facts.pci if one.physical in known)
    drawn = [one for one in facts.pci if one.physical not in known]
    for node, functions in grouped(drawn, lambda one: one.node).items():
        placed = [
            ((f"PCI bus {_short(one.root or '')}", *(f"PCI bridge {_short(name)}" for name in one.bridges)), box)
            for one in functions
            if (box := _function(one, drives, interfaces, virtual[one.address])) is not None
        ]
        yield from ((node, box) for box in _nested(placed))
    for drive in drives:
        if drive.pci_address not in known:
            yield drive.node, _drive(drive)
    for one in interfaces:
        if (one.driver or one.pci_address) and one.pci_address not in known:
            yield one.node, _interface(one)


def _nested(placed: Sequence[_Placed]) -> Iterator[Box]:
    """Yield the devices, placing those that share a bridge in a box for that bridge."""
    for name, inside in grouped(placed, lambda item: item[0][:1]).items():
        if not name:
            yield from (box for _, box in inside)
            continue
        parts = list(_nested([(path[1:], box) for path, box in inside]))
        yield parts[0] if len(parts) == 1 else Box("bridge", plain(name[0]), parts=parts)


def _function(
    one: PciDevice, drives: Iterable[BlockDevice], interfaces: Iterable[Interface], virtual: int
) -> Box | None:
    """Return a PCI function with its drives and interfaces and the number of its virtual functions. If it has only one
    drive or interface, the box of that drive or interface describes both."""
    own = [_drive(drive) for drive in drives if drive.pci_address == one.address]
    own += [_interface(interface) for interface in interfaces if interface.pci_address == one.address]
    more = counted(virtual, "virtual function") if virtual else ""
    slot = listed(pcie_link(one), f"{one.kind} {_short(one.address)}", more)
    if len(own) == 1:
        return Box(own[0].kind, own[0].title, listed(own[0].detail, plain(slot)))
    if own:
        return Box(
            "controller",
            plain(f"{one.kind} {_short(one.address)}"),
            plain(listed(one.driver, pcie_link(one), more)),
            parts=own,
        )
    gpu = one.class_code.startswith(_GPUS)
    title = ", ".join(one.names) or f"{'GPU' if gpu else one.kind} {_short(one.address)}"
    detail = listed(one.driver, slot if one.names else listed(pcie_link(one), one.kind if gpu else "", more))
    return Box("gpu" if gpu else "controller", plain(title), plain(detail))


def _short(address: str) -> str:
    return address.removeprefix(_DOMAIN)


def _drive(one: BlockDevice) -> Box:
    return Box("drive", plain(one.name), plain(listed(one.model or one.transport, decimal_size(one.size_bytes))))


def _interface(one: Interface) -> Box:
    speed = f"{one.speed / 1e9:g} Gbit/s" if one.speed else ""
    return Box("interface", plain(one.name), plain(listed(one.driver, speed, one.state)))
