"""The machine as a whole: Linux kernel, distribution, account, vendor and firmware, virtualization and cloud.

Vendor and firmware come from SMBIOS, which the Linux kernel presents in /sys/class/dmi/id (drivers/firmware/dmi-id.c:
only root may read serial numbers and the UUID), or otherwise from the device tree (Devicetree Specification 0.4, 3.2:
model, compatible, serial-number of the root node). Linux Documentation/ABI/testing: sysfs-devices-platform-ipmi (BMC),
sysfs-firmware-efi (boot).

The cloud provider is determined only from the firmware, never through the network. firmware.yaml contains the names
that identify each provider.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Literal, cast

from asct.facts.kernel import kernel as of_kernel
from asct.facts.snapshot import Snapshot
from asct.facts.sources import BIG_ENDIAN, DMI
from asct.facts.unknown import NEEDS_ROOT, UnknownFacts, fields, real, whole
from asct.resources import data
from asct.sdk.facts import Firmware, Product, System

HIDDEN = "hidden by the container"
_SILENT = "not reported by the firmware"
_NO_DMI = f"there is no SMBIOS ({DMI})"
_NAMES: Mapping[str, Any] = data(__file__, "firmware.yaml")
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
_BMC = r"/sys/devices/platform/ipmi_bmc\.[0-9]+/firmware_revision"


def dmi(snapshot: Snapshot, name: str) -> str | None:
    """Return an SMBIOS value, or None if it is missing or a placeholder."""
    text = snapshot.line(f"{DMI}/{name}")
    return None if text is None or text.lower() in _NAMES["placeholders"] else text


def product(snapshot: Snapshot, container: str | None, gaps: UnknownFacts) -> Product:
    """Return the product names that the firmware reports."""
    if not _has_dmi(snapshot):
        return _of_device_tree(snapshot, container, gaps)
    values = {field: dmi(snapshot, name) for field, name in _PRODUCT.items()}
    root = whole(snapshot.command_output("id")) == 0
    for field, name in _PRODUCT.items():
        hidden = field in _FOR_ROOT and not root and snapshot.text(f"{DMI}/{name}") is None
        gaps.known(f"system.product.{field}", values[field], NEEDS_ROOT if hidden else _SILENT)
    board = " ".join(text for name in ("board_vendor", "board_name") if (text := dmi(snapshot, name))) or None
    return Product(**values, board=gaps.known("system.product.board", board, _SILENT))


def _has_dmi(snapshot: Snapshot) -> bool:
    return any(snapshot.text(f"{DMI}/{name}") is not None for name in ("sys_vendor", "product_name", "bios_vendor"))


def device_tree(snapshot: Snapshot) -> dict[str, str]:
    """Return `model`, `compatible` (separated by spaces) and `serial-number` of the device tree, or an empty dictionary
    if there is none."""
    found = fields(snapshot.command_output("device-tree"), "=")
    return {name: value for name, value in found.items() if value}


def _of_device_tree(snapshot: Snapshot, container: str | None, gaps: UnknownFacts) -> Product:
    tree = device_tree(snapshot)
    maker, comma, _ = (tree.get("compatible") or "").split(" ")[0].partition(",")
    result = Product(manufacturer=maker if comma else None, name=tree.get("model"), serial=tree.get("serial-number"))
    reason = "not reported by the device tree" if tree else _no_dmi(container)
    for field in Product.model_fields:
        gaps.known(f"system.product.{field}", getattr(result, field), reason)
    return result


def _no_dmi(container: str | None) -> str:
    return _NO_DMI if container in (None, "none") else HIDDEN


def firmware(snapshot: Snapshot, arch: str | None, container: str | None, gaps: UnknownFacts) -> Firmware:
    """Return the vendor, version and date of the BIOS or UEFI, the BMC version, and the boot method."""
    silent = _SILENT if _has_dmi(snapshot) else _no_dmi(container)
    bmc = next((text.strip() for _, text in snapshot.matching(_BMC) if text.strip()), None)
    reasons = dict.fromkeys(_FIRMWARE, silent) | {
        "bmc_version": "no IPMI driver reports a BMC",
        "description": "the Linux kernel has neither ACPI nor a device tree",
        "boot": "not reported in /sys/firmware",
    }
    result = Firmware(
        **{field: dmi(snapshot, name) for field, name in _FIRMWARE.items()},
        bmc_version=bmc,
        description=_description(snapshot),
        boot=_boot(snapshot, arch, container),
    )
    for field, reason in reasons.items():
        gaps.known(f"system.firmware.{field}", getattr(result, field), reason)
    return result


def _description(snapshot: Snapshot) -> Literal["acpi", "device-tree"] | None:
    """Return the type of hardware description that the firmware provides.

    ACPI takes precedence, because the Linux kernel then adds only a stub device tree
    (Documentation/arch/arm64/arm-acpi.rst).
    """
    if snapshot.text("/sys/firmware/acpi/pm_profile") is not None:
        return "acpi"
    return "device-tree" if device_tree(snapshot) else None


def _boot(snapshot: Snapshot, arch: str | None, container: str | None) -> Literal["uefi", "bios", "other"] | None:
    """Return `uefi` if UEFI runtime services exist, `bios` on x86 machines with SMBIOS, and `other` on machines with a
    device tree.

    Returns None if nothing indicates the boot method, or in a container without UEFI.
    """
    if snapshot.text("/sys/firmware/efi/fw_platform_size") is not None:
        return "uefi"
    if container not in (None, "none"):
        return None
    if arch in ("x86_64", "i686", "i586", "i386"):
        return "bios" if _has_dmi(snapshot) else None
    return "other" if device_tree(snapshot) or arch in ("s390x", "s390") else None


_UNASKED = "only the cloud's metadata service reports it, and asct does not query the network"


def cloud(snapshot: Snapshot, gaps: UnknownFacts) -> tuple[str | None, str | None]:
    """Return the cloud provider and its name for the instance type (`aws`, `c7g.metal`)."""
    marks = _NAMES["clouds"]
    name = next((cloud for file, text, cloud in marks if (dmi(snapshot, file) or "").startswith(text)), None)
    if name is not None:
        kind = dmi(snapshot, "product_name") if name in _NAMES["product_is_instance_type"] else None
        return name, gaps.known("system.instance_type", kind, _UNASKED)
    if (dmi(snapshot, "bios_version") or "").endswith(".amazon"):  # older EC2 instances run on Xen instead of Nitro
        gaps.note("system.instance_type", _UNASKED)
        return "aws", None
    for field in ("cloud", "instance_type"):
        gaps.note(f"system.{field}", "the firmware has no cloud identifier")
    return None, None


_SOURCES = {
    "hostname": "uname",
    "arch": "uname",
    "byte_order": "uname",
    "kernel": "uname",
    "kernel_version": "uname",
    "os": "/etc/os-release",
    "uid": "id -u",
    "uptime_s": "/proc/uptime",
}
# include/linux/proc_ns.h: the inodes of the initial namespaces
_FIRST_NAMESPACES = {"pid:[4026531836]", "uts:[4026531838]", "ipc:[4026531839]"}


def system(snapshot: Snapshot, gaps: UnknownFacts) -> System:
    """Return the system facts, based on uname, os-release(5), the firmware and the Linux kernel."""
    answer = snapshot.commands.get("uname")  # not stripped, because the first line of a dump may be empty
    names = answer.text.split("\n") if answer is not None and answer.status == 0 else []
    arch, hostname, kernel, version = [name.strip() or None for name in (names + [""] * 4)[:4]]
    release = os_release(snapshot.text("/etc/os-release") or snapshot.text("/usr/lib/os-release"))
    container = _container(snapshot, gaps)
    provider, instance_type = cloud(snapshot, gaps)
    result = System(
        hostname=hostname,
        arch=arch,
        byte_order=_byte_order(snapshot, arch),
        kernel=kernel,
        kernel_version=version,
        os=release.get("PRETTY_NAME") or release.get("NAME"),
        libc=libc(snapshot.command_output("libc"), gaps),
        uid=whole(snapshot.command_output("id")),
        uptime_s=real((snapshot.text("/proc/uptime") or "").partition(" ")[0]),
        virtualization=_virtualization(snapshot, gaps),
        container=container,
        cloud=provider,
        instance_type=instance_type,
        product=product(snapshot, container, gaps),
        firmware=firmware(snapshot, arch, container, gaps),
        **of_kernel(snapshot, container, gaps),
    )
    for field, source in _SOURCES.items():
        gaps.known(f"system.{field}", getattr(result, field), f"not reported by {source}")
    return result


def _byte_order(snapshot: Snapshot, arch: str | None) -> Literal["little", "big"] | None:
    """Return the byte order that the Linux kernel reports (since 6.1), or the byte order of the architecture."""
    order = snapshot.line("/sys/kernel/cpu_byteorder")
    if order not in ("little", "big"):
        order = None if arch is None else "big" if arch in BIG_ENDIAN else "little"
    return cast(Literal["little", "big"] | None, order)


def libc(output: str | None, gaps: UnknownFacts) -> str | None:
    """Return the C library: `glibc 2.36` as printed by getconf(1), or `musl 1.2.4` as printed by musl's loader."""
    text = output or ""
    if match := re.match(r"glibc [\d.]{1,20}", text, re.ASCII):
        return match[0]
    if text.startswith("musl") and (match := re.search(r"^Version ([\d.]{1,20})", text, re.MULTILINE | re.ASCII)):
        return f"musl {match[1]}"
    gaps.note("system.libc", "reported by neither getconf nor ldd")
    return None


@lru_cache(maxsize=8)
def os_release(text: str | None) -> Mapping[str, str]:
    """Parse the assignments in os-release(5), including shell quotes. Malformed lines are skipped. The result is
    cached, because the file is usually the same on all hosts."""
    found: dict[str, str] = {}
    for line in (text or "").split("\n"):
        name, equals, value = line.strip().partition("=")
        if not equals or name.startswith("#"):
            continue
        try:
            found[name] = "".join(shlex.split(value))
        except ValueError:
            continue
    return found


def _virtualization(snapshot: Snapshot, gaps: UnknownFacts) -> str | None:
    """Return the name that systemd-detect-virt uses for the hypervisor.

    If that program is missing, derive the name from /sys; `vm` means that only the CPU flag `hypervisor` indicates
    virtualization.
    """
    detected = _detected(snapshot, "hypervisor")
    if detected is not None:
        return detected
    # On Amazon EC2, this suffix marks instances without a hypervisor.
    metal = (dmi(snapshot, "product_name") or "").endswith(".metal")
    names = [] if metal else [dmi(snapshot, name) for name in ("product_name", "sys_vendor", "bios_vendor")]
    known = snapshot.text("/sys/hypervisor/type") or next(filter(None, map(_NAMES["hypervisors"].get, names)), None)
    if known:
        return str(known).strip()
    if metal:
        return "none"
    if re.search(r"(?:^| )(?:qemu,|linux,dummy-virt\b)", device_tree(snapshot).get("compatible", "")):
        return "qemu"
    for line in (snapshot.text("/proc/bus/pci/devices") or "").split("\n"):  # available only in dumps
        if found := _NAMES["hypervisor_functions"].get("".join(line.split()[1:2])):
            return str(found)
    flags = fields(snapshot.text("/proc/cpuinfo")).get("flags")
    if flags is None:
        why = "systemd-detect-virt is missing, and nothing in /sys identifies the hypervisor"
        gaps.note("system.virtualization", why)
        return None
    return "vm" if "hypervisor" in flags.split() else "none"


def _container(snapshot: Snapshot, gaps: UnknownFacts) -> str | None:
    """Return the type of container (`docker`), from systemd-detect-virt or from the file /run/systemd/container that
    the container manager writes.

    Files such as /.dockerenv remain if an image is booted as a machine, so a name is used only if the process is
    outside the initial namespaces.
    """
    engine = _detected(snapshot, "container") or snapshot.text("/run/systemd/container")
    spaces = (snapshot.command_output("namespaces") or "").split()
    inside = None if len(spaces) != len(_FIRST_NAMESPACES) else set(spaces) != _FIRST_NAMESPACES
    if engine == "none" or (engine is None and inside is False):
        return "none"
    if engine and inside is not False:
        return engine.strip()
    if engine:
        gaps.note(
            "system.container", f"{engine.strip()} identifiers were found, but the process is in the initial namespaces"
        )
    else:
        gaps.note("system.container", "systemd-detect-virt is missing, and no container manager reports a container")
    return None


def _detected(snapshot: Snapshot, name: str) -> str | None:
    answer = snapshot.commands.get(name)
    text = "" if answer is None else answer.text.strip()
    return text if re.fullmatch(r"[a-z0-9-]+", text) else None
