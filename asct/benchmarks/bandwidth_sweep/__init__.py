"""bandwidth-sweep: the bandwidth of each cache level and of memory, and the bandwidth over a range of working set
sizes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, ClassVar, Final, Literal

from asct.benchmarks.bandwidth_sweep.physics import BELOW_CURVE, FEW_LINES, curve_ends, flagged
from asct.instruments.memory.bandwidth import OWN_COLUMNS, BandwidthBenchmark, traffic_kinds
from asct.instruments.memory.core_limits import LIMIT_FLAGS, limit_flags
from asct.instruments.memory.quantities import BANDWIDTH_OF_LEVEL, CURVE_BANDWIDTH, CURVE_END
from asct.instruments.memory.settings import LISTED, Cpus, duration_setting, memory_node_setting
from asct.instruments.memory.sizes import (
    CACHE,
    LEVELS,
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
    IN_CYCLES,
    IN_TIME,
    STREAM_FLAGS,
    THREADS,
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
    working_sets,
)
from asct.instruments.memory.topology import UNBOUND, all_nodes, measuring_cpu, usable_cpus
from asct.instruments.memory.traffic import ARRAYS, TITLES, WORDS, Traffic
from asct.sdk.benchmark import Context, Dependency
from asct.sdk.facts import HostFacts
from asct.sdk.figure import Axis, Column, Figure, Line, Marker, Series, Table
from asct.sdk.metric import Metric
from asct.sdk.params import Duration, Size, Sizes, setting
from asct.sdk.record import Measurement, Record, Scalar
from asct.sdk.rows import (
    FLAGS_COLUMN,
    Row,
    at,
    by_point,
    flags_of,
    middle,
    point_rows,
    series_name,
    series_of,
    spread_cells,
)
from asct.sdk.samples import KernelRun
from asct.sdk.step import Output, Step
from asct.statistics.geometric import geometric_sizes

_CURVE: Final = "sweep"
"""Name of the step that measures the curve."""
_LEVELS_STEP: Final = "levels"
"""Name of the step that measures the levels."""
_USUAL_LEVELS: Final = 4
"""Number of levels assumed for the time estimate."""
# A loop handles 512 bytes of each array per iteration. With vectors longer than 64 bytes, it handles more, and the
# `stream` kernel reports how many.
_ITERATION_BYTES: Final = 512
# The sizes on the curve are multiples of this number of bytes.
_GRANULE: Final = 1024
# A size on the curve gets less time than a level, because there are many sizes, and levels are the main result.
_CURVE_PART: Final = 0.2
"""Time limit for a size on the curve, as a fraction of the time limit for a level."""
_FEW: Final = 64
"""Number of lines per thread below which starting and ending the loop takes a large part of the time."""
FLAGS: Final = {
    **STREAM_FLAGS,
    **LIMIT_FLAGS,
    BELOW_CURVE: "the cache level is more than 5 % slower than the fastest size on the curve that fits in the level: a "
    "disturbance, such as a program on the other hyperthread, slowed the measurement of the level",
    FEW_LINES: "fewer than 64 lines per thread: starting and ending the loop takes a large part of the time",
}
COUNTING: Final = (
    "Bandwidth counts the bytes that all threads together load and store; sizes are per thread. Bandwidth is the "
    "median over the windows of the fastest variant; Max is the value of the fastest window."
)


class BandwidthSweepParams(OneWidthParams):
    """Settings for the traffic, the CPUs and the sizes."""

    traffic: Annotated[tuple[Traffic, ...], LISTED] = setting(
        ("all-reads",), "Access patterns to measure, one curve each", min_length=1, max_length=13
    )
    threads: Literal["one", "all"] = setting(
        "one",
        "Threads: `one` (on the last usable CPU of the memory node), or `all` (one on each usable CPU)",
        pitfalls="Sizes are per thread; threads that share a cache divide it among themselves.",
    )
    cpus: Cpus = setting((), "CPUs to use, one thread each, for example `0,2-5`; overrides `threads`", max_length=1024)
    memory_node: int | None = memory_node_setting(
        "NUMA node whose memory is used; if unset, each CPU uses memory on its own node"
    )
    sizes: Sizes = setting(
        (),
        "Sizes per thread to measure, instead of those on the curve and those for the levels that latency-sweep found",
        aliases=("data_size",),
        max_length=256,
    )
    min_size: Size = setting(
        2048,
        "Smallest size on the curve",
        aliases=("min_data_size",),
        ge=512,
        le=1 << 40,
        pitfalls="With few lines, starting and ending the loop takes a large part of the time.",
    )
    max_size: Size = setting(
        1 << 28,
        "Largest size on the curve; the size for DRAM is chosen separately",
        aliases=("max_data_size",),
        ge=4096,
        le=1 << 40,
    )
    points_per_octave: int = setting(2, "Number of sizes on the curve per doubling", ge=1, le=16)
    duration: Duration = duration_setting(
        0.2,
        "",
        max_s=60,
        help="Time limit per access pattern and level, or per item in `sizes`; a size on the curve gets a fifth of "
        "this time",
    )


class BandwidthSweep(BandwidthBenchmark[BandwidthSweepParams]):
    """A benchmark that measures the levels found by latency-sweep, each at a size well inside the level, and a curve
    over a range of sizes."""

    name = "bandwidth-sweep"
    title = "Memory bandwidth sweep"
    version = "3"
    summary = "Bandwidth of each cache level and of memory, and bandwidth by working set size, with one or more threads"
    aliases = ("bs",)
    keywords = ("memory", "bandwidth", "sweep")
    default = True
    params_model = BandwidthSweepParams
    flags = FLAGS
    dependencies = (Dependency(CACHE.alias, CACHE.benchmark, ("sizes",)),)
    quantities = (BANDWIDTH_OF_LEVEL, CURVE_BANDWIDTH, CURVE_END)
    pictures: ClassVar[Mapping[str, str]] = {"bandwidth-curve": "bandwidth"}
    metrics = (
        *bandwidth_metrics({"level": LEVELS, "size": None, "traffic": WORDS}),
        Metric.info("data_size", "B", "Size at which a level was measured", {"level": LEVELS}),
        Metric.info(
            "curve_end",
            "B",
            "Working set at which the bandwidth of one thread is halfway, on a logarithmic scale, between that of this "
            "level and that of the next level",
            {"level": LEVELS},
        ),
        THREADS,
        *CIRCUMSTANCES,
    )

    def check(self, params: BandwidthSweepParams) -> Iterable[tuple[str, str]]:
        """Yield errors for empty ranges, arrays that are too small, and CPUs listed twice."""
        if not params.sizes and params.min_size >= params.max_size:
            yield "min_size", f"`min_size` ({params.min_size} B) must be less than `max_size` ({params.max_size} B)"
        smallest = _ITERATION_BYTES * max(ARRAYS[traffic] for traffic in params.traffic)
        if min(params.sizes, default=params.min_size) < smallest:
            name = "sizes" if params.sizes else "min_size"
            yield name, f"the arrays of this access pattern need at least {smallest} B in total"
        if len(set(params.cpus)) < len(params.cpus):
            yield "cpus", "a CPU is listed twice, but each CPU runs only one thread"

    def demand(self, params: BandwidthSweepParams, facts: HostFacts | None) -> tuple[int, float]:
        """Return the required memory in bytes (the largest size times the number of threads), and the sum, in seconds,
        of the time limits for all sizes and access patterns."""
        demanded = _demanded_bytes(params, facts)
        mapping = mapping_seconds(demanded)
        if params.sizes:
            return demanded, mapping + len(params.traffic) * len(params.sizes) * value_seconds(params.duration)
        kinds, curve = len(params.traffic), _curve_sizes(params, facts, ())
        once = kinds * len(curve) * value_seconds(params.duration * _CURVE_PART) + mapping
        each = kinds * _USUAL_LEVELS * value_seconds(params.duration) + mapping
        return demanded, once / self.expected(params) + each

    def processes(self, params: BandwidthSweepParams, context: Context) -> Sequence[Step]:
        """Return one process for all levels and one for the curve or, if the settings contain sizes, a single process
        for these sizes.

        Raises LookupError if no size is set and latency-sweep found no level.
        """
        facts, cpus = context.facts, _measuring_cpus(params, context.facts)
        nodes = (params.memory_node,) if params.memory_node is not None else local_nodes(facts, cpus)
        calls: dict[str, tuple[Sequence[WorkingSet], float]]
        if params.sizes:
            calls = {_CURVE: (working_sets(params.sizes, params.width), params.duration)}
        else:
            levels = level_sizes(context, facts, cpus)
            if not levels:
                raise LookupError(f"{CACHE.benchmark} found no levels on this host; set `sizes`")
            sets = [WorkingSet(size, params.width, level) for level, size in levels.items()]
            curve = working_sets(_curve_sizes(params, facts, cpus), params.width)
            calls = {_LEVELS_STEP: (sets, params.duration), _CURVE: (curve, params.duration * _CURVE_PART)}
        return [
            StreamCall(cpus, sets, params.traffic, cap_s, nodes or (UNBOUND,)).step(name, params)
            for name, (sets, cap_s) in calls.items()
        ]

    def repeated(self, processes: Sequence[Step]) -> Sequence[Step]:
        """Return the processes that are repeated in further visits, which are the ones that measure levels. The curve
        is measured only once, and its values are reported as details."""
        return [step for step in processes if step.name != _CURVE] or processes

    def values(
        self, params: BandwidthSweepParams, runs: Mapping[str, KernelRun], facts: HostFacts
    ) -> Sequence[Measurement]:
        """Return the bandwidth at each level and size, the core clock and the page size. If levels were measured, the
        bandwidths at individual sizes are details."""
        measured = {name: runs[name] for name in (_LEVELS_STEP, _CURVE) if name in runs}
        results = {name: best_results(stream_results(run)) for name, run in measured.items()}
        levels = results.get(_LEVELS_STEP, [])
        cpus = _measuring_cpus(params, facts)
        found: list[Measurement] = []
        for result in levels:
            flags = working_set_flags(facts, cpus, result.size) if result.label == MEMORY_LEVEL else ()
            flags = (*flags, *limit_flags(facts, cpus, result, result.label))
            found += bandwidths(result, {"level": result.label, "traffic": result.traffic}, flags)
        sizes = {result.label: float(result.size) for result in levels}
        found += [Measurement("data_size", size, {"level": level}) for level, size in sizes.items()]
        for result in results.get(_CURVE, ()):
            flags = (FEW_LINES,) if result.size < _FEW * LINE else ()
            flags = (*flags, *limit_flags(facts, cpus, result))
            found += bandwidths(result, {"size": result.size, "traffic": result.traffic}, flags, detail=bool(levels))
        everything = [result for best in results.values() for result in best]
        found.append(Measurement("threads", float(everything[0].threads)))
        return found + circumstances(everything, next(iter(measured.values())).meta)

    def parse(self, params: BandwidthSweepParams, outputs: Sequence[Output], facts: HostFacts) -> Sequence[Measurement]:
        """Return the values of all visits, flagging cache levels that are slower than the part of the curve inside
        them. For a single thread, the values include the sizes at which the curve leaves the levels. Several threads
        may share a cache, so their curve does not show where the cache ends.
        """
        found = flagged(super().parse(params, outputs, facts))
        alone = len(_measuring_cpus(params, facts)) <= 1
        return [*found, *(curve_ends(found, params.traffic[0]) if alone else ())]

    def tables(self, records: Sequence[Record]) -> Sequence[Table]:
        """Return a table of the levels or, if none were measured, of the sizes."""
        return (_table(records, self.style(records)),) if records else ()

    def figures(self, records: Sequence[Record]) -> Sequence[Figure]:
        """Return a figure that plots bandwidth against the size per thread, with one line per access pattern and
        point."""
        style = self.style(records)
        series = tuple(
            _series(mine, traffic, f"bandwidth{style.suffix}")
            for mine in by_point(records)
            for traffic in TITLES
            if any("size" in record.coords for record in at(mine, "bandwidth", traffic=traffic))
        )
        curve = Line(
            slug="bandwidth-curve",
            title="Bandwidth by working set size",
            caption=(
                "Bytes per second that all threads together load and store, by working set size per thread. "
                "Dotted lines mark the sizes at which the levels were measured. Bars are 95 % intervals."
            ),
            x=Axis("Working set per thread", "B", "log2"),
            y=Axis("Bandwidth", "B/cycle" if style is IN_CYCLES else "B/s", "log10", better="higher"),
            series=series,
            markers=_markers(records),
        )
        return (curve,) if series else ()


def _measuring_cpus(params: BandwidthSweepParams, facts: HostFacts) -> tuple[int, ...]:
    """Return the CPUs that run one thread each. If the host's CPUs are unknown, the result is empty, and the `stream`
    kernel uses the CPU on which it starts."""
    if params.cpus:
        return params.cpus
    if params.threads == "all":
        return usable_cpus(facts)
    cpu = measuring_cpu(facts, memory_node=params.memory_node)
    return () if cpu is None else (cpu,)


def _curve_sizes(params: BandwidthSweepParams, facts: HostFacts | None, cpus: Sequence[int]) -> list[int]:
    """Return sizes from `min_size` to `max_size`, or to the largest size that fits into memory."""
    high = params.max_size if facts is None else _fitted(params, facts, cpus, params.max_size)
    return geometric_sizes(params.min_size, max(params.min_size, high), params.points_per_octave, _GRANULE)


def _demanded_bytes(params: BandwidthSweepParams, facts: HostFacts | None) -> int:
    """Return the largest size times the number of threads. Sizes in the settings must fit into memory; other sizes are
    reduced if necessary."""
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


def _table(records: Sequence[Record], style: BandwidthStyle) -> Table:
    unit, scale, other = style.unit, style.scale, IN_TIME if style is IN_CYCLES else IN_CYCLES
    axis = "level" if any("level" in record.coords for record in records) else "size"
    columns = (
        Column("data_size", "Data size used", format="size", help="Per thread, all arrays combined"),
        Column("level", "Level", format="text"),
        Column("traffic", "Traffic", format="text"),
        Column(
            "bandwidth",
            f"Bandwidth [{unit}]",
            scale,
            help="Median, counting the bytes that the program loads and stores",
        ),
        Column(
            "other",
            f"Bandwidth [{other.unit}]",
            other.scale,
            digits=2,
            help="The same bandwidth in the other unit; cycles are core cycles",
        ),
        Column(
            "interval",
            f"95 % interval [{unit}]",
            format="text",
            help="Interval for the bandwidth; if there are several repeats, the range of their values",
        ),
        Column("max", f"Max [{unit}]", scale, help="Best window"),
        FLAGS_COLUMN,
    )

    def rows(mine: Sequence[Record]) -> list[Row]:
        return [_row(mine, axis, where, traffic, (style, other)) for where, traffic in _combinations(mine, axis)]

    all_columns, found = point_rows(records, columns, rows, OWN_COLUMNS)
    flags = flags_of(record for record in records if record.metric == "bandwidth" and axis in record.coords)
    notes = (COUNTING,) if found else ()
    return Table("levels", "Bandwidth at different levels of cache", all_columns, found, notes, flags)


def _row(
    mine: Sequence[Record], axis: str, where: Scalar, traffic: str, styles: tuple[BandwidthStyle, BandwidthStyle]
) -> Row:
    repeats, others = (at(mine, f"bandwidth{style.suffix}", **{axis: where, "traffic": traffic}) for style in styles)
    level = axis == "level"
    return {
        "data_size": middle(at(mine, "data_size", level=where)) if level else where,
        "level": where if level else None,
        "traffic": TITLES[traffic],
        "bandwidth": middle(repeats),
        "other": middle(others),
        **spread_cells(repeats, styles[0].scale),
    }


def _combinations(mine: Sequence[Record], axis: str) -> list[tuple[Scalar, str]]:
    """Return the levels (sorted by size) or sizes, each with its access patterns in the order of `TITLES`."""
    found = [record for record in at(mine, "bandwidth") if axis in record.coords]
    sizes = {record.coords["level"]: record.value for record in at(mine, "data_size")}
    kinds = traffic_kinds(found, "bandwidth")
    wheres = sorted({record.coords[axis] for record in found}, key=lambda where: float(sizes.get(where, 0) or where))
    return [
        (where, traffic)
        for where in wheres
        for traffic in kinds
        if at(found, "bandwidth", **{axis: where, "traffic": traffic})
    ]


def _series(mine: Sequence[Record], traffic: str, metric: str) -> Series:
    curve = [record for record in at(mine, metric, traffic=traffic) if "size" in record.coords]
    sizes = sorted({int(record.coords["size"]) for record in curve})
    groups = [at(curve, metric, size=size) for size in sizes]
    return series_of(series_name(TITLES[traffic], mine[0], OWN_COLUMNS), sizes, groups)


def _markers(records: Sequence[Record]) -> tuple[Marker, ...]:
    sizes = {str(record.coords["level"]): record.value for record in at(records, "data_size")}
    return tuple(Marker(size, level, "hint") for level, size in sorted(sizes.items(), key=lambda item: item[1]))


BENCHMARK = BandwidthSweep()
