"""The block devices of a host, and whether each could be written by a job: asked of the kernel guard."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from asct.diagnostics.model import Diagnostic
from asct.doctor.model import Consented, Disk, Objection
from asct.engine.inspection import Said, inspected, read
from asct.engine.refusals import CHECKS, UNREADABLE, plain
from asct.engine.stepping import process_of, texts
from asct.errors import NotMeasured
from asct.hosts.base import Host, Task
from asct.plan.model import Destroys
from asct.sdk.guard import KERNEL, Check, Target, inspection
from asct.sdk.step import Kernel, Step

_LIMIT_S: Final = 300.0
"""A drive that does not answer holds up every look at it."""
_NAMES: Final = 'for p in /dev/disk/by-id/*; do [ ! -b "$p" ] || printf "%s %s\\n" "$(readlink -f "$p")" "$p"; done'

_OPAQUE: Final = ("wwn-", "nvme-eui.", "nvme-nvme.", "nvme-uuid.", "scsi-3")
"""Beginnings of by-id names that say no model."""


def scan(host: Host, guard: str, folder: Path) -> tuple[Disk, ...]:
    """Every block device of an open host; `guard` is the kernel there, what it writes goes into `folder`.

    Raises NotMeasured when the look failed, HostError.
    """
    status, out, error = _run(host, guard, Step("scan", Kernel(KERNEL), ("--scan", "1")), folder)
    try:
        said = read(out)
    except ValueError as problem:
        raise NotMeasured(_failed(host, str(problem))) from problem
    if status != 0 or not said.ended:
        raise NotMeasured(_failed(host, f"it ended with status {status}: {said.error or error.strip()}"))
    names = names_of(host.answer(["sh", "-c", _NAMES]).stdout)
    return disks_of(said, names)


def consents(host: Host, guard: str, folder: Path, items: Iterable[Destroys]) -> tuple[Consented, ...]:
    """What the host says to each device that the plan gives up. Raises HostError."""
    found = []
    for item in items:
        target = Target(item.device, "write", item.serial or "", item.overwrite)
        status, out, error = _run(host, guard, inspection([target]), folder)
        outcome = inspected(host.name, [target], status, out, error)
        found.append(Consented(item.device, target.serial, outcome.refusals))
    return tuple(found)


def _run(host: Host, guard: str, step: Step, folder: Path) -> tuple[int | None, str, str]:
    process = process_of(step, guard, f"{host.work}/{KERNEL}")
    done = host.run(Task(process, folder, step.files, timeout_s=_LIMIT_S))
    found = texts(folder, done.fetched)
    return done.status, found.get("stdout", ""), found.get("stderr", "")


def _failed(host: Host, why: str) -> Diagnostic:
    message = f"host {host.name}: its devices could not be looked at: {plain(why)}"
    return Diagnostic("E445", message, hint="see whether the account may read /sys and /dev on the host")


def names_of(text: str) -> dict[str, list[str]]:
    """Names of each device from lines of a device and one of its names; first those that say model and serial."""
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        device, _, name = line.partition(" ")
        if name:
            found.setdefault(device, []).append(name)
    return {device: sorted(names, key=_telling) for device, names in found.items()}


def _telling(name: str) -> tuple[bool, int, str]:
    return name.rsplit("/", 1)[-1].startswith(_OPAQUE), len(name), name


def disks_of(said: Said, names: Mapping[str, Sequence[str]]) -> tuple[Disk, ...]:
    """The devices in the order of guard, each with every check that it does not pass."""
    objections: dict[str, list[Objection]] = {}
    for check in said.checks:
        if check.ok is not True:
            objections.setdefault(check.path, []).append(_objection(check))
    return tuple(_disk(device, names, objections) for device in said.devices)


def _objection(check: Check) -> Objection:
    named = CHECKS.get(check.name, UNREADABLE) if check.ok is False else UNREADABLE
    return Objection(check.name, check.ok, plain(check.detail), named.hint)


def _disk(
    device: Mapping[str, Any], names: Mapping[str, Sequence[str]], objections: Mapping[str, Sequence[Objection]]
) -> Disk:
    path, size = str(device.get("path", "")), device.get("bytes")
    return Disk(
        device=path,
        names=tuple(names.get(path, ())),
        bytes=size if isinstance(size, int) else None,
        model=_text(device, "model"),
        serial=_text(device, "serial"),
        objections=tuple(objections.get(path, ())),
    )


def _text(device: Mapping[str, Any], key: str) -> str:
    value = device.get(key)
    return plain(value) if isinstance(value, str) else ""
