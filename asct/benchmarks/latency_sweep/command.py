"""The command line of the kernel, and an estimate of its time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from asct.benchmarks.latency_sweep.params import LatencySweepParams
from asct.sdk.facts import HostFacts
from asct.statistics.geometric import geometric_sizes

_IN_CACHE: Final = 4 << 20
_QUICK_S: Final = 0.01
_BUILD_S: Final = 0.05
_MAP_S_PER_GIB: Final = 1.0
_REFINE_S: Final = 3.0


def arguments(params: LatencySweepParams, cpu: int | None, sizes: Sequence[int] = ()) -> tuple[str, ...]:
    """`--name value` for every setting; what is unset is left to the kernel. `sizes` stand in for the grid."""
    named: dict[str, object] = {
        "pages": params.pages,
        "target-interval": max(1, round(params.target_interval * 1000)),
        "time-cap-ms": max(1, round(params.time_cap * 1e3)),
        "seed": params.seed,
    }
    if sizes:
        named["sizes"] = ",".join(map(str, sorted(set(sizes))))
    else:
        named |= {
            "min-size": params.min_size,
            "max-size": params.max_size,
            "points-per-octave": params.points_per_octave,
            "refine-to": 2,
            "refine-jump": 10,
        }
    if params.stride is not None:
        named["stride"] = params.stride
    if cpu is not None:
        named["cpu"] = cpu
    if params.memory_node is not None:
        named["node"] = params.memory_node
    return tuple(part for name, value in named.items() for part in (f"--{name}", str(value)))


def measuring_cpu(params: LatencySweepParams, facts: HostFacts) -> int | None:
    """The CPU asked for; else the last allowed one of the memory node, or of the first node that has an allowed one.

    A node without allowed CPUs (memory only) is read from the first node. None when the CPUs of the host are unknown.
    """
    if params.cpu is not None:
        return params.cpu
    allowed = set(facts.cpu.allowed or facts.cpu.online)
    usable = {node.id: sorted(allowed & set(node.cpus)) for node in facts.nodes if allowed & set(node.cpus)}
    if params.memory_node in usable:
        return usable[params.memory_node][-1]
    if usable:
        return usable[min(usable)][-1]
    return max(allowed, default=None)


def estimated_seconds(params: LatencySweepParams) -> float:
    """Mapping the memory, a few milliseconds for a size in a cache, the time cap beyond, and the refined sizes."""
    stride = params.stride or 64
    low = max(params.min_size, stride)
    sizes = list(params.sizes) or geometric_sizes(low, max(params.max_size, low), params.points_per_octave, stride)
    slow = sum(1 for size in sizes if size > _IN_CACHE)
    quick = len(sizes) - slow
    mapping = _MAP_S_PER_GIB * max(sizes) / 2**30
    refining = 0.0 if params.sizes else _REFINE_S
    return mapping + quick * _QUICK_S + slow * (params.time_cap + _BUILD_S) + refining
