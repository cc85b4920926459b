"""From the samples of the kernel to measurements: memory by width, each level of cache, and the best of the levels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from asct.benchmarks.memory_profile.command import MEMORY
from asct.benchmarks.memory_profile.params import MemoryProfileParams
from asct.instruments.memory.stream import PER_CYCLE, Point, bandwidths, best_of, circumstances, points_of
from asct.instruments.memory.stream_sizes import working_set_flags
from asct.instruments.memory.topology import usable_cpus
from asct.sdk.facts import HostFacts
from asct.sdk.record import Measurement
from asct.sdk.samples import KernelRun

BEST: Final = "best"
"""Flag of the level whose figure is the peak of the caches."""


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
