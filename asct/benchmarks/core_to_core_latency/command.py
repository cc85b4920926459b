"""Chooses the CPUs and memory nodes to measure, builds the command lines of the kernel and estimates their duration."""

from __future__ import annotations

from typing import Final

from asct.benchmarks.core_to_core_latency.params import CoreToCoreLatencyParams
from asct.instruments.memory.topology import UNBOUND, MemoryNode, all_nodes, cpu_nodes, memory_nodes, usable_cpus
from asct.sdk.facts import HostFacts

LISTED_UP_TO: Final = 2000
"""Pairs up to which single batches are kept: of all pairs of 576 CPUs they would be half a gigabyte."""
_OF_EACH_NODE: Final = 2
_UNKNOWN_CPUS: Final = 4
_START_S: Final = 0.1
_ROUND_S: Final = 0.002
"""Waking threads and writing the samples of a round."""
_SPREAD: Final = 16
"""Distance between the lines of the chain."""
_PLACE_BYTES: Final = 4096
_MOST_MEMORY: Final = 256 << 20


def chosen_cpus(params: CoreToCoreLatencyParams, facts: HostFacts) -> tuple[int, ...]:
    """The CPUs asked for, all usable ones, or the last two of each node; empty when the host's CPUs are unknown."""
    if params.cpus:
        return params.cpus
    if params.all_cpus:
        return usable_cpus(facts)
    return tuple(cpu for node in cpu_nodes(facts) for cpu in node.cpus[-_OF_EACH_NODE:])


def chosen_nodes(params: CoreToCoreLatencyParams, facts: HostFacts) -> tuple[MemoryNode, ...]:
    """The nodes whose memory is used, by number. One that the host does not have is left for the kernel to refuse."""
    if params.memory_nodes == "all":
        return memory_nodes(facts)
    if params.memory_nodes == "local":
        cpus = set(chosen_cpus(params, facts))
        local = tuple(node for node in memory_nodes(facts) if cpus & set(node.cpus))
        return local or memory_nodes(facts)[:1]
    known = {node.id: node for node in all_nodes(facts)}
    return tuple(known.get(node, MemoryNode(node, (), True, None, node)) for node in dict.fromkeys(params.memory_nodes))


def step_name(node: MemoryNode) -> str:
    """The name of the step with the memory of a node; `node_of_step` reads it."""
    return f"memory{node.id}"


def node_of_step(name: str) -> int:
    """The node whose memory a step used."""
    return int(name.removeprefix("memory"))


def arguments(params: CoreToCoreLatencyParams, cpus: tuple[int, ...], node: MemoryNode) -> tuple[str, ...]:
    """The kernel's command line for all pairs with the memory of one node."""
    named: dict[str, object] = {
        "methods": ",".join(params.methods),
        "turns": params.turns,
        "batches": params.iterations,
        "addresses": params.addresses,
        "chain-bytes": params.chain_size,
        "parallel": int(params.parallel),
        "check-pairs": params.check_pairs,
        "pages": params.pages,
        "target-interval": max(1, round(params.target_interval * 1000)),
        "time-cap-ms": max(1, round(params.time_cap * 1e3)),
        "seed": params.seed,
    }
    if cpus:
        named["cpus"] = ",".join(map(str, cpus))
    if len(cpus) * (len(cpus) - 1) // 2 > LISTED_UP_TO:
        named["list-batches"] = 0
    if node.bind != UNBOUND:
        named["node"] = node.bind
    return tuple(part for name, value in named.items() for part in (f"--{name}", str(value)))


def rounds(cpus: int, threads_per_core: int, parallel: bool) -> int:
    """Rounds in which every CPU meets every other once, no core being in two pairs of a round.

    By the circle method a number of cores meets in one round less (as many, when odd); two cores of t threads take
    t x t of them, and the pairs within cores come before.
    """
    if not parallel:
        return cpus * (cpus - 1) // 2
    threads = max(1, min(threads_per_core, cpus))
    cores = -(-cpus // threads)
    return threads * (threads - 1) // 2 + (cores - 1 + cores % 2 if cores > 1 else 0) * threads**2


def estimated_seconds(params: CoreToCoreLatencyParams, facts: HostFacts | None) -> float:
    """An upper estimate: every method of every pair takes its maximum time. An idle host needs less."""
    cpus = len(chosen_cpus(params, facts)) if facts else len(params.cpus)
    threads = _threads_per_core(params, facts)
    count = rounds(cpus or _UNKNOWN_CPUS, threads, params.parallel)
    nodes = len(chosen_nodes(params, facts)) if facts else 1
    each = len(params.methods) * params.time_cap + _ROUND_S
    return nodes * (_START_S + (count + min(count, params.check_pairs)) * each)


def memory_bytes(params: CoreToCoreLatencyParams, facts: HostFacts | None) -> int:
    """Lines for as many pairs as there is room for, and the batches of each CPU."""
    cpus = (len(chosen_cpus(params, facts)) if facts else len(params.cpus)) or _UNKNOWN_CPUS
    slot = _SPREAD * params.chain_size + (1 + params.addresses) * _PLACE_BYTES
    pairs = cpus * (cpus - 1) // 2 + params.check_pairs
    return max(min(pairs * slot, _MOST_MEMORY), cpus // 2 * slot) + cpus * params.iterations * 24 + (16 << 20)


def _threads_per_core(params: CoreToCoreLatencyParams, facts: HostFacts | None) -> int:
    """Only among all CPUs of a host are there surely whole cores."""
    if facts is None or params.cpus or not params.all_cpus:
        return 1
    return facts.cpu.threads_per_core or 1
