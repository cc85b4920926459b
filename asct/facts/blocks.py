"""Block devices and their partitions, from /sys/block, the data base of udev, and the drives' own sensors and logs.

Source: Linux Documentation/ABI/stable/sysfs-block; names of NVMe files as in drivers/nvme/host/sysfs.c.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from asct.facts import mounts, nvme
from asct.facts.devices import DeviceLocation, places
from asct.facts.nvme import NvmeController
from asct.facts.snapshot import Snapshot
from asct.facts.sources import BLOCK
from asct.facts.unknown import UnknownFacts, chosen, folders, whole
from asct.sdk.facts import BlockDevice

_SECTOR = 512  # /sys/block/*/size counts these whatever the drive's blocks are
_KINDS = {"loop": "loop", "md": "md", "dm-": "dm", "sr": "rom", "zram": "zram"}
_VIRTUAL = re.compile(r"(ram|nbd|nullb|drbd|bcache|rnbd|ublkb)\d+", re.ASCII)
_UDEV = re.compile(r"/run/udev/data/b(\d+:\d+):E:ID_([A-Z_]+)=(.*)", re.ASCII)
_ESCAPED = re.compile(r"\\x([0-9a-fA-F]{2})")
_BUSES = {"nvme": "nvme", "vd": "virtio", "xvd": "xen", "mmcblk": "mmc", "dasd": "ccw"}
_PATHS = (
    ("usb", re.compile(r"/usb\d+/")),
    ("sata", re.compile(r"/ata\d+/")),
    ("iscsi", re.compile(r"/session\d+/")),
    ("fc", re.compile(r"/rport-")),
    ("sas", re.compile(r"/(end_device|expander)-")),
    ("virtio", re.compile(r"/virtio\d+/")),
    ("mmc", re.compile(r"/mmc_host/")),
)
"""Bus by a part of the real path, nearest to the drive first."""
_OF_SCSI = ("sd", "sr", "")
_WANTED = ("transport", "model", "serial", "firmware")


@dataclass(frozen=True, slots=True)
class _BlockContext:
    """What is known of all devices together."""

    found: Snapshot
    places: Mapping[str, DeviceLocation]
    controllers: Mapping[str, NvmeController]
    udev: Mapping[str, Mapping[str, str]]
    targets: Mapping[str, list[str]]
    holders: Mapping[str, list[str]]

    @property
    def reason(self) -> str:
        """Why data from udev is unknown."""
        whole = "block_devices.udev" not in self.found.left
        return "neither the kernel nor udev reports it" if whole else "only part of the udev database was read"


def block_devices(found: Snapshot, gaps: UnknownFacts) -> list[BlockDevice]:
    """Whole devices and partitions, each disk before its partitions. Left out are loop and network devices that nothing
    is bound to, and the hidden paths below an NVMe drive."""
    texts = folders(found, BLOCK)
    if not texts:
        gaps.note("block_devices", f"{BLOCK} is empty")
    where = places(found)
    around = _BlockContext(
        found=found,
        places=where,
        controllers={one.name: one for one in nvme.controllers(found, where)},
        udev=_udev(found),
        targets=_targets(found),
        holders=_holders(texts),
    )
    made: list[BlockDevice] = []
    for name, files in texts.items():
        bound = whole(files.get("size")) or _kind(name, files, where.get(f"{BLOCK}/{name}")) not in ("loop", "virtual")
        if bound and "size" in files and files.get("hidden", "0") == "0":
            made += [_disk(name, files, around, gaps), *_partitions(name, files, around)]
    return made


def _disk(name: str, files: Mapping[str, str], around: _BlockContext, gaps: UnknownFacts) -> BlockDevice:
    place = around.places.get(f"{BLOCK}/{name}")
    kind = _kind(name, files, place)
    udev = around.udev.get(files.get("dev", ""), {})
    owners = _controllers(files, place, around)
    main = owners[0].place if len(owners) == 1 else place if not owners else None
    transport = _transport(name, place, udev, owners)
    values = {**_identity(files, udev), **_queue(files), **_health(name, owners, gaps)}
    made = BlockDevice(
        name=name,
        kind=kind,
        size_bytes=_size(files.get("size")),
        transport=transport,
        removable=_flag(files.get("removable")),
        read_only=_flag(files.get("ro")),
        hardware_queues=place.queues if place else None,
        node=main.node if main else None,
        pci_address=main.pci_address if main else None,
        link=main.link if main else None,
        link_max=main.link_max if main else None,
        driver=_driver(name, files, main, transport),
        backing_file=files.get("loop/backing_file") or None,
        mapper_name=files.get("dm/name") or None,
        raid_level=files.get("md/level") or None,
        **_use(name, files, around),
        **values,
    )
    for field in _WANTED if kind == "disk" else ():
        if getattr(made, field) is None:
            gaps.note(f"block_devices.{name}.{field}", around.reason)
    return made


def _partitions(disk: str, files: Mapping[str, str], around: _BlockContext) -> list[BlockDevice]:
    """By their number."""
    numbers = {path.partition("/")[0]: whole(text) for path, text in files.items() if path.endswith("/partition")}
    made = []
    for name, _ in sorted(numbers.items(), key=lambda item: (item[1] or 0, item[0])):
        inner = {path[len(name) + 1 :]: text for path, text in files.items() if path.startswith(f"{name}/")}
        made.append(
            BlockDevice(
                name=name,
                kind="partition",
                parent=disk,
                size_bytes=_size(inner.get("size")),
                read_only=_flag(inner.get("ro")),
                **_use(name, inner, around),
            )
        )
    return made


def _kind(name: str, files: Mapping[str, str], place: DeviceLocation | None) -> str:
    known = next((kind for start, kind in _KINDS.items() if re.fullmatch(rf"{start}\d+", name)), None)
    if known:
        return known
    hardware = place is not None or any(path.startswith("device/") for path in files)
    return "virtual" if _VIRTUAL.fullmatch(name) and not hardware else "disk"


def _identity(files: Mapping[str, str], udev: Mapping[str, str]) -> dict[str, str | None]:
    """udev knows the whole names of disks behind SCSI, of which sysfs has 16 characters, and their serial numbers."""
    model = _ESCAPED.sub(lambda match: chr(int(match[1], 16)), udev.get("MODEL_ENC", "")).strip()
    firmware = [files.get(f"device/{name}") for name in ("firmware_rev", "rev", "fwrev")]
    return {
        "model": model or files.get("device/model") or files.get("device/name") or None,
        "serial": files.get("device/serial") or files.get("serial") or udev.get("SERIAL_SHORT") or None,
        "firmware": udev.get("REVISION") or next((text for text in firmware if text), None),
    }


def _queue(files: Mapping[str, str]) -> dict[str, Any]:
    numbers = {name: whole(files.get(f"queue/{name}")) for name in (
        "logical_block_size", "physical_block_size", "optimal_io_size", "nr_requests", "read_ahead_kb",
        "discard_max_bytes",
    )}  # fmt: skip
    scheduler = files.get("queue/scheduler") or ""
    ahead, discard = numbers["read_ahead_kb"], numbers["discard_max_bytes"]
    return {
        "rotational": _flag(files.get("queue/rotational")),
        "logical_bytes": numbers["logical_block_size"],
        "physical_bytes": numbers["physical_block_size"],
        "optimal_io_bytes": numbers["optimal_io_size"] or None,
        "scheduler": chosen(scheduler) or (scheduler if len(scheduler.split()) == 1 else None),
        "queue_requests": numbers["nr_requests"],
        "read_ahead_bytes": None if ahead is None else ahead * 1024,
        "write_cache": files.get("queue/write_cache") or None,
        "discard": None if discard is None else discard > 0,
    }


def _use(name: str, files: Mapping[str, str], around: _BlockContext) -> dict[str, list[str]]:
    """Where it is mounted, by its number and, of file systems that have numbers of their own (btrfs), by its name."""
    keys = (files.get("dev", ""), f"/dev/{name}", f"/dev/mapper/{files.get('dm/name', '')}")
    targets = [target for key in keys for target in around.targets.get(key, [])]
    return {"mounted_at": list(dict.fromkeys(targets)), "holders": around.holders.get(name, [])}


def _targets(found: Snapshot) -> dict[str, list[str]]:
    made: dict[str, list[str]] = {}
    for line in mounts.lines(found):
        for key in (line.device, line.source):
            made.setdefault(key, []).append(line.target)
    return made


def _holders(texts: Mapping[str, Mapping[str, str]]) -> dict[str, list[str]]:
    """The devices built on each device: `slaves` of a device are its components."""
    made: dict[str, list[str]] = {}
    for name, files in texts.items():
        for path in files:
            parts = path.split("/")
            if parts[0] == "slaves" and len(parts) == 3:
                made.setdefault(parts[1], []).append(name)
    return made


def _udev(found: Snapshot) -> dict[str, dict[str, str]]:
    made: dict[str, dict[str, str]] = {}
    for line in (found.command_output("udev") or "").split("\n"):
        if match := _UDEV.fullmatch(line):
            made.setdefault(match[1], {})[match[2]] = match[3].strip()
    return made


def _controllers(files: Mapping[str, str], place: DeviceLocation | None, around: _BlockContext) -> list[NvmeController]:
    """The NVMe controllers of a drive: the one on its real path, or, where the kernel joins several paths to one drive
    (multipath), all of its subsystem."""
    match = re.search(r"/nvme/(nvme\d+)(?:/|$)", place.path) if place else None
    if match and match[1] in around.controllers:
        return [around.controllers[match[1]]]
    name = files.get("device/subsysnqn")
    return [one for one in around.controllers.values() if name and one.texts.get("subsysnqn") == name]


def _transport(
    name: str, place: DeviceLocation | None, udev: Mapping[str, str], owners: list[NvmeController]
) -> str | None:
    over = {one.texts.get("transport", "pcie") for one in owners}
    if len(over) == 1 and over != {"pcie"}:
        return f"nvme-{over.pop()}"
    bus = next((bus for start, bus in _BUSES.items() if re.match(rf"{start}[0-9a-z]", name)), None)
    if bus is None and place is not None:
        bus = next((known for known, pattern in _PATHS if pattern.search(place.path)), None)
    return bus or {"ata": "sata", "usb": "usb"}.get(udev.get("BUS", ""))


def _driver(name: str, files: Mapping[str, str], place: DeviceLocation | None, transport: str | None) -> str | None:
    """The driver of the device, or of the PCI function for SCSI disks (`sd`). Behind USB that would be the USB host's
    driver, which does not describe the drive."""
    match = re.search(r"^DRIVER=(\S+)$", files.get("device/uevent", ""), re.MULTILINE)
    own = match[1] if match else ""
    if own not in _OF_SCSI:
        return own
    return place.driver if place is not None and transport != "usb" else None


def _health(name: str, owners: list[NvmeController], gaps: UnknownFacts) -> dict[str, Any]:
    if len(owners) != 1:
        return {}
    [owner] = owners
    if owner.reason is not None:
        gaps.note(f"block_devices.{name}.nvme", owner.reason)
    return {"nvme": owner.health}


def _size(sectors: str | None) -> int | None:
    number = whole(sectors)
    return None if number is None else number * _SECTOR


def _flag(text: str | None) -> bool | None:
    return {"0": False, "1": True}.get(text or "")
