"""The machine as a whole: maker, firmware, kernel, account, load."""

from __future__ import annotations

from asct.facts.sources.model import Command, Folders

FILES: tuple[str, ...] = (
    "/etc/os-release",
    "/proc/cmdline",
    "/proc/loadavg",
    "/proc/pressure/cpu",
    "/proc/self/status",
    "/proc/sys/kernel/io_uring_disabled",
    "/run/systemd/container",
    "/sys/class/dmi/id/product_name",
    "/sys/class/dmi/id/sys_vendor",
    "/sys/hypervisor/type",
)

FOLDERS: tuple[Folders, ...] = ()
COMMANDS: tuple[Command, ...] = ()

LASTING: tuple[Command, ...] = (
    ("uname", "uname -m; uname -n; uname -r; uname -v"),
    ("id", "id -u"),
    ("hypervisor", "systemd-detect-virt --vm"),
    ("container", "systemd-detect-virt --container"),
    ("namespaces", "readlink /proc/self/ns/pid /proc/self/ns/uts /proc/self/ns/ipc"),
)
