"""Purges of the emulated drives in the lab: formats of NVMe namespaces, and a disk that cannot be purged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.running import require_measured
from tests.machines.guest import Guest
from tests.machines.lab import GOOD, LARGE_SECTORS, PAIR, scsi_disk, scsi_serial
from tests.machines.running import measured, of
from tests.machines.test_drives import consent, entry, plan

pytestmark = [pytest.mark.machines, pytest.mark.fio, pytest.mark.timeout(900)]

SHORT: dict[str, Any] = {
    "mixes": [0], "dependent": ["4K:0"], "round_time": "500ms", "window": 2, "excursion": 100, "slope": 100,
    "steady_volume": 0, "numjobs": 1, "iodepth": 4, "precondition": 1, "active_range": "4M",
}  # fmt: skip
SIZES = {"good": ["4K", "512"], "large": ["4K", "512"]}
"""Block sizes of the drives. The others support only 4 KiB."""
NVME = {"good": GOOD, "pair": PAIR, "large": LARGE_SECTORS}


@pytest.fixture(scope="module")
def purged(lab: Guest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run that purges each drive with a method that the drive supports."""
    blank = scsi_disk("slow")
    disks = {name: drive.disk() for name, drive in NVME.items()} | {"scsi": blank}
    entries = [
        entry(name, disk, "storage-iops", block_sizes=SIZES.get(name, ["4K"]), **SHORT) for name, disk in disks.items()
    ]
    consents = [consent(drive.disk(), drive.serial) for drive in NVME.values()]
    consents.append(consent(blank, scsi_serial("slow")))
    lab.sh(f"printf asct | dd of={PAIR.disk(2)} bs=512 seek=100 conv=notrunc,fsync 2>/dev/null")
    ended, run = measured(plan(entries, consents), [lab], tmp_path_factory.mktemp("purged"))
    require_measured(ended, run)
    return run


def methods(run: Path, identifier: str) -> list[str]:
    return [record["coords"]["method"] for record in of(run, "purged") if record["id"] == identifier]


@pytest.mark.parametrize("name", list(NVME))
def test_a_namespace_is_formatted_and_is_empty_then(purged: Path, name: str) -> None:
    assert methods(purged, name) == ["nvme-format"]
    flags = {flag for one in of(purged, "iops") if one["id"] == name for flag in one["flags"]}
    assert not {"not-purged", "purge-unverified"} & flags


def test_the_format_in_use_is_kept(purged: Path) -> None:
    sizes = {one["coords"]["format"] for one in of(purged, "device_size") if one["id"] == "large"}
    assert sizes == {4096}
    assert [one["value"] for one in of(purged, "left_out") if one["id"] == "large"] == [512]
    assert {one["coords"]["block_size"] for one in of(purged, "iops") if one["id"] == "large"} == {4096}
    assert {one["coords"]["block_size"] for one in of(purged, "iops") if one["id"] == "good"} == {4096, 512}


def test_the_other_namespace_is_left_alone(purged: Path, lab: Guest) -> None:
    assert lab.sh(f"dd if={PAIR.disk(2)} bs=512 skip=100 count=1 2>/dev/null | head -c 4") == "asct"


def test_a_disk_without_a_way_is_said_not_to_be_purged(purged: Path) -> None:
    assert methods(purged, "scsi") == ["none"]
    assert all("not-purged" in one["flags"] for one in of(purged, "iops") if one["id"] == "scsi")
    audit = json.loads((purged / "jobs" / "lab" / "scsi" / "audit.json").read_text())
    assert audit["looks"][0]["decision"] == "allowed"
