"""Memory, its modules, nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from asct.analysis.grid import size_text
from asct.analysis.machine.rows import MachineSection, Row, counted, cpus, listed, section, size, yes
from asct.sdk.facts import HostFacts, HugePages, Memory, MemoryModule, NumaNode
from asct.values.quantity import format_quantity


def sections(facts: HostFacts) -> Iterator[MachineSection]:
    """Memory and NUMA."""
    yield section("Memory", _memory(facts.memory), _modules(facts.memory))
    yield section("NUMA", _nodes(facts), _node_details(facts))


def _memory(memory: Memory) -> Iterator[Row]:
    available = f"{size(memory.available_bytes)} available" if memory.available_bytes is not None else ""
    yield "Memory", listed(size(memory.total_bytes), available)
    yield "Memory limit", f"{size(memory.limit_bytes)} (control group)" if memory.limit_bytes is not None else ""
    yield "Installed", _installed(memory)
    peak = memory.theoretical_bandwidth
    yield "Peak bandwidth", "" if peak is None else f"{format_quantity(peak, 'B/s')} theoretical"
    yield "Error correction", memory.ecc or ""
    yield "Page size", size(memory.page_bytes)
    yield "Huge pages", _pools(memory.huge_pages)
    yield "Transparent huge pages", listed(memory.thp, f"defrag {memory.thp_defrag}" if memory.thp_defrag else "")
    yield "NUMA balancing", yes(memory.numa_balancing, "on", "off")
    yield "Zone reclaim", "" if memory.zone_reclaim is None else str(memory.zone_reclaim)
    yield "Swap", _swap(memory)


def _pools(pools: list[HugePages]) -> str:
    return "; ".join(f"{pool.free} of {pool.total} x {size_text(pool.page_bytes)} free" for pool in pools)


def _swap(memory: Memory) -> str:
    if not memory.swap_total_bytes:
        return "none" if memory.swap_total_bytes == 0 else ""
    free = f"{size(memory.swap_free_bytes)} free" if memory.swap_free_bytes is not None else ""
    eager = f"swappiness {memory.swappiness}" if memory.swappiness is not None else ""
    return listed(size(memory.swap_total_bytes), free, eager)


def _kind(module: MemoryModule) -> str:
    rate = f"{module.rate / 1e6:.0f} MT/s" if module.rate else ""
    return listed(size(module.size_bytes), module.type, rate, by=" ")


def _installed(memory: Memory) -> str:
    """`8 x 32 GiB DDR4 3200 MT/s in 16 slots, 8 channels`."""
    kinds = Counter(_kind(module) for module in memory.modules if module.size_bytes != 0)
    modules = listed(*(f"{count} x {kind or 'unknown type'}" for kind, count in kinds.items()))
    slots = f"in {counted(len(memory.modules), 'slot')}" if memory.modules else ""
    channels = counted(memory.channels, "channel")
    return listed(listed(modules or ("nothing" if memory.modules else ""), slots, by=" "), channels)


def _modules(memory: Memory) -> Iterator[Row]:
    for module in memory.modules:
        if module.size_bytes == 0:
            yield module.slot, listed("empty", module.bank)
            continue
        rated = f"rated {module.rated / 1e6:.0f} MT/s" if module.rated and module.rated != module.rate else ""
        bits = f"{module.data_bits} of {module.total_bits} bits" if module.data_bits and module.total_bits else ""
        maker = listed(module.manufacturer, module.part_number, by=" ")
        ranks = counted(module.ranks, "rank")
        yield module.slot, listed(_kind(module), rated, module.form_factor, bits, ranks, maker, module.bank)


def _nodes(facts: HostFacts) -> Iterator[Row]:
    if facts.nodes:
        sizes = ", ".join(f"{node.id}: {size(node.memory_bytes) or 'size unknown'}" for node in facts.nodes)
        yield "NUMA nodes", f"{len(facts.nodes)} ({sizes})"


def _node_details(facts: HostFacts) -> Iterator[Row]:
    for node in facts.nodes:
        members = f"CPUs {cpus(node.cpus)}" if node.cpus else "no CPUs"
        free = f"{size(node.free_bytes)} free" if node.free_bytes is not None else ""
        yield (
            f"Node {node.id}",
            listed(members, size(node.memory_bytes), free, _pools(node.huge_pages), _firmware(node)),
        )
    if len(facts.nodes) > 1:
        for node in facts.nodes:
            yield f"Distances of {node.id}", " ".join(map(str, node.distances))


def _firmware(node: NumaNode) -> str:
    said = node.firmware
    if said is None:
        return ""
    reads = format_quantity(said.read_bandwidth, "B/s") if said.read_bandwidth is not None else ""
    latency = format_quantity(said.read_latency, "s") if said.read_latency is not None else ""
    told = listed(reads, latency)
    return f"firmware reports {told}" if told else ""
