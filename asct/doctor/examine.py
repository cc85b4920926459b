"""Examine one host: connect, read its facts, sample its activity, and inspect its disks with the `guard` kernel.

Nothing on the host changes except caches.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from asct.diagnostics.model import Diagnostic
from asct.disturbances import assess
from asct.disturbances.build import MeasuredScope
from asct.disturbances.sample import SCRIPT, ActivitySample, sample_of
from asct.doctor.disks import consents, scan
from asct.doctor.model import HostReport, Status
from asct.engine.host import owner_of
from asct.engine.points import bind_points, cautions, waits_for_results
from asct.engine.preflight import check, find_tools, measured_scope
from asct.engine.services import Services
from asct.errors import ConnectError, HostError, HostLocked, HostLost, NotMeasured
from asct.facts.describe import describe
from asct.hosts.base import Host, SessionSpec
from asct.plan.model import Destroys, HostSpec
from asct.planner.model import Job
from asct.sdk.disturbance import Unseen, subjects
from asct.sdk.facts import HostFacts
from asct.sdk.needs import GUARD, JobNeeds


@dataclass(frozen=True, slots=True)
class PlanDemands:
    """The requirements that a plan places on a host. `scope` is the scope of its jobs, `subjects` contains the
    quantities that they measure, and `lacking` lists the reasons why jobs cannot run."""

    scope: MeasuredScope
    subjects: frozenset[str]
    lacking: tuple[Diagnostic, ...] = ()


def plan_demands(host: Host, facts: HostFacts, ports: Services, jobs: Sequence[Job]) -> PlanDemands:
    """Return the requirements that jobs place on an open host. Raises HostError. If a job needs the results of other
    jobs, only its subjects can be determined.
    """
    demands: list[JobNeeds] = []
    lacking: dict[Diagnostic, None] = {}
    words: set[str] = set()
    for job in jobs:
        benchmark = ports.benchmark(job)
        words |= subjects(benchmark)
        if waits_for_results(job):
            continue
        try:
            points, needs = bind_points(job, benchmark, {}, facts)
        except NotMeasured as error:
            lacking.update(dict.fromkeys(error.diagnostics))
            continue
        lacking.update(dict.fromkeys(point.unfit for point in points if point.unfit is not None))
        lacking.update(dict.fromkeys(cautions(job, benchmark, points, facts)))
        demand = JobNeeds.of(needs)
        demands.append(demand)
        found = find_tools(host, [name for name in demand.tools if name not in facts.tools])
        lacking.update(dict.fromkeys(check(demand, facts, found, host.name)))
    return PlanDemands(measured_scope(host, demands), frozenset(words), tuple(lacking))


_LIMIT_S = 30.0
_WHAT = "steal time, busy CPUs and interrupts"


def read_activity(host: Host) -> tuple[ActivitySample | None, tuple[Unseen, ...]]:
    """Return the activity of a host (None if unknown) and the conditions that could not be sampled.

    Raises HostLost if the connection is lost.
    """
    try:
        answer = host.execute(["sh", "-s"], timeout_s=_LIMIT_S, stdin=SCRIPT)
    except HostLost:
        raise
    except HostError as error:
        return None, (Unseen(what=_WHAT, why=error.diagnostics[0].message),)
    sample = sample_of(answer.stdout)
    if sample is None:
        return None, (Unseen(what=_WHAT, why="the host did not return two samples of /proc/stat"),)
    if not sample.busy:
        return sample, (Unseen(what=_WHAT, why="/proc/stat does not list the CPUs"),)
    return sample, ()


_TURN_S = 0.2
"""Seconds between attempts to open a host that this command is already examining under another name."""


def examine(
    spec: HostSpec,
    ports: Services,
    folder: Path,
    plan_folder: Path,
    given_up: Sequence[Destroys] = (),
    jobs: Sequence[Job] | None = None,
) -> HostReport:
    """Report on a host, even if it is unreachable.

    Raw files are written to `folder`. `given_up` lists the devices that the plan allows asct to overwrite. `jobs` lists
    the plan's jobs on the host; it is None without a plan.
    """
    try:
        with closing(ports.make_host(spec, plan_folder)) as host:
            _enter(host, ports.facts_script())
            facts = ports.collect_facts(host, folder / "facts")
            sample, missed = read_activity(host)
            plan = plan_demands(host, facts, ports, jobs) if jobs is not None else None
            found = assess(facts, sample, plan.scope if plan else None)
            report = HostReport(
                name=spec.name,
                transport=spec.transport,
                address=spec.address,
                status="ok",
                description=describe(facts),
                collected_at=facts.collected_at,
                problems=plan.lacking if plan else (),
                findings=tuple(found.findings),
                unseen=(*found.unseen, *missed),
                subjects=plan.subjects if plan else None,
            )
            return _with_disks(report, host, facts, ports, folder, given_up)
    except (NotMeasured, HostLocked) as error:
        status: Status = "unreachable" if isinstance(error, ConnectError) else "unfit"
        return HostReport(spec.name, spec.transport, spec.address, status, problems=error.diagnostics)


def _with_disks(
    report: HostReport, host: Host, facts: HostFacts, ports: Services, folder: Path, given_up: Sequence[Destroys]
) -> HostReport:
    """Add the results of the `guard` kernel to the report. If it cannot run, add the reason to the report's
    problems."""
    try:
        guard = ports.provide(host, GUARD, facts, folder / "build").path
        return replace(report, disks=scan(host, guard, folder), consents=consents(host, guard, folder, given_up))
    except NotMeasured as error:
        return replace(report, status="unfit", problems=(*report.problems, *error.diagnostics))


def _enter(host: Host, script: str) -> None:
    """Open and lock the host as a run does, because the `guard` kernel runs on it.

    If another host in the plan is the same machine, wait until that host has been examined.
    """
    session = SessionSpec("doctor", owner_of("doctor"), script=script)
    while True:
        try:
            host.open(session)
            return
        except HostLocked as error:
            if error.owner != session.owner:
                raise
            time.sleep(_TURN_S)
