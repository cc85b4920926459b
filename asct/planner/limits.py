"""What a plan may cost: points in all, hours on a host, bytes written to a device."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from asct.diagnostics.model import Span
from asct.plan.findings import Findings
from asct.plan.model import Plan
from asct.planner.model import Job
from asct.planner.preview import shared_costs
from asct.sdk.benchmark import Catalog
from asct.values.duration import format_duration
from asct.values.size import format_size


def check_points(plan: Plan, jobs: Sequence[Job], findings: Findings) -> None:
    """`limits.points` counts the points of all jobs on all hosts."""
    total, limit = sum(len(job.points) for job in jobs), plan.limits.points
    if total <= limit or any(item.code == "E217" for item in findings.all()):
        return
    most = max(jobs, key=lambda job: len(job.points))
    message = f"the plan has {total:,} points on all hosts, and `limits.points` is {limit:,}"
    hint = f"sweep less (`{most.key}` has the most: {len(most.points):,}), or allow it: `limits: {{points: {total}}}`"
    findings.error("E217", message, section_span(plan, "limits"), hint)


def section_span(plan: Plan, key: str) -> Span | None:
    """The place of a top-level key of the plan's own file, for limits that are about the whole plan."""
    found = re.search(rf"^{re.escape(key)}(?=\s*:)", plan.text, re.MULTILINE)
    return Span(plan.path, plan.text.count("\n", 0, found.start()) + 1, 1, len(key)) if found else None


def check_costs(plan: Plan, jobs: Sequence[Job], catalog: Catalog, findings: Findings) -> None:
    """`limits.duration` against the slowest host (hosts run side by side), `safety.max_written` against each target."""
    longest, most = plan.limits.duration_s, plan.safety.max_written_bytes
    if longest is None and most is None:
        return
    costs = shared_costs(catalog)
    seconds: defaultdict[str, float] = defaultdict(float)
    written: Counter[tuple[str, str]] = Counter()
    for job in jobs:
        spent = costs(job, None)
        seconds[job.host] += spent.seconds
        written.update({(job.host, target): amount for target, amount in spent.writes.items()})
    if longest is not None:
        _check_duration(seconds, longest, section_span(plan, "limits"), findings)
    if most is not None:
        _check_written(written, most, section_span(plan, "safety"), findings)


def _check_duration(seconds: Mapping[str, float], longest: float, span: Span | None, findings: Findings) -> None:
    for host, spent in seconds.items():
        if spent > longest:
            told, allowed = format_duration(round(spent)), format_duration(longest)
            message = f"about {told} of measurements on {host}, and `limits.duration` is {allowed}"
            hint = "`asct plan` shows where the time goes; fewer points or repeats, or a higher limit"
            findings.error("E240", message, span, hint)


def _check_written(written: Mapping[tuple[str, str], int], most: int, span: Span | None, findings: Findings) -> None:
    for (host, target), amount in written.items():
        if amount > most:
            place = target or "the scratch file"
            message = f"at most about {format_size(amount)} would be written to {place} on {host}"
            hint = f"`safety.max_written` is {format_size(most)}: write less, or raise it"
            findings.error("E241", message, span, hint)
