"""Consent to overwrite devices: literal, complete, and asked for whenever a job would write to one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from asct.diagnostics.suggest import did_you_mean
from asct.plan.model import Destroys, Plan
from asct.planner.estimate import cost
from asct.planner.findings import Findings
from asct.planner.model import Job
from asct.sdk.benchmark import Catalog

_BY_ID = re.compile(r"/dev/disk/by-id/[A-Za-z0-9._:+@=-]+")
_LOOP = re.compile(r"/dev/loop[0-9]+")


def check_consent(plan: Plan, findings: Findings) -> None:
    """Every entry of `safety.destroys` names one host, one device that keeps its name, and a serial, literally."""
    seen: set[tuple[str, str]] = set()
    for item in plan.safety.destroys:
        _check_item(item, plan, findings)
        if (item.host, item.device) in seen:
            findings.error("E250", f"`{item.device}` on {item.host} is named twice", item.span, "keep one of them")
        seen.add((item.host, item.device))


def _check_item(item: Destroys, plan: Plan, findings: Findings) -> None:
    texts = {"host": item.host, "device": item.device, "serial": item.serial or "", "reason": item.reason}
    for key, text in texts.items():
        if "${" in text:
            hint = "write out the value: consent never comes from a template"
            findings.error("E250", f"`{key}` of a device to destroy is a template", item.span, hint)
            return
    if item.host not in plan.hosts:
        hint = did_you_mean(item.host, plan.hosts)
        findings.error("E250", f"unknown host `{item.host}`; groups and patterns cannot consent", item.span, hint)
    if _LOOP.fullmatch(item.device):
        if not item.serial:
            hint = "give the path of its backing file as `serial`"
            findings.error("E250", f"loop device `{item.device}` has no identity", item.span, hint)
        return
    if not _BY_ID.fullmatch(item.device) or ".." in item.device:
        hint = "name it by /dev/disk/by-id/...; other names move between boots"
        findings.error("E250", f"`{item.device}` does not name one device for good", item.span, hint)
    elif not item.serial:
        hint = "add `serial:` as `lsblk -o NAME,SERIAL` prints it on the host"
        findings.error("E250", f"`{item.device}` on {item.host} is named without its serial", item.span, hint)


def check_writes(plan: Plan, jobs: Sequence[Job], catalog: Catalog, findings: Findings) -> None:
    """A job that writes to a device needs consent for that device on that host. Refused here, before any host is
    touched; the host is asked again right before the job."""
    consent = {(item.host, item.device) for item in plan.safety.destroys}
    for job in jobs:
        benchmark = catalog.get(job.benchmark)
        if benchmark is None or not _names_device(job):
            continue
        for target, amount in cost(job, benchmark).writes.items():
            if amount and target.startswith("/dev/") and (job.host, target) not in consent:
                entry = next((entry for entry in plan.benchmarks if entry.id == job.id), None)
                findings.error(
                    "E251",
                    f"`{job.id}` would overwrite {target} on {job.host}, and the plan does not consent to that",
                    entry.span if entry else None,
                    "name host, device and serial under `safety.destroys`, or measure a file",
                )


def _names_device(job: Job) -> bool:
    """A cheap look before points are costed one by one."""
    texts = [name for name, value in job.points[0].settings.items() if isinstance(value, str | list)]
    return any(_device(point.settings[name]) for name in texts for point in job.points)


def _device(value: Any) -> bool:
    if isinstance(value, str):
        return "/dev/" in value
    return isinstance(value, list) and any(_device(item) for item in value)
