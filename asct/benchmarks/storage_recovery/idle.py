"""Host idle recovery: bursts of writes with pauses between them, compared with writes without pauses.

SNIA Solid State Storage Performance Test Specification 2.0, "Host idle recovery": a drive in steady state reclaims
space while the host is idle, so it is faster in short bursts than under continuous load.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from asct.benchmarks.storage_recovery.params import RecoveryParams
from asct.instruments.fio.counters import window_of
from asct.instruments.fio.document import read_document
from asct.instruments.fio.histogram import NS
from asct.instruments.fio.params import FioParams
from asct.instruments.fio.process import JOB_FILE, RESULT_FILE, fio_step, limit_s
from asct.instruments.guard_output import read_guard_output
from asct.instruments.qualification.demand_plan import WRITES
from asct.instruments.qualification.journal import StepJournal, TimeSlot, fio_process, joined, slots_of, time_slot_of
from asct.instruments.qualification.results import steady_flags, steady_values
from asct.instruments.qualification.rounds import phase_steps
from asct.sdk.benchmark import Context
from asct.sdk.record import Measurement, Scalar
from asct.sdk.samples import stats_of
from asct.sdk.step import Output, Step
from asct.statistics.changepoint import changes
from asct.statistics.robust import median

RECENT: Final = 5
"""Number of recent pauses used to estimate how long programs take to stop and start."""


@dataclass(frozen=True, slots=True)
class Burst:
    """The writes of one burst. `delay_s` is the pause requested from fio before the burst, and `idle_s` is the actual
    pause.

    `idle_s` is None for the first burst and after an interruption of the test.
    """

    iops: float
    delay_s: float
    idle_s: float | None


def next_delay(wait_s: float, bursts: Sequence[Burst]) -> float:
    """Return the delay to request from fio for a pause of `wait_s`, reduced by the time that fio recently took to stop
    and start."""
    excess = [burst.idle_s - burst.delay_s for burst in bursts[-RECENT:] if burst.idle_s is not None]
    return max(0.0, wait_s - median(excess)) if excess else wait_s


def settling_seconds(course: Sequence[TimeSlot]) -> float:
    """Return the time, in seconds, at which the level last changed. By then, the continuous load has used up the gain
    from the pauses."""
    found = changes([slot.iops for slot in course])
    return sum(slot.seconds for slot in course[: found[-1].index]) if found else 0.0


_SEED: Final = 1_000_000
_DELAY: Final = re.compile(r"^startdelay=([0-9]+)ms$", re.MULTILINE)
_TOLERANCE: Final = 0.2


def idle_steps(params: RecoveryParams, journal: StepJournal, context: Context) -> Sequence[Step]:
    """Return the next steps, or an empty sequence when all pauses are complete."""
    before = phase_steps(journal, params.phase, context)
    if before:
        return before
    form = params.form()
    for wait in form.waits:
        for number in range(1, form.bursts + 1):
            name = burst_name(wait, number)
            if not journal.has(name):
                delay = next_delay(wait, _bursts(journal, wait, range(max(1, number - RECENT), number)))
                return [fio_process(_burst(params, journal, number, delay), context, name)]
        if not journal.has(baseline_name(wait)):
            baseline = _baseline(params, journal)
            step = fio_step(baseline, context, baseline_name(wait), dirty=True)
            return [replace(step, companions=(), timeout_s=limit_s(baseline))]
    return ()


def burst_name(wait: float, number: int) -> str:
    """Return the step name of a burst; bursts are numbered from 1."""
    return f"idle{wait:g}s-burst{number:03}"


def baseline_name(wait: float) -> str:
    """Return the name of the step that writes without pauses after the bursts with the pause `wait` (in seconds)."""
    return f"idle{wait:g}s-baseline"


def _burst(params: RecoveryParams, journal: StepJournal, number: int, delay: float) -> FioParams:
    """Return the settings for the writes after a pause; fio itself waits before its first request."""
    settings = journal.fio(WRITES, replace(params.phase, seconds=params.form().burst_time, ramp_s=0.0), _SEED + number)
    return settings.model_copy(update={"options": {"startdelay": f"{round(1000 * delay)}ms"}} if delay else {})


def _baseline(params: RecoveryParams, journal: StepJournal) -> FioParams:
    return journal.fio(WRITES, replace(params.phase, seconds=params.form().baseline_time, ramp_s=0.0), _SEED)


def _bursts(journal: StepJournal, wait: float, numbers: Sequence[int]) -> list[Burst]:
    """Return the bursts with these numbers. Each burst except the first includes the pause before it."""
    found: list[Burst] = []
    for number in numbers:
        output = journal.outputs[burst_name(wait, number)]
        before = journal.outputs.get(burst_name(wait, number - 1))
        delay = _DELAY.search(output.step.files.get(JOB_FILE, ""))
        known = before is not None and delay is not None and not output.resumed
        idle = _times(output)[0] - _times(before)[1] if known and before is not None else None
        found.append(Burst(time_slot_of(output).iops, int(delay[1]) / 1000.0 if delay else 0.0, idle))
    return found


def _times(output: Output) -> tuple[float, float]:
    """Return the start and the end of the measured time, in seconds on a monotonic clock."""
    window = window_of(read_document(output.files.get(RESULT_FILE, "")), read_guard_output(output))
    return window.start_ns * NS, window.end_ns * NS


def idle_values(params: RecoveryParams, journal: StepJournal, marks: tuple[str, ...]) -> Iterator[Measurement]:
    """Yield the steady-state values and, for each pause, the values of its bursts, the values of the subsequent
    baseline, and the gain from the pause."""
    yield from steady_values(journal, params.phase, marks)
    form = params.form()
    flags = (*marks, *steady_flags(journal, params.phase))
    for wait in form.waits:
        yield from _of_pause(params, journal, wait, flags)


def _of_pause(
    params: RecoveryParams, journal: StepJournal, wait: float, flags: tuple[str, ...]
) -> Iterator[Measurement]:
    at: dict[str, Scalar] = {"wait": wait}
    numbers = range(1, params.form().bursts + 1)
    bursts = _bursts(journal, wait, numbers)
    for number, burst in zip(numbers, bursts, strict=True):
        output = journal.outputs[burst_name(wait, number)]
        summary = journal.summary(output.step.name, _burst(params, journal, number, burst.delay_s))
        here = at | {"burst": number}
        own = (*flags, *summary.flags, *(("pause",) if output.resumed else ()))
        yield Measurement("burst_iops", burst.iops, here, flags=own, detail=True)
        if summary.latency is not None:
            yield Measurement("burst_latency", summary.latency, here, flags=own, detail=True)
    rates = [burst.iops for burst in bursts[1:]]
    pauses = [burst.idle_s for burst in bursts if burst.idle_s is not None]
    point = journal.point(baseline_name(wait), _baseline(params, journal))
    marks = (*flags, *point.flags)
    course = slots_of(point)
    level = joined(course[len(course) // 2 :]).iops
    if not level:
        raise ValueError("the target completed no requests under continuous load, so the bursts have no baseline")
    recovered = sum(rates) / len(rates)
    yield Measurement("recovered_iops", recovered, at, stats_of(rates, independent=False), marks)
    yield Measurement("baseline_iops", level, at, flags=marks)
    yield Measurement("idle_gain", recovered / level, at, flags=marks)
    yield Measurement("settling_time", settling_seconds(course), at, flags=marks)
    if pauses:
        late = ("invalid-pause",) if abs(median(pauses) - wait) > _TOLERANCE * wait else ()
        yield Measurement("idle_time", median(pauses), at, stats_of(pauses, independent=False), (*flags, *late))
