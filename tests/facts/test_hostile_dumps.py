"""Malicious dumps: tar archives whose headers take unlimited time or memory, and invalid names."""

from __future__ import annotations

import gzip
import tarfile
from pathlib import Path

import pytest

from asct.facts import archive
from asct.facts.files_snapshot import load


def member(name: str, data: bytes = b"", kind: bytes = tarfile.REGTYPE) -> bytes:
    info = tarfile.TarInfo(name)
    info.type, info.size = kind, len(data)
    return info.tobuf(tarfile.GNU_FORMAT) + data + bytes(-len(data) % 512)


def attribute(name: str, value: str) -> bytes:
    """Return the header that precedes a member with this attribute (POSIX.1-2017, pax)."""
    record = f" {name}={value}\n"
    length = next(size for size in range(len(record), len(record) + 12) if size == len(str(size)) + len(record))
    return member("attributes", f"{length}{record}".encode(), tarfile.XHDTYPE)


def of_size(name: str, size: int) -> bytes:
    """Return a header with any size, as a base-256 number (`star(5)`, Large files)."""
    head = bytearray(member(name))
    head[124:136] = (size % (1 << 96)).to_bytes(12, "big")
    head[148:156] = b" " * 8
    head[148:156] = f"{sum(head):06o}\0 ".encode()
    return bytes(head)


LEVEL = member("proc/loadavg", b"1\n")
TORN = "only part of it is readable: "
DEEP = "a/" * (archive.DEEPEST_PATH + 1) + "x"
TARS = {
    "many folders": (
        attribute("path", DEEP) + member("x"),
        f"skipped a member nested too deeply: {DEEP[:100]}",
    ),
    "a path without end": (attribute("path", "a/" * 20_000) + member("x"), f"{TORN}its headers are too long"),
    "a name without end": (
        member("././@LongLink", b"a/" * 20_000, tarfile.GNUTYPE_LONGNAME) + member("x"),
        f"{TORN}its headers are too long",
    ),
    "a number without end": (
        member("attributes", b"1" * 1000, tarfile.XHDTYPE) + member("x"),
        f"{TORN}a number in its headers is too long",
    ),
    "attributes without end": (
        attribute("comment", "x") * 1000 + member("x"),
        f"{TORN}maximum recursion depth exceeded",
    ),
    "a member before itself": (of_size("proc/x", -512), f"{TORN}a size in its headers is negative"),
    "an attribute that leads back": (
        attribute("size", "-2048") + member("proc/x"),
        f"{TORN}a size in its headers is negative",
    ),
}


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("case", TARS)
def test_a_tar_that_costs_without_bound_is_left_and_told(case: str, packed: bool, tmp_path: Path) -> None:
    head, told = TARS[case]
    data = LEVEL + head + LEVEL + bytes(1024)
    file = tmp_path / "box.tar"
    file.write_bytes(gzip.compress(data) if packed else data)
    found = load(file)
    assert found.files == {"/proc/loadavg": "1"}
    [note] = found.notes
    assert note.startswith(told)


def test_a_tar_of_many_members_is_read_as_far_as_its_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A packed archive of 4 MB may have 600,000 members, each of them nested in 60 folders."""
    assert archive.MOST_MEMBERS <= 100_000 and archive.MOST_FOLDERS <= archive.MOST_MEMBERS
    monkeypatch.setattr(archive, "MOST_MEMBERS", 300)
    monkeypatch.setattr(archive, "MOST_FOLDERS", 200)
    for name, told in (("{}", "only its first 300 members were read"),
                       ("{}/" + "a/" * 40 + "x", "only its first 200 folders were read")):  # fmt: skip
        file = tmp_path / "box.tar.gz"
        members = (member(f"sys/{name.format(number)}") for number in range(1000))
        file.write_bytes(gzip.compress(LEVEL + b"".join(members) + LEVEL))
        tree, notes = archive.read(file)
        assert notes == [told]
        assert tree.data["proc", "loadavg"] == b"1\n"
        assert len(tree.data) <= 300 and len(tree.folders) <= 200 + 42
