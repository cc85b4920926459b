"""Combine the values from all visits in a repeat into one value with an interval."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from statistics import fmean
from typing import Any, Final

from asct.instruments.memory.kernel_flags import MOVED
from asct.sdk.record import Measurement, Stats, ValueState
from asct.sdk.samples import KernelRun, dropped_samples
from asct.statistics.robust import NORMAL_CONSISTENCY, mad
from asct.statistics.visits import Kept, dropped_bounds, moved, summarise_visits
from asct.values.grouping import grouped

TOLERANCE: Final = 2.0
"""An interval is noisy if it is more than this many times as wide as intended."""
# A flag in one of six visits may be due to chance; the same flag in two visits is significant.
_FLAG_SHARE: Final = 0.25


def pooled_noise(runs: Sequence[KernelRun]) -> dict[str, Any]:
    """Return the `end` line of the first process, with the combined noise of all processes.

    Counters are added. A counter is unknown if any of the processes does not report it. The extremes of the clock are
    replaced with the quartiles over all samples, because a few samples at a different clock do not change a median.
    """
    known = [noise for run in runs if isinstance(noise := run.end.get("noise"), Mapping)]
    pooled: dict[str, Any] = {}
    for key in known[0] if known else ():
        numbers = _numbers(noise.get(key) for noise in known)
        how = max if key == "cpus" else sum
        pooled[key] = how(numbers) if len(numbers) == len(known) else None
    if known:
        pooled |= _clock_quartiles(runs)
    return {**runs[0].end, "noise": pooled or None}


def _clock_quartiles(runs: Sequence[KernelRun]) -> dict[str, float | None]:
    cycles = sorted(_numbers(sample.get("cycle_fs") for run in runs for sample in run.samples))
    quarter = len(cycles) // 4
    return {
        "cycle_fs_min": cycles[quarter] if cycles else None,
        "cycle_fs_max": cycles[-1 - quarter] if cycles else None,
    }


def _numbers(values: Iterable[object]) -> list[float]:
    return [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]


def of_visit(values: Sequence[Measurement], runs: Iterable[KernelRun]) -> list[Measurement]:
    """Return the values from one visit, flagged MOVED if the distance between two CPUs changed while a process ran."""
    if not any(_moved(run) for run in runs):
        return list(values)
    return [replace(item, flags=(*item.flags, MOVED)) if item.stats is not None else item for item in values]


def _moved(run: KernelRun) -> bool:
    """Return whether the probes before and after the measurement differ. Probes of single pairs are not compared."""
    probes = {str(line.get("when")): line for line in run.lines if line.get("t") == "probe" and "phase" not in line}
    before, after = (probes.get(when, {}) for when in ("before", "after"))
    near, far = (_numbers(probe.get("ns", ())) for probe in (before, after))
    clocks = [_numbers(probe.get("cycle_fs", ())) for probe in (before, after)]
    known = all(min(cycles, default=0) > 0 for cycles in clocks)
    return moved(near, far, fmean(clocks[1]) / fmean(clocks[0]) if known else 1.0)


def combined(visits: Sequence[Sequence[Measurement]], target: float) -> list[Measurement]:
    """Return one measurement for each metric and set of coordinates, combined from all visits in chronological
    order."""
    groups = grouped(chain(*visits), lambda item: (item.metric, *sorted(item.coords.items(), key=str)))
    return [_combine(items, target) for items in groups.values()]


def _combine(items: Sequence[Measurement], target: float) -> Measurement:
    first, values = items[0], [item.value for item in items]
    flags = _shared_flags(items)
    if first.stats is None and min(values) == max(values):
        return replace(first, flags=flags)
    summary = summarise_visits(values)
    known = [item.stats for item in items if item.stats is not None]
    visits_moved = sum(MOVED in item.flags for item in items)
    interval = summary.ci95
    if interval is not None and visits_moved:
        interval = (min(interval[0], *values), max(interval[1], *values))
    if interval is not None and summary.median > 0.0:
        low, high = dropped_bounds([_kept(item) for item in items])
        interval = (interval[0] * low / summary.median, interval[1] * high / summary.median)
    stats = Stats(
        n=sum(stats.n for stats in known) or len(items),
        median=summary.median,
        mad=mad(values) if len(items) > 1 or not known else known[0].mad,
        ci95=interval,
        min=min([stats.min for stats in known] or values),
        max=max([stats.max for stats in known] or values),
        visits=len(items),
        visit_values=tuple(values) if len(items) > 1 else None,
        between=summary.between,
        within=sum((NORMAL_CONSISTENCY * stats.mad) ** 2 for stats in known) / len(known) if known else None,
        states=tuple(ValueState(value=state.value, share=state.share) for state in summary.states) or None,
        moved=visits_moved or None,
        dropped=dropped_samples(known),
    )
    width = None if stats.ci95 is None or summary.median == 0.0 else stats.ci95[1] - stats.ci95[0]
    noisy = any(flag.startswith("noisy") for flag in flags)
    mine = {
        "noisy": width is not None and width > TOLERANCE * target * abs(summary.median) and not noisy,
        "drift": summary.drift,
        "two-states": bool(summary.states),
    }
    words = (*flags, *(flag for flag, holds in mine.items() if holds and flag not in flags))
    return replace(first, value=summary.median, stats=stats, flags=words)


def _kept(item: Measurement) -> Kept:
    stats = item.stats
    if stats is None:
        return Kept(item.value, 0.0, item.value, item.value, 1, 0)
    return Kept(item.value, stats.mad, stats.min, stats.max, stats.n, stats.dropped or 0)


def _shared_flags(items: Sequence[Measurement]) -> tuple[str, ...]:
    """Return the flags that at least a quarter of the visits have, and MOVED if any visit has it."""
    every = [flag for item in items for flag in item.flags]
    least = {MOVED: 1}
    return tuple(
        flag for flag in dict.fromkeys(every) if every.count(flag) >= least.get(flag, _FLAG_SHARE * len(items))
    )
