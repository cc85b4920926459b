"""The drive controllers, network interfaces, GPUs and accelerators on PCI, and the bridges above them.

Sources: Linux, Documentation/ABI/testing/sysfs-bus-pci; PCI Code and ID Assignment Specification (class codes).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from asct.facts.devices import PCI_ADDRESS, link_text
from asct.facts.snapshot import Snapshot
from asct.facts.unknown import UnknownFacts, fields, whole
from asct.resources import data
from asct.sdk.facts import BlockDevice, Interface, PciDevice

CLASSES: Mapping[str, str] = data(__file__, "kernel.yaml")["pci_classes"]
_ROOT = re.compile(r"pci([0-9a-f]{4,8}:[0-9a-f]{2})")
_NUMBER = re.compile(r"0x([0-9a-f]{4,6})")
_CELLS = 12


def class_name(code: str) -> str | None:
    """Return the name of a class code (`010802`), or None if asct does not read devices of this class."""
    return CLASSES.get(code[:4]) or CLASSES.get(code[:2])


def functions(
    snapshot: Snapshot, drives: Iterable[BlockDevice], interfaces: Iterable[Interface], gaps: UnknownFacts
) -> list[PciDevice]:
    """Return the PCI functions, ordered by address, including the names of their drives and interfaces."""
    names: dict[str, list[str]] = {}
    pairs = [*((one.pci_address, one.name) for one in drives), *((one.pci_address, one.name) for one in interfaces)]
    for address, name in pairs:
        if address is not None:
            names.setdefault(address, []).append(name)
    lines = (snapshot.command_output("pci") or "").split("\n")
    found = {function.address: function for line in lines if (function := _function(line.split("|"), names))}
    gaps.known("pci", found, "the Linux kernel lists no drive controllers, network interfaces or GPUs on the PCI bus")
    return [found[address] for address in sorted(found)]


def _function(cells: list[str], names: dict[str, list[str]]) -> PciDevice | None:
    """Parse a line that contains the real path, class, vendor, device, node, link (current speed and width, highest
    speed and width), driver, names and physical function. Return None if the line is malformed."""
    path, code, vendor, device, node, *link, driver, own, physical = (cells + [""] * _CELLS)[:_CELLS]
    places = [part for part in path.split("/") if PCI_ADDRESS.fullmatch(part)]
    root = next((match[1] for part in path.split("/") if (match := _ROOT.fullmatch(part))), None)
    number = _NUMBER.fullmatch(code)
    kind = class_name(number[1]) if number else None
    if not places or number is None or kind is None:
        return None
    *bridges, address = places
    return PciDevice(
        address=address,
        kind=kind,
        class_code=number[1],
        vendor_id=match[1] if (match := _NUMBER.fullmatch(vendor)) else None,
        device_id=match[1] if (match := _NUMBER.fullmatch(device)) else None,
        driver=fields(driver, "=").get("DRIVER"),
        node=whole(node),
        root=root,
        bridges=bridges,
        link=link_text(*link[:2]),
        link_max=link_text(*link[2:]),
        names=list(dict.fromkeys([*names.get(address, []), *own.split()])),
        physical=physical if PCI_ADDRESS.fullmatch(physical) else None,
    )
