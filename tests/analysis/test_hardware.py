"""A storage value is compared only with values of drives of the same kind, whatever the names of the devices are."""

from __future__ import annotations

from typing import Any

import pytest

from asct.analysis.groups import gather
from asct.analysis.hardware import RunHardware, hardware_change, host_change
from asct.sdk.facts import BlockDevice, HostFacts, Mount, NumaNode
from tests.analysis.test_expectations import record


def drive(name: str = "nvme0n1", **changes: Any) -> BlockDevice:
    body = {"kind": "disk", "model": "ACME X1", "size_bytes": 960 * 10**9, "firmware": "1.0", "serial": "S1", **changes}
    return BlockDevice(name=name, **body)


PARTITION = BlockDevice(name="nvme0n1p1", kind="partition", parent="nvme0n1")
VOLUME = BlockDevice(name="dm-0", kind="dm", mapper_name="vg-data")


def hardware(*devices: BlockDevice, files: list[str] | None, mounts: tuple[Mount, ...] = ()) -> RunHardware:
    facts = HostFacts(host="a", collected_at="t", block_devices=list(devices), mounts=list(mounts))
    settings = {} if files is None else {"file_names": files}
    job = {"host": "a", "id": "job", "settings": settings}
    return RunHardware({"a": facts}, {"jobs": [job], "hosts": [{"name": "a", "workdir": "/var/tmp/asct"}]})


def change(before: RunHardware, after: RunHardware) -> str:
    [place] = gather([record(1.0)])
    return hardware_change(before, after, place)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, ""),
        ({"serial": "S2"}, ""),
        ({"model": "ACME X2"}, "the drive was ACME X1, 960 GB, firmware 1.0 and is now ACME X2, 960 GB, firmware 1.0"),
        ({"size_bytes": 480 * 10**9}, "ACME X1, 480 GB"),
        ({"firmware": "2.0"}, "is now ACME X1, 960 GB, firmware 2.0"),
        ({"model": None, "firmware": None}, ""),
    ],
)
def test_model_capacity_and_firmware_count_and_serial_numbers_do_not(changes: dict[str, Any], reason: str) -> None:
    before, after = (hardware(one, files=["/dev/nvme0n1"]) for one in (drive(), drive(**changes)))
    assert reason in change(before, after)
    assert bool(change(before, after)) is bool(reason)


def test_partitions_volumes_and_files_lead_to_their_drive() -> None:
    mounts = (
        Mount(source="/dev/sda1", target="/", type="ext4"),
        Mount(source="/dev/nvme0n1p1", target="/data", type="xfs"),
    )
    volume = drive(holders=["dm-0"])
    for file, devices in (
        ("/dev/nvme0n1p1", (drive(), PARTITION)), ("/data/file", (drive(), PARTITION)),
        ("/dev/dm-0", (volume, VOLUME)), ("/dev/mapper/vg-data", (volume, VOLUME)),
    ):  # fmt: skip
        before = hardware(*devices, files=[file], mounts=mounts)
        other = hardware(devices[0].model_copy(update={"model": "B"}), *devices[1:], files=[file], mounts=mounts)
        assert change(before, before) == ""
        assert "ACME X1" in change(before, other)


def test_temporary_files_are_on_the_drive_of_the_work_folder() -> None:
    mounts = (Mount(source="/dev/nvme0n1p1", target="/", type="ext4"),)
    before, after = (hardware(one, PARTITION, files=[], mounts=mounts) for one in (drive(), drive(model="B")))
    assert "ACME X1" in change(before, after)


def test_other_drives_and_benchmarks_without_a_target_do_not_matter() -> None:
    before, after = drive(), drive(model="B")
    assert change(hardware(before, files=None), hardware(after, files=None)) == ""
    assert change(hardware(before, files=["/dev/sdb"]), hardware(after, files=["/dev/sdb"])) == ""
    assert change(hardware(before, files=["/dev/disk/by-id/x"]), hardware(after, files=["/dev/disk/by-id/x"])) == ""


def test_fewer_drives_are_other_hardware() -> None:
    one, two = drive(holders=["md0"]), drive("nvme1n1", holders=["md0"])
    raid = BlockDevice(name="md0", kind="md")
    before, after = hardware(one, two, raid, files=["/dev/md0"]), hardware(one, raid, files=["/dev/md0"])
    assert change(before, before) == ""
    assert "and is now missing" in change(before, after)


def test_drives_may_swap_their_names() -> None:
    raid = BlockDevice(name="md0", kind="md")
    models = [("A", "B"), ("B", "A"), ("B", "C")]
    before, swapped, other = (
        hardware(
            drive(model=first, holders=["md0"]), drive("nvme1n1", model=second, holders=["md0"]), raid,
            files=["/dev/md0"],
        )
        for first, second in models
    )  # fmt: skip
    assert change(before, swapped) == ""
    assert "the drive was A" in change(before, other)


def test_unknown_nodes_are_not_compared() -> None:
    unknown, known = (
        HostFacts(host="a", collected_at="t"),
        HostFacts(host="a", collected_at="t", nodes=[NumaNode(id=0, cpus=[0])]),
    )
    two = known.model_copy(update={"nodes": [NumaNode(id=0, cpus=[0]), NumaNode(id=1, cpus=[1])]})
    assert host_change(unknown, known) == host_change(known, unknown) == ""
    assert host_change(known, two) == "different hardware: the number of NUMA nodes was 1 and is now 2"
