"""Convert the samples of the `load` kernel to measurements: each level, each target, and the whole curve."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from asct.benchmarks.loaded_latency.command import layout
from asct.benchmarks.loaded_latency.params import LoadedLatencyParams
from asct.instruments.memory.kernel_flags import (
    ABOVE_THEORETICAL_FLAGS,
    NOISE_FLAGS,
    PAGE_FLAGS,
    above_theoretical,
    many_dropped,
    noise_flags,
    page_flags,
)
from asct.instruments.memory.sizes import CACHES, SET_FLAG, working_set_flags
from asct.instruments.memory.visits import VISIT_FLAGS
from asct.sdk.facts import HostFacts
from asct.sdk.record import DISAGREES, Measurement, Scalar, Stats
from asct.sdk.samples import PS, KernelRun, number, sample_stats
from asct.sdk.step import Output
from asct.statistics.knee import LoadPoint, knee_index, response_at, throughput_at
from asct.statistics.robust import median
from asct.statistics.visits import SAMPLES_MIN

SMALL_CHAIN: Final = "small-working-set"
NOT_REACHED: Final = "invalid-target"
NO_LOAD: Final = "invalid-load"
GAPS: Final = "noisy-missing"
ONE_VISIT: Final = "one-visit"
WORKLOAD: Final = ("workload_time", "idle_workload_time")
_SLOW_S: Final = 10.0
"""If one visit takes longer than this many seconds, the command runs in only one visit, because six visits would take
more than a minute."""
FLAGS: Final[dict[str, str]] = {
    **NOISE_FLAGS,
    **VISIT_FLAGS,
    **PAGE_FLAGS,
    SET_FLAG: "the working set of a load thread is less than twice its share of the caches, so part of its traffic "
    "never reached memory: free some memory, or set a larger `load_size`",
    "switched": "more than a quarter of the windows were dropped because a thread was descheduled",
    DISAGREES: "two latencies contradict each other: the one measured under the lower load is higher, and the "
    "intervals do not overlap",
    ONE_VISIT: "one visit with the command took more than 10 s, so its time has no interval; set `visits` to "
    "measure several visits",
    SMALL_CHAIN: "the chain is smaller than twice the size of the last-level cache, so some of its loads hit the cache",
    NOT_REACHED: "the load threads cannot reach this bandwidth; the nearest level was measured instead",
    NO_LOAD: "other processes preempted a thread in every window, so the requested load was never present",
    GAPS: "load levels without a value are missing from the curve; repeat the measurement on an idle machine",
    "no-knee": "bandwidth grew in proportion to the load: the memory was not saturated, so there is no knee",
    "no-latency-at-80": "the bandwidth of every level is at least 80 % of the peak; add larger NOP counts",
    "no-bandwidth-at-115": "the latency did not rise to 115 % of the idle latency",
    "coarse-levels": "on one side of this value, the nearest level is more than a quarter of the peak bandwidth away",
    **ABOVE_THEORETICAL_FLAGS,
}
"""All flags, with their meanings."""


@dataclass(frozen=True, slots=True)
class LoadLevel:
    """The result of one load level.

    `phase` is idle, level or target; `delay` is None while the load threads are idle; `target` is the bandwidth to be
    reached. `latency` is in seconds, and `bandwidth` counts the bytes per second that the load threads load and store;
    each is None if it was not measured. `bus_share` is the number of bytes on the memory bus per byte loaded or stored.
    `clock_hz` is the clock of the core that follows the chain (None without a chain); `workload` is the time of a
    command, in seconds.
    """

    phase: str
    delay: int | None
    target: float | None
    latency: Stats | None
    bandwidth: Stats | None
    bus_share: float
    clock_hz: float | None
    workload: float | None
    flags: tuple[str, ...]


def _level(sample: Mapping[str, Any], run: KernelRun) -> LoadLevel:
    phase = sample.get("phase")
    if phase not in ("idle", "level", "target"):
        raise ValueError(f"a sample from the `load` kernel has an unknown phase: {phase!r}")
    if int(number(sample, "windows")) < 1:
        raise ValueError(f"the sample for phase {phase} with {sample.get('delay')} NOPs has no windows")
    return LoadLevel(
        phase=str(phase),
        delay=None if phase == "idle" else int(number(sample, "delay")),
        target=number(sample, "target_bps") if phase == "target" else None,
        latency=None if sample.get("median_ps") is None else _stats(sample, "ps", PS, "latency_ps"),
        bandwidth=None if phase == "idle" else _stats(sample, "bps", 1.0, "bandwidth_bps"),
        bus_share=number(sample, "bus_permille") / 1000.0,
        clock_hz=None if sample.get("cycle_fs") is None else 1e15 / number(sample, "cycle_fs"),
        workload=None if sample.get("workload_ns") is None else number(sample, "workload_ns") * 1e-9,
        flags=_flags(sample, run),
    )


def _stats(sample: Mapping[str, Any], suffix: str, unit: float, key: str) -> Stats:
    values = sample.get(key)
    if not isinstance(values, list) or not values:
        raise ValueError(f"the sample for phase {sample.get('phase')} has no windows in `{key}`")
    return sample_stats(sample, suffix, unit, int(number(sample, "windows")), [float(one) * unit for one in values])


def _flags(sample: Mapping[str, Any], run: KernelRun) -> tuple[str, ...]:
    dropped = int(number(sample, "dropped"))
    flags = {
        "switched": many_dropped(number(sample, "windows"), dropped),
        NOT_REACHED: sample.get("reached") is False,
        NO_LOAD: sample.get("disturbed") is True or (sample["phase"] != "idle" and number(sample, "median_bps") <= 0),
    }
    found = tuple(flag for flag, holds in flags.items() if holds)
    few = ("noisy",) if number(sample, "windows") < SAMPLES_MIN else ()
    return (*(noise_flags(run.end) or few), *found)


SHARE: Final = 0.8
"""Share of the peak bandwidth at which the latency is reported. This share is a common limit for the load on a host."""
SLOWER: Final = 1.15
"""Multiple of the idle latency at which the bandwidth is reported, as in Arm's ASCT."""
_COARSE: Final = 0.25
"""Share of the peak bandwidth. If adjacent levels are further apart, a value interpolated between them is flagged."""
_MISSING: Final = {
    "no-knee": "knee_bandwidth", "no-latency-at-80": "latency_at_80", "no-bandwidth-at-115": "bandwidth_at_115",
}  # fmt: skip
"""Flags on the peak, each of which means that a certain value could not be determined."""


def summary(levels: Sequence[LoadLevel], idle: float | None, of_latency: tuple[str, ...]) -> list[Measurement]:
    """Return the peak, the knee and interpolated values for levels in any order, or an empty sequence if there are no
    levels.

    Values that could not be determined are omitted, and a flag on the peak gives the reason. A level at which the load
    was never present is not part of the curve; because the true peak may be at that level, the reported peak is
    flagged. `idle` is the latency without load, in seconds; `of_latency` contains the flags that apply to all
    latencies.
    """
    valid = [level for level in levels if NO_LOAD not in level.flags]
    gaps = (GAPS,) if len(valid) < len(levels) else ()
    # The fewer NOPs, the higher the load.
    rising = sorted(valid, key=lambda level: level.delay or 0, reverse=True)
    curve = [(level, level.bandwidth.median * level.bus_share) for level in rising if level.bandwidth is not None]
    if not curve:
        return []
    top, peak = max(curve, key=lambda pair: pair[1])
    points = [(bandwidth, level.latency.median) for level, bandwidth in curve if level.latency is not None]
    of_parts = dict.fromkeys((*(flag for level, _ in curve for flag in level.flags), *gaps, *of_latency))
    found = _of_points(points, peak, idle, tuple(of_parts)) if points else []
    known = {item.metric for item in found}
    unknown = tuple(flag for flag, metric in _MISSING.items() if points and metric not in known)
    return [Measurement("peak_bandwidth", peak, flags=(*top.flags, *gaps, *unknown)), *found]


def _of_points(
    points: Sequence[LoadPoint], peak: float, idle: float | None, flags: tuple[str, ...]
) -> list[Measurement]:
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


def _coarse(points: Sequence[LoadPoint], at: float, peak: float) -> tuple[str, ...]:
    """Return a flag if the adjacent level below or above `at` is far away."""
    below = max((x for x, _ in points if x < at), default=at)
    above = min((x for x, _ in points if x > at), default=at)
    return ("coarse-levels",) if max(at - below, above - at) > _COARSE * peak else ()


def is_slow(visit: Output) -> bool:
    """Return whether the first visit with a command took so long that no further visits follow."""
    return visit.elapsed_ns * 1e-9 > _SLOW_S


def measurements(params: LoadedLatencyParams, run: KernelRun, facts: HostFacts) -> list[Measurement]:
    """Return all values of the run. Raises ValueError if there are no samples or one is invalid."""
    if not run.samples:
        raise ValueError("the `load` kernel reported no load level")
    levels = _as_set([_level(sample, run) for sample in run.samples], params)
    theoretical = params.theoretical_bandwidth or facts.memory.theoretical_bandwidth
    extra = _size_flags(params, run.meta, facts)
    found = [item for level in levels for item in _of_level(params, level, theoretical, extra)]
    idle = next((level.latency.median for level in levels if level.phase == "idle" and level.latency), None)
    if params.phase != "loading":
        curve = [level for level in levels if level.phase == "level"]
        curve = [replace(level, flags=(*level.flags, *extra["bandwidth"])) for level in curve]
        found += summary(curve, idle, extra["latency"])
    if theoretical is not None:
        found.append(Measurement("theoretical_bandwidth", theoretical))
    return above_theoretical(found + _circumstances(levels, run.meta), theoretical)


def _as_set(levels: Sequence[LoadLevel], params: LoadedLatencyParams) -> list[LoadLevel]:
    """Return the levels in the order of the setting instead of the random order of the visit, between the idle latency
    and the targets, which the kernel measures first and last."""
    places = {delay: place for place, delay in enumerate(params.injected_nops)}
    phases = ("idle", "level", "target")

    def place(level: LoadLevel) -> tuple[int, int]:
        return phases.index(level.phase), places.get(level.delay or 0, 0) if level.phase == "level" else 0

    return sorted(levels, key=place)


def _of_level(
    params: LoadedLatencyParams, level: LoadLevel, theoretical: float | None, extra: Mapping[str, tuple[str, ...]]
) -> list[Measurement]:
    flags = (*level.flags, *extra["latency"])
    if level.delay is None:
        return _latencies(level, "idle_latency", {}, flags) + _workload(level, "idle_workload_time", {})
    at: dict[str, Scalar] = {"delay": level.delay} if level.target is None else {"target_bandwidth": level.target}
    found = _latencies(level, "latency", at, flags) + _workload(level, "workload_time", at)
    if level.bandwidth is not None and params.phase != "loading":
        found += _bandwidths(level, level.bandwidth, at, theoretical, extra["bandwidth"])
    if level.target is not None:
        found.append(Measurement("nops", float(level.delay), dict(at), flags=level.flags))
    return found


def _latencies(level: LoadLevel, metric: str, at: Mapping[str, Scalar], flags: tuple[str, ...]) -> list[Measurement]:
    if level.latency is None:
        return []
    found = [Measurement(metric, level.latency.median, dict(at), level.latency, flags)]
    if level.clock_hz is not None:
        cycles = level.latency.scaled(level.clock_hz)
        found.append(Measurement(f"{metric}_cycles", cycles.median, dict(at), cycles, flags))
    return found


def _workload(level: LoadLevel, metric: str, at: Mapping[str, Scalar]) -> list[Measurement]:
    return [] if level.workload is None else [Measurement(metric, level.workload, dict(at), flags=level.flags)]


def _bandwidths(
    level: LoadLevel, useful: Stats, at: Mapping[str, Scalar], theoretical: float | None, extra: tuple[str, ...]
) -> list[Measurement]:
    bus = useful.scaled(level.bus_share)
    flags = (*level.flags, *extra)
    spreads = {"bandwidth": useful, "bus_bandwidth": bus}
    if level.clock_hz is not None:
        spreads["bandwidth_cycles"] = useful.scaled(1.0 / level.clock_hz)
    found = [Measurement(name, stats.median, dict(at), stats, flags) for name, stats in spreads.items()]
    if theoretical is not None:
        share = 100.0 * bus.median / theoretical
        found.append(Measurement("share_of_theoretical", share, dict(at), flags=flags))
    return found


def _size_flags(params: LoadedLatencyParams, meta: Mapping[str, Any], facts: HostFacts) -> dict[str, tuple[str, ...]]:
    """Return the flags that follow from the working set sizes: those that apply to all latencies, and those that apply
    to all bandwidths."""
    options = meta.get("options")
    sizes = options if isinstance(options, Mapping) else {}
    small = number(sizes, "size") < CACHES * number(meta, "llc_bytes")
    cpus = layout(params, facts).load_cpus
    return {
        "latency": (SMALL_CHAIN,) if small else (),
        "bandwidth": working_set_flags(facts, cpus, int(number(sizes, "load-size"))),
    }


def _circumstances(levels: Sequence[LoadLevel], meta: Mapping[str, Any]) -> list[Measurement]:
    clocks = [level.clock_hz for level in levels if level.clock_hz is not None]
    found = [Measurement("core_clock", median(clocks))] if clocks else []
    arenas = [meta.get("chain_arena"), *(meta.get("load_arenas") or ())]
    pages = [arena for arena in arenas if isinstance(arena, Mapping)]
    if not pages:
        raise ValueError("the `load` kernel did not report which memory it used")
    flags = tuple(dict.fromkeys(flag for arena in pages for flag in page_flags(arena)))
    found.append(Measurement("page_size", min(number(arena, "page_bytes") for arena in pages), flags=flags))
    options = meta["options"]
    if meta.get("chain_arena") is not None:
        found.append(Measurement("data_size", number(options, "size")))
    found.append(Measurement("load_size", number(options, "load-size")))
    return [*found, Measurement("threads", float(len(meta.get("cpus") or ())))]


_IDLE: Final = "idle_latency"
_METRICS: Final = ("latency", "latency_cycles", _IDLE, f"{_IDLE}_cycles")


def checked(found: Sequence[Measurement]) -> list[Measurement]:
    """Return the measurements, flagging latencies that contradict each other: memory appears faster under a heavier
    load.

    If a latency is lower than one measured under a lighter load, it is flagged, and so is the highest latency measured
    under a lighter load.
    """
    places = {_place(item) for pair in _falls(_rising(found)) for item in pair}
    return [
        replace(item, flags=(*item.flags, DISAGREES)) if item.metric in _METRICS and _place(item) in places else item
        for item in found
    ]


def _rising(found: Sequence[Measurement]) -> list[Measurement]:
    """Return the latency without load, followed by the latencies of the levels and targets, from the most NOPs to the
    fewest. Latencies without an interval, and those whose load was never present, are omitted."""
    nops = {_place(item): item.value for item in found if item.metric == "nops"}
    latencies = [item for item in found if item.metric in (_IDLE, "latency") and NO_LOAD not in item.flags]
    known = [item for item in latencies if item.stats is not None and item.stats.ci95 is not None]
    return sorted(known, key=lambda item: -float(item.coords.get("delay", nops.get(_place(item), math.inf))))


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


def _place(item: Measurement) -> frozenset[tuple[str, Scalar]]:
    """Return the level or target at which a value was measured. The latency without load has an empty place."""
    return frozenset(item.coords.items())
