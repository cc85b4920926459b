"""Limits on a run's duration and the number of bytes written. Above these limits, asct starts a run only after
confirmation."""

from __future__ import annotations

import math
from typing import Final

from asct.diagnostics.model import Diagnostic
from asct.diagnostics.wording import WITHOUT_PLAN, for_run
from asct.planner.costs import section_span
from asct.planner.model import ResolvedPlan
from asct.planner.preview import JobPreview, Preview
from asct.values.quantity import format_alike

_HOUR: Final = 3600.0
_GIB, _TIB = 1 << 30, 1 << 40
CONFIRM_S: Final = 8 * _HOUR
"""Runs that are estimated to take more than this number of seconds require `--yes`."""
CONFIRM_BYTES: Final = _TIB
"""Runs that are expected to write more than this number of bytes, summed over all targets on all hosts, require
`--yes`."""
UNNAMED_S: Final = _HOUR
"""`asct run all` excludes benchmarks whose estimated duration exceeds this number of seconds."""
UNNAMED_BYTES: Final = 100 * _GIB
"""`asct run all` excludes benchmarks that are likely to write more than this number of bytes."""


def unconfirmed(plan: ResolvedPlan, preview: Preview) -> list[Diagnostic]:
    """Return a diagnostic (E447) for each limit that a run exceeds, duration first, then the number of bytes written.
    `limits.duration` and `safety.max_written` in the plan replace these limits; the planner has already checked
    them."""
    found = []
    if plan.limit_s is None and preview.seconds > CONFIRM_S:
        hours = preview.seconds / _HOUR
        message = f"the run takes about {hours:.3g}h; more than {CONFIRM_S / _HOUR:.0f}h requires confirmation"
        found.append(_question(plan, message, "limits", f"duration: {math.ceil(hours)}h"))
    likely = [number for host in preview.hosts for number in host.likely_writes.values()]
    if plan.safety.max_written_bytes is None and sum(likely) > CONFIRM_BYTES:
        most = sum(number for host in preview.hosts for number in host.writes.values())
        about, bound, allowed = format_alike((sum(likely), most, CONFIRM_BYTES))
        message = f"the run writes about {about}, at most {bound}; more than {allowed} requires confirmation"
        found.append(_question(plan, message, "safety", f"max_written: {math.ceil(max(likely) / _TIB)}TiB"))
    return found


def _question(plan: ResolvedPlan, message: str, section: str, limit: str) -> Diagnostic:
    span = section_span(plan, section) or section_span(plan, "benchmarks")
    hint = f"add `--yes`, or set `{section}: {{{limit}}}` in the plan; the preview shows each job's share"
    if plan.path == WITHOUT_PLAN:
        return for_run(Diagnostic("E447", message, hint=hint))
    return Diagnostic("E447", message, span, hint=hint)


def too_large(job: JobPreview) -> bool:
    """Return whether `asct run all` excludes a job's benchmark unless the user names it."""
    return job.cost.seconds > UNNAMED_S or sum(job.cost.likely_writes.values()) > UNNAMED_BYTES
