"""The steps of a profile: one process for each width over memory, one for each level of cache."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from asct.benchmarks.memory_profile.params import MemoryProfileParams
from asct.instruments.memory.needed import optimum_size
from asct.instruments.memory.stream import Call
from asct.instruments.memory.stream_sizes import (
    LINE,
    MEMORY_LEVEL,
    demanded_bytes,
    level_size,
    level_sizes,
    local_nodes,
    mapping_seconds,
    sharers,
)
from asct.instruments.memory.topology import usable_cpus
from asct.instruments.memory.traffic import widths_of
from asct.sdk.benchmark import Context
from asct.sdk.facts import HostFacts
from asct.sdk.step import Step
from asct.values.size import format_size

MEMORY: Final = "memory-"
"""What the name of a step over memory begins with; the width follows."""
_TRIALS_S: Final = 0.1
_CACHES: Final = 3


def profile_steps(params: MemoryProfileParams, context: Context) -> list[Step]:
    """Raises LookupError when data_size is not given and latency-sweep found no memory."""
    facts, cpus = context.facts, usable_cpus(context.facts)
    nodes = local_nodes(facts, cpus)
    size = params.data_size or level_size(facts, cpus, MEMORY_LEVEL, optimum_size(context, MEMORY_LEVEL.lower()))
    steps = [
        Call(cpus, (size,), params.traffic, params.duration, width, nodes).step(f"{MEMORY}{width}", params)
        for width in chosen_widths(params, facts)
    ]
    for level, inside in _cache_sizes(params, context).items():
        steps.append(Call(cpus, (inside,), params.traffic, params.duration, "auto", nodes).step(level, params))
    return steps


def chosen_widths(params: MemoryProfileParams, facts: HostFacts) -> tuple[str, ...]:
    """The widths that are asked for, each once, or all that the host has."""
    return tuple(dict.fromkeys(params.widths)) or widths_of(facts)


def estimated_seconds(params: MemoryProfileParams, facts: HostFacts | None) -> float:
    """Each value to its time cap, beside trials; memory is mapped once for each width."""
    widths = len(params.widths) or (2 if facts is None else len(widths_of(facts)))
    caches = len(params.cache_sizes) or _CACHES
    each = len(params.traffic) * (params.duration + _TRIALS_S)
    mapping = widths * mapping_seconds(demanded_bytes(facts, params.data_size)) + caches * mapping_seconds(0)
    return (widths + caches) * each + mapping


def _cache_sizes(params: MemoryProfileParams, context: Context) -> Mapping[str, int]:
    """Bytes a thread by the name of the level: as given, as latency-sweep found them, or half of each cache."""
    facts, cpus = context.facts, usable_cpus(context.facts)
    if params.cache_sizes:
        return {f"cache-{format_size(size)}": size for size in dict.fromkeys(params.cache_sizes)}
    if params.data_size is None:
        found = level_sizes(context, facts, cpus)
        return {level: size for level, size in found.items() if level != MEMORY_LEVEL}
    return {
        f"L{cache.level}": max(LINE, cache.size_bytes // sharers(cache, cpus) // 2 // LINE * LINE)
        for cache in facts.data_caches()
        if cache.size_bytes > 0
    }
