"""guard and block devices: what may be written, and which check refuses everything else."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from asct.sdk.guard import RaidSet, Target
from tests.disks.loop import Loop, attached, loop_device, unattached
from tests.kernels.guarding import Guard, owned

pytestmark = [pytest.mark.kernels, pytest.mark.disks]

EVERY_CHECK = [
    *("identity", "kind", "serial", "size", "read-only", "removable", "exclusive", "mounted", "system", "swap"),
    *("holders", "raid", "open-elsewhere", "signature", "data", "namespaces", "multipath", "reserved"),
]
WRITE = ("dd", "if=/dev/urandom", "of=/proc/self/fd/100", "bs=1M", "count=1", "oflag=direct", "conv=notrunc")


@pytest.fixture
def loop(tmp_path: Path) -> Iterator[Loop]:
    with loop_device(tmp_path, 16, partitions=True) as made:
        yield made


def sh(*command: str, given: str = "") -> None:
    subprocess.run(command, input=given, text=True, check=True, capture_output=True)


@contextmanager
def mounted(device: str, folder: Path) -> Iterator[None]:
    folder.mkdir()
    sh("mount", device, str(folder))
    try:
        yield
    finally:
        sh("umount", str(folder))


@contextmanager
def swapping(device: str) -> Iterator[None]:
    sh("mkswap", device)
    sh("swapon", device)
    try:
        yield
    finally:
        sh("swapoff", device)


def partition(loop: Loop) -> str:
    """Create a partition table with one partition, and return the device of the partition."""
    sh("sfdisk", "--wipe=always", "--no-tell-kernel", str(loop.path), given="label: gpt\n2048,8192\n")
    sh("partx", "--add", str(loop.path))  # not each kernel knows the format itself
    return f"{loop.path}p1"


def test_a_blank_device_passes_every_check_and_is_described(guard: Guard, loop: Loop) -> None:
    ran = guard.run([owned(loop)])
    assert (ran.refusal, ran.output.stderr) == ("", "")
    assert [line["t"] for line in ran.lines if line["t"] != "check"] == ["meta", "device", "ready", "end"]
    watch = ran.watch
    assert [check.name for check in watch.checks] == EVERY_CHECK and all(check.ok for check in watch.checks)
    (device,) = watch.before
    assert watch.status is None and watch.after == () and watch.samples == ()
    assert (device.path, device.scalar("kind")) == (str(loop.path), "block")
    assert (device.scalar("bytes"), device.scalar("logical_block")) == (16 << 20, 512)
    assert (device.scalar("serial"), device.scalar("transport")) == (str(loop.backing), "loop")
    assert device.fields["counted"] == device.fields["family"] == [loop.path.name]
    assert loop.path.name not in device.fields["drives"]
    assert device.scalar("nvme_id_ctrl") is None and device.scalar("temperature_mc") is None


def test_large_sectors_are_seen(guard: Guard, tmp_path: Path) -> None:
    with loop_device(tmp_path, 8, sector=4096) as loop:
        ran = guard.run([owned(loop)])
        assert ran.refusal == ""
        assert ran.watch.before[0].scalar("logical_block") == 4096
        assert ran.detail("size") == f"{8 << 20} bytes in blocks of 4096"
        with loop.backing.open("r+b") as file:  # the header of a GPT and nothing else, where 4 KiB sectors have it
            file.seek((8 << 20) - 4096)
            file.write(b"EFI PART")
        assert "gpt (backup)" in guard.run([owned(loop)]).failed["signature"]


def test_the_program_writes_by_the_handle_and_the_counters_say_so(guard: Guard, loop: Loop) -> None:
    ran = guard.run([owned(loop)], *WRITE)
    assert ran.refusal == "" and ran.watch.status == 0
    first, last = (ran.watch.samples[place].devices[0] for place in (0, -1))
    assert first is not None and last is not None
    assert [after - before for before, after in zip(first, last, strict=True)][1:4:2] == [0, 1 << 20]
    assert [device.path for device in ran.watch.after] == [str(loop.path)]


def test_the_mounted_device_and_its_mounted_partition_are_refused(guard: Guard, loop: Loop, tmp_path: Path) -> None:
    sh("mkfs.ext4", "-q", str(loop.path))
    with mounted(str(loop.path), tmp_path / "whole"):
        ran = guard.run([owned(loop, overwrite=True)], *WRITE)
        assert ran.refusal == "mounted" and str(tmp_path / "whole") in ran.failed["mounted"]
        assert set(ran.failed) == {"mounted", "exclusive"}
    part = partition(loop)
    sh("mkfs.ext4", "-qF", part)
    with mounted(part, tmp_path / "part"):
        ran = guard.run([owned(loop, overwrite=True)], *WRITE)
        assert ran.refusal == "mounted" and str(tmp_path / "part") in ran.failed["mounted"]
        assert Path(part).name in ran.failed["exclusive"]
        assert guard.run([Target(str(loop.path), "read")]).refusal == ""


def test_swap_is_refused_while_on_and_known_when_off(guard: Guard, loop: Loop) -> None:
    with swapping(str(loop.path)):
        assert guard.run([owned(loop, overwrite=True)]).refusal == "swap"
    ran = guard.run([owned(loop)])
    assert set(ran.failed) == {"signature"} and ran.failed["signature"] == "it contains swap"


def test_another_loop_device_upon_it_is_refused(guard: Guard, loop: Loop) -> None:
    with attached(loop.path) as upper:
        assert upper.name in guard.run([owned(loop)]).failed["holders"]
        above = guard.run([Target(str(upper), "write", str(loop.path), overwrite=True)])
        assert set(above.failed) == {"multipath"} and f"device {loop.path.name}," in above.failed["multipath"]


def test_a_second_loop_device_over_its_file_is_refused(guard: Guard, loop: Loop, tmp_path: Path) -> None:
    """A write through one device would destroy what is mounted through the other."""
    sh("mkfs.ext4", "-q", str(loop.path))
    other = tmp_path / "other.img"
    other.hardlink_to(loop.backing)
    with attached(other) as second, mounted(str(second), tmp_path / "mount"):
        ran = guard.run([owned(loop, overwrite=True)], *WRITE)
        assert set(ran.failed) == {"multipath"} and f"{second.name} uses the same file" in ran.failed["multipath"]
    assert guard.run([owned(loop, overwrite=True)]).refusal == ""


@pytest.mark.parametrize("opened", ["path", "backing"])
def test_a_process_that_has_it_or_its_file_open_is_named(guard: Guard, loop: Loop, opened: str) -> None:
    with getattr(loop, opened).open("rb") as file, subprocess.Popen(["sleep", "60"], stdin=file) as other:
        file.close()
        ran = guard.run([owned(loop, overwrite=True)])
        other.kill()
    assert set(ran.failed) == {"open-elsewhere"} and f"{other.pid} (sleep)" in ran.failed["open-elsewhere"]


def test_a_device_that_another_program_claims_or_locks_is_refused(guard: Guard, loop: Loop) -> None:
    claimed = os.open(loop.path, os.O_RDONLY | os.O_EXCL)
    try:
        ran = guard.run([owned(loop)])
        assert "is in use" in ran.failed["exclusive"] and "open-elsewhere" in ran.failed
    finally:
        os.close(claimed)
    with subprocess.Popen(["flock", str(loop.path), "sleep", "60"]) as other:
        while not Path(f"/proc/{other.pid}/task/{other.pid}/children").read_text():
            assert other.poll() is None
        assert "locked" in guard.run([owned(loop)]).failed["exclusive"]
        sh("pkill", "-P", str(other.pid))


def test_a_device_named_twice_cannot_be_claimed_twice(guard: Guard, loop: Loop) -> None:
    assert guard.run([owned(loop), owned(loop)]).refusal == "exclusive"


def test_loop_devices_of_others_come_and_go(guard: Guard, loop: Loop, tmp_path: Path) -> None:
    other = tmp_path / "other.img"
    other.write_bytes(bytes(1 << 20))
    over = threading.Event()

    def come_and_go() -> None:
        while not over.is_set():
            with attached(other):
                pass

    with ThreadPoolExecutor(1) as pool:
        going = pool.submit(come_and_go)
        try:
            refusals = [guard.run([owned(loop)]).refusal for _ in range(20)]
        finally:
            over.set()
        going.result()
    assert set(refusals) == {""}


def test_while_a_program_runs_nobody_else_takes_the_device(guard: Guard, loop: Loop) -> None:
    taken = f"mkfs.ext4 -q {loop.path} || mkswap {loop.path} || mount {loop.path} /mnt && echo taken"
    assert guard.run([owned(loop)], "sh", "-c", taken).refusal == ""
    assert (guard.folder / "program.stdout").read_text() == ""
    assert guard.run([owned(loop)]).refusal == ""


@pytest.mark.parametrize("serial", ["", "/another", "disk.img"])
def test_another_serial_is_refused(guard: Guard, loop: Loop, serial: str) -> None:
    ran = guard.run([owned(loop, serial=serial, overwrite=True)])
    assert set(ran.failed) == {"serial"} and str(loop.backing) in ran.failed["serial"]


def test_a_serial_counts_for_reading_too(guard: Guard, loop: Loop) -> None:
    assert guard.run([Target(str(loop.path), "read", "/another")]).refusal == "serial"


def test_read_only_and_empty_devices_are_refused(guard: Guard, loop: Loop) -> None:
    sh("blockdev", "--setro", str(loop.path))
    ran = guard.run([owned(loop)])
    sh("blockdev", "--setrw", str(loop.path))
    assert set(ran.failed) == {"read-only"}
    with unattached() as empty:
        ran = guard.run([Target(str(empty), "write", "/any")])
    assert {"serial", "size"} <= set(ran.failed)


def test_signatures_and_unknown_data_need_consent_to_overwrite(guard: Guard, loop: Loop) -> None:
    with loop.backing.open("r+b") as file:
        file.seek(9 << 20)
        file.write(b"x" * (4 << 20))  # neither end: found by looking in between
    ran = guard.run([owned(loop)])
    assert set(ran.failed) == {"data"}
    assert guard.run([owned(loop, dirty=True)]).refusal == ""
    assert guard.run([owned(loop, overwrite=True)]).refusal == ""
    sh("mkfs.ext4", "-qF", str(loop.path))
    for dirty in (False, True):
        assert set(guard.run([owned(loop, dirty=dirty)]).failed) == {"signature"}
    ran = guard.run([owned(loop, overwrite=True)])
    assert ran.refusal == "" and "ext2/3/4" in ran.detail("signature")


def test_the_backup_of_a_partition_table_alone_is_a_signature(guard: Guard, loop: Loop) -> None:
    partition(loop)
    sh("dd", "if=/dev/zero", f"of={loop.path}", "bs=1M", "count=1", "conv=notrunc,fsync")
    assert guard.run([owned(loop)]).failed["signature"].startswith("it contains gpt (backup)")


def test_a_partition_can_be_a_target_of_its_own(guard: Guard, loop: Loop, tmp_path: Path) -> None:
    part = partition(loop)
    ran = guard.run([Target(part, "read")])
    assert ran.refusal == "" and ran.detail("kind") == "a partition"
    assert ran.watch.before[0].scalar("bytes") == 8192 * 512
    assert guard.run([Target(part, "write", str(loop.backing))]).failed.keys() == {"identity"}


def test_mistyped_names_are_refused_and_not_made(guard: Guard) -> None:
    for name in ("/dev/nvme9n9", "/dev/disk/by-id/nvme-NONE", "/dev/shm-typo", "/dev/loop99"):
        ran = guard.run([Target(name, "write", "/any")], *WRITE)
        assert ran.refusal == "identity" and "nothing is created" in ran.failed["identity"]
        assert not os.path.lexists(name)


def test_the_disk_of_the_system_is_refused_by_each_name(guard: Guard, tmp_path: Path) -> None:
    root = Path("/").stat().st_dev
    name = Path(f"/sys/dev/block/{os.major(root)}:{os.minor(root)}").resolve().name
    link = tmp_path / "link"
    link.symlink_to(f"/dev/{name}")
    for path in (f"/dev/{name}", str(link)):
        ran = guard.run([Target(path, "write", overwrite=True)])
        assert {"identity", "mounted", "system"} <= set(ran.failed) and "of /" in ran.failed["system"]


def test_a_name_that_changes_while_the_program_runs_does_no_harm(guard: Guard, loop: Loop, tmp_path: Path) -> None:
    """The name then refers to a different device, but the handle does not."""
    with loop_device(tmp_path, 8, name="other.img") as other:
        link = tmp_path / "link"
        link.symlink_to(loop.path)
        target = Target(str(link), "read", str(loop.backing))
        moved = f"ln -sfn {other.path} {link}; readlink -f {link}; readlink /proc/self/fd/100"
        assert guard.run([target], "sh", "-c", moved).watch.status == 0
        assert (guard.folder / "program.stdout").read_text().split() == [str(other.path), str(loop.path)]
        assert guard.run([target]).refusal == "serial"


def test_a_scan_tells_of_every_device_and_changes_none(guard: Guard, loop: Loop) -> None:
    before = Path(f"/sys/block/{loop.path.name}/stat").read_text().split()[4:7]
    done = subprocess.run([guard.program, "--scan", "1"], capture_output=True, text=True, check=True, cwd=guard.folder)
    lines = [line for line in done.stdout.splitlines() if f'"path":"{loop.path}"' in line]
    assert sum('"t":"device"' in line for line in lines) == 1
    assert [line for line in lines if '"t":"check"' in line and '"ok":true' not in line] == []
    assert '"path":"/dev/loop99"' not in done.stdout and done.stdout.splitlines()[-1] == '{"t":"end","ok":true}'
    assert Path(f"/sys/block/{loop.path.name}/stat").read_text().split()[4:7] == before


def test_members_of_a_set_that_cannot_be_created_are_left_as_they_were(guard: Guard, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    with loop_device(tmp_path / "one", 16) as one, loop_device(tmp_path / "two", 16) as two:
        ran = guard.run([owned(one), owned(two)], "true", raid=RaidSet(1, None, "/bin/false"))
        assert ran.output.status == 3 and "mdadm cannot create the RAID set" in ran.output.stderr
        absent = guard.run([owned(one), owned(two)], "true", raid=RaidSet(1, None, "/nowhere/mdadm"))
        assert absent.output.status == 3 and "/nowhere/mdadm cannot be run: No such file" in absent.output.stderr
        assert [loop.backing.read_bytes() for loop in (one, two)] == [bytes(16 << 20)] * 2
        assert guard.run([owned(one), owned(two)], "true").output.status == 0


def test_a_member_that_is_in_use_keeps_mdadm_from_being_run(guard: Guard, tmp_path: Path, loop: Loop) -> None:
    (tmp_path / "two").mkdir()
    sh("mkfs.ext4", "-q", str(loop.path))
    with loop_device(tmp_path / "two", 16) as other, mounted(str(loop.path), tmp_path / "mnt"):
        script = tmp_path / "mdadm"
        script.write_text(f"#!/bin/sh\ntouch {tmp_path}/run\n")
        script.chmod(0o755)
        ran = guard.run([owned(other), owned(loop, overwrite=True)], "true", raid=RaidSet(1, None, str(script)))
        assert "mounted" in ran.refusal and not (tmp_path / "run").exists()
