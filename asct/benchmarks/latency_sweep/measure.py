"""Convert the samples of the `chase` kernel to measurements: the curve, the levels, the clock and the reported
caches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from asct.benchmarks.latency_sweep.command import COARSE_BOUND, is_lowered
from asct.benchmarks.latency_sweep.survey import LevelSurvey, SizeLatency, cache_hints, inside, size_latencies
from asct.instruments.memory.kernel_flags import noise_flags, page_flags
from asct.instruments.memory.sizes import MEMORY_LEVEL
from asct.sdk.record import Measurement, Scalar
from asct.sdk.samples import KernelRun, number, pooled, stats_of
from asct.statistics.level_ends import LevelEnd
from asct.statistics.level_names import CacheHint
from asct.statistics.levels import OPEN_END, LevelSearch, MemoryLevel
from asct.statistics.robust import median

if TYPE_CHECKING:
    from asct.benchmarks.latency_sweep.command import LatencySweepParams
    from asct.sdk.facts import HostFacts

NO_LEVELS: Final = "no-levels"
UNLIKE_REPORTED: Final = "unlike-reported"

NOTES: Final = {
    "flat-curve": "the latency is the same at all sizes (typical of an emulator, or of sizes within one cache)",
    "steady-rise": "the latency grows without steps (typical of an emulator); the figure shows the raw values",
    "one-plateau": "only one range of sizes has a steady latency; a wider sweep may show more",
    "too-many-plateaus": "the curve has more steps than a memory hierarchy can have; possible causes are disturbances "
    "or, with 4K pages, TLB misses",
    "few-sizes": "too few sizes were measured to find levels",
    "disturbed": "more than a quarter of the sizes were disturbed: repeat the measurement on an idle host",
    "scattered": "latencies vary too much between sizes: repeat the measurement on an idle host",
    "shoulder": "between levels, the latency rises more slowly without forming a plateau; this is not treated as a "
    "level",
    OPEN_END: "the latency is still rising at the largest size: raise `max_size` to reach the next level",
    "ends-in-cache": "the largest size still fits into a cache that the host reports: raise `max_size` to reach DRAM",
    "smaller-memory": "there is too little free memory for the largest working set, so the sweep ends at the "
    "largest size that fits",
    "cache-without-plateau": "the curve has no plateau for a cache that the host reports: the cache is shared with "
    "other programs, or hidden by another level",
}
"""The reasons why no levels were found, and notes about the search."""

NO_LEVELS_HINT: Final = (
    "No levels were found, so other benchmarks have no sizes to use. Set their `data_size`, so that they do not "
    "need latency-sweep."
)

_NOISY_LEVEL: Final = 0.05
"""A level is noisy if its latencies vary by more than this share from size to size, or if the intervals of most sizes
are wider than this share."""
_PRIVATE: Final = ("L1", "L2")
"""Levels used only by programs on the same core. Other programs always use part of the shared levels. Therefore, the
latency of a shared level, even if it is steady, may be 10 % higher than on an idle host."""
_LESS, _MORE = 0.5, 1.3
"""Plausible range for the measured end of a cache, as shares of the cache's reported size. Lines on random pages
compete for sets before the cache is full."""


def measurements(params: LatencySweepParams, found: LevelSurvey) -> list[Measurement]:
    """Return all measurements of the first visit. Raises ValueError for an invalid sample."""
    meta, search = found.runs[0].meta, found.search
    items = [item for size in sorted(found.points) for item in _of_size(found.points[size], search)]
    for chase in found.local.values():
        items += chase.values({"size": chase.size}, prefix="local_", detail=True)
    items += [item for level in search.levels for item in _of_level(level, found)]
    items.append(Measurement("levels", float(len(search.levels)), flags=_search_flags(params, search, found.facts)))
    items.append(_clock(found.points.values()))
    items.append(Measurement("page_size", number(meta, "page_bytes"), flags=page_flags(meta)))
    return items + _caches(found.facts)


def measured_again(found: LevelSurvey, run: KernelRun) -> list[Measurement]:
    """Return the latency of each size and level that a later visit measured."""
    points = size_latencies([run])
    curve = [item for size in sorted(points) for item in _of_size(points[size], found.search)]
    return [
        *curve,
        *(item for level in found.search.levels for item in _latency_of(level, found.search, points, run.end)),
    ]


def _of_size(point: SizeLatency, search: LevelSearch) -> list[Measurement]:
    """Return the measurements of a size. These measurements are details if levels were found; otherwise, the curve is
    the result."""
    suspicion = search.suspects.get(point.chase.size)
    flags = (*point.flags, suspicion) if suspicion else point.flags
    return point.chase.values({"size": point.chase.size}, flags, detail=bool(search.levels))


def _of_level(level: MemoryLevel, found: LevelSurvey) -> list[Measurement]:
    """Return the measurements of a level. Its latency comes from the sizes that every visit measures; all other values
    come from the whole curve."""
    at: dict[str, Scalar] = {"level": level.name}
    end = found.ends.get(level.name, LevelEnd(level.upper, level.above))
    gap = None if end.above is None else end.above / end.cache - 1.0
    flags = (*_gap_flags(gap), *_reported_flags(level, end, cache_hints(found.facts)))
    extra = {"tlb_end": end.tlb, "data_size": level.optimum if level.name == MEMORY_LEVEL else None}
    return [
        *_latency_of(level, found.search, found.points, found.runs[0].end),
        Measurement("lower_bound", float(level.lower), dict(at), flags=_gap_flags(level.lower_gap)),
        Measurement("upper_bound", float(end.cache), dict(at), flags=flags),
        Measurement("optimum_size", float(level.optimum), dict(at)),
        *(Measurement(metric, float(size), dict(at)) for metric, size in extra.items() if size is not None),
    ]


def _reported_flags(level: MemoryLevel, end: LevelEnd, hints: Sequence[CacheHint]) -> tuple[str, ...]:
    """Return a flag if the size at which the cache ends is far from the size that the host reports. In a virtual
    machine, the reported size is unreliable."""
    mine = [hint.size for hint in hints if level.name == f"L{hint.level}"]
    sizes = [max(hint.size for hint in hints)] if hints and level.name == "LLC" else mine
    unlike = any(not _LESS * size <= end.cache <= _MORE * size for size in sizes) and level.name != MEMORY_LEVEL
    return (UNLIKE_REPORTED,) if unlike else ()


def _latency_of(
    level: MemoryLevel, search: LevelSearch, points: Mapping[int, SizeLatency], end: Mapping[str, Any]
) -> list[Measurement]:
    """Return the latency of a level in one visit: the median over the sizes of the level that every visit measures.
    Return an empty sequence if none of them was measured."""
    at: dict[str, Scalar] = {"level": level.name}
    mine = [points[size] for size in inside(level) if size in points]
    if not mine:
        return []
    noise = () if level.name in _PRIVATE else noise_flags(end)
    scattered = ("noisy",) if level.scatter > _NOISY_LEVEL and level.name != MEMORY_LEVEL else ()
    rising = ("noisy-rising",) if level.name == MEMORY_LEVEL and OPEN_END in search.notes else ()
    in_time = pooled([point.chase.latency for point in mine])
    in_cycles = pooled([point.chase.cycles for point in mine])
    flags = tuple(dict.fromkeys((*noise, *scattered, *rising)))
    return [
        Measurement("latency", in_time.median, dict(at), in_time, flags),
        Measurement("latency_cycles", in_cycles.median, dict(at), in_cycles, flags),
    ]


def _gap_flags(gap: float | None) -> tuple[str, ...]:
    return ("coarse-bound",) if gap is not None and gap > COARSE_BOUND else ()


def _search_flags(params: LatencySweepParams, search: LevelSearch, facts: HostFacts) -> tuple[str, ...]:
    found = [NO_LEVELS, search.cause] if search.cause else list(search.notes)
    return (*found, *(("smaller-memory",) if is_lowered(params, facts) else ()))


def _clock(points: Iterable[SizeLatency]) -> Measurement:
    clock = stats_of([point.chase.clock_hz for point in points])
    return Measurement("core_clock", clock.median, stats=clock)


def _caches(facts: HostFacts) -> list[Measurement]:
    sizes = {f"L{cache.level}": cache.size_bytes for cache in facts.data_caches() if cache.size_bytes > 0}
    return [Measurement("cache_size", float(size), {"level": name}) for name, size in sizes.items()]


FRACTION: Final = "noisy-fraction"
"""Flag for a latency that is not a whole number of core cycles."""
UNEVEN: Final = "noisy-sizes"
"""Flag for a latency of the first level that is inconsistent with the latencies at other sizes in the level."""
_FIRST: Final = "L1"
_DEVIATION: Final = 0.01
_WELL_INSIDE: Final = 0.9
"""Fraction of the first level's size up to which every load hits in that level."""
_METRICS: Final = ("latency", "latency_cycles")


def checked(found: Sequence[Measurement]) -> list[Measurement]:
    """Return the measurements, with flags on latencies that are implausible for the first level, where every load takes
    the same whole number of core cycles.

    The function checks the latency of the level itself and the latencies at sizes well inside it. If the end of the
    level is unknown, it checks only the latency of the level.
    """
    cycles = {_place(item): item.value for item in found if item.metric == "latency_cycles"}
    few = {item.coords.get("size") for item in found if "few-lines" in item.flags}
    inside = {
        place: value
        for place, value in cycles.items()
        if place[0] == _FIRST or (0 < place[1] <= _WELL_INSIDE * _end_of_first(found) and place[1] not in few)
    }
    middle = median([value for place, value in inside.items() if place[0] is None] or list(inside.values()) or [0.0])
    flags = {place: _cycle_flags(value, middle) for place, value in inside.items()}
    return [_flagged(item, flags) for item in found]


def _end_of_first(found: Sequence[Measurement]) -> float:
    """Return the end of the first level in bytes: the measured or the reported end, whichever is lower, or 0 if both
    are unknown."""
    first = (item for item in found if item.coords.get("level") == _FIRST)
    return min((item.value for item in first if item.metric in ("upper_bound", "cache_size")), default=0.0)


def _place(item: Measurement) -> tuple[Scalar | None, int]:
    """Return the level and the size of a value, or None and 0 if it has neither."""
    return item.coords.get("level"), int(item.coords.get("size", 0))


def _cycle_flags(cycles: float, middle: float) -> tuple[str, ...]:
    broken = {
        FRACTION: abs(cycles - round(cycles)) >= _DEVIATION * cycles,
        UNEVEN: abs(cycles - middle) >= _DEVIATION * middle,
    }
    return tuple(flag for flag, holds in broken.items() if holds)


def _flagged(item: Measurement, flags: Mapping[tuple[Scalar | None, int], tuple[str, ...]]) -> Measurement:
    more = flags.get(_place(item), ()) if item.metric in _METRICS else ()
    return replace(item, flags=(*item.flags, *more)) if more else item
