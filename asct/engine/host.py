"""A host during a run: its connection, facts and measurement kernels, and the checks that require access to the
host."""

from __future__ import annotations

import getpass
import os
import platform
import secrets
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from asct.diagnostics.model import Diagnostic
from asct.engine.events import HostOpening, HostReady, KernelBuilt
from asct.engine.gate import DriveGuard, JobGuard, Occasion
from asct.engine.guard import GuardReport, inspection_result, is_refusal
from asct.engine.preflight import check, check_targets, device_names, find_tools, target_kinds
from asct.engine.programs import Programs, Rights, process_of, texts
from asct.engine.services import RunContext
from asct.engine.telemetry.readings import READING
from asct.errors import HostError, HostLocked, HostLost, NotMeasured
from asct.facts.describe import describe
from asct.hosts.base import Host, SessionSpec, Task
from asct.plan.model import HostSpec
from asct.sdk.facts import HostFacts
from asct.sdk.guard import Target, inspection
from asct.sdk.needs import GUARD, JobNeeds
from asct.values.duration import format_duration

_REOPENINGS = 3
"""Maximum number of consecutive reconnections to a lost host."""
_LOCK_POLL_S = 0.5
_INSPECTION_S = 120.0
"""Time limit for an inspection, in seconds. This limit is long enough even for a host with many drives. asct does not
write to a drive that does not respond within this time."""


class HostSession:
    """A host that a run uses. If the connection is lost, the session can be reopened.

    Only one thread uses the session, but `interrupt` may be called from any thread.
    """

    def __init__(self, run: RunContext, spec: HostSpec, token: str = "") -> None:
        """Create a session. `token` identifies a session from an earlier part of the run that may still exist on the
        host."""
        self._run = run
        self.spec = spec
        self.name = spec.name
        self._token = token
        self._losses = 0
        self._failed: dict[str, tuple[Diagnostic, ...]] = {}
        self._rights = Rights(spec.name, sudo=spec.uses_sudo)
        self._host: Host | None = None
        self._programs: Programs | None = None
        self.guard = DriveGuard(run.writer, run.plan.safety, spec.name)
        self.created: set[str] = set()
        """Files named in the plan that did not exist before this run wrote them."""
        self.generation = 0
        """Number of connections so far. If this number changes, the job knows that its folder has been lost."""

    @property
    def is_open(self) -> bool:
        """Whether the host can be used. This is False once asct has given up on the host."""
        return self._host is not None

    @property
    def host(self) -> Host:
        """The open host. Raises RuntimeError if it is not open."""
        if self._host is None:
            raise RuntimeError(f"host {self.name} is not open")
        return self._host

    @property
    def programs(self) -> Programs:
        """The programs on the host. Raises RuntimeError if the host's facts have not been read yet."""
        if self._programs is None:
            raise RuntimeError(f"the facts of host {self.name} have not been read")
        return self._programs

    @property
    def facts(self) -> HostFacts:
        """The facts of the host, read when it was opened."""
        return self.programs.facts

    # ---- connection ----

    def open(self) -> None:
        """Connect, lock the host and read its facts. Raises AsctError."""
        folder = Path(self._run.plan.path or ".").resolve().parent
        if not self._token:  # the token is recorded before the host is changed, so that no session is lost
            self._token = secrets.token_hex(16)
            self._run.events.emit(HostOpening(self.name, self._token))
        self._host = self._run.services.make_host(self.spec, folder)
        self._lock(self._host)
        self.generation += 1
        facts = self._read_facts(self._host)
        self._programs = Programs(facts, elevated=self._rights.granted)
        self._run.writer.document(self._run.writer.layout.facts(self.name), facts)
        self._run.events.emit(HostReady(self.name, describe(facts), self._host.work))

    def _lock(self, host: Host) -> None:
        """Lock the host for this run. If another run holds the lock, wait for up to `wait_s` seconds.

        If two hosts in a plan are the same machine, the second one waits for the first one without a time limit.
        """
        notice, facts = partial(self._run.events.notice, self.name), self._run.services.facts_script()
        session = SessionSpec(self._run.id, owner_of(self._run.id), self._token, notice, READING, facts)
        until, announced = time.monotonic() + self._run.wait_s, False
        while True:
            try:
                host.open(session)
                break
            except HostLocked as error:
                own = error.owner == session.owner
                if self._run.stop.requested or not (own or time.monotonic() < until):
                    raise self._waited(error) from error
                if not (own or announced):
                    announced = True
                    hint = f"waiting up to {format_duration(self._run.wait_s)} for that run to end"
                    self._run.events.notice(self.name, replace(error.diagnostics[0], severity="note", hint=hint))
                time.sleep(_LOCK_POLL_S)
        if host.resumed:
            message = f"host {self.name}: resumed the earlier session; results measured in the meantime will be used"
            self._run.events.notice(self.name, Diagnostic("E625", message, severity="note"))
            host.wait_until_idle()

    def _waited(self, error: HostLocked) -> HostLocked:
        """Return the error, without the suggestion to add `--wait` if the run has already waited."""
        if not self._run.wait_s:
            return error
        hint = f"`--wait {format_duration(self._run.wait_s)}` was too short for that run; wait longer, or stop that run"
        return HostLocked(error.host, error.owner, replace(error.diagnostics[0], hint=hint))

    def _read_facts(self, host: Host) -> HostFacts:
        folder = self._run.writer.folder(self._run.writer.layout.facts_raw(self.name))
        try:
            return self._run.services.collect_facts(host, folder)
        except HostError:
            raise
        except OSError as error:
            raise self._run.writer.fail(folder, error) from error
        except (ValueError, NotMeasured) as error:
            message = f"host {self.name}: cannot read its facts: {error}"
            hint = f"see the raw output in {folder}"
            raise NotMeasured(Diagnostic("E426", message, hint=hint)) from error

    def reopen(self) -> bool:
        """Reconnect after the connection was lost, and make the same measurement kernels available again. Return False
        if asct gives up on the host."""
        self._losses += 1
        kernels = list(self.programs.kernels)
        if self._run.stop.requested:
            self.close()
            return False
        self._disconnect()  # the lost connection has been reported
        if self._losses > _REOPENINGS:
            return False
        try:
            self.open()
            for name in kernels:
                self._provide(name)
        except NotMeasured as error:
            self._run.events.notices(self.name, error.diagnostics)
            self.close()
            return False
        return True

    def forgive_losses(self) -> None:
        """Reset the count of lost connections after a successful measurement."""
        self._losses = 0

    def close(self) -> None:
        """Stop all programs of the run, remove the work folder and disconnect. Emit a notice if programs may still be
        running. Can be called repeatedly."""
        if (left := self._disconnect()) is not None:
            self._run.events.notice(self.name, left)

    def _disconnect(self) -> Diagnostic | None:
        host = self._host
        if host is None:
            return None
        left = host.close()
        self._host = None
        return left

    def interrupt(self) -> None:
        """Stop the running task. May be called from another thread."""
        host = self._host
        if host is not None:
            host.interrupt()

    def remove(self, path: str) -> None:
        """Remove a finished job's folder. If that fails, `close` removes it later. Raises HostLost."""
        try:
            self.host.remove(path)
        except HostLost:
            raise
        except HostError as error:
            self._run.events.notices(self.name, error.diagnostics)

    # ---- checks for a job ----

    def assess(self, needs: JobNeeds, guard: JobGuard) -> list[Diagnostic]:
        """Build the measurement kernels that a job needs. Return the reasons why the job cannot run on this host, or an
        empty list if it can. Raises HostLost."""
        programs = self.programs
        unknown = programs.unknown({**needs.tools, **needs.optional_tools})
        programs.found.update(find_tools(self.host, unknown))
        problems = check(needs, programs.facts, programs.found, self.name)
        for name in needs.kernels:
            problems += self._kernel(name)
        found = self._rights.ask(self.host, self.programs, needs.rights)
        self._run.events.notices(self.name, [item for item in found if item.severity == "warning"])
        refused = [item for item in found if item.severity == "error"]
        problems += refused or self.assess_targets(needs, guard, "preflight")
        return list(dict.fromkeys(problems))  # a job and its inspection may lack the same kernel

    def assess_targets(self, needs: JobNeeds, guard: JobGuard, occasion: Occasion = "start") -> list[Diagnostic]:
        """Check the current state of the files and devices that the plan names. This check is repeated immediately
        before a job writes to them."""
        guard.expect(needs)
        kinds = target_kinds(self.host, needs.targets)
        known = device_names(self.host, kinds)
        problems = check_targets(needs, kinds, self.created, self.guard.consents, self.name, known)
        if refused := [item for item in problems if is_refusal(item)]:
            guard.note(occasion, GuardReport(refusals=refused))
        devices = [path for path in needs.written_paths if kinds.get(path) == "device" and path in self.guard.consents]
        return problems + self._inspect(guard, guard.targets(devices), occasion) if devices else problems

    def _inspect(self, guard: JobGuard, targets: Sequence[Target], occasion: Occasion) -> list[Diagnostic]:
        """Inspect devices with the `guard` kernel before a job writes to them. Returns all refusals."""
        if missing := self._kernel(GUARD):
            return list(missing)
        writer, step = self._run.writer, inspection(targets)
        into = guard.inspection_folder(occasion)
        sudo = self.programs.through_sudo(step)
        process = process_of(step, self.programs.path(step.program), f"{self.host.work}/{GUARD}", sudo=sudo)
        try:
            done = self.host.run(Task(process, into, step.files, timeout_s=_INSPECTION_S))
            outputs = texts(into, done.fetched)
        except OSError as error:
            raise writer.fail(into, error) from error
        found = inspection_result(self.name, targets, done.status, outputs.get("stdout", ""), outputs.get("stderr", ""))
        guard.note(occasion, found, writer.layout.relative(into))
        return found.refusals

    def will_write(self, needs: JobNeeds) -> None:
        """Record the files that the job will create, because later jobs of this run may overwrite them."""
        kinds = target_kinds(self.host, needs.written_paths)
        self.created.update(path for path, kind in kinds.items() if kind == "absent")

    def _kernel(self, name: str) -> tuple[Diagnostic, ...]:
        """Return the reasons why a measurement kernel cannot be built for the host, or an empty tuple if it is
        available. A failed build is not retried."""
        if name not in self.programs.kernels and name not in self._failed:
            try:
                self._provide(name)
            except HostLost:
                raise
            except NotMeasured as error:
                self._failed[name] = error.diagnostics
        return () if name in self.programs.kernels else self._failed[name]

    def _provide(self, name: str) -> None:
        started = time.monotonic()
        folder = self._run.writer.folder(self._run.writer.layout.build(self.name))
        try:
            built = self._run.services.provide(self.host, name, self.facts, folder)
        except OSError as error:
            raise self._run.writer.fail(folder, error) from error
        self.programs.kernels[name] = built.path
        self.programs.built[name] = built
        elapsed = round(time.monotonic() - started, 3)
        self._run.events.emit(KernelBuilt(self.name, name, built.compiler, built.cached, elapsed))


def owner_of(run: str) -> str:
    """Return the description of the lock holder that other users see: the run, the account and this machine."""
    with suppress(OSError, KeyError):  # the account has no name
        return f"run {run} of {getpass.getuser()} on {platform.node()}"
    return f"run {run} of account {os.getuid()} on {platform.node()}"
