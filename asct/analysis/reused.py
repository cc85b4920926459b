"""Describes the results of a run that were taken from earlier runs (`--reuse`)."""

from __future__ import annotations

from collections.abc import Iterable

from asct.store.model import JobEntry, Reused
from asct.values.timestamp import age


def sources(jobs: Iterable[JobEntry]) -> list[Reused]:
    """The earlier runs from which results were reused, with their sums over the jobs."""
    found: dict[str, Reused] = {}
    for job in jobs:
        for item in job.reused:
            known = found.get(item.run)
            found[item.run] = item if known is None else _both(known, item)
    return list(found.values())


def _both(first: Reused, second: Reused) -> Reused:
    oldest = min(first.measured_at, second.measured_at)
    return Reused(run=first.run, repeats=first.repeats + second.repeats, measured_at=oldest)


def reused_text(jobs: Iterable[JobEntry], started_at: str) -> str:
    """`12 of 40 measured before: 12 by gate/20261121T042813Z-3f9c2a, 3 h old`, as of the start of the run; empty when
    all was measured by the run itself."""
    jobs = list(jobs)
    found = sources(jobs)
    if not found:
        return ""
    total = sum(sum(job.counts.values()) for job in jobs)
    parts = (f"{item.repeats} from {item.run}, measured {_age(item.measured_at, started_at)} earlier" for item in found)
    return f"{sum(item.repeats for item in found)} of {total} measurements reused: {'; '.join(parts)}"


def _age(moment: str, present: str) -> str:
    """Of unknown length for times that a tree from elsewhere gives in another form."""
    try:
        return age(moment, present)
    except (ValueError, TypeError):
        return "?"
