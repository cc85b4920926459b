"""Diagnostics for Slurm hosts. errors.yaml contains their messages and hints."""

from __future__ import annotations

from functools import partial

from asct.diagnostics.model import Diagnostic
from asct.hosts import errors

problem = partial(errors.problem, module=__file__)


def ended(name: str, job: int, state: str) -> Diagnostic:
    """Return the diagnostic for a job that ended while a host was using it. `state` is its final state according to
    squeue."""
    states = errors.entries(__file__)["ended"]["states"]
    cause, fix = states.get(state, ("it has ended", "see `scontrol show job`"))
    return problem("ended", name, job=job, state=state, cause=cause, fix=fix)
