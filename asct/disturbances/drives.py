"""Which drives lie below the files and devices that are opened, as far as the facts tell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from asct.disturbances.build import Look
from asct.sdk.facts import BlockDevice, Mount


def below(seen: Look) -> list[BlockDevice]:
    """The disks below what is wanted, partitions and mappings followed; every disk when nobody said what is wanted."""
    devices = {one.name: one for one in seen.facts.block_devices}
    mapped = {one.mapper_name: one.name for one in seen.facts.block_devices if one.mapper_name}
    if seen.wanted is None:
        return [one for one in devices.values() if one.kind == "disk"]
    found: dict[str, BlockDevice] = {}
    for name in opened(seen):
        for one in _down(mapped.get(name, name), devices, set()):
            found[one.name] = one
    return list(found.values())


def opened(seen: Look) -> Iterator[str]:
    """The kernel's names of the devices that are opened, or that carry the file systems of what is opened."""
    wanted = seen.wanted
    for path in wanted.paths if wanted else ():
        name = wanted.devices.get(path) if wanted else None
        mount = None if name else mount_of(path, seen.facts.mounts)
        if name or (mount and mount.source.startswith("/dev/")):
            yield name or PurePosixPath(mount.source if mount else path).name


def mount_of(path: str, mounts: Sequence[Mount]) -> Mount | None:
    """The file system that a path lies on; of several at one place the last one mounted covers the others."""
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
