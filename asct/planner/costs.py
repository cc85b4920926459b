"""The cost of jobs (time, bytes written, privileges), and checks against the limits and timeouts of the plan."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from asct.diagnostics.model import Span
from asct.plan.findings import Findings
from asct.plan.model import PendingValue, Plan
from asct.planner.context import JobDraft
from asct.planner.model import Job, Point, ResolvedPlan
from asct.sdk.benchmark import Benchmark, Catalog
from asct.sdk.needs import Needs, Privilege
from asct.values.duration import format_duration
from asct.values.quantity import format_alike

if TYPE_CHECKING:
    from asct.sdk.facts import HostFacts


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of a job, including all repeats and warm-ups.

    `writes` is the estimated maximum number of bytes written to each target path ("" is the temporary file), and
    `likely_writes` is the likely number. They differ because the speed of a drive is unknown before it is measured.
    """

    seconds: float = 0.0
    """The likely time."""
    longest_s: float = 0.0
    """The longest time in seconds if the number of rounds depends on the drive, otherwise the likely time."""
    writes: Mapping[str, int] = field(default_factory=dict)
    likely_writes: Mapping[str, int] = field(default_factory=dict)
    purges: tuple[str, ...] = ()
    """The targets that the job purges."""
    scratch_bytes: int = 0
    """The size of the largest temporary file. Only one exists at a time."""
    memory_bytes: int = 0
    privileges: tuple[Privilege, ...] = ()
    targets: tuple[str, ...] = ()
    kernels: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()


def known_settings(point: Point) -> dict[str, Any]:
    """Return the settings that have no pending values. For the others, the benchmark's estimates use the defaults."""
    return {name: value for name, value in point.settings.items() if not isinstance(value, PendingValue)}


def cost(job: Job, benchmark: Benchmark[Any], facts: HostFacts | None = None) -> Cost:
    """Return the cost of a job. Without facts, the benchmark estimates it for an unknown machine.

    Raises pydantic.ValidationError only if this version of the benchmark rejects the job's settings.
    """
    times = job.repeats + job.warmup
    seconds, longest, scratch, memory = 0.0, 0.0, 0, 0
    writes: Counter[str] = Counter()
    likely: Counter[str] = Counter()
    seen: dict[str, dict[str, None]] = {"targets": {}, "purges": {}, "kernels": {}, "tools": {}}
    rights: dict[Privilege, None] = {}
    for point in job.points:
        needs = _needs(benchmark, point, facts)
        seconds += needs.seconds * times
        longest += max(needs.seconds, min(needs.longest_s, job.timeout_s or needs.longest_s)) * times
        memory = max(memory, needs.memory_bytes)
        scratch = max(scratch, needs.scratch.bytes if needs.scratch else 0)
        for target, amount in needs.writes_bytes:
            writes[target] += amount * times
        for target, amount in needs.likely:
            likely[target] += amount * times
        rights |= dict.fromkeys(needs.rights)
        seen["targets"] |= dict.fromkeys(needs.targets)
        seen["purges"] |= dict.fromkeys(needs.purges)
        seen["kernels"] |= dict.fromkeys(needs.kernels)
        seen["tools"] |= dict.fromkeys(name for name, _ in needs.tools)
    named = {key: tuple(values) for key, values in seen.items()}
    return Cost(
        seconds=seconds,
        longest_s=longest,
        writes=dict(writes),
        likely_writes=dict(likely),
        scratch_bytes=scratch,
        memory_bytes=memory,
        privileges=tuple(rights),
        **named,
    )


def _needs(benchmark: Benchmark[Any], point: Point, facts: HostFacts | None) -> Needs:
    return benchmark.needs(benchmark.params_model.model_validate(known_settings(point)), facts)


def shared_costs(catalog: Catalog) -> Callable[[Job, HostFacts | None], Cost]:
    """Return a function that computes the cost of a job. Jobs that have the same points and no facts share the
    result."""
    done: dict[tuple[str, int, int, int], tuple[Job, Cost]] = {}

    def of(job: Job, facts: HostFacts | None) -> Cost:
        benchmark = catalog.get(job.benchmark)
        if benchmark is None:
            return Cost()
        key = (job.benchmark, id(job.points), job.repeats, job.warmup)
        if facts is not None:
            return cost(job, benchmark, facts)
        if key not in done:
            done[key] = (job, cost(job, benchmark))
        return done[key][1]

    return of


def check_points(plan: Plan, jobs: Sequence[Job], findings: Findings) -> None:
    """Check `limits.points` against the number of points of all jobs on all hosts."""
    total, limit = sum(len(job.points) for job in jobs), plan.limits.points
    hidden = findings.hides("limits", "points") or any(item.code == "E217" for item in findings.all())
    if total <= limit or hidden:
        return
    most = max(jobs, key=lambda job: len(job.points))
    message = f"the plan has {total:,} points across all hosts, but `limits.points` is {limit:,}"
    hint = (
        f"reduce the sweep (`{most.key}` has {len(most.points):,}), or raise the limit: `limits: {{points: {total}}}`"
    )
    findings.error("E217", message, section_span(plan, "limits"), hint)


def section_span(plan: Plan | ResolvedPlan, key: str) -> Span | None:
    """Return the location of a top-level key in the plan's main file, for errors that concern the whole plan."""
    found = re.search(rf"^{re.escape(key)}(?=\s*:)", plan.text, re.MULTILINE)
    return Span(plan.path, plan.text.count("\n", 0, found.start()) + 1, 1, len(key)) if found else None


def check_costs(plan: Plan, jobs: Sequence[Job], catalog: Catalog, findings: Findings) -> None:
    """Check `limits.duration` for the slowest host, because hosts run in parallel, and `safety.max_written` for each
    target."""
    longest, most = plan.limits.duration_s, plan.safety.max_written_bytes
    if longest is None and most is None:
        return
    costs = shared_costs(catalog)
    seconds: defaultdict[str, float] = defaultdict(float)
    likely: Counter[tuple[str, str]] = Counter()
    bounds: Counter[tuple[str, str]] = Counter()
    for job in jobs:
        spent = costs(job, None)
        seconds[job.host] += spent.seconds
        likely.update({(job.host, target): amount for target, amount in spent.likely_writes.items()})
        bounds.update({(job.host, target): amount for target, amount in spent.writes.items()})
    for host, duration in seconds.items():
        if longest is not None and duration > longest:
            needed, allowed = format_duration(round(duration)), format_duration(longest)
            message = f"measuring on {host} takes about {needed}, but `limits.duration` is {allowed}"
            hint = "use fewer points or repeats, or raise the limit; `asct plan` shows the time of each job"
            findings.error("E240", message, section_span(plan, "limits"), hint)
    for (host, target), amount in likely.items():
        if most is not None and amount > most:
            about, bound, limit = format_alike((amount, bounds[host, target], most), "B")
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
            known[key] = [_needs(draft.benchmark, point, None) for point in job.points]
        usual = max((need.seconds for need in known[key]), default=0.0)
        most = max((need.longest_s for need in known[key]), default=0.0)
        if max(usual, most) > job.timeout_s:
            takes = f"takes about {_about(usual)}" if usual > job.timeout_s else f"may take up to {_about(most)}"
            message = f"a point of `{job.id}` {takes}, but its `timeout` is {format_duration(job.timeout_s)}"
            hint = f"raise `timeout`, or remove it: the limit is then {_about(max(n.limit_s for n in known[key]))}"
            findings.warn("E242", message, draft.entry.span, hint)


def _about(seconds: float) -> str:
    return format_duration(math.ceil(seconds) if seconds > 1 else seconds)
