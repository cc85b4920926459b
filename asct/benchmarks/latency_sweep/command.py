"""The command line of the kernel, and an estimate of its time."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from asct.instruments.memory.sizes import fitted
from asct.instruments.memory.topology import MemoryNode, measuring_cpu, memory_nodes, node_of_cpu
from asct.statistics.geometric import between_sizes, geometric_sizes

if TYPE_CHECKING:
    from asct.benchmarks.latency_sweep.params import LatencySweepParams
    from asct.sdk.facts import HostFacts
    from asct.statistics.levels import MemoryLevel

LARGEST: Final = 1 << 30
"""Far beyond the last-level cache of most machines, and mapped in a second or two."""
LINE: Final = 64
"""Assumed where `stride` is unset: the machine's own line is known to the kernel alone."""
_SURROUNDINGS: Final = 16 << 20


def shortest(params: LatencySweepParams) -> int:
    """The smallest size that is a chain: two lines."""
    return 2 * (params.stride or LINE)


def smallest(params: LatencySweepParams) -> int:
    """The smallest size of the range."""
    return params.min_size or shortest(params)


def largest(params: LatencySweepParams, facts: HostFacts | None) -> int:
    """The end of the range: as set, or 1 GiB, or less if the node has less free memory."""
    if params.sizes:
        return max(params.sizes)
    if params.max_size is not None:
        return params.max_size
    node = _memory_node(params, facts) if facts is not None else None
    return LARGEST if node is None else fitted(LARGEST, node, 1)


def is_lowered(params: LatencySweepParams, facts: HostFacts) -> bool:
    """Whether the range is shorter than intended because memory is short."""
    return not params.sizes and params.max_size is None and largest(params, facts) < LARGEST


def memory_bytes(params: LatencySweepParams, facts: HostFacts | None) -> int:
    """Memory of the kernel: the largest size, a thirty-second of it for page tables, and the kernel itself."""
    size = largest(params, facts)
    return size + size // 32 + _SURROUNDINGS


def _memory_node(params: LatencySweepParams, facts: HostFacts) -> MemoryNode | None:
    """The node whose memory is measured; None when it is not known."""
    if params.memory_node is not None:
        return next((node for node in memory_nodes(facts) if node.id == params.memory_node), None)
    cpu = measuring_cpu(facts, params.cpu)
    return None if cpu is None else node_of_cpu(facts, cpu)


# The kernel bisects the steepest stretches of the curve by itself. Where its budget ended before a bound was known to
# 2 %, a second, short run measures the sizes in between.

RESOLUTION: Final = 1.02
COARSE_BOUND: Final = 0.025
"""A bound is coarse if the next size is further away: the resolution and some room for whole lines."""
MOST: Final = 48


def missing_sizes(levels: Sequence[MemoryLevel], measured: Collection[int], granule: int) -> tuple[int, ...]:
    """Sizes 2 % apart in every gap beside a bound that is wider, rising, at most `MOST`; empty when all is known.

    Where there are more, each gap gets its share.
    """
    gaps = {(lv.below, lv.lower) for lv in levels if lv.below is not None and (lv.lower_gap or 0.0) > COARSE_BOUND}
    gaps |= {(lv.upper, lv.above) for lv in levels if lv.above is not None and (lv.upper_gap or 0.0) > COARSE_BOUND}
    if not gaps:
        return ()
    share = MOST // len(gaps)
    found: set[int] = set()
    for low, high in gaps:
        ratio = max(RESOLUTION, (high / low) ** (1.0 / (share + 1)))
        found.update(between_sizes(low, high, ratio, granule))
    return tuple(sorted(found - set(measured)))


_IN_CACHE: Final = 4 << 20
_QUICK_S: Final = 0.01
_BUILD_S: Final = 0.05
_MAP_S_PER_GIB: Final = 1.0
_REFINE_S: Final = 3.0
_REFINE_MOST: Final = 24
_REFINE_MS: Final = 2000
_EDGE_INTERVAL: Final = 0.02
_EDGE_S: Final = 0.03


def sweep_arguments(params: LatencySweepParams, facts: HostFacts) -> tuple[str, ...]:
    """The whole sweep: the sizes asked for, or the grid and a few more sizes where the curve jumps."""
    cpu = measuring_cpu(facts, params.cpu, params.memory_node)
    interval, cap = params.target_interval, params.time_cap
    if params.sizes:
        return _arguments(params, cpu, interval, cap, {"sizes": _list(params.sizes)})
    grid = {
        **({} if params.min_size is None else {"min-size": params.min_size}),
        "max-size": largest(params, facts),
        "points-per-octave": params.points_per_octave,
        "refine-to": 2,
        "refine-jump": 10,
        "refine-max": _REFINE_MOST,
        "refine-cap-ms": _REFINE_MS,
    }
    return _arguments(params, cpu, interval, cap, grid)


def edge_arguments(params: LatencySweepParams, facts: HostFacts, sizes: Sequence[int]) -> tuple[str, ...]:
    """More sizes near the bounds. An interval of 2 % and a short time suffice: latencies inside and outside differ by
    10 %."""
    cpu = measuring_cpu(facts, params.cpu, params.memory_node)
    interval = max(params.target_interval, _EDGE_INTERVAL)
    return _arguments(params, cpu, interval, min(params.time_cap, _EDGE_S), {"sizes": _list(sizes)})


def _list(sizes: Sequence[int]) -> str:
    return ",".join(map(str, sorted(set(sizes))))


def _arguments(
    params: LatencySweepParams, cpu: int | None, interval: float, cap_s: float, sizes: Mapping[str, object]
) -> tuple[str, ...]:
    """`--name value` for every setting; the kernel has its own defaults for the others."""
    named: dict[str, object] = {
        **sizes,
        "pages": params.pages,
        "target-interval": max(1, round(interval * 1000)),
        "time-cap-ms": max(1, round(cap_s * 1e3)),
        "seed": params.seed,
    }
    if params.stride is not None:
        named["stride"] = params.stride
    if cpu is not None:
        named["cpu"] = cpu
    if params.memory_node is not None:
        named["node"] = params.memory_node
    return tuple(part for name, value in named.items() for part in (f"--{name}", str(value)))


def estimated_seconds(params: LatencySweepParams, facts: HostFacts | None) -> float:
    """Mapping the memory, a few milliseconds for a size in a cache, the time cap beyond, and the refined sizes."""
    low, stride = smallest(params), params.stride or LINE
    high = max(largest(params, facts), low)
    sizes = list(params.sizes) or geometric_sizes(low, high, params.points_per_octave, stride)
    slow = sum(1 for size in sizes if size > _IN_CACHE)
    quick = len(sizes) - slow
    mapping = _MAP_S_PER_GIB * max(sizes) / 2**30
    refining = 0.0 if params.sizes else _REFINE_S
    return mapping + quick * _QUICK_S + slow * (params.time_cap + _BUILD_S) + refining
