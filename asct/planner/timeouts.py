"""A time limit that the plan gives against what the benchmark says its points take."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from asct.plan.findings import Findings
from asct.planner.draft import Draft
from asct.planner.estimate import known_settings
from asct.planner.model import Job, Point
from asct.sdk.benchmark import Benchmark
from asct.sdk.needs import Needs
from asct.values.duration import format_duration


def check_timeouts(drafts: Sequence[Draft], jobs: Sequence[Job], findings: Findings) -> None:
    """Warn (E242) of jobs whose points would be ended by their `timeout`; `drafts` and `jobs` are in the same order.

    Estimates are made without the host, so that this is no error.
    """
    known: dict[tuple[str, int], list[Needs]] = {}
    for draft, job in zip(drafts, jobs, strict=True):
        if job.timeout_s is None:
            continue
        key = (job.benchmark, id(job.points))
        needs = known.setdefault(key, _needs(draft.benchmark, job.points))
        _check(draft, job.timeout_s, needs, findings)


def _needs(benchmark: Benchmark[Any], points: Sequence[Point]) -> list[Needs]:
    return [benchmark.needs(benchmark.params_model.model_validate(known_settings(point)), None) for point in points]


def _check(draft: Draft, timeout_s: float, needs: Sequence[Needs], findings: Findings) -> None:
    usual = max((need.seconds for need in needs), default=0.0)
    most = max((need.longest_s for need in needs), default=0.0)
    if max(usual, most) <= timeout_s:
        return
    takes = f"takes about {_about(usual)}" if usual > timeout_s else f"may take up to {_about(most)}"
    message = f"a point of `{draft.id}` {takes}, and its `timeout` is {format_duration(timeout_s)}"
    hint = f"leave `timeout` out: the limit is then {_about(max(need.limit_s for need in needs))}; or raise it"
    findings.warn("E242", message, draft.entry.span, hint)


def _about(seconds: float) -> str:
    return format_duration(math.ceil(seconds) if seconds > 1 else seconds)
