"""The reasons why repeats were not measured, with the settings of their points. Verdicts on expectations quote these
reasons."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from asct.planner.model import ResolvedPlan
from asct.store.layout import RepeatKey, repeat_key
from asct.store.model import Run


@dataclass(frozen=True, slots=True)
class Loss:
    """Repeats that were not measured, the swept settings of their point (empty if a whole job is affected), and the
    cause."""

    host: str
    id: str
    at: Mapping[str, Any]
    cause: str


def losses_of(run: Run, resolved: ResolvedPlan, journal: Callable[[], Iterable[Mapping[str, Any]]]) -> list[Loss]:
    """Return the reasons why repeats are treated as not measured: first the causes that affect single repeats, which
    come from the journal, and then the causes that affect whole jobs."""
    if not any(job.lacking() for job in run.jobs):
        return []
    swept = {(job.host, job.id, point.id): point.swept for job in resolved.jobs for point in job.points}
    ends: dict[RepeatKey, Mapping[str, Any]] = {}
    for event in journal():
        if event.get("t") == "point-ended":
            ends[repeat_key(event)] = event
    found = [
        Loss(*key[:2], swept.get(key[:3], {}), f"{diagnostic['code']} {diagnostic['message']}")
        for key, event in ends.items()
        if (diagnostic := event.get("diagnostic"))
    ]
    return [*found, *(Loss(job.host, job.id, {}, job.note) for job in run.jobs if job.note and job.lacking())]
