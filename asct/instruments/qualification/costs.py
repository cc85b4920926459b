"""What a test of rounds takes: time and bytes written, estimated before anything is known of the drive."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from asct.instruments.fio.benchmark import ASSUMED_WRITE_BYTES_PER_S
from asct.instruments.qualification.phase import Cell, Phase
from asct.instruments.qualification.settings import QualificationParams

START_SECONDS: Final = 0.8
"""Start and end of fio below guard."""
ASSUMED_BYTES: Final = 10**12
"""Size of a named target: it is only known on its host. `active_range` says more."""
_LARGEST_BYTES: Final = 16 * 10**12
_SLOW_BYTES_PER_S: Final = 50_000_000
_USUAL_BYTES_PER_S: Final = 1_000_000_000
_PURGE_S: Final = 60.0
_LONGEST_PURGE_S: Final = 24 * 3600.0
_PASS_SHARE: Final = 0.25
"""Of the time of a cell, until its rate has settled (profile fast)."""


def assumed_span(params: QualificationParams, named: int = ASSUMED_BYTES) -> int:
    """Bytes of the active range, `named` for a target of unknown size."""
    size = params.filesize if params.makes_file else params.active_range or named
    return round((params.active_range or size) * params.capacity_fraction)


def usual_seconds(params: QualificationParams, phases: Sequence[Phase]) -> float:
    """As many rounds as the window has."""
    passes = params.precondition * assumed_span(params) / _USUAL_BYTES_PER_S
    opening = passes + (_PURGE_S if params.file_names else 0.0)
    return sum(opening + _usual_rounds(params, phase) for phase in phases)


def longest_seconds(params: QualificationParams, phases: Sequence[Phase]) -> float:
    """All rounds, on a slow and large drive."""
    opening = _LONGEST_PURGE_S + params.precondition * assumed_span(params, _LARGEST_BYTES) / _SLOW_BYTES_PER_S
    return sum(opening + _all_rounds(params, phase, lambda cell: 1.0) for phase in phases)


def written_bytes(params: QualificationParams, phases: Sequence[Phase]) -> int:
    """At most about: preconditioning, and all rounds at the speed of a fast drive."""
    seconds = sum(_all_rounds(params, phase, lambda cell: 1.0 - cell.reads / 100.0) for phase in phases)
    return round(len(phases) * params.precondition * assumed_span(params) + seconds * ASSUMED_WRITE_BYTES_PER_S)


def _usual_rounds(params: QualificationParams, phase: Phase) -> float:
    each = phase.seconds + phase.ramp_s + START_SECONDS
    if params.profile == "pts":
        return params.window * len(phase.cells) * each
    short = max(params.fast_min_time, _PASS_SHARE * phase.seconds) + phase.ramp_s + START_SECONDS
    return (params.window + 1) * len(_tracked(phase)) * each + len(phase.cells) * min(short, each)


def _all_rounds(params: QualificationParams, phase: Phase, weight: Callable[[Cell], float]) -> float:
    """Seconds of all processes, each times the weight of its cell."""
    each = phase.seconds + phase.ramp_s + START_SECONDS
    whole = sum(weight(cell) for cell in phase.cells) * each
    if params.profile == "pts":
        return params.rounds_max * whole
    tracked = sum(weight(cell) for cell in _tracked(phase)) * each
    return params.rounds_max * tracked + params.fast_passes * (whole + tracked)


def _tracked(phase: Phase) -> set[Cell]:
    return {tracked.cell for tracked in phase.tracked}
