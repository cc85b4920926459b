"""The next steps of a test: look, purge, precondition, then rounds. A pure function of what is done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from asct.instruments.fio.process import INSPECTION
from asct.instruments.qualification.history import History
from asct.instruments.qualification.journal import Journal, fio_process
from asct.instruments.qualification.phase import Phase
from asct.instruments.qualification.precondition import precondition_steps
from asct.instruments.qualification.purge import purge_steps
from asct.sdk.benchmark import Context
from asct.sdk.step import Step


def opening_steps(journal: Journal, phase: Phase, context: Context) -> Sequence[Step]:
    """Look at the target, purge it, precondition it: what is still to do of that. Raises ValueError for a target that
    the settings do not fit."""
    if not journal.has(INSPECTION):
        return [journal.inspection(context)]
    return purge_steps(journal, phase, context) or precondition_steps(journal, phase, context)


def round_steps(history: History, context: Context) -> Sequence[Step]:
    """What is still to do of the round that is not whole; nothing once the rounds are over."""
    if history.rounds and history.over:
        return ()
    return steps_of_round(history, history.rounds, context)


def steps_of_round(history: History, index: int, context: Context) -> Sequence[Step]:
    """The cells of a round (from 0) that are not done."""
    journal, phase = history.journal, history.phase
    title = f"{phase.name}round {index + 1}, cell"
    return [
        replace(fio_process(history.params(index, cell), context, name), label=f"{title} {place} of {len(phase.cells)}")
        for place, cell in enumerate(phase.cells, 1)
        if not journal.has(name := phase.step_name(index + 1, cell))
    ]


def phase_steps(journal: Journal, phase: Phase, context: Context) -> Sequence[Step]:
    """The whole of a phase: opening, then rounds until they are over."""
    return opening_steps(journal, phase, context) or round_steps(History(journal, phase), context)
