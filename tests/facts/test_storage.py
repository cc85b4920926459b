"""Block devices, drives and mounts, parsed from synthetic files."""

from __future__ import annotations

import json

import pytest

from asct.facts.blocks import block_devices
from asct.facts.devices import DeviceLocation, places
from asct.facts.mounts import mounts
from asct.facts.snapshot import CommandOutput, Snapshot
from asct.facts.unknown import NEEDS_ROOT, UnknownFacts
from asct.sdk.facts import BlockDevice, NvmeHealth

MOUNTINFO = """\
25 30 0:23 / /proc rw,nosuid - proc proc rw
26 30 0:24 / /sys/fs/cgroup rw - tmpfs tmpfs rw
30 1 259:2 / / rw,relatime shared:1 - ext4 /dev/root rw,errors=remount-ro
31 30 0:40 /@home /home rw,noatime shared:9 - btrfs /dev/sda1 rw,ssd,space_cache=v2
32 30 253:0 / /mnt/my\\040disk rw - xfs /dev/mapper/vg-data rw
33 30 0:50 / /nfs rw - nfs4 10.1.2.3:/export rw,vers=4.2,clientaddr=10.1.2.4,addr=10.1.2.3
odd line
34 30 0:51 / /short rw
"""
SPACE = """\
Filesystem         1024-blocks      Used Available Capacity Mounted on
/dev/root            959786032 123456789 787500000      14% /
/dev/sda1                 1000       100       900      10% /home
/dev/mapper/vg-data       2000       100      1900       6% /mnt/my disk
df: /gone: No such file or directory
"""
DEVICES = """\
/sys/class/nvme/nvme0|/sys/devices/pci0000:00/0000:00:01.1/0000:01:00.0/nvme/nvme0|||1|16.0 GT/s PCIe|4|16.0 GT/s PCIe|4|DRIVER=nvme
/sys/class/nvme/nvme1|/sys/devices/pci0000:00/0000:00:01.2/0000:02:00.0/nvme/nvme1|||0|8.0 GT/s PCIe|2|32.0 GT/s PCIe|4|DRIVER=nvme
/sys/class/hwmon/hwmon2|/sys/devices/pci0000:00/0000:00:01.1/0000:01:00.0/nvme/nvme0/hwmon2|||1|16.0 GT/s PCIe|4|16.0 GT/s PCIe|4|DRIVER=nvme
/sys/block/nvme0n1|/sys/devices/pci0000:00/0000:00:01.1/0000:01:00.0/nvme/nvme0/nvme0n1|64||1|16.0 GT/s PCIe|4|16.0 GT/s PCIe|4|DRIVER=nvme
/sys/block/nvme1n1|/sys/devices/virtual/nvme-subsystem/nvme-subsys1/nvme1n1|0|
/sys/block/sda|/sys/devices/pci0000:00/0000:00:17.0/ata3/host2/target2:0:0/2:0:0:0/block/sda|1||-1|||||DRIVER=ahci
/sys/block/vda|/sys/devices/pci0000:00/0000:00:05.0/virtio2/block/vda|4||-1|Unknown|0|Unknown|255|DRIVER=virtio-pci
/sys/block/sdb|/sys/devices/pci0000:00/0000:00:14.0/usb2/2-1/2-1:1.0/host9/target9:0:0/9:0:0:0/block/sdb|1||-1|||||DRIVER=xhci_hcd
cut|
"""  # noqa: E501
UDEV = """\
/run/udev/data/b8:0:E:ID_BUS=ata
/run/udev/data/b8:0:E:ID_MODEL_ENC=Samsung\\x20SSD\\x20860\\x20EVO\\x20500GB
/run/udev/data/b8:0:E:ID_REVISION=RVT04B6Q
/run/udev/data/b8:0:E:ID_SERIAL_SHORT=S3Z1NB0K123456A
"""
LOG = {
    "critical_warning": 0, "temperature": 311, "avail_spare": 100, "spare_thresh": 10, "percent_used": 3,
    "data_units_read": "1,000", "data_units_written": 2_000, "power_on_hours": 1234, "unsafe_shutdowns": 5,
    "media_errors": 0,
}  # fmt: skip


def disk(name: str, **texts: str) -> dict[str, str]:
    return {f"/sys/block/{name}/{path.replace('__', '/')}": text for path, text in {"size": "2048", **texts}.items()}


def nvme(name: str, **texts: str) -> dict[str, str]:
    return {f"/sys/class/nvme/{name}/{path}": text for path, text in texts.items()}


FILES = {
    **disk(
        "nvme0n1", size="3907029168", dev="259:0", removable="0", ro="0", queue__rotational="0",
        queue__scheduler="[none] mq-deadline kyber", queue__nr_requests="1023", queue__logical_block_size="512",
        queue__physical_block_size="4096", queue__optimal_io_size="0", queue__read_ahead_kb="128",
        queue__write_cache="write back", queue__discard_max_bytes="2199023255040",
        device__model="SAMSUNG MZVL21T0HCLR-00B00             ", device__serial="S676NX0R111111      ",
        device__firmware_rev="GXA7801Q", device__subsysnqn="nqn.a",
        nvme0n1p1__partition="1", nvme0n1p1__size="2048", nvme0n1p1__ro="0", nvme0n1p1__dev="259:1",
        nvme0n1p10__partition="10", nvme0n1p10__size="1", nvme0n1p10__dev="259:9",
        nvme0n1p2__partition="2", nvme0n1p2__size="4096", nvme0n1p2__ro="1", nvme0n1p2__dev="259:2",
    ),
    **disk("nvme1n1", device__subsysnqn="nqn.b", device__model="M"),
    **disk("nvme1c1n1", hidden="1"),
    **disk("sda", dev="8:0", device__model="Samsung SSD 860 ", device__rev="4B6Q", device__uevent="DRIVER=sd",
           queue__scheduler="mq-deadline", sda1__partition="1", sda1__size="8", sda1__dev="8:1"),
    **disk("sdb", device__uevent="DEVTYPE=scsi_device\nDRIVER=sd", removable="1"),
    **disk("vda", serial="disk-1", device__uevent="DRIVER=virtio_blk"),
    **disk("dm-0", dev="253:0", dm__name="vg-data", slaves__sda1__dev="8:1"),
    **disk("md0", md__level="raid1", slaves__dm_0__dev="253:0"),
    **disk("loop0", loop__backing_file="/var/lib/a.img"),
    **disk("loop1", size="0"),
    **disk("sr0", removable="1"),
    **disk("zram0"),
    **disk("nbd0", size="8"),
    **disk("nbd1", size="0"),
    **disk("sdz", size="0"),
    **disk("sdy", size="?"),
    **nvme("nvme0", model="SAMSUNG", transport="pcie", subsysnqn="nqn.a"),
    **nvme("nvme1", transport="pcie", subsysnqn="nqn.b"),
    "/sys/class/hwmon/hwmon2/temp1_input": "38850",
    "/proc/self/mountinfo": MOUNTINFO,
}  # fmt: skip
HEALTH = f"/dev/nvme0\n{json.dumps(LOG, indent=2)}\n/dev/nvme1 needs root\n"
COMMANDS = {
    "devices": CommandOutput(0, DEVICES),
    "udev": CommandOutput(0, UDEV),
    "space": CommandOutput(0, SPACE),
    "nvme-health": CommandOutput(0, HEALTH),
}


def devices_of(
    files: dict[str, str], commands: dict[str, CommandOutput]
) -> tuple[dict[str, BlockDevice], dict[str, str]]:
    gaps = UnknownFacts()
    return {one.name: one for one in block_devices(Snapshot(files, commands), gaps)}, gaps.reasons


def test_an_nvme_drive() -> None:
    made, _ = devices_of(FILES, COMMANDS)
    assert made["nvme0n1"] == BlockDevice(
        name="nvme0n1", kind="disk", size_bytes=3907029168 * 512, transport="nvme",
        model="SAMSUNG MZVL21T0HCLR-00B00", serial="S676NX0R111111", firmware="GXA7801Q", rotational=False,
        removable=False, read_only=False, logical_bytes=512, physical_bytes=4096, scheduler="none",
        queue_requests=1023, hardware_queues=64, read_ahead_bytes=128 << 10, write_cache="write back", discard=True,
        node=1, pci_address="0000:01:00.0", link="16.0 GT/s PCIe x4", link_max="16.0 GT/s PCIe x4", driver="nvme",
        nvme=NvmeHealth(
            celsius=38.0, critical_warning=0, available_spare=100, percentage_used=3, read_bytes=1_000 * 512_000,
            written_bytes=2_000 * 512_000, power_on_hours=1234, unsafe_shutdowns=5, media_errors=0,
        ),
    )  # fmt: skip


def test_partitions_in_order_and_where_they_are_mounted() -> None:
    made, _ = devices_of(FILES, COMMANDS)
    names = list(made)
    assert names[names.index("nvme0n1") :][1:4] == ["nvme0n1p1", "nvme0n1p2", "nvme0n1p10"]
    second = made["nvme0n1p2"]
    assert (second.kind, second.parent, second.size_bytes) == ("partition", "nvme0n1", 4096 * 512)
    assert (second.read_only, second.mounted_at) == (True, ["/"])
    assert (made["sda1"].mounted_at, made["sda1"].holders) == (["/home"], ["dm-0"])


def test_a_drive_with_several_paths_is_that_of_its_only_controller() -> None:
    made, unknown = devices_of(FILES, COMMANDS)
    drive = made["nvme1n1"]
    assert (drive.pci_address, drive.link, drive.link_max) == (
        "0000:02:00.0", "8.0 GT/s PCIe x2", "32.0 GT/s PCIe x4",
    )  # fmt: skip
    assert (drive.node, drive.driver, drive.transport, drive.nvme) == (0, "nvme", "nvme", None)
    assert unknown["block_devices.nvme1n1.nvme"] == NEEDS_ROOT
    more = {**FILES, **nvme("nvme7", transport="tcp", subsysnqn="nqn.b")}
    assert devices_of(more, COMMANDS)[0]["nvme1n1"].pci_address is None
    fabric = {**disk("nvme1n1", device__subsysnqn="n"), **nvme("nvme3", transport="tcp", subsysnqn="n")}
    assert devices_of(fabric, {})[0]["nvme1n1"].transport == "nvme-tcp"


def test_disks_behind_scsi_and_others() -> None:
    made, unknown = devices_of(FILES, COMMANDS)
    sata = made["sda"]
    assert (sata.transport, sata.model, sata.serial) == ("sata", "Samsung SSD 860 EVO 500GB", "S3Z1NB0K123456A")
    assert (sata.firmware, sata.driver, sata.scheduler) == ("RVT04B6Q", "ahci", "mq-deadline")
    assert (sata.pci_address, sata.node) == ("0000:00:17.0", None)
    assert (made["sdb"].transport, made["sdb"].driver, made["sdb"].removable) == ("usb", None, True)
    virtual = made["vda"]
    assert (virtual.transport, virtual.driver, virtual.serial) == ("virtio", "virtio_blk", "disk-1")
    assert (virtual.link, virtual.link_max, virtual.hardware_queues) == (None, None, 4)
    assert {"block_devices.vda.model", "block_devices.sdb.serial"} <= set(unknown)
    assert not any(name.startswith("block_devices.dm-0") for name in unknown)


def test_devices_made_of_others() -> None:
    made, _ = devices_of(FILES, COMMANDS)
    assert {name: one.kind for name, one in made.items() if one.kind not in ("disk", "partition")} == {
        "dm-0": "dm", "md0": "md", "loop0": "loop", "sr0": "rom", "zram0": "zram", "nbd0": "virtual",
    }  # fmt: skip
    assert (made["dm-0"].mapper_name, made["dm-0"].mounted_at) == ("vg-data", ["/mnt/my disk"])
    assert (made["md0"].raid_level, made["loop0"].backing_file) == ("raid1", "/var/lib/a.img")
    assert "nvme1c1n1" not in made
    assert not {"loop1", "nbd1"} & set(made)
    assert (made["sdz"].size_bytes, made["sdy"].size_bytes) == (0, None)


def test_without_root_the_sensor_still_tells_the_temperature() -> None:
    for line, reason in (("needs root", NEEDS_ROOT), ("needs nvme-cli", "needs nvme-cli")):
        commands = {**COMMANDS, "nvme-health": CommandOutput(0, f"/dev/nvme0 {line}\n")}
        made, unknown = devices_of(FILES, commands)
        assert made["nvme0n1"].nvme == NvmeHealth(celsius=38.85)
        assert unknown["block_devices.nvme0n1.nvme"] == reason


@pytest.mark.parametrize(
    "log", ["", "{", "[1]", '{"temperature": "hot", "critical_warning": {"value": -1}}', "[" * 9999]
)
def test_odd_health_logs(log: str) -> None:
    made, unknown = devices_of(FILES, {**COMMANDS, "nvme-health": CommandOutput(0, f"/dev/nvme0\n{log}\n")})
    assert made["nvme0n1"].nvme == NvmeHealth(celsius=38.85)
    assert ("block_devices.nvme0n1.nvme" in unknown) == (not log.startswith('{"'))


def test_newer_logs_give_flags_with_their_meaning() -> None:
    log = json.dumps({"critical_warning": {"value": 4, "reliability_degraded": 1}, "temperature": 300})
    made, _ = devices_of(FILES, {**COMMANDS, "nvme-health": CommandOutput(0, f"/dev/nvme0\n{log}\n")})
    assert made["nvme0n1"].nvme == NvmeHealth(celsius=27.0, critical_warning=4)


def test_a_copy_of_sysfs_alone() -> None:
    made, _ = devices_of({path: text for path, text in FILES.items() if path.startswith("/sys/block")}, {})
    assert (made["nvme0n1"].transport, made["nvme0n1"].pci_address) == ("nvme", None)
    assert (made["vda"].transport, made["vda"].driver) == ("virtio", "virtio_blk")
    gaps = UnknownFacts()
    assert block_devices(Snapshot(), gaps) == []
    assert "block_devices" in gaps.reasons


def test_places() -> None:
    found = places(Snapshot({}, {"devices": CommandOutput(0, DEVICES)}))
    assert len(found) == 8
    net = "/sys/class/net/eth0|/sys/devices/pci0000:00/0000:00:03.0/virtio1/net/eth0|4|2|-1|||||DRIVER=virtio-pci"
    [place] = places(Snapshot({}, {"devices": CommandOutput(0, net)})).values()
    assert place == DeviceLocation(
        "/sys/devices/pci0000:00/0000:00:03.0/virtio1/net/eth0", receiving=4, sending=2, driver="virtio-pci"
    )
    assert place.pci_address == "0000:00:03.0"
    assert DeviceLocation("/sys/devices/platform/10000000:00:00.0x/net/eth0").pci_address is None


def test_mounts() -> None:
    gaps = UnknownFacts()
    made = {one.target: one for one in mounts(Snapshot(FILES, COMMANDS), gaps)}
    assert list(made) == ["/", "/home", "/mnt/my disk", "/nfs"]
    assert (made["/"].size_bytes, made["/"].free_bytes) == (959786032 << 10, 787500000 << 10)
    assert made["/home"].options == ["rw", "noatime", "ssd", "space_cache=v2"]
    assert (made["/mnt/my disk"].source, made["/mnt/my disk"].free_bytes) == ("/dev/mapper/vg-data", 1900 << 10)
    assert (made["/nfs"].type, made["/nfs"].size_bytes) == ("nfs4", None)
    assert (made["/nfs"].source, made["/nfs"].options) == ("***:/export", ["rw", "vers=4.2"])
    assert list(gaps.reasons) == ["mounts./nfs.size_bytes"]
    empty = UnknownFacts()
    assert mounts(Snapshot(), empty) == []
    assert "mounts" in empty.reasons


def test_of_several_mounts_at_one_place_the_last_is_seen() -> None:
    lines = "1 0 8:1 / /a rw - ext4 /dev/sda1 rw\n2 1 8:2 / /a rw - xfs /dev/sda2 rw"
    [made] = mounts(Snapshot({"/proc/self/mountinfo": lines}), UnknownFacts())
    assert made.source == "/dev/sda2"


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("server.example:/export", "server.example:/export"),
        ("[2001:db8::1]:/export", "***:/export"),
        ("192.0.2.1:6789,192.0.2.2:/", "***:6789,***:/"),
        ("//server/share", "//server/share"),
        ("//192.0.2.1/share", "//***/share"),
        ("192.0.2.1@tcp:/fs", "***@tcp:/fs"),
        ("/dev/mapper/vg-1.2.3.4", "/dev/mapper/vg-1.2.3.4"),
        ("/dev/disk/by-id/a:b", "/dev/disk/by-id/a:b"),
    ],
)
def test_addresses_of_servers_are_left_out(source: str, shown: str) -> None:
    [made] = mounts(Snapshot({"/proc/self/mountinfo": f"1 0 0:9 / /a rw - nfs {source} rw"}), UnknownFacts())
    assert made.source == shown


def test_a_data_base_of_udev_that_was_cut_is_the_reason() -> None:
    files = {"/sys/block/sdz/size": "8"}
    gaps, cut = UnknownFacts(), UnknownFacts()
    block_devices(Snapshot(files), gaps)
    block_devices(Snapshot(files, omitted={"block_devices.udev": 3}), cut)
    assert gaps.reasons["block_devices.sdz.serial"] == "reported by neither the Linux kernel nor udev"
    assert cut.reasons["block_devices.sdz.serial"] == "only part of the udev database was read"
