"""Each parser on made-up texts: usual ones, odd ones, cut ones."""

from __future__ import annotations

import json
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asct.facts import cpu, memory, nodes, software, system
from asct.facts.batch import facts_of
from asct.facts.gaps import Gaps
from asct.facts.snapshot import Said, Snapshot
from asct.facts.sources import COMMANDS, CPU, MM, NODE

WHEN = datetime(2026, 1, 2, tzinfo=UTC)
DATA = Path(__file__).parent / "data"


def test_offline_cpus_count_as_lscpu_counts_them() -> None:
    found = Snapshot({f"{CPU}/present": "0-7", f"{CPU}/online": "0-3,6"})
    made = cpu.cpu(found, Gaps())
    assert (made.cpus, made.online) == (8, [0, 1, 2, 3, 6])


@pytest.mark.parametrize(
    ("groups", "available"),
    [
        ("", 8 << 30),
        ("9223372036854771712 212992 0", 8 << 30),
        ("419430400 104857600 1048576\n9223372036854771712 5 0", 315621376),
        ("1048576 2097152", 0),
        ("max 5\nword", 8 << 30),
    ],
)
def test_available_memory_is_what_control_groups_allow(groups: str, available: int) -> None:
    found = Snapshot({"/proc/meminfo": f"MemAvailable: {8 << 20} kB"}, {"memory-groups": Said(0, groups)})
    assert memory.memory(found, None, Gaps()).available_bytes == available


def test_the_limits_of_a_group_and_those_above_it_are_read(tmp_path: Path) -> None:
    text = dict(COMMANDS)["memory-groups"].replace("/sys/fs/cgroup", str(tmp_path)).replace("/proc/self", str(tmp_path))
    (tmp_path / "cgroup").write_text("4:memory:/a/b\n3:cpu:/a\n0::/c\n")
    for group, limit in (("memory/a/b", "100"), ("memory/a", "200"), ("memory", "300")):
        (tmp_path / group).mkdir(parents=True, exist_ok=True)
        for name, value in (("limit_in_bytes", limit), ("usage_in_bytes", "7"), ("stat", "cache 9\ninactive_file 5")):
            (tmp_path / group / f"memory.{name}").write_text(f"{value}\n")
    (tmp_path / "c").mkdir()
    for name, value in (("max", "max"), ("current", "7"), ("stat", "inactive_file 5")):
        (tmp_path / "c" / f"memory.{name}").write_text(f"{value}\n")
    told = subprocess.run(["sh", "-c", text], capture_output=True, text=True, check=True)
    assert (told.stdout, told.stderr) == ("100 7 5\n200 7 5\n300 7 5\n", "")


def test_offline_cpus_have_no_topology() -> None:
    files = {f"{CPU}/online": "0,2"}
    for number, siblings in ((0, "0-1"), (1, "0-1"), (2, "2-3")):
        files[f"{CPU}/cpu{number}/topology/thread_siblings_list"] = siblings
        files[f"{CPU}/cpu{number}/topology/physical_package_id"] = str(number)
    made = cpu.cpu(Snapshot(files), Gaps())
    assert (made.cores, made.threads_per_core, made.sockets) == (2, 2, 2)


def test_cpu0_may_be_offline() -> None:
    files = {f"{CPU}/online": "4-7"}
    for name, value in (("level", "2"), ("type", "Unified"), ("size", "1024K")):
        files[f"{CPU}/cpu4/cache/index2/{name}"] = value
    assert [one.size_bytes for one in cpu.caches(Snapshot(files), Gaps())] == [1 << 20]


def test_governors_that_differ_are_all_named() -> None:
    files = {f"{CPU}/cpufreq/policy{n}/scaling_governor": g for n, g in ((0, "powersave"), (4, "performance"))}
    assert cpu.cpu(Snapshot(files), Gaps()).governor == "performance, powersave"


def test_the_revision_of_microcode_where_the_kernel_prints_it() -> None:
    gaps = Gaps()
    assert (
        cpu.cpu(Snapshot({"/proc/cpuinfo": "model name : X\nmicrocode : 0x2b000571\n"}), gaps).microcode == "0x2b000571"
    )
    assert cpu.cpu(Snapshot({"/proc/cpuinfo": "CPU part : 0xd0c\n"}), gaps).microcode is None
    assert "cpu.microcode" in gaps.reasons


def test_unknown_arm_part_keeps_its_numbers() -> None:
    info = "CPU implementer\t: 0x41\nCPU part\t: 0xfff\n"
    made = cpu.cpu(Snapshot({"/proc/cpuinfo": info}), Gaps())
    assert (made.vendor, made.model) == ("ARM", "ARM part 0xfff")


def test_neoverse() -> None:
    info = "processor\t: 0\nFeatures\t: fp asimd sve\nCPU implementer\t: 0x41\nCPU part\t: 0xd4f\n"
    made = cpu.cpu(Snapshot({"/proc/cpuinfo": info}), Gaps())
    assert (made.model, made.flags) == ("Neoverse-V2", ["fp", "asimd", "sve"])


@pytest.mark.parametrize(
    ("text", "size"),
    [("32K", 32768), ("3072K", 3 << 20), ("1M", 1 << 20), ("7", 7), ("", None), ("-1K", None), ("K", None)],
)
def test_cache_size(text: str, size: int | None) -> None:
    assert cpu.cache_size(text) == size


def test_caches_without_sizes_are_noted() -> None:
    gaps = Gaps()
    found = Snapshot({f"{CPU}/cpu0/cache/index0/level": "1", f"{CPU}/cpu0/cache/index0/type": "Data"})
    assert cpu.caches(found, gaps) == []
    assert set(gaps.reasons) == {"caches", "caches.index0"}


def test_sparse_and_memory_only_nodes() -> None:
    meminfo = "Node 8 MemTotal:       67108864 kB\nNode 8 MemFree:        1024 kB\n"
    meminfo += "Node 8 Inactive:       9999 kB\nNode 8 Inactive(file): 512 kB\nNode 8 HugePages_Total:     0\n"
    files = {
        f"{NODE}/node0/cpulist": "0-3",
        f"{NODE}/node0/distance": "10 40",
        f"{NODE}/node8/cpulist": "",
        f"{NODE}/node8/distance": "40 10",
        f"{NODE}/node8/meminfo": meminfo,
    }
    gaps = Gaps()
    made = nodes.nodes(Snapshot(files), gaps)
    assert [(node.id, node.cpus, node.distances) for node in made] == [(0, [0, 1, 2, 3], [10, 40]), (8, [], [40, 10])]
    assert (made[1].memory_bytes, made[1].free_bytes, made[1].available_bytes) == (64 << 30, 1 << 20, 3 << 19)
    assert made[0].available_bytes is None
    assert list(gaps.reasons) == ["nodes.0.memory_bytes"]


def test_memory() -> None:
    files = {
        "/proc/meminfo": "MemTotal:       1000 kB\nMemAvailable:    500 kB\n",
        f"{MM}/transparent_hugepage/enabled": "always [madvise] never",
        f"{MM}/hugepages/hugepages-2048kB/nr_hugepages": "5",
        f"{MM}/hugepages/hugepages-2048kB/free_hugepages": "3",
        f"{MM}/hugepages/hugepages-1048576kB/nr_hugepages": "1",
    }
    page = {"page-size": Said(0, "KernelPageSize:       64 kB")}
    made = memory.memory(Snapshot(files, page), None, Gaps())
    assert (made.total_bytes, made.available_bytes, made.page_bytes, made.thp) == (1024000, 512000, 65536, "madvise")
    assert [(one.page_bytes, one.total, one.free) for one in made.huge_pages] == [(2 << 20, 5, 3)]


def test_os_release_quotes() -> None:
    text = 'NAME="Red Hat"\nPRETTY_NAME=\'It is "8"\'\n# c\nBAD="open\nODD\n'
    assert system.os_release(text) == {"NAME": "Red Hat", "PRETTY_NAME": 'It is "8"'}


FIRST = "pid:[4026531836]\nuts:[4026531838]\nipc:[4026531839]\n"
OWN = "pid:[4026532201]\nuts:[4026532198]\nipc:[4026532199]\n"


@pytest.mark.parametrize(
    ("files", "commands", "expected"),
    [
        ({}, {"hypervisor": Said(0, "kvm\n")}, "kvm"),
        ({}, {"hypervisor": Said(1, "none\n")}, "none"),
        ({}, {"hypervisor": Said(0, "kvm\n"), "container": Said(0, "docker\n")}, "kvm"),
        ({"/proc/cpuinfo": "flags : fpu hypervisor"}, {"hypervisor": Said(127, "sh: 1: not found: x")}, "vm"),
        ({"/proc/cpuinfo": "flags : fpu"}, {}, "none"),
        ({"/sys/hypervisor/type": "xen"}, {}, "xen"),
        ({"/sys/class/dmi/id/sys_vendor": "QEMU"}, {}, "qemu"),
        ({"/proc/cpuinfo": "Features : fp"}, {}, None),
    ],
)
def test_virtualization(files: dict[str, str], commands: dict[str, Said], expected: str | None) -> None:
    gaps = Gaps()
    assert system.system(Snapshot(files, commands), gaps).virtualization == expected
    assert ("system.virtualization" in gaps.reasons) == (expected is None)


@pytest.mark.parametrize(
    ("manager", "detected", "namespaces", "expected"),
    [
        (None, Said(0, "docker\n"), OWN, "docker"),
        (None, Said(0, "docker\n"), OWN.replace("pid:[4026532201]", "pid:[4026531836]"), "docker"),
        (None, Said(0, "docker\n"), FIRST, None),
        (None, Said(1, "none\n"), FIRST, "none"),
        ("podman", Said(127, "sh: 1: not found: x"), OWN, "podman"),
        (None, Said(127, "sh: 1: not found: x"), FIRST, "none"),
        (None, Said(127, "sh: 1: not found: x"), OWN, None),
        (None, Said(127, "sh: 1: not found: x"), "", None),
    ],
)
def test_container(manager: str | None, detected: Said, namespaces: str, expected: str | None) -> None:
    gaps = Gaps()
    files = {"/run/systemd/container": manager} if manager else {}
    commands = {"container": detected, "namespaces": Said(0 if namespaces else 1, namespaces)}
    assert system.system(Snapshot(files, commands), gaps).container == expected
    assert ("system.container" in gaps.reasons) == (expected is None)


def test_load() -> None:
    files = {
        "/proc/loadavg": "0.52 0.58 0.59 1/200 99",
        "/proc/pressure/cpu": "some avg10=1.53 avg60=0.2 avg300=0 total=1\nfull avg10=0 ...",
    }
    made = system.load(Snapshot(files), Gaps())
    assert (made.load1, made.load5, made.load15, made.cpu_pressure_avg10) == (0.52, 0.58, 0.59, 1.53)


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
        "tool-fio": Said(0, "/usr/bin/fio\nfio-3.33\n"),
        "fio-engines": Said(0, "Available IO engines:\n\tlibaio\n\tpsync\n"),
        "fio-options": Said(
            0, "rw                      : IO direction\n  bs  : Block size unit\nengine mmap\nthp : Pages\n"
        ),
        "tool-gcc": Said(0, "/usr/bin/gcc\ngcc (GCC) 12.2.0\n"),
        "tool-numactl": Said(1, "/usr/bin/numactl\nusage: ...\n"),
        "tool-cc": Said(0, "cc\n"),
    }
    made = software.tools(Snapshot({}, commands))
    assert set(made) == {"fio", "gcc", "numactl"}
    assert (made["fio"].version, made["fio"].features) == ("3.33", ["libaio", "psync"])
    assert made["fio"].options == ["bs", "mmap.thp", "rw"]
    assert (made["numactl"].version, made["numactl"].options) == (None, [])


@pytest.mark.parametrize(
    ("sysctl", "uid", "probe", "expected"),
    [("0", "5", None, True), ("1", "5", None, None), ("1", "0", None, True), ("2", "0", None, False),
     (None, "0", None, None), ("0", "5", 1, False), (None, "5", 0, True)],
)  # fmt: skip
def test_io_uring(sysctl: str | None, uid: str, probe: int | None, expected: bool | None) -> None:
    files = {} if sysctl is None else {"/proc/sys/kernel/io_uring_disabled": sysctl}
    commands = {"id": Said(0, uid)}
    if probe is not None:
        commands |= {"io_uring": Said(probe, ""), "fio-engines": Said(0, "\tio_uring\n")}
    gaps = Gaps()
    assert software.io_uring(Snapshot(files, commands), gaps) is expected
    assert ("io_uring" in gaps.reasons) == (expected is None)


def test_work_folder() -> None:
    df = "Filesystem 1024-blocks Used Available Capacity Mounted on\n/dev/sda1 100 60 40 60% /mnt/my disk"
    mounts = "/dev/sda1 / ext4 rw 0 0\nx /mnt/my\\040disk tmpfs rw 0 0\ny /mnt/my\\040disk xfs rw 0 0"
    found = Snapshot({"/proc/self/mounts": mounts}, {"df": Said(0, df)})
    assert software.work_folder(found, Gaps()) == (40960, "xfs")
    gaps = Gaps()
    assert software.work_folder(Snapshot(), gaps) == (None, None)
    assert set(gaps.reasons) == {"work_free_bytes", "work_filesystem"}


def documents() -> list[Snapshot]:
    return [Snapshot(json.loads(path.read_text())["files"]) for path in sorted(DATA.glob("*.json"))]


@settings(max_examples=150)
@given(st.data())
def test_odd_texts_never_raise(data: st.DataObject) -> None:
    """Any file cut anywhere, emptied, or replaced by something else."""
    base = data.draw(st.sampled_from(documents()))
    files = dict(base.files)
    for path in data.draw(st.lists(st.sampled_from(sorted(files)), max_size=12)):
        cut = data.draw(st.integers(0, 200))
        files[path] = data.draw(st.sampled_from([files[path][:cut], files[path][cut:]]) | st.text(max_size=40))
    names = (
        "uname",
        "id",
        "df",
        "page-size",
        "hypervisor",
        "container",
        "namespaces",
        "tool-fio",
        "fio-engines",
        "fio-options",
        "io_uring",
    )
    said = st.builds(Said, st.integers(0, 255), st.text(max_size=60))
    commands = data.draw(st.dictionaries(st.sampled_from(names), said))
    facts = facts_of(Snapshot(files, commands), "h", WHEN)
    assert json.loads(facts.model_dump_json(by_alias=True))["schema"] == "asct.facts/1"
