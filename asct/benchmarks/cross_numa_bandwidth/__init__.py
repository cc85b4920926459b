"""cross-numa-bandwidth: bandwidth between the CPUs of each NUMA node and the memory of each NUMA node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from asct.instruments.memory.bandwidth import TRIALS_S, BandwidthBenchmark
from asct.instruments.memory.matrix import (
    LEFT_OUT,
    LEFT_OUT_FLAGS,
    PAIR,
    MatrixStyle,
    left_out,
    node_heatmaps,
    node_table,
    pair_table,
    step_name,
)
from asct.instruments.memory.settings import AutoSize, data_size_setting, duration_setting, iterations_setting
from asct.instruments.memory.sizes import (
    MEMORY_LEVEL,
    SET_FLAGS,
    TOO_SMALL,
    aligned,
    cache_share,
    demanded_bytes,
    fitted,
    mapping_seconds,
    memory_size,
    optimum_size,
    room,
    working_set_flags,
)
from asct.instruments.memory.stream import (
    CIRCUMSTANCES,
    STREAM_FLAGS,
    OneWidthParams,
    StreamCall,
    StreamResult,
    bandwidth_metrics,
    bandwidth_style,
    bandwidths,
    best_results,
    capped_s,
    circumstances,
    stream_results,
)
from asct.instruments.memory.topology import MemoryNode, all_nodes, cpu_nodes, memory_nodes
from asct.instruments.memory.traffic import Traffic
from asct.sdk.benchmark import Context
from asct.sdk.facts import HostFacts
from asct.sdk.figure import Figure, Table
from asct.sdk.metric import Metric
from asct.sdk.params import Count, Duration, setting
from asct.sdk.record import Measurement, Record, Scalar
from asct.sdk.samples import KernelRun
from asct.sdk.step import Step

_CAPTION: Final = (
    "All usable CPUs of the node on the left access memory of the node below. Medians of short windows, in bytes on "
    "the memory bus."
)


class CrossNumaBandwidthParams(OneWidthParams):
    """Traffic, working set and duration."""

    traffic: Traffic = setting("all-reads", "Kind of traffic between the CPUs of one node and the memory of another")
    data_size: AutoSize = data_size_setting()
    iterations: Count = iterations_setting("pair of nodes")
    duration: Duration = duration_setting(0.4, "one pair of nodes")


@dataclass(frozen=True, slots=True)
class NodeTraffic:
    """All usable CPUs of the node `run` access memory of the node `memory`: at least `least` bytes per thread."""

    run: MemoryNode
    memory: MemoryNode
    least: int

    @property
    def name(self) -> str:
        """Name of the step: `node0-memory8`."""
        return step_name(self.run, self.memory)

    @property
    def threads(self) -> int:
        """One per CPU; one where the CPUs of the host are unknown."""
        return max(1, len(self.run.cpus))

    @property
    def possible(self) -> bool:
        """Whether the memory node has enough free memory, as far as is known."""
        return self.memory.free_bytes is None or self.least <= room(self.memory, self.threads)

    def size(self, params: CrossNumaBandwidthParams, facts: HostFacts, optimum: int) -> int:
        """Bytes per thread: as set, or a size well beyond the caches that fits the memory node."""
        if params.data_size is not None:
            return params.data_size
        return fitted(memory_size(facts, self.run.cpus, optimum), self.memory, self.threads)


def pairs(params: CrossNumaBandwidthParams, facts: HostFacts) -> list[NodeTraffic]:
    """Every node with CPUs combined with every node with memory, memory-only nodes included.

    A size that is set must fit completely; otherwise twice the caches of a thread is the minimum.
    """
    runs = cpu_nodes(facts) or all_nodes(facts)[:1]
    return [
        NodeTraffic(run, memory, params.data_size or aligned(TOO_SMALL * cache_share(facts, run.cpus)))
        for run in runs
        for memory in memory_nodes(facts)
    ]


class CrossNumaBandwidth(BandwidthBenchmark[CrossNumaBandwidthParams]):
    """One process per pair of nodes: all usable CPUs of one at once, memory bound to the other."""

    name = "cross-numa-bandwidth"
    title = "Cross-NUMA memory bandwidth"
    version = "1"
    summary = "Bandwidth between the CPUs of each NUMA node and the memory of each node, including memory-only nodes"
    aliases = ("cnb",)
    default = True
    params_model = CrossNumaBandwidthParams
    flags = STREAM_FLAGS | SET_FLAGS | LEFT_OUT_FLAGS
    metrics = (
        *bandwidth_metrics(PAIR),
        Metric("data_size", "B", "neither", "Working set of each thread", PAIR, comparable=False),
        LEFT_OUT,
        *CIRCUMSTANCES,
    )

    def demand(self, params: CrossNumaBandwidthParams, facts: HostFacts | None) -> tuple[int, float]:
        """Memory of the largest pair (pairs without enough of it are skipped), and time of all pairs."""
        all_pairs = pairs(params, facts) if facts is not None else []
        possible = [pair for pair in all_pairs if pair.possible]
        wanted = [demanded_bytes(facts, params.data_size, pair.run.cpus) for pair in possible or all_pairs]
        largest = max(wanted, default=demanded_bytes(facts, params.data_size))
        one = mapping_seconds(largest) + capped_s(params.duration, params.iterations) + TRIALS_S
        return largest, max(1, len(possible)) * one

    def processes(self, params: CrossNumaBandwidthParams, context: Context) -> Sequence[Step]:
        """A process per pair with enough memory. Raises ValueError if there is none, and LookupError when no size is
        set and none was found."""
        facts = context.facts
        possible = [pair for pair in pairs(params, facts) if pair.possible]
        if not possible:
            raise ValueError(
                "no NUMA node has enough free memory for its threads; free some memory, or set `data_size`"
            )
        optimum = params.data_size or optimum_size(context, MEMORY_LEVEL)
        cap = capped_s(params.duration, params.iterations)
        return [
            StreamCall(
                pair.run.cpus, (pair.size(params, facts, optimum),), (params.traffic,), cap, params.width,
                (pair.memory.bind,),
            ).step(pair.name, params)
            for pair in possible
        ]  # fmt: skip

    def values(
        self, params: CrossNumaBandwidthParams, runs: Mapping[str, KernelRun], facts: HostFacts
    ) -> Sequence[Measurement]:
        """The bandwidth of each pair, the pairs skipped, core clock and page size."""
        results = {name: best_results(stream_results(run)) for name, run in runs.items()}
        found: list[Measurement] = []
        for pair in pairs(params, facts):
            for result in results.get(pair.name, ()):
                found += _of_pair(result, pair, facts)
            if pair.name not in results:
                found.append(left_out(pair.run, pair.memory, pair.least * pair.threads))
        first = next(iter(runs.values()))
        return found + circumstances([result for best in results.values() for result in best], first.meta, params)

    def tables(self, records: Sequence[Record]) -> Sequence[Table]:
        """The matrix, and the spread of each pair."""
        style = _style(records)
        return (node_table(records, style), pair_table(records, style)) if records else ()

    def figures(self, records: Sequence[Record]) -> Sequence[Figure]:
        """The matrix as a heat map if it has several values."""
        return node_heatmaps(records, _style(records), _CAPTION)


def _of_pair(result: StreamResult, pair: NodeTraffic, facts: HostFacts) -> list[Measurement]:
    at: dict[str, Scalar] = {"run_node": pair.run.id, "memory_node": pair.memory.id}
    flags = working_set_flags(facts, pair.run.cpus, result.size)
    return [*bandwidths(result, at, flags), Measurement("data_size", float(result.size), dict(at))]


def _style(records: Sequence[Record]) -> MatrixStyle:
    style = bandwidth_style(records)
    return MatrixStyle(
        slug="nodes",
        title="Cross-NUMA bandwidths for the system",
        metric=f"bus_bandwidth{style.suffix}",
        scale=style.scale,
        unit=style.unit,
        digits=1,
        better="higher",
    )


BENCHMARK = CrossNumaBandwidth()
