"""Converts the samples of the kernel chase to measurements: the curve, the levels, the clock, the reported caches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from asct.benchmarks.latency_sweep.command import COARSE_BOUND, is_lowered, missing_sizes
from asct.instruments.memory.chase import ChaseLatency, chase_flags, chase_latency
from asct.instruments.memory.kernel_flags import (
    many_dropped,
    noise_flags,
    page_flags,
)
from asct.instruments.memory.settings import CYCLE_BASE
from asct.sdk.record import Measurement, Scalar
from asct.sdk.samples import KernelRun, number, stats_of
from asct.statistics.level_names import CacheHint
from asct.statistics.levels import LevelSearch, MemoryLevel, find_levels

if TYPE_CHECKING:
    from asct.benchmarks.latency_sweep.command import LatencySweepParams
    from asct.sdk.facts import HostFacts

NO_LEVELS: Final = "no-levels"

NOTES: Final = {
    "flat-curve": "the latency is the same at all sizes (an emulator, or a range within one cache)",
    "steady-rise": "the latency grows without steps (typical of an emulator); the figure shows the raw values",
    "one-plateau": "only one range of sizes has a steady latency; a wider sweep may show more",
    "too-many-plateaus": "the curve has more steps than a memory hierarchy: disturbances, or TLB steps with 4K pages",
    "few-sizes": "too few sizes were measured to find levels",
    "disturbed": "more than a quarter of the sizes were disturbed: repeat on an idle host",
    "scattered": "latencies vary too much between sizes: repeat on an idle host",
    "shoulder": "between levels the latency rises more slowly without forming a plateau; this does not count as a "
    "level",
    "open-end": "the latency still rises at the largest size: raise max_size to reach the next level",
    "ends-in-cache": "the largest size still fits into a cache that the host reports: raise max_size to reach DRAM",
    "smaller-memory": "too little free memory for working sets up to 1 GiB: the sweep ends at the largest size that "
    "fits",
    "cache-without-plateau": "a cache that the host reports shows no plateau: it is shared with other programs, or "
    "hidden by another level",
}
"""Reasons why no levels were found, and notes on the search."""

NO_LEVELS_HINT: Final = (
    "No levels were found, so other benchmarks have no sizes to use. Set their `data_size`; they then do not need "
    "latency-sweep."
)


FEW_LINES: Final = 8
FRACTION: Final = "noisy-fraction"
"""Flag of an L1 latency that is not a whole number of core cycles."""
_FRACTION: Final = 0.01
_VISITED_SIZES: Final = 3
_FLAT: Final = 0.02
"""Sizes this near to the latency of a level are its flat part."""
_NOISY_LEVEL: Final = 0.05
"""A level is noisy if its latencies scatter by more from size to size, or if the interval of most sizes is wider."""
_PRIVATE: Final = ("L1", "L2")
"""Levels that only programs on the same core use. Other programs always use part of the shared levels, so a steady
latency may still be 10 % above the latency of an idle host."""


@dataclass(frozen=True, slots=True)
class SizeLatency:
    """The result for one size, with its flags."""

    chase: ChaseLatency
    flags: tuple[str, ...]


def measurements(params: LatencySweepParams, runs: Sequence[KernelRun], facts: HostFacts) -> list[Measurement]:
    """Return all measurements from the runs of the kernel. Raises ValueError for an invalid sample."""
    points = size_latencies(runs)
    if not points:
        raise ValueError("the kernel chase measured no size")
    meta = runs[0].meta
    search = search_levels(points, int(number(meta, "stride")), facts)
    found = [item for size in sorted(points) for item in _of_size(points[size], search)]
    found += [item for level in search.levels for item in _of_level(level, points, runs[0].end)]
    found.append(Measurement("levels", float(len(search.levels)), flags=_search_flags(params, search, facts)))
    found.append(_clock(points.values()))
    found.append(Measurement("page_size", number(meta, "page_bytes"), flags=page_flags(meta)))
    return found + _caches(facts)


def sizes_to_add(run: KernelRun, facts: HostFacts) -> tuple[int, ...]:
    """Return the sizes to measure beside bounds that are still coarse."""
    points, granule = size_latencies([run]), int(number(run.meta, "stride"))
    return missing_sizes(search_levels(points, granule, facts).levels, points, granule)


def sizes_to_visit(first: Sequence[KernelRun], facts: HostFacts) -> tuple[int, ...]:
    """Some sizes of each level that the first visit found; empty if it found none."""
    search = search_levels(size_latencies(first), int(number(first[0].meta, "stride")), facts)
    return tuple(sorted({size for level in search.levels for size in _inside(level)}))


def levels_again(
    first: Sequence[KernelRun], again: Sequence[KernelRun], facts: HostFacts
) -> list[Sequence[Measurement]]:
    """The latencies of the levels in each visit after the first."""
    search = search_levels(size_latencies(first), int(number(first[0].meta, "stride")), facts)
    visits = [(size_latencies([run]), run.end) for run in again]
    return [[item for level in search.levels for item in _latency_of(level, points, end)] for points, end in visits]


def size_latencies(runs: Sequence[KernelRun]) -> dict[int, SizeLatency]:
    """Return the sizes of all runs; if a size was measured twice, the first result."""
    points: dict[int, SizeLatency] = {}
    for run in runs:
        for point in (_point(sample, run.end) for sample in run.samples):
            points.setdefault(point.chase.size, point)
    return points


def search_levels(points: Mapping[int, SizeLatency], granule: int, facts: HostFacts) -> LevelSearch:
    """Search the levels of the curve; sizes of a few lines form none."""
    return find_levels(
        {size: point.chase.latency.median for size, point in points.items()},
        hints=cache_hints(facts),
        uncertain={size for size, point in points.items() if point.chase.lines <= FEW_LINES},
        granule=granule,
    )


def cache_hints(facts: HostFacts) -> tuple[CacheHint, ...]:
    """Return the data caches that the host reports. A cache that only threads of one core share counts as private."""
    threads = facts.cpu.threads_per_core or 1
    return tuple(
        CacheHint(cache.level, cache.size_bytes, cache.level > 1 and len(cache.shared_cpus) > threads)
        for cache in facts.data_caches()
        if cache.size_bytes > 0
    )


def _point(sample: Mapping[str, Any], end: Mapping[str, Any]) -> SizeLatency:
    found = chase_latency(sample)
    marks = {
        "few-lines": found.lines <= FEW_LINES,
        "switched": many_dropped(found.latency.n, found.dropped),
    }
    flags = (*chase_flags(found, end), *(flag for flag, holds in marks.items() if holds))
    return SizeLatency(found, flags)


def _of_size(point: SizeLatency, search: LevelSearch) -> list[Measurement]:
    """A size is a detail if levels were found; otherwise the curve is the result."""
    suspicion = search.suspects.get(point.chase.size)
    flags = (*point.flags, suspicion) if suspicion else point.flags
    spreads = {"latency": point.chase.latency, "latency_cycles": point.chase.cycles}
    return [
        Measurement(metric, stats.median, {"size": point.chase.size}, stats, flags, detail=bool(search.levels))
        for metric, stats in spreads.items()
    ]


def _of_level(level: MemoryLevel, points: Mapping[int, SizeLatency], end: Mapping[str, Any]) -> list[Measurement]:
    """The level as the whole curve shows it; the latency is that of the sizes that every visit measures."""
    at: dict[str, Scalar] = {"level": level.name}
    scattered = ("noisy",) if level.scatter > _NOISY_LEVEL else ()
    return [
        *_latency_of(level, points, end, scattered),
        Measurement("lower_bound", float(level.lower), dict(at), flags=_gap_flags(level.lower_gap)),
        Measurement("upper_bound", float(level.upper), dict(at), flags=_gap_flags(level.upper_gap)),
        Measurement("optimum_size", float(level.optimum), dict(at)),
    ]


def _latency_of(
    level: MemoryLevel, points: Mapping[int, SizeLatency], end: Mapping[str, Any], flags: tuple[str, ...] = ()
) -> list[Measurement]:
    """Latency of a level in one visit: the median over its sizes to visit."""
    at: dict[str, Scalar] = {"level": level.name}
    mine = [points[size] for size in _inside(level) if size in points]
    noise = () if level.name in _PRIVATE else noise_flags(end)
    in_time = stats_of([point.chase.latency.median for point in mine], independent=False)
    in_cycles = stats_of([point.chase.cycles.median for point in mine], independent=False)
    flags = tuple(dict.fromkeys((*noise, *flags, *_fraction_flags(level, in_cycles.median))))
    return [
        Measurement("latency", in_time.median, dict(at), in_time, flags),
        Measurement("latency_cycles", in_cycles.median, dict(at), in_cycles, flags),
    ]


def _inside(level: MemoryLevel) -> list[int]:
    """The sizes of a level that every visit measures: up to three of its flat part, spread over the smaller half."""
    flat = [
        size
        for size, latency in zip(level.sizes, level.latencies, strict=True)
        if abs(latency - level.latency) <= _FLAT * level.latency
    ]
    small = [size for size in flat if size <= level.optimum] or flat[:1]
    return small[:: max(1, len(small) // _VISITED_SIZES)][-_VISITED_SIZES:]


def _fraction_flags(level: MemoryLevel, cycles: float) -> tuple[str, ...]:
    """A load from the first level takes a whole number of core cycles; another value is that of a disturbed core."""
    return (FRACTION,) if level.name == "L1" and abs(cycles - round(cycles)) > _FRACTION * cycles else ()


def _gap_flags(gap: float | None) -> tuple[str, ...]:
    return ("coarse-bound",) if gap is not None and gap > COARSE_BOUND else ()


def _search_flags(params: LatencySweepParams, search: LevelSearch, facts: HostFacts) -> tuple[str, ...]:
    found = [NO_LEVELS, search.cause] if search.cause else list(search.notes)
    marks = {"smaller-memory": is_lowered(params, facts), CYCLE_BASE: params.cycle_base}
    return (*found, *(flag for flag, holds in marks.items() if holds))


def _clock(points: Iterable[SizeLatency]) -> Measurement:
    clock = stats_of([point.chase.clock_hz for point in points])
    return Measurement("core_clock", clock.median, stats=clock)


def _caches(facts: HostFacts) -> list[Measurement]:
    sizes = {f"L{cache.level}": cache.size_bytes for cache in facts.data_caches() if cache.size_bytes > 0}
    return [Measurement("cache_size", float(size), {"level": name}) for name, size in sizes.items()]
