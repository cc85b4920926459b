"""Block devices and their partitions, from /sys/block, the udev database, and the sensors and logs of NVMe drives.

Source: Linux Documentation/ABI/stable/sysfs-block; names of NVMe files from drivers/nvme/host/sysfs.c.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from asct.facts import mounts
from asct.facts.devices import DeviceLocation, places
from asct.facts.snapshot import KILLED, Snapshot
from asct.facts.sources import BLOCK, NVME
from asct.facts.unknown import LATE, NEEDS_ROOT, UnknownFacts, chosen, fields, folders, whole
from asct.instruments.nvme import UNIT_BYTES
from asct.sdk.facts import BlockDevice, NvmeHealth
from asct.values.strict_json import json_object

_SECTOR = 512  # the unit of /sys/block/*/size, regardless of the drive's block size
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
"""Patterns that identify a bus in a real path, starting with the bus nearest to the drive."""
_OF_SCSI = ("sd", "sr", "")
_WANTED = ("transport", "model", "serial", "firmware")


@dataclass(frozen=True, slots=True)
class _BlockContext:
    """Data shared by all block devices."""

    snapshot: Snapshot
    places: Mapping[str, DeviceLocation]
    controllers: Mapping[str, NvmeController]
    udev: Mapping[str, Mapping[str, str]]
    targets: Mapping[str, list[str]]
    holders: Mapping[str, list[str]]

    @property
    def reason(self) -> str:
        """The reason to record for a missing value that udev could have reported."""
        whole = "block_devices.udev" not in self.snapshot.omitted
        return "reported by neither the Linux kernel nor udev" if whole else "only part of the udev database was read"


def block_devices(snapshot: Snapshot, gaps: UnknownFacts) -> list[BlockDevice]:
    """Return the disks, each followed by its partitions.

    Unbound loop devices, unbound network block devices and the hidden paths of NVMe drives are omitted.
    """
    texts = gaps.known("block_devices", folders(snapshot, BLOCK), f"{BLOCK} is empty")
    where = places(snapshot)
    context = _BlockContext(
        snapshot=snapshot,
        places=where,
        controllers={one.name: one for one in controllers(snapshot, where)},
        udev=_udev(snapshot),
        targets=_targets(snapshot),
        holders=_holders(texts),
    )
    devices: list[BlockDevice] = []
    for name, files in texts.items():
        bound = whole(files.get("size")) or _kind(name, files, where.get(f"{BLOCK}/{name}")) not in ("loop", "virtual")
        if bound and "size" in files and files.get("hidden", "0") == "0":
            devices += [_disk(name, files, context, gaps), *_partitions(name, files, context)]
    return devices


def _disk(name: str, files: Mapping[str, str], context: _BlockContext, gaps: UnknownFacts) -> BlockDevice:
    place = context.places.get(f"{BLOCK}/{name}")
    kind = _kind(name, files, place)
    udev = context.udev.get(files.get("dev", ""), {})
    owners = _controllers(files, place, context)
    main = owners[0].place if len(owners) == 1 else place if not owners else None
    transport = _transport(name, place, udev, owners)
    values = {**_identity(files, udev), **_queue(files), **_health(name, owners, gaps)}
    disk = BlockDevice(
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
        driver=_driver(files, main, transport),
        backing_file=files.get("loop/backing_file") or None,
        mapper_name=files.get("dm/name") or None,
        raid_level=files.get("md/level") or None,
        **_use(name, files, context),
        **values,
    )
    for field in _WANTED if kind == "disk" else ():
        gaps.known(f"block_devices.{name}.{field}", getattr(disk, field), context.reason)
    return disk


def _partitions(disk: str, files: Mapping[str, str], context: _BlockContext) -> list[BlockDevice]:
    """Return the partitions of a disk in numerical order."""
    numbers = {path.partition("/")[0]: whole(text) for path, text in files.items() if path.endswith("/partition")}
    partitions = []
    for name, _ in sorted(numbers.items(), key=lambda item: (item[1] or 0, item[0])):
        inner = {path[len(name) + 1 :]: text for path, text in files.items() if path.startswith(f"{name}/")}
        partitions.append(
            BlockDevice(
                name=name,
                kind="partition",
                parent=disk,
                size_bytes=_size(inner.get("size")),
                read_only=_flag(inner.get("ro")),
                **_use(name, inner, context),
            )
        )
    return partitions


def _kind(name: str, files: Mapping[str, str], place: DeviceLocation | None) -> str:
    known = next((kind for start, kind in _KINDS.items() if re.fullmatch(rf"{start}\d+", name)), None)
    if known:
        return known
    hardware = place is not None or any(path.startswith("device/") for path in files)
    return "virtual" if _VIRTUAL.fullmatch(name) and not hardware else "disk"


def _identity(files: Mapping[str, str], udev: Mapping[str, str]) -> dict[str, str | None]:
    """Return the model, the serial number and the firmware version. For SCSI disks, sysfs truncates the model to 16
    characters; udev does not."""
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


def _use(name: str, files: Mapping[str, str], context: _BlockContext) -> dict[str, list[str]]:
    """Return the mount points and holders of a device.

    Mounts are matched by device number or, for file systems such as btrfs, by device name.
    """
    keys = (files.get("dev", ""), f"/dev/{name}", f"/dev/mapper/{files.get('dm/name', '')}")
    targets = [target for key in keys for target in context.targets.get(key, [])]
    return {"mounted_at": list(dict.fromkeys(targets)), "holders": context.holders.get(name, [])}


def _targets(snapshot: Snapshot) -> dict[str, list[str]]:
    targets: dict[str, list[str]] = {}
    for line in mounts.lines(snapshot):
        for key in (line.device, line.source):
            targets.setdefault(key, []).append(line.target)
    return targets


def _holders(texts: Mapping[str, Mapping[str, str]]) -> dict[str, list[str]]:
    """Return the devices built on each device. They are derived from the `slaves` folders, which list the components of
    each device."""
    holders: dict[str, list[str]] = {}
    for name, files in texts.items():
        for path in files:
            parts = path.split("/")
            if parts[0] == "slaves" and len(parts) == 3:
                holders.setdefault(parts[1], []).append(name)
    return holders


def _udev(snapshot: Snapshot) -> dict[str, dict[str, str]]:
    properties: dict[str, dict[str, str]] = {}
    for line in (snapshot.command_output("udev") or "").split("\n"):
        if match := _UDEV.fullmatch(line):
            properties.setdefault(match[1], {})[match[2]] = match[3].strip()
    return properties


def _controllers(
    files: Mapping[str, str], place: DeviceLocation | None, context: _BlockContext
) -> list[NvmeController]:
    """Return the NVMe controllers of a drive: the one in its real path or, with multipath, all controllers in its
    subsystem."""
    match = re.search(r"/nvme/(nvme\d+)(?:/|$)", place.path) if place else None
    if match and match[1] in context.controllers:
        return [context.controllers[match[1]]]
    name = files.get("device/subsysnqn")
    return [one for one in context.controllers.values() if name and one.texts.get("subsysnqn") == name]


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


def _driver(files: Mapping[str, str], place: DeviceLocation | None, transport: str | None) -> str | None:
    """Return the driver of the device or, for a SCSI disk (`sd`), of its PCI function.

    A SCSI disk attached through USB has no driver, because its PCI function is the USB host controller.
    """
    own = fields(files.get("device/uevent"), "=").get("DRIVER", "")
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


_HEAD = re.compile(r"/dev/(nvme\d+)(?: (needs root|needs nvme-cli))?", re.ASCII)
_OVER = re.compile(r"over (\d{1,3})", re.ASCII)
_HWMON = re.compile(r"/nvme/(nvme\d+)/(?:hwmon/)?hwmon\d+", re.ASCII)
_ABSOLUTE_ZERO = 273  # as in nvme-cli, which uses whole kelvins
_FROM_LOG = {
    "critical_warning": "critical_warning",
    "available_spare": "avail_spare",
    "percentage_used": "percent_used",
    "power_on_hours": "power_on_hours",
    "unsafe_shutdowns": "unsafe_shutdowns",
    "media_errors": "media_errors",
}


@dataclass(frozen=True, slots=True)
class NvmeController:
    """A controller (`nvme0`): its sysfs attributes, its location, and either the health of its drive or the reason why
    the health is unknown."""

    name: str
    texts: Mapping[str, str]
    place: DeviceLocation | None
    health: NvmeHealth | None
    reason: str | None


def controllers(snapshot: Snapshot, places: Mapping[str, DeviceLocation]) -> list[NvmeController]:
    """Return all NVMe controllers, ordered by name."""
    logs, reasons, otherwise = _logs(snapshot)
    celsius = temperatures(snapshot, places)
    drives = []
    for name, texts in folders(snapshot, NVME).items():
        log = logs.get(name)
        values = _health_values(log) if log is not None else {}
        if values.get("celsius") is None:
            values["celsius"] = celsius.get(name)
        known = any(value is not None for value in values.values())
        drives.append(
            NvmeController(
                name=name,
                texts=texts,
                place=places.get(f"{NVME}/{name}"),
                health=NvmeHealth(**values) if known else None,
                reason=None if log is not None else reasons.get(name, otherwise),
            )
        )
    return drives


def temperatures(snapshot: Snapshot, places: Mapping[str, DeviceLocation]) -> dict[str, float]:
    """Return the temperatures, in degrees Celsius, of the controllers that have a hwmon sensor.

    Reading the sensor does not require root (drivers/nvme/host/hwmon.c: temp1 is the composite temperature).
    """
    celsius: dict[str, float] = {}
    for at, place in places.items():
        match = _HWMON.search(place.path) if at.startswith("/sys/class/hwmon/") else None
        value = whole(snapshot.text(f"{at}/temp1_input"))
        if match and value is not None:
            celsius[match[1]] = value / 1000
    return celsius


def _logs(snapshot: Snapshot) -> tuple[dict[str, dict[str, Any]], dict[str, str], str]:
    """Return the output of `nvme smart-log -o json` for each controller, and the reasons for missing output.

    The second item maps controllers to reasons; the third is the reason that applies to all other controllers.
    """
    bodies, reasons, late = _bodies((snapshot.command_output("nvme-health") or "").split("\n"))
    logs: dict[str, dict[str, Any]] = {}
    waited_for = list(bodies)[-1:] if late else []
    for name, lines in bodies.items():
        log = json_object("\n".join(lines))
        if log is not None:
            logs[name] = log
        else:
            reasons[name] = f"nvme {LATE}" if name in waited_for else "the drive did not return its health log"
    return logs, reasons, f"nvme {LATE} before this drive was queried" if late else NEEDS_ROOT


def _bodies(lines: Iterable[str]) -> tuple[dict[str, list[str]], dict[str, str], bool]:
    """Return the output lines for each drive, the reasons why other drives were not queried, and whether a query timed
    out."""
    bodies: dict[str, list[str]] = {}
    reasons: dict[str, str] = {}
    name, late = "", False
    for line in lines:
        if head := _HEAD.fullmatch(line.strip()):
            name = head[1]
            if head[2]:
                reasons[name] = head[2]
            else:
                bodies[name] = []
        elif over := _OVER.fullmatch(line):
            name, late = "", int(over[1]) == KILLED
        elif name in bodies:
            bodies[name].append(line)
    return bodies, reasons, late


def _health_values(log: Mapping[str, Any]) -> dict[str, Any]:
    """Convert the values in an nvme-cli log to degrees Celsius and bytes. The log contains temperatures in kelvins, and
    amounts of data in units of 512,000 bytes."""
    kelvins = _number(log.get("temperature"))
    values: dict[str, Any] = {field: _number(log.get(name)) for field, name in _FROM_LOG.items()}
    values["celsius"] = None if kelvins is None else float(kelvins - _ABSOLUTE_ZERO)
    for field, name in (("read_bytes", "data_units_read"), ("written_bytes", "data_units_written")):
        units = _number(log.get(name))
        values[field] = None if units is None else units * UNIT_BYTES
    return values


def _number(value: object) -> int | None:
    """Parse a number. Some versions of nvme-cli print numbers with more than 64 bits as strings, and others print a
    flag as an object with its value and explanations."""
    if isinstance(value, Mapping):
        value = value.get("value")
    if isinstance(value, str):
        return whole(value.replace(",", ""))
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 128 else None
