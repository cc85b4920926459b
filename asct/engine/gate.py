"""Protect the drives of one host: check the consent entries and the drives before each write, and count the bytes
written.

Every job that writes to a target named in the plan has an audit.json, which contains the inspections, the decisions and
the number of bytes written. A resumed run reads these files, so that the plan's limit applies to the total over all
parts of the run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Literal

from asct.diagnostics.model import Diagnostic
from asct.engine.events import now
from asct.engine.guard import REFUSED_STATUS, VOLUME, GuardReport, inspection_result
from asct.instruments.guard_output import WRITE_BYTES, lines_of
from asct.instruments.nvme import health_of
from asct.plan.model import Safety
from asct.planner.model import Job
from asct.planner.safety import consents_of
from asct.sdk.guard import Consent, Target, targets_in
from asct.sdk.needs import JobNeeds
from asct.sdk.step import Output, Step
from asct.store.documents import load
from asct.store.model import Audit, AuditLook, AuditRefusal, AuditTarget
from asct.store.writer import RunWriter
from asct.values.quantity import format_quantity

Occasion = Literal["preflight", "start", "step"]


class DriveGuard:
    """The consent entries for one host, and the number of bytes that all jobs in a run have written on the host."""

    def __init__(self, writer: RunWriter, safety: Safety, host: str) -> None:
        self.writer = writer
        self.limit = safety.max_written_bytes
        self.consents: Mapping[str, Consent] = consents_of(safety, host)
        self.spent: Counter[str] = Counter()
        self._audits: dict[str, Audit] = {}
        for path in sorted(writer.layout.job(host, "any").parent.glob("*/audit.json")):
            audit = load(Audit, "audit", path)
            self._audits[audit.id] = audit
            self.spent.update({target.path: target.written_bytes for target in audit.targets})

    @property
    def begun(self) -> frozenset[str]:
        """The paths to which a program of this run may already have written."""
        return frozenset(target.path for audit in self._audits.values() for target in audit.targets if target.begun)

    def job(self, job: Job) -> JobGuard:
        """Return the guard for one job. The guard continues the audit from an earlier part of the run, if
        there is one."""
        if job.id not in self._audits:
            self._audits[job.id] = Audit(
                run=self.writer.run.run,
                host=job.host,
                id=job.id,
                benchmark=job.benchmark,
                max_written_bytes=self.limit,
                consents=list(self.consents.values()),
            )
        return JobGuard(self, job, self._audits[job.id])


class JobGuard:
    """The targets and the audit of one job."""

    def __init__(self, gate: DriveGuard, job: Job, audit: Audit) -> None:
        self._gate = gate
        self._job = job
        self._audit = audit
        self._targets = {target.path: target for target in audit.targets}
        self._first: list[str] = []

    def targets(self, paths: Iterable[str]) -> list[Target]:
        """Return the devices in `paths` as targets for the `guard` kernel. Each device must have a consent entry."""
        consents, begun = self._gate.consents, self._gate.begun
        return [Target(path, "write", consents[path].serial, consents[path].overwrite, path in begun) for path in paths]

    def expect(self, demand: JobNeeds) -> None:
        """Record the estimated number of bytes that the job will write to each target."""
        for path in demand.written_paths:
            target = self._target(path)
            target.planned_bytes = max(target.planned_bytes, demand.writes.get(path, 0))

    # ---- inspections ----

    def note(self, occasion: Occasion, found: GuardReport, raw: str = "") -> None:
        """Add an inspection to the audit, whatever its result. `raw` is the folder that contains its output."""
        for device in found.devices:
            target, size = self._targets.get(device.path), device.scalar("bytes")
            if target is not None and isinstance(size, int):
                health = health_of(device)
                target.capacity_bytes = size
                target.percentage_used = health.percentage_used if health is not None else target.percentage_used
        self._audit.looks.append(
            AuditLook(
                at=now(),
                occasion=occasion,
                decision="refused" if found.refusals else "allowed",
                refusals=[AuditRefusal(code=item.code, message=item.message) for item in found.refusals],
                devices=[dict(device.fields) for device in found.devices],
                checks=found.checks,
                raw=raw,
            )
        )
        self._save()

    def inspection_folder(self, occasion: Occasion) -> Path:
        """Create and return an empty folder for the output of the next inspection."""
        writer = self._gate.writer
        number = len(self._audit.looks) + 1
        return writer.repeat_folder(writer.layout.look(self._job.host, self._job.id, number, occasion))

    def _save(self, *, sync: bool = True) -> None:
        self._audit.targets = list(self._targets.values())
        writer = self._gate.writer
        writer.document(writer.layout.audit(self._job.host, self._job.id), self._audit, sync=sync)

    # ---- bytes written ----

    def limited(self, step: Step) -> Step:
        """Return the step with a limit on the bytes that it writes: the number of bytes that the plan still allows.

        guard applies the limit to all targets of a program together, so that no single target can exceed it.
        """
        limit, paths = self._gate.limit, self._written_paths(step)
        if limit is None or not paths:
            return step
        remaining = min(limit - self._gate.spent[path] for path in paths)
        at = step.arguments.index("--") if "--" in step.arguments else len(step.arguments)
        own = ("--max-write-bytes", str(max(1, remaining)))
        return replace(step, arguments=(*step.arguments[:at], *own, *step.arguments[at:]))

    def begin(self, step: Step) -> Diagnostic | None:
        """Record that the program of a step is about to write, in case the run ends before the step does.

        Returns a refusal if the plan's limit has already been reached, otherwise None.
        """
        paths = self._written_paths(step)
        for path in paths:
            if self._gate.limit is not None and self._gate.spent[path] >= self._gate.limit:
                return self._exhausted(path)
        runs = "--" in step.arguments
        self._first = [path for path in paths if runs and path and not self._target(path).begun]
        for path in self._first:
            self._target(path).begun = True
        if self._first:
            self._save()
        return None

    def settle(self, output: Output, raw: str) -> Diagnostic | None:
        """Count the bytes that a step wrote, or record why guard refused to start it.

        Returns a refusal if the step was stopped because it reached the plan's limit, otherwise None.
        """
        paths = self._written_paths(output.step)
        if not paths:
            return None
        for path, number in _written_bytes(output).items():
            self._gate.spent[self._key(path)] += number
            self._target(self._key(path)).written_bytes += number
        for target in self._targets.values():
            if target.capacity_bytes:
                target.drive_writes = round(target.written_bytes / target.capacity_bytes, 6)
        if output.status == REFUSED_STATUS:
            for path in self._first:  # no program was started, so data found there later was not written by this run
                self._target(path).begun = False
            targets = [Target(path, "write") for path in paths if path]
            self.note(
                "step", inspection_result(self._job.host, targets, output.status, output.stdout, output.stderr), raw
            )
        elif self._gate.limit is not None or any(paths):
            self._save(sync=False)
        stopped = next(lines_of(output.stdout, "exit", backward=True), {}).get("stopped") == "volume"
        return self._exhausted(max(paths, key=lambda path: self._gate.spent[path])) if stopped else None

    def _key(self, path: str) -> str:
        """Return the path if it is a target that the plan names, or "" for a temporary file, because its name differs
        between the parts of a run."""
        return path if path in self._targets else ""

    def _written_paths(self, step: Step) -> list[str]:
        return list(dict.fromkeys(self._key(target.path) for target in targets_in(step) if target.access == "write"))

    def _target(self, path: str) -> AuditTarget:
        return self._targets.setdefault(path, AuditTarget(path=path, planned_bytes=0))

    def _exhausted(self, path: str) -> Diagnostic:
        spent, most = (format_quantity(number, "B") for number in (self._gate.spent[path], self._gate.limit or 0))
        message = (
            f"host {self._job.host}: {spent} were written to {path or 'the temporary file'} in this run; "
            f"`safety.max_written` permits {most} for all targets of a program together"
        )
        return Diagnostic(VOLUME.code, message, hint=VOLUME.hint)


def _written_bytes(output: Output) -> dict[str, int]:
    """Return the bytes written to each target between the first and the last sample of a step."""
    begin, end = (next(lines_of(output.stdout, "sample", backward=last), {}).get("devices") for last in (False, True))
    by_path: dict[str, int] = {}
    if not isinstance(begin, list) or not isinstance(end, list):
        return by_path
    for target, before, after in zip(targets_in(output.step), begin, end, strict=False):
        if target.access == "write" and isinstance(before, list) and isinstance(after, list):
            by_path[target.path] = max(0, after[WRITE_BYTES] - before[WRITE_BYTES])
    return by_path
