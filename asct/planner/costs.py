"""The cost of jobs (time, bytes written, privileges), and checks against the plan's limits and timeouts."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from asct.diagnostics.model import Span
from asct.plan.findings import Findings
from asct.plan.model import PendingValue, Plan
from asct.planner.context import JobDraft
from asct.planner.model import Job, Point, ResolvedPlan
from asct.sdk.benchmark import Benchmark, Catalog
from asct.sdk.needs import JobNeeds, Needs
from asct.values.duration import format_duration
from asct.values.quantity import format_alike


def known_settings(point: Point) -> dict[str, Any]:
    """Return the settings whose values are not pending.

    For all other settings, the benchmark's estimates use the defaults.
    """
    return {name: value for name, value in point.settings.items() if not isinstance(value, PendingValue)}


def needs_of(job: Job, benchmark: Benchmark[Any]) -> JobNeeds:
    """Estimate the needs of a job on an unknown machine.

    Raises pydantic.ValidationError only if this benchmark version rejects the job's settings.
    """
    needs = (_needs(benchmark, point) for point in job.points)
    return JobNeeds.of(needs, job.repeats + job.warmup, job.timeout_s)


def _needs(benchmark: Benchmark[Any], point: Point) -> Needs:
    return benchmark.needs(benchmark.params_model.model_validate(known_settings(point)), None)


def shared_costs(catalog: Catalog) -> Callable[[Job], JobNeeds]:
    """Return a function that computes a job's cost. Jobs that have the same points share the result."""
    done: dict[tuple[str, int, int, int], tuple[Job, JobNeeds]] = {}

    def of(job: Job) -> JobNeeds:
        benchmark = catalog.get(job.benchmark)
        if benchmark is None:
            return JobNeeds()
        key = (job.benchmark, id(job.points), job.repeats, job.warmup)
        if key not in done:
            done[key] = (job, needs_of(job, benchmark))
        return done[key][1]

    return of


def check_points(plan: Plan, jobs: Sequence[Job], findings: Findings) -> None:
    """Check that the total number of points in all jobs on all hosts does not exceed `limits.points`."""
    total, limit = sum(len(job.points) for job in jobs), plan.limits.points
    hidden = findings.hides("limits", "points") or any(item.code == "E217" for item in findings.all())
    if total <= limit or hidden:
        return
    most = max(jobs, key=lambda job: len(job.points))
    message = f"the plan has {total:,} points across all hosts, but `limits.points` is {limit:,}"
    hint = (
        f"reduce the sweep (`{most.key}` has {len(most.points):,} points), or raise the limit: "
        f"`limits: {{points: {total}}}`"
    )
    findings.error("E217", message, section_span(plan, "limits"), hint)


def section_span(plan: Plan | ResolvedPlan, key: str) -> Span | None:
    """Return the location of a top-level key in the plan's main file, for errors that affect the whole plan."""
    found = re.search(rf"^{re.escape(key)}(?=\s*:)", plan.text, re.MULTILINE)
    return Span(plan.path, plan.text.count("\n", 0, found.start()) + 1, 1, len(key)) if found else None


def check_costs(plan: Plan, jobs: Sequence[Job], catalog: Catalog, findings: Findings) -> None:
    """Check `limits.duration` against the slowest host (hosts run in parallel), and `safety.max_written` against each
    target."""
    longest, most = plan.limits.duration_s, plan.safety.max_written_bytes
    if longest is None and most is None:
        return
    costs = shared_costs(catalog)
    seconds: defaultdict[str, float] = defaultdict(float)
    likely: Counter[tuple[str, str]] = Counter()
    bounds: Counter[tuple[str, str]] = Counter()
    for job in jobs:
        spent = costs(job)
        seconds[job.host] += spent.seconds
        likely.update({(job.host, target): amount for target, amount in spent.likely_writes.items()})
        bounds.update({(job.host, target): amount for target, amount in spent.writes.items()})
    for host, duration in seconds.items():
        if longest is not None and duration > longest:
            needed, allowed = format_duration(round(duration)), format_duration(longest)
            message = f"measuring on {host} takes about {needed}, but `limits.duration` is {allowed}"
            hint = "use fewer points or repeats, or raise the limit; `asct plan` shows the time for each job"
            findings.error("E240", message, section_span(plan, "limits"), hint)
    for (host, target), amount in likely.items():
        if most is not None and amount > most:
            about, bound, limit = format_alike((amount, bounds[host, target], most))
            message = f"asct would write about {about}, at most {bound}, to {target or 'the temporary file'} on {host}"
            hint = f"`safety.max_written` is {limit}: reduce the writes, or raise the limit"
            findings.error("E241", message, section_span(plan, "safety"), hint)


def check_timeouts(drafts: Sequence[JobDraft], findings: Findings) -> None:
    """Warn (E242) about jobs whose `timeout` is shorter than the estimated time of a point.

    This is only a warning, because the estimate does not take the host's facts into account.
    """
    known: dict[tuple[str, int], list[Needs]] = {}
    for draft in drafts:
        job = draft.job
        if job.timeout_s is None:
            continue
        key = (job.benchmark, id(job.points))
        if key not in known:
            known[key] = [_needs(draft.benchmark, point) for point in job.points]
        usual = max((need.seconds for need in known[key]), default=0.0)
        most = max((need.longest_s for need in known[key]), default=0.0)
        if max(usual, most) > job.timeout_s:
            takes = f"takes about {_about(usual)}" if usual > job.timeout_s else f"may take up to {_about(most)}"
            message = f"a point of `{job.id}` {takes}, but its `timeout` is {format_duration(job.timeout_s)}"
            hint = f"raise `timeout`, or remove it: the limit is then {_about(max(n.limit_s for n in known[key]))}"
            findings.warn("E242", message, draft.entry.span, hint)


def _about(seconds: float) -> str:
    return format_duration(math.ceil(seconds) if seconds > 1 else seconds)
