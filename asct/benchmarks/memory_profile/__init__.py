"""memory-profile: the peaks of memory by width of the accesses, and of the caches, with all CPUs at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from asct.benchmarks.memory_profile.command import estimated_seconds, profile_steps
from asct.benchmarks.memory_profile.measure import measurements
from asct.benchmarks.memory_profile.params import MemoryProfileParams
from asct.benchmarks.memory_profile.tables import FLAGS, profile_bars, profile_table
from asct.instruments.memory.needed import CACHE
from asct.instruments.memory.stream import CIRCUMSTANCES, KERNEL, bandwidth_metrics
from asct.instruments.memory.stream_sizes import demanded_bytes, page_privileges
from asct.instruments.memory.traffic import WORDS
from asct.sdk.benchmark import Benchmark, Context
from asct.sdk.facts import HostFacts
from asct.sdk.figure import Figure, Table
from asct.sdk.metric import Highlight, Metric
from asct.sdk.needs import Needs
from asct.sdk.record import Measurement, Record
from asct.sdk.samples import read_kernel
from asct.sdk.step import Output, Step

_AT: Final[dict[str, tuple[str, ...] | None]] = {"traffic": WORDS}


class MemoryProfile(Benchmark[MemoryProfileParams]):
    """One process for each width over memory, one for each level of cache, a thread on every usable CPU."""

    name = "memory-profile"
    title = "Peak memory bandwidths by width of access"
    version = "1"
    summary = "Peaks of memory with 16, 32 and 64 byte accesses, and of the caches, all CPUs at once"
    aliases = ("mp",)
    keywords = ("memory", "bandwidth")
    params_model = MemoryProfileParams
    dependencies = (CACHE,)
    flags = FLAGS
    highlights = (
        Highlight("bus_bandwidth", "All Reads", {"traffic": "all-reads", "width": None}),
        Highlight("bus_bandwidth", "Highest bandwidth", {"traffic": None, "width": None}),
        Highlight("peak_cache_bandwidth", "Highest bandwidth of a cache", {"traffic": None}),
    )
    metrics = (
        *bandwidth_metrics({**_AT, "width": ("16", "32", "64", "sve", "auto")}),
        Metric("peak_cache_bandwidth", "B/s", "higher", "Useful bytes at the fastest level of cache", _AT),
        Metric("peak_cache_bandwidth_cycles", "B/cycle", "higher", "The same per core cycle, over all threads", _AT),
        Metric("level_bandwidth", "B/s", "higher", "Useful bytes at each level of cache", {**_AT, "level": None}),
        Metric("data_size", "B", "neither", "Memory that each thread walked", {"level": None}, comparable=False),
        Metric("threads", "1", "neither", "Threads that ran at once, one a CPU", comparable=False),
        *CIRCUMSTANCES,
    )

    def needs(self, params: MemoryProfileParams, facts: HostFacts | None) -> Needs:
        """The kernel, memory for all threads, and the time of all values."""
        return Needs(
            kernels=(KERNEL,),
            memory_bytes=demanded_bytes(facts, params.data_size),
            seconds=estimated_seconds(params, facts),
            privileges=page_privileges(params.pages, KERNEL),
        )

    def foreseeable(self, params: MemoryProfileParams, facts: HostFacts) -> bool:
        return True

    def steps(self, params: MemoryProfileParams, context: Context) -> Sequence[Step]:
        """A process for each width, then for each level of cache."""
        return profile_steps(params, context)[len(context.done) :]

    def parse(self, params: MemoryProfileParams, outputs: Sequence[Output], facts: HostFacts) -> Sequence[Measurement]:
        """Bandwidths by traffic and width, of the caches, clock and pages."""
        return measurements(params, {output.step.name: read_kernel(output) for output in outputs}, facts)

    def tables(self, records: Sequence[Record]) -> Sequence[Table]:
        """The peaks."""
        return (profile_table(records),) if records else ()

    def figures(self, records: Sequence[Record]) -> Sequence[Figure]:
        """The same as bars."""
        bars = profile_bars(records)
        return () if bars is None else (bars,)


BENCHMARK = MemoryProfile()
