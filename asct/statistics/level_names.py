"""Name the levels of a memory hierarchy: L1, L2, ..., LLC, DRAM.

The last cache is named LLC if it has level 3 or higher or if several cores share it; the caches before it are named
L<n>. Four levels are therefore L1, L2, LLC, DRAM; five are L1, L2, L3, LLC, DRAM; three are L1, L2, DRAM, or L1, LLC,
DRAM if the host reports that the second cache is shared. The caches that the host reports are used only as hints for
these names, and are ignored if they do not match.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_FIT = 1.3
"""Maximum size of a plateau relative to its cache. A plateau can be larger than the cache, because the replacement
policy and page coloring blur its end."""
_SURELY_DRAM = 1 << 30
"""A working set of this size reaches DRAM, regardless of the caches that the host reports."""
_PROBABLY_DRAM = 64 << 20
"""A working set of this size is assumed to reach DRAM if the host reports no caches."""


@dataclass(frozen=True, slots=True)
class CacheHint:
    """A data or unified cache as reported by the host: its level (1, 2, ...), its size in bytes, and whether several
    cores share it."""

    level: int
    size: int
    shared: bool = False


def name_levels(uppers: Sequence[int], largest: int, open_end: bool, hints: Sequence[CacheHint] = ()) -> list[str]:
    """Return the names of the levels with the upper bounds `uppers`, smallest first.

    `largest` is the largest size measured. `open_end` means that the latency is still rising at that size; the last
    plateau is then a cache.
    """
    dram = not open_end and _reaches_dram(len(uppers), largest, hints)
    caches = list(uppers[:-1]) if dram else list(uppers)
    matched = _match(caches, hints)
    numbers = [hint.level for hint in matched] if matched else list(range(1, len(caches) + 1))
    names = [f"L{number}" for number in numbers]
    if names and (numbers[-1] >= 3 or (matched and numbers[-1] >= 2 and matched[-1].shared)):
        names[-1] = "LLC"
    return [*names, "DRAM"] if dram else names


def has_unmatched_hints(uppers: Sequence[int], names: Sequence[str], hints: Sequence[CacheHint]) -> bool:
    """Return whether the host reports a cache that has no plateau on the curve."""
    matched = _match([upper for upper, name in zip(uppers, names, strict=True) if name != "DRAM"], hints)
    return bool(matched) and any(hint not in matched for hint in hints)


def _reaches_dram(plateaus: int, largest: int, hints: Sequence[CacheHint]) -> bool:
    if largest >= _SURELY_DRAM:
        return True
    if not hints:
        return largest >= _PROBABLY_DRAM
    return largest > max(hint.size for hint in hints) or plateaus > len(hints)


def _match(caches: Sequence[int], hints: Sequence[CacheHint]) -> list[CacheHint]:
    """For each plateau, return the smallest reported cache that can hold it. Return an empty list unless caches and
    plateaus match one to one, in order."""
    ordered = sorted(hints, key=lambda hint: (hint.size, hint.level))
    matched: list[CacheHint] = []
    for upper in caches:
        fitting = next((hint for hint in ordered if hint.size * _FIT >= upper), None)
        if fitting is None or (matched and fitting.level <= matched[-1].level):
            return []
        matched.append(fitting)
    return matched
