"""Consent to overwrite devices: every job that writes to a device requires a complete consent entry without
templates."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from asct.plan.findings import Findings
from asct.plan.model import Destroys, Plan, Safety
from asct.planner.costs import needs_of
from asct.planner.model import Job
from asct.sdk.benchmark import Catalog
from asct.sdk.needs import is_device_path
from asct.values.error import clip
from asct.values.suggest import did_you_mean

if TYPE_CHECKING:
    from asct.sdk.guard import Consent

_BY_ID = re.compile(r"/dev/disk/by-id/[A-Za-z0-9._:+@=-]+", re.ASCII)
_LOOP = re.compile(r"/dev/loop[0-9]+", re.ASCII)
_ABSENT = "-"
"""The placeholder for a missing serial number in guard's targets file. A plan must therefore not specify this text as a
serial number."""


def consents_of(safety: Safety, host: str) -> dict[str, Consent]:
    """Return a plan's consent entries for a host, keyed by device path."""
    from asct.sdk.guard import Consent

    return {
        item.device: Consent(item.device, item.serial, item.overwrite, item.reason)
        for item in safety.destroys
        if item.host == host and item.serial
    }


def check_consent(plan: Plan, findings: Findings) -> None:
    """Check that every entry in `safety.destroys` has one host, a stable device path, and the device's serial
    number."""
    seen: set[tuple[str, str]] = set()
    for item in plan.safety.destroys:
        for message, hint in _problems(item, plan, findings):
            findings.error("E250", message, item.span, hint)
        if (item.host, item.device) in seen:
            message = f"`{item.device}` on {item.host} is listed twice"
            findings.error("E250", message, item.span, "remove one of them")
        seen.add((item.host, item.device))


_Problem = tuple[str, str]
"""The reason why a consent entry is invalid, and a hint."""


def _problems(item: Destroys, plan: Plan, findings: Findings) -> Iterator[_Problem]:
    """Yield everything that is wrong with an entry. A text that is not a literal value is not judged further."""
    texts = {"host": item.host, "device": item.device, "serial": item.serial or "", "reason": item.reason}
    unreadable = {key: problem for key, text in texts.items() if (problem := _text_problem(key, text))}
    yield from unreadable.values()
    if "host" not in unreadable and item.host not in plan.hosts and not findings.hides("hosts"):
        hint = did_you_mean(item.host, plan.hosts)
        yield (
            f"unknown host `{item.host}`; `destroys` does not accept groups or patterns",
            hint or "use a host name from the plan",
        )
    if "device" not in unreadable:
        yield from _device_problems(item)
        if "serial" not in unreadable:
            yield from _serial_problems(item)


def _text_problem(key: str, text: str) -> _Problem | None:
    if "${" in text:
        return f"`{key}` in `destroys` is a template", "write the value itself: consent cannot use templates"
    if not text.isprintable() or text != text.strip():
        hint = "copy it from the host, without line breaks or surrounding spaces"
        return f"`{key}` in `destroys` contains an invalid character: {clip(text)}", hint
    return None


def _device_problems(item: Destroys) -> Iterator[_Problem]:
    if not _LOOP.fullmatch(item.device) and (not _BY_ID.fullmatch(item.device) or ".." in item.device):
        hint = "use /dev/disk/by-id/... (`asct doctor` lists the paths); other names can change at boot"
        yield f"`{item.device}` does not identify a device permanently", hint


def _serial_problems(item: Destroys) -> Iterator[_Problem]:
    if _LOOP.fullmatch(item.device):
        if not (item.serial or "").startswith("/"):
            message = f"`serial` does not identify the loop device `{item.device}`"
            yield message, "set `serial` to the path of its backing file"
    elif not item.serial or item.serial == _ABSENT:
        hint = "add the `serial` as shown by `asct doctor`, or by `lsblk -o NAME,SERIAL` on the host"
        yield f"`{item.device}` on {item.host} has no `serial`", hint


def check_writes(plan: Plan, jobs: Sequence[Job], catalog: Catalog, findings: Findings, *, whole: bool) -> None:
    """Check that each job that writes to a device has a consent entry for it on that host. The engine repeats the check
    before the job.

    If `whole` is true, `jobs` are all jobs in the plan, and an unused consent entry causes a warning.
    """
    consents = {(item.host, item.device): item for item in plan.safety.destroys}
    used = set()
    for job, device in _writes(jobs, catalog):
        place = (job.host, device)
        used.add(place)
        if place not in consents and not findings.hides("safety", "destroys"):
            _refuse(job, device, plan, findings)
    for place, item in consents.items():
        if whole and place not in used:
            message = f"`safety.destroys` lists {item.device} on {item.host}, but no job writes to it"
            findings.warn("E253", message, item.span, "remove it: no job uses this consent")


def _refuse(job: Job, device: str, plan: Plan, findings: Findings) -> None:
    entry = next((entry for entry in plan.benchmarks if entry.id == job.id), None)
    message = f"`{job.id}` would overwrite {device} on {job.host} without consent"
    hint = "add host, device and serial to `safety.destroys`, or use a file"
    if _LOOP.fullmatch(device):
        hint += "; the serial of a loop device is the path of its backing file"
    if not (_BY_ID.fullmatch(device) or _LOOP.fullmatch(device)):
        hint = "use /dev/disk/by-id/... in `file_names`, and add it with its serial to `safety.destroys`; or use a file"
    elif any(point.settings.get("overwrite") is True for point in job.points):
        hint += "; `overwrite: true` in `config` applies only to regular files"
    elif hosts := [item.host for item in plan.safety.destroys if item.device == device]:
        hint += f"; the existing consent is for {', '.join(dict.fromkeys(hosts))}"
    findings.error("E251", message, entry.span if entry else None, hint)


def _writes(jobs: Sequence[Job], catalog: Catalog) -> Iterator[tuple[Job, str]]:
    """Yield each device that a job purges or opens for writing, even if it writes no bytes to the device (a mix with
    100 % reads)."""
    for job in jobs:
        benchmark = catalog.get(job.benchmark)
        if benchmark is None or not _names_device(job):
            continue
        for path in needs_of(job, benchmark).written_paths:
            if is_device_path(path):
                yield job, path


def _names_device(job: Job) -> bool:
    """Return whether any setting may contain a device path. This quick check avoids computing the costs of all
    points."""
    texts = [name for name, value in job.points[0].settings.items() if isinstance(value, str | list | tuple)]
    return any(_device(point.settings[name]) for name in texts for point in job.points)


def _device(value: Any) -> bool:
    """Return whether a value may contain a path below /dev (including `//dev` and `/./dev`)."""
    if isinstance(value, str):
        return "dev/" in value
    return isinstance(value, list | tuple) and any(_device(item) for item in value)
