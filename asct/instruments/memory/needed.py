"""What memory benchmarks read of latency-sweep: sizes of data that lie well inside a level."""

from __future__ import annotations

from typing import Final

from asct.sdk.benchmark import Context, Dependency

CACHE: Final = Dependency("cache", "latency-sweep", ("data_size",))
"""Fills `data_size` when it is left at auto."""
CACHES: Final = 2
"""A chain of so many last caches at least is one in memory: of a shorter one a good part of the loads hit the cache."""


def optimum_size(context: Context, level: str) -> int:
    """Bytes well inside `level` (dram, llc, l1 ...); raises LookupError with the way out if it was not found."""
    found = context.needs.get(f"{CACHE.alias}.{level}.optimum_size")
    if found is None:
        raise LookupError(f"{CACHE.benchmark} shows no {level.upper()} level on this host; set `data_size`")
    return int(found)


def chain_size(context: Context) -> int:
    """Bytes of a chain whose latency is that of memory: the optimum size of DRAM, and no less than `CACHES` of the
    caches that the host reports; raises LookupError as `optimum_size`."""
    caches = [cache.size_bytes for cache in context.facts.data_caches()]
    return max(optimum_size(context, "dram"), CACHES * max(caches, default=0))
