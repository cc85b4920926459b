"""Which working sets: the ends of the range where the settings leave them open."""

from __future__ import annotations

from typing import Final

from asct.benchmarks.latency_sweep.params import LatencySweepParams
from asct.instruments.memory.stream_sizes import fitted
from asct.instruments.memory.topology import Place, measuring_cpu, memory_places, place_of_cpu
from asct.sdk.facts import HostFacts

LARGEST: Final = 1 << 30
"""Far beyond the last cache of most machines, and mapped in a second or two."""
LINE: Final = 64
"""Assumed where `stride` is unset: the machine's own line is known to the kernel alone."""
_SURROUNDINGS: Final = 16 << 20


def shortest(params: LatencySweepParams) -> int:
    """The smallest size that is a chain: two lines."""
    return 2 * (params.stride or LINE)


def smallest(params: LatencySweepParams) -> int:
    """Where the range begins."""
    return params.min_size or shortest(params)


def largest(params: LatencySweepParams, facts: HostFacts | None) -> int:
    """Where the range ends: as asked, or 1 GiB, or what the free memory of the node allows of it."""
    if params.sizes:
        return max(params.sizes)
    if params.max_size is not None:
        return params.max_size
    place = _memory_place(params, facts) if facts is not None else None
    return LARGEST if place is None else fitted(LARGEST, place, 1)


def is_lowered(params: LatencySweepParams, facts: HostFacts) -> bool:
    """Whether the range ends below what was meant since memory is short."""
    return not params.sizes and params.max_size is None and largest(params, facts) < LARGEST


def memory_bytes(params: LatencySweepParams, facts: HostFacts | None) -> int:
    """What the kernel asks for: the largest size, a thirty-second of it for page tables and the like, and itself."""
    size = largest(params, facts)
    return size + size // 32 + _SURROUNDINGS


def _memory_place(params: LatencySweepParams, facts: HostFacts) -> Place | None:
    """The node whose memory is measured; None when it is not known."""
    if params.memory_node is not None:
        return next((place for place in memory_places(facts) if place.id == params.memory_node), None)
    cpu = measuring_cpu(facts, params.cpu)
    return None if cpu is None else place_of_cpu(facts, cpu)
