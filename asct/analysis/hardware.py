"""Determine whether two runs measured the same hardware; only then can their values be compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import zip_longest
from typing import Any, Final

from asct.analysis.agreement import planned_jobs
from asct.analysis.groups import MetricGroup
from asct.disturbances.storage import lowest, mount_of
from asct.sdk.facts import BlockDevice, HostFacts

_SAME_MEMORY: Final = 0.05
"""Relative difference up to which two memory sizes are treated as equal. The amount that the Linux kernel reserves
varies, but an additional module changes the total by more than this."""


@dataclass(frozen=True)
class RunHardware:
    """What describes the hardware in a run: the facts about its hosts, and plan.resolved.json, which names the targets
    of storage benchmarks."""

    facts: Mapping[str, HostFacts] = field(default_factory=dict)
    resolved: Mapping[str, Any] = field(default_factory=dict)

    def drives(self, place: MetricGroup) -> list[BlockDevice]:
        """Return the drives that a value depends on. The list is empty for benchmarks without a target."""
        facts = self.facts.get(place.host)
        if facts is None:
            return []
        found = {drive.name: drive for path in self._targets(place) for drive in _drives(facts, path)}
        # The order depends on the kind of each drive, because its name can change with every boot.
        return sorted(
            found.values(), key=lambda drive: (drive.model or "", drive.size_bytes or 0, drive.firmware or "")
        )

    def _targets(self, place: MetricGroup) -> Sequence[str]:
        """Return the files and devices that a point measures, or the work folder if it uses a temporary file."""
        job = self._jobs.get((place.host, place.id), {"settings": {}})
        paths = {**job["settings"], **place.at}.get("file_names")
        if not isinstance(paths, list):
            return ()
        return [str(path) for path in paths] or [self._work_folders.get(place.host, "")]

    @cached_property
    def _jobs(self) -> dict[tuple[str, str], Mapping[str, Any]]:
        return planned_jobs(self.resolved)

    @cached_property
    def _work_folders(self) -> dict[str, str]:
        hosts = self.resolved.get("hosts")
        found = [host for host in hosts if isinstance(host, dict)] if isinstance(hosts, list) else []
        return {str(host.get("name")): str(host.get("workdir")) for host in found}


def hardware_change(before: RunHardware, after: RunHardware, place: MetricGroup) -> str:
    """Describe how the hardware behind a value differs between two runs. Return an empty string if it does not."""
    first, second = before.facts.get(place.host), after.facts.get(place.host)
    return host_change(first, second) or drive_change(before.drives(place), after.drives(place))


def host_change(before: HostFacts | None, after: HostFacts | None) -> str:
    """Describe how the hardware of a host differs, apart from its drives. Return an empty string if it does not."""
    if before is None or after is None:
        return "" if before is after else "the facts of the host are missing from one of the runs"
    pairs: Sequence[tuple[str, Any, Any]] = (
        ("machine", before.system.arch, after.system.arch),
        ("CPU", before.cpu.model, after.cpu.model),
        ("number of CPUs", before.cpu.cpus, after.cpu.cpus),
        ("number of sockets", before.cpu.sockets, after.cpu.sockets),
        ("number of NUMA nodes", len(before.nodes) or None, len(after.nodes) or None),
    )
    for what, first, second in pairs:
        if first is not None and second is not None and first != second:
            return f"different hardware: the {what} was {first} and is now {second}"
    first, second = before.memory.total_bytes, after.memory.total_bytes
    if first and second and abs(first - second) > _SAME_MEMORY * max(first, second):
        return f"different hardware: the memory was {first / 2**30:.0f} GiB and is now {second / 2**30:.0f} GiB"
    return ""


def drive_change(before: Sequence[BlockDevice], after: Sequence[BlockDevice]) -> str:
    """Describe how the drives differ in model, capacity or firmware. Return an empty string if they do not differ or
    are unknown.

    The serial number does not matter: two drives of the same model, capacity and firmware are the same hardware.
    """
    for first, second in zip_longest(before if before and after else (), after if before else ()):
        if (
            first is None
            or second is None
            or any(a and b and a != b for a, b in zip(_kind(first), _kind(second), strict=True))
        ):
            return f"different hardware: the drive was {_described(first)} and is now {_described(second)}"
    return ""


def _kind(drive: BlockDevice) -> tuple[str | None, int | None, str | None]:
    return drive.model, drive.size_bytes, drive.firmware


def _described(drive: BlockDevice | None) -> str:
    if drive is None:
        return "missing"
    model, size, firmware = _kind(drive)
    parts = (model or drive.name, f"{size / 1e9:.4g} GB" if size else "", f"firmware {firmware}" if firmware else "")
    return ", ".join(filter(None, parts))


def _drives(facts: HostFacts, path: str) -> Iterator[BlockDevice]:
    """Yield the drives that hold a file or a device. Links such as those in /dev/disk are not followed, because their
    own names identify the drive."""
    mount = mount_of(path, facts.mounts)
    name = (path if path.startswith("/dev/") else mount.source if mount else "").removeprefix("/dev/")
    devices, seen = {one.name: one for one in facts.block_devices}, set[str]()
    for one in facts.block_devices:
        if name in (one.name, f"mapper/{one.mapper_name}"):
            yield from lowest(one.name, devices, seen)
