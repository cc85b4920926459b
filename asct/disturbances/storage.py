"""Drives and file systems: mounts, dirty pages, slow settings and links, health."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Final

from asct.disturbances.build import Evaluation, Evaluations, RuleInput, finding
from asct.sdk.disturbance import Setting
from asct.sdk.facts import BlockDevice, Mount, NvmeHealth
from asct.values.quantity import format_quantity


def below(seen: RuleInput) -> list[BlockDevice]:
    """The disks below the measured paths, through partitions and mappings; without paths, all disks."""
    devices = {one.name: one for one in seen.facts.block_devices}
    mapped = {one.mapper_name: one.name for one in seen.facts.block_devices if one.mapper_name}
    if seen.wanted is None:
        return [one for one in devices.values() if one.kind == "disk"]
    found: dict[str, BlockDevice] = {}
    for name in opened(seen):
        for one in _down(mapped.get(name, name), devices, set()):
            found[one.name] = one
    return list(found.values())


def opened(seen: RuleInput) -> Iterator[str]:
    """The kernel's names of the devices that are opened, or that carry the file systems of what is opened."""
    wanted = seen.wanted
    for path in wanted.paths if wanted else ():
        name = wanted.devices.get(path) if wanted else None
        mount = None if name else mount_of(path, seen.facts.mounts)
        if name or (mount and mount.source.startswith("/dev/")):
            yield name or PurePosixPath(mount.source if mount else path).name


def mount_of(path: str, mounts: Sequence[Mount]) -> Mount | None:
    """The file system of a path; of several at one mount point the last one mounted."""
    holding = [one for one in mounts if PurePosixPath(path).is_relative_to(one.target)]
    return max(holding, key=lambda one: len(PurePosixPath(one.target).parts), default=None) if holding else None


def _down(name: str, devices: Mapping[str, BlockDevice], seen: set[str]) -> Iterator[BlockDevice]:
    """The disks below a device: its own, or those that it holds (md, dm, LVM)."""
    device = devices.get(name)
    if device is None or name in seen:
        return
    seen.add(name)
    held = [one.name for one in devices.values() if name in one.holders]
    lower = [device.parent] if device.parent else held
    if not lower and device.kind == "disk":
        yield device
    for one in lower:
        yield from _down(one, devices, seen)


_DIRTY: Final = 64 << 20
"""A disk of 100 MB/s writes longer at it than half a second."""
_IN_MEMORY: Final = ("tmpfs", "ramfs")
_LIGHT: Final = ("none", "mq-deadline", "kyber", "noop", "deadline")
_STORAGE: Final = ["storage"]
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_!.-]*", re.ASCII)
"""Of a block device: a path is made of it that root writes to."""


@finding(
    "mounted-target",
    effect="the file system uses the same drive: IOPS and bandwidth are lower, latency is higher; asct does not "
    "write to such a device",
    touches=_STORAGE,
    source="mount(8)",
)
def _mounted(seen: RuleInput) -> Evaluations:
    """Devices to be measured that hold a mounted file system; writing to one is also refused."""
    wanted = seen.wanted
    for path, name in (wanted.devices if wanted else {}).items():
        parts = [one for one in seen.facts.block_devices if name in (one.name, one.parent)]
        places = [place for one in parts for place in one.mounted_at]
        if not places:
            continue
        yield Evaluation(
            title=f"{path} mounted",
            seen=f"{path} ({name}) carries {', '.join(places)}",
            sure="likely",
            why="only if the file system is used during the measurement",
            advice="use another drive: this one contains the operating system"
            if "/" in places
            else f"{shlex.join(['umount', *places])}, if it is not in use, and mount it again afterwards",
        )


@finding(
    "memory-file-system",
    effect="its files are in memory: storage benchmarks measure memory and the kernel, not a drive",
    touches=_STORAGE,
    source="tmpfs(5)",
)
def _memory_file_system(seen: RuleInput) -> Evaluations:
    kind = seen.facts.work_filesystem
    if kind is None:
        yield from seen.unseen("the file system of the work folder", "work_filesystem")
    kinds = {"the work folder": kind}
    for path in seen.wanted.paths if seen.wanted else ():
        found = None if seen.wanted and path in seen.wanted.devices else mount_of(path, seen.facts.mounts)
        if found is not None:
            kinds[path] = found.type
    held = [f"{place} ({kind})" for place, kind in kinds.items() if kind in _IN_MEMORY]
    if not held:
        return
    yield Evaluation(
        title="temporary files in memory",
        seen=f"in memory: {', '.join(held)}",
        sure="certain",
        why="this type of file system has no drive",
        advice="set `workdir` of the host to a folder on the intended drive, or set `file_names` to files on it",
    )


@finding(
    "dirty-pages",
    effect="the kernel writes these pages to the drives during the measurement: IOPS and bandwidth are lower, "
    "latency is higher",
    touches=_STORAGE,
    source="Linux, Documentation/admin-guide/sysctl/vm.rst (dirty_expire_centisecs)",
)
def _dirty(seen: RuleInput) -> Evaluations:
    waiting = seen.known(seen.facts.memory.dirty_bytes, "pages to be written back", "memory.dirty_bytes")
    if waiting < _DIRTY:
        return
    yield Evaluation(
        title=f"{format_quantity(waiting, 'B')} of dirty pages",
        seen=f"{format_quantity(waiting, 'B')} of the page cache are not yet written to the drives",
        sure="likely",
        why="they are written within about thirty seconds, possibly to another drive",
        fix=["sync"],
        advice="nothing to undo",
        scripted=True,
    )


@finding(
    "io-uring",
    effect="with `engine: auto`, fio uses libaio, which needs more CPU time per request: IOPS of fast drives are "
    "lower and not comparable with hosts that permit io_uring; `engine: io_uring` fails",
    touches=["storage.iops", "storage.latency", "storage.cpu"],
    source="Linux, Documentation/admin-guide/sysctl/kernel.rst (io_uring_disabled)",
)
def _io_uring(seen: RuleInput) -> Evaluations:
    facts = seen.facts
    if seen.known(facts.io_uring, "io_uring", "io_uring"):
        return
    limit = facts.io_uring_disabled
    setting = Setting(path="/proc/sys/kernel/io_uring_disabled", value="0", was=str(limit))
    yield Evaluation(
        title="io_uring not permitted",
        seen=f"kernel.io_uring_disabled is {limit}" if limit else "the account cannot create an io_uring",
        sure="possible",
        why="this limits only fast drives; it may have been disabled for security",
        advice=""
        if limit
        else "a system call filter (container, seccomp) denies it, or the kernel does not support it",
        settings=[setting] if limit else [],
    )


@finding(
    "io-scheduler",
    effect="the scheduler processes the requests of each drive one at a time (bfq: about 2 µs on a CPU of 2011, "
    "at most 500,000 IOPS): IOPS are lower, latency is higher",
    touches=["storage.iops", "storage.latency", "storage.cpu"],
    source="Linux, Documentation/block/bfq-iosched.rst (1.9 µs, i7-2760QM), switching-sched.rst",
)
def _scheduler(seen: RuleInput) -> Evaluations:
    slow = [one for one in below(seen) if one.scheduler and one.scheduler not in _LIGHT and one.rotational is False]
    if not slow:
        return
    settings = [
        Setting(path=f"/sys/block/{one.name}/queue/scheduler", value="none", was=one.scheduler or "")
        for one in slow
        if _NAME.fullmatch(one.name)
    ]
    yield Evaluation(
        title=f"scheduler {', '.join(sorted({one.scheduler or '' for one in slow}))}",
        seen=", ".join(f"{one.name}: {one.scheduler}" for one in slow),
        sure="likely",
        why="it does not limit slow drives",
        settings=settings,
    )


@finding(
    "pcie-link",
    effect="the PCIe link limits the bandwidth of the drive: sequential reads and writes are slower",
    touches=["storage.bandwidth", "storage.iops"],
    source="Linux, Documentation/ABI/testing/sysfs-bus-pci (current_link_speed, max_link_speed)",
)
def _links(seen: RuleInput) -> Evaluations:
    slow = [one for one in below(seen) if one.link and one.link_max and one.link != one.link_max]
    if not slow:
        return
    yield Evaluation(
        title=f"slow link of {', '.join(one.name for one in slow)}",
        seen="; ".join(f"{one.name}: {one.link}, it could {one.link_max}" for one in slow),
        sure="likely",
        why="a link may also be slow to save power while the drive is idle",
        advice="check the lanes and generation of the slot, and that the drive is seated properly",
    )


@finding(
    "drive-health",
    effect="a drive that is worn out, too hot or out of spare blocks is slower or rejects writes: IOPS and "
    "bandwidth are lower, latency has outliers",
    touches=_STORAGE,
    source="NVM Express Base Specification, SMART / Health Information log (02h)",
)
def _health(seen: RuleInput) -> Evaluations:
    ill = [
        f"{one.name}: {', '.join(words)}" for one in below(seen) if one.nvme and (words := list(_complaints(one.nvme)))
    ]
    if not ill:
        return
    yield Evaluation(
        title="unhealthy drives",
        seen="; ".join(ill),
        sure="likely",
        why="the drive reports this itself",
        advice="cool or replace the drive before you compare its results",
    )


_WARNINGS: Final = (
    "spare below its threshold", "temperature above its threshold", "reliability degraded", "read only",
    "backup of its memory failed", "persistent memory read only",
)  # fmt: skip
"""The bits of the field Critical Warning, the lowest first."""


def _complaints(health: NvmeHealth) -> Iterator[str]:
    for bit, text in enumerate(_WARNINGS):
        if (health.critical_warning or 0) >> bit & 1:
            yield text
    if (health.percentage_used or 0) >= 100:
        yield f"{health.percentage_used} % of rated life used"
