"""cross-numa-bandwidth: the bandwidth between the CPUs of each NUMA node and the memory of each NUMA node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from asct.instruments.memory.bandwidth import TRIALS_S, BandwidthBenchmark
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
from asct.instruments.memory.quantities import PAIR_BANDWIDTH
from asct.instruments.memory.settings import AutoSize, data_size_setting, duration_setting, iterations_setting
from asct.instruments.memory.sizes import (
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
    WINDOWS,
    BandwidthStyle,
    OneWidthParams,
    StreamCall,
    WorkingSet,
    bandwidth_metrics,
    bandwidths,
    best_results,
    circumstances,
    stream_results,
    value_seconds,
)
from asct.instruments.memory.traffic import Traffic
from asct.sdk.benchmark import Context
from asct.sdk.facts import HostFacts
from asct.sdk.figure import Figure, Table
from asct.sdk.metric import Metric
from asct.sdk.params import Count, Duration, setting
from asct.sdk.record import Measurement, Record
from asct.sdk.samples import KernelRun
from asct.sdk.step import Step

_CAPTION: Final = (
    "All usable CPUs of the row's node access the memory of the column's node. Values are medians over short "
    "windows and count the bytes on the memory bus."
)


class CrossNumaBandwidthParams(OneWidthParams):
    """Settings for the traffic, the working set and the duration."""

    traffic: Traffic = setting("all-reads", "Pattern in which the CPUs of one node access another node's memory")
    data_size: AutoSize = data_size_setting()
    iterations: Count = iterations_setting(WINDOWS, "pair of nodes")
    duration: Duration = duration_setting(0.4, "pair of nodes")


class CrossNumaBandwidth(BandwidthBenchmark[CrossNumaBandwidthParams]):
    """A benchmark with one process per pair of nodes, in which all usable CPUs of one node simultaneously access
    memory bound to the other."""

    name = "cross-numa-bandwidth"
    title = "Cross-NUMA memory bandwidth"
    version = "2"
    summary = "Bandwidth between the CPUs of each NUMA node and the memory of each node, including memory-only nodes"
    aliases = ("cnb",)
    default = True
    params_model = CrossNumaBandwidthParams
    flags = STREAM_FLAGS | LEFT_OUT_FLAGS
    quantities = (PAIR_BANDWIDTH,)
    metrics = (
        *bandwidth_metrics(PAIR),
        Metric.info("data_size", "B", "Working set of each thread", PAIR),
        LEFT_OUT,
        *CIRCUMSTANCES,
    )

    def demand(self, params: CrossNumaBandwidthParams, facts: HostFacts | None) -> tuple[int, float]:
        """Return the largest number of bytes that any pair needs (pairs without enough memory are skipped), and the
        time for all pairs, in seconds."""
        all_pairs = node_pairs(facts) if facts is not None else []
        possible = [] if facts is None else [pair for pair in all_pairs if _has_room(params, facts, pair)]
        demands = [demanded_bytes(facts, params.data_size, pair.run.cpus) for pair in possible or all_pairs]
        largest = max(demands, default=demanded_bytes(facts, params.data_size))
        one = mapping_seconds(largest) + value_seconds(params.duration, params.iterations) + TRIALS_S
        return largest, max(1, len(possible)) * one

    def processes(self, params: CrossNumaBandwidthParams, context: Context) -> Sequence[Step]:
        """Return one process per pair with enough memory.

        Raises ValueError if there is no such pair, and LookupError if no size is set and none was found.
        """
        facts = context.facts
        possible = [pair for pair in node_pairs(facts) if _has_room(params, facts, pair)]
        if not possible:
            raise ValueError(
                "no NUMA node has enough free memory for its threads; free some memory, or set `data_size`"
            )
        optimum = params.data_size or optimum_size(context)
        steps = []
        for pair in possible:
            large = memory_size(facts, pair.run.cpus, optimum)
            size = params.data_size or fitted(large, pair.memory, len(pair.run.cpus))
            at = (pair.memory.bind,)
            sets = (WorkingSet(size, params.width),)
            call = StreamCall(pair.run.cpus, sets, (params.traffic,), params.duration, at, params.iterations)
            steps.append(call.step(pair.name, params))
        return steps

    def values(
        self, params: CrossNumaBandwidthParams, runs: Mapping[str, KernelRun], facts: HostFacts
    ) -> Sequence[Measurement]:
        """Return the bandwidth of each pair, the skipped pairs, the core clock and the page size."""
        pairs = node_pairs(facts)
        measured = {pair.name: runs[pair.name] for pair in pairs if pair.name in runs}
        results = {name: best_results(stream_results(run)) for name, run in measured.items()}
        found: list[Measurement] = []
        for pair in pairs:
            for result in results.get(pair.name, ()):
                found += bandwidths(result, pair.at, working_set_flags(facts, pair.run.cpus, result.size))
                found.append(Measurement("data_size", float(result.size), pair.at))
            if pair.name not in results:
                found.append(pair.left_out(_least_bytes(params, facts, pair) * max(1, len(pair.run.cpus))))
        first = next(iter(measured.values()))
        return found + circumstances([result for best in results.values() for result in best], first.meta)

    def tables(self, records: Sequence[Record]) -> Sequence[Table]:
        """Return the matrix and a table that shows the spread of each pair."""
        style = _style(self.style(records))
        return (node_table(records, style), pair_table(records, style)) if records else ()

    def figures(self, records: Sequence[Record]) -> Sequence[Figure]:
        """Return the matrix as a heat map if it has several values."""
        return node_heatmaps(records, _style(self.style(records)), _CAPTION)


def _least_bytes(params: CrossNumaBandwidthParams, facts: HostFacts, pair: NodePair) -> int:
    """Return the bytes per thread that a pair needs: the size in the settings or, if it is not set, at least twice the
    size of a thread's caches."""
    return params.data_size or aligned(TOO_SMALL * cache_share(facts, pair.run.cpus))


def _has_room(params: CrossNumaBandwidthParams, facts: HostFacts, pair: NodePair) -> bool:
    """Return whether the memory node has enough free memory, or True if its free memory is unknown."""
    unknown = pair.memory.free_bytes is None
    return unknown or _least_bytes(params, facts, pair) <= room(pair.memory, len(pair.run.cpus))


def _style(style: BandwidthStyle) -> MatrixStyle:
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
