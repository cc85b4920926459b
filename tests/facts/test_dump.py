"""Dumps of other machines in folders and tar archives: links inside them, files that must not be read, and truncated
archives."""

from __future__ import annotations

import gzip
import io
import os
import random
import tarfile
from datetime import UTC, datetime
from pathlib import Path

import pytest

from asct.errors import UsageError
from asct.facts import archive, files_snapshot, filetree
from asct.facts.files_snapshot import load
from asct.facts.reading import facts_of
from asct.facts.sources import CPU, FolderSet

WHEN = datetime(2026, 1, 2, tzinfo=UTC)
SUFFIXES = {"tar": "w", "tar.gz": "w:gz", "tar.bz2": "w:bz2", "tar.xz": "w:xz"}


@pytest.fixture(autouse=True)
def lists(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use only a few patterns, so that the tests know which files are requested."""
    files = ("/proc/loadavg", "/proc/cpuinfo", f"{CPU}/online", "/sys/class/dmi/id/sys_vendor", "/sys/loop/file")
    folders = FolderSet("network.interfaces", ("/sys/class/net/*",), ("mtu", "device/uev*"), 4)
    monkeypatch.setattr(files_snapshot, "FILES", files)
    monkeypatch.setattr(files_snapshot, "FOLDERS", (folders,))


def machine(top: Path) -> Path:
    """Return the folder of a small machine, with links as in sysfs."""
    texts = {
        "proc/loadavg": "1 2 3 4/5 6\n",
        "proc/cpuinfo": "processor : 0\n\n",
        f"{CPU[1:]}/online": "0-3\n",
        "sys/devices/virtual/dmi/id/sys_vendor": "ACME\n",
        "sys/devices/pci0000:00/0000:00:1f.6/net/eth0/mtu": "1500\n",
        "sys/devices/pci0000:00/0000:00:1f.6/uevent": "DRIVER=e1000e\nPCI_SLOT_NAME=0000:00:1f.6\n",
        "commands/id.txt": "0\n[status 0]\n",
        "commands/df.txt": "df: no\nsuch\n[status 1]\n",
        "commands/none.txt": "\n[status 0]\n",
        "commands/plain.txt": "no status\n",
    }
    for name, text in texts.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(text)
    links = {
        "sys/class/dmi/id": "../../devices/virtual/dmi/id",
        "sys/class/net/eth0": "../../devices/pci0000:00/0000:00:1f.6/net/eth0",
        "sys/devices/pci0000:00/0000:00:1f.6/net/eth0/device": "../../../0000:00:1f.6",
    }
    for name, target in links.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).symlink_to(target)
    return top


def packed(folder: Path, suffix: str, source: Path, name: str = "box") -> Path:
    file = folder / f"machine.{suffix}"
    with tarfile.open(file, SUFFIXES[suffix]) as made:  # type: ignore[call-overload]
        made.add(source, name)
    return file


def check(place: Path) -> None:
    found = load(place)
    assert found.files == {
        "/proc/loadavg": "1 2 3 4/5 6",
        "/proc/cpuinfo": "processor : 0",
        f"{CPU}/online": "0-3",
        "/sys/class/dmi/id/sys_vendor": "ACME",
        "/sys/class/net/eth0/mtu": "1500",
        "/sys/class/net/eth0/device/uevent": "DRIVER=e1000e\nPCI_SLOT_NAME=0000:00:1f.6",
    }
    assert (found.command_output("id"), found.commands["df"].status, found.commands["df"].text) == (
        "0",
        1,
        "df: no\nsuch",
    )
    assert (found.command_output("none"), found.command_output("plain")) == ("", None)
    assert found.notes == ()


@pytest.mark.parametrize("top", ["", "box", "a/b/box"])
def test_folders(top: str, tmp_path: Path) -> None:
    machine(tmp_path / "d" / top)
    check(tmp_path / "d")


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("name", [".", "./box", "box", "a/b/box"])
def test_tars(suffix: str, name: str, tmp_path: Path) -> None:
    check(packed(tmp_path, suffix, machine(tmp_path / "box"), name))


def test_links_stay_inside(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret\n")
    top = machine(tmp_path / "box")
    id_ = top / "sys/class/dmi/id"
    for target in (
        "../../../../secret",
        "/secret",
        str(tmp_path / "secret"),
        "sys_vendor",
        "/sys/class/dmi/id/sys_vendor",
    ):
        real = top / "sys/devices/virtual/dmi/id/sys_vendor"
        real.unlink()
        real.symlink_to(target)
        for place in (top, packed(tmp_path, "tar", top)):
            assert "/sys/class/dmi/id/sys_vendor" not in load(place).files, target
    real.unlink()
    (top / "proc/vendor").write_text("by an absolute link\n")
    real.symlink_to("/proc/vendor")
    assert load(top).files["/sys/class/dmi/id/sys_vendor"] == "by an absolute link"
    (top / "sys/loop").symlink_to("loop")
    (top / "sys/deep").mkdir()
    id_.unlink()
    id_.symlink_to("id/id/id")
    assert "/sys/loop/file" not in load(top).files


def test_only_regular_files_are_read(tmp_path: Path) -> None:
    top = machine(tmp_path / "box")
    (top / "proc/loadavg").unlink()
    os.mkfifo(top / "proc/loadavg")
    (top / "proc/cpuinfo").unlink()
    (top / "proc/cpuinfo").mkdir()
    for place in (top, packed(tmp_path, "tar.gz", top)):
        assert not {"/proc/loadavg", "/proc/cpuinfo"} & load(place).files.keys()


def test_members_that_would_leave_the_folder_are_told(tmp_path: Path) -> None:
    file = tmp_path / "x.tar"
    with tarfile.open(file, "w") as made:
        for name in ("../up/proc/loadavg", "/abs/proc/loadavg", "box/../proc/cpuinfo"):
            info = tarfile.TarInfo(name)
            info.size = 2
            made.addfile(info, io.BytesIO(b"1\n"))
        for name, kind in (("abs/proc/null", tarfile.CHRTYPE), ("abs/proc/cpuinfo", tarfile.LNKTYPE)):
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, "/abs/proc/loadavg"
            made.addfile(info)
    found = load(file)
    assert found.files == {"/proc/loadavg": "1", "/proc/cpuinfo": "1"}
    assert [note.partition(":")[0] for note in found.notes] == ["skipped a member outside the top folder"] * 2


def test_what_is_too_much_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    top = machine(tmp_path / "box")
    (top / "proc/cpuinfo").write_text("x" * (archive.MOST_FILE + 1))
    for number in range(10):
        (top / f"sys/class/net/veth{number}").mkdir()
        (top / f"sys/class/net/veth{number}/mtu").write_text("1\n")
    file = packed(tmp_path, "tar.gz", top)
    found = load(file)
    assert "/proc/cpuinfo" not in found.files
    assert any("too large" in note for note in found.notes)
    assert found.omitted == {"network.interfaces": 7}
    assert "/sys/class/net/eth0/mtu" in found.files
    assert "/proc/cpuinfo" not in load(top).files
    assert "omitted" in facts_of(found, "h", WHEN).unknown["network.interfaces"]
    for name, value in (("MOST_MEMBERS", 5), ("MOST_BYTES", 5), ("MOST_LENGTH", 2048)):
        with monkeypatch.context() as patch:
            patch.setattr(archive, name, value)
            try:
                assert load(file).notes
            except UsageError as error:
                assert "only part" in str(error) or "members" in str(error) or "neither" in str(error)


def test_a_packed_file_that_unpacks_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MOST_LENGTH", 1 << 20)
    file = tmp_path / "bomb.tar.gz"
    with tarfile.open(file, "w:gz") as made:
        for name, size in (("box/proc/loadavg", 4), ("box/proc/huge", 64 << 20), ("box/proc/cpuinfo", 4)):
            info = tarfile.TarInfo(name)
            info.size = size
            made.addfile(info, io.BytesIO(b"1 2\n" if size == 4 else bytes(size)))
    found = load(file)
    assert list(found.files) == ["/proc/loadavg"]
    assert any("only part" in note for note in found.notes)


def test_several_machines_are_refused(tmp_path: Path) -> None:
    machine(tmp_path / "d/one")
    machine(tmp_path / "d/two")
    for place in (tmp_path / "d", packed(tmp_path, "tar", tmp_path / "d")):
        with pytest.raises(UsageError, match=r"several.*one.*two") as error:
            load(place)
        assert error.value.diagnostics[0].code == "E920"


@pytest.mark.parametrize(
    "content", [None, b"", b"text\n", b"\x1f\x8b\x08", b"BZh9", b"\xfd7zXZ\x00", bytes(2000), b"\x28\xb5\x2f\xfd"]
)
def test_what_is_no_machine_is_refused(content: bytes | None, tmp_path: Path) -> None:
    place = tmp_path / "x"
    if content is not None:
        place.write_bytes(content)
    with pytest.raises(UsageError) as error:
        load(place)
    [found] = error.value.diagnostics
    assert found.code == "E920"
    assert "tar" in (found.hint or "")


def test_folders_and_pipes_that_are_no_machine(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for name in ("empty", "pipe", "\0"):
        with pytest.raises(UsageError):
            load(tmp_path / name)


def test_a_kept_exchange(tmp_path: Path) -> None:
    text = "asct-0123456789abcdef files -\n/proc/loadavg:1 2 3\n"
    (tmp_path / "facts").mkdir()
    (tmp_path / "facts" / "snapshot.txt").write_text(text)
    for place in (
        tmp_path / "facts" / "snapshot.txt",
        tmp_path / "facts",
        packed(tmp_path, "tar.gz", tmp_path / "facts"),
    ):
        assert load(place).files == {"/proc/loadavg": "1 2 3"}


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_torn_and_garbled_tars_give_what_is_there(suffix: str, tmp_path: Path) -> None:
    whole = packed(tmp_path, suffix, machine(tmp_path / "box")).read_bytes()
    chance = random.Random(20)
    torn = tmp_path / "torn"
    taken = 0
    for attempt in range(60):
        data = bytearray(whole[: chance.randrange(len(whole))] if attempt % 2 else whole)
        for _ in range(chance.randrange(1, 8) if attempt % 3 == 0 and data else 0):
            data[chance.randrange(len(data))] = chance.randrange(256)
        torn.write_bytes(data)
        try:
            found = load(torn)
        except UsageError:
            continue
        taken += 1
        facts_of(found, "h", WHEN)
        assert found.files.keys() <= load(tmp_path / "box").files.keys() | {f"{CPU}/online"}
    assert taken


def linked(folder: Path, links: dict[str, str], content: bytes) -> Path:
    """Return a tar archive with these links, and with a file `one` that has this content."""
    file = folder / "links.tar"
    with tarfile.open(file, "w") as made:
        for name, data in (("proc/loadavg", b"1\n"), ("one", content)):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            made.addfile(info, io.BytesIO(data))
        for name, target in links.items():
            info = tarfile.TarInfo(name)
            info.type, info.linkname = tarfile.SYMTYPE, target
            made.addfile(info)
    return file


CIRCLES = {f"sys/fs/cgroup/a{number}": "." for number in range(60)}
SAME_FILE = {f"{CPU[1:]}/cpu{number}/online": "/one" for number in range(200)}


@pytest.mark.parametrize("links", [CIRCLES, SAME_FILE])
def test_links_that_lead_to_the_same_again_and_again(
    links: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filetree, "MOST_LOOKS", 100_000)
    monkeypatch.setattr(filetree, "MOST_TEXT", 1 << 20)
    found = load(linked(tmp_path, links, b"1\n" * (64 << 10)))
    assert sum(map(len, found.files.values())) <= 1 << 20
    assert [note.partition(":")[0] for note in found.notes] == ["only part of it was read"]
    assert found.files["/proc/loadavg"] == "1"
    assert facts_of(found, "h", WHEN).load.load1 == 1


def pax(records: dict[str, str]) -> bytes:
    """Return the header that precedes a member with these attributes, according to the pax standard (POSIX.1-2017,
    pax)."""
    body = b""
    for name, value in records.items():
        record = f" {name}={value}\n".encode()
        length = next(size for size in range(len(record), len(record) + 12) if size == len(str(size)) + len(record))
        body += str(length).encode() + record
    info = tarfile.TarInfo("attributes")
    info.type, info.size = tarfile.XHDTYPE, len(body)
    return info.tobuf(tarfile.USTAR_FORMAT) + body + b"\0" * (-len(body) % 512)


SPARSE = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.realsize": "1", "GNU.sparse.name": "proc/x"}


@pytest.mark.parametrize("head", [pax(SPARSE), pax({"GNU.sparse.map": ",".join(["0"] * (4 << 20))})])
def test_headers_that_never_end(head: bytes, tmp_path: Path) -> None:
    """The map of a sparse file may have any number of entries. A small packed file could take hours and use gigabytes
    of memory."""
    info = tarfile.TarInfo("proc/x")
    info.size = 1 << 32
    file = tmp_path / "sparse.tar.gz"
    first = linked(tmp_path, {}, b"1\n").read_bytes()[:2048]
    with gzip.open(file, "wb", 1) as made:
        made.write(first + head + info.tobuf(tarfile.GNU_FORMAT) + b"900000000\n" + b"0\n" * (8 << 20))
    found = load(file)
    assert found.files == {"/proc/loadavg": "1"}
    assert found.notes == ("only part of it is readable: its headers are too long",)


def test_usual_headers_of_many_members_are_not_too_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MOST_HEADERS", 4096)
    file = tmp_path / "many.tar"
    with tarfile.open(file, "w", format=tarfile.PAX_FORMAT) as made:
        for name in ["proc/loadavg", *(f"sys/class/net/veth{number}/{'long' * 40}" for number in range(50))]:
            info = tarfile.TarInfo(name)
            info.size, info.pax_headers = 2, {"SCHILY.xattr.security.selinux": "system_u:object_r:sysfs_t:s0"}
            made.addfile(info, io.BytesIO(b"1\n"))
    assert load(file).notes == ()
