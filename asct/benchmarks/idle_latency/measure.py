"""The pairs of nodes, their command lines, and the measurements from the samples of the kernel chase."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from asct.benchmarks.idle_latency.params import IdleLatencyParams
from asct.instruments.memory.chase import ChaseLatency, chase_latency
from asct.instruments.memory.kernel_flags import NOISE_FLAGS, PAGE_FLAGS, many_dropped, page_flags, settled_flags
from asct.instruments.memory.matrix import left_out, step_name
from asct.instruments.memory.settings import CYCLE_BASE
from asct.instruments.memory.sizes import CACHES, fitted
from asct.instruments.memory.topology import UNBOUND, MemoryNode, all_nodes, cpu_nodes, memory_nodes
from asct.sdk.facts import HostFacts
from asct.sdk.record import Measurement, Scalar
from asct.sdk.samples import KernelRun, number, read_kernel, stats_of
from asct.sdk.step import Output

SMALLEST: Final = 64 << 20
"""An automatic size is reduced to what a node has free, but not below this: a smaller one would not be in memory."""
_SURROUNDINGS: Final = 64 << 20
"""Memory of the kernel and its page tables in addition to the data."""
_MAP_S_PER_GIB: Final = 1.2
"""Mapping memory, and putting in and checking the lines of the chain."""
_START_S: Final = 0.15


@dataclass(frozen=True, slots=True)
class NodePair:
    """A node that runs and a node whose memory it reads."""

    run: MemoryNode
    memory: MemoryNode

    @property
    def name(self) -> str:
        """The name of the step that measures this pair."""
        return step_name(self.run, self.memory)


def pairs(facts: HostFacts) -> Iterator[NodePair]:
    """Every node with a usable CPU with every node that has memory, row by row.

    On a host whose CPUs are unknown the first node runs, on the CPU that the kernel starts on.
    """
    for run in cpu_nodes(facts) or all_nodes(facts)[:1]:
        for memory in memory_nodes(facts):
            yield NodePair(run, memory)


def lowered(memory: MemoryNode, size: int) -> int:
    """`size`, reduced to the free memory of the node; for sizes that are not set."""
    return fitted(size, memory, 1)


def has_room(memory: MemoryNode, size: int) -> bool:
    """Whether a process with a working set of `size` fits; assumed if the free memory is unknown."""
    return memory.free_bytes is None or needed_bytes(size) <= memory.free_bytes


def needed_bytes(size: int) -> int:
    """Memory that one process takes for a working set of `size`."""
    return size + size // 32 + _SURROUNDINGS


def sizes(params: IdleLatencyParams, facts: HostFacts, optimum: int) -> Mapping[NodePair, int]:
    """The working set of each pair that can be measured; `optimum` is the size where none was asked for."""
    if params.data_size is not None:
        return {pair: params.data_size for pair in pairs(facts) if has_room(pair.memory, params.data_size)}
    found = {pair: lowered(pair.memory, optimum) for pair in pairs(facts)}
    return {pair: size for pair, size in found.items() if size >= min(SMALLEST, optimum)}


def arguments(params: IdleLatencyParams, pair: NodePair, size: int) -> tuple[str, ...]:
    """The kernel's command line for one pair: the last CPU of the node that runs."""
    named: dict[str, object] = {
        "sizes": size,
        "pages": params.pages,
        "target-interval": max(1, round(params.target_interval * 1000)),
        "time-cap-ms": max(1, round(params.duration * 1e3)),
        "seed": params.seed,
    }
    if params.stride is not None:
        named["stride"] = params.stride
    if pair.run.cpus:
        named["cpu"] = pair.run.cpus[-1]
    if pair.memory.bind != UNBOUND:
        named["node"] = pair.memory.bind
    return tuple(part for name, value in named.items() for part in (f"--{name}", str(value)))


def estimated_seconds(params: IdleLatencyParams, size: int, count: int) -> float:
    """The estimated duration of `count` pairs, each measured by its own process."""
    return count * (_START_S + params.duration + _MAP_S_PER_GIB * size / 2**30)


FLAGS: Final[dict[str, str]] = {
    **NOISE_FLAGS,
    **PAGE_FLAGS,
    "switched": "more than a quarter of the batches were dropped because the thread was descheduled",
    "small-working-set": "the working set is smaller than twice the last-level cache, so some loads hit the cache",
    "smaller-memory": "the node has less free memory than the working set that latency-sweep suggests; the largest "
    "that fits was used",
}
"""Every flag of a pair, and its meaning."""


@dataclass(frozen=True, slots=True)
class ChaseResult:
    """The result of the kernel for one pair."""

    pair: NodePair
    sample: ChaseLatency
    page_bytes: float
    flags: tuple[str, ...]

    @property
    def at(self) -> dict[str, Scalar]:
        """The coordinates of the result."""
        return {"run_node": self.pair.run.id, "memory_node": self.pair.memory.id}


def measurements(params: IdleLatencyParams, outputs: Sequence[Output], facts: HostFacts) -> list[Measurement]:
    """Latencies and ratios per pair, then clocks and pages, then the skipped pairs.

    Raises ValueError if nothing was measured, or for output that is not of the kernel.
    """
    if not outputs:
        raise ValueError("the kernel chase was not run")
    known = {pair.name: pair for pair in pairs(facts)}
    walked = [_walked(known[output.step.name], read_kernel(output), params) for output in outputs]
    return [
        *(item for one in walked for item in _of_pair(one)),
        *_ratios(walked),
        *_distances(walked, facts),
        *_circumstances(walked, params),
        *_left_out(params, {one.pair.name for one in walked}, facts),
    ]


def _walked(pair: NodePair, run: KernelRun, params: IdleLatencyParams) -> ChaseResult:
    if len(run.samples) != 1:
        raise ValueError(f"the kernel chase measured {len(run.samples)} sizes for {pair.name}, not one")
    sample = chase_latency(run.samples[0])
    caches = number(run.meta, "llc_bytes")
    flags = {
        "switched": many_dropped(sample.latency.n, sample.dropped),
        "small-working-set": sample.size < CACHES * caches,
        "smaller-memory": params.data_size is None and sample.size >= lowered(pair.memory, sample.size + 1),
    }
    mine = tuple(flag for flag, holds in flags.items() if holds)
    found = (*settled_flags(sample.settled, run.end, sample.dropped), *page_flags(run.meta), *mine)
    return ChaseResult(pair, sample, number(run.meta, "page_bytes"), found)


def _of_pair(one: ChaseResult) -> list[Measurement]:
    sample = one.sample
    return [
        Measurement("latency", sample.latency.median, one.at, sample.latency, one.flags),
        Measurement("latency_cycles", sample.cycles.median, one.at, sample.cycles, one.flags),
        Measurement("data_size", float(sample.size), one.at),
    ]


def _ratios(walked: Sequence[ChaseResult]) -> list[Measurement]:
    """To the local memory of the node that runs; a node without memory of its own has nothing to compare with."""
    local = {one.pair.run.id: one for one in walked if one.pair.run.id == one.pair.memory.id}
    found = []
    for one in walked:
        own = local.get(one.pair.run.id)
        if own is not None:
            flags = tuple(dict.fromkeys((*one.flags, *own.flags)))
            found.append(
                Measurement("ratio", one.sample.latency.median / own.sample.latency.median, one.at, None, flags)
            )
    return found


def _distances(walked: Sequence[ChaseResult], facts: HostFacts) -> list[Measurement]:
    table = _distance_table(facts)
    return [
        Measurement("distance", float(table[node]), one.at)
        for one in walked
        if (node := (one.pair.run.id, one.pair.memory.id)) in table
    ]


def _distance_table(facts: HostFacts) -> Mapping[tuple[int, int], int]:
    """By numbers of nodes. The system lists a distance for each online node, in their order, whatever their numbers."""
    ids = sorted(node.id for node in facts.nodes)
    return {
        (node.id, other): distance
        for node in facts.nodes
        if len(node.distances) == len(ids)
        for other, distance in zip(ids, node.distances, strict=True)
    }


def _circumstances(walked: Sequence[ChaseResult], params: IdleLatencyParams) -> list[Measurement]:
    clock = stats_of([one.sample.clock_hz for one in walked], independent=False)
    return [
        Measurement("core_clock", clock.median, stats=clock, flags=(CYCLE_BASE,) if params.cycle_base else ()),
        *(Measurement("page_size", one.page_bytes, one.at) for one in walked),
    ]


def _left_out(params: IdleLatencyParams, measured: set[str], facts: HostFacts) -> list[Measurement]:
    size = SMALLEST if params.data_size is None else params.data_size
    return [left_out(pair.run, pair.memory, needed_bytes(size)) for pair in pairs(facts) if pair.name not in measured]
