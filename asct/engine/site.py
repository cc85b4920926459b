"""One host while a run uses it: the connection, its facts, the programs put there. Opened again when it was lost."""

from __future__ import annotations

import getpass
import os
import platform
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import partial

from asct.diagnostics.model import Diagnostic
from asct.engine.events import HostReady, KernelBuilt
from asct.engine.gate import DriveGuard, JobGuard, Occasion
from asct.engine.guard import Inspection, inspected
from asct.engine.preflight import (
    JobNeeds,
    Kind,
    PreflightProblem,
    check,
    check_targets,
    device_names,
    find_tools,
    look,
    missing_devices,
)
from asct.engine.privilege import Rights
from asct.engine.programs import Programs, process_of, texts
from asct.engine.shared import Shared
from asct.engine.telemetry.readings import READING
from asct.errors import AsctError, HostError, HostLocked, HostLost, NotMeasured
from asct.facts.describe import describe
from asct.hosts.base import Host, Session, Task
from asct.plan.model import HostSpec
from asct.sdk.facts import HostFacts
from asct.sdk.guard import KERNEL, Target, inspection

_REOPENINGS = 3
"""How often in a row a host may be lost before it is given up."""
_TURN_S = 0.5
_INSPECTION_S = 120.0
"""More than the checks of many drives take; a drive that does not answer is not written."""


class Site:
    """An open host. Used by one thread; `interrupt` may come from another."""

    def __init__(self, shared: Shared, spec: HostSpec) -> None:
        self._shared = shared
        self._spec = spec
        self._losses = 0
        self._failed: dict[str, tuple[Diagnostic, ...]] = {}
        self._rights = Rights(spec.name, sudo=spec.uses_sudo)
        self._folder = shared.earlier.folders.get(spec.name, "")
        self.host: Host | None = None
        self.programs: Programs | None = None
        self.gate = DriveGuard(shared, spec.name)
        self.made: set[str] = set()
        """Named files that were absent before this run wrote them."""
        self.generation = 0
        """Counts up with every opening: a job compares it to know that its folder is gone."""

    @property
    def name(self) -> str:
        """As in the plan."""
        return self._spec.name

    @property
    def facts(self) -> HostFacts:
        """Facts of the open host."""
        return self.ready.facts

    @property
    def ready(self) -> Programs:
        """The programs of the open host."""
        if self.programs is None:
            raise RuntimeError(f"host {self.name} is not open")
        return self.programs

    @property
    def connection(self) -> Host:
        """The open host."""
        if self.host is None:
            raise RuntimeError(f"host {self.name} is not open")
        return self.host

    def open(self) -> None:
        """Connect and read the facts. Raises AsctError with the way out."""
        host = self._shared.ports.make_host(self._spec, self._shared.plan_folder)
        self.host = host
        self._enter(host)
        self.generation += 1
        facts = self._collect(host)
        self.programs = Programs(facts, elevated=self._rights.granted)
        self._shared.writer.facts(self.name, facts)
        self._shared.bus.emit(HostReady(self.name, describe(facts), host.work))

    def _enter(self, host: Host) -> None:
        """Open it for this run. Two hosts of a plan that are the same machine measure one after the other."""
        run, notice = self._shared.run, partial(self._shared.bus.notice, self.name)
        session = Session(run, owner_of(run), self._folder, notice, READING)
        while True:
            try:
                host.open(session)
                break
            except HostLocked as error:
                if error.owner != session.owner or self._shared.stop.requested:
                    raise
                time.sleep(_TURN_S)
        self._folder = host.work
        if host.adopted:
            message = f"host {self.name}: still has the session of before; what was measured there meanwhile is taken"
            self._shared.bus.notice(self.name, Diagnostic("E625", message, severity="note"))
            host.settle()

    def _collect(self, host: Host) -> HostFacts:
        folder = self._shared.writer.facts_folder(self.name)
        try:
            return self._shared.ports.collect_facts(host, folder)
        except HostError:
            raise
        except OSError as error:
            raise self._shared.writer.fail(folder, error) from error
        except (ValueError, NotMeasured) as error:
            message = f"host {self.name}: its facts cannot be read: {error}"
            hint = f"see what it answered in {folder}"
            raise NotMeasured(Diagnostic("E426", message, hint=hint)) from error

    def reopen(self) -> bool:
        """After a loss: a new connection with the same kernels. False when the host is given up."""
        self._losses += 1
        kernels = list(self.ready.kernels)
        self.close()
        if self._losses > _REOPENINGS or self._shared.stop.requested:
            return False
        try:
            self.open()
            for name in kernels:
                self._provide(name)
        except NotMeasured as error:
            for diagnostic in error.diagnostics:
                self._shared.bus.notice(self.name, diagnostic)
            self.close()
            return False
        return True

    def measured(self) -> None:
        """A measurement went through: earlier losses are forgiven."""
        self._losses = 0

    def close(self) -> None:
        """End what runs there, remove the work folder, disconnect; closing twice is harmless."""
        if self.host is not None:
            self.host.close()
            self.host = None

    def interrupt(self) -> None:
        """From another thread: end what runs now."""
        host = self.host
        if host is not None:
            host.interrupt()

    # ---- what a job needs ----

    def assess(self, demand: JobNeeds, gate: JobGuard) -> list[PreflightProblem]:
        """Everything that keeps a job with this demand from running here; builds its kernels. Raises HostLost."""
        programs = self.ready
        unknown = programs.unknown({**demand.tools, **demand.optional_tools})
        programs.found.update(find_tools(self.connection, unknown))
        findings = check(demand, programs.facts, programs.found, self.name)
        for name in demand.kernels:
            findings += [PreflightProblem(item) for item in self._kernel(name)]
        refused = self._elevate(demand)
        findings += refused or self.assess_targets(demand, gate, "preflight")
        return list(dict.fromkeys(findings))  # a kernel may be lacked twice: by the job and by its inspection

    def _elevate(self, demand: JobNeeds) -> list[PreflightProblem]:
        """What sudo refuses and the job cannot do without; what is only lost is told."""
        found = self._rights.ask(self.connection, self.ready, demand.rights)
        for item in found:
            if item.severity == "warning":
                self._shared.bus.notice(self.name, item)
        return [PreflightProblem(item) for item in found if item.severity == "error"]

    def assess_targets(self, demand: JobNeeds, gate: JobGuard, occasion: Occasion = "start") -> list[PreflightProblem]:
        """The files and devices that the plan names, looked at now; also right before a job writes to them."""
        gate.expect(demand)
        kinds = look(self.connection, demand.targets)
        known = device_names(self.connection) if missing_devices(kinds) else ()
        findings = check_targets(demand, kinds, self.made, gate.consents, self.name, known)
        if refused := tuple(item.diagnostic for item in findings if item.refused):
            gate.note(occasion, Inspection(refusals=refused))
        devices = [path for path in demand.written if kinds.get(path) == "device" and path in gate.consents]
        return findings + self._inspect(gate, gate.targets(devices), occasion) if devices else findings

    def _inspect(self, gate: JobGuard, targets: Sequence[Target], occasion: Occasion) -> list[PreflightProblem]:
        """Every check of the kernel guard on devices that are to be written; all that they say is kept."""
        missing = self._kernel(KERNEL)
        if missing:
            return [PreflightProblem(item) for item in missing]
        writer, step = self._shared.writer, inspection(targets)
        into = gate.look_folder(occasion)
        sudo = self.ready.through_sudo(step)
        process = process_of(step, self.ready.path(step.program), f"{self.connection.work}/{KERNEL}", sudo=sudo)
        try:
            done = self.connection.run(Task(process, into, step.files, timeout_s=_INSPECTION_S))
            outputs = texts(into, done.fetched)
        except OSError as error:
            raise writer.fail(into, error) from error
        found = inspected(self.name, targets, done.status, outputs.get("stdout", ""), outputs.get("stderr", ""))
        gate.note(occasion, found, writer.layout.relative(into))
        return [PreflightProblem(item, refused=True) for item in found.refusals]

    def will_write(self, demand: JobNeeds) -> None:
        """Note which named files the job about to start makes: later jobs of this run may write to them."""
        kinds: dict[str, Kind] = look(self.connection, list(demand.writes))
        self.made.update(path for path, kind in kinds.items() if kind == "absent")

    def _kernel(self, name: str) -> tuple[Diagnostic, ...]:
        """The findings that keep a kernel from being here; none when it is."""
        if name in self.ready.kernels:
            return ()
        if name not in self._failed:
            try:
                self._provide(name)
            except HostLost:
                raise
            except NotMeasured as error:
                self._failed[name] = error.diagnostics
                return error.diagnostics
            return ()
        return self._failed[name]

    def _provide(self, name: str) -> None:
        started = time.monotonic()
        folder = self._shared.writer.build_folder(self.name)
        try:
            built = self._shared.ports.provide(self.connection, name, self.facts, folder)
        except OSError as error:
            raise self._shared.writer.fail(folder, error) from error
        self.ready.kernels[name] = built.path
        self.ready.built[name] = built
        elapsed = round(time.monotonic() - started, 3)
        self._shared.bus.emit(KernelBuilt(self.name, name, built.compiler, built.cached, elapsed))

    def remove(self, paths: Iterable[str]) -> None:
        """Remove folders of finished jobs; what cannot be removed goes with the work folder at the end."""
        for path in paths:
            try:
                self.connection.remove(path)
            except HostLost:
                raise
            except HostError as error:
                for diagnostic in error.diagnostics:
                    self._shared.bus.notice(self.name, diagnostic)


def owner_of(run: str) -> str:
    """How a run presents itself to others who find a host locked."""
    with suppress(OSError, KeyError):  # an account without a name
        return f"run {run} of {getpass.getuser()} on {platform.node()}"
    return f"run {run} of account {os.getuid()} on {platform.node()}"


def reasons(error: AsctError) -> str:
    """The messages of an error in a line."""
    return "; ".join(item.message for item in error.diagnostics)
