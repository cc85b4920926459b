"""Names for the levels of a memory hierarchy: L1, L2, ..., LLC, DRAM.

The last cache is LLC if it is level 3 or higher, or shared by several cores; caches before it are L<n>. So four levels
are L1, L2, LLC, DRAM; five are L1, L2, L3, LLC, DRAM; three are L1, L2, DRAM, or L1, LLC, DRAM where the host says that
the second cache is shared. What the host reports is only a hint for these names and is left aside if it does not fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_FIT = 1.3
"""How far a plateau may reach beyond the size of its cache: replacement and page colouring blur the end."""
_SURELY_DRAM = 1 << 30
_PROBABLY_DRAM = 64 << 20


@dataclass(frozen=True, slots=True)
class CacheHint:
    """A data or unified cache that the host reports: level (1, 2, ...), size in bytes, shared between cores or not."""

    level: int
    size: int
    shared: bool = False


def name_levels(uppers: Sequence[int], largest: int, open_end: bool, hints: Sequence[CacheHint] = ()) -> list[str]:
    """Names of the levels whose upper bounds are `uppers`, smallest first.

    `largest` is the largest size measured. With `open_end` the latency was still rising there, so that the last plateau
    is a cache.
    """
    dram = not open_end and _reaches_dram(len(uppers), largest, hints)
    caches = list(uppers[:-1]) if dram else list(uppers)
    matched = _match(caches, hints)
    numbers = [hint.level for hint in matched] if matched else list(range(1, len(caches) + 1))
    names = [f"L{number}" for number in numbers]
    if names and (numbers[-1] >= 3 or (matched and numbers[-1] >= 2 and matched[-1].shared)):
        names[-1] = "LLC"
    return [*names, "DRAM"] if dram else names


def unmatched_hints(uppers: Sequence[int], names: Sequence[str], hints: Sequence[CacheHint]) -> str:
    """A note on caches that the host reports but the curve does not show as a plateau; empty if there are none."""
    caches = [upper for upper, name in zip(uppers, names, strict=True) if name != "DRAM"]
    matched = _match(caches, hints)
    if not matched:
        return ""
    left = [hint for hint in sorted(hints, key=lambda item: item.size) if hint not in matched]
    return "; ".join(f"no plateau for the L{hint.level} of {hint.size} B that the host reports" for hint in left)


def _reaches_dram(plateaus: int, largest: int, hints: Sequence[CacheHint]) -> bool:
    if largest >= _SURELY_DRAM:
        return True
    if not hints:
        return largest >= _PROBABLY_DRAM
    return largest > max(hint.size for hint in hints) or plateaus > len(hints)


def _match(caches: Sequence[int], hints: Sequence[CacheHint]) -> list[CacheHint]:
    """The smallest reported cache that holds each plateau; empty if they do not fit one to one, in order."""
    ordered = sorted(hints, key=lambda hint: (hint.size, hint.level))
    matched: list[CacheHint] = []
    for upper in caches:
        fitting = next((hint for hint in ordered if hint.size * _FIT >= upper), None)
        if fitting is None or (matched and fitting.level <= matched[-1].level):
            return []
        matched.append(fitting)
    return matched
