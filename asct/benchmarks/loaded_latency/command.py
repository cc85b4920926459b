"""Places the chain and the load, computes the memory of each and builds the kernel's command line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from asct.benchmarks.loaded_latency.params import LoadedLatencyParams
from asct.instruments.memory.sizes import aligned, local_nodes, mapping_seconds, memory_size, room
from asct.instruments.memory.topology import UNBOUND, all_nodes, measuring_cpu, node_of_cpu, usable_cpus
from asct.sdk.facts import HostFacts
from asct.values.cpulist import format_cpulist

KERNEL: Final = "load"
_SEARCH_S: Final = 0.5
"""Time to find the number of NOPs of one target bandwidth."""


@dataclass(frozen=True, slots=True)
class Layout:
    """CPUs and nodes: of the one that measures, and of each load thread. None and no CPUs: the kernel chooses."""

    latency_cpu: int | None
    latency_node: int
    load_cpus: tuple[int, ...]
    load_nodes: tuple[int, ...]


def layout(params: LoadedLatencyParams, facts: HostFacts) -> Layout:
    """All usable CPUs except the measuring one generate load, each in the memory of its node, unless settings differ.

    Where none is left the CPU that measures makes the load too, unless it is in bw_cpu_blocklist: that is what phase
    `bandwidth` has to measure on one CPU.
    """
    cpu = measuring_cpu(facts, params.latency_cpu_id, params.memory_node)
    free = tuple(one for one in usable_cpus(facts) if one not in params.bw_cpu_blocklist)
    cpus = params.load_cpus or tuple(one for one in free if one != cpu) or free
    if params.memory_node is not None:
        return Layout(cpu, params.memory_node, cpus, (params.memory_node,) * max(1, len(cpus)))
    here = None if cpu is None else node_of_cpu(facts, cpu)
    node = here.bind if here is not None and here.memory else UNBOUND
    return Layout(cpu, node, cpus, local_nodes(facts, cpus) or (UNBOUND,))


def load_bytes(params: LoadedLatencyParams, facts: HostFacts, where: Layout, chain: int) -> int:
    """Working set of each load thread: as set; otherwise large enough to exceed the caches, or what its node has
    left."""
    if params.load_size is not None:
        return params.load_size
    size = memory_size(facts, where.load_cpus, chain)
    for node in all_nodes(facts):
        threads = where.load_nodes.count(node.bind)
        if threads and node.free_bytes is not None:
            own = chain if node.bind == where.latency_node else 0
            size = min(size, aligned(max(0, room(node, 1) - own) // threads))
    return size


def demanded_bytes(params: LoadedLatencyParams, facts: HostFacts | None, chain: int) -> int:
    """Memory of the chain and of all load threads together; an estimate without facts."""
    if facts is None:
        return chain + (params.load_size or chain)
    where = layout(params, facts)
    return chain + max(1, len(where.load_cpus)) * load_bytes(params, facts, where, chain)


def probe(params: LoadedLatencyParams) -> str:
    """The value of the kernel option --probe."""
    if params.workload_cmd is not None:
        return "workload"
    return "none" if params.phase == "bandwidth" else "chain"


def arguments(params: LoadedLatencyParams, facts: HostFacts, chain: int) -> tuple[str, ...]:
    """The kernel's command line for a chain of `chain` bytes; the words of the workload come last."""
    where = layout(params, facts)
    _check_load(params, facts, where)
    named: dict[str, object] = {
        "delays": _list(params.injected_nops),  # none at all is said as well: the kernel has a list of its own
        "traffic": params.traffic,
        "width": params.width,
        "touch": params.touch,
        "probe": probe(params),
        "size": chain,
        "load-size": load_bytes(params, facts, where, chain),
        "pages": params.pages,
        "level-ms": max(1, round(params.duration * 1e3)),
        "target-interval": max(1, round(params.target_interval * 1000)),
        "seed": params.seed,
        "latency-node": where.latency_node,
        "nodes": _list(_together(where.load_nodes)),
    }
    if params.target_bandwidth:
        named["targets"] = _list(round(target) for target in params.target_bandwidth)
    if where.latency_cpu is not None:
        named["latency-cpu"] = where.latency_cpu
    if where.load_cpus:
        named["cpus"] = _list(where.load_cpus)
    workload = params.workload()
    given = (part for name, value in named.items() for part in (f"--{name}", str(value)))
    return (*given, *(("--", *workload) if workload else ()))


def _check_load(params: LoadedLatencyParams, facts: HostFacts, where: Layout) -> None:
    """Raises ValueError when bw_cpu_blocklist leaves no CPU to make load beside the one that measures."""
    taken = where.load_cpus == (where.latency_cpu,) and probe(params) != "none"
    if params.bw_cpu_blocklist and usable_cpus(facts) and (taken or not where.load_cpus):
        blocked = format_cpulist(params.bw_cpu_blocklist)
        measures = f"CPU {where.latency_cpu} measures, and bw_cpu_blocklist excludes CPU {blocked}"
        raise ValueError(f"no CPU is left to generate load: {measures}")


def estimated_seconds(params: LoadedLatencyParams, demanded: int) -> float:
    """Mapping the memory, the time cap for each level and the idle one, and the search for each target."""
    levels = len(params.injected_nops) + len(params.target_bandwidth) + 1
    return mapping_seconds(demanded) + levels * params.duration + len(params.target_bandwidth) * _SEARCH_S


def _together(nodes: Sequence[int]) -> Sequence[int]:
    """One node for all, where they are the same."""
    return nodes[:1] if len(set(nodes)) == 1 else nodes


def _list(values: Iterable[object]) -> str:
    return ",".join(map(str, values))
