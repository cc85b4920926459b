"""What the curve of latency over bandwidth says as a whole: its peak, its knee, and latency at a share of the peak."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from asct.benchmarks.loaded_latency.findings import GAPS, NO_LOAD
from asct.benchmarks.loaded_latency.samples import Level
from asct.sdk.record import Measurement, doubtful
from asct.statistics.knee import Point, knee_index, response_at, throughput_at

SHARE: Final = 0.8
"""Of the peak, where latency is asked for: the load that a sizing leaves room above."""
SLOWER: Final = 1.15
"""Of the idle latency, where bandwidth is asked for: the line that ASCT draws."""
_COARSE: Final = 0.25


@dataclass(frozen=True, slots=True)
class _Rung:
    """A level on the curve: bytes on the bus per second, and the latency if a chain ran."""

    bandwidth: float
    latency: float | None
    flags: tuple[str, ...]


def summary(levels: Sequence[Level], idle: float | None, of_latency: tuple[str, ...]) -> list[Measurement]:
    """Peak, knee and the values between the levels, from levels in any order; nothing from none.

    What is not known is not there, and a flag of the peak says why. A level without a value under its load is none of
    the curve; the peak may have been there, so that its absence is flagged. `idle` is the latency without load, in
    seconds; `of_latency` are flags of all latencies.
    """
    valid = [level for level in levels if NO_LOAD not in level.flags]
    gaps = (GAPS,) if len(valid) < len(levels) else ()
    rungs = _rungs(valid)
    if not rungs:
        return []
    top = max(rungs, key=lambda rung: rung.bandwidth)
    points = [(rung.bandwidth, rung.latency) for rung in rungs if rung.latency is not None]
    flags = (*_doubts(rungs), *gaps, *of_latency)
    found = _of_points(points, top.bandwidth, idle, flags) if points else []
    known = {item.metric for item in found}
    missing = {
        "no-knee": "knee_bandwidth", "no-latency-at-80": "latency_at_80", "no-bandwidth-at-115": "bandwidth_at_115",
    }  # fmt: skip
    unknown = tuple(flag for flag, metric in missing.items() if points and metric not in known)
    return [Measurement("peak_bandwidth", top.bandwidth, flags=(*top.flags, *gaps, *unknown)), *found]


def _rungs(levels: Sequence[Level]) -> list[_Rung]:
    """Levels in the order of rising load: the fewer NOPs, the more of it."""
    return [
        _Rung(level.bandwidth.median * level.bus_share, level.latency.median if level.latency else None, level.flags)
        for level in sorted(levels, key=lambda level: level.delay or 0, reverse=True)
        if level.bandwidth is not None
    ]


def _of_points(points: Sequence[Point], peak: float, idle: float | None, flags: tuple[str, ...]) -> list[Measurement]:
    knee = knee_index(points)
    values: list[tuple[str, float | None, float | None]] = [
        ("latency_at_80", response_at(points, SHARE * peak), SHARE * peak)
    ]
    if knee is not None:
        values += [
            ("knee_bandwidth", points[knee][0], points[knee][0]),
            ("knee_latency", points[knee][1], points[knee][0]),
        ]
    if idle is not None:
        bandwidth = throughput_at(points, SLOWER * idle)
        values.append(("bandwidth_at_115", bandwidth, bandwidth))
    return [
        Measurement(metric, value, flags=(*flags, *_coarse(points, where, peak)))
        for metric, value, where in values
        if value is not None and where is not None
    ]


def _coarse(points: Sequence[Point], at: float, peak: float) -> tuple[str, ...]:
    """Whether the next level below or above `at` is far away."""
    below = max((x for x, _ in points if x < at), default=at)
    above = min((x for x, _ in points if x > at), default=at)
    return ("coarse-levels",) if max(at - below, above - at) > _COARSE * peak else ()


def _doubts(rungs: Sequence[_Rung]) -> tuple[str, ...]:
    """What puts any level in doubt puts in doubt what the whole curve says."""
    return tuple(dict.fromkeys(flag for rung in rungs for flag in rung.flags if doubtful(flag)))
