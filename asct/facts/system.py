"""Kernel, distribution, account, virtualization and load."""

from __future__ import annotations

import re
import shlex

from asct.facts.gaps import Gaps, fields, real, whole
from asct.facts.snapshot import Snapshot
from asct.sdk.facts import Load, System

_PRESSURE = re.compile(r"^some avg10=([0-9.]+)", re.MULTILINE)
# include/linux/proc_ns.h: the inodes of the namespaces that the kernel starts with
_FIRST_NAMESPACES = {"pid:[4026531836]", "uts:[4026531838]", "ipc:[4026531839]"}
_VENDORS = {"QEMU": "qemu", "Amazon EC2": "amazon", "Microsoft Corporation": "microsoft", "VMware, Inc.": "vmware"}


def system(found: Snapshot, gaps: Gaps) -> System:
    """From uname, /etc/os-release, /proc/cmdline."""
    names = (found.said("uname") or "").split("\n")
    arch, hostname, kernel, version = (names + [""] * 4)[:4]
    release = os_release(found.text("/etc/os-release"))
    made = System(
        hostname=hostname.strip() or None,
        arch=arch.strip() or None,
        kernel=kernel.strip() or None,
        kernel_version=version.strip() or None,
        command_line=found.text("/proc/cmdline"),
        os=release.get("PRETTY_NAME") or release.get("NAME"),
        uid=whole(found.said("id")),
        virtualization=_virtualization(found, gaps),
        container=_container(found, gaps),
    )
    for field, source in (("arch", "uname"), ("kernel", "uname"), ("os", "/etc/os-release"), ("uid", "id -u")):
        if getattr(made, field) is None:
            gaps.note(f"system.{field}", f"{source} does not say it")
    return made


def os_release(text: str | None) -> dict[str, str]:
    """The assignments of os-release(5); quotes of the shell are taken off, odd lines are passed over."""
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


def _virtualization(found: Snapshot, gaps: Gaps) -> str | None:
    """The hypervisor as systemd-detect-virt names it; without it from /sys and the CPU's flag (`vm`: of some kind)."""
    detected = _detected(found, "hypervisor")
    if detected is not None:
        return detected
    known = found.text("/sys/hypervisor/type") or _VENDORS.get(found.text("/sys/class/dmi/id/sys_vendor") or "")
    if known:
        return known.strip()
    flags = fields(found.text("/proc/cpuinfo")).get("flags")
    if flags is None:
        gaps.note("system.virtualization", "no systemd-detect-virt, and nothing in /sys says it")
        return None
    return "vm" if "hypervisor" in flags.split() else "none"


def _container(found: Snapshot, gaps: Gaps) -> str | None:
    """The container as systemd-detect-virt names it, or as its manager says in /run/systemd/container.

    A file such as /.dockerenv stays behind when an image is booted as a machine of its own, so a name counts only where
    the process has namespaces of its own.
    """
    named = _detected(found, "container") or found.text("/run/systemd/container")
    spaces = (found.said("namespaces") or "").split()
    inside = None if len(spaces) != len(_FIRST_NAMESPACES) else set(spaces) != _FIRST_NAMESPACES
    if named == "none" or (named is None and inside is False):
        return "none"
    if named and inside is not False:
        return named.strip()
    if named:
        gaps.note("system.container", f"there are marks of {named.strip()}, but in the first namespaces of the kernel")
    else:
        gaps.note("system.container", "no systemd-detect-virt, and no container manager says it")
    return None


def _detected(found: Snapshot, name: str) -> str | None:
    answer = found.commands.get(name)
    text = "" if answer is None else answer.text.strip()
    return text if re.fullmatch(r"[a-z0-9-]+", text) else None


def load(found: Snapshot, gaps: Gaps) -> Load:
    """From /proc/loadavg and /proc/pressure/cpu."""
    averages = [real(one) for one in (found.text("/proc/loadavg") or "").split()[:3]]
    one, five, fifteen = (averages + [None] * 3)[:3]
    if one is None:
        gaps.note("load.load1", "/proc/loadavg does not say it")
    match = _PRESSURE.search(found.text("/proc/pressure/cpu") or "")
    pressure = real(match[1]) if match else None
    if pressure is None:
        gaps.note("load.cpu_pressure_avg10", "the kernel does not account pressure")
    return Load(load1=one, load5=five, load15=fifteen, cpu_pressure_avg10=pressure)
