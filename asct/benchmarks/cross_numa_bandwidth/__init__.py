"""cross-numa-bandwidth: bandwidth between the CPUs of each node and the memory of each node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from asct.instruments.memory.matrix import (
    LEFT_OUT,
    LEFT_OUT_FLAGS,
    PAIR,
    Look,
    left_out,
    node_heatmaps,
    node_table,
    pair_table,
    step_name,
)
from asct.instruments.memory.needed import CACHE, optimum_size
from asct.instruments.memory.settings import AutoSize
from asct.instruments.memory.stream import (
    CIRCUMSTANCES,
    KERNEL,
    STREAM_FLAGS,
    Call,
    OneWidthParams,
    Point,
    bandwidth_metrics,
    bandwidths,
    best_of,
    capped_s,
    circumstances,
    points_of,
    shown,
)
from asct.instruments.memory.stream_sizes import (
    SET_FLAGS,
    TOO_SMALL,
    aligned,
    cache_share,
    demanded_bytes,
    fitted,
    mapping_seconds,
    memory_size,
    page_privileges,
    room,
    working_set_flags,
)
from asct.instruments.memory.topology import Place, memory_places, places, run_places
from asct.instruments.memory.traffic import Traffic
from asct.sdk.benchmark import Benchmark, Context
from asct.sdk.facts import HostFacts
from asct.sdk.figure import Figure, Table
from asct.sdk.metric import Metric
from asct.sdk.needs import Needs
from asct.sdk.params import Count, Duration, setting
from asct.sdk.record import Measurement, Record, Scalar
from asct.sdk.samples import read_kernel
from asct.sdk.step import Output, Step


class CrossNumaBandwidthParams(OneWidthParams):
    """Which traffic, over how much memory, for how long."""

    traffic: Traffic = setting("all-reads", "Kind of traffic between the CPUs of one node and the memory of another")
    data_size: AutoSize = setting(
        None,
        "Memory that each CPU walks; auto: a part of the DRAM size of latency-sweep, at least four times the caches",
        ge=4096,
        pitfalls="Less than four times the caches of a CPU leaves a part of the traffic in them.",
    )
    iterations: Count = setting(
        100_000, "Most windows of 100 us to measure for one pair of nodes; `duration` ends it earlier", ge=1, le=10**9
    )
    duration: Duration = setting(
        0.4, "Longest time for one pair when the interval is not reached", aliases=("time_cap",), ge=1e-3, le=600
    )


@dataclass(frozen=True, slots=True)
class Pair:
    """All usable CPUs of the node `run` with the memory of the node `memory`; `least` bytes a thread are needed."""

    run: Place
    memory: Place
    least: int

    @property
    def name(self) -> str:
        """That of its step: `node0-memory8`."""
        return step_name(self.run, self.memory)

    @property
    def threads(self) -> int:
        """One for each CPU; one where the CPUs of the host are not known."""
        return max(1, len(self.run.cpus))

    @property
    def possible(self) -> bool:
        """Whether the memory node has that much free, as far as is known."""
        return self.memory.free_bytes is None or self.least <= room(self.memory, self.threads)

    @property
    def needed_bytes(self) -> int:
        """The least that all threads need together."""
        return self.least * self.threads


def pairs(params: CrossNumaBandwidthParams, facts: HostFacts) -> list[Pair]:
    """Every node with CPUs and every node with memory, also memory only. A size that is given is needed whole; else
    twice the caches of a thread at least."""
    runs = run_places(facts) or places(facts)[:1]
    return [
        Pair(run, memory, params.data_size or aligned(TOO_SMALL * cache_share(facts, run.cpus)))
        for run in runs
        for memory in memory_places(facts)
    ]


def pair_size(params: CrossNumaBandwidthParams, facts: HostFacts, pair: Pair, optimum: int) -> int:
    """Bytes a thread: the size given, or what lies well outside the caches and fits the memory node."""
    if params.data_size is not None:
        return params.data_size
    return fitted(memory_size(facts, pair.run.cpus, optimum), pair.memory, pair.threads)


FLAGS: Final = {**STREAM_FLAGS, **SET_FLAGS}
_CAPTION: Final = (
    "All usable CPUs of the node on the left with memory of the node below. Medians of short windows, in "
    "bytes on the memory bus."
)


def matrix_tables(records: Sequence[Record]) -> tuple[Table, ...]:
    """The matrix, and the spread of each pair."""
    look = _look(records)
    return node_table(records, look), pair_table(records, look)


def matrix_figures(records: Sequence[Record]) -> tuple[Figure, ...]:
    """The matrix as colours where there are several pairs."""
    return node_heatmaps(records, _look(records), _CAPTION)


def _look(records: Sequence[Record]) -> Look:
    how = shown(records)
    return Look(
        slug="nodes",
        title="Cross-NUMA bandwidths for the system",
        metric=f"bus_bandwidth{how.suffix}",
        scale=how.scale,
        unit=how.unit,
        digits=1,
        better="higher",
    )


_TRIALS_S: Final = 0.1


class CrossNumaBandwidth(Benchmark[CrossNumaBandwidthParams]):
    """One process a pair: all usable CPUs of the run node at once, memory bound to the memory node."""

    name = "cross-numa-bandwidth"
    title = "Cross-NUMA memory bandwidth"
    version = "1"
    summary = "Bandwidth between the CPUs of each NUMA node and the memory of each node, memory-only nodes too"
    aliases = ("cnb",)
    keywords = ("memory", "bandwidth")
    default = True
    params_model = CrossNumaBandwidthParams
    dependencies = (CACHE,)
    flags = FLAGS | LEFT_OUT_FLAGS
    metrics = (
        *bandwidth_metrics(PAIR),
        Metric("data_size", "B", "neither", "Memory that each thread walked", PAIR, comparable=False),
        LEFT_OUT,
        *CIRCUMSTANCES,
    )

    def needs(self, params: CrossNumaBandwidthParams, facts: HostFacts | None) -> Needs:
        """The kernel, the memory of the largest pair (those that lack it are left out), and the time of all pairs."""
        all_pairs = pairs(params, facts) if facts is not None else []
        possible = [pair for pair in all_pairs if pair.possible]
        wanted = [demanded_bytes(facts, params.data_size, pair.run.cpus) for pair in possible or all_pairs]
        largest = max(wanted, default=demanded_bytes(facts, params.data_size))
        one = mapping_seconds(largest) + capped_s(params.duration, params.iterations) + _TRIALS_S
        return Needs(
            kernels=(KERNEL,),
            memory_bytes=largest,
            seconds=max(1, len(possible)) * one,
            privileges=page_privileges(params.pages, KERNEL),
        )

    def foreseeable(self, params: CrossNumaBandwidthParams, facts: HostFacts) -> bool:
        return True

    def steps(self, params: CrossNumaBandwidthParams, context: Context) -> Sequence[Step]:
        """A process for each pair that has memory. Raises LookupError when no size is given and none was found."""
        possible = [pair for pair in pairs(params, context.facts) if pair.possible]
        if not possible:
            raise ValueError("no NUMA node has enough free memory for its threads; free some, or set `data_size`")
        optimum = params.data_size or optimum_size(context, "dram")
        return [_step(params, context.facts, pair, optimum) for pair in possible[len(context.done) :]]

    def parse(
        self, params: CrossNumaBandwidthParams, outputs: Sequence[Output], facts: HostFacts
    ) -> Sequence[Measurement]:
        """The bandwidth of each pair, the pairs left out, clock and pages."""
        if not outputs:
            raise ValueError("the kernel stream was not run")
        runs = {output.step.name: read_kernel(output) for output in outputs}
        points = {name: best_of(points_of(run)) for name, run in runs.items()}
        found: list[Measurement] = []
        for pair in pairs(params, facts):
            for point in points.get(pair.name, ()):
                found += _of_pair(point, pair, facts)
            if pair.name not in points:
                found.append(left_out(pair.run, pair.memory, pair.needed_bytes))
        first = next(iter(runs.values()))
        return found + circumstances([point for best in points.values() for point in best], first.meta, params)

    def tables(self, records: Sequence[Record]) -> Sequence[Table]:
        """The matrix and the spread of its values."""
        return matrix_tables(records) if records else ()

    def figures(self, records: Sequence[Record]) -> Sequence[Figure]:
        """The matrix as a heat map if it has several values."""
        return matrix_figures(records)


def _step(params: CrossNumaBandwidthParams, facts: HostFacts, pair: Pair, optimum: int) -> Step:
    size = pair_size(params, facts, pair, optimum)
    cap = capped_s(params.duration, params.iterations)
    call = Call(pair.run.cpus, (size,), (params.traffic,), cap, params.width, (pair.memory.bind,))
    return call.step(pair.name, params)


def _of_pair(point: Point, pair: Pair, facts: HostFacts) -> list[Measurement]:
    at: dict[str, Scalar] = {"run_node": pair.run.id, "memory_node": pair.memory.id}
    flags = working_set_flags(facts, pair.run.cpus, point.size)
    return [*bandwidths(point, at, flags), Measurement("data_size", float(point.size), dict(at))]


BENCHMARK = CrossNumaBandwidth()
