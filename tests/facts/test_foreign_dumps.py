"""Synthetic machines that resemble dumps of hwloc and lscpu that asct once misread."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from asct.cli.app import run
from asct.facts import exchange
from asct.facts.files_snapshot import load
from asct.facts.reading import ABSENT, facts_of
from asct.facts.snapshot import from_output
from asct.facts.sources import CPU, NODE
from asct.sdk.facts import HostFacts
from asct.store.schemas import validator
from asct.values.cpulist import format_cpulist
from tests.facts.made import Cached, Made, blocks, tree, written
from tests.facts.shapes import SHAPES, X86, arm_server, hybrid
from tests.facts.test_machines import DUMPS
from tests.facts.test_parsers import WHEN
from tests.facts.test_smbios import array, raw

FLAGS = {"flags": "fpu lm sse2"}


def machine(files: dict[str, str], folder: Path) -> HostFacts:
    return facts_of(load(written(files, folder)), "h", WHEN)


def server() -> dict[str, str]:
    """Return a machine with 2 sockets, each with one node and 2 cores with 2 threads."""
    cpus = [Made(cpu=n, core=n // 2, core_id=n // 2, socket=n // 4, node=n // 4) for n in range(8)]
    caches = [Cached(1, "Data", "32K", lambda it: it.core), Cached(3, "Unified", "16M", lambda it: it.socket)]
    return tree(cpus, caches, blocks(cpus, {**X86, **FLAGS}))


def test_values_that_end_with_a_zero_byte(tmp_path: Path) -> None:
    """As on a Kunpeng with 128 CPUs: the list is followed by a line feed and a zero byte."""
    files = arm_server()
    ended = {path: f"{text}\n\0" for path, text in files.items() if path.startswith("/sys/devices/system/node")}
    facts = machine(files | ended, tmp_path)
    assert [node.cpus for node in facts.nodes] == [list(range(at, at + 32)) for at in range(0, 128, 32)]
    assert not [field for field in facts.unknown if field.endswith(".cpus")]


def test_a_host_prints_values_that_end_with_a_zero_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """grep treats such a file as binary."""
    (tmp_path / "cpulist").write_text("0-3\n\0")
    monkeypatch.setattr(exchange, "FILES", (f"{tmp_path}/cpulist",))
    words = ["sh", "-s", "asct-0123456789abcdef", str(tmp_path), ""]
    done = subprocess.run(words, input=exchange.script(), capture_output=True, text=True, check=True)
    assert from_output(done.stdout, words[2]).files[f"{tmp_path}/cpulist"] == "0-3"


def test_a_node_whose_list_is_unknown_is_not_without_cpus(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = server() | {f"{NODE}/node0/cpulist": "0-", f"{NODE}/node1/cpulist": "4-"}
    del files[f"{NODE}/node1/cpumap"]
    facts = machine(files, tmp_path)
    assert [node.cpus for node in facts.nodes] == [[0, 1, 2, 3], []]
    assert "nodes.1.cpus" in facts.unknown and "nodes.0.cpus" not in facts.unknown
    assert run(["system-info", "--from", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert "Node 1" in text and "CPUs unknown" in text and "no CPUs" not in text


def test_cpus_that_are_off_without_the_list_of_all(tmp_path: Path) -> None:
    """As in hwloc's 16em64t-4s2c2t-offlines: /proc/cpuinfo still contains the offline CPUs."""
    files = server()
    off = {f"{CPU}/cpu{cpu}/online": "0" for cpu in (4, 5, 6, 7)}
    del files[f"{CPU}/online"]
    facts = machine(files | off, tmp_path)
    assert (facts.cpu.online, facts.cpu.offline) == ([0, 1, 2, 3], [4, 5, 6, 7])
    assert (facts.cpu.sockets, facts.cpu.cores) == (1, 2)


def test_a_cache_of_impossible_shape(tmp_path: Path) -> None:
    index = f"{CPU}/cpu0/cache/index0"
    huge = str(10**18)
    files = {f"{index}/{name}": huge for name in ("ways_of_associativity", "number_of_sets", "coherency_line_size")}
    facts = machine(
        server() | files | {f"{CPU}/cpu2/cache/index1/level": huge, f"{index}/size": f"{10**11}G"}, tmp_path
    )
    assert max(one.level for one in facts.cache_levels) == 3
    first = next(one for one in facts.cache_levels if [0, 1] in one.instances)
    assert (first.size_bytes, first.ways, first.sets, first.line_bytes) == (None, None, None, None)


def test_contradictions_are_told(tmp_path: Path) -> None:
    """The contradictions are those in hwloc's 64amd64-4s2n4ca2co and 8em64t-2s2ca2c-buggynuma."""
    assert machine(server(), tmp_path / "sound").contradictions == []
    for name, files, told in (
        ("same", {f"{NODE}/node0/cpulist": "0-7", f"{NODE}/node1/cpulist": "0-7"}, "each of the 2 NUMA nodes"),
        ("shared", {f"{NODE}/node0/cpulist": "0-4"}, "several NUMA nodes list the same CPUs: 4"),
        ("mask", {f"{NODE}/node0/cpumap": "ff"}, "cpulist and cpumap of node 0"),
        ("threads", {f"{CPU}/cpu1/topology/core_cpus_list": "1-2"}, "core_cpus_list of CPUs 0-1 contradicts"),
        ("package", {f"{CPU}/cpu7/topology/physical_package_id": "0"}, "the package numbers of CPUs"),
    ):
        found = machine(server() | files, tmp_path / name).contradictions
        assert any(told in text for text in found), (name, found)


def test_a_node_with_an_empty_list_and_a_mask_has_the_cpus_of_the_mask(tmp_path: Path) -> None:
    facts = machine(server() | {f"{NODE}/node1/cpulist": ""}, tmp_path)
    assert facts.nodes[1].cpus == [4, 5, 6, 7]
    assert facts.contradictions == ["cpulist and cpumap of node 1 contradict each other; asct uses the mask"]


def test_memory_of_several_kinds(tmp_path: Path) -> None:
    """The class of CPUs takes precedence over that of the nearest initiators, one of which may be a GPU."""
    classes = {0: "900000", 1: "200000"}
    files = {f"{NODE}/node0/access{at}/initiators/read_bandwidth": text for at, text in classes.items()}
    files |= {f"{NODE}/node1/access0/initiators/read_latency": "90"}
    files |= {f"{NODE}/node0/memory_side_cache/index1/{name}": text for name, text in {"size": "17179869184"}.items()}
    first, second = machine(server() | files, tmp_path).nodes
    assert first.firmware is not None and first.firmware.read_bandwidth == 2e11
    assert second.firmware is not None and second.firmware.read_latency == pytest.approx(90e-9)
    assert [(one.level, one.size_bytes) for one in first.caches] == [(1, 16 << 30)]


ARM = "Features\t: fp asimd evtstrm\nCPU architecture: 8"


@pytest.mark.parametrize(
    ("files", "arch"),
    [
        ({"/proc/cpuinfo": "flags\t\t: fpu lm sse"}, "x86_64"), ({"/proc/cpuinfo": "flags\t\t: fpu sse"}, "i686"),
        ({"/proc/cpuinfo": ARM}, "aarch64"), ({"/proc/cpuinfo": "isa\t\t: rv64imafdc"}, "riscv64"),
        ({"/proc/cpuinfo": "CPU architecture: 7"}, "armv7l"), ({"/proc/cpuinfo": "nothing"}, None),
        ({"/proc/cpuinfo": "flags : fpu lm", "/proc/version": "Linux version 5.10.0-1-686-pae (d) #1"}, "i686"),
        ({"/proc/version": "Linux version 5.14.0-70.el9.aarch64+64k (r) #1 SMP"}, "aarch64"),
        ({f"{CPU}/cpu0/regs/identification/midr_el1": "0x410fd0c0"}, "aarch64"),
        ({"/proc/sys/kernel/arch": "riscv64", "/proc/cpuinfo": "flags : lm"}, "riscv64"),
    ],
)  # fmt: skip
def test_the_architecture_of_a_dump(files: dict[str, str], arch: str | None, tmp_path: Path) -> None:
    assert machine({"/proc/loadavg": "1 1 1 1/1 1"} | files, tmp_path).system.arch == arch


def test_modules_and_drives_of_a_dump(tmp_path: Path) -> None:
    """The sources are one file per firmware structure, and udev's database."""
    files = server() | {
        "/sys/block/sda/dev": "8:0", "/sys/block/sda/size": "1000", "/sys/block/sda/device/model": "SHORT",
        "/run/udev/data/b8:0": "E:ID_SERIAL_SHORT=S123\nE:ID_BUS=ata\nE:ID_MODEL_ENC=LONG\\x20NAME\nE:SECRET=x",
    }  # fmt: skip
    written(files, tmp_path)
    structures = {"16-0": array(), "17-0": raw("DIMM_A1"), "17-1": raw("DIMM_B1", size=0), "17-10": raw("DIMM_C1")}
    for name, data in structures.items():
        place = tmp_path / "sys/firmware/dmi/entries" / name
        place.mkdir(parents=True)
        (place / "raw").write_bytes(data)
    for _ in ("entries", "tables"):
        facts = facts_of(load(tmp_path), "h", WHEN)
        assert [one.slot for one in facts.memory.modules] == ["DIMM_A1", "DIMM_B1", "DIMM_C1"]
        assert facts.memory.ecc == "multi-bit ECC"
        [drive] = facts.block_devices
        assert (drive.serial, drive.model, drive.transport) == ("S123", "LONG NAME", "sata")
        table = tmp_path / "sys/firmware/dmi/tables/DMI"
        table.parent.mkdir(exist_ok=True)
        other = bytes([11, 5, 0, 0, 1]) + b"secret\0\0"
        table.write_bytes(other + b"".join(structures.values()) + bytes([127, 4, 0, 0, 0, 0]) + raw("AFTER"))
        for name in structures:
            (tmp_path / "sys/firmware/dmi/entries" / name / "raw").unlink(missing_ok=True)


def test_what_a_dump_does_not_contain_says_nothing_about_the_machine(tmp_path: Path) -> None:
    facts = machine(server(), tmp_path)
    for field in ("memory.modules", "system.product.serial", "cpu.policies", "network.addresses", "system.container",
                  "load.cpu_pressure_avg10", "thermal", "system.cloud", "io_uring", "nodes.firmware"):  # fmt: skip
        expected = ABSENT if field != "nodes.firmware" else "the firmware provides no ACPI HMAT"
        assert facts.unknown[field] == expected, field
    assert not [reason for reason in facts.unknown.values() if reason == "needs root"]


def test_of_a_dump_without_a_file_every_fact_is_absent(tmp_path: Path) -> None:
    """This applies to every field that may be added later: the reason must not attribute to the machine what only the
    dump lacks."""
    assert set(machine({"/proc/version": "x"}, tmp_path).unknown.values()) == {ABSENT}


@pytest.mark.parametrize(("ids", "name"), [("80eebeef", "oracle"), ("15ad0405", "vmware"), ("80861237", "none")])
def test_the_hypervisor_by_its_functions(ids: str, name: str, tmp_path: Path) -> None:
    table = f"0000\t80861237\t0\t0\n0010\t{ids}\t12\te0000008"
    assert machine(server() | {"/proc/bus/pci/devices": table}, tmp_path).system.virtualization == name


@pytest.mark.parametrize(
    ("mounts", "place"),
    [("cgroup2 /cgroup/unified cgroup2 rw 0 0", "/cgroup/unified"), ("proc /proc proc rw 0 0", "/sys/fs/cgroup")],
)
def test_control_groups_that_are_mounted_elsewhere(mounts: str, place: str, tmp_path: Path) -> None:
    """As in hwloc's 32amd64-4s2n4c-cgroup2."""
    files = server() | {
        "/proc/mounts": mounts, "/proc/self/cgroup": "0::/job", f"{place}/job/cpuset.cpus.effective": "0-5",
        f"{place}/job/cpu.max": "250000 100000", f"{place}/job/memory.max": "1000", f"{place}/memory.max": "max",
        f"{place}/job/memory.current": "400",
    }  # fmt: skip
    facts = machine(files, tmp_path)
    assert (facts.cpu.allowed, facts.cpu.quota) == ([0, 1, 2, 3, 4, 5], 2.5)
    assert facts.memory.limit_bytes == 1000


def test_version_1_of_control_groups_mounted_elsewhere(tmp_path: Path) -> None:
    files = server() | {
        "/proc/mounts": "none /dev/cgroup cgroup rw,relatime,cpuset 0 0", "/proc/self/cgroup": "2:cpuset:/job",
        "/dev/cgroup/job/cpuset.cpus": "2-3",
    }  # fmt: skip
    assert machine(files, tmp_path).cpu.allowed == [2, 3]


@pytest.mark.parametrize("command", ["cpu-groups", "memory-groups"])
def test_a_host_finds_control_groups_that_are_mounted_elsewhere(command: str, tmp_path: Path) -> None:
    top = tmp_path / "elsewhere"
    (tmp_path / "cgroup").write_text("0::/job\n")
    (tmp_path / "mounts").write_text(f"proc /proc proc rw 0 0\ncgroup2 {top} cgroup2 rw 0 0\n")
    for name, text in {"cpu.max": "50000 100000", "memory.max": "70", "memory.current": "7", "memory.stat": ""}.items():
        (top / "job").mkdir(parents=True, exist_ok=True)
        (top / "job" / name).write_text(f"{text}\n")
    text = exchange.COMMANDS[command].replace("/sys/fs/cgroup", f"{tmp_path}/no").replace("/proc/self", str(tmp_path))
    done = subprocess.run(["sh", "-c", text], capture_output=True, text=True, check=True)
    assert done.stdout == {"cpu-groups": "50000 100000\n", "memory-groups": "70 7\n"}[command]


CLOCKS = {0: ("5000000", "64"), 1: ("3900000", "39")}
"""The performance cores and the efficient cores of hwloc's 20em64t-hybrid: clock in kHz, and CPPC performance."""


@pytest.mark.parametrize("signal", ["clock", "perf", "caches"])
def test_kinds_of_cores_that_no_list_names(signal: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As in hwloc's 20em64t-hybrid and 5intel64-lakefield. The clocks of the latter differ by only 7 %."""
    files = {path: text for path, text in hybrid().items() if "/cpu_" not in path}
    if signal != "caches":
        files = {path: text for path, text in files.items() if "/cache/" not in path}
    for cpu in range(20):
        clock, perf = CLOCKS[cpu >= 12]
        if cpu in (2, 3):  # the best core of all
            clock, perf = "5200000", "66"
        name, text = {"clock": ("cpufreq/cpuinfo_max_freq", clock), "perf": ("acpi_cppc/highest_perf", perf),
                      "caches": ("cpufreq/cpuinfo_max_freq", "3000000" if cpu < 12 else "2800000")}[signal]  # fmt: skip
        files[f"{CPU}/cpu{cpu}/{name}"] = text
    facts = machine(files, tmp_path)
    assert [(one.microarchitecture, one.cores, one.threads_per_core) for one in facts.cpu.kinds] == [
        ("Golden Cove", 6, 2), ("Gracemont", 8, 1)
    ]  # fmt: skip
    assert facts.cpu.kinds[0].cpus == list(range(12))
    assert run(["system-info", "--from", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert "14 cores, 1 to 2 threads per core" in text and "6 cores, 2 threads per core" in text


def test_cores_of_one_design_that_are_faster_than_others_are_of_one_kind(tmp_path: Path) -> None:
    """Preferred cores have a CPPC performance of 166 to 236, in small steps."""
    files = server() | {f"{CPU}/cpu{cpu}/acpi_cppc/highest_perf": str(166 + 10 * cpu) for cpu in range(8)}
    files |= {f"{CPU}/cpu{cpu}/cpufreq/cpuinfo_max_freq": str(5000000 + 100000 * cpu) for cpu in range(8)}
    assert len(machine(files, tmp_path).cpu.kinds) == 1


def test_cores_of_a_hybrid_processor_without_efficient_ones_are_of_one_kind(tmp_path: Path) -> None:
    files = hybrid() | {f"{CPU}/{name}": "0-11" for name in ("online", "present")}
    files = {path: text for path, text in files.items() if "/cpu_" not in path}
    assert len(machine(files, tmp_path).cpu.kinds) == 1


def test_places_and_the_rest_of_lscpu_are_in_every_form(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The output contains a tree of buses, bridges and functions as text, and the same information as fields."""
    sysfs = tmp_path / "sys"
    place = "devices/pci0000:60/0000:60:01.0/0000:61:00.0"
    values = {"class": "0x010802", "vendor": "0x144d", "device": "0xa80a", "numa_node": "1"}
    fields = {**X86, **FLAGS, "bogomips": "4000.00", "address sizes": "46 bits physical, 48 bits virtual"}
    info = {"/proc/cpuinfo": blocks([Made(cpu=0, core=0)], fields)}
    written(server() | info | {f"/sys/{place}/{name}": text for name, text in values.items()}, tmp_path)
    (sysfs / "bus/pci/devices").mkdir(parents=True)
    (sysfs / "bus/pci/devices/0000:61:00.0").symlink_to(f"../../../{place}")
    texts = {}
    for form in ("stdout", "csv", "json"):
        assert run(["system-info", "--from", str(tmp_path), "--format", form]) == 0
        texts[form] = capsys.readouterr().out
    lines = [" ".join(line.split()) for line in texts["stdout"].split("\n")]
    at = lines.index("PCI")
    assert lines[at + 1 : at + 4] == [
        "bus 0000:60 root", "0000:60:01.0 bridge", "0000:61:00.0 NVMe controller 144d:a80a, node 1"
    ]  # fmt: skip
    assert {"BogoMIPS 4000.00", "Address sizes 46 bits physical, 48 bits virtual"} <= set(lines)
    assert "Byte order little endian" in lines
    for row in ("pci.0.bridges,0000:60:01.0", "pci.0.root,0000:60", "pci.0.node,1", "cpu.bogomips,4000.0",
                "cpu.physical_address_bits,46", "system.byte_order,little"):  # fmt: skip
        assert row in texts["csv"].split("\n")
    document = json.loads(texts["json"])
    assert not list(validator("facts").iter_errors(document))
    assert document["pci"][0]["bridges"] == ["0000:60:01.0"]


def test_memory_side_caches_and_functions_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, size in (("one", "1G"), ("two", "2G")):
        written(server() | {f"{NODE}/node0/memory_side_cache/index1/size": size}, tmp_path / name)
    assert run(["system-info", "--from", str(tmp_path / "one"), "--compare", str(tmp_path / "two")]) == 0
    assert "1 difference" in capsys.readouterr().out


def interleaved() -> dict[str, str]:
    """Return a machine with 256 CPUs that are numbered alternately over 4 sockets, which results in long lists without
    ranges. The level-2 caches span sockets."""
    cpus = [Made(cpu=n, core=n, core_id=n // 4, socket=n % 4, node=n % 4) for n in range(256)]
    caches = [Cached(2, "Unified", "256K", lambda it: it.core // 8), Cached(3, "Unified", "24M", lambda it: it.socket)]
    side = {f"{NODE}/node1/memory_side_cache/index1/size": str(16 << 30)}
    return tree(cpus, caches, blocks(cpus, {**X86, "model name": "A long name of a processor " * 6})) | side


@pytest.mark.parametrize("option", ["--quiet", "--topology"])
@pytest.mark.parametrize("name", [*SHAPES, "interleaved", *DUMPS])
def test_what_is_shown_of_a_dump_fits_80_columns(
    name: str, option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    shape = interleaved if name == "interleaved" else SHAPES.get(name)
    place = DUMPS[name] if shape is None else written(shape(), tmp_path / name)
    assert run(["system-info", option, "--from", str(place)]) == 0
    text = capsys.readouterr().out
    assert not [line for line in text.split("\n") if len(line) > 80]
    if name == "interleaved":
        assert format_cpulist(range(3, 256, 4)) in re.sub(r",\n[ │]*", ",", text)
        if option == "--topology":
            assert "Not drawn: L2 0, L2 1, L2 2, L2 3 and 28 more overlap socket 0." in text
            assert "NUMA node 1: size unknown behind a memory-side cache of 16G" in text
