"""Settings for latency-sweep, the command lines for the `chase` kernel, and an estimate of its run time."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Final

from annotated_types import MultipleOf

from asct.instruments.memory.settings import (
    AutoSize,
    PageKind,
    Share,
    cycle_base_setting,
    memory_node_setting,
    pages_setting,
    stride_setting,
    target_interval_setting,
)
from asct.instruments.memory.sizes import LINE, fitted
from asct.instruments.memory.topology import MemoryNode, measuring_cpu, memory_nodes, node_of_cpu
from asct.instruments.memory.visits import VisitedParams
from asct.sdk.params import Duration, Size, Sizes, setting
from asct.statistics.geometric import between_sizes, geometric_sizes

if TYPE_CHECKING:
    from asct.sdk.facts import HostFacts
    from asct.statistics.levels import MemoryLevel

_LARGEST: Final = 1 << 30
"""Largest working set, in bytes, if the caches are unknown."""
_LEAST: Final = 512 << 20
"""Lower limit for the largest working set, in bytes."""
_CACHES: Final = 4
"""Largest working set as a multiple of the largest cache. With this multiple, the middle of the DRAM range is more than
twice the size of the cache. With a smaller multiple, so many loads would hit a 480 MiB cache that the latency would
keep rising to the end of the range."""
EDGES: Final = "edges"
"""Name of the process that measures additional sizes in the first visit."""
LOCAL: Final = "local"
"""Name of the process that measures the local chain in the first visit. The local chain accesses only a few pages at a
time."""
_BATCHES: Final = 31
"""Number of batches per size in the first visit, which finds the levels."""
_BATCHES_AGAIN: Final = 15
"""Number of batches per size in the other visits. Fewer batches suffice there, because values differ more between
visits than between the batches of a visit."""
WINDOW: Final = 128 << 10
"""Window of the local chain: 32 pages of 4 KiB, which every first-level TLB covers. A host may use such pages to back
larger pages of its guests."""
LOCAL_MOST: Final = 128 << 20
"""Maximum size of the local chain. A larger chain takes longer to build than all other chains together."""
VISITED_MOST: Final = 64 << 20
"""Largest size on the part of the curve that every visit measures. The chain for a larger size takes 20 to 150 ms
to build."""
_OVERHEAD_BYTES: Final = 16 << 20


MAX_SIZE: Final = 1 << 40


class LatencySweepParams(VisitedParams):
    """Settings for the sizes, the memory and the accuracy."""

    min_size: AutoSize = setting(
        None, "Smallest working set; `auto` means two lines", aliases=("min_data_size",), ge=128, le=MAX_SIZE
    )
    max_size: AutoSize = setting(
        None,
        "Largest working set; `auto` means four times the largest cache that the host reports, rounded up to a power "
        "of two, but at least 512 MiB (1 GiB if the caches are unknown). If too little memory is free, `auto` selects "
        "a smaller size",
        aliases=("max_data_size",),
        ge=1024,
        le=MAX_SIZE,
        pitfalls="A size below four times the last-level cache leaves no room for a DRAM level.",
    )
    sizes: Sizes = setting(
        (),
        "Working set sizes to measure, without refinement, instead of the grid from `min_size` to `max_size`",
        max_length=1000,
        pitfalls="With fewer than 8 sizes, or wide gaps between them, no levels are found.",
    )
    points_per_octave: int = setting(
        4, "Number of sizes per doubling, before the level bounds are refined", ge=1, le=64
    )
    stride: Annotated[Size, MultipleOf(16)] | None = stride_setting(
        "If the stride is less than the line size, several loads share a line. At a stride of 128 bytes, adjacent-line "
        "prefetching has no effect."
    )
    pages: PageKind = pages_setting(
        "With 4K pages, TLB misses and page walks are part of the latency above about 256 KiB."
    )
    cpu: int | None = setting(
        None,
        "CPU that performs the loads; if unset, the last usable CPU of the node",
        aliases=("latency_cpu_id",),
        ge=0,
        le=65535,
    )
    memory_node: int | None = memory_node_setting("NUMA node whose memory is read; if unset, the node of the CPU")
    target_interval: Share = target_interval_setting("a level")
    time_cap: Duration = setting(
        0.1, "Time limit per size and visit; normally reached only on a busy host", ge=1e-3, le=60
    )
    cycle_base: bool = cycle_base_setting()


def shortest(params: LatencySweepParams) -> int:
    """Return the smallest size of a chain: two lines. Without `stride`, a line is assumed to have 64 bytes, because
    only the `chase` kernel knows the host's line size."""
    return 2 * (params.stride or LINE)


def smallest(params: LatencySweepParams) -> int:
    """Return the smallest size of the range."""
    return params.min_size or shortest(params)


def largest(params: LatencySweepParams, facts: HostFacts | None) -> int:
    """Return the end of the range: the setting or the result of `_default_largest`, reduced to the free memory of the
    node if necessary."""
    if params.sizes:
        return max(params.sizes)
    if params.max_size is not None:
        return params.max_size
    node = _memory_node(params, facts) if facts is not None else None
    return _default_largest(facts) if node is None else fitted(_default_largest(facts), node, 1)


def _default_largest(facts: HostFacts | None) -> int:
    cache = 0 if facts is None else max((cache.size_bytes for cache in facts.data_caches()), default=0)
    return max(_LEAST, 1 << (_CACHES * cache - 1).bit_length()) if cache > 0 else _LARGEST


def is_lowered(params: LatencySweepParams, facts: HostFacts) -> bool:
    """Return whether the range ends early because the node has too little free memory."""
    return not params.sizes and params.max_size is None and largest(params, facts) < _default_largest(facts)


def memory_bytes(params: LatencySweepParams, facts: HostFacts | None) -> int:
    """Return the number of bytes that the `chase` kernel needs: the largest size, 1/32 of it for page tables, and its
    own overhead."""
    size = largest(params, facts)
    return size + size // 32 + _OVERHEAD_BYTES


def _memory_node(params: LatencySweepParams, facts: HostFacts) -> MemoryNode | None:
    """Return the node whose memory is measured, or None if it is unknown."""
    if params.memory_node is not None:
        return next((node for node in memory_nodes(facts) if node.id == params.memory_node), None)
    cpu = measuring_cpu(facts, params.cpu)
    return None if cpu is None else node_of_cpu(facts, cpu)


# `chase` bisects the steepest parts of the curve. If its time budget ends before a bound is known to 2 %, a second,
# short run measures the sizes in between.

RESOLUTION: Final = 1.02
COARSE_BOUND: Final = 0.025
"""A bound is coarse if the relative gap to the next size exceeds this limit. The limit is slightly above the
resolution, because sizes are rounded to whole lines."""
MOST: Final = 48


def missing_sizes(levels: Sequence[MemoryLevel], measured: Collection[int], granule: int) -> tuple[int, ...]:
    """Return sizes, in ascending order, that fill every wide gap next to a bound in steps of 2 %. The result is empty
    if there are no such gaps.

    There are at most `MOST` sizes, divided equally among the gaps.
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


_REFINE_MOST: Final = 24
_REFINE_MS: Final = 1000
_LOCAL_REFINE_MS: Final = 300
_EDGE_S: Final = 0.03
_PATIENCE_MS: Final = 500
_VISIT_PATIENCE_MS: Final = 60


def sweep_arguments(params: LatencySweepParams, facts: HostFacts) -> tuple[str, ...]:
    """Return the arguments of the sweep: the sizes in the settings, or a grid that `chase` refines where the curve
    jumps."""
    if params.sizes:
        return _arguments(params, facts, params.time_cap, {"sizes": sorted(set(params.sizes))})
    grid = {
        "min-size": params.min_size,
        "max-size": largest(params, facts),
        "points-per-octave": params.points_per_octave,
        "refine-to": 2,
        "refine-jump": 10,
        "refine-max": _REFINE_MOST,
        "refine-cap-ms": _REFINE_MS,
        "batches": _BATCHES,
        "patience-ms": _PATIENCE_MS,
    }
    return _arguments(params, facts, params.time_cap, grid)


def edge_arguments(params: LatencySweepParams, facts: HostFacts, sizes: Sequence[int]) -> tuple[str, ...]:
    """Return the arguments for additional sizes in the first visit. A short time suffices, because latencies inside and
    outside a level differ by 10 %."""
    grid = {"sizes": sizes, "batches": _BATCHES, "patience-ms": _VISIT_PATIENCE_MS}
    return _arguments(params, facts, min(params.time_cap, _EDGE_S), grid)


def local_arguments(params: LatencySweepParams, facts: HostFacts, low: int, high: int) -> tuple[str, ...]:
    """Return the arguments for a local chain, with sizes from `low` to `high`."""
    grid = {
        "min-size": low,
        "max-size": high,
        "window": WINDOW,
        "points-per-octave": params.points_per_octave,
        "refine-to": 2,
        "refine-jump": 10,
        "refine-max": _REFINE_MOST,
        "refine-cap-ms": _LOCAL_REFINE_MS,
        "batches": _BATCHES,
        "patience-ms": 0,
    }
    return _arguments(params, facts, min(params.time_cap, _EDGE_S), grid)


def visit_arguments(params: LatencySweepParams, facts: HostFacts, sizes: Sequence[int]) -> tuple[str, ...]:
    """Return the arguments for measuring these sizes in a later visit, with fewer batches than in the first visit."""
    grid = {"sizes": sizes, "batches": _BATCHES_AGAIN, "patience-ms": _VISIT_PATIENCE_MS}
    return _arguments(params, facts, params.time_cap, grid)


def _arguments(
    params: LatencySweepParams, facts: HostFacts, cap_s: float, sizes: Mapping[str, object]
) -> tuple[str, ...]:
    from asct.sdk.step import options, thousandths

    return options(
        {
            **sizes,
            "pages": params.pages,
            "time-cap-ms": thousandths(cap_s),
            "seed": params.seed,
            "stride": params.stride,
            "cpu": measuring_cpu(facts, params.cpu, params.memory_node),
            "node": params.memory_node,
        }
    )


_START_S: Final = 0.06
_MAP_S_PER_GIB: Final = 0.5
"""Seconds to map one GiB. The actual time ranges from 0.15 s (if a hypervisor has already allocated the memory) to
2 s."""
_SIZE_S: Final = 0.004
_MEMORY_S: Final = 0.025
_MEMORY: Final = 32 << 20
_SPARSE_S: Final = 0.12
_ANY_ORDER_S: Final = 0.1
"""Additional seconds per visit because, in random order, the chain grows and shrinks repeatedly."""
_FIRST_S: Final = 1.2
"""Seconds that the first visit needs for refined sizes, for disturbed sizes that are measured again, and for the local
chain."""


def estimated_seconds(params: LatencySweepParams, facts: HostFacts | None, visits: int) -> float:
    """Return the time, in seconds, for the first visit, which finds the levels, and for the other visits, which measure
    the smaller sizes and the levels."""
    low, stride = smallest(params), params.stride or LINE
    high = max(largest(params, facts), low)
    sizes = list(params.sizes) or geometric_sizes(low, high, params.points_per_octave, stride)
    whole = _START_S + _MAP_S_PER_GIB * max(sizes) / 2**30 + sum(map(_size_s, sizes))
    if params.sizes:
        return visits * whole
    again = [size for size in sizes if size <= VISITED_MOST] + [max(sizes) // 2]
    visit = _START_S + _ANY_ORDER_S + _MAP_S_PER_GIB * max(again) / 2**30
    visit += sum(map(_size_s, again)) + _REFINE_MOST * _SIZE_S
    return whole + _FIRST_S + (visits - 1) * visit


def _size_s(size: int) -> float:
    """Return the time to build, verify and measure a chain."""
    return _SIZE_S if size <= _MEMORY else _MEMORY_S if size <= VISITED_MOST else _SPARSE_S
