"""The command line of the kernel, and an estimate of its time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from asct.benchmarks.latency_sweep.params import LatencySweepParams
from asct.benchmarks.latency_sweep.sizes import LINE, largest, smallest
from asct.instruments.memory.topology import measuring_cpu
from asct.sdk.facts import HostFacts
from asct.statistics.geometric import geometric_sizes

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
    """Further sizes beside the bounds. To tell inside from outside, a tenth apart, 2 % and a short time will do."""
    cpu = measuring_cpu(facts, params.cpu, params.memory_node)
    interval = max(params.target_interval, _EDGE_INTERVAL)
    return _arguments(params, cpu, interval, min(params.time_cap, _EDGE_S), {"sizes": _list(sizes)})


def _list(sizes: Sequence[int]) -> str:
    return ",".join(map(str, sorted(set(sizes))))


def _arguments(
    params: LatencySweepParams, cpu: int | None, interval: float, cap_s: float, sizes: Mapping[str, object]
) -> tuple[str, ...]:
    """`--name value` for every setting; what is unset is left to the kernel."""
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
