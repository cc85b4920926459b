"""idle-latency: the load-to-use latency from the CPUs of each node to the memory of each node, on an idle system."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from asct.benchmarks.idle_latency.measure import (
    FLAGS,
    IdleLatencyParams,
    arguments,
    estimated_seconds,
    measurements,
    needed_bytes,
    sizes,
)
from asct.instruments.memory.matrix import (
    LEFT_OUT,
    LEFT_OUT_FLAGS,
    PAIR,
    MatrixStyle,
    node_heatmaps,
    node_pairs,
    node_table,
    pair_table,
)
from asct.instruments.memory.quantities import PAIR_LATENCY
from asct.instruments.memory.settings import from_pools
from asct.instruments.memory.sizes import CACHE, optimum_size, page_privileges, working_set_note
from asct.instruments.memory.visits import VisitedBenchmark
from asct.sdk.benchmark import Context
from asct.sdk.facts import HostFacts
from asct.sdk.figure import Figure, Table
from asct.sdk.metric import Metric
from asct.sdk.needs import Needs
from asct.sdk.record import Measurement, Record
from asct.sdk.samples import KernelRun
from asct.sdk.step import Kernel, Step

_TITLE: Final = "Latencies of random memory access at idle"
_TIME: Final = MatrixStyle("idle-latency", _TITLE, "latency", 1e-9, "nanoseconds", 1, "lower")
_CYCLES: Final = MatrixStyle("idle-latency", _TITLE, "latency_cycles", 1.0, "core cycles", 1, "lower")
_RATIO: Final = MatrixStyle("ratio", "Latency relative to local memory", "ratio", 1.0, "times", 2, "lower")
_DISTANCE: Final = MatrixStyle("distance", "Distances reported by the system", "distance", 1.0, "tenths", 0, "neither")
_USUAL_SIZE: Final = 512 << 20
_CAPTION: Final = (
    "Time per dependent load in random order, from the CPU node (row) to the memory node (column), on an idle system."
)


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
            memory_bytes=needed_bytes(params.data_size or 0),
            seconds=self.planned(params) * estimated_seconds(params, size, max(count, 1)),
            privileges=page_privileges(params.pages, "chase"),
        )

    def processes(self, params: IdleLatencyParams, context: Context) -> Sequence[Step]:
        """Return one process per pair of nodes with enough free memory. Raises ValueError if there is none."""
        optimum = optimum_size(context) if params.data_size is None else params.data_size
        found = sizes(params, context.facts, optimum)
        if not found:
            raise ValueError(f"no NUMA node has {needed_bytes(optimum)} B of free memory; set a smaller `data_size`")
        root = from_pools(params.pages)
        return [
            Step(pair.name, Kernel("chase"), arguments(params, pair, size), as_root=root)
            for pair, size in found.items()
        ]

    def values(
        self, params: IdleLatencyParams, runs: Mapping[str, KernelRun], facts: HostFacts
    ) -> Sequence[Measurement]:
        """Return one latency per pair, the ratios, and the skipped pairs."""
        return measurements(params, runs, facts)

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


BENCHMARK = IdleLatency()
