"""Limits on texts in facts and on the dictionaries of packed files, and the time at which a snapshot was taken."""

from __future__ import annotations

import io
import lzma
import tarfile
import zlib
from datetime import UTC, datetime
from pathlib import Path

import pytest

from asct.facts import archive
from asct.facts.archive import XzReader
from asct.facts.bounds import LONGEST, bounded
from asct.facts.files_snapshot import load
from asct.facts.reading import facts_of
from asct.facts.snapshot import CommandOutput, Snapshot
from asct.facts.unknown import UnknownFacts

WHEN = datetime(2026, 1, 2, tzinfo=UTC)
DICTIONARY = (
    12 + 4
)  # of the first block's header: size, flags, id of the filter, size of its properties (xz 1.2.1, 3.1)


def test_long_texts_are_cut_and_named() -> None:
    files = {
        "/proc/cpuinfo": f"processor : 0\nmodel name : {'m' * 1_000_000}\n",
        "/sys/block/sda/size": "8",
        "/sys/block/sda/device/model": "d" * 9000,
        "/sys/class/net/eth0/address": "a" * LONGEST,
    }
    made = facts_of(Snapshot(files), "h", WHEN)
    assert (made.cpu.model or "").startswith("mmm")
    assert len(made.cpu.model or "") < LONGEST + 100
    assert made.unknown["cpu.model"] == f"{1_000_000 - LONGEST} more characters omitted"
    assert f"{9000 - LONGEST} more" in made.unknown["block_devices.sda.model"]
    assert made.network.interfaces[0].mac == "a" * LONGEST
    assert len(made.model_dump_json()) < 60_000
    assert bounded(made).unknown.keys() == made.unknown.keys()


def test_long_reasons_are_cut() -> None:
    gaps = UnknownFacts()
    gaps.note("x", "w" * 5000)
    assert len(gaps.reasons["x"]) < 1100 and "4000 more characters" in gaps.reasons["x"]


def tar_of(texts: dict[str, str]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as made:
        for name, text in texts.items():
            info = tarfile.TarInfo(name)
            info.size = len(text)
            made.addfile(info, io.BytesIO(text.encode()))
    return packed.getvalue()


def test_a_dictionary_that_would_take_all_memory_is_refused(tmp_path: Path) -> None:
    data = bytearray(lzma.compress(tar_of({"proc/loadavg": "1 2 3"}), preset=0))
    size = (data[12] + 1) * 4
    data[DICTIONARY] = 36  # 1 GiB
    data[12 + size - 4 : 12 + size] = zlib.crc32(data[12 : 12 + size - 4]).to_bytes(4, "little")
    assert len(lzma.decompress(data)) > 512  # otherwise, it is intact
    (tmp_path / "x.tar.xz").write_bytes(data)
    with pytest.raises(Exception, match=r"[Mm]emory usage limit"):
        load(tmp_path / "x.tar.xz")


def test_xz_is_read_like_by_others() -> None:
    plain = bytes(range(256)) * 2000
    packed = lzma.compress(plain[:100_000]) + bytes(8) + lzma.compress(plain[100_000:], preset=9)
    assert XzReader(io.BytesIO(packed)).readall() == plain
    with pytest.raises(EOFError):
        XzReader(io.BytesIO(packed[:500])).readall()
    with pytest.raises(lzma.LZMAError):
        XzReader(io.BytesIO(packed + b"x" * 20)).readall()
    assert archive.MOST_MEMORY > 80 << 20  # `xz -9` needs this much, and was accepted above


def test_a_kept_exchange_says_when_it_was_asked(tmp_path: Path) -> None:
    place = tmp_path / "snapshot.txt"
    text = "asct-0123456789abcdef files -\n/proc/loadavg:1 2 3\nasct-0123456789abcdef taken "
    place.write_text(f"{text}2026-11-01T04:28:13Z\n")
    assert load(place).taken_at == datetime(2026, 11, 1, 4, 28, 13, tzinfo=UTC)
    place.write_text(f"{text}yesterday\n")
    assert load(place).taken_at is None


@pytest.mark.parametrize(
    ("stat", "uptime", "taken"),
    [
        ("cpu 1 2\nbtime 1700000000\n", "3600.55 7000.00\n", datetime(2023, 11, 14, 23, 13, 20, tzinfo=UTC)),
        ("btime x\n", "3600.55 7000.00\n", None),
        ("btime 1700000000\n", "", None),
        ("btime 9999999999\n", "1e999 2\n", None),
        ("btime 9999999999\n", f"{'9' * 29} 2\n", None),
    ],
)
def test_a_copy_of_proc_says_when_it_was_made(stat: str, uptime: str, taken: datetime | None, tmp_path: Path) -> None:
    names = {"proc/stat": stat, "proc/uptime": uptime, "proc/sys/kernel/arch": "aarch64\n", "proc/loadavg": "1 2 3"}
    (tmp_path / "x.tar").write_bytes(tar_of(names))
    found = load(tmp_path / "x.tar")
    assert found.taken_at == taken
    assert facts_of(found, "h", WHEN).system.arch == "aarch64"


def test_clocks_of_all_policies() -> None:
    cpu = "/sys/devices/system/cpu"
    files = {f"{cpu}/online": "0-3"} | {
        f"{cpu}/cpu{number}/cpufreq/{name}": text
        for number in range(4)
        for name, text in (("scaling_governor", "schedutil"), ("affected_cpus", "0 1" if number < 2 else "2 3"))
    }
    said = "".join(f"{cpu}/cpufreq/policy{number}/scaling_cur_freq:{number + 1}00000\n" for number in (0, 2, 7))
    arm = facts_of(Snapshot(files, {"clocks": CommandOutput(0, said)}), "h", WHEN)
    assert [one.current_hz for one in arm.cpu.policies] == [1e8, 3e8]
    info = "".join(f"processor : {number}\ncpu MHz : {1000 + number * 10}.5\n\n" for number in range(3))
    x86 = facts_of(Snapshot({**files, "/proc/cpuinfo": info}, {"clocks": CommandOutput(0, "")}), "h", WHEN)
    assert [one.current_hz for one in x86.cpu.policies] == [1.0055e9, 1.0205e9]
