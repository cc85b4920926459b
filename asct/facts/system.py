"""The machine as a whole: kernel, distribution, account, what it runs in.

Sources of the cloud (from the firmware only, never from the network): cloud-init, tools/ds-identify; Amazon EC2 User
Guide, "Detect whether a host is an EC2 instance"; the chassis asset tags of Azure and Oracle virtual machines; Google
Compute Engine, "Detect if a VM is running in Compute Engine".
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

from asct.facts.kernel import kernel as of_kernel
from asct.facts.product import device_tree, dmi, firmware, product
from asct.facts.snapshot import Snapshot
from asct.facts.unknown import UnknownFacts, fields, real, whole
from asct.sdk.facts import System

_UNASKED = "only the cloud's metadata service reports it, and asct does not query the network"
AZURE_TAG = "7783-7084-3265-9085-8269-3286-77"


@dataclass(frozen=True, slots=True)
class _Mark:
    """A file of /sys/class/dmi/id whose text begins with `text`, and whether product_name is the kind of machine."""

    file: str
    text: str
    cloud: str
    names_type: bool = False


_MARKS = (
    _Mark("sys_vendor", "Amazon EC2", "aws", names_type=True),
    _Mark("chassis_asset_tag", AZURE_TAG, "azure"),
    _Mark("chassis_asset_tag", "OracleCloud.com", "oracle"),
    _Mark("chassis_asset_tag", "HUAWEICLOUD", "huawei"),
    _Mark("chassis_asset_tag", "OpenTelekomCloud", "open-telekom"),
    _Mark("chassis_asset_tag", "SAP CCloud VM", "sap"),
    _Mark("chassis_asset_tag", "ibmcloud", "ibm"),
    _Mark("product_name", "Google Compute Engine", "gcp"),
    _Mark("sys_vendor", "Google", "gcp"),
    _Mark("sys_vendor", "Alibaba Cloud", "alibaba"),
    _Mark("product_name", "Alibaba Cloud ECS", "alibaba"),
    _Mark("sys_vendor", "Tencent Cloud", "tencent"),
    _Mark("sys_vendor", "Hetzner", "hetzner"),
    _Mark("sys_vendor", "DigitalOcean", "digitalocean"),
    _Mark("sys_vendor", "Vultr", "vultr"),
    _Mark("sys_vendor", "Scaleway", "scaleway", names_type=True),
    _Mark("sys_vendor", "UpCloud", "upcloud"),
    _Mark("sys_vendor", "Akamai", "akamai"),
    _Mark("sys_vendor", "Linode", "akamai"),
    _Mark("product_name", "Exoscale", "exoscale"),
    _Mark("product_name", "CloudSigma", "cloudsigma"),
    _Mark("product_name", "OpenStack Nova", "openstack"),
    _Mark("product_name", "OpenStack Compute", "openstack"),
    _Mark("sys_vendor", "OpenStack Foundation", "openstack"),
)
"""In the order of their weight: clouds made of OpenStack have their own tags."""


def cloud(found: Snapshot, gaps: UnknownFacts) -> tuple[str | None, str | None]:
    """The provider and its name for the instance type (`aws`, `c7g.metal`)."""
    mark = next((one for one in _MARKS if (dmi(found, one.file) or "").startswith(one.text)), None)
    if mark is not None:
        kind = dmi(found, "product_name") if mark.names_type else None
        if kind is None:
            gaps.note("system.instance_type", _UNASKED)
        return mark.cloud, kind
    if (dmi(found, "bios_version") or "").endswith(".amazon"):  # EC2 on Xen, before Nitro
        gaps.note("system.instance_type", _UNASKED)
        return "aws", None
    for field in ("cloud", "instance_type"):
        gaps.note(f"system.{field}", "the firmware has no cloud identifier")
    return None, None


_SOURCES = {
    "hostname": "uname",
    "arch": "uname",
    "kernel": "uname",
    "kernel_version": "uname",
    "os": "/etc/os-release",
    "uid": "id -u",
    "uptime_s": "/proc/uptime",
}
# include/linux/proc_ns.h: the inodes of the namespaces that the kernel starts with
_FIRST_NAMESPACES = {"pid:[4026531836]", "uts:[4026531838]", "ipc:[4026531839]"}
# systemd, src/basic/virt.c: makers of virtual machines, and of the firmware that some bring along
_VENDORS = {
    "QEMU": "qemu",
    "KVM": "kvm",
    "OpenStack Foundation": "kvm",
    "Google Compute Engine": "google",
    "Amazon EC2": "amazon",
    "VMware, Inc.": "vmware",
    "VMware7,1": "vmware",
    "innotek GmbH": "oracle",
    "VirtualBox": "oracle",
    "Oracle Corporation": "oracle",
    "Xen": "xen",
    "Bochs": "bochs",
    "Parallels": "parallels",
    "BHYVE": "bhyve",
    "Virtual Machine": "microsoft",
    "Apple Virtualization": "apple",
}


def system(found: Snapshot, gaps: UnknownFacts) -> System:
    """The system, from uname, os-release(5), the firmware and the kernel."""
    answer = found.commands.get("uname")  # not `said`: a dump may have no first line, and the others keep their places
    names = answer.text.split("\n") if answer is not None and answer.status == 0 else []
    arch, hostname, kernel, version = [name.strip() or None for name in (names + [""] * 4)[:4]]
    release = os_release(found.text("/etc/os-release") or found.text("/usr/lib/os-release"))
    container = _container(found, gaps)
    provider, instance_type = cloud(found, gaps)
    made = System(
        hostname=hostname,
        arch=arch,
        kernel=kernel,
        kernel_version=version,
        os=release.get("PRETTY_NAME") or release.get("NAME"),
        libc=libc(found.command_output("libc"), gaps),
        uid=whole(found.command_output("id")),
        uptime_s=real((found.text("/proc/uptime") or "").partition(" ")[0]),
        virtualization=_virtualization(found, gaps),
        container=container,
        cloud=provider,
        instance_type=instance_type,
        product=product(found, container, gaps),
        firmware=firmware(found, arch, container, gaps),
        **of_kernel(found, container, gaps),
    )
    for field, source in _SOURCES.items():
        if getattr(made, field) is None:
            gaps.note(f"system.{field}", f"{source} does not report it")
    return made


def libc(said: str | None, gaps: UnknownFacts) -> str | None:
    """`glibc 2.36` as getconf(1) prints it, or `musl 1.2.4` from musl's loader."""
    text = said or ""
    if match := re.match(r"glibc [\d.]{1,20}", text, re.ASCII):
        return match[0]
    if text.startswith("musl") and (match := re.search(r"^Version ([\d.]{1,20})", text, re.MULTILINE | re.ASCII)):
        return f"musl {match[1]}"
    gaps.note("system.libc", "neither getconf nor ldd reports it")
    return None


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


def _virtualization(found: Snapshot, gaps: UnknownFacts) -> str | None:
    """The hypervisor as systemd-detect-virt names it; without it from /sys and the CPU's flag (`vm`: of some kind)."""
    detected = _detected(found, "hypervisor")
    if detected is not None:
        return detected
    metal = (dmi(found, "product_name") or "").endswith(".metal")  # Amazon EC2, without a hypervisor
    names = [] if metal else [dmi(found, name) for name in ("product_name", "sys_vendor", "bios_vendor")]
    known = found.text("/sys/hypervisor/type") or next((_VENDORS[name] for name in names if name in _VENDORS), None)
    if known:
        return known.strip()
    if metal:
        return "none"
    if re.search(r"(?:^| )(?:qemu,|linux,dummy-virt\b)", device_tree(found).get("compatible", "")):
        return "qemu"
    flags = fields(found.text("/proc/cpuinfo")).get("flags")
    if flags is None:
        gaps.note("system.virtualization", "no systemd-detect-virt, and nothing in /sys reports it")
        return None
    return "vm" if "hypervisor" in flags.split() else "none"


def _container(found: Snapshot, gaps: UnknownFacts) -> str | None:
    """The container by its name in systemd-detect-virt, or in its manager's /run/systemd/container.

    A file such as /.dockerenv remains if an image is booted as a machine, so a name counts only if the process has
    namespaces of its own.
    """
    named = _detected(found, "container") or found.text("/run/systemd/container")
    spaces = (found.command_output("namespaces") or "").split()
    inside = None if len(spaces) != len(_FIRST_NAMESPACES) else set(spaces) != _FIRST_NAMESPACES
    if named == "none" or (named is None and inside is False):
        return "none"
    if named and inside is not False:
        return named.strip()
    if named:
        gaps.note("system.container", f"{named.strip()} identifiers found, but in the initial kernel namespaces")
    else:
        gaps.note("system.container", "no systemd-detect-virt, and no container manager reports it")
    return None


def _detected(found: Snapshot, name: str) -> str | None:
    answer = found.commands.get(name)
    text = "" if answer is None else answer.text.strip()
    return text if re.fullmatch(r"[a-z0-9-]+", text) else None
