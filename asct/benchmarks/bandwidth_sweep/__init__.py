"""bandwidth-sweep: bandwidth at each cache level and of memory, and over the working set."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Final, Literal

from pydantic import Field

from asct.benchmarks.bandwidth_sweep.tables import FEW_LINES, FLAGS, bandwidth_curve, bandwidth_table
from asct.instruments.memory.bandwidth import BandwidthBenchmark
from asct.instruments.memory.settings import INTEGERS, LISTED, duration_setting, memory_node_setting
from asct.instruments.memory.sizes import (
    CACHE,
    CACHE_LEVELS,
    LINE,
    MEMORY_LEVEL,
    fitted,
    level_sizes,
    local_nodes,
    local_sizes,
    mapping_seconds,
    working_set_flags,
)
from asct.instruments.memory.stream import (
    CIRCUMSTANCES,
    OneWidthParams,
    StreamCall,
    bandwidth_metrics,
    bandwidths,
    best_results,
    circumstances,
    stream_results,
)
from asct.instruments.memory.topology import UNBOUND, all_nodes, measuring_cpu, usable_cpus
from asct.instruments.memory.traffic import ARRAYS, WORDS, Traffic
from asct.sdk.benchmark import Context, Dependency
from asct.sdk.facts import HostFacts
from asct.sdk.figure import Figure, Table
from asct.sdk.metric import Metric
from asct.sdk.params import Duration, Size, setting
from asct.sdk.record import Measurement, Record
from asct.sdk.samples import KernelRun
from asct.sdk.step import Step
from asct.statistics.geometric import geometric_sizes

Cpu = Annotated[int, Field(ge=0, le=65535)]

_CURVE: Final = "sweep"
"""The step of the curve; the others have the name of a level."""
_LEVELS: Final = (*CACHE_LEVELS, MEMORY_LEVEL)
_USUAL_LEVELS: Final = 4
"""Number of levels assumed for the estimate."""
# A loop handles 512 bytes of each array per iteration; with vectors longer than 64 bytes more, which the kernel
# reports.
_ITERATION_BYTES: Final = 512
# Sizes are multiples of 1 KiB, so that traffic with two arrays and with three divides them into complete lines.
_GRANULE: Final = 1024
# The curve has many sizes, and the levels, which summarize it, are measured separately.
_CURVE_PART: Final = 0.2
"""Share of the time of a level that each size of the curve has."""
_TRIALS_S: Final = 0.01
_FEW: Final = 64
"""Lines per thread: with fewer, starting and ending the loop takes a large part of the time."""


class BandwidthSweepParams(OneWidthParams):
    """Traffic, CPUs and sizes."""

    traffic: Annotated[tuple[Traffic, ...], LISTED] = setting(
        ("all-reads",), "Kinds of traffic, one curve each", min_length=1, max_length=13
    )
    threads: Literal["one", "all"] = setting(
        "one",
        "One thread on the last usable CPU of the memory node, or one on each usable CPU",
        pitfalls="Sizes are per thread; threads that share a cache have their part of it.",
    )
    cpus: Annotated[tuple[Cpu, ...], INTEGERS] = setting(
        (), "CPUs to use instead, one thread each: `0,2-5`", max_length=1024
    )
    memory_node: int | None = memory_node_setting("NUMA node of the memory; unset: the node of each CPU")
    sizes: Annotated[tuple[Size, ...], LISTED] = setting(
        (),
        "Sizes per thread to measure instead of the levels of latency-sweep and the curve",
        aliases=("data_size",),
        max_length=256,
    )
    min_size: Size = setting(
        2048,
        "Smallest size of the curve",
        aliases=("min_data_size",),
        ge=512,
        le=1 << 40,
        pitfalls="With few lines, starting and ending the loop takes a large part of the time.",
    )
    max_size: Size = setting(
        1 << 28,
        "Largest size of the curve; memory is measured at a size of its own",
        aliases=("max_data_size",),
        ge=4096,
        le=1 << 40,
    )
    points_per_octave: int = setting(2, "Sizes of the curve per doubling", ge=1, le=16)
    duration: Duration = duration_setting(
        0.2,
        "",
        max_s=60,
        help="Time limit for a level, or a size that is set, with one kind of traffic; sizes of the curve have a fifth",
    )


class BandwidthSweep(BandwidthBenchmark[BandwidthSweepParams]):
    """Each level at the size that latency-sweep found well inside it, and a curve over sizes."""

    name = "bandwidth-sweep"
    title = "Memory bandwidth sweep"
    version = "1"
    summary = "Bandwidth of each cache level and of memory, and by working set size, with one or many threads"
    aliases = ("bs",)
    keywords = ("memory", "bandwidth", "sweep")
    default = True
    params_model = BandwidthSweepParams
    flags = FLAGS
    dependencies = (Dependency(CACHE.alias, CACHE.benchmark, ("sizes",)),)
    metrics = (
        *bandwidth_metrics({"level": _LEVELS, "size": None, "traffic": WORDS}),
        Metric("data_size", "B", "neither", "Size at which a level was measured", {"level": _LEVELS}, comparable=False),
        Metric("threads", "1", "neither", "Concurrent threads, one per CPU", comparable=False),
        *CIRCUMSTANCES,
    )

    def check(self, params: BandwidthSweepParams) -> Iterable[tuple[str, str]]:
        """Empty ranges, arrays that are too small, CPUs listed twice."""
        if not params.sizes and params.min_size >= params.max_size:
            yield "min_size", f"min_size ({params.min_size} B) is not below max_size ({params.max_size} B)"
        smallest = _ITERATION_BYTES * max(ARRAYS[traffic] for traffic in params.traffic)
        if min(params.sizes, default=params.min_size) < smallest:
            name = "sizes" if params.sizes else "min_size"
            yield name, f"the arrays of this traffic need {smallest} B together"
        if len(set(params.cpus)) < len(params.cpus):
            yield "cpus", "a CPU is listed twice; each CPU runs one thread"

    def demand(self, params: BandwidthSweepParams, facts: HostFacts | None) -> tuple[int, float]:
        """Memory of the largest size for all threads; each size of each kind of traffic up to its time limit."""
        demanded = _demanded_bytes(params, facts)
        mapping = mapping_seconds(demanded)
        if params.sizes:
            return demanded, mapping + len(params.traffic) * len(params.sizes) * (params.duration + _TRIALS_S)
        curve = _curve_sizes(params, facts, ())
        each = _USUAL_LEVELS * (params.duration + _TRIALS_S)
        each += len(curve) * (params.duration * _CURVE_PART + _TRIALS_S)
        return demanded, len(params.traffic) * each + _USUAL_LEVELS * mapping_seconds(0) + 2 * mapping

    def processes(self, params: BandwidthSweepParams, context: Context) -> Sequence[Step]:
        """A process for each level and one for the curve, or one for the sizes that are set.

        Raises LookupError when no size is set and latency-sweep found no level.
        """
        facts, cpus = context.facts, _measuring_cpus(params, context.facts)
        nodes = (params.memory_node,) if params.memory_node is not None else local_nodes(facts, cpus)
        if params.sizes:
            calls: dict[str, tuple[Sequence[int], float]] = {_CURVE: (params.sizes, params.duration)}
        else:
            levels = level_sizes(context, facts, cpus)
            if not levels:
                raise LookupError(f"{CACHE.benchmark} found no levels on this host; set `sizes`")
            calls = {name: ((size,), params.duration) for name, size in levels.items()}
            calls[_CURVE] = _curve_sizes(params, facts, cpus), params.duration * _CURVE_PART
        return [
            StreamCall(cpus, sizes, params.traffic, cap_s, params.width, nodes or (UNBOUND,)).step(name, params)
            for name, (sizes, cap_s) in calls.items()
        ]

    def values(
        self, params: BandwidthSweepParams, runs: Mapping[str, KernelRun], facts: HostFacts
    ) -> Sequence[Measurement]:
        """Bandwidths of levels and sizes, core clock and page size. Sizes are details where levels were measured."""
        results = {name: best_results(stream_results(run)) for name, run in runs.items()}
        levels = [name for name in results if name != _CURVE]
        cpus = _measuring_cpus(params, facts)
        found: list[Measurement] = []
        for level in levels:
            for result in results[level]:
                flags = working_set_flags(facts, cpus, result.size) if level == MEMORY_LEVEL else ()
                found += bandwidths(result, {"level": level, "traffic": result.traffic}, flags)
            found.append(Measurement("data_size", float(results[level][0].size), {"level": level}))
        for result in results[_CURVE]:
            flags = (FEW_LINES,) if result.size < _FEW * LINE else ()
            found += bandwidths(result, {"size": result.size, "traffic": result.traffic}, flags, detail=bool(levels))
        everything = [result for best in results.values() for result in best]
        found.append(Measurement("threads", float(everything[0].threads)))
        return found + circumstances(everything, runs[_CURVE].meta, params)

    def tables(self, records: Sequence[Record]) -> Sequence[Table]:
        """The levels."""
        return (bandwidth_table(records),) if records else ()

    def figures(self, records: Sequence[Record]) -> Sequence[Figure]:
        """The curve."""
        curve = bandwidth_curve(records)
        return () if curve is None else (curve,)


def _measuring_cpus(params: BandwidthSweepParams, facts: HostFacts) -> tuple[int, ...]:
    """One thread runs on each; empty where the CPUs of the host are unknown: the kernel uses the one it starts on."""
    if params.cpus:
        return params.cpus
    if params.threads == "all":
        return usable_cpus(facts)
    cpu = measuring_cpu(facts, memory_node=params.memory_node)
    return () if cpu is None else (cpu,)


def _curve_sizes(params: BandwidthSweepParams, facts: HostFacts | None, cpus: Sequence[int]) -> list[int]:
    """From min_size to max_size, or to what fits into memory."""
    high = params.max_size if facts is None else _fitted(params, facts, cpus, params.max_size)
    return geometric_sizes(params.min_size, max(params.min_size, high), params.points_per_octave, _GRANULE)


def _demanded_bytes(params: BandwidthSweepParams, facts: HostFacts | None) -> int:
    """Memory of the largest size for all threads: sizes that are set must fit, others are reduced to fit."""
    if facts is None:
        return max(params.sizes, default=params.max_size)
    cpus = _measuring_cpus(params, facts)
    largest = max(params.sizes) if params.sizes else _fitted(params, facts, cpus, params.max_size)
    return largest * max(1, len(cpus))


def _fitted(params: BandwidthSweepParams, facts: HostFacts, cpus: Sequence[int], size: int) -> int:
    if params.memory_node is None:
        return local_sizes(facts, cpus, size)
    bound = [node for node in all_nodes(facts) if node.id == params.memory_node]
    return min((fitted(size, node, len(cpus)) for node in bound), default=size)


BENCHMARK = BandwidthSweep()
