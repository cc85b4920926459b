"""The results of the first visit in latency-sweep: the curve, the levels and their ends, and the sizes to measure
again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from asct.benchmarks.latency_sweep.command import LOCAL, LOCAL_MOST, VISITED_MOST, WINDOW, missing_sizes
from asct.instruments.memory.chase import ChaseLatency, chase_flags, chase_latency
from asct.instruments.memory.kernel_flags import many_dropped
from asct.instruments.memory.sizes import CACHES, MEMORY_LEVEL
from asct.sdk.samples import KernelRun, number
from asct.statistics.level_ends import LevelEnd, find_end
from asct.statistics.level_names import CacheHint
from asct.statistics.levels import OPEN_END, LevelSearch, MemoryLevel, find_levels
from asct.statistics.robust import median

if TYPE_CHECKING:
    from asct.sdk.facts import HostFacts
    from asct.sdk.step import Output

FEW_LINES: Final = 8
_VISITED_SIZES: Final = 3
_FLAT: Final = 0.02
"""A size belongs to the flat part of its level if its latency differs from the latency of the level by at most this
fraction."""


@dataclass(frozen=True, slots=True)
class SizeLatency:
    """The result for one size, with its flags."""

    chase: ChaseLatency
    flags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LevelSurvey:
    """The runs of the first visit, their points by size, the levels, the end of each cache by name, and the points of
    the local chain (empty if it was not measured)."""

    runs: tuple[KernelRun, ...]
    facts: HostFacts
    points: Mapping[int, SizeLatency]
    search: LevelSearch
    ends: Mapping[str, LevelEnd]
    local: Mapping[int, ChaseLatency]

    def sizes_to_add(self) -> tuple[int, ...]:
        """Return the sizes to measure next to bounds that are still coarse."""
        return missing_sizes(self.search.levels, self.points, self._granule())

    def local_range(self) -> tuple[int, int] | None:
        """Return the range of sizes in which a cache may end beyond the reach of the TLB, or None if there is no such
        range."""
        levels = self.search.levels
        ends = [*(level.lower for level in levels[1:]), max(self.points)]
        far = [end for level, end in zip(levels, ends, strict=False) if level.name != MEMORY_LEVEL and end > WINDOW]
        if not far or 4 * self._granule() > WINDOW:
            return None
        return WINDOW // 2, min(2 * max(far), max(self.points), LOCAL_MOST)

    def sizes_to_visit(self) -> tuple[int, ...]:
        """Return the sizes that every visit measures: the sizes of the levels, and the part of the curve whose chains
        are quick to build.

        Without levels, the curve is the result, and every visit measures all of it.
        """
        if not self.search.levels:
            return tuple(sorted(self.points))
        return tuple(sorted({*(size for size in self.points if size <= VISITED_MOST), *self.sizes_of_levels()}))

    def sizes_of_levels(self) -> tuple[int, ...]:
        """Return the sizes that determine the latencies of the levels or, without levels, the whole curve."""
        if not self.search.levels:
            return self.sizes_to_visit()
        return tuple(sorted({size for level in self.search.levels for size in inside(level)}))

    def _granule(self) -> int:
        return int(number(self.runs[0].meta, "stride"))


def survey_of(runs: Iterable[tuple[Output, KernelRun]], facts: HostFacts) -> LevelSurvey:
    """Return the results of the processes of the first visit. Raises ValueError if they measured nothing."""
    named = {output.step.name: run for output, run in runs}
    return survey([run for name, run in named.items() if name != LOCAL], named.get(LOCAL), facts)


def survey(runs: Sequence[KernelRun], local: KernelRun | None, facts: HostFacts) -> LevelSurvey:
    """Return the curve of `runs`, its levels, and the ends of the levels. `local` contains the runs of the local chain,
    which makes it possible to distinguish the ends of the levels from the reach of the TLB. Reported caches are those
    of the CPU that ran the chain."""
    points = size_latencies(runs)
    if not points:
        raise ValueError("the `chase` kernel reported no sizes")
    meta, facts = runs[0].meta, facts.seen_from(int(number(runs[0].meta, "cpu")))
    search = search_levels(points, int(number(meta, "stride")), facts)
    near = {size: point.chase for size, point in size_latencies([local] if local else []).items()}
    return LevelSurvey(tuple(runs), facts, points, search, _ends(search.levels, points, near), near)


def _ends(
    levels: Sequence[MemoryLevel], points: Mapping[int, SizeLatency], near: Mapping[int, ChaseLatency]
) -> dict[str, LevelEnd]:
    main = {size: point.chase.cycles.median for size, point in points.items()}
    local = {size: chase.cycles.median for size, chase in near.items()}
    limits: list[int | None] = [*(level.lower for level in levels[1:]), None]
    return {
        level.name: find_end(level, limit, main, local, WINDOW)
        for level, limit in zip(levels, limits, strict=False)
        if level.name != MEMORY_LEVEL
    }


def inside(level: MemoryLevel) -> list[int]:
    """Return the sizes of a level that every visit measures.

    For DRAM, this is only the optimum size, which other benchmarks use to measure memory. For a cache, the result
    contains up to three sizes from its flat part, spread over the lower half of the cache's range.
    """
    if level.name == MEMORY_LEVEL:
        return [level.optimum]
    flat = [
        size
        for size, latency in zip(level.sizes, level.latencies, strict=True)
        if abs(latency - level.latency) <= _FLAT * level.latency
    ]
    small = [size for size in flat if size <= level.optimum] or flat[:1]
    return small[:: max(1, len(small) // _VISITED_SIZES)][-_VISITED_SIZES:]


def size_latencies(runs: Sequence[KernelRun]) -> dict[int, SizeLatency]:
    """Return the result for every size that was measured in any of the runs. If a size was measured twice, the first
    result is used."""
    points: dict[int, SizeLatency] = {}
    for run in runs:
        for point in (_point(sample, run.end) for sample in run.samples):
            points.setdefault(point.chase.size, point)
    return points


def search_levels(points: Mapping[int, SizeLatency], granule: int, facts: HostFacts) -> LevelSearch:
    """Search for the levels in the curve. Sizes of only a few lines never form a level."""
    found = find_levels(
        {size: point.chase.latency.median for size, point in points.items()},
        hints=cache_hints(facts),
        uncertain={size for size, point in points.items() if point.chase.lines <= FEW_LINES},
        granule=granule,
    )
    levels = (*found.levels, *_rising_memory(found, points, facts))
    return replace(found, levels=tuple(_in_memory(level, facts) for level in levels))


def _rising_memory(found: LevelSearch, points: Mapping[int, SizeLatency], facts: HostFacts) -> tuple[MemoryLevel, ...]:
    """Return a DRAM level without a plateau: the sizes that are at least `CACHES` times as large as the largest cache,
    if the latency is still rising at the end of the curve.

    Most loads from such a working set reach DRAM, and other benchmarks need a size that measures DRAM. The result is
    empty if the sizes are smaller or the host reports no caches.
    """
    largest = max((cache.size_bytes for cache in facts.data_caches()), default=0)
    sizes = tuple(size for size in sorted(points) if size >= CACHES * largest and size not in found.suspects)
    if not found.levels or OPEN_END not in found.notes or not largest or not sizes:
        return ()
    lower, upper, below = sizes[0], sizes[-1], max(size for size in points if size < sizes[0])
    latencies = tuple(points[size].chase.latency.median for size in sizes)
    return (MemoryLevel(MEMORY_LEVEL, lower, upper, upper, median(latencies), sizes, latencies, below=below),)


def _in_memory(level: MemoryLevel, facts: HostFacts) -> MemoryLevel:
    """Return the DRAM level with a size from the grid as its optimum, so that every run measures the same size.

    The optimum is the size nearest to the middle of the range, among those that are at least `CACHES` times as large as
    the largest cache.
    """
    if level.name != MEMORY_LEVEL:
        return level
    largest = max((cache.size_bytes for cache in facts.data_caches()), default=0)
    fitting = [size for size in level.sizes if size >= CACHES * largest] or [max(level.sizes)]
    return replace(level, optimum=min(fitting, key=lambda size: abs(size - level.optimum)))


def cache_hints(facts: HostFacts) -> tuple[CacheHint, ...]:
    """Return the data caches that the host reports. A cache shared only by threads of one core is treated as
    private."""
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
        "switched": many_dropped(found.latency.n, found.latency.dropped or 0),
    }
    flags = (*chase_flags(found, end), *(flag for flag, holds in marks.items() if holds))
    return SizeLatency(found, flags)
