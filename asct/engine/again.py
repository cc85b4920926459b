"""Plan the second measurement of points whose values seem to have regressed."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from heapq import heappop, heappush

from asct.engine.job import estimate
from asct.engine.services import RunContext
from asct.planner.budget import CONFIRM_S
from asct.planner.model import Job
from asct.store.documents import load
from asct.store.layout import PointKey
from asct.store.model import Audit, accepted_statuses
from asct.store.reader import StoredRun
from asct.values.duration import format_duration
from asct.values.grouping import grouped
from asct.values.quantity import format_quantity


def suspected(jobs: Sequence[Job], points: Collection[PointKey]) -> list[Job]:
    """Return the jobs, reduced to these points. Jobs that contain none of the points are omitted."""
    reduced = [
        job._replace(points=tuple(point for point in job.points if (job.host, job.id, point.id) in points))
        for job in jobs
    ]
    return [job for job in reduced if job.points]


def over_limits(run: RunContext, jobs: Sequence[Job], forks: int) -> dict[PointKey, str]:
    """Return the points that cannot be measured again without exceeding a plan limit, each with the reason.

    The calculation assumes that asct measures the hosts in job order, at most `forks` at a time, and skips any host
    that would finish too late.
    """
    found: dict[PointKey, str] = {}
    most = run.plan.limit_s or CONFIRM_S
    ends = [time.monotonic() - run.started] * max(1, forks)  # the times at which the hosts being measured will be done
    for own in grouped(jobs, lambda job: job.host).values():
        end = heappop(ends)
        needed = sum(estimate(run.services, job) for job in own)
        late = end + needed > most
        heappush(ends, end if late else end + needed)
        for job in own:
            reason = _write_limit_reason(run, job)
            if late:
                reason = f"the run would exceed its limit of {format_duration(most)} (`limits.duration`)"
            found.update({(job.host, job.id, point.id): reason for point in job.points if reason})
    return found


def _write_limit_reason(run: RunContext, job: Job) -> str:
    """Return the reason if measuring the points again would exceed the plan's limit on bytes written, otherwise an
    empty string. The calculation assumes that all points of the job write the same number of bytes."""
    limit, path = run.plan.safety.max_written_bytes, run.writer.layout.audit(job.host, job.id)
    if limit is None or not path.exists():
        return ""
    planned = next(one for one in run.plan.jobs if one.key == job.key)
    share = len(job.points) / len(planned.points)
    audits = [load(Audit, "audit", other) for other in sorted(path.parent.parent.glob("*/audit.json"))]
    for target in load(Audit, "audit", path).targets:
        spent = sum(one.written_bytes for audit in audits for one in audit.targets if one.path == target.path)
        if spent + share * target.written_bytes > limit:
            allowed = format_quantity(limit, "B")
            return f"`{target.path or 'a temporary file'}` would receive more than {allowed} (`safety.max_written`)"
    return ""


def unmeasured(stored: StoredRun, job: Job, reason: str) -> dict[PointKey, str]:
    """Return each point with repeats that were not measured again, and the reason."""
    found: dict[PointKey, str] = {}
    for point in job.points:
        repeats = (stored.layout.repeat(job.host, job.id, point.id, job.repeats + n + 1) for n in range(job.repeats))
        statuses = [status.status if (status := stored.status_if_readable(path)) else "" for path in repeats]
        missing = sum(status not in accepted_statuses(strict=job.strict) for status in statuses)
        if missing:
            found[job.host, job.id, point.id] = reason or f"{missing} of {job.repeats} repeats were not measured"
    return found
