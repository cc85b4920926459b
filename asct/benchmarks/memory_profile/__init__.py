"""memory-profile: the peaks of memory by width of the accesses, and of the caches, with all CPUs at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Final

from asct.benchmarks.memory_profile.tables import BEST, FLAGS, profile_bars, profile_table
from asct.instruments.memory.needed import CACHE, optimum_size
from asct.instruments.memory.settings import LISTED, AutoSize
from asct.instruments.memory.stream import (
    CIRCUMSTANCES,
    KERNEL,
    PER_CYCLE,
    Call,
    Point,
    StreamParams,
    bandwidth_metrics,
    bandwidths,
    best_of,
    circumstances,
    points_of,
)
from asct.instruments.memory.stream_sizes import (
    LINE,
    MEMORY_LEVEL,
    demanded_bytes,
    level_size,
    level_sizes,
    local_nodes,
    mapping_seconds,
    page_privileges,
    sharers,
    working_set_flags,
)
from asct.instruments.memory.topology import usable_cpus
from asct.instruments.memory.traffic import WORDS, Traffic, Width, widths_of
from asct.sdk.benchmark import Benchmark, Context
from asct.sdk.facts import HostFacts
from asct.sdk.figure import Figure, Table
from asct.sdk.metric import Highlight, Metric
from asct.sdk.needs import Needs
from asct.sdk.params import Duration, Size, setting
from asct.sdk.record import Measurement, Record
from asct.sdk.samples import KernelRun, read_kernel
from asct.sdk.step import Output, Step
from asct.values.size import format_size

PROFILE: Final = ("all-reads", "3:1", "2:1", "1:1", "triad")


class MemoryProfileParams(StreamParams):
    """Which traffic, with which widths of accesses, over how much memory."""

    traffic: Annotated[tuple[Traffic, ...], LISTED] = setting(
        PROFILE, "Kinds of traffic, a row each", min_length=1, max_length=13
    )
    widths: Annotated[tuple[Width, ...], LISTED] = setting(
        (),
        "Bytes of one load or store, a column each; left out, all that the CPU has",
        max_length=5,
        pitfalls="A width that the CPU lacks is refused; on aarch64 16 is NEON and 32 and 64 want SVE of that length.",
    )
    data_size: AutoSize = setting(
        None,
        "Memory that each CPU walks; auto: a part of the DRAM size of latency-sweep, at least four times the caches",
        ge=4096,
        pitfalls="Less than four times the caches of a CPU leaves a part of the traffic in them.",
    )
    cache_sizes: Annotated[tuple[Size, ...], LISTED] = setting(
        (),
        "Sizes of each CPU within the caches; left out, those of latency-sweep, or with data_size half of each cache",
        max_length=8,
    )
    duration: Duration = setting(
        0.1,
        "Longest time for one value when the interval is not reached",
        aliases=("time_cap",),
        ge=1e-3,
        le=600,
    )


MEMORY: Final = "memory-"
"""What the name of a step over memory begins with; the width follows."""
_TRIALS_S: Final = 0.1
_CACHES: Final = 3


def profile_steps(params: MemoryProfileParams, context: Context) -> list[Step]:
    """Raises LookupError when data_size is not given and latency-sweep found no memory."""
    facts, cpus = context.facts, usable_cpus(context.facts)
    nodes = local_nodes(facts, cpus)
    size = params.data_size or level_size(facts, cpus, MEMORY_LEVEL, optimum_size(context, MEMORY_LEVEL.lower()))
    steps = [
        Call(cpus, (size,), params.traffic, params.duration, width, nodes).step(f"{MEMORY}{width}", params)
        for width in chosen_widths(params, facts)
    ]
    for level, inside in _cache_sizes(params, context).items():
        steps.append(Call(cpus, (inside,), params.traffic, params.duration, "auto", nodes).step(level, params))
    return steps


def chosen_widths(params: MemoryProfileParams, facts: HostFacts) -> tuple[str, ...]:
    """The widths that are asked for, each once, or all that the host has."""
    return tuple(dict.fromkeys(params.widths)) or widths_of(facts)


def estimated_seconds(params: MemoryProfileParams, facts: HostFacts | None) -> float:
    """Each value to its time cap, beside trials; memory is mapped once for each width."""
    widths = len(params.widths) or (2 if facts is None else len(widths_of(facts)))
    caches = len(params.cache_sizes) or _CACHES
    each = len(params.traffic) * (params.duration + _TRIALS_S)
    mapping = widths * mapping_seconds(demanded_bytes(facts, params.data_size)) + caches * mapping_seconds(0)
    return (widths + caches) * each + mapping


def _cache_sizes(params: MemoryProfileParams, context: Context) -> Mapping[str, int]:
    """Bytes a thread by the name of the level: as given, as latency-sweep found them, or half of each cache."""
    facts, cpus = context.facts, usable_cpus(context.facts)
    if params.cache_sizes:
        return {f"cache-{format_size(size)}": size for size in dict.fromkeys(params.cache_sizes)}
    if params.data_size is None:
        found = level_sizes(context, facts, cpus)
        return {level: size for level, size in found.items() if level != MEMORY_LEVEL}
    return {
        f"L{cache.level}": max(LINE, cache.size_bytes // sharers(cache, cpus) // 2 // LINE * LINE)
        for cache in facts.data_caches()
        if cache.size_bytes > 0
    }


def measurements(params: MemoryProfileParams, runs: Mapping[str, KernelRun], facts: HostFacts) -> list[Measurement]:
    """Everything that the processes (by the name of their step) say."""
    points = {name: best_of(points_of(run)) for name, run in runs.items()}
    memory = {name: best for name, best in points.items() if name.startswith(MEMORY)}
    levels = {name: best for name, best in points.items() if name not in memory}
    if not memory:
        raise ValueError("the kernel stream measured no memory")
    cpus = usable_cpus(facts)
    found: list[Measurement] = []
    for name, best in memory.items():
        for point in best:
            flags = working_set_flags(facts, cpus, point.size)
            found += bandwidths(point, {"traffic": point.traffic, "width": name.removeprefix(MEMORY)}, flags)
    for traffic in dict.fromkeys(point.traffic for best in levels.values() for point in best):
        found += _of_caches(
            {name: point for name, best in levels.items() for point in best if point.traffic == traffic}
        )
    found += _sizes(memory, levels)
    everything = [point for best in points.values() for point in best]
    return found + circumstances(everything, runs[next(iter(memory))].meta, params)


def _of_caches(at_level: Mapping[str, Point]) -> list[Measurement]:
    """One kind of traffic: the fastest level stands for the caches, each level is a detail."""
    fastest = max(at_level, key=lambda level: at_level[level].useful.median)
    peak = at_level[fastest]
    at = {"traffic": peak.traffic}
    in_cycles = peak.useful.scaled(1.0 / peak.clock_hz)
    return [
        Measurement("peak_cache_bandwidth", peak.useful.median, dict(at), peak.useful, peak.flags),
        Measurement(f"peak_cache_bandwidth{PER_CYCLE}", in_cycles.median, dict(at), in_cycles, peak.flags),
        *(
            Measurement(
                "level_bandwidth",
                point.useful.median,
                {**at, "level": level},
                point.useful,
                (BEST, *point.flags) if level == fastest else point.flags,
                detail=True,
            )
            for level, point in at_level.items()
        ),
    ]


def _sizes(memory: Mapping[str, Sequence[Point]], levels: Mapping[str, Sequence[Point]]) -> list[Measurement]:
    point = next(iter(memory.values()))[0]
    found = [Measurement("threads", float(point.threads)), Measurement("data_size", float(point.size))]
    return found + [Measurement("data_size", float(best[0].size), {"level": level}) for level, best in levels.items()]


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
