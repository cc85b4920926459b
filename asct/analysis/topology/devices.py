"""Drives, network interfaces, GPUs and other PCI devices as boxes. PCI devices are inside the bridges that they
share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from asct.analysis.grid import plain
from asct.analysis.machine.rows import decimal_size, listed, pcie_link
from asct.analysis.topology.box import Box
from asct.sdk.facts import BlockDevice, HostFacts, Interface, PciDevice
from asct.values.grouping import grouped
from asct.values.text import counted

UNKNOWN: Final = -1
"""The node number of a device whose node is unknown."""
_GPUS: Final = ("03", "0b40", "12")
"""The first digits of the PCI class codes for GPUs and accelerators."""
_VIRTUAL: Final = frozenset({"loopback", "veth", "tun", "bridge", "bond", "vlan"})
_DOMAIN: Final = "0000:"
_Placed = tuple[tuple[str, ...], Box]
"""The bridges above a device, from its root bus downward, followed by the device itself."""


def devices(facts: HostFacts) -> Iterator[tuple[int, Box]]:
    """Yield the devices, each with the node to which it is attached: first PCI devices, ordered by root bus, and then
    the others.

    Virtual functions are not listed; each physical function states only their number.
    """
    known = {one.address for one in facts.pci}
    drives = [one for one in facts.block_devices if one.kind == "disk"]
    interfaces = [one for one in facts.network.interfaces if one.kind not in _VIRTUAL]
    virtual = Counter(one.physical for one in facts.pci if one.physical in known)
    drawn = [one for one in facts.pci if one.physical not in known]
    by_node = grouped(drawn, lambda one: UNKNOWN if one.node is None else one.node)
    for node, functions in by_node.items():
        placed = [
            ((f"PCI bus {_short(one.root or '')}", *(f"PCI bridge {_short(name)}" for name in one.bridges)), box)
            for one in functions
            if (box := _function(one, drives, interfaces, virtual[one.address])) is not None
        ]
        yield from ((node, box) for box in _nested(placed))
    for drive in drives:
        if drive.pci_address not in known:
            yield UNKNOWN if drive.node is None else drive.node, _drive(drive)
    for one in interfaces:
        if (one.driver or one.pci_address) and one.pci_address not in known:
            yield UNKNOWN if one.node is None else one.node, _interface(one)


def _nested(placed: Sequence[_Placed]) -> Iterator[Box]:
    """Yield the devices, placing those that share a bridge in a box for that bridge."""
    for name, inside in grouped(placed, lambda item: item[0][:1]).items():
        if not name:
            yield from (box for _, box in inside)
            continue
        parts = list(_nested([(path[1:], box) for path, box in inside]))
        yield parts[0] if len(parts) == 1 else Box("bridge", plain(name[0]), parts=parts)


def _function(
    one: PciDevice, drives: Iterable[BlockDevice], interfaces: Iterable[Interface], virtual: int
) -> Box | None:
    """Return a PCI function with its drives and interfaces and the number of its virtual functions. If it has only one
    drive or interface, the box of that drive or interface describes both."""
    own = [_drive(drive) for drive in drives if drive.pci_address == one.address]
    own += [_interface(interface) for interface in interfaces if interface.pci_address == one.address]
    more = counted(virtual, "virtual function") if virtual else ""
    slot = listed(pcie_link(one), f"{one.kind} {_short(one.address)}", more)
    if len(own) == 1:
        return Box(own[0].kind, own[0].title, listed(own[0].detail, plain(slot)))
    if own:
        return Box(
            "controller",
            plain(f"{one.kind} {_short(one.address)}"),
            plain(listed(one.driver, pcie_link(one), more)),
            parts=own,
        )
    gpu = one.class_code.startswith(_GPUS)
    title = ", ".join(one.names) or f"{'GPU' if gpu else one.kind} {_short(one.address)}"
    detail = listed(one.driver, slot if one.names else listed(pcie_link(one), one.kind if gpu else "", more))
    return Box("gpu" if gpu else "controller", plain(title), plain(detail))


def _short(address: str) -> str:
    return address.removeprefix(_DOMAIN)


def _drive(one: BlockDevice) -> Box:
    return Box("drive", plain(one.name), plain(listed(one.model or one.transport, decimal_size(one.size_bytes))))


def _interface(one: Interface) -> Box:
    speed = f"{one.speed / 1e9:g} Gbit/s" if one.speed else ""
    return Box("interface", plain(one.name), plain(listed(one.driver, speed, one.state)))
