"""Place the chain and the load, compute how much memory each needs, and build the command line for the `load`
kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from asct.benchmarks.loaded_latency.params import LoadedLatencyParams
from asct.instruments.memory.sizes import aligned, local_nodes, mapping_seconds, memory_size, room
from asct.instruments.memory.topology import UNBOUND, all_nodes, measuring_cpu, node_of_cpu, usable_cpus
from asct.sdk.facts import HostFacts
from asct.sdk.step import options, thousandths
from asct.values.cpulist import format_cpulist

KERNEL: Final = "load"
_LEVEL_S: Final = 0.03
"""Time, in seconds, for each level on an idle host."""
_SEARCH_S: Final = 0.5
"""Time, in seconds, to find the number of NOPs for one target bandwidth."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The CPU that measures latency and the CPUs that generate load, each with its memory node.

    If the latency CPU is None or there are no load CPUs, the `load` kernel chooses them.
    """

    latency_cpu: int | None
    latency_node: int
    load_cpus: tuple[int, ...]
    load_nodes: tuple[int, ...]


def layout(params: LoadedLatencyParams, facts: HostFacts) -> Layout:
    """Return the CPUs and nodes to use. By default, all usable CPUs except the latency CPU generate load, each using
    the memory of its own node. If there is no other CPU, the latency CPU also generates load unless it is in
    `bw_cpu_blocklist`, so that `phase: bandwidth` works on a single CPU.
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
    """Return the working set size of each load thread, in bytes: the size in the settings or, by default, a size that
    exceeds the caches but fits into the free memory of its node."""
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
    """Return the total number of bytes that the chain and all load threads need. Without facts, this is an estimate."""
    if facts is None:
        return chain + (params.load_size or chain)
    where = layout(params, facts)
    return chain + max(1, len(where.load_cpus)) * load_bytes(params, facts, where, chain)


def probe(params: LoadedLatencyParams) -> str:
    """Return what the `load` kernel measures under load, for `--probe`: `chain`, `workload` (a command) or `none`."""
    if params.workload_cmd is not None:
        return "workload"
    return "none" if params.phase == "bandwidth" else "chain"


def arguments(params: LoadedLatencyParams, facts: HostFacts, chain: int) -> tuple[str, ...]:
    """Return the arguments for the `load` kernel, followed by the command line of the workload. `chain` is the size of
    the chain, in bytes."""
    where = layout(params, facts)
    _check_load(params, facts, where)
    one_node = len(set(where.load_nodes)) == 1
    named = {
        "delays": params.injected_nops,  # passed even if empty; otherwise, `load` would use its default list
        "traffic": params.traffic,
        "width": params.width,
        "touch": params.touch,
        "probe": probe(params),
        "size": chain,
        "load-size": load_bytes(params, facts, where, chain),
        "pages": params.pages,
        "level-ms": thousandths(params.duration),
        "seed": params.seed,
        "latency-node": where.latency_node,
        "nodes": where.load_nodes[:1] if one_node else where.load_nodes,
        "targets": [round(target) for target in params.target_bandwidth] or None,
        "latency-cpu": where.latency_cpu,
        "cpus": where.load_cpus or None,
    }
    workload = params.workload()
    return (*options(named), *(("--", *workload) if workload else ()))


def _check_load(params: LoadedLatencyParams, facts: HostFacts, where: Layout) -> None:
    """Raise ValueError if `bw_cpu_blocklist` leaves no CPU to generate load other than the one that measures
    latency."""
    is_shared = where.load_cpus == (where.latency_cpu,) and probe(params) != "none"
    if params.bw_cpu_blocklist and usable_cpus(facts) and (is_shared or not where.load_cpus):
        blocked = format_cpulist(params.bw_cpu_blocklist)
        measures = f"CPU {where.latency_cpu} measures latency, and `bw_cpu_blocklist` excludes CPU {blocked}"
        raise ValueError(f"no CPU remains to generate load: {measures}")


def estimated_seconds(params: LoadedLatencyParams, demanded: int) -> float:
    """Return the total time, in seconds, to map the memory, measure all levels (including idle), and search for the
    target bandwidths."""
    levels = len(params.injected_nops) + len(params.target_bandwidth) + 1
    measuring = levels * min(params.duration, _LEVEL_S) + len(params.target_bandwidth) * _SEARCH_S
    return mapping_seconds(demanded) + measuring
