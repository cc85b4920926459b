"""memory-profile: the peak memory bandwidth by access width and the peak cache bandwidth, with all CPUs running at
once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Final

from asct.instruments.memory.bandwidth import (
    OWN_COLUMNS,
    TRIALS_S,
    BandwidthBenchmark,
    traffic_bars,
    traffic_kinds,
    traffic_series,
)
from asct.instruments.memory.core_limits import LIMIT_FLAGS, limit_flags
from asct.instruments.memory.quantities import CACHES_BANDWIDTH, WIDTH_BANDWIDTH
from asct.instruments.memory.settings import LISTED, AutoSize, data_size_setting, duration_setting
from asct.instruments.memory.sizes import (
    LINE,
    MEMORY_LEVEL,
    demanded_bytes,
    level_size,
    level_sizes,
    local_nodes,
    mapping_seconds,
    optimum_size,
    sharers,
    working_set_flags,
)
from asct.instruments.memory.stream import (
    CIRCUMSTANCES,
    IN_TIME,
    PER_CYCLE,
    STREAM_FLAGS,
    THREADS,
    WIDTH_PITFALL,
    BandwidthStyle,
    StreamCall,
    StreamParams,
    StreamResult,
    WorkingSet,
    bandwidth_metrics,
    bandwidths,
    best_results,
    circumstances,
    stream_results,
    value_seconds,
)
from asct.instruments.memory.topology import usable_cpus
from asct.instruments.memory.traffic import TITLES, WORDS, Traffic, Width, width_title, widths_of
from asct.sdk.benchmark import Context
from asct.sdk.facts import HostFacts
from asct.sdk.figure import Column, Figure, Table
from asct.sdk.metric import Coords, Highlight, Metric
from asct.sdk.params import Duration, Sizes, setting
from asct.sdk.record import Measurement, Record, Scalar
from asct.sdk.rows import FLAGS_COLUMN, Row, at, by_point, flag_cell, flags_of, middle, point_rows
from asct.sdk.samples import KernelRun
from asct.sdk.step import Step
from asct.values.grouping import grouped
from asct.values.size import format_size

PROFILE: Final = ("all-reads", "3:1", "2:1", "1:1", "triad")
_MEMORY: Final = "memory-"
"""Label prefix for working sets in memory, which is followed by the access width."""
_CACHES: Final = 3
"""Number of cache levels assumed for the time estimate."""
_TRAFFIC: Final[Coords] = {"traffic": WORDS}
_BEST: Final = "best"
"""Flag on the fastest cache level, whose bandwidth is reported as the peak cache bandwidth."""
COUNTING: Final = (
    "All CPUs run at once. Values are medians over the windows of the fastest variant; MB = 10^6 bytes. Memory "
    "bandwidth counts bytes on the bus: the program's loads and stores, and the cache lines that a normal store "
    "is assumed to read first. Cache bandwidth counts the program's loads and stores."
)
_PROFILE_TITLES: Final = {**TITLES, "triad": "Stream-triad like"}


class MemoryProfileParams(StreamParams):
    """Settings for the traffic, the access widths and the working set."""

    traffic: Annotated[tuple[Traffic, ...], LISTED] = setting(
        PROFILE, "Access patterns to measure, one row each", min_length=1, max_length=13
    )
    widths: Annotated[tuple[Width, ...], LISTED] = setting(
        (),
        "Widths of loads and stores in bytes, one column each; if unset, all widths that the CPU supports",
        max_length=5,
        pitfalls=WIDTH_PITFALL,
    )
    data_size: AutoSize = data_size_setting()
    cache_sizes: Sizes = setting(
        (),
        "Working sets per CPU that fit into the caches; if unset, the sizes that latency-sweep found or, "
        "if `data_size` is set, half the size of each cache",
        max_length=8,
    )
    duration: Duration = duration_setting(0.1, "value")


class MemoryProfile(BandwidthBenchmark[MemoryProfileParams]):
    """A benchmark with one process and a thread on every usable CPU. It measures memory (with every access width) and
    every cache level."""

    name = "memory-profile"
    title = "Peak memory bandwidth by access width"
    version = "3"
    summary = (
        "Peak memory bandwidth with 16-, 32- and 64-byte accesses, and peak cache bandwidth, using all CPUs at once"
    )
    aliases = ("mp",)
    params_model = MemoryProfileParams
    flags = STREAM_FLAGS | LIMIT_FLAGS
    highlights = (
        Highlight("bandwidth", "All Reads", {"traffic": "all-reads", "width": None}),
        Highlight("bandwidth", "Highest bandwidth (useful bytes)", {"traffic": None, "width": None}),
        Highlight(
            "bus_bandwidth",
            "Highest bus bandwidth (including assumed reads for ownership)",
            {"traffic": None, "width": None},
        ),
        Highlight("peak_cache_bandwidth", "Highest cache bandwidth", {"traffic": None}),
    )
    quantities = (WIDTH_BANDWIDTH, CACHES_BANDWIDTH)
    metrics = (
        *bandwidth_metrics({**_TRAFFIC, "width": ("16", "32", "64", "sve", "auto")}),
        Metric(
            "peak_cache_bandwidth", "B/s", "higher", "Bandwidth of the fastest cache level (useful bytes)", _TRAFFIC
        ),
        Metric(
            "peak_cache_bandwidth_cycles",
            "B/cycle",
            "higher",
            "Useful bytes per core cycle at the fastest level",
            _TRAFFIC,
        ),
        Metric(
            "level_bandwidth",
            "B/s",
            "higher",
            "Bandwidth of each cache level (useful bytes)",
            {**_TRAFFIC, "level": None},
        ),
        Metric.info("data_size", "B", "Working set of each thread", {"level": None}),
        THREADS,
        *CIRCUMSTANCES,
    )

    def demand(self, params: MemoryProfileParams, facts: HostFacts | None) -> tuple[int, float]:
        """Return the memory that all threads need, in bytes, and the time to measure all values, in seconds."""
        demanded = demanded_bytes(facts, params.data_size)
        widths = len(params.widths) or (2 if facts is None else len(widths_of(facts)))
        caches = len(params.cache_sizes) or _CACHES
        each = len(params.traffic) * (value_seconds(params.duration) + TRIALS_S)
        return demanded, (widths + caches) * each + mapping_seconds(demanded)

    def processes(self, params: MemoryProfileParams, context: Context) -> Sequence[Step]:
        """Return the single process that measures all widths and cache levels.

        Raises LookupError if `data_size` is not set and latency-sweep found no DRAM level.
        """
        facts, cpus = context.facts, usable_cpus(context.facts)
        nodes = local_nodes(facts, cpus)
        size = params.data_size or level_size(facts, cpus, MEMORY_LEVEL, optimum_size(context))
        widths = tuple(dict.fromkeys(params.widths)) or widths_of(facts)
        sets = [WorkingSet(size, width, f"{_MEMORY}{width}") for width in widths]
        sets += [WorkingSet(inside, label=level) for level, inside in _cache_sizes(params, context).items()]
        return (StreamCall(cpus, sets, params.traffic, params.duration, nodes).step("stream", params),)

    def values(
        self, params: MemoryProfileParams, runs: Mapping[str, KernelRun], facts: HostFacts
    ) -> Sequence[Measurement]:
        """Return the memory bandwidths by access pattern and width, the cache bandwidths, the core clock and the page
        size."""
        run = next(iter(runs.values()))
        cpus = usable_cpus(facts)
        everything = [_limited(facts, cpus, result) for result in best_results(stream_results(run))]
        results = grouped(everything, lambda result: result.label)
        memory = {label: best for label, best in results.items() if label.startswith(_MEMORY)}
        levels = {label: best for label, best in results.items() if label not in memory}
        if not memory:
            raise ValueError("the `stream` kernel reported no result for memory")
        found: list[Measurement] = []
        for name, best in memory.items():
            for result in best:
                flags = working_set_flags(facts, cpus, result.size)
                found += bandwidths(result, {"traffic": result.traffic, "width": name.removeprefix(_MEMORY)}, flags)
        for traffic in dict.fromkeys(result.traffic for best in levels.values() for result in best):
            found += _of_caches(
                {name: result for name, best in levels.items() for result in best if result.traffic == traffic}
            )
        first = next(iter(memory.values()))[0]
        found += [Measurement("threads", float(first.threads)), Measurement("data_size", float(first.size))]
        found += [Measurement("data_size", float(best[0].size), {"level": level}) for level, best in levels.items()]
        return found + circumstances(everything, run.meta)

    def tables(self, records: Sequence[Record]) -> Sequence[Table]:
        """Return a table of each point's peaks (medians over the repeats)."""
        return (_table(records, self.style(records)),) if records else ()

    def figures(self, records: Sequence[Record]) -> Sequence[Figure]:
        """Return a bar chart of the memory bandwidth by access width, grouped by access pattern."""
        series = [
            traffic_series(mine, "bus_bandwidth", width_title(width), _PROFILE_TITLES, width=width)
            for mine in by_point(records)
            for width in _widths(mine)
        ]
        caption = (
            "All CPUs at once, each using memory on its own node. Medians of bytes on the memory bus, with 95 % "
            "intervals."
        )
        return traffic_bars("profile", "Peak memory bandwidths", caption, series)


def _cache_sizes(params: MemoryProfileParams, context: Context) -> Mapping[str, int]:
    """Return the number of bytes per thread for each level: as set, as found by latency-sweep, or half the cache
    size."""
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


def _limited(facts: HostFacts, cpus: Sequence[int], result: StreamResult) -> StreamResult:
    level = "" if result.label.startswith(_MEMORY) else result.label
    return replace(result, flags=(*result.flags, *limit_flags(facts, cpus, result, level)))


def _of_caches(at_level: Mapping[str, StreamResult]) -> list[Measurement]:
    """Return the peak cache bandwidth for one access pattern (the bandwidth of the fastest level), and the bandwidth of
    every level as a detail."""
    fastest = max(at_level, key=lambda level: at_level[level].useful.median)
    peak = at_level[fastest]
    coords = {"traffic": peak.traffic}
    in_cycles = peak.useful.scaled(1.0 / peak.clock_hz)
    found = [
        Measurement("peak_cache_bandwidth", peak.useful.median, dict(coords), peak.useful, peak.flags),
        Measurement(f"peak_cache_bandwidth{PER_CYCLE}", in_cycles.median, dict(coords), in_cycles, peak.flags),
    ]
    for level, result in at_level.items():
        flags = (_BEST, *result.flags) if level == fastest else result.flags
        at: dict[str, Scalar] = {**coords, "level": level}
        found.append(Measurement("level_bandwidth", result.useful.median, at, result.useful, flags, detail=True))
    return found


def _table(records: Sequence[Record], style: BandwidthStyle) -> Table:
    style = BandwidthStyle("MB/s", 1e6, style.suffix) if style is IN_TIME else style
    widths = _widths(records)
    columns = (
        Column("traffic", "Traffic", format="text"),
        *(Column(f"width{one}", f"{width_title(one)} loads/stores [{style.unit}]", style.scale) for one in widths),
        Column("cache", f"Peak Cache Bandwidth [{style.unit}]", style.scale),
        Column("level", "Cache level", format="text", help="Fastest cache level; the working set fits into it"),
        FLAGS_COLUMN,
    )

    def rows(mine: Sequence[Record]) -> list[Row]:
        return [_row(mine, traffic, widths, style.suffix) for traffic in traffic_kinds(mine)]

    all_columns, found = point_rows(records, columns, rows, OWN_COLUMNS)
    flags = flags_of(record for record in records if record.metric in ("bus_bandwidth", "peak_cache_bandwidth"))
    return Table("profile", "Peak memory bandwidths", all_columns, found, (COUNTING,) if found else (), flags)


def _row(mine: Sequence[Record], traffic: str, widths: Sequence[str], suffix: str) -> Row:
    memory = {width: at(mine, f"bus_bandwidth{suffix}", traffic=traffic, width=width) for width in widths}
    cache = at(mine, f"peak_cache_bandwidth{suffix}", traffic=traffic)
    levels = [r.coords["level"] for r in at(mine, "level_bandwidth", traffic=traffic) if _BEST in r.flags]
    return {
        "traffic": _PROFILE_TITLES[traffic],
        **{f"width{width}": middle(repeats) for width, repeats in memory.items()},
        "cache": middle(cache),
        "level": ", ".join(map(str, dict.fromkeys(levels))),
        **flag_cell([*cache, *(one for repeats in memory.values() for one in repeats)]),
    }


def _widths(records: Sequence[Record]) -> list[str]:
    return list(dict.fromkeys(str(record.coords["width"]) for record in records if record.metric == "bus_bandwidth"))


BENCHMARK = MemoryProfile()
