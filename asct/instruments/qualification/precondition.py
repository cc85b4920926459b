"""Preconditioning: the active range is written sequentially so many times, whatever the number of jobs.

SNIA PTS, workload independent preconditioning: twice the capacity in requests of 128 KiB, random data. Each job writes
a slice of its own; were all of them to start at the first byte, two jobs would write the range four times.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from asct.instruments.qualification.journal import Journal, fio_process
from asct.instruments.qualification.phase import Phase
from asct.sdk.benchmark import Context
from asct.sdk.step import Step

INCOMPLETE: Final = "invalid-precondition"
_SHORT: Final = 0.999


def pass_names(journal: Journal, phase: Phase) -> Sequence[str]:
    """The step of each pass."""
    return [f"{phase.name}precondition-{number}" for number in range(1, journal.params.precondition + 1)]


def precondition_steps(journal: Journal, phase: Phase, context: Context) -> Sequence[Step]:
    """The passes that are still to do, a step each: one that is cut off is done again."""
    params = journal.params.precondition_params(journal.span, phase.sequential_block)
    return [fio_process(params, context, name) for name in pass_names(journal, phase) if not journal.has(name)]


def preconditioned_bytes(journal: Journal, phase: Phase) -> int:
    """What the passes wrote, by fio. Raises ValueError when one failed."""
    params = journal.params.precondition_params(journal.span, phase.sequential_block)
    done = [name for name in pass_names(journal, phase) if journal.has(name)]
    return sum(journal.point(name, params).sides["write"].io_bytes for name in done)


def precondition_flags(journal: Journal, phase: Phase) -> tuple[str, ...]:
    """`invalid-precondition` when less was written than asked for: a pass took too long and was cut off."""
    wanted = journal.params.precondition * journal.span
    return (INCOMPLETE,) if preconditioned_bytes(journal, phase) < _SHORT * wanted else ()
