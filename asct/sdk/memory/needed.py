"""What memory benchmarks read of latency-sweep: sizes of data that lie well inside a level."""

from __future__ import annotations

from typing import Final

from asct.sdk.benchmark import Context, Dependency

CACHE: Final = Dependency("cache", "latency-sweep", ("data_size",))
"""Fills `data_size` when it is left at auto."""


def optimum_size(context: Context, level: str) -> int:
    """Bytes well inside `level` (dram, llc, l1 ...); raises LookupError with the way out if it was not found."""
    found = context.needs.get(f"{CACHE.alias}.{level}.optimum_size")
    if found is None:
        raise LookupError(f"{CACHE.benchmark} shows no {level.upper()} level on this host; set `data_size`")
    return int(found)
