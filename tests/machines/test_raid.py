"""RAID sets of emulated drives: each is created for one process with the consent of its members, and is gone when the
process has ended."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.running import asct, require_measured
from tests.machines.guest import Guest
from tests.machines.lab import BURST, GOOD, LARGE_SECTORS, PAIR, scsi_disk, scsi_serial
from tests.machines.running import measured, of
from tests.machines.test_drives import READING, WRITING, consent, entry, meddle, plan, refused

pytestmark = [pytest.mark.machines, pytest.mark.fio, pytest.mark.timeout(900)]

MEMBERS = (GOOD, BURST)
CONSENTS = [consent(drive.disk(), drive.serial, overwrite=True) for drive in MEMBERS]
OF_GUARD = """
for pid in $(pidof guard); do for child in $(cat /proc/$pid/task/$pid/children); do
    [ "$(cat /proc/$child/comm)" != fio ] || parent=$pid
done; done"""
"""Shell code that sets $parent to the guard process that started fio."""


def raid(identifier: str, level: int, *disks: str, **config: Any) -> str:
    """Return a job on a set of these devices (default: MEMBERS)."""
    names = disks or tuple(drive.disk() for drive in MEMBERS)
    return entry(identifier, names[0], **{**WRITING, "raid_level": level, "file_names": list(names), **config})


def left_over(lab: Guest) -> str:
    """Return the arrays other than the lab's own, and the superblocks on the drives."""
    drives = " ".join(drive.disk() for drive in (*MEMBERS, LARGE_SECTORS, PAIR))
    return lab.sh(f"grep ^md /proc/mdstat | grep -v ^md7 || true; for disk in {drives}; do wipefs $disk; done").strip()


def test_sets_are_measured_and_nothing_of_them_is_left(lab: Guest, tmp_path: Path) -> None:
    four = tuple(drive.disk() for drive in (*MEMBERS, LARGE_SECTORS, PAIR))
    entries = [
        raid("mirror", 1),
        raid("stripe", 0, raid_chunk="64K"),
        raid("ten", 10),
        raid("parity", 5, *four[:3], raid_chunk="32K"),
        raid("parity-read", 5, *four[:3], **{**READING, "raid_chunk": "32K"}),
        raid("double-parity", 6, *four, raid_chunk="32K"),
    ]
    consents = [*CONSENTS, *(consent(drive.disk(), drive.serial, overwrite=True) for drive in (LARGE_SECTORS, PAIR))]
    ended, run = measured(plan(entries, consents), [lab], tmp_path)
    require_measured(ended, run)
    sizes = {(one["id"], one["coords"]["model"]): one for one in of(run, "device_size")}
    assert {model for _, model in sizes if model.startswith("RAID")} == {
        "RAID-1 of 2 drives",
        "RAID-0 of 2 drives, 64K chunks",
        "RAID-10 of 2 drives, 512K chunks",
        "RAID-5 of 3 drives, 32K chunks",
        "RAID-6 of 4 drives, 32K chunks",
    }
    members = [one["coords"] for one in of(run, "device_size") if one["id"] == "mirror" and "serial" in one["coords"]]
    assert [one["serial"] for one in members] == [drive.serial for drive in MEMBERS]
    assert all(one["firmware"] for one in members)
    flags = {one["id"]: set(one["flags"]) for one in of(run, "iops")}
    clean = {name for name, found in flags.items() if "raid-assumed-clean" in found}
    assert clean == {"mirror", "ten", "parity", "parity-read", "double-parity"}
    assert not any("raid-resyncing" in found for found in flags.values())
    assert all(one["value"] == pytest.approx(1, abs=0.02) for one in of(run, "coverage"))
    assert left_over(lab) == ""


def test_each_member_of_a_mirror_is_charged_with_all_bytes(lab: Guest, tmp_path: Path) -> None:
    config = {"io_size": "2M", "block_size": "64K", "duration": "60s"}
    ended, run = measured(plan([raid("mirror", 1, **config)], CONSENTS), [lab], tmp_path)
    require_measured(ended, run)
    audit = json.loads((run / "jobs" / "lab" / "mirror" / "audit.json").read_text())
    written = [target["written_bytes"] for target in audit["targets"]]
    assert len(written) == 2 and all(2 << 20 <= number < 3 << 20 for number in written)


def test_the_limit_counts_what_the_members_write(lab: Guest, tmp_path: Path) -> None:
    config = {"io_size": "4M", "block_size": "64K", "duration": "60s"}
    limited = plan([raid("mirror", 1, **config)], CONSENTS).replace("destroys:", "max_written: 6MiB, destroys:")
    ended, _ = measured(limited, [lab], tmp_path)
    assert ended.code == 4 and "permits 6 MiB for all targets" in " ".join(ended.err.split())
    assert left_over(lab) == ""


def test_a_member_without_consent_is_refused_before_any_host_is_contacted(lab: Guest, tmp_path: Path) -> None:
    text = plan([raid("set", 1, rw="randread")], CONSENTS[:1])
    (tmp_path / "plan.yaml").write_text(f"plan: 1\nname: guests\n{text}hosts: {{lab: {json.dumps(lab.host())}}}\n")
    ended = asct("apply", "plan.yaml", cwd=tmp_path)
    assert ended.code == 4
    assert f"error[E251]: `set` would overwrite {BURST.disk()}" in " ".join(ended.err.split())
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize(("state", "check"), [("mounted", "mounted"), ("md1", "raid"), ("data", "data")])
def test_a_member_in_use_is_refused_and_no_set_is_created(lab: Guest, tmp_path: Path, state: str, check: str) -> None:
    lab.blank(*MEMBERS)
    other = scsi_disk(state)
    consents = [CONSENTS[0], consent(other, scsi_serial(state))]
    ended, _ = measured(plan([raid("set", 1, GOOD.disk(), other)], consents), [lab], tmp_path)
    refused(ended, other, check)
    assert left_over(lab) == ""
    assert lab.sh(f"cmp -n {GOOD.mib << 20} {GOOD.disk()} /dev/zero && echo blank").strip() == "blank"


def test_a_set_is_removed_even_if_guard_is_killed(lab: Guest, tmp_path: Path) -> None:
    entries = [raid("set", 1, duration="300s")]
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(measured, plan(entries, CONSENTS), [lab], tmp_path)
        meddle(lab, tmp_path, "set", f"grep -q ^md127 /proc/mdstat || exit 9; {OF_GUARD}\nkill -9 $parent")
        ended, _ = running.result(700)
    assert ended.code == 3 and "killed by SIGKILL" in ended.err
    lab.sh("for i in $(seq 100); do grep -q ^md127 /proc/mdstat || break; sleep 0.1; done; sleep 1")
    assert left_over(lab) == ""


def test_a_set_that_nobody_could_remove_is_told_at_the_next_start(lab: Guest, tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(measured, plan([raid("set", 1, duration="300s")], CONSENTS), [lab], tmp_path)
        killed = "kill -STOP $(pidof guard); kill -9 $(pidof guard) $(pidof fio)"  # none acts on the end of another
        meddle(lab, tmp_path, "set", killed)
        running.result(700)
    assert "linux_raid_member" in left_over(lab)
    ended, _ = measured(plan([raid("set", 1)], CONSENTS), [lab], tmp_path)
    refused(ended, GOOD.disk(), "raid")
    text = " ".join(ended.err.split())
    assert "the array md127, which asct created but could not remove because it was killed; run mdadm --stop" in text
    lab.sh("mdadm --stop /dev/md127 2>/dev/null")
    consents = [consent(drive.disk(), drive.serial) for drive in MEMBERS]
    ended, _ = measured(plan([raid("set", 1)], consents), [lab], tmp_path)
    refused(ended, GOOD.disk(), "signature")
    assert "linux_raid_member, left by asct" in " ".join(ended.err.split())
    ended, run = measured(plan([raid("set", 1)], CONSENTS), [lab], tmp_path)
    require_measured(ended, run)
    assert left_over(lab) == ""


def test_a_set_is_qualified_after_each_member_was_purged(lab: Guest, tmp_path: Path) -> None:
    config = {
        "active_range": "4M", "block_sizes": ["4K"], "mixes": [0], "dependent": ["4K:0"], "numjobs": 1, "iodepth": 4,
        "round_time": "500ms", "window": 2, "rounds_max": 2, "excursion": 100, "slope": 100, "steady_volume": 0,
        "precondition": 1, "file_names": [drive.disk() for drive in MEMBERS], "raid_level": 1,
    }  # fmt: skip
    ended, run = measured(plan([entry("rounds", "", "storage-iops", **config)], CONSENTS), [lab], tmp_path)
    require_measured(ended, run)
    (purged,) = of(run, "purged")
    assert (purged["value"], purged["coords"]["method"]) == (1, "nvme-format")
    (iops,) = of(run, "iops")
    assert "raid-assumed-clean" in iops["flags"] and not {"not-purged", "purge-unverified"} & set(iops["flags"])
    assert {one["coords"].get("serial") for one in of(run, "device_size")} == {None, GOOD.serial, BURST.serial}
    assert left_over(lab) == ""
