"""Choose the CPUs and memory nodes to measure, build the command lines for the `pingpong` kernel, and estimate their
duration."""

from __future__ import annotations

from typing import Final

from asct.benchmarks.core_to_core_latency.params import CoreToCoreLatencyParams
from asct.instruments.memory.topology import UNBOUND, MemoryNode, all_nodes, cpu_nodes, memory_nodes, usable_cpus
from asct.sdk.facts import HostFacts
from asct.sdk.step import options, thousandths

LISTED_UP_TO: Final = 2000
"""Maximum number of pairs for which the kernel lists batches. For all pairs of 576 CPUs, the lists would take half a
gigabyte."""
_OF_EACH_NODE: Final = 2
_UNKNOWN_CPUS: Final = 4
_START_S: Final = 0.1
_ROUND_S: Final = 0.002
"""Time, in seconds, to wake the threads and to write the samples of a round."""
_SPREAD: Final = 16
"""Size of the memory over which the lines of the chain are spread, as a multiple of the total size of these lines."""
_PLACE_BYTES: Final = 4096
_MOST_MEMORY: Final = 256 << 20


def chosen_cpus(params: CoreToCoreLatencyParams, facts: HostFacts) -> tuple[int, ...]:
    """Return the CPUs in the settings or, if none are set, all usable CPUs or the last two of each node. Return an
    empty sequence if the host's CPUs are unknown."""
    if params.cpus:
        return params.cpus
    if params.all_cpus:
        return usable_cpus(facts)
    return tuple(cpu for node in cpu_nodes(facts) for cpu in node.cpus[-_OF_EACH_NODE:])


def chosen_nodes(params: CoreToCoreLatencyParams, facts: HostFacts) -> tuple[MemoryNode, ...]:
    """Return the nodes whose memory is measured, sorted by number. The `pingpong` kernel rejects a node that the host
    does not have."""
    if params.memory_nodes == "all":
        return memory_nodes(facts)
    if params.memory_nodes == "local":
        cpus = set(chosen_cpus(params, facts))
        local = tuple(node for node in memory_nodes(facts) if cpus & set(node.cpus))
        return local or memory_nodes(facts)[:1]
    known = {node.id: node for node in all_nodes(facts)}
    return tuple(known.get(node, MemoryNode(node, (), True, None, node)) for node in dict.fromkeys(params.memory_nodes))


def step_name(node: MemoryNode) -> str:
    """Return the name of the step that uses the memory of a node."""
    return f"memory{node.id}"


def arguments(params: CoreToCoreLatencyParams, cpus: tuple[int, ...], node: MemoryNode) -> tuple[str, ...]:
    """Return the arguments that make the `pingpong` kernel measure all pairs, using the memory of one node."""
    named = {
        "methods": params.methods,
        "turns": params.turns,
        "batches": params.iterations,
        "addresses": params.addresses,
        "chain-bytes": params.chain_size,
        "parallel": int(params.parallel),
        "check-pairs": params.check_pairs,
        "pages": params.pages,
        "time-cap-ms": thousandths(params.time_cap),
        "seed": params.seed,
        "cpus": cpus or None,
        "list-batches": 0 if len(cpus) * (len(cpus) - 1) // 2 > LISTED_UP_TO else None,
        "node": None if node.bind == UNBOUND else node.bind,
    }
    return options(named)


def rounds(cpus: int, threads_per_core: int, parallel: bool) -> int:
    """Return the number of rounds needed to pair every CPU with every other CPU once. Within a round, no core is part
    of two pairs.

    With the circle method, all pairs of n cores are measured in n - 1 turns (n if n is odd). With t threads per core,
    each turn takes t x t rounds. The rounds for the pairs within a core come first.
    """
    if not parallel:
        return cpus * (cpus - 1) // 2
    threads = max(1, min(threads_per_core, cpus))
    cores = -(-cpus // threads)
    return threads * (threads - 1) // 2 + (cores - 1 + cores % 2 if cores > 1 else 0) * threads**2


def estimated_seconds(params: CoreToCoreLatencyParams, facts: HostFacts | None) -> float:
    """Return an upper bound for the duration, which assumes that every method takes its maximum time for every pair. On
    an idle host, the measurement takes less time."""
    # Only the set of all CPUs is certain to contain every thread of each core.
    threads = (facts.cpu.threads_per_core or 1) if facts and params.all_cpus and not params.cpus else 1
    count = rounds(_cpu_count(params, facts), threads, params.parallel)
    nodes = len(chosen_nodes(params, facts)) if facts else 1
    each = len(params.methods) * params.time_cap + _ROUND_S
    return nodes * (_START_S + (count + min(count, params.check_pairs)) * each)


def memory_bytes(params: CoreToCoreLatencyParams, facts: HostFacts | None) -> int:
    """Return the number of bytes needed for the lines of the pairs (as many pairs as fit into `_MOST_MEMORY`) and for
    the batches of each CPU."""
    cpus = _cpu_count(params, facts)
    slot = _SPREAD * params.chain_size + (1 + params.addresses) * _PLACE_BYTES
    pairs = cpus * (cpus - 1) // 2 + params.check_pairs
    return (
        max(min(pairs * slot, _MOST_MEMORY), cpus // 2 * slot)
        + cpus * params.iterations * len(params.methods) * 32
        + (16 << 20)
    )


def _cpu_count(params: CoreToCoreLatencyParams, facts: HostFacts | None) -> int:
    return (len(chosen_cpus(params, facts)) if facts else len(params.cpus)) or _UNKNOWN_CPUS
