"""Why a repeat of a point gave no values, as diagnostics with the way out."""

from __future__ import annotations

from asct.diagnostics.model import Diagnostic
from asct.engine.failures import tail
from asct.engine.stepping import Trail
from asct.errors import HostLost
from asct.planner.model import Job


def lost(host: str, error: HostLost) -> Diagnostic:
    """The connection broke in the midst of a measurement."""
    cause = error.diagnostics[0].message if error.diagnostics else "the connection broke"
    hint = "the rest goes on when the host answers again; `retry: {max: 1, on: [host-lost]}` repeats the point"
    return Diagnostic("E610", f"host {host}: lost while measuring: {cause}", hint=hint)


def unbound(job: Job, error: Exception) -> Diagnostic:
    """A result of another job that this point reads is not there."""
    hint = "give the setting that the needed job would have found"
    return Diagnostic("E612", f"{job.id} on {job.host}: needs a result that was not found: {error}", hint=hint)


def unplaced(job: Job, error: Exception) -> Diagnostic:
    """The settings do not hold with what the host is."""
    hint = f"`asct list settings {job.benchmark}` shows what can be set"
    return Diagnostic("E614", f"{job.id} on {job.host}: {error}", hint=hint)


def unreadable(job: Job, trail: Trail, raw: str, error: Exception) -> Diagnostic:
    """An output of another shape than the benchmark reads."""
    lines = tail(trail.outputs[-1]) if trail.outputs else []
    notes = tuple((f"  {line}", None) for line in [*trail.notes, *lines])  # a file that was not fetched comes first
    message = f"{job.benchmark}: no values in the output: {_reason(error)}"
    return Diagnostic("E608", message, hint=f"the raw output is in {raw}/", notes=notes)


def _reason(error: Exception) -> str:
    return str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"


def started_over(host: str, job_id: str, point_id: str, why: str) -> Diagnostic:
    """The noted steps of a repeat are of another measurement, so that it cannot go on behind them."""
    message = f"{job_id} {point_id} on {host}: begins again with its first step: {why}"
    hint = "what was measured before lies beside it (.try1); the program on the host, or asct, is not the one of before"
    return Diagnostic("E622", message, hint=hint, severity="warning")
