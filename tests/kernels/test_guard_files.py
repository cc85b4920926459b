"""guard and regular files: which files may be written, and what they contain."""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from asct.sdk.guard import Access, RaidSet, Target
from asct.sdk.step import Output
from tests.disks.loop import loop_device
from tests.kernels.building import KERNELS, Builds
from tests.kernels.guarding import Guard, Guarded

pytestmark = pytest.mark.kernels

MIB = 1 << 20
NOBODY = 65534
FILE_CHECKS = [
    *("identity", "kind", "size", "read-only", "exclusive", "swap", "holders", "open-elsewhere", "signature", "data"),
]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "file"
    made.write_bytes(bytes(4 * MIB))
    return made


def put(file: Path, *pieces: tuple[int, bytes]) -> None:
    """Write bytes at offsets of an empty file. Negative offsets count from the end."""
    content = bytearray(4 * MIB)
    for offset, piece in pieces:
        place = offset % len(content)
        content[place : place + len(piece)] = piece
    file.write_bytes(content)


def look(guard: Guard, file: Path, *, overwrite: bool = False, dirty: bool = False) -> Guarded:
    return guard.run([Target(str(file), "write", overwrite=overwrite, dirty=dirty)])


def test_a_blank_file_passes_and_is_described(guard: Guard, file: Path) -> None:
    os.link(file, file.with_name("second"))
    ran = look(guard, file)
    assert ran.refusal == "" and [check.name for check in ran.watch.checks] == FILE_CHECKS
    (device,) = ran.watch.before
    assert (device.scalar("kind"), device.scalar("bytes"), device.scalar("names")) == ("file", 4 * MIB, 2)
    assert device.scalar("allocated") == file.stat().st_blocks * 512
    kind = subprocess.run(["stat", "-f", "-c", "%T", file], capture_output=True, text=True, check=True).stdout.strip()
    assert str(device.scalar("file_system")).rstrip("234") in kind


def test_names_beyond_ascii_come_back_as_they_are(guard: Guard, tmp_path: Path) -> None:
    file = tmp_path / 'Größe 磁盘 "x\\'
    file.write_bytes(bytes(4096))
    ran = look(guard, file)
    assert ran.refusal == "" and ran.watch.before[0].path == ran.watch.checks[0].path == str(file)


def test_small_targets_are_read_completely_and_of_large_ones_a_sample(guard: Guard, file: Path) -> None:
    def told() -> str:
        return next(check.detail for check in look(guard, file).watch.checks if check.name == "data")

    def write(place: int, piece: bytes) -> None:
        with file.open("r+b") as target:
            target.seek(place)
            target.write(piece)

    os.truncate(file, 256 * MIB)
    assert told() == "zeros, read completely"
    for place in (9 * MIB + 1300, 255 * MIB - 70_000):
        write(place, b"x")
        assert set(look(guard, file).failed) == {"data"}, place
        write(place, b"\0")
    assert look(guard, file).watch.sampled == {}
    os.truncate(file, 257 * MIB)
    assert "a sample of 32 places of 64 KiB; the rest was not read" in told()
    assert look(guard, file).watch.sampled == {str(file): 2 * (MIB + 64 * 1024) + 32 * 64 * 1024}
    assert look(guard, file, overwrite=True).watch.sampled == look(guard, file, dirty=True).watch.sampled == {}


def test_content_needs_consent(guard: Guard, file: Path) -> None:
    for place in (0, -1, 2 * MIB):
        put(file, (place, b"x" * (MIB // 2 if place > 0 else 1)))
        ran = look(guard, file)
        assert set(ran.failed) == {"data"}, place
        assert look(guard, file, dirty=True).refusal == look(guard, file, overwrite=True).refusal == ""
    file.write_bytes(b"short")
    assert look(guard, file).refusal == "data"
    file.write_bytes(b"")
    assert look(guard, file).refusal == ""


def test_reading_needs_nothing_and_takes_nothing(guard: Guard, file: Path) -> None:
    put(file, (0, b"XFSB"))
    with file.open("r+b"):
        ran = guard.run([Target(str(file), "read"), Target(str(file), "read")])
    assert ran.refusal == "" and {check.name for check in ran.watch.checks} == {"identity", "kind", "size"}


def test_files_in_use_are_refused(guard: Guard, file: Path) -> None:
    with file.open("rb") as opened, subprocess.Popen(["sleep", "60"], stdin=opened) as other:
        opened.close()
        assert set(look(guard, file, overwrite=True).failed) == {"open-elsewhere"}
        other.kill()
    with subprocess.Popen(["flock", str(file), "sleep", "60"]) as other:
        while not Path(f"/proc/{other.pid}/task/{other.pid}/children").read_text():
            assert other.poll() is None
        assert "locked" in look(guard, file).failed["exclusive"]
        subprocess.run(["pkill", "-P", str(other.pid)], check=True)


def unprivileged(program: Path, place: Path, mode: int, *more_names: str, start: bytes = b"XFSB") -> Guarded:
    """Return the inspection by an ordinary account, which cannot see the open files of others, of its dirty file in
    `place`, which contains only zeros after `start`."""
    place.mkdir()
    target = place / "scratch.dat"
    target.write_bytes(start + bytes(4 * MIB))
    for name in more_names:
        os.link(target, place / name)
    guard = Guard(program, place)
    step = guard.step([Target(str(target), "write", dirty=True)], ())
    for one in (place, target):
        os.chown(one, NOBODY, NOBODY)
    place.chmod(mode)
    account = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    done = subprocess.run([*account, program, *step.arguments], cwd=place, capture_output=True, text=True, check=False)
    return Guarded(Output(step, done.returncode, {"stdout": done.stdout, "stderr": done.stderr}))


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become another account")
def test_an_ordinary_account_may_write_what_only_it_can_reach(built: Builds) -> None:
    with TemporaryDirectory(dir="/var/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)
        program = shutil.copy(built["guard"], folder / "guard")
        own = unprivileged(program, folder / "own", 0o700)
        assert own.refusal == "" and not own.failed
        assert "not read: this job wrote the file" in own.output.stdout
        for open_to_all in (
            unprivileged(program, folder / "public", 0o755),
            unprivileged(program, folder / "linked", 0o700, "second"),
        ):
            assert {"open-elsewhere", "signature"} <= set(open_to_all.failed)
        blank = unprivileged(program, folder / "blank", 0o755, start=b"")
        assert set(blank.failed) == {"open-elsewhere"} and "open-elsewhere" in blank.refusal


@pytest.mark.disks
def test_the_file_of_a_loop_device_is_refused(guard: Guard, tmp_path: Path) -> None:
    with loop_device(tmp_path, 4) as loop:
        assert loop.path.name in look(guard, loop.backing).failed["holders"]


def test_what_is_no_file_or_not_there_is_refused(guard: Guard, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path, name in ((tmp_path, "kind"), (tmp_path / "pipe", "kind"), (tmp_path / "none", "identity")):
        assert set(look(guard, path).failed) == {name}
    for special in ("/proc/self/comm", "/sys/kernel/uevent_helper", "/dev/null"):
        if Path(special).exists():
            assert set(guard.run([Target(special, "write", overwrite=True)], "true").failed) == {"kind"}


def test_a_typo_that_made_a_file_in_dev_is_seen(guard: Guard) -> None:
    typo = Path(f"/dev/asct-typo-{os.getpid()}")
    try:
        typo.write_bytes(bytes(4096))
    except OSError:
        pytest.skip("no right to make a file in /dev")
    try:
        assert "mistyped" in look(guard, typo).failed["kind"]
        assert "mistyped" in guard.run([Target(str(typo), "read")]).failed["kind"]
    finally:
        typo.unlink()


def test_a_sparse_file_larger_than_the_free_space_is_refused(guard: Guard, tmp_path: Path) -> None:
    sparse = tmp_path / "sparse"
    with sparse.open("wb") as file:
        file.truncate(1 << 42)
    assert set(look(guard, sparse).failed) == {"size"}


MBR = bytearray(512)
MBR[450], MBR[510:] = 0x83, b"\x55\xaa"
EXT = bytearray(1024)
EXT[56:58], EXT[76] = b"\x53\xef", 1
SUN = bytearray(512)
SUN[508:510], SUN[0:2] = b"\xda\xbe", b"\xda\xbe"
MINIX = bytearray(32)
MINIX[16:18], MINIX[18] = b"\x7f\x13", 1
CONFIRMED = {
    "dos": (0, bytes(MBR)),
    "ext2/3/4": (1024, bytes(EXT)),
    "sun": (0, bytes(SUN)),
    "minix": (1024, bytes(MINIX)),
    "hfsplus": (1024, b"H+\0\4"),
    "nilfs2": (1024, b"\2\0\0\0\0\0\x34\x34"),
    "mac": (0, b"ER\2\0"),
    "zfs": (256 * 1024 + 129 * 1024, bytes.fromhex("0cb1ba0000000000")),
    "zfs at the end": (-256 * 1024 + 130 * 1024, bytes.fromhex("0000000000bab10c")),
}
"""Signatures that require more than their magic number, based on the description of each format."""


def literal(text: str) -> bytes:
    """Convert a C string literal."""
    parts = re.findall(r"\\x([0-9a-f]{2})|\\([0-7])|([^\\])", text)
    return b"".join(bytes.fromhex(a) if a else bytes([int(b)]) if b else c.encode() for a, b, c in parts)


def table() -> list[tuple[str, int, bytes]]:
    """Return the name, offset and bytes of each simple line in magics.h."""
    found = []
    text = (KERNELS / "guard" / "magics.h").read_text()
    for name, offset, magic in re.findall(r'FRONT\("([^"]+)", ([0-9a-fx +*<]+), "((?:[^"\\]|\\.)*)"\)', text):
        found.append((name, int(eval(offset, {})), literal(magic)))
    for name, magic in re.findall(r'PAGES\("([^"]+)", "([^"]+)"\)', text):
        found += [(name, page - 10, literal(magic)) for page in (4096, 8192, 16384, 65536)]
    for name, before, align, within, magic in re.findall(
        r'BACK\("([^"]+)", (\d+), (\d+), (\d+), "((?:[^"\\]|\\.)*)"\)', text
    ):
        found.append((name, (4 * MIB - int(before)) // int(align) * int(align) + int(within), literal(magic)))
    return found


def test_every_signature_is_found_at_its_place_and_nowhere_else(guard: Guard, file: Path) -> None:
    known = table()
    assert len(known) > 70
    for name, offset, magic in known:
        put(file, (offset, magic))
        assert look(guard, file).failed.get("signature", "").removeprefix("it contains ") in (name, "gpt", "udf"), (
            name,
            offset,
        )
        put(file, (offset + 3, magic))
        assert set(look(guard, file).failed) == {"data"}, (name, offset)


@pytest.mark.parametrize("name", CONFIRMED)
def test_signatures_that_need_more_than_their_magic(guard: Guard, file: Path, name: str) -> None:
    put(file, CONFIRMED[name])
    ran = look(guard, file)
    assert set(ran.failed) == {"signature"} and ran.failed["signature"].startswith(f"it contains {name.split()[0]}")


def test_two_bytes_alone_are_no_signature(guard: Guard, file: Path) -> None:
    content = bytearray(random.Random(1).randbytes(4 * MIB))
    for offset, magic in ((510, b"\x55\xaa"), (1080, b"\x53\xef"), (1040, b"\x7f\x13"), (1030, b"\x34\x34")):
        content[offset : offset + 2] = magic
    file.write_bytes(content)
    assert look(guard, file, dirty=True).refusal == ""


@pytest.mark.parametrize(
    ("tool", "name"), [(["mkfs.ext4", "-qF"], "ext2/3/4"), (["mkfs.ext2", "-qF"], "ext2/3/4"), (["mkswap"], "swap")]
)
def test_what_the_tools_of_this_machine_make_is_known(guard: Guard, file: Path, tool: list[str], name: str) -> None:
    subprocess.run([*tool, str(file)], check=True, capture_output=True)
    assert look(guard, file).failed["signature"].startswith(f"it contains {name}")


@pytest.mark.parametrize(("label", "name"), [("gpt", "gpt"), ("dos", "dos"), ("sgi", "sgi"), ("sun", "sun")])
def test_tables_of_sfdisk_are_known(guard: Guard, file: Path, label: str, name: str) -> None:
    given = f"label: {label}\n" + ("" if label in ("sgi", "sun") else "2048,2048\n")
    subprocess.run(["sfdisk", "-q", str(file)], input=given, text=True, check=True, capture_output=True)
    assert look(guard, file).failed["signature"].startswith(f"it contains {name}")


@pytest.mark.parametrize("access", ["read", "write"])
def test_a_raid_set_takes_only_devices_that_may_be_written(guard: Guard, file: Path, access: Access) -> None:
    ran = guard.run([Target(str(file), access)], "true", raid=RaidSet(1, None, "/nowhere/mdadm"))
    assert ran.output.status == 2 and f"{file} is not a block device to be written" in ran.output.stderr
    assert file.read_bytes() == bytes(4 * MIB)
