"""The NUMA nodes and CPUs of a host. Node numbers may have gaps, and nodes may have no CPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from asct.sdk.facts import HostFacts, NumaNode

UNBOUND = -1
"""The node number that stands for memory that is not bound to a node."""


class MemoryNode(NamedTuple):
    """A node with its usable CPUs, and whether it has memory. `bind` is the value of a kernel's `--node` option."""

    id: int
    cpus: tuple[int, ...]
    memory: bool
    free_bytes: int | None
    bind: int


def usable_cpus(facts: HostFacts) -> tuple[int, ...]:
    """Return the CPUs that are online and that the account may use, or an empty tuple if unknown."""
    allowed, online = set(facts.cpu.allowed), set(facts.cpu.online)
    return tuple(sorted(allowed & online if allowed and online else allowed or online))


def all_nodes(facts: HostFacts) -> tuple[MemoryNode, ...]:
    """Return all nodes, sorted by number. A host without NUMA nodes has a single node 0, whose memory is not bound."""
    usable = usable_cpus(facts)
    if not facts.nodes:
        return (MemoryNode(0, usable, True, facts.memory.available_bytes, UNBOUND),)
    only = len(facts.nodes) == 1
    return tuple(
        MemoryNode(
            node.id,
            tuple(cpu for cpu in usable if cpu in set(node.cpus)),
            node.memory_bytes is None or node.memory_bytes > 0,
            facts.memory.available_bytes if only else _available(node),
            node.id,
        )
        for node in sorted(facts.nodes, key=lambda node: node.id)
    )


def _available(node: NumaNode) -> int | None:
    return node.free_bytes if node.available_bytes is None else node.available_bytes


def cpu_nodes(facts: HostFacts) -> tuple[MemoryNode, ...]:
    """Return the nodes that have at least one usable CPU, sorted by number."""
    return tuple(node for node in all_nodes(facts) if node.cpus)


def memory_nodes(facts: HostFacts) -> tuple[MemoryNode, ...]:
    """Return the nodes with memory, including those without CPUs (CXL, HBM)."""
    return tuple(node for node in all_nodes(facts) if node.memory)


def node_of_cpu(facts: HostFacts, cpu: int) -> MemoryNode | None:
    """Return the node of a CPU, or None if the CPU is not usable."""
    return next((node for node in all_nodes(facts) if cpu in node.cpus), None)


def measuring_cpu(facts: HostFacts, cpu: int | None = None, memory_node: int | None = None) -> int | None:
    """Return `cpu` if it is set, otherwise the last usable CPU of the memory node or of the first node that has CPUs.

    Returns None if the host's CPUs are unknown.
    """
    if cpu is not None:
        return cpu
    here = cpu_nodes(facts)
    chosen = next((node for node in here if node.id == memory_node), here[0] if here else None)
    return chosen.cpus[-1] if chosen else max(usable_cpus(facts), default=None)
