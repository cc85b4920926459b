"""Convert the rounds of a write saturation test into measured values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Final

from asct.benchmarks.storage_write_saturation.params import (
    RateDrop,
    SaturationParams,
    StopCondition,
    first_drop,
    over,
    steady_window,
)
from asct.instruments.fio.histogram import NS, Latency, merged
from asct.instruments.fio.params import FioParams
from asct.instruments.fio.process import fio_step, limit_s
from asct.instruments.qualification.journal import StepJournal, TimeSlot, fio_process, joined, slots_of, time_slot_of
from asct.instruments.qualification.results import BURST, NOT_STEADY
from asct.instruments.qualification.rounds import continued, opening_steps
from asct.sdk.benchmark import Context
from asct.sdk.record import Measurement, Scalar, shared_flags
from asct.sdk.samples import rate_stats, stats_of
from asct.sdk.step import Output, Step
from asct.statistics.steady import window_of

HISTOGRAM: Final = "histogram"
_REPORTS: Final = 12
_SHORTEST_S: Final = 0.25
_AFTER: Final = 1_000_000
"""Seed for the histogram run, which differs from the seeds of all rounds."""


@dataclass(frozen=True, slots=True)
class SaturationRound:
    """One round: totals, the values of the intervals between fio's reports, total latency, and flags."""

    whole: TimeSlot
    course: tuple[TimeSlot, ...]
    latency: Latency | None
    flags: tuple[str, ...]
    resumed: bool


def next_steps(params: SaturationParams, journal: StepJournal, context: Context) -> Sequence[Step]:
    """Return the next steps: first the purge, then rounds until the stop condition is met, then the histogram run."""
    opening = opening_steps(journal, params.phase, context)
    if opening:
        return opening
    outputs = _outputs(params, journal)
    done = [time_slot_of(output) for output in outputs]
    if not done or over(done, params.goal(journal.span), last_pause([one.resumed for one in outputs])) is None:
        settings = round_params(params, journal, done)
        step = fio_step(settings, context, params.phase.step_name(len(done) + 1, params.cell), dirty=True)
        return [replace(_reporting(step, settings.duration / _REPORTS), timeout_s=limit_s(settings))]
    if params.histogram_time > 0 and not journal.has(HISTOGRAM):
        return [fio_process(histogram_params(params, journal), context, HISTOGRAM)]
    return ()


def _reporting(step: Step, seconds: float) -> Step:
    """Return the step, limited to a dozen fio reports and without mpstat, because a test that takes a day has more than
    a thousand rounds and would otherwise produce too much output."""
    every = f"--status-interval={round(1000 * max(_SHORTEST_S, seconds))}ms"
    arguments = tuple(every if one.startswith("--status-interval=") else one for one in step.arguments)
    return replace(step, arguments=arguments, companions=())


def last_pause(resumed: Sequence[bool]) -> int:
    """Return the index of the last round that follows an interruption, or 0 if the test was not interrupted."""
    return max((index for index, paused in enumerate(resumed) if paused), default=0)


def _outputs(params: SaturationParams, journal: StepJournal) -> Sequence[Output]:
    return journal.numbered(lambda number: params.phase.step_name(number, params.cell))


def round_params(params: SaturationParams, journal: StepJournal, before: Sequence[TimeSlot]) -> FioParams:
    """Return the settings for the round that follows the rounds `before`. Each round has its own random offsets; a
    stream continues where the previous round ended."""
    fresh = journal.fio(params.cell, params.phase, len(before))
    return continued(fresh, [slot.io_bytes for slot in before])


def histogram_params(params: SaturationParams, journal: StepJournal) -> FioParams:
    """Return the settings for the histogram run: the same load for a longer time."""
    return journal.fio(params.cell, params.phase, _AFTER).model_copy(update={"duration": params.histogram_time})


def rounds_of(params: SaturationParams, journal: StepJournal) -> list[SaturationRound]:
    """Return every round in detail. Raises ValueError with the step name if fio failed.

    fio's full results are discarded, because the results of a whole day would not fit in memory.
    """
    found: list[SaturationRound] = []
    for output in _outputs(params, journal):
        point = journal.point(output.step.name, round_params(params, journal, [one.whole for one in found]))
        whole, latency = time_slot_of(output), point.sides[""].lat
        found.append(SaturationRound(whole, slots_of(point), latency, point.flags, output.resumed))
    return found


def measurements(
    rounds: Sequence[SaturationRound],
    span: int,
    goal: StopCondition,
    marks: tuple[str, ...],
    run: dict[str, Scalar],
    *,
    fell: bool = False,
) -> Iterator[Measurement]:
    """Yield the details of every round, followed by the values of the whole test.

    `rounds` must not be empty. Every value gets the flags in `marks`, and the values of the settings in use become
    coordinates of the `rounds` metric. `fell` is true if the rate had already dropped by half before the first round.
    """
    yield from _details(rounds, marks)
    slots = [one.whole for one in rounds]
    course = [slot for one in rounds for slot in one.course]
    cliff = first_drop(course)
    flags = (*marks, *shared_flags([one.flags for one in rounds], "noisy-rounds"))
    whole = joined(slots)
    yield from _end(rounds, goal, flags if fell or cliff else (*flags, BURST))
    yield from _cliff(cliff, span, flags)
    reason = over(slots, goal, last_pause([one.resumed for one in rounds]))
    if reason is None:
        raise ValueError("the test is incomplete: it reached neither its volume nor its time limit")
    yield Measurement("rounds", float(len(rounds)), {"ended_by": reason} | run, flags=marks)
    yield Measurement("written", float(whole.written_bytes), flags=marks)
    yield Measurement("drive_fills", whole.written_bytes / span, flags=marks)
    yield Measurement("load_time", whole.seconds, flags=marks)


def _details(rounds: Sequence[SaturationRound], marks: tuple[str, ...]) -> Iterator[Measurement]:
    written_bytes = 0
    seconds = 0.0
    for number, one in enumerate(rounds, 1):
        at: dict[str, Scalar] = {"round": number}
        flags = (*marks, *one.flags, *(("pause",) if one.resumed else ()))
        written_bytes += one.whole.written_bytes
        seconds += one.whole.seconds
        times = [slot.seconds for slot in one.course]
        spread = rate_stats([slot.ios for slot in one.course], times) if times else None
        yield Measurement("round_iops", one.whole.iops, at, spread, flags, detail=True)
        yield Measurement("round_bandwidth", one.whole.bandwidth, at, flags=flags, detail=True)
        yield Measurement("round_written", float(written_bytes), at, detail=True)
        yield Measurement("round_time", seconds, at, detail=True)
        if one.latency is not None:
            yield Measurement("round_latency", one.latency.mean_ns * NS, at, flags=flags, detail=True)
            yield Measurement("round_latency_max", one.latency.max_ns * NS, at, flags=flags, detail=True)
            tail = one.latency.percentile_ns(99.9)
            if tail is not None:
                yield Measurement("round_latency_p99_9", tail * NS, at, flags=flags, detail=True)


def _end(rounds: Sequence[SaturationRound], goal: StopCondition, flags: tuple[str, ...]) -> Iterator[Measurement]:
    """Yield the final level, which comes from the steady samples that ended the test or, if there are none, from the
    last rounds."""
    last = _last_rounds(rounds, goal)
    rates = [one.whole.iops for one in last]
    level = joined([one.whole for one in last])
    marks = flags if _is_level(rates, goal) else (*(flag for flag in flags if flag != BURST), NOT_STEADY)
    yield Measurement("iops", level.iops, stats=stats_of(rates, independent=False), flags=marks)
    yield Measurement("bandwidth", level.bandwidth, flags=marks)
    latency = merged(one.latency for one in last if one.latency is not None)
    if latency is not None:
        yield Measurement("latency", latency.mean_ns * NS, stats=latency.mean_stats(), flags=marks)


def _last_rounds(rounds: Sequence[SaturationRound], goal: StopCondition) -> Sequence[SaturationRound]:
    """Return the rounds of the steady window or, if there is none, the same number of rounds at the end."""
    since = last_pause([one.resumed for one in rounds])
    if steady_window([one.whole for one in rounds], goal, since) is None:
        return rounds[-goal.rule.window :]
    ends = accumulate(one.whole.seconds for one in reversed(rounds))
    window_s = goal.rule.window * goal.sample_s * (1.0 - 1e-3)
    return rounds[-next((count for count, seconds in enumerate(ends, 1) if seconds >= window_s), len(rounds)) :]


def _is_level(rates: Sequence[float], goal: StopCondition) -> bool:
    return len(rates) > 1 and min(rates) > 0 and window_of(rates).holds(goal.rule)


def _cliff(cliff: RateDrop | None, span: int, flags: tuple[str, ...]) -> Iterator[Measurement]:
    """Yield the values of the first drop in the level by at least half. The amount written before this drop indicates
    the size of a write cache or of the space freed by the purge."""
    yield Measurement("cliffs", 0.0 if cliff is None else 1.0, flags=flags)
    if cliff is not None:
        yield Measurement("burst_iops", cliff.before, flags=flags)
        yield Measurement("cliff_written", float(cliff.written_bytes), flags=flags)
        yield Measurement("cliff_fills", cliff.written_bytes / span, flags=flags)
        yield Measurement("cliff_time", cliff.seconds, flags=flags)
        yield Measurement("cliff_ratio", cliff.before / cliff.after, flags=flags)
