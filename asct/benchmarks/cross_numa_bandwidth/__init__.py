"""cross-numa-bandwidth: bandwidth between the CPUs of each node and the memory of each node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from asct.benchmarks.cross_numa_bandwidth.pairs import Pair, pair_size, pairs
from asct.benchmarks.cross_numa_bandwidth.params import CrossNumaBandwidthParams
from asct.benchmarks.cross_numa_bandwidth.tables import FLAGS, matrix_figures, matrix_tables
from asct.instruments.memory.matrix import LEFT_OUT, LEFT_OUT_FLAGS, PAIR, left_out
from asct.instruments.memory.needed import CACHE, optimum_size
from asct.instruments.memory.stream import (
    CIRCUMSTANCES,
    KERNEL,
    Call,
    Point,
    bandwidth_metrics,
    bandwidths,
    best_of,
    capped_s,
    circumstances,
    points_of,
)
from asct.instruments.memory.stream_sizes import demanded_bytes, mapping_seconds, page_privileges, working_set_flags
from asct.sdk.benchmark import Benchmark, Context
from asct.sdk.facts import HostFacts
from asct.sdk.figure import Figure, Table
from asct.sdk.metric import Metric
from asct.sdk.needs import Needs
from asct.sdk.record import Measurement, Record, Scalar
from asct.sdk.samples import read_kernel
from asct.sdk.step import Output, Step

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
