"""The samples of the kernel load: the latency and the bandwidth of one level of load, in the same windows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from asct.benchmarks.loaded_latency.findings import NO_LOAD, NOT_REACHED
from asct.instruments.memory.noise import settled_flags
from asct.sdk.record import Stats
from asct.sdk.samples import KernelRun, interval, number
from asct.statistics.robust import mad

PS: Final = 1e-12
_MANY_DROPPED: Final = 0.25


@dataclass(frozen=True, slots=True)
class Level:
    """One level of load. `latency` in seconds, `bandwidth` in B/s of bytes that the load threads load and store; None
    for what did not run. `bus_share` is what the memory bus moves for one such byte.

    `phase` is idle, level or target; `delay` None with the load threads parked; `target` the bandwidth that a search
    was for; the clock is that of the core that walks the chain, None without one. `workload` is the time of a command
    in seconds.
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


def levels_of(run: KernelRun) -> list[Level]:
    """Every sample as a level; raises ValueError when there is none, or for one that is not a sample of this kernel."""
    if not run.samples:
        raise ValueError("the kernel load measured no level")
    return [_level(sample, run) for sample in run.samples]


def _level(sample: Mapping[str, Any], run: KernelRun) -> Level:
    phase = sample.get("phase")
    if phase not in ("idle", "level", "target"):
        raise ValueError(f"a sample of the kernel load has no known phase: {phase!r}")
    windows = int(number(sample, "windows"))
    if windows < 1:
        raise ValueError(f"the sample of phase {phase} with {sample.get('delay')} NOPs has no windows")
    return Level(
        phase=str(phase),
        delay=None if phase == "idle" else int(number(sample, "delay")),
        target=number(sample, "target_bps") if phase == "target" else None,
        latency=_latency(sample, windows),
        bandwidth=None if phase == "idle" else _bandwidth(sample, windows),
        bus_share=number(sample, "bus_permille") / 1000.0,
        clock_hz=None if sample.get("cycle_fs") is None else 1e15 / number(sample, "cycle_fs"),
        workload=None if sample.get("workload_ns") is None else number(sample, "workload_ns") * 1e-9,
        flags=_flags(sample, run),
    )


def _latency(sample: Mapping[str, Any], windows: int) -> Stats | None:
    """Median, interval and extremes as the kernel formed them over all kept windows; the MAD from those it lists."""
    if sample.get("median_ps") is None:
        return None
    return Stats(
        n=windows,
        median=number(sample, "median_ps") * PS,
        mad=mad([value * PS for value in _listed(sample, "latency_ps")]),
        ci95=interval(sample, "ci_low_ps", "ci_high_ps", PS),
        min=number(sample, "min_ps") * PS,
        max=number(sample, "max_ps") * PS,
    )


def _bandwidth(sample: Mapping[str, Any], windows: int) -> Stats:
    return Stats(
        n=windows,
        median=number(sample, "median_bps"),
        mad=mad(_listed(sample, "bandwidth_bps")),
        ci95=interval(sample, "ci_low_bps", "ci_high_bps", 1.0),
        min=number(sample, "min_bps"),
        max=number(sample, "max_bps"),
    )


def _listed(sample: Mapping[str, Any], key: str) -> Sequence[float]:
    values = sample.get(key)
    if not isinstance(values, list) or not values:
        raise ValueError(f"the sample of phase {sample.get('phase')} lists no windows in `{key}`")
    return [float(value) for value in values]


def _flags(sample: Mapping[str, Any], run: KernelRun) -> tuple[str, ...]:
    dropped = int(number(sample, "dropped"))
    flags = {
        "switched": dropped > _MANY_DROPPED * (number(sample, "windows") + dropped),
        NOT_REACHED: sample.get("reached") is False,
        NO_LOAD: sample.get("disturbed") is True or (sample["phase"] != "idle" and number(sample, "median_bps") <= 0),
    }
    found = tuple(flag for flag, holds in flags.items() if holds)
    return (*settled_flags(sample.get("capped") is not True, run.end, dropped), *found)
