"""NVMe drives of a guest, described as data: qemu's emulated controllers with sparse files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Drive:
    """A controller with `namespaces` namespaces of `mib` MiB each. `node` places it below a host bridge of this NUMA
    node; `throttle` is in qemu's notation, such as `iops-write=500,iops-write-max=3000,iops-write-max-length=4`."""

    serial: str
    mib: int = 64
    sector: int = 512
    node: int | None = None
    namespaces: int = 1
    throttle: str = ""

    def disk(self, namespace: int = 1) -> str:
        """Return the name that udev gives the drive in /dev/disk/by-id (60-persistent-storage.rules:
        nvme-MODEL_SERIAL)."""
        name = f"nvme-QEMU_NVMe_Ctrl_{self.serial}"
        return f"/dev/disk/by-id/{name}" if namespace == 1 else f"/dev/disk/by-id/{name}_{namespace}"


def attached(drives: Sequence[Drive], folder: Path) -> list[str]:
    """Return qemu's arguments for the drives, whose files are created in `folder`."""
    command = []
    for node in sorted({drive.node for drive in drives if drive.node is not None}):
        command += ["-device", f"pxb-pcie,id=bridge{node},bus=pcie.0,bus_nr={(node + 1) * 32},numa_node={node}"]
    for number, drive in enumerate(drives):
        bus = "pcie.0"
        if drive.node is not None:
            bus = f"port{number}"
            command += ["-device", f"pcie-root-port,id={bus},bus=bridge{drive.node},chassis={number + 1}"]
        command += ["-device", f"nvme,id=nvme{number},serial={drive.serial},bus={bus}"]
        for namespace in range(1, drive.namespaces + 1):
            command += _namespace(drive, f"nvme{number}", namespace, folder)
    return command


def _namespace(drive: Drive, controller: str, number: int, folder: Path) -> list[str]:
    file = folder / f"{drive.serial}-{number}.img"
    with file.open("wb") as made:
        made.truncate(drive.mib << 20)
    name = f"{controller}n{number}"
    options = ",cache.no-flush=on"  # no drive waits for the disk of this machine, which others use as well
    options += "".join(f",throttling.{rule}" for rule in drive.throttle.split(",") if rule)
    sectors = f"logical_block_size={drive.sector},physical_block_size={drive.sector}"
    return [
        *("-drive", f"file={file},if=none,id={name},format=raw,discard=unmap{options}"),
        *("-device", f"nvme-ns,drive={name},bus={controller},nsid={number},{sectors}"),
    ]
