"""Looks at one host: connects, reads its facts, asks the kernel guard about its disks. Changes nothing but caches."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from asct.doctor.disks import consents, scan
from asct.doctor.model import HostReport, Status
from asct.engine.circumstances import busy
from asct.engine.ports import Collaborators
from asct.engine.site import owner_of
from asct.errors import ConnectError, HostLocked, NotMeasured
from asct.facts import describe
from asct.hosts.base import Host, Session
from asct.plan.model import Destroys, HostSpec
from asct.sdk.guard import KERNEL

_TURN_S = 0.2
"""How often a host is tried that another look of this command has."""


def examine(
    spec: HostSpec, ports: Collaborators, folder: Path, plan_folder: Path, given_up: Sequence[Destroys] = ()
) -> HostReport:
    """What there is to say of a host. `folder` takes raw files; `given_up` are devices that a plan consents to destroy
    there. A host that cannot be looked at is a report too."""
    try:
        with closing(ports.make_host(spec, plan_folder)) as host:
            _enter(host)
            facts = ports.collect_facts(host, folder / "facts")
            guard = ports.provide(host, KERNEL, facts, folder / "build").path
            warning = busy(facts)
            return HostReport(
                name=spec.name,
                transport=spec.transport,
                address=spec.address,
                status="ok",
                description=describe(facts),
                problems=(warning,) if warning is not None else (),
                disks=scan(host, guard, folder),
                consents=consents(host, guard, folder, given_up),
            )
    except (NotMeasured, HostLocked) as error:
        status: Status = "unreachable" if isinstance(error, ConnectError) else "unfit"
        return HostReport(spec.name, spec.transport, spec.address, status, problems=error.diagnostics)


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
