"""From the rounds of a write saturation test to its values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Final

from asct.benchmarks.storage_write_saturation.course import Cliff, Goal, first_cliff, over, steady_window
from asct.benchmarks.storage_write_saturation.rounds import Round, last_pause
from asct.instruments.fio.histogram import NS, merged
from asct.instruments.qualification.slots import joined
from asct.sdk.record import Measurement, Scalar, doubtful
from asct.sdk.samples import stats_of
from asct.statistics.steady import window_of

_MOST_DOUBTFUL: Final = 0.1


def measurements(
    rounds: Sequence[Round], span: int, goal: Goal, marks: tuple[str, ...], run: dict[str, Scalar]
) -> Iterator[Measurement]:
    """Every round as a detail, then the course as a whole. `rounds` is not empty; `marks` are flags of every value;
    `run` is what was really run."""
    yield from _details(rounds, marks)
    slots = [one.whole for one in rounds]
    course = [slot for one in rounds for slot in one.course]
    cliff = first_cliff(course)
    flags = (*marks, *_flags(rounds))
    whole = joined(slots)
    yield from _end(rounds, goal, flags)
    yield from _cliff(cliff, span, flags)
    reason = over(slots, goal, last_pause([one.resumed for one in rounds]))
    if reason is None:
        raise ValueError("the rounds were not ended: neither the volume nor the time of the test was reached")
    yield Measurement("rounds", float(len(rounds)), {"ended_by": reason} | run, flags=marks)
    yield Measurement("written", float(whole.written), flags=marks)
    yield Measurement("drive_fills", whole.written / span, flags=marks)
    yield Measurement("load_time", whole.seconds, flags=marks)


def _details(rounds: Sequence[Round], marks: tuple[str, ...]) -> Iterator[Measurement]:
    written = 0
    seconds = 0.0
    for number, one in enumerate(rounds, 1):
        at: dict[str, Scalar] = {"round": number}
        flags = (*marks, *one.flags, *(("pause",) if one.resumed else ()))
        written += one.whole.written
        seconds += one.whole.seconds
        rates = [slot.iops for slot in one.course]
        spread = stats_of(rates) if rates else None
        yield Measurement("round_iops", one.whole.iops, at, spread, flags, detail=True)
        yield Measurement("round_bandwidth", one.whole.bandwidth, at, flags=flags, detail=True)
        yield Measurement("round_written", float(written), at, detail=True)
        yield Measurement("round_time", seconds, at, detail=True)
        if one.latency is not None:
            yield Measurement("round_latency", one.latency.mean_ns * NS, at, flags=flags, detail=True)
            yield Measurement("round_latency_max", one.latency.max_ns * NS, at, flags=flags, detail=True)
            tail = one.latency.percentile_ns(99.9)
            if tail is not None:
                yield Measurement("round_latency_p99_9", tail * NS, at, flags=flags, detail=True)


def _end(rounds: Sequence[Round], goal: Goal, flags: tuple[str, ...]) -> Iterator[Measurement]:
    """The level that the drive came to: of the steady samples that ended the test, else of the last rounds."""
    last = _last_rounds(rounds, goal)
    rates = [one.whole.iops for one in last]
    level = joined([one.whole for one in last])
    marks = flags if _is_level(rates, goal) else (*flags, "still-changing")
    yield Measurement("iops", level.iops, stats=stats_of(rates, independent=False), flags=marks)
    yield Measurement("bandwidth", level.bandwidth, flags=marks)
    latency = merged(one.latency for one in last if one.latency is not None)
    if latency is not None:
        yield Measurement("latency", latency.mean_ns * NS, stats=latency.stats(), flags=marks)


def _last_rounds(rounds: Sequence[Round], goal: Goal) -> Sequence[Round]:
    """The rounds of the steady window, or a window of rounds."""
    since = last_pause([one.resumed for one in rounds])
    if steady_window([one.whole for one in rounds], goal, since) is None:
        return rounds[-goal.rule.window :]
    ends = accumulate(one.whole.seconds for one in reversed(rounds))
    wanted = goal.rule.window * goal.sample_s * (1.0 - 1e-3)
    return rounds[-next((count for count, seconds in enumerate(ends, 1) if seconds >= wanted), len(rounds)) :]


def _is_level(rates: Sequence[float], goal: Goal) -> bool:
    return len(rates) > 1 and min(rates) > 0 and window_of(rates).holds(goal.rule)


def _cliff(cliff: Cliff | None, span: int, flags: tuple[str, ...]) -> Iterator[Measurement]:
    """Where the level first fell by half: what a write cache holds, or what was free after the purge."""
    yield Measurement("cliffs", 0.0 if cliff is None else 1.0, flags=flags)
    if cliff is not None:
        yield Measurement("burst_iops", cliff.before, flags=flags)
        yield Measurement("cliff_written", float(cliff.written), flags=flags)
        yield Measurement("cliff_fills", cliff.written / span, flags=flags)
        yield Measurement("cliff_time", cliff.seconds, flags=flags)
        yield Measurement("cliff_ratio", cliff.before / cliff.after, flags=flags)


def _flags(rounds: Sequence[Round]) -> tuple[str, ...]:
    """Flags that every round has, and whether too many cannot be trusted."""
    shared = set(rounds[0].flags).intersection(*(one.flags for one in rounds))
    found = [flag for flag in rounds[0].flags if flag in shared]
    distrusted = sum(1 for one in rounds if any(doubtful(flag) for flag in one.flags))
    if distrusted > _MOST_DOUBTFUL * len(rounds) and not any(doubtful(flag) for flag in found):
        found.append("noisy-rounds")
    return tuple(found)
