"""The machine as a whole, parsed from synthetic files: vendor, firmware, cloud, container, load and limits."""

from __future__ import annotations

import pytest

from asct.facts import reading, system
from asct.facts.snapshot import CommandOutput, Snapshot
from asct.facts.sources import DMI
from asct.facts.system import HIDDEN
from asct.facts.unknown import NEEDS_ROOT, UnknownFacts
from asct.sdk.facts import Firmware, Product, System

UNAME = "{arch}\nh1\n6.8.0-45-generic\n#45-Ubuntu SMP\n"
SERVER = {
    "bios_date": "03/15/2025",
    "bios_vendor": "American Megatrends International, LLC.",
    "bios_version": "F35a",
    "board_name": "MP32-AR2-00",
    "board_vendor": "GIGABYTE",
    "chassis_asset_tag": "01234567",
    "product_family": "Server",
    "product_name": "R152-P30-00",
    "product_serial": "GPG1A2712A0001",
    "product_uuid": "00000000-0000-4000-8000-b42e99000001",
    "product_version": "0100",
    "sys_vendor": "GIGABYTE",
}


def dmi(**texts: str) -> dict[str, str]:
    return {f"{DMI}/{name}": text for name, text in texts.items()}


def made_of(
    files: dict[str, str], *, arch: str = "aarch64", uid: str = "0", commands: dict[str, CommandOutput] | None = None
) -> tuple[System, dict[str, str]]:
    gaps = UnknownFacts()
    said = {"uname": CommandOutput(0, UNAME.format(arch=arch)), "id": CommandOutput(0, uid), **(commands or {})}
    return system.system(Snapshot(files, said), gaps), gaps.reasons


def test_os_release_quotes() -> None:
    text = 'NAME="Red Hat"\nPRETTY_NAME=\'It is "8"\'\n# c\nBAD="open\nODD\n'
    assert system.os_release(text) == {"NAME": "Red Hat", "PRETTY_NAME": 'It is "8"'}


FIRST = "pid:[4026531836]\nuts:[4026531838]\nipc:[4026531839]\n"


OWN = "pid:[4026532201]\nuts:[4026532198]\nipc:[4026532199]\n"


@pytest.mark.parametrize(
    ("files", "commands", "expected"),
    [
        ({}, {"hypervisor": CommandOutput(0, "kvm\n")}, "kvm"),
        ({}, {"hypervisor": CommandOutput(1, "none\n")}, "none"),
        ({}, {"hypervisor": CommandOutput(0, "kvm\n"), "container": CommandOutput(0, "docker\n")}, "kvm"),
        ({"/proc/cpuinfo": "flags : fpu hypervisor"}, {"hypervisor": CommandOutput(127, "sh: 1: not found: x")}, "vm"),
        ({"/proc/cpuinfo": "flags : fpu"}, {}, "none"),
        ({"/sys/hypervisor/type": "xen"}, {}, "xen"),
        ({"/sys/class/dmi/id/sys_vendor": "QEMU"}, {}, "qemu"),
        ({"/proc/cpuinfo": "Features : fp"}, {}, None),
    ],
)
def test_virtualization(files: dict[str, str], commands: dict[str, CommandOutput], expected: str | None) -> None:
    gaps = UnknownFacts()
    assert system.system(Snapshot(files, commands), gaps).virtualization == expected
    assert ("system.virtualization" in gaps.reasons) == (expected is None)


@pytest.mark.parametrize(
    ("manager", "detected", "namespaces", "expected"),
    [
        (None, CommandOutput(0, "docker\n"), OWN, "docker"),
        (None, CommandOutput(0, "docker\n"), OWN.replace("pid:[4026532201]", "pid:[4026531836]"), "docker"),
        (None, CommandOutput(0, "docker\n"), FIRST, None),
        (None, CommandOutput(1, "none\n"), FIRST, "none"),
        ("podman", CommandOutput(127, "sh: 1: not found: x"), OWN, "podman"),
        (None, CommandOutput(127, "sh: 1: not found: x"), FIRST, "none"),
        (None, CommandOutput(127, "sh: 1: not found: x"), OWN, None),
        (None, CommandOutput(127, "sh: 1: not found: x"), "", None),
    ],
)
def test_container(manager: str | None, detected: CommandOutput, namespaces: str, expected: str | None) -> None:
    gaps = UnknownFacts()
    files = {"/run/systemd/container": manager} if manager else {}
    commands = {"container": detected, "namespaces": CommandOutput(0 if namespaces else 1, namespaces)}
    assert system.system(Snapshot(files, commands), gaps).container == expected
    assert ("system.container" in gaps.reasons) == (expected is None)


def test_load() -> None:
    files = {
        "/proc/loadavg": "0.52 0.58 0.59 1/200 99",
        "/proc/pressure/cpu": "some avg10=1.53 avg60=0.2 avg300=0 total=1\nfull avg10=0 ...",
    }
    made = reading.load(Snapshot(files), UnknownFacts())
    assert (made.load1, made.load5, made.load15, made.cpu_pressure_avg10) == (0.52, 0.58, 0.59, 1.53)


def test_a_server() -> None:
    files = {
        **dmi(**SERVER),
        "/etc/os-release": 'PRETTY_NAME="Ubuntu 24.04.1 LTS"',
        "/proc/uptime": "1234.56 9999.00",
        "/sys/devices/platform/ipmi_bmc.0/firmware_revision": "12.61",
        "/sys/firmware/acpi/pm_profile": "4",
        "/sys/firmware/efi/fw_platform_size": "64",
    }
    made, unknown = made_of(files, commands={"libc": CommandOutput(0, "glibc 2.39\n")})
    assert made.product == Product(
        manufacturer="GIGABYTE", name="R152-P30-00", version="0100", family="Server", serial="GPG1A2712A0001",
        uuid="00000000-0000-4000-8000-b42e99000001", board="GIGABYTE MP32-AR2-00",
    )  # fmt: skip
    assert made.firmware == Firmware(
        vendor="American Megatrends International, LLC.", version="F35a", release_date="03/15/2025",
        bmc_version="12.61", boot="uefi", description="acpi",
    )  # fmt: skip
    assert (made.os, made.libc, made.uptime_s, made.hostname) == ("Ubuntu 24.04.1 LTS", "glibc 2.39", 1234.56, "h1")
    assert not any(name.startswith(("system.product", "system.firmware")) for name in unknown)


def test_serial_and_uuid_need_root() -> None:
    files = dmi(**{name: text for name, text in SERVER.items() if name not in ("product_serial", "product_uuid")})
    made, unknown = made_of(files, uid="1000")
    assert (made.product.name, made.product.serial, made.product.uuid) == ("R152-P30-00", None, None)
    assert unknown["system.product.serial"] == unknown["system.product.uuid"] == NEEDS_ROOT
    assert made_of(files, uid="0")[1]["system.product.serial"] == "not reported by the firmware"


def test_what_makers_have_not_filled_in_is_unknown() -> None:
    files = dmi(sys_vendor="Supermicro", product_name="To be filled by O.E.M.", product_serial="Default string")
    made, unknown = made_of(files, uid="1000")
    assert (made.product.manufacturer, made.product.name, made.product.serial) == ("Supermicro", None, None)
    assert unknown["system.product.serial"] == "not reported by the firmware"


def test_a_machine_with_a_device_tree() -> None:
    tree = (
        "model=Raspberry Pi 5 Model B Rev 1.0 \ncompatible=raspberrypi,5-model-b brcm,bcm2712 \nserial-number=10a1 \n"
    )
    made, unknown = made_of({}, commands={"device-tree": CommandOutput(0, tree)})
    assert made.product == Product(manufacturer="raspberrypi", name="Raspberry Pi 5 Model B Rev 1.0", serial="10a1")
    assert (made.firmware.description, made.firmware.boot) == ("device-tree", "other")
    assert unknown["system.product.uuid"] == "not reported by the device tree"


@pytest.mark.parametrize(
    ("files", "arch", "commands", "boot"),
    [
        ({"/sys/firmware/efi/fw_platform_size": "64"}, "x86_64", {}, "uefi"),
        (dmi(sys_vendor="Dell Inc."), "x86_64", {"container": CommandOutput(1, "none")}, "bios"),
        (dmi(sys_vendor="Dell Inc."), "x86_64", {"container": CommandOutput(0, "docker")}, None),
        ({}, "x86_64", {}, None),
        ({}, "s390x", {}, "other"),
        ({}, "aarch64", {}, None),
    ],
)
def test_how_it_was_started(
    files: dict[str, str], arch: str, commands: dict[str, CommandOutput], boot: str | None
) -> None:
    made, unknown = made_of(files, arch=arch, commands=commands)
    assert made.firmware.boot == boot
    assert ("system.firmware.boot" in unknown) == (boot is None)


def test_a_container_without_smbios_says_so() -> None:
    made, unknown = made_of({}, commands={"container": CommandOutput(0, "docker")})
    assert made.product == Product()
    assert unknown["system.product.name"] == unknown["system.firmware.vendor"] == HIDDEN
    _, unknown = made_of({}, commands={"container": CommandOutput(1, "none")})
    assert unknown["system.product.name"] == f"there is no SMBIOS ({DMI})"


@pytest.mark.parametrize(
    ("texts", "cloud", "kind"),
    [
        ({"sys_vendor": "Amazon EC2", "product_name": "c7g.metal"}, "aws", "c7g.metal"),
        ({"sys_vendor": "Amazon EC2", "product_name": "m7i.large"}, "aws", "m7i.large"),
        ({"sys_vendor": "Xen", "product_name": "HVM domU", "bios_version": "4.11.amazon"}, "aws", None),
        ({"sys_vendor": "Google", "product_name": "Google Compute Engine"}, "gcp", None),
        (
            {
                "sys_vendor": "Microsoft Corporation",
                "product_name": "Virtual Machine",
                "chassis_asset_tag": "7783-7084-3265-9085-8269-3286-77",
            },
            "azure",
            None,
        ),
        ({"sys_vendor": "Microsoft Corporation", "product_name": "Virtual Machine"}, None, None),
        ({"sys_vendor": "Alibaba Cloud", "product_name": "Alibaba Cloud ECS"}, "alibaba", None),
        ({"sys_vendor": "QEMU", "chassis_asset_tag": "OracleCloud.com"}, "oracle", None),
        ({"sys_vendor": "OpenStack Foundation", "product_name": "OpenStack Nova"}, "openstack", None),
        (
            {
                "sys_vendor": "OpenStack Foundation",
                "product_name": "OpenStack Nova",
                "chassis_asset_tag": "HUAWEICLOUD",
            },
            "huawei",
            None,
        ),
        ({"sys_vendor": "Hetzner", "product_name": "vServer"}, "hetzner", None),
        ({"sys_vendor": "Scaleway", "product_name": "SCW-DEV1-S"}, "scaleway", "SCW-DEV1-S"),
        (SERVER, None, None),
        ({}, None, None),
    ],
)
def test_clouds(texts: dict[str, str], cloud: str | None, kind: str | None) -> None:
    made, unknown = made_of(dmi(**texts))
    assert (made.cloud, made.instance_type) == (cloud, kind)
    assert ("system.cloud" in unknown, "system.instance_type" in unknown) == (cloud is None, kind is None)


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ({"sys_vendor": "Amazon EC2", "product_name": "c7g.metal"}, "none"),
        ({"sys_vendor": "Amazon EC2", "product_name": "c7g.large"}, "amazon"),
        ({"sys_vendor": "Google", "product_name": "Google Compute Engine"}, "google"),
        ({"sys_vendor": "Microsoft Corporation", "product_name": "Virtual Machine"}, "microsoft"),
        ({"sys_vendor": "Microsoft Corporation", "product_name": "Surface Laptop"}, None),
        ({"sys_vendor": "Red Hat", "product_name": "KVM"}, "kvm"),
    ],
)
def test_virtual_machines_by_their_makers(texts: dict[str, str], expected: str | None) -> None:
    assert made_of(dmi(**texts))[0].virtualization == expected


@pytest.mark.parametrize(
    ("compatible", "expected"), [("linux,dummy-virt", "qemu"), ("qemu,pseries", "qemu"), ("linux,dummy-virtual", None)]
)
def test_virtual_machines_by_their_device_tree(compatible: str, expected: str | None) -> None:
    tree = {"device-tree": CommandOutput(0, f"model=x\ncompatible={compatible}\n")}
    assert made_of({}, commands=tree)[0].virtualization == expected


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("glibc 2.36\n", "glibc 2.36"),
        ("musl libc (x86_64)\nVersion 1.2.4\nDynamic Program Loader\n", "musl 1.2.4"),
        ("ldd (GNU libc) 2.17", None),
        ("", None),
        (None, None),
    ],
)
def test_libc(said: str | None, expected: str | None) -> None:
    gaps = UnknownFacts()
    assert system.libc(said, gaps) == expected
    assert ("system.libc" in gaps.reasons) == (expected is None)


def test_pressure_and_running_tasks() -> None:
    files = {
        "/proc/loadavg": "0.52 0.58 0.59 3/200 99",
        "/proc/pressure/memory": "some avg10=0.10 avg60=0.2 avg300=0 total=1",
        "/proc/pressure/io": "full avg10=1.00\nsome avg10=2.50 avg60=0",
    }
    gaps = UnknownFacts()
    made = reading.load(Snapshot(files), gaps)
    assert (made.running, made.memory_pressure_avg10, made.io_pressure_avg10) == (3, 0.1, 2.5)
    assert set(gaps.reasons) == {"load.cpu_pressure_avg10"}
    assert reading.load(Snapshot({"/proc/loadavg": "0.5 x"}), UnknownFacts()).running is None


LIMITS = """\
Limit                     Soft Limit           Hard Limit           Units
Max cpu time              unlimited            unlimited            seconds
Max processes             96365                unlimited            processes
Max open files            1024                 524288               files
Max locked memory         unlimited            unlimited            bytes
"""


def test_limits() -> None:
    gaps = UnknownFacts()
    assert reading.limits(Snapshot({"/proc/self/limits": LIMITS}), gaps) == {
        "memlock": None,
        "nofile": 1024,
        "nproc": 96365,
    }
    assert gaps.reasons == {}
    assert reading.limits(Snapshot({"/proc/self/limits": LIMITS[:200]}), gaps) == {}
    assert set(gaps.reasons) == {"limits.memlock", "limits.nofile", "limits.nproc"}


def test_a_dump_without_the_architecture_keeps_the_other_names_in_their_places() -> None:
    found = Snapshot({}, {"uname": CommandOutput(0, "\n\n6.1.0-9\n#1 SMP Debian")})
    made = system.system(found, UnknownFacts())
    assert (made.arch, made.hostname, made.kernel, made.kernel_version) == (None, None, "6.1.0-9", "#1 SMP Debian")
