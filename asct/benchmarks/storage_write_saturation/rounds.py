"""The steps of a write saturation test and what each round gave, read once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from asct.benchmarks.storage_write_saturation.course import over
from asct.benchmarks.storage_write_saturation.params import SaturationParams
from asct.instruments.fio.histogram import Latency
from asct.instruments.fio.params import FioParams
from asct.instruments.fio.point import Point, read_point
from asct.instruments.fio.process import fio_step, limit_s
from asct.instruments.qualification.journal import Journal, fio_process
from asct.instruments.qualification.rounds import opening_steps
from asct.instruments.qualification.slots import Slot, course_of, slot_of
from asct.instruments.qualification.walk import walked
from asct.sdk.benchmark import Context
from asct.sdk.step import Output, Step

HISTOGRAM: Final = "histogram"
_REPORTS: Final = 12
_SHORTEST_S: Final = 0.25
_AFTER: Final = 1_000_000
"""Seed of the last run, beyond those of any round."""


@dataclass(frozen=True, slots=True)
class Round:
    """One round: what was done, its course, total latency, and what speaks against it."""

    whole: Slot
    course: tuple[Slot, ...]
    latency: Latency | None
    flags: tuple[str, ...]
    resumed: bool


def next_steps(params: SaturationParams, journal: Journal, context: Context) -> Sequence[Step]:
    """Purge, rounds until the goal is reached, then the run for the histogram."""
    opening = opening_steps(journal, params.phase, context)
    if opening:
        return opening
    outputs = list(round_outputs(params, journal))
    done = [slot_of(output) for output in outputs]
    if not done or over(done, params.goal(journal.span), last_pause([one.resumed for one in outputs])) is None:
        settings = round_params(params, journal, done)
        step = fio_step(settings, context, params.phase.step_name(len(done) + 1, params.cell), dirty=True)
        return [replace(_reporting(step, settings.duration / _REPORTS), timeout_s=limit_s(settings))]
    if params.histogram_time > 0 and not journal.has(HISTOGRAM):
        return [fio_process(histogram_params(params, journal), context, HISTOGRAM)]
    return ()


def _reporting(step: Step, seconds: float) -> Step:
    """A test of a day has more than a thousand rounds: each reports a dozen times, and no mpstat runs beside it."""
    every = f"--status-interval={round(1000 * max(_SHORTEST_S, seconds))}ms"
    arguments = tuple(every if one.startswith("--status-interval=") else one for one in step.arguments)
    return replace(step, arguments=arguments, companions=())


def last_pause(resumed: Sequence[bool]) -> int:
    """The index of the last round that came after a pause; 0 without any."""
    return max((index for index, paused in enumerate(resumed) if paused), default=0)


def round_outputs(params: SaturationParams, journal: Journal) -> Iterator[Output]:
    """The rounds in their order."""
    number = 1
    while (output := journal.outputs.get(params.phase.step_name(number, params.cell))) is not None:
        yield output
        number += 1


def round_params(params: SaturationParams, journal: Journal, before: Sequence[Slot]) -> FioParams:
    """The process of the round that follows `before`. Each has random offsets of its own; a stream goes on."""
    fresh = journal.fio(params.cell, params.phase, len(before))
    return walked(fresh, [slot.io_bytes for slot in before])


def histogram_params(params: SaturationParams, journal: Journal) -> FioParams:
    """The last run: the same load for longer."""
    return journal.fio(params.cell, params.phase, _AFTER).model_copy(update={"duration": params.histogram_time})


def rounds_of(params: SaturationParams, journal: Journal) -> list[Round]:
    """Every round in full. Raises ValueError, named by the step, for one that fio did not end well.

    The points are not kept: those of a day would fill the memory.
    """
    found: list[Round] = []
    for output in round_outputs(params, journal):
        settings = round_params(params, journal, [one.whole for one in found])
        try:
            point = read_point(settings, output, journal.facts)
        except ValueError as error:
            raise ValueError(f"{output.step.name}: {error}") from error
        found.append(_round(point, slot_of(output), output.resumed))
    return found


def _round(point: Point, whole: Slot, resumed: bool) -> Round:
    return Round(whole, course_of(point), point.sides[""].lat, point.flags, resumed)
