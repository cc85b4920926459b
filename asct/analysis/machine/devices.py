"""Block devices, file systems, network."""

from __future__ import annotations

from collections.abc import Iterator

from asct.analysis.machine.rows import MachineSection, counted, decimal_size, listed, section, size, yes
from asct.sdk.facts import BlockDevice, HostFacts, Interface, Mount, NvmeHealth


def sections(facts: HostFacts) -> Iterator[MachineSection]:
    """Storage, file systems and network."""
    free = f"{size(facts.work_free_bytes)} free" if facts.work_free_bytes is not None else ""
    rows = [
        ("Drives", _drives(facts.block_devices)),
        ("Work folder", listed(facts.work_filesystem, free)),
        ("io_uring", yes(facts.io_uring, "allowed", "not allowed")),
    ]
    yield section("Storage", rows, ((device.name, _device(device)) for device in facts.block_devices))
    yield section("File systems", (), ((mount.target, _mount(mount)) for mount in facts.mounts))
    yield network(facts)


def _drives(devices: list[BlockDevice]) -> str:
    """Physical drives only; devices backed by a file or another device are excluded."""
    drives = [one for one in devices if one.kind == "disk"]
    return listed(*(listed(one.name, decimal_size(one.size_bytes), by=" ") for one in drives))


def _device(device: BlockDevice) -> str:
    queue = f"{device.queue_requests} requests" if device.queue_requests is not None else ""
    blocks = "/".join(str(one) for one in (device.logical_bytes, device.physical_bytes) if one)
    link = (
        device.link if device.link == device.link_max or not device.link_max else f"{device.link} of {device.link_max}"
    )
    return listed(
        listed(device.kind, f"of {device.parent}" if device.parent else "", by=" "),
        decimal_size(device.size_bytes),
        listed(device.transport, device.model, by=" "),
        f"serial {device.serial}" if device.serial else "",
        f"firmware {device.firmware}" if device.firmware else "",
        yes(device.rotational, "rotating", ""),
        yes(device.removable, "removable", ""),
        yes(device.read_only, "read only", ""),
        f"blocks of {blocks} B" if blocks else "",
        f"scheduler {device.scheduler}" if device.scheduler else "",
        listed(queue, counted(device.hardware_queues, "queue"), by=" in "),
        device.write_cache,
        f"node {device.node}" if device.node is not None else "",
        device.pci_address,
        f"link {link}" if link else "",
        device.driver,
        device.mapper_name,
        device.raid_level,
        f"of {device.backing_file}" if device.backing_file else "",
        f"used by {', '.join(device.holders)}" if device.holders else "",
        f"mounted at {', '.join(device.mounted_at)}" if device.mounted_at else "",
        _health(device.nvme),
    )


def _health(health: NvmeHealth | None) -> str:
    if health is None:
        return ""
    warning = health.critical_warning
    return listed(
        f"{health.celsius:.0f} degC" if health.celsius is not None else "",
        f"{health.percentage_used} % of rated life used" if health.percentage_used is not None else "",
        f"{health.available_spare} % spare" if health.available_spare is not None else "",
        f"{decimal_size(health.written_bytes)} written" if health.written_bytes is not None else "",
        f"{health.power_on_hours} power-on hours" if health.power_on_hours is not None else "",
        counted(health.media_errors, "media error"),
        f"critical warning {warning:#04x}" if warning else "",
    )


def _mount(mount: Mount) -> str:
    sizes = f"{size(mount.free_bytes)} of {size(mount.size_bytes)} free" if mount.size_bytes else ""
    return listed(f"{mount.type} on {mount.source}", sizes, *mount.options)


def network(facts: HostFacts) -> MachineSection:
    """Addresses and interfaces."""
    found = facts.network
    rows = [
        ("Local IPv4", found.ipv4 or ""),
        ("Local IPv6", found.ipv6 or ""),
        ("Gateways", ", ".join(found.gateways)),
        ("Network namespace", {"host": "of the host", "own": "private"}.get(found.namespace or "", "")),
    ]
    return section("Network", rows, ((one.name, _interface(one)) for one in found.interfaces))


def _interface(one: Interface) -> str:
    queues = "/".join(str(count) for count in (one.rx_queues, one.tx_queues) if count is not None)
    return listed(
        one.kind,
        one.state,
        f"mtu {one.mtu}" if one.mtu is not None else "",
        _speed(one.speed),
        f"{one.duplex} duplex" if one.duplex else "",
        f"driver {one.driver}" if one.driver else "",
        f"queues {queues}" if queues else "",
        f"node {one.node}" if one.node is not None else "",
        one.pci_address,
        f"of {', '.join(one.members)}" if one.members else "",
        one.mac,
        *one.ipv4,
        *one.ipv6,
    )


def _speed(bits: float | None) -> str:
    """`25 Gb/s`; the kernel gives megabits."""
    if bits is None:
        return ""
    return f"{bits / 1e9:g} Gb/s" if bits >= 1e9 else f"{bits / 1e6:g} Mb/s"
