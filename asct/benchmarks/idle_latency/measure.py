"""Settings for idle-latency, the command line for a pair of nodes, and the measurements from the `chase` kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final

from annotated_types import MultipleOf

from asct.instruments.memory.chase import ChaseLatency, chase_flags, chase_latency
from asct.instruments.memory.kernel_flags import NOISE_FLAGS, PAGE_FLAGS, many_dropped, page_flags
from asct.instruments.memory.matrix import NodePair, node_pairs
from asct.instruments.memory.settings import (
    AutoSize,
    PageKind,
    cycle_base_setting,
    duration_setting,
    pages_setting,
    stride_setting,
)
from asct.instruments.memory.sizes import CACHES, fitted
from asct.instruments.memory.topology import UNBOUND
from asct.instruments.memory.visits import VISIT_FLAGS, VisitedParams
from asct.sdk.facts import HostFacts
from asct.sdk.params import Duration, Size, setting
from asct.sdk.record import Measurement
from asct.sdk.samples import KernelRun, number, stats_of
from asct.sdk.step import options, thousandths

SMALLEST: Final = 64 << 20
"""Smallest size, in bytes, to which an automatic size is reduced if a node has too little free memory. Smaller working
sets would fit into caches."""
_SURROUNDINGS: Final = 64 << 20
"""Bytes that the `chase` kernel and its page tables need in addition to the data."""
_MAP_S_PER_GIB: Final = 0.4
_START_S: Final = 0.15
"""Time, in seconds, to start a process and to write and check the lines of the chain."""
_MEASURE_S: Final = 0.04
"""Time, in seconds, that the batches take on an idle host."""


class IdleLatencyParams(VisitedParams):
    """Settings for the working set, the page size and the accuracy."""

    data_size: AutoSize = setting(
        None,
        "Working set for each pair of nodes; `auto` means the optimum DRAM size that latency-sweep finds",
        pitfalls="Below twice the size of the last-level cache, some loads hit the cache, and the value is flagged.",
    )
    duration: Duration = duration_setting(0.5, "pair of nodes", max_s=60)
    stride: Annotated[Size, MultipleOf(16)] | None = stride_setting(
        "At a stride of 128 bytes, adjacent-line prefetching has no effect."
    )
    pages: PageKind = pages_setting("With 4K pages, page walks are part of the latency.")
    cycle_base: bool = cycle_base_setting()


def needed_bytes(size: int) -> int:
    """Return the number of bytes that one process needs for a working set of `size` bytes."""
    return size + size // 32 + _SURROUNDINGS


def sizes(params: IdleLatencyParams, facts: HostFacts, optimum: int) -> Mapping[NodePair, int]:
    """Return the working set size of each pair that can be measured. The default size is `optimum`.

    If the free memory of a node is unknown, it is assumed to be sufficient.
    """
    pairs = node_pairs(facts)
    if params.data_size is not None:
        needed = needed_bytes(params.data_size)
        return {
            pair: params.data_size
            for pair in pairs
            if pair.memory.free_bytes is None or needed <= pair.memory.free_bytes
        }
    found = {pair: fitted(optimum, pair.memory, 1) for pair in pairs}
    return {pair: size for pair, size in found.items() if size >= min(SMALLEST, optimum)}


def arguments(params: IdleLatencyParams, pair: NodePair, size: int) -> tuple[str, ...]:
    """Return the arguments for the `chase` kernel to measure one pair. The last CPU of the CPU node performs the
    loads."""
    return options(
        {
            "sizes": size,
            "pages": params.pages,
            "time-cap-ms": thousandths(params.duration),
            "seed": params.seed,
            "stride": params.stride,
            "cpu": pair.run.cpus[-1] if pair.run.cpus else None,
            "node": None if pair.memory.bind == UNBOUND else pair.memory.bind,
        }
    )


def estimated_seconds(params: IdleLatencyParams, size: int, count: int) -> float:
    """Return the estimated duration of `count` pairs, each of which is measured by a separate process."""
    return count * (_START_S + min(params.duration, _MEASURE_S) + _MAP_S_PER_GIB * size / 2**30)


FLAGS: Final[dict[str, str]] = {
    **NOISE_FLAGS,
    **VISIT_FLAGS,
    **PAGE_FLAGS,
    "switched": "more than a quarter of the batches were dropped because the thread was descheduled",
    "small-working-set": "the working set is smaller than twice the size of the last-level cache, so some loads "
    "hit the cache",
    "smaller-memory": "the node has less free memory than the working set that latency-sweep suggests, so asct used "
    "the largest one that fits",
}
"""All flags that a pair can have, with their meanings."""


@dataclass(frozen=True, slots=True)
class ChaseResult:
    """The result of the `chase` kernel for one pair."""

    pair: NodePair
    sample: ChaseLatency
    page_bytes: float
    flags: tuple[str, ...]


def measurements(params: IdleLatencyParams, runs: Mapping[str, KernelRun], facts: HostFacts) -> list[Measurement]:
    """Return the latencies and ratios of each pair, the core clock, the page sizes, and the skipped pairs.

    Raises ValueError if the output does not have the format of the `chase` kernel.
    """
    pairs = node_pairs(facts)
    known = {pair.name: pair for pair in pairs}
    walked = [_walked(known[name], run, params) for name, run in runs.items()]
    clock = stats_of([one.sample.clock_hz for one in walked], independent=False)
    missing = needed_bytes(SMALLEST if params.data_size is None else params.data_size)
    return [
        *(item for one in walked for item in _of_pair(one)),
        *_ratios(walked),
        *_distances(walked, facts),
        Measurement("core_clock", clock.median, stats=clock),
        *(Measurement("page_size", one.page_bytes, one.pair.at) for one in walked),
        *(pair.left_out(missing) for pair in pairs if all(one.pair != pair for one in walked)),
    ]


def _walked(pair: NodePair, run: KernelRun, params: IdleLatencyParams) -> ChaseResult:
    if len(run.samples) != 1:
        raise ValueError(f"the `chase` kernel measured {len(run.samples)} sizes for {pair.name} instead of one")
    sample = chase_latency(run.samples[0])
    caches = number(run.meta, "llc_bytes")
    flags = {
        "switched": many_dropped(sample.latency.n, sample.latency.dropped or 0),
        "small-working-set": sample.size < CACHES * caches,
        "smaller-memory": params.data_size is None and sample.size >= fitted(sample.size + 1, pair.memory, 1),
    }
    mine = tuple(flag for flag, holds in flags.items() if holds)
    found = (*chase_flags(sample, run.end), *page_flags(run.meta), *mine)
    return ChaseResult(pair, sample, number(run.meta, "page_bytes"), found)


def _of_pair(one: ChaseResult) -> list[Measurement]:
    size = Measurement("data_size", float(one.sample.size), one.pair.at)
    return [*one.sample.values(one.pair.at, one.flags), size]


def _ratios(walked: Sequence[ChaseResult]) -> list[Measurement]:
    """Return the ratio of each latency to the latency of the CPU node's local memory, omitting nodes without local
    memory."""
    local = {one.pair.run.id: one for one in walked if one.pair.run.id == one.pair.memory.id}
    found = []
    for one in walked:
        own = local.get(one.pair.run.id)
        if own is not None:
            flags = tuple(dict.fromkeys((*one.flags, *own.flags)))
            ratio = one.sample.latency.median / own.sample.latency.median
            found.append(Measurement("ratio", ratio, one.pair.at, None, flags))
    return found


def _distances(walked: Sequence[ChaseResult], facts: HostFacts) -> list[Measurement]:
    """Return the distance between the nodes of each pair. For each node, the system lists the distances to all online
    nodes, in ascending order of node number."""
    ids = sorted(node.id for node in facts.nodes)
    table = {
        (node.id, other): distance
        for node in facts.nodes
        if len(node.distances) == len(ids)
        for other, distance in zip(ids, node.distances, strict=True)
    }
    return [
        Measurement("distance", float(table[node]), one.pair.at)
        for one in walked
        if (node := (one.pair.run.id, one.pair.memory.id)) in table
    ]
