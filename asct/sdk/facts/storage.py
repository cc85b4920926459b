"""Block devices, the health of drives, mounted file systems."""

from __future__ import annotations

from pydantic import Field

from asct.sdk.facts.base import Fact


class NvmeHealth(Fact):
    """Data from the drive's SMART / Health log (NVM Express Base Specification, log page 02h) or the kernel's sensors.

    In percent, degrees Celsius, bytes and hours. Null where reading requires root or nvme-cli.
    """

    celsius: float | None = None
    critical_warning: int | None = None
    available_spare: int | None = None
    percentage_used: int | None = None
    read_bytes: int | None = None
    written_bytes: int | None = None
    power_on_hours: int | None = None
    unsafe_shutdowns: int | None = None
    media_errors: int | None = None


class BlockDevice(Fact):
    """A whole device or a partition. `kind` is disk, partition, loop, md, dm, rom, zram or virtual.

    `node` is the NUMA node that it hangs at, null when the kernel knows none. `holders` use it (dm-0, md0).
    """

    name: str
    kind: str
    parent: str | None = None
    size_bytes: int | None = None
    transport: str | None = None
    """nvme, sata, sas, usb, virtio, mmc, ..."""
    model: str | None = None
    serial: str | None = None
    firmware: str | None = None
    rotational: bool | None = None
    removable: bool | None = None
    read_only: bool | None = None
    logical_bytes: int | None = None
    physical_bytes: int | None = None
    optimal_io_bytes: int | None = None
    scheduler: str | None = None
    queue_requests: int | None = None
    hardware_queues: int | None = None
    read_ahead_bytes: int | None = None
    write_cache: str | None = None
    discard: bool | None = None
    node: int | None = None
    pci_address: str | None = None
    link: str | None = None
    """Speed and width of its PCIe link as the kernel has them: `16.0 GT/s PCIe x4`."""
    link_max: str | None = None
    driver: str | None = None
    holders: list[str] = Field(default_factory=list)
    mounted_at: list[str] = Field(default_factory=list)
    backing_file: str | None = None
    mapper_name: str | None = None
    """Its name in /dev/mapper, of dm alone."""
    raid_level: str | None = None
    """raid1, linear, ...; of md alone."""
    nvme: NvmeHealth | None = None


class Mount(Fact):
    """A mounted file system of a device or the network; virtual file systems (proc, sysfs) are omitted."""

    source: str
    target: str
    type: str
    options: list[str] = Field(default_factory=list)
    size_bytes: int | None = None
    free_bytes: int | None = None
