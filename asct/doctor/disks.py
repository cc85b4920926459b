"""List the block devices on a host. For each device, the `guard` kernel checks whether a job could write to it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from asct.diagnostics.model import Diagnostic
from asct.doctor.model import ConsentedDevice, Disk, FailedCheck
from asct.engine.guard import CHECKS, UNREADABLE, GuardReport, inspection_result, one_line, parse_report
from asct.engine.programs import process_of, texts
from asct.errors import NotMeasured
from asct.hosts.base import Host, Task
from asct.instruments.guard_output import GuardTarget, TargetCheck
from asct.plan.model import Destroys
from asct.sdk.guard import Target, inspection
from asct.sdk.needs import GUARD
from asct.sdk.step import Kernel, Step
from asct.values.grouping import grouped
from asct.values.text import natural_order

_LIMIT_S: Final = 300.0
"""Time limit for an inspection, in seconds. One unresponsive drive delays the whole inspection."""
_OPAQUE: Final = ("wwn-", "nvme-eui.", "nvme-nvme.", "nvme-uuid.", "scsi-3")
"""Prefixes of by-id names that do not contain the model."""


def scan(host: Host, guard: str, folder: Path) -> tuple[Disk, ...]:
    """Return all block devices on an open host.

    `guard` is the path of the kernel on the host; its output is written to `folder`. Raises HostError, or NotMeasured
    if the inspection failed.
    """
    status, out, error = _run(host, guard, Step("scan", Kernel(GUARD), ("--scan", "1")), folder)
    try:
        report = parse_report(out)
    except ValueError as problem:
        raise NotMeasured(_failed(host, str(problem))) from problem
    if status != 0 or not report.ended:
        raise NotMeasured(_failed(host, f"exit status {status}: {report.error or error.strip()}"))
    return disks_of(report)


def consents(host: Host, guard: str, folder: Path, items: Iterable[Destroys]) -> tuple[ConsentedDevice, ...]:
    """Inspect each device that the plan allows asct to overwrite, and return the results. Raises HostError."""
    found = []
    for item in items:
        target = Target(item.device, "write", item.serial or "", item.overwrite)
        status, out, error = _run(host, guard, inspection([target]), folder)
        outcome = inspection_result(host.name, [target], status, out, error)
        found.append(ConsentedDevice(item.device, target.serial, tuple(outcome.refusals)))
    return tuple(found)


def _run(host: Host, guard: str, step: Step, folder: Path) -> tuple[int | None, str, str]:
    process = process_of(step, guard, f"{host.work}/{GUARD}")
    result = host.run(Task(process, folder, step.files, timeout_s=_LIMIT_S))
    found = texts(folder, result.fetched)
    return result.status, found.get("stdout", ""), found.get("stderr", "")


def _failed(host: Host, why: str) -> Diagnostic:
    message = f"host {host.name}: cannot inspect its devices: {one_line(why)}"
    return Diagnostic("E445", message, hint="make sure that the account can read /sys and /dev on the host")


def _telling(name: str) -> tuple[bool, int, str]:
    return name.rsplit("/", 1)[-1].startswith(_OPAQUE), len(name), name


def disks_of(report: GuardReport) -> tuple[Disk, ...]:
    """Return the devices, ordered by name, each with the checks that it failed."""
    failed = grouped((check for check in report.checks if check.ok is not True), lambda check: check.path)
    devices = sorted(report.devices, key=lambda device: natural_order(device.path))
    return tuple(_disk(device, failed.get(device.path, ())) for device in devices)


def _objection(check: TargetCheck) -> FailedCheck:
    description = CHECKS.get(check.name, UNREADABLE) if check.ok is False else UNREADABLE
    return FailedCheck(check.name, check.ok, one_line(check.detail), description.hint)


def _disk(device: GuardTarget, failed: Sequence[TargetCheck]) -> Disk:
    links = device.fields.get("links")
    return Disk(
        device=device.path,
        names=tuple(sorted(map(str, links), key=_telling)) if isinstance(links, list) else (),
        bytes=_bytes(device),
        model=_text(device, "model"),
        serial=_text(device, "serial"),
        objections=tuple(map(_objection, failed)),
    )


def _bytes(device: GuardTarget) -> int | None:
    """Return the size in bytes, as reported by the open device or, failing that, by the Linux kernel (in 512-byte
    sectors)."""
    size, sectors = device.scalar("bytes"), device.scalar("sectors")
    if isinstance(size, int) and size > 0:
        return size
    return sectors * 512 if isinstance(sectors, int) else None


def _text(device: GuardTarget, key: str) -> str:
    value = device.scalar(key)
    return one_line(value) if isinstance(value, str) else ""
