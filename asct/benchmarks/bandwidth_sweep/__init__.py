"""bandwidth-sweep: bandwidth at each level of cache and memory, and over the working set."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from asct.benchmarks.bandwidth_sweep.measure import demanded_bytes, estimated_seconds, measurements, sweep_steps
from asct.benchmarks.bandwidth_sweep.params import BandwidthSweepParams
from asct.benchmarks.bandwidth_sweep.tables import FLAGS, bandwidth_curve, bandwidth_table
from asct.instruments.memory.needed import CACHE
from asct.instruments.memory.stream import CIRCUMSTANCES, KERNEL, bandwidth_metrics
from asct.instruments.memory.stream_sizes import CACHE_LEVELS, MEMORY_LEVEL, page_privileges
from asct.instruments.memory.traffic import ARRAYS, WORDS
from asct.sdk.benchmark import Benchmark, Context, Dependency
from asct.sdk.facts import HostFacts
from asct.sdk.figure import Figure, Table
from asct.sdk.metric import Metric
from asct.sdk.needs import Needs
from asct.sdk.record import Measurement, Record
from asct.sdk.samples import read_kernel
from asct.sdk.step import Output, Step

_LEVELS: Final = (*CACHE_LEVELS, MEMORY_LEVEL)
_TURN: Final = 512
"""Bytes of each array that a loop handles in a turn; more with vectors beyond 64 bytes, as the kernel then says."""


class BandwidthSweep(Benchmark[BandwidthSweepParams]):
    """Each level at the size that latency-sweep found well inside it, and a curve over sizes."""

    name = "bandwidth-sweep"
    title = "Memory bandwidth sweep"
    version = "1"
    summary = "Bandwidth of each cache level and of memory, and over the working set, one thread or many"
    aliases = ("bs",)
    keywords = ("memory", "bandwidth", "sweep")
    default = True
    params_model = BandwidthSweepParams
    flags = FLAGS
    dependencies = (Dependency(CACHE.alias, CACHE.benchmark, ("sizes",)),)
    metrics = (
        *bandwidth_metrics({"level": _LEVELS, "size": None, "traffic": WORDS}),
        Metric("data_size", "B", "neither", "Size at which a level was measured", {"level": _LEVELS}, comparable=False),
        Metric("threads", "1", "neither", "Threads that ran at once, one a CPU", comparable=False),
        *CIRCUMSTANCES,
    )

    def check(self, params: BandwidthSweepParams) -> Iterable[tuple[str, str]]:
        """Ranges that are empty, CPUs named twice."""
        if not params.sizes and params.min_size >= params.max_size:
            yield "min_size", f"min_size ({params.min_size} B) is not below max_size ({params.max_size} B)"
        smallest = _TURN * max(ARRAYS[traffic] for traffic in params.traffic)
        if min(params.sizes, default=params.min_size) < smallest:
            name = "sizes" if params.sizes else "min_size"
            yield name, f"the arrays of this traffic need {smallest} B together"
        if len(set(params.cpus)) < len(params.cpus):
            yield "cpus", "a CPU is named twice; there is one thread on each"

    def needs(self, params: BandwidthSweepParams, facts: HostFacts | None) -> Needs:
        """The kernel, the memory of the largest size for all threads, and the time of all sizes."""
        return Needs(
            kernels=(KERNEL,),
            memory_bytes=demanded_bytes(params, facts),
            seconds=estimated_seconds(params, facts),
            privileges=page_privileges(params.pages, KERNEL),
        )

    def foreseeable(self, params: BandwidthSweepParams, facts: HostFacts) -> bool:
        return True

    def steps(self, params: BandwidthSweepParams, context: Context) -> Sequence[Step]:
        """A process for each level and one for the curve; one for the sizes that are given."""
        return sweep_steps(params, context)[len(context.done) :]

    def parse(self, params: BandwidthSweepParams, outputs: Sequence[Output], facts: HostFacts) -> Sequence[Measurement]:
        """Bandwidths of levels and sizes, clock and pages."""
        if not outputs:
            raise ValueError("the kernel stream was not run")
        return measurements(params, {output.step.name: read_kernel(output) for output in outputs}, facts)

    def tables(self, records: Sequence[Record]) -> Sequence[Table]:
        """The levels."""
        return (bandwidth_table(records),) if records else ()

    def figures(self, records: Sequence[Record]) -> Sequence[Figure]:
        """The curve."""
        curve = bandwidth_curve(records)
        return () if curve is None else (curve,)


BENCHMARK = BandwidthSweep()
