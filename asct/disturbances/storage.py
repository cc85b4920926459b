"""Rules for drives and file systems: mounts, dirty pages, slow settings and links, and drive health."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Final

from asct.disturbances.build import Evaluation, Evaluations, RuleInput, rule
from asct.sdk.disturbance import Setting
from asct.sdk.facts import BlockDevice, Mount, NvmeHealth
from asct.values.quantity import format_quantity


def below(host: RuleInput) -> list[BlockDevice]:
    """Return the disks that underlie the measured paths, resolving partitions and mappings. If the scope is unknown,
    return all disks."""
    devices = {one.name: one for one in host.facts.block_devices}
    mapped = {one.mapper_name: one.name for one in host.facts.block_devices if one.mapper_name}
    if host.scope is None:
        return [one for one in devices.values() if one.kind == "disk"]
    found: dict[str, BlockDevice] = {}
    for path in host.scope.paths:
        mount = mount_of(path, host.facts.mounts)
        holding = PurePosixPath(mount.source).name if mount and mount.source.startswith("/dev/") else ""
        name = host.scope.devices.get(path) or holding
        found |= {one.name: one for one in lowest(mapped.get(name, name), devices, set()) if one.kind == "disk"}
    return list(found.values())


def mount_of(path: str, mounts: Sequence[Mount]) -> Mount | None:
    """Return the mount that contains a path, or None if there is none."""
    holding = (one for one in mounts if PurePosixPath(path).is_relative_to(one.target))
    return max(holding, key=lambda one: len(PurePosixPath(one.target).parts), default=None)


def lowest(name: str, devices: Mapping[str, BlockDevice], visited: set[str]) -> Iterator[BlockDevice]:
    """Yield the drives that underlie a device, following parent disks and members (md, dm, LVM). Devices in `visited`
    are skipped, and each visited device is added to it."""
    device = devices.get(name)
    if device is None or name in visited:
        return
    visited.add(name)
    members = [one.name for one in devices.values() if name in one.holders]
    lower = [device.parent] if device.parent else members
    if not lower:
        yield device
    for one in lower:
        yield from lowest(one, devices, visited)


_DIRTY: Final = 64 << 20
"""Threshold for dirty pages, in bytes. A disk that writes 100 MB/s needs more than half a second to write this
amount."""
_IN_MEMORY: Final = ("tmpfs", "ramfs")
_LIGHT: Final = ("none", "mq-deadline", "kyber", "noop", "deadline")
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_!.-]*", re.ASCII)
"""A valid block device name. Names are checked because they become part of paths that root writes to."""


@rule("mounted-target")
def _mounted(host: RuleInput) -> Evaluations:
    """Report measured devices with a mounted file system; asct also refuses to write to them."""
    for path, name in (host.scope.devices if host.scope else {}).items():
        parts = [one for one in host.facts.block_devices if name in (one.name, one.parent)]
        places = [place for one in parts for place in one.mounted_at]
        if not places:
            continue
        values = {"path": path, "name": name, "places": ", ".join(places), "umount": shlex.join(["umount", *places])}
        yield Evaluation(values, case="root" if "/" in places else "")


@rule("memory-file-system")
def _memory_file_system(host: RuleInput) -> Evaluations:
    kind = host.facts.work_filesystem
    if kind is None:
        yield from host.unseen("the file system of the work folder", "work_filesystem")
    kinds = {"the work folder": kind}
    for path in host.scope.paths if host.scope else ():
        found = None if host.scope and path in host.scope.devices else mount_of(path, host.facts.mounts)
        if found is not None:
            kinds[path] = found.type
    in_memory = [f"{place} ({kind})" for place, kind in kinds.items() if kind in _IN_MEMORY]
    if not in_memory:
        return
    yield Evaluation({"in_memory": ", ".join(in_memory)})


@rule("dirty-pages")
def _dirty(host: RuleInput) -> Evaluations:
    waiting = host.known(host.facts.memory.dirty_bytes, "dirty pages", "memory.dirty_bytes")
    if waiting < _DIRTY:
        return
    yield Evaluation({"waiting": format_quantity(waiting, "B")})


@rule("io-uring")
def _io_uring(host: RuleInput) -> Evaluations:
    facts = host.facts
    if host.known(facts.io_uring, "io_uring", "io_uring"):
        return
    limit = facts.io_uring_disabled
    setting = Setting(path="/proc/sys/kernel/io_uring_disabled", value="0", was=str(limit))
    yield Evaluation({"limit": limit}, [setting] if limit else [], "" if limit else "denied")


@rule("io-scheduler")
def _scheduler(host: RuleInput) -> Evaluations:
    slow = [one for one in below(host) if one.scheduler and one.scheduler not in _LIGHT and one.rotational is False]
    if not slow:
        return
    settings = [
        Setting(path=f"/sys/block/{one.name}/queue/scheduler", value="none", was=one.scheduler or "")
        for one in slow
        if _NAME.fullmatch(one.name)
    ]
    values = {
        "names": ", ".join(sorted({one.scheduler or "" for one in slow})),
        "drives": ", ".join(f"{one.name}: {one.scheduler}" for one in slow),
    }
    yield Evaluation(values, settings)


@rule("pcie-link")
def _links(host: RuleInput) -> Evaluations:
    slow = [one for one in below(host) if one.link and one.link_max and one.link != one.link_max]
    if not slow:
        return
    links = "; ".join(f"{one.name}: {one.link}, but it supports {one.link_max}" for one in slow)
    yield Evaluation({"names": ", ".join(one.name for one in slow), "links": links})


@rule("drive-health")
def _health(host: RuleInput) -> Evaluations:
    ill = [
        f"{one.name}: {', '.join(words)}" for one in below(host) if one.nvme and (words := list(_complaints(one.nvme)))
    ]
    if not ill:
        return
    yield Evaluation({"ill": "; ".join(ill)})


_WARNINGS: Final = (
    "spare blocks below the threshold", "temperature above the threshold", "reliability degraded", "read only",
    "memory backup failed", "persistent memory read only",
)  # fmt: skip
"""The meanings of the bits in the Critical Warning field, starting with the lowest bit."""


def _complaints(health: NvmeHealth) -> Iterator[str]:
    for bit, text in enumerate(_WARNINGS):
        if (health.critical_warning or 0) >> bit & 1:
            yield text
    if (health.percentage_used or 0) >= 100:
        yield f"{health.percentage_used} % of its rated life used"
