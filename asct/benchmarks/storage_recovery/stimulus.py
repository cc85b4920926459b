"""Cross stimulus recovery: the time that a drive needs to regain its streaming rate after random writes.

SNIA Solid State Storage Performance Test Specification 2.0, "Cross stimulus recovery": sequential, random, sequential.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final, Literal

from asct.benchmarks.storage_recovery.params import SCATTER, STREAM, RecoveryParams
from asct.instruments.fio.params import FioParams
from asct.instruments.qualification.journal import FioSummary, StepJournal, fio_process, time_slot_of
from asct.instruments.qualification.rounds import continued, opening_steps
from asct.instruments.qualification.settings import Phase, Workload
from asct.sdk.benchmark import Context
from asct.sdk.record import Measurement, Scalar, many_doubtful
from asct.sdk.step import Output, Step
from asct.statistics.robust import median

Group = Literal["before", "between", "after"]
GROUPS: Final[tuple[Group, ...]] = ("before", "between", "after")
_LASTING: Final = 3
"""Number of consecutive rounds that must reach the level, because a single fast round is not a recovery."""


def level(rounds: Sequence[FioSummary], window: int) -> float:
    """Return the bandwidth at the end of a phase: the median of its last `window` rounds."""
    return median([one.bandwidth for one in rounds[-window:]])


def recovery_seconds(after: Sequence[FioSummary], reference: float, tolerance: float) -> float | None:
    """Return the number of seconds until the stream reaches `reference` minus `tolerance` (a share) and stays at that
    level, or None if this never happens.

    Three consecutive rounds must reach that level (fewer at the end of the phase). The recovery ends at the start of
    the first such round, so the time is 0 if the first round after the random writes reaches the level.
    """
    back = [one.bandwidth >= (1.0 - tolerance) * reference for one in after]
    passed = 0.0
    for index, one in enumerate(after):
        if all(back[index : index + _LASTING]):
            return passed
        passed += one.seconds
    return None


CELLS: Final[dict[Group, Workload]] = {"before": STREAM, "between": SCATTER, "after": STREAM}
_ENOUGH: Final = 1.0 - 1e-3


def stimulus_steps(params: RecoveryParams, journal: StepJournal, context: Context) -> Sequence[Step]:
    """Return the next steps, or an empty sequence when every phase is complete."""
    before = opening_steps(journal, _phase(params), context)
    if before:
        return before
    for group in GROUPS:
        done = [time_slot_of(output) for output in _outputs(journal, group)]
        if sum(slot.seconds for slot in done) < _ENOUGH * _spell(params, group):
            settings = _settings(params, journal, group, [slot.io_bytes for slot in done])
            return [fio_process(settings, context, round_name(group, len(done) + 1))]
    return ()


def round_name(group: Group, number: int) -> str:
    """Return the step name of a round; rounds are numbered from 1."""
    return f"{group}-round{number:03}"


def _outputs(journal: StepJournal, group: Group) -> Sequence[Output]:
    return journal.numbered(lambda number: round_name(group, number))


def _phase(params: RecoveryParams) -> Phase:
    return replace(params.phase, cells=(STREAM, SCATTER), tracked=())


def _spell(params: RecoveryParams, group: Group) -> float:
    form = params.form()
    return form.random_time if group == "between" else form.sequential_time


def _settings(params: RecoveryParams, journal: StepJournal, group: Group, volumes: Sequence[int]) -> FioParams:
    """Return the settings for the next round of a phase. A stream continues where the previous round ended."""
    fresh = journal.fio(CELLS[group], _phase(params), GROUPS.index(group) * 1_000_000 + len(volumes))
    return continued(fresh, volumes)


def stimulus_values(params: RecoveryParams, journal: StepJournal, marks: tuple[str, ...]) -> Iterator[Measurement]:
    """Yield the values of each round, of each phase, and of the recovery."""
    rounds: dict[Group, list[FioSummary]] = {}
    started = 0.0
    against: list[tuple[str, ...]] = []
    for group in GROUPS:
        found: list[FioSummary] = []
        for number, output in enumerate(_outputs(journal, group), 1):
            settings = _settings(params, journal, group, [one.io_bytes for one in found])
            one = journal.summary(output.step.name, settings)
            found.append(one)
            started += one.seconds
            own = (*marks, *one.flags, *(("pause",) if output.resumed else ()))
            yield from _details(one, {"spell": group, "round": number}, started, own)
            against.append(own)
        if not found:
            raise ValueError(f"the `{group}` phase was not measured")
        rounds[group] = found
    yield from _spells(params, rounds, (*marks, *_doubts(against, marks)))


def _doubts(rounds: Sequence[tuple[str, ...]], marks: tuple[str, ...]) -> tuple[str, ...]:
    """Return the flags of the unreliable rounds if there are too many such rounds, and `pause` if any round has that
    flag."""
    found = [flag for flags in many_doubtful(rounds) for flag in flags]
    found += ["pause"] if any("pause" in flags for flags in rounds) else []
    return tuple(flag for flag in dict.fromkeys(found) if flag not in marks)


def _details(one: FioSummary, at: dict[str, Scalar], until_s: float, flags: tuple[str, ...]) -> Iterator[Measurement]:
    yield Measurement("spell_bandwidth", one.bandwidth, at, flags=flags, detail=True)
    yield Measurement("spell_latency", one.value("latency"), at, flags=flags, detail=True)
    yield Measurement("spell_latency_max", one.value("latency_max"), at, flags=flags, detail=True)
    yield Measurement("spell_time", until_s, at, detail=True)


def _spells(
    params: RecoveryParams, rounds: dict[Group, list[FioSummary]], flags: tuple[str, ...]
) -> Iterator[Measurement]:
    for group, found in rounds.items():
        at: dict[str, Scalar] = {"spell": group}
        seconds = sum(one.seconds for one in found)
        mean = sum(one.value("latency") * one.bandwidth * one.seconds for one in found)
        moved = sum(one.bandwidth * one.seconds for one in found)
        if not moved or not level(found, params.window):
            raise ValueError(f"the target completed no requests in the `{group}` phase, so its recovery is unknown")
        yield Measurement("level_bandwidth", level(found, params.window), at, flags=flags)
        yield Measurement("mean_latency", mean / moved, at, flags=flags)
        yield Measurement("max_latency", max(one.value("latency_max") for one in found), at, flags=flags)
        yield Measurement("spell_length", seconds, at, flags=flags)
    reference = level(rounds["before"], params.window)
    recovery_time = recovery_seconds(rounds["after"], reference, params.recovered_within / 100.0)
    yield Measurement("recovered", float(recovery_time is not None), flags=flags)
    if recovery_time is not None:
        yield Measurement("recovery_time", recovery_time, flags=flags)
    yield Measurement("recovered_share", level(rounds["after"], params.window) / reference, flags=flags)
