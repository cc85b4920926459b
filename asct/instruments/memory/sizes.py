"""Working sets of memory benchmarks: large enough for the level to be measured, and small enough for the host."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from asct.instruments.memory.topology import UNBOUND, MemoryNode, all_nodes, usable_cpus
from asct.sdk.benchmark import Context, Dependency
from asct.sdk.needs import Privilege
from asct.values.size import about_size

if TYPE_CHECKING:
    from asct.instruments.memory.settings import PageKind
    from asct.sdk.facts import Cache, HostFacts
    from asct.sdk.record import Record

CACHE: Final = Dependency("cache", "latency-sweep", ("data_size",))
"""The dependency that determines `data_size` if it is `auto`."""
CACHES: Final = 2
"""Minimum working set for random loads from memory, as a multiple of the last-level cache. A smaller one would partly
fit into the cache."""


def optimum_size(context: Context) -> int:
    """Return a size well inside DRAM. Raises LookupError if latency-sweep did not find that level."""
    found = context.needs.get(f"{CACHE.alias}.dram.optimum_size")
    if found is None:
        raise LookupError(f"{CACHE.benchmark} found no {MEMORY_LEVEL} level on this host; set `data_size`")
    return int(found)


ALIGNMENT: Final = 1 << 16
LINE: Final = 64
# A pass must not find data from the previous pass in the caches. STREAM by J. McCalpin has the same rule: each array is
# at least four times as large as the last-level caches.
LARGE_ENOUGH: Final = 4
"""Minimum working set for memory, as a multiple of a thread's share of the caches."""
TOO_SMALL: Final = 2
"""If the working set is smaller than this multiple of the caches, part of the traffic stays in the caches, so that the
result is not the bandwidth of memory."""
ASSUMED_CACHE: Final = 16 << 20
"""A CPU's assumed share of the caches, in bytes, if the host does not report its caches."""
# The rest is reserved for the Linux kernel, page tables and other programs.
FREE_SHARE: Final = 0.85
"""Share of the free memory that a benchmark uses."""
SET_FLAG: Final = "invalid-working-set"
SET_FLAGS: Final = {
    SET_FLAG: "the working set is smaller than twice the cache size, so part of the traffic never reached "
    "memory; free some memory, or set a larger `data_size`",
}
MEMORY_LEVEL: Final = "DRAM"
LEVELS: Final = ("L1", "L2", "L3", "L4", "LLC", MEMORY_LEVEL)
_START_S: Final = 0.05
_MAP_S_PER_GIB: Final = 0.25
_TYPICAL_OPTIMUM: Final = 600 << 20
"""Working-set size for DRAM, in bytes, that estimates assume until latency-sweep has determined the optimum size: half
of latency-sweep's largest working set."""


def level_sizes(context: Context, facts: HostFacts, cpus: Sequence[int]) -> dict[str, int]:
    """Return the size per thread, in bytes, for each level that latency-sweep found, smallest first, or an empty
    dictionary if it found none.

    Threads that share a level divide the size for a single thread among themselves.
    """
    found: dict[str, int] = {}
    for level in LEVELS:
        size = context.needs.get(f"{CACHE.alias}.{level.lower()}.optimum_size")
        if size is not None:
            found[level] = level_size(facts, cpus, level, int(size))
    return dict(sorted(found.items(), key=lambda item: item[1]))


def level_size(facts: HostFacts, cpus: Sequence[int], level: str, optimum: int) -> int:
    """Return the size per thread, in bytes, at a level whose optimum for a single thread is `optimum`."""
    if level == MEMORY_LEVEL:
        return local_sizes(facts, cpus, memory_size(facts, cpus, optimum))
    caches = facts.data_caches()
    mine = caches[-1:] if level == "LLC" else [cache for cache in caches if f"L{cache.level}" == level]
    return max(LINE, optimum // (sharers(mine[0], cpus) if mine else 1) // LINE * LINE)


def demanded_bytes(facts: HostFacts | None, data_size: int | None, cpus: Sequence[int] | None = None) -> int:
    """Return the number of bytes that all threads on `cpus` (default: all usable CPUs) need together. Without facts,
    the result is an estimate."""
    if facts is None:
        return data_size or _TYPICAL_OPTIMUM
    cpus = usable_cpus(facts) if cpus is None else cpus
    size = data_size or local_sizes(facts, cpus, memory_size(facts, cpus, _TYPICAL_OPTIMUM))
    return size * max(1, len(cpus))


def mapping_seconds(demanded: int) -> float:
    """Return the time, in seconds, needed to start a kernel and to map, fill and check its memory."""
    return _START_S + _MAP_S_PER_GIB * demanded / 2**30


def page_privileges(pages: PageKind, kernel: str) -> tuple[Privilege, ...]:
    """Return the privileges that `kernel` needs for its pages."""
    huge_pages = {"2m": "2 MiB pages", "1g": "1 GiB pages", "auto": "2 MiB pages"}.get(pages)
    lost = "; without this privilege, transparent huge pages are used" if pages == "auto" else ""
    return (Privilege(f"reserves {huge_pages} if the pool has too few free pages{lost}", kernel),) if huge_pages else ()


def cache_share(facts: HostFacts, cpus: Sequence[int]) -> int:
    """Return the cache size per thread, in bytes, with one thread on each of `cpus`. Threads that share a cache divide
    it among themselves."""
    caches = [cache for cache in facts.data_caches() if cache.size_bytes > 0]
    if not caches:
        return ASSUMED_CACHE
    return sum(cache.size_bytes // sharers(cache, cpus) for cache in caches)


def sharers(cache: Cache, cpus: Sequence[int]) -> int:
    """Return the number of threads that share one cache. All caches are assumed to be identical to the one in the
    facts."""
    listed = set(cache.shared_cpus)
    return max(1, len(listed & set(cpus)) or min(len(listed), len(cpus)))


def memory_size(facts: HostFacts, cpus: Sequence[int], optimum: int) -> int:
    """Return the size per thread, in bytes, for measuring memory: the thread's part of `optimum` (the size for one
    thread), but at least four times the thread's share of the caches."""
    caches = facts.data_caches()
    together = sharers(caches[-1], cpus) if caches else max(1, len(cpus))
    return aligned(max(optimum // together, LARGE_ENOUGH * cache_share(facts, cpus)))


def fitted(size: int, node: MemoryNode, threads: int) -> int:
    """Return `size` per thread, reduced to what fits in the free memory of the node."""
    return size if node.free_bytes is None else min(size, room(node, threads))


def room(node: MemoryNode, threads: int) -> int:
    """Return the number of bytes available per thread on a node whose free memory is known."""
    return _part(node.free_bytes or 0, threads)


def _part(free_bytes: int, threads: int) -> int:
    return aligned(int(free_bytes * FREE_SHARE) // max(1, threads))


def local_sizes(facts: HostFacts, cpus: Sequence[int], size: int) -> int:
    """Return `size` per thread, reduced to what fits on the node of `cpus` with the least free memory per thread,
    because all threads use the same size.

    Threads on a node without memory use the memory of other nodes, so the host as a whole must also have room for all
    threads.
    """
    with_memory = [(node, on) for node, on in _occupied(facts, cpus) if node.memory]
    sizes = [fitted(size, node, len(on)) for node, on in with_memory]
    available = facts.memory.available_bytes
    if available is not None:
        sizes.append(_part(available, len(cpus)))
    return min([size, *sizes])


def local_nodes(facts: HostFacts, cpus: Sequence[int]) -> tuple[int, ...]:
    """Return the node to which each CPU's memory is bound, or UNBOUND if the CPU's node has no memory or is unknown."""
    nodes = {cpu: node.bind for node, on in _occupied(facts, cpus) if node.memory for cpu in on}
    return tuple(nodes.get(cpu, UNBOUND) for cpu in cpus)


def working_set_flags(facts: HostFacts, cpus: Sequence[int], size: int) -> tuple[str, ...]:
    """Return the flags for a value measured with `size` bytes on each of `cpus`."""
    known = bool(facts.data_caches())
    return (SET_FLAG,) if known and size < TOO_SMALL * cache_share(facts, cpus) else ()


def aligned(size: int) -> int:
    """Round down to a multiple of 64 KiB, but to at least 64 KiB."""
    return max(ALIGNMENT, size // ALIGNMENT * ALIGNMENT)


def _occupied(facts: HostFacts, cpus: Sequence[int]) -> list[tuple[MemoryNode, list[int]]]:
    found = [(node, [cpu for cpu in cpus if cpu in node.cpus]) for node in all_nodes(facts)]
    return [(node, on) for node, on in found if on]


def working_set_note(records: Sequence[Record], latency: str) -> tuple[str, ...]:
    """Return a note below a table that states the working set (`data_size`) and the page size of `latency`, or an empty
    tuple if they are unknown."""
    sizes, pages = (_values(records, metric) for metric in ("data_size", "page_size"))
    return (f"{latency}: measured with random loads over {sizes}, in {pages} pages.",) if sizes and pages else ()


def _values(records: Sequence[Record], metric: str) -> str:
    values = sorted({int(record.value) for record in records if record.metric == metric})
    return " or ".join(about_size(value) for value in values)
