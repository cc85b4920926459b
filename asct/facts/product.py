"""Maker and firmware of the machine: SMBIOS as the kernel shows it in /sys/class/dmi/id, else the device tree.

Sources: Linux drivers/firmware/dmi-id.c (names and permissions of the files: serial numbers and the UUID are for root),
Documentation/ABI/testing/sysfs-devices-platform-ipmi (BMC), Documentation/ABI/testing/sysfs-firmware-efi; Devicetree
Specification 0.4, 3.2 (model, compatible, serial-number of the root node).
"""

from __future__ import annotations

import re
from typing import Literal

from asct.facts.snapshot import Snapshot
from asct.facts.sources import DMI
from asct.facts.unknown import NEEDS_ROOT, UnknownFacts, whole
from asct.sdk.facts import Firmware, Product

HIDDEN = "hidden by the container"
_NO_DMI = f"there is no SMBIOS ({DMI})"
_UNTOLD = frozenset({
    "", "not specified", "to be filled by o.e.m.", "to be filled by o.e.m", "default string", "system product name",
    "system manufacturer", "system version", "system serial number", "none", "n/a", "unknown", "not applicable",
    "o.e.m.", "oem", "undefined", "not available", "x.x", "0", "0123456789", "empty", "no asset tag",
})  # fmt: skip
"""What firmware writes where its maker has filled in nothing."""
_PRODUCT = {
    "manufacturer": "sys_vendor",
    "name": "product_name",
    "version": "product_version",
    "family": "product_family",
    "serial": "product_serial",
    "uuid": "product_uuid",
}
_FOR_ROOT = frozenset({"serial", "uuid"})
_FIRMWARE = {"vendor": "bios_vendor", "version": "bios_version", "release_date": "bios_date"}
_BMC = re.compile(r"/sys/devices/platform/ipmi_bmc\.\d+/firmware_revision", re.ASCII)


def dmi(found: Snapshot, name: str) -> str | None:
    """An SMBIOS text; None if missing or a placeholder."""
    text = (found.text(f"{DMI}/{name}") or "").strip()
    return None if text.lower() in _UNTOLD else text


def product(found: Snapshot, container: str | None, gaps: UnknownFacts) -> Product:
    """The product names from the firmware."""
    if not _has_dmi(found):
        return _of_device_tree(found, container, gaps)
    values = {field: dmi(found, name) for field, name in _PRODUCT.items()}
    root = whole(found.command_output("id")) == 0
    for field, name in _PRODUCT.items():
        if values[field] is None:
            hidden = field in _FOR_ROOT and not root and found.text(f"{DMI}/{name}") is None
            gaps.note(f"system.product.{field}", NEEDS_ROOT if hidden else "the firmware does not report it")
    board = [text for name in ("board_vendor", "board_name") if (text := dmi(found, name))]
    if not board:
        gaps.note("system.product.board", "the firmware does not report it")
    return Product(**values, board=" ".join(board) or None)


def _has_dmi(found: Snapshot) -> bool:
    return any(found.text(f"{DMI}/{name}") is not None for name in ("sys_vendor", "product_name", "bios_vendor"))


def device_tree(found: Snapshot) -> dict[str, str]:
    """`model`, `compatible` (parted by blanks) and `serial-number` of the root node; empty without a device tree."""
    made: dict[str, str] = {}
    for line in (found.command_output("device-tree") or "").split("\n"):
        name, equals, value = line.partition("=")
        if equals and value.strip():
            made.setdefault(name, value.strip())
    return made


def _of_device_tree(found: Snapshot, container: str | None, gaps: UnknownFacts) -> Product:
    tree = device_tree(found)
    maker, comma, _ = (tree.get("compatible") or "").split(" ")[0].partition(",")
    made = Product(manufacturer=maker if comma else None, name=tree.get("model"), serial=tree.get("serial-number"))
    reason = "the device tree does not report it" if tree else _no_dmi(container)
    for field in Product.model_fields:
        if getattr(made, field) is None:
            gaps.note(f"system.product.{field}", reason)
    return made


def _no_dmi(container: str | None) -> str:
    return _NO_DMI if container in (None, "none") else HIDDEN


def firmware(found: Snapshot, arch: str | None, container: str | None, gaps: UnknownFacts) -> Firmware:
    """Vendor, version and date of the BIOS or UEFI, BMC version from the IPMI driver, how the machine was booted."""
    values = {field: dmi(found, name) for field, name in _FIRMWARE.items()}
    for field, value in values.items():
        if value is None:
            gaps.note(
                f"system.firmware.{field}",
                "the firmware does not report it" if _has_dmi(found) else _no_dmi(container),
            )
    bmc = next((text.strip() for path, text in found.files.items() if _BMC.fullmatch(path) and text.strip()), None)
    if bmc is None:
        gaps.note("system.firmware.bmc_version", "no IPMI driver reports a BMC")
    description = _description(found)
    if description is None:
        gaps.note("system.firmware.description", "the kernel has neither ACPI nor a device tree")
    boot = _boot(found, arch, container)
    if boot is None:
        gaps.note("system.firmware.boot", "nothing in /sys/firmware reports it")
    return Firmware(**values, bmc_version=bmc, boot=boot, description=description)


def _description(found: Snapshot) -> Literal["acpi", "device-tree"] | None:
    """ACPI takes precedence: the kernel adds a stub device tree (Documentation/arch/arm64/arm-acpi.rst)."""
    if found.text("/sys/firmware/acpi/pm_profile") is not None:
        return "acpi"
    return "device-tree" if device_tree(found) else None


def _boot(found: Snapshot, arch: str | None, container: str | None) -> Literal["uefi", "bios", "other"] | None:
    """UEFI where its runtime services are known; of x86 with SMBIOS and without them BIOS; device trees by others."""
    if found.text("/sys/firmware/efi/fw_platform_size") is not None:
        return "uefi"
    if container not in (None, "none"):
        return None
    if arch in ("x86_64", "i686", "i586", "i386"):
        return "bios" if _has_dmi(found) else None
    return "other" if device_tree(found) or arch in ("s390x", "s390") else None
