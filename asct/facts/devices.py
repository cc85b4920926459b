"""The locations of hardware devices: real paths in /sys, queues, and the PCI functions to which they are attached."""

from __future__ import annotations

import re
from dataclasses import dataclass

from asct.facts.snapshot import Snapshot
from asct.facts.unknown import fields, whole

PCI_ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_FIELDS = 10
_SPEED = re.compile(r"\d+(\.\d+)? GT/s( PCIe)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class DeviceLocation:
    """The location of a device.

    `queues` is the number of queues for a block device; `receiving` and `sending` are the numbers of receive and
    transmit queues for a network interface. None means that there are no queues. `link` has the same format as in
    sdk.facts.BlockDevice, and `driver` is the driver of the PCI function.
    """

    path: str
    queues: int | None = None
    receiving: int | None = None
    sending: int | None = None
    node: int | None = None
    link: str | None = None
    link_max: str | None = None
    driver: str | None = None

    @property
    def pci_address(self) -> str | None:
        """The PCI function to which the device is attached."""
        return next((part for part in reversed(self.path.split("/")) if PCI_ADDRESS.fullmatch(part)), None)


def places(snapshot: Snapshot) -> dict[str, DeviceLocation]:
    """Return the locations of devices, keyed by path (`/sys/block/nvme0n1`). Malformed lines are skipped."""
    locations: dict[str, DeviceLocation] = {}
    for line in (snapshot.command_output("devices") or "").split("\n"):
        cells = line.split("|")
        if len(cells) >= 4 and cells[0].startswith("/sys/") and cells[1].startswith("/sys/"):
            at, path, first, second, *pci = cells
            locations[at] = _place(path, first, second, at.startswith("/sys/class/net/"), (pci + [""] * _FIELDS)[:6])
    return locations


def _place(path: str, first: str, second: str, interface: bool, pci: list[str]) -> DeviceLocation:
    node, speed, width, speed_max, width_max, driver = pci
    return DeviceLocation(
        path=path,
        queues=None if interface else whole(first) or None,
        receiving=whole(first) or None if interface else None,
        sending=whole(second) or None,
        node=whole(node),
        link=link_text(speed, width),
        link_max=link_text(speed_max, width_max),
        driver=fields(driver, "=").get("DRIVER"),
    )


def link_text(speed: str, width: str) -> str | None:
    """Return a string such as `16.0 GT/s PCIe x4`, or None if the values are unknown (`Unknown`, width 0 or 255)."""
    lanes = whole(width)
    if not lanes or lanes > 32 or not _SPEED.fullmatch(speed.strip()):
        return None
    return f"{speed.strip()} x{lanes}"
