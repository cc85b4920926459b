"""idle-latency: the load-to-use latency from the CPUs of each node to the memory of each node, on an idle system."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Final

from annotated_types import MultipleOf

from asct.instruments.memory.chase import ChaseLatency, chase_flags, chase_latency
from asct.instruments.memory.kernel_flags import NOISE_FLAGS, PAGE_FLAGS, many_dropped, page_flags
from asct.instruments.memory.matrix import (
    LEFT_OUT,
    LEFT_OUT_FLAGS,
    PAIR,
    MatrixStyle,
    NodePair,
    node_heatmaps,
    node_pairs,
    node_table,
    pair_table,
)
from asct.instruments.memory.quantities import PAIR_LATENCY
from asct.instruments.memory.settings import (
    AutoSize,
    PageKind,
    cycle_base_setting,
    duration_setting,
    from_pools,
    pages_setting,
    stride_setting,
)
from asct.instruments.memory.sizes import CACHE, CACHES, fitted, optimum_size, page_privileges, working_set_note
from asct.instruments.memory.topology import UNBOUND
from asct.instruments.memory.visits import VISIT_FLAGS, VisitedBenchmark, VisitedParams
from asct.sdk.benchmark import Context
from asct.sdk.facts import HostFacts
from asct.sdk.figure import Figure, Table
from asct.sdk.metric import Metric
from asct.sdk.needs import Needs
from asct.sdk.params import Duration, Size, setting
from asct.sdk.record import Measurement, Record
from asct.sdk.samples import KernelRun, number, stats_of
from asct.sdk.step import Kernel, Step, options, thousandths

_TITLE: Final = "Latencies of random memory access at idle"
_TIME: Final = MatrixStyle("idle-latency", _TITLE, "latency", 1e-9, "nanoseconds", 1, "lower")
_CYCLES: Final = MatrixStyle("idle-latency", _TITLE, "latency_cycles", 1.0, "core cycles", 1, "lower")
_RATIO: Final = MatrixStyle("ratio", "Latency relative to local memory", "ratio", 1.0, "times", 2, "lower")
_DISTANCE: Final = MatrixStyle("distance", "Distances reported by the system", "distance", 1.0, "tenths", 0, "neither")
_USUAL_SIZE: Final = 512 << 20
_CAPTION: Final = (
    "Time per dependent load in random order, from the CPU node (row) to the memory node (column), on an idle system."
)
_SMALLEST: Final = 64 << 20
"""Smallest size, in bytes, to which an automatic size is reduced if a node has too little free memory. Smaller working
sets would fit into caches."""
_OVERHEAD_BYTES: Final = 64 << 20
"""Bytes that the `chase` kernel and its page tables need in addition to the data."""
_MAP_S_PER_GIB: Final = 0.4
_START_S: Final = 0.15
"""Time, in seconds, to start a process and to write and check the lines of the chain."""
_MEASURE_S: Final = 0.04
"""Time, in seconds, that the batches take on an idle host."""
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


class IdleLatency(VisitedBenchmark[IdleLatencyParams]):
    """A benchmark in which the last CPU of every node performs dependent loads from the memory of every node."""

    name = "idle-latency"
    title = "Idle memory latency"
    version = "3"
    summary = "Latency of local and remote memory from every NUMA node, on an idle system"
    aliases = ("il",)
    keywords = ("memory", "latency", "uses-huge-pages")
    default = True
    params_model = IdleLatencyParams
    dependencies = (CACHE,)
    flags = FLAGS | LEFT_OUT_FLAGS
    quantities = (PAIR_LATENCY,)
    metrics = (
        Metric("latency", "s", "lower", "Time per dependent load", PAIR),
        Metric("latency_cycles", "cycles", "lower", "Time per dependent load in core cycles", PAIR),
        Metric("ratio", "1", "lower", "Latency relative to that of the CPU node's local memory", PAIR),
        Metric.info("distance", "1", "Distance between nodes, as reported by the system; 10 means local", PAIR),
        Metric.info("data_size", "B", "Working set", PAIR),
        Metric("core_clock", "Hz", "neither", "Core clock during the measurement, derived from dependent additions"),
        Metric.info("page_size", "B", "Page size of the memory", PAIR),
        LEFT_OUT,
    )

    def check(self, params: IdleLatencyParams) -> Iterable[tuple[str, str]]:
        """Yield an error for a working set smaller than two lines."""
        shortest = 2 * (params.stride or 64)
        if params.data_size is not None and params.data_size < shortest:
            yield "data_size", f"a chain needs two lines: at least {shortest} B with this stride"

    def needs(self, params: IdleLatencyParams, facts: HostFacts | None) -> Needs:
        """Return the required resources. The processes run one after another, each with a working set on one node."""
        size = params.data_size or _USUAL_SIZE
        count = 1 if facts is None else len(node_pairs(facts))
        return Needs(
            kernels=("chase",),
            memory_bytes=_needed_bytes(params.data_size or 0),
            seconds=self.planned(params) * _estimated_seconds(params, size, max(count, 1)),
            privileges=page_privileges(params.pages, "chase"),
        )

    def processes(self, params: IdleLatencyParams, context: Context) -> Sequence[Step]:
        """Return one process per pair of nodes with enough free memory. Raises ValueError if there is none."""
        optimum = optimum_size(context) if params.data_size is None else params.data_size
        found = _sizes(params, context.facts, optimum)
        if not found:
            raise ValueError(f"no NUMA node has {_needed_bytes(optimum)} B of free memory; set a smaller `data_size`")
        root = from_pools(params.pages)
        return [
            Step(pair.name, Kernel("chase"), _arguments(params, pair, size), as_root=root)
            for pair, size in found.items()
        ]

    def values(
        self, params: IdleLatencyParams, runs: Mapping[str, KernelRun], facts: HostFacts
    ) -> Sequence[Measurement]:
        """Return the latencies and ratios of each pair, the core clock, the page sizes, and the skipped pairs.

        Raises ValueError if the output does not have the format of the `chase` kernel.
        """
        pairs = node_pairs(facts)
        walked = [_walked(pair, runs[pair.name], params) for pair in pairs if pair.name in runs]
        clock = stats_of([one.sample.clock_hz for one in walked], independent=False)
        missing = _needed_bytes(_SMALLEST if params.data_size is None else params.data_size)
        return [
            *(item for one in walked for item in _of_pair(one)),
            *_ratios(walked),
            *_distances(walked, facts),
            Measurement("core_clock", clock.median, stats=clock),
            *(Measurement("page_size", one.page_bytes, one.pair.at) for one in walked),
            *(pair.left_out(missing) for pair in pairs if all(one.pair != pair for one in walked)),
        ]

    def tables(self, records: Sequence[Record]) -> Sequence[Table]:
        """Return the matrix, a table that shows the spread of each pair and, if there are several nodes, tables of the
        ratios and distances."""
        look = _CYCLES if self.in_cycles(records) else _TIME
        matrix = node_table(records, look)
        tables = [replace(matrix, notes=(*matrix.notes, *working_set_note(records, "Latency")))]
        if len({str(record.coords) for record in records if record.metric == "latency"}) > 1:
            styles = [one for one in (_RATIO, _DISTANCE) if any(record.metric == one.metric for record in records)]
            tables += [node_table(records, one) for one in styles]
        return (*tables, pair_table(records, replace(look, unit="cycle" if look is _CYCLES else "ns")))

    def figures(self, records: Sequence[Record]) -> Sequence[Figure]:
        """Return the matrix as a heat map if it has several values."""
        return node_heatmaps(records, _CYCLES if self.in_cycles(records) else _TIME, _CAPTION)


def _needed_bytes(size: int) -> int:
    """Return the number of bytes that one process needs for a working set of `size` bytes."""
    return size + size // 32 + _OVERHEAD_BYTES


def _sizes(params: IdleLatencyParams, facts: HostFacts, optimum: int) -> Mapping[NodePair, int]:
    """Return the working set size of each pair that can be measured. The default size is `optimum`.

    If the free memory of a node is unknown, it is assumed to be sufficient.
    """
    pairs = node_pairs(facts)
    if params.data_size is not None:
        needed = _needed_bytes(params.data_size)
        return {
            pair: params.data_size
            for pair in pairs
            if pair.memory.free_bytes is None or needed <= pair.memory.free_bytes
        }
    found = {pair: fitted(optimum, pair.memory, 1) for pair in pairs}
    return {pair: size for pair, size in found.items() if size >= min(_SMALLEST, optimum)}


def _arguments(params: IdleLatencyParams, pair: NodePair, size: int) -> tuple[str, ...]:
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


def _estimated_seconds(params: IdleLatencyParams, size: int, count: int) -> float:
    """Return the estimated duration of `count` pairs, each of which is measured by a separate process."""
    return count * (_START_S + min(params.duration, _MEASURE_S) + _MAP_S_PER_GIB * size / 2**30)


@dataclass(frozen=True, slots=True)
class ChaseResult:
    """The result of the `chase` kernel for one pair."""

    pair: NodePair
    sample: ChaseLatency
    page_bytes: float
    flags: tuple[str, ...]


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


BENCHMARK = IdleLatency()
