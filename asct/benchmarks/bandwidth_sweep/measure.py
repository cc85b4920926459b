"""From the samples of the kernel to measurements: the levels, and the curve over sizes."""

from __future__ import annotations

from collections.abc import Mapping

from asct.benchmarks.bandwidth_sweep.command import SWEEP, measuring_cpus
from asct.benchmarks.bandwidth_sweep.params import BandwidthSweepParams
from asct.instruments.memory.stream import bandwidths, best_of, circumstances, points_of
from asct.instruments.memory.stream_sizes import MEMORY_LEVEL, working_set_flags
from asct.sdk.facts import HostFacts
from asct.sdk.record import Measurement
from asct.sdk.samples import KernelRun

FEW_LINES = "few-lines"
_FEW: int = 64
"""Lines a thread: below, starting and ending the loop over them takes a good part of the time."""


def measurements(params: BandwidthSweepParams, runs: Mapping[str, KernelRun], facts: HostFacts) -> list[Measurement]:
    """Everything that the processes (by the name of their step) say. Sizes are details where levels were measured."""
    points = {name: best_of(points_of(run)) for name, run in runs.items()}
    levels = [name for name in points if name != SWEEP]
    cpus = measuring_cpus(params, facts)
    found: list[Measurement] = []
    for level in levels:
        for point in points[level]:
            flags = working_set_flags(facts, cpus, point.size) if level == MEMORY_LEVEL else ()
            found += bandwidths(point, {"level": level, "traffic": point.traffic}, flags)
        found.append(Measurement("data_size", float(points[level][0].size), {"level": level}))
    for point in points[SWEEP]:
        flags = (FEW_LINES,) if point.size < _FEW * 64 else ()
        found += bandwidths(point, {"size": point.size, "traffic": point.traffic}, flags, detail=bool(levels))
    everything = [point for best in points.values() for point in best]
    found.append(Measurement("threads", float(everything[0].threads)))
    return found + circumstances(everything, runs[SWEEP].meta, params)
