"""Looks at one host: connects, reads its facts, takes two looks a second apart, asks the kernel guard about its disks.

Changes nothing but caches.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from asct.disturbances import assess
from asct.doctor.asked import asked
from asct.doctor.disks import consents, scan
from asct.doctor.model import HostReport, Status
from asct.doctor.sampling import take
from asct.engine.services import Services
from asct.engine.site import owner_of
from asct.errors import ConnectError, HostLocked, NotMeasured
from asct.facts import describe
from asct.hosts.base import Host, Session
from asct.plan.model import Destroys, HostSpec
from asct.planner.model import Job
from asct.sdk.facts import HostFacts
from asct.sdk.guard import KERNEL

_TURN_S = 0.2
"""How often a host is tried that another look of this command has."""


def examine(
    spec: HostSpec,
    ports: Services,
    folder: Path,
    plan_folder: Path,
    given_up: Sequence[Destroys] = (),
    jobs: Sequence[Job] | None = None,
) -> HostReport:
    """What there is to say of a host. `folder` takes raw files; `given_up` are devices that a plan consents to destroy
    there, `jobs` what it measures there (None: no plan). A host that cannot be looked at is a report too."""
    try:
        with closing(ports.make_host(spec, plan_folder)) as host:
            _enter(host)
            facts = ports.collect_facts(host, folder / "facts")
            sample, missed = take(host)
            plan = asked(host, facts, ports, jobs) if jobs is not None else None
            found = assess(facts, sample, plan.wanted if plan else None)
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
    """The report and what the kernel guard sees; without a guard what else was found is still worth telling."""
    try:
        guard = ports.provide(host, KERNEL, facts, folder / "build").path
        return replace(report, disks=scan(host, guard, folder), consents=consents(host, guard, folder, given_up))
    except NotMeasured as error:
        return replace(report, status="unfit", problems=(*report.problems, *error.diagnostics))


def _enter(host: Host) -> None:
    """Open it as a run does, since guard is run there. Hosts of a plan that are the same machine take turns."""
    session = Session("doctor", owner_of("doctor"))
    while True:
        try:
            host.open(session)
            return
        except HostLocked as error:
            if error.owner != session.owner:
                raise
            time.sleep(_TURN_S)
