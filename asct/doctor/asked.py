"""What a plan asks of a host: what its jobs open and use, and what the host lacks for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from asct.diagnostics.model import Diagnostic
from asct.disturbances import Wanted
from asct.engine.binding import bind_points, deferred
from asct.engine.preflight import JobNeeds, check, find_tools, wanted
from asct.engine.services import Services
from asct.errors import NotMeasured
from asct.hosts.base import Host
from asct.planner.model import Job
from asct.sdk.disturbance import subjects
from asct.sdk.facts import HostFacts


@dataclass(frozen=True, slots=True)
class Asked:
    """`subjects` are what the jobs measure, in the words of findings; `lacking` is why some could not run."""

    wanted: Wanted
    subjects: frozenset[str]
    lacking: tuple[Diagnostic, ...] = ()


def asked(host: Host, facts: HostFacts, ports: Services, jobs: Sequence[Job]) -> Asked:
    """Of these jobs on an open host. What waits for results of other jobs is not known yet. Raises HostError."""
    demands: list[JobNeeds] = []
    lacking: dict[Diagnostic, None] = {}
    words: set[str] = set()
    for job in jobs:
        benchmark = ports.catalog.get(job.benchmark)
        if benchmark is None:
            raise LookupError(job.benchmark)
        words |= subjects(benchmark)
        if deferred(job):
            continue
        try:
            points, needs = bind_points(job, benchmark, ports, {}, facts)
        except NotMeasured as error:
            lacking.update(dict.fromkeys(error.diagnostics))
            continue
        lacking.update(dict.fromkeys(point.unfit for point in points if point.unfit is not None))
        demand = JobNeeds.of(needs)
        demands.append(demand)
        found = find_tools(host, [name for name in demand.tools if name not in facts.tools])
        lacking.update(dict.fromkeys(item.diagnostic for item in check(demand, facts, found, host.name)))
    return Asked(wanted(host, demands), frozenset(words), tuple(lacking))
