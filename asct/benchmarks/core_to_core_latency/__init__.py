"""core-to-core-latency: the time to transfer a cache line from one CPU to another, for every pair of CPUs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from asct.benchmarks.core_to_core_latency.command import (
    arguments,
    chosen_cpus,
    chosen_nodes,
    estimated_seconds,
    memory_bytes,
    step_name,
)
from asct.benchmarks.core_to_core_latency.measure import measurements
from asct.benchmarks.core_to_core_latency.pairs import DATA, FLAGS
from asct.benchmarks.core_to_core_latency.params import METHODS, CoreToCoreLatencyParams
from asct.benchmarks.core_to_core_latency.report import all_figures, all_tables
from asct.instruments.memory.quantities import transfers
from asct.instruments.memory.settings import from_pools
from asct.instruments.memory.sizes import page_privileges
from asct.instruments.memory.visits import VisitedBenchmark
from asct.sdk.benchmark import Context
from asct.sdk.facts import HostFacts
from asct.sdk.figure import Figure, Table
from asct.sdk.metric import Coords, Highlight, Metric
from asct.sdk.needs import Needs
from asct.sdk.record import Measurement, Record
from asct.sdk.samples import KernelRun
from asct.sdk.step import Kernel, Step

_METHOD: Coords = {"method": METHODS}
_NODES: Coords = {"node_a": None, "node_b": None, "data": DATA}
_PAIR: Coords = {"cpu_a": None, "cpu_b": None, "memory_node": None}
_CPU: Coords = {"cpu_a": None}
_RUN: Coords = {**_METHOD, "memory_node": None}
_ANYWHERE: Coords = {**_METHOD, **_NODES, **_PAIR}


class CoreToCoreLatency(VisitedBenchmark[CoreToCoreLatencyParams]):
    """A benchmark that times messages and dependent loads between CPUs in rounds of disjoint pairs, with one process
    per memory node."""

    name = "core-to-core-latency"
    title = "Core-to-core latency"
    version = "3"
    summary = "Transfer time of a cache line between every pair of CPUs, for each memory node"
    aliases = ("c2c", "c2c-latency", "ccl")
    keywords = ("memory", "latency", "long-runtime")
    default = True
    params_model = CoreToCoreLatencyParams
    flags = FLAGS
    highlights = (
        Highlight("one_way", "Median one-way latency, token", {"method": "token", "data": "local"}),
        Highlight("one_way", "Median one-way latency, compare-and-swap", {"method": "cas", "data": "local"}),
        Highlight("latency", "Median latency per line, chain", {"method": "chain", "data": "local"}),
    )
    quantities = (transfers("one_way"), transfers("latency"))
    metrics = (
        Metric("latency", "s", "lower", "`chain`: time for CPU A to read one line that CPU B wrote", _ANYWHERE),
        Metric(
            "one_way",
            "s",
            "lower",
            "`token` and `cas`: time for a message from one CPU to the other (half a round trip)",
            _ANYWHERE,
        ),
        Metric(
            "round_trip", "s", "lower", "`token` and `cas`: time for a message and its reply", {**_METHOD, **_NODES}
        ),
        Metric(
            "latency_cycles", "cycles", "lower", "`latency` in core cycles (only if `cycle_base` is set)", _ANYWHERE
        ),
        Metric(
            "one_way_cycles", "cycles", "lower", "`one_way` in core cycles (only if `cycle_base` is set)", _ANYWHERE
        ),
        Metric(
            "interference",
            "1",
            "lower",
            "Latency of pairs measured concurrently, relative to the same pairs measured alone",
            _RUN,
            False,
        ),
        Metric(
            "missing",
            "1",
            "lower",
            "Number of pairs without a value, because all of their batches were disturbed",
            _RUN,
            False,
        ),
        Metric.info(
            "address_spread", "1", "Latency of a pair at its slowest memory address, relative to its fastest one", _RUN
        ),
        Metric("core_clock", "Hz", "neither", "Core clock during the measurement", {"memory_node": None}),
        Metric.info("page_size", "B", "Page size in use", {"memory_node": None}),
        Metric.info("core", "1", "First CPU on the same core", _CPU),
        Metric.info("cluster", "1", "First CPU that shares the last-level cache", _CPU),
    )

    def check(self, params: CoreToCoreLatencyParams) -> Iterable[tuple[str, str]]:
        """Yield errors for CPUs that form no pair, and for methods or CPUs listed twice."""
        if params.cpus and params.all_cpus:
            yield "all_cpus", "`cpus` already selects the CPUs; remove `cpus` or `all_cpus`"
        if len(params.cpus) == 1:
            yield "cpus", f"a pair requires two CPUs, but only CPU {params.cpus[0]} is usable"
        for setting, values in (("cpus", params.cpus), ("methods", params.methods)):
            if len(set(values)) < len(values):
                yield setting, f"a value appears twice: {', '.join(map(str, values))}"

    def needs(self, params: CoreToCoreLatencyParams, facts: HostFacts | None) -> Needs:
        """Return the resources required: the `pingpong` kernel, two CPUs, memory for the lines of all pairs, and the
        time that all rounds for all nodes take."""
        return Needs(
            kernels=("pingpong",),
            cpus=2,
            memory_bytes=memory_bytes(params, facts),
            seconds=self.planned(params) * estimated_seconds(params, facts),
            privileges=page_privileges(params.pages, "pingpong"),
        )

    def processes(self, params: CoreToCoreLatencyParams, context: Context) -> Sequence[Step]:
        """Return one process per memory node. The `pingpong` kernel rejects a list with a single CPU, unusable CPUs,
        and unusable nodes."""
        cpus, root = chosen_cpus(params, context.facts), from_pools(params.pages)
        return [
            Step(step_name(node), Kernel("pingpong"), arguments(params, cpus, node), as_root=root)
            for node in chosen_nodes(params, context.facts)
        ]

    def values(
        self, params: CoreToCoreLatencyParams, runs: Mapping[str, KernelRun], facts: HostFacts
    ) -> Sequence[Measurement]:
        """Return the medians over all pairs and for each pair of nodes, the results of the checks, and every pair as a
        detail."""
        return measurements(params, runs, facts)

    def tables(self, records: Sequence[Record]) -> Sequence[Table]:
        """Return the matrix, the statistics, the slowest and the most asymmetric pairs and, for exports, every pair."""
        return all_tables(records, self.display_setting)

    def figures(self, records: Sequence[Record]) -> Sequence[Figure]:
        """Return heat maps and histograms if there are at least three CPUs."""
        return all_figures(records, self.display_setting)


BENCHMARK = CoreToCoreLatency()
