"""Programs and the work folder, parsed from synthetic output."""

from __future__ import annotations

import pytest

from asct.facts import software
from asct.facts.snapshot import CommandOutput, Snapshot
from asct.facts.unknown import UnknownFacts


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("gcc (Debian 12.2.0-14+deb12u1) 12.2.0\nCopyright", "12.2.0"),
        ("gcc (GCC) 8.5.0 20210514 (Red Hat 8.5.0-28)", "8.5.0"),
        ("fio-3.33", "3.33"),
        ("fio-3.36-17-gabc", "3.36"),
        ("sysstat version 12.6.1\n(C) Sebastien Godard", "12.6.1"),
        ("Debian clang version 14.0.6", "14.0.6"),
        ("perf version 6.1.187", "6.1.187"),
        ("numactl: unrecognized option", None),
        ("", None),
    ],
)
def test_versions(text: str, expected: str | None) -> None:
    assert software.version(text) == expected


def test_tools() -> None:
    commands = {
        "tool-fio": CommandOutput(0, "/usr/bin/fio\nfio-3.33\n"),
        "fio-engines": CommandOutput(0, "Available IO engines:\n\tlibaio\n\tpsync\n"),
        "fio-options": CommandOutput(
            0, "rw                      : IO direction\n  bs  : Block size unit\nengine mmap\nthp : Pages\n"
        ),
        "tool-gcc": CommandOutput(0, "/usr/bin/gcc\ngcc (GCC) 12.2.0\n"),
        "tool-numactl": CommandOutput(1, "/usr/bin/numactl\nusage: ...\n"),
        "tool-cc": CommandOutput(0, "cc\n"),
    }
    made = software.tools(Snapshot({}, commands), UnknownFacts())
    assert set(made) == {"fio", "gcc", "numactl"}
    assert (made["fio"].version, made["fio"].features) == ("3.33", ["libaio", "psync"])
    assert made["fio"].options == ["bs", "mmap.thp", "rw"]
    assert (made["numactl"].version, made["numactl"].options) == (None, [])


def test_a_list_of_options_that_several_hosts_print_is_parsed_once() -> None:
    texts = ["".join(("bs: size\n", "rw: pattern\n")) for _ in range(2)]
    assert texts[0] is not texts[1] and software.options(texts[0]) is software.options(texts[1])


@pytest.mark.parametrize(
    ("sysctl", "uid", "probe", "expected"),
    [("0", "5", None, True), ("1", "5", None, None), ("1", "0", None, True), ("2", "0", None, False),
     (None, "0", None, None), ("0", "5", 1, False), (None, "5", 0, True)],
)  # fmt: skip
def test_io_uring(sysctl: str | None, uid: str, probe: int | None, expected: bool | None) -> None:
    files = {} if sysctl is None else {"/proc/sys/kernel/io_uring_disabled": sysctl}
    commands = {"id": CommandOutput(0, uid)}
    if probe is not None:
        commands |= {"io_uring": CommandOutput(probe, ""), "fio-engines": CommandOutput(0, "\tio_uring\n")}
    gaps = UnknownFacts()
    assert software.io_uring(Snapshot(files, commands), gaps) is expected
    assert ("io_uring" in gaps.reasons) == (expected is None)


def test_work_folder() -> None:
    df = "Filesystem 1024-blocks Used Available Capacity Mounted on\n/dev/sda1 100 60 40 60% /mnt/my disk"
    mounts = "/dev/sda1 / ext4 rw 0 0\nx /mnt/my\\040disk tmpfs rw 0 0\ny /mnt/my\\040disk xfs rw 0 0"
    found = Snapshot({"/proc/self/mounts": mounts}, {"df": CommandOutput(0, df)})
    assert software.work_folder(found, UnknownFacts()) == (40960, "xfs")
    gaps = UnknownFacts()
    assert software.work_folder(Snapshot(), gaps) == (None, None)
    assert set(gaps.reasons) == {"work_free_bytes", "work_filesystem"}


def test_what_perf_was_built_with() -> None:
    built = "perf version 6.8.12\n                   dwarf: [ on  ]  # HAVE_DWARF_SUPPORT\n"
    built += "              libopencsd: [ OFF ]  # HAVE_CSTRACE_SUPPORT\n"
    built += "                 libnuma: [ on  ]  # HAVE_LIBNUMA_SUPPORT\nodd [ on ]\n"
    commands = {
        "tool-perf": CommandOutput(0, "/usr/bin/perf\nperf version 6.8.12\n"),
        "perf-features": CommandOutput(0, built),
    }
    assert software.tools(Snapshot({}, commands), UnknownFacts())["perf"].features == ["dwarf", "libnuma"]
