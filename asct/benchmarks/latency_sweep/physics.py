"""Check the latencies of the first level: for every size, a load takes the same whole number of core cycles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from asct.statistics.robust import median

if TYPE_CHECKING:
    from asct.sdk.facts import HostFacts
    from asct.sdk.record import Measurement, Scalar

FRACTION: Final = "noisy-fraction"
"""Flag for a latency that is not a whole number of core cycles."""
UNEVEN: Final = "noisy-sizes"
"""Flag for a latency of the first level that is inconsistent with those of other sizes in the level."""
_FIRST: Final = "L1"
_DEVIATION: Final = 0.01
_WELL_INSIDE: Final = 0.9
"""Fraction of the first level's size up to which every load hits in that level."""
_METRICS: Final = ("latency", "latency_cycles")


def checked(found: Sequence[Measurement], facts: HostFacts) -> list[Measurement]:
    """Return the measurements, with flags on latencies that are implausible for the first level.

    The function checks the latency of the level itself and the latencies at sizes well inside it. If the end of the
    level is unknown, it checks only the latency of the level.
    """
    cycles = {_place(item): item.value for item in found if item.metric == "latency_cycles"}
    few = {item.coords.get("size") for item in found if "few-lines" in item.flags}
    inside = {
        place: value
        for place, value in cycles.items()
        if place[0] == _FIRST or (0 < place[1] <= _WELL_INSIDE * _end(found, facts) and place[1] not in few)
    }
    middle = median([value for place, value in inside.items() if place[0] is None] or list(inside.values()) or [0.0])
    flags = {place: _flags(value, middle) for place, value in inside.items()}
    return [_flagged(item, flags) for item in found]


def _end(found: Sequence[Measurement], facts: HostFacts) -> float:
    """Return the end of the first level in bytes: the measured or the reported end, whichever is lower, or 0 if both
    are unknown."""
    ends = [item.value for item in found if item.metric == "upper_bound" and item.coords.get("level") == _FIRST]
    ends += [float(cache.size_bytes) for cache in facts.data_caches() if cache.level == 1]
    return min(ends, default=0.0)


def _place(item: Measurement) -> tuple[Scalar | None, int]:
    """Return the level and the size of a value, or None and 0 if it has neither."""
    return item.coords.get("level"), int(item.coords.get("size", 0))


def _flags(cycles: float, middle: float) -> tuple[str, ...]:
    broken = {
        FRACTION: abs(cycles - round(cycles)) >= _DEVIATION * cycles,
        UNEVEN: abs(cycles - middle) >= _DEVIATION * middle,
    }
    return tuple(flag for flag, holds in broken.items() if holds)


def _flagged(item: Measurement, flags: Mapping[tuple[Scalar | None, int], tuple[str, ...]]) -> Measurement:
    more = flags.get(_place(item), ()) if item.metric in _METRICS else ()
    return replace(item, flags=(*item.flags, *more)) if more else item
