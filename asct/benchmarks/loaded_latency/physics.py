"""Check the curve of loaded latency: more load never makes memory faster."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from asct.sdk.record import DISAGREES, Measurement

_IDLE: Final = "idle_latency"
_METRICS: Final = ("latency", "latency_cycles", _IDLE, f"{_IDLE}_cycles")


def checked(found: Sequence[Measurement]) -> list[Measurement]:
    """Return the measurements. If a latency is lower than one measured under a lighter load, it is flagged, and so is
    the highest latency measured under a lighter load."""
    places = {item.coords.get("delay", _IDLE) for pair in _falls(_rising(found)) for item in pair}
    return [
        replace(item, flags=(*item.flags, DISAGREES)) if item.metric in _METRICS and _place(item) in places else item
        for item in found
    ]


def _rising(found: Iterable[Measurement]) -> list[Measurement]:
    """Return the latency without load, followed by the latencies of the levels, from many NOPs to few."""
    known = [item for item in found if item.stats is not None and item.stats.ci95 is not None]
    levels = [item for item in known if item.metric == "latency" and "delay" in item.coords]
    levels.sort(key=lambda item: -int(item.coords["delay"]))
    return [*(item for item in known if item.metric == _IDLE), *levels]


def _falls(rising: Sequence[Measurement]) -> list[tuple[Measurement, Measurement]]:
    """Return pairs of latencies that contradict each other: the highest one measured so far, and a lower one measured
    under a heavier load."""
    pairs, highest = [], None
    for item in rising:
        if highest is not None and _interval(item)[1] < _interval(highest)[0]:
            pairs.append((highest, item))
        if highest is None or _interval(item)[0] > _interval(highest)[0]:
            highest = item
    return pairs


def _interval(item: Measurement) -> tuple[float, float]:
    interval = None if item.stats is None else item.stats.ci95
    return interval or (item.value, item.value)


def _place(item: Measurement) -> object:
    """Return the number of NOPs at which a latency (in seconds or in cycles) was measured, or `_IDLE` for the latency
    without load."""
    return _IDLE if item.metric.startswith(_IDLE) else item.coords.get("delay")
