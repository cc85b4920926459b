"""idle-latency: load-to-use latency of memory from each node to the memory of each node, with nothing else running."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from asct.benchmarks.idle_latency.measure import FLAGS, measurements
from asct.benchmarks.idle_latency.pairs import arguments, estimated_seconds, needed_bytes, pairs, sizes
from asct.benchmarks.idle_latency.params import IdleLatencyParams
from asct.benchmarks.idle_latency.tables import heat_maps, matrix_tables
from asct.instruments.memory.matrix import LEFT_OUT, LEFT_OUT_FLAGS, PAIR
from asct.instruments.memory.needed import CACHE, chain_size
from asct.instruments.memory.settings import from_pools
from asct.instruments.memory.stream_sizes import page_privileges
from asct.sdk.benchmark import Benchmark, Context
from asct.sdk.facts import HostFacts
from asct.sdk.figure import Figure, Table
from asct.sdk.metric import Metric
from asct.sdk.needs import Needs
from asct.sdk.record import Measurement, Record
from asct.sdk.step import Kernel, Output, Step

_USUAL_SIZE = 512 << 20


class IdleLatency(Benchmark[IdleLatencyParams]):
    """A chain of dependent loads in memory of every node, walked by the last CPU of every node."""

    name = "idle-latency"
    title = "Idle memory latency"
    version = "1"
    summary = "Latency of local and remote memory from every node, with nothing else running"
    aliases = ("il",)
    keywords = ("memory", "latency", "uses-huge-pages")
    default = True
    params_model = IdleLatencyParams
    dependencies = (CACHE,)
    flags = FLAGS | LEFT_OUT_FLAGS
    metrics = (
        Metric("latency", "s", "lower", "Time of one dependent load", PAIR),
        Metric("latency_cycles", "cycles", "lower", "The same in cycles of the core that loads", PAIR),
        Metric("ratio", "1", "lower", "Latency over that of the local memory of the node that runs", PAIR),
        Metric("distance", "1", "neither", "Distance of the nodes as the system reports it; 10 is local", PAIR, False),
        Metric("data_size", "B", "neither", "Working set that was walked", PAIR, comparable=False),
        Metric("core_clock", "Hz", "neither", "Clock of the cores while measuring, from dependent additions"),
        Metric("page_size", "B", "neither", "Size of the pages that were used", PAIR, comparable=False),
        LEFT_OUT,
    )

    def check(self, params: IdleLatencyParams) -> Iterable[tuple[str, str]]:
        """A working set of less than two lines."""
        shortest = 2 * (params.stride or 64)
        if params.data_size is not None and params.data_size < shortest:
            yield "data_size", f"a chain needs two lines: at least {shortest} B with this stride"

    def needs(self, params: IdleLatencyParams, facts: HostFacts | None) -> Needs:
        """One process after the other, each with a working set on one node."""
        size = params.data_size or _USUAL_SIZE
        count = 1 if facts is None else sum(1 for _ in pairs(facts))
        return Needs(
            kernels=("chase",),
            memory_bytes=needed_bytes(params.data_size or 0),
            seconds=estimated_seconds(params, size, max(count, 1)),
            privileges=page_privileges(params.pages, "chase"),
        )

    def foreseeable(self, params: IdleLatencyParams, facts: HostFacts) -> bool:
        return True

    def steps(self, params: IdleLatencyParams, context: Context) -> Sequence[Step]:
        """A process for each pair of nodes whose memory has room. Raises ValueError if none has."""
        if context.done:
            return ()
        optimum = chain_size(context) if params.data_size is None else params.data_size
        found = sizes(params, context.facts, optimum)
        if not found:
            raise ValueError(f"no node has {needed_bytes(optimum)} B of free memory: set a smaller `data_size`")
        root = from_pools(params.pages)
        return [
            Step(pair.name, Kernel("chase"), arguments(params, pair, size), as_root=root)
            for pair, size in found.items()
        ]

    def parse(self, params: IdleLatencyParams, outputs: Sequence[Output], facts: HostFacts) -> Sequence[Measurement]:
        """One latency a pair, the ratios, and the pairs that were left out."""
        return measurements(params, outputs, facts)

    def tables(self, records: Sequence[Record]) -> Sequence[Table]:
        """The matrix, its ratios and distances, and the spread."""
        return matrix_tables(records)

    def figures(self, records: Sequence[Record]) -> Sequence[Figure]:
        """The matrix as colours, where there is more than one node."""
        return heat_maps(records)


BENCHMARK = IdleLatency()
