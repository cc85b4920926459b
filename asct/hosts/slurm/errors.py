"""The diagnostics of Slurm hosts. errors.yaml contains their texts."""

from __future__ import annotations

from functools import partial

from asct.diagnostics.model import Diagnostic
from asct.hosts import errors

problem = partial(errors.problem, module=__file__)


def ended(name: str, job: int, state: str) -> Diagnostic:
    """The job that a host uses has ended; `state` is its final state according to squeue."""
    states = errors.entries(__file__)["ended"]["states"]
    cause, fix = states.get(state, ("it has ended", "see `scontrol show job`"))
    return problem("ended", name, job=job, state=state, cause=cause, fix=fix)
