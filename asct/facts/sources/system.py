"""The machine as a whole: maker, firmware, kernel, account, load."""

from __future__ import annotations

from asct.facts.sources.model import Command, FolderSet

DMI = "/sys/class/dmi/id"

FILES: tuple[str, ...] = (
    "/etc/os-release",
    "/proc/loadavg",
    "/proc/pressure/cpu",
    "/proc/pressure/io",
    "/proc/pressure/memory",
    "/proc/self/limits",
    "/proc/self/status",
    "/proc/uptime",
    "/run/systemd/container",
    f"{DMI}/bios_date",
    f"{DMI}/bios_vendor",
    f"{DMI}/bios_version",
    f"{DMI}/board_name",
    f"{DMI}/board_vendor",
    f"{DMI}/chassis_asset_tag",
    f"{DMI}/product_family",
    f"{DMI}/product_name",
    f"{DMI}/product_serial",
    f"{DMI}/product_uuid",
    f"{DMI}/product_version",
    f"{DMI}/sys_vendor",
    "/sys/devices/platform/ipmi_bmc.*/firmware_revision",
    "/sys/firmware/acpi/pm_profile",
    "/sys/firmware/efi/fw_platform_size",
    "/sys/hypervisor/type",
)

FOLDERS: tuple[FolderSet, ...] = ()

# Texts of a device tree end with a zero byte, lists of them have one after each.
_DEVICE_TREE = """\
for name in model compatible serial-number; do file=/proc/device-tree/$name
[ -r "$file" ] && echo "$name=$(tr "\\000" " " <"$file")"; done; true"""

COMMANDS: tuple[Command, ...] = ()

LASTING: tuple[Command, ...] = (
    ("uname", "uname -m; uname -n; uname -r; uname -v"),
    ("id", "id -u"),
    ("libc", "getconf GNU_LIBC_VERSION 2>/dev/null || ldd --version 2>&1 | head -n 3"),
    ("device-tree", _DEVICE_TREE),
    ("hypervisor", "systemd-detect-virt --vm"),
    ("container", "systemd-detect-virt --container"),
    ("namespaces", "for name in pid uts ipc; do readlink /proc/self/ns/$name || break; done"),
)
