"""From the samples of the kernel to measurements: the levels, and the curve over sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from asct.benchmarks.bandwidth_sweep.params import BandwidthSweepParams
from asct.instruments.memory.needed import CACHE
from asct.instruments.memory.stream import Call, bandwidths, best_of, circumstances, points_of
from asct.instruments.memory.stream_sizes import (
    MEMORY_LEVEL,
    fitted,
    level_sizes,
    local_nodes,
    local_sizes,
    mapping_seconds,
    working_set_flags,
)
from asct.instruments.memory.topology import UNBOUND, measuring_cpu, places, usable_cpus
from asct.sdk.benchmark import Context
from asct.sdk.facts import HostFacts
from asct.sdk.record import Measurement
from asct.sdk.samples import KernelRun
from asct.sdk.step import Step
from asct.statistics.geometric import geometric_sizes

SWEEP: Final = "sweep"
"""The step of the curve; the others bear the name of a level."""
_GRANULE: Final = 1024
"""Of sizes: two kinds of traffic at one size, one with three arrays, stay close to it in whole lines."""
_LEVELS: Final = 4
_CURVE_PART: Final = 0.2
"""Of the time of a level: the curve has many sizes, and what sums them up is measured by itself."""
_TRIALS_S: Final = 0.01


def measuring_cpus(params: BandwidthSweepParams, facts: HostFacts) -> tuple[int, ...]:
    """One thread for each; none where the CPUs of the host are unknown: the kernel takes the one it starts on."""
    if params.cpus:
        return params.cpus
    if params.threads == "all":
        return usable_cpus(facts)
    cpu = measuring_cpu(facts, memory_node=params.memory_node)
    return () if cpu is None else (cpu,)


def sweep_steps(params: BandwidthSweepParams, context: Context) -> list[Step]:
    """A process for each level and one for the curve, or one for the sizes given.

    Raises LookupError when no size is given and latency-sweep found no level.
    """
    cpus = measuring_cpus(params, context.facts)
    if params.sizes:
        return [_step(SWEEP, params, context.facts, cpus, params.sizes, params.duration)]
    levels = level_sizes(context, context.facts, cpus)
    if not levels:
        raise LookupError(f"{CACHE.benchmark} shows no levels on this host; set `sizes`")
    steps = [_step(name, params, context.facts, cpus, (size,), params.duration) for name, size in levels.items()]
    curve = curve_sizes(params, context.facts, cpus)
    return [*steps, _step(SWEEP, params, context.facts, cpus, curve, params.duration * _CURVE_PART)]


def curve_sizes(params: BandwidthSweepParams, facts: HostFacts, cpus: Sequence[int]) -> list[int]:
    """From min_size to max_size, or to what fits into memory."""
    high = max(params.min_size, _fitted(params, facts, cpus, params.max_size))
    return geometric_sizes(params.min_size, high, params.points_per_octave, _GRANULE)


def demanded_bytes(params: BandwidthSweepParams, facts: HostFacts | None) -> int:
    """Memory of the largest size for all threads: sizes that are given must fit, others are fitted."""
    if facts is None:
        return max(params.sizes, default=params.max_size)
    cpus = measuring_cpus(params, facts)
    largest = max(params.sizes) if params.sizes else _fitted(params, facts, cpus, params.max_size)
    return largest * max(1, len(cpus))


def estimated_seconds(params: BandwidthSweepParams, facts: HostFacts | None) -> float:
    """Each size of each kind of traffic to its time cap, beside trials; mapping the memory once a process."""
    memory = mapping_seconds(demanded_bytes(params, facts))
    if params.sizes:
        return memory + len(params.traffic) * len(params.sizes) * (params.duration + _TRIALS_S)
    curve = curve_sizes(params, facts, ()) if facts else _grid(params)
    each = _LEVELS * (params.duration + _TRIALS_S) + len(curve) * (params.duration * _CURVE_PART + _TRIALS_S)
    return len(params.traffic) * each + _LEVELS * mapping_seconds(0) + 2 * memory


def _grid(params: BandwidthSweepParams) -> list[int]:
    return geometric_sizes(params.min_size, max(params.min_size, params.max_size), params.points_per_octave, _GRANULE)


def _fitted(params: BandwidthSweepParams, facts: HostFacts, cpus: Sequence[int], size: int) -> int:
    if params.memory_node is None:
        return local_sizes(facts, cpus, size)
    bound = [place for place in places(facts) if place.id == params.memory_node]
    return min((fitted(size, place, len(cpus)) for place in bound), default=size)


def _step(
    name: str,
    params: BandwidthSweepParams,
    facts: HostFacts,
    cpus: tuple[int, ...],
    sizes: Sequence[int],
    cap_s: float,
) -> Step:
    nodes = (params.memory_node,) if params.memory_node is not None else local_nodes(facts, cpus)
    return Call(cpus, sizes, params.traffic, cap_s, params.width, nodes or (UNBOUND,)).step(name, params)


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
