"""Memory and nodes, parsed from synthetic files."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from asct.facts import memory
from asct.facts.exchange import COMMANDS
from asct.facts.snapshot import CommandOutput, Snapshot
from asct.facts.sources import MM, NODE
from asct.facts.unknown import UnknownFacts, cpu_mask
from asct.sdk.facts import HugePages, NodePerformance

MEMINFO = """\
MemTotal:       32768000 kB
MemAvailable:   16384000 kB
Dirty:               512 kB
SwapTotal:       2097148 kB
SwapFree:        2097000 kB
Hugepagesize:       2048 kB
"""


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
    found = Snapshot({"/proc/meminfo": f"MemAvailable: {8 << 20} kB"}, {"memory-groups": CommandOutput(0, groups)})
    assert memory.memory(found, None, UnknownFacts()).available_bytes == available


def test_the_limits_of_a_group_and_those_above_it_are_read(tmp_path: Path) -> None:
    text = COMMANDS["memory-groups"].replace("/sys/fs/cgroup", str(tmp_path)).replace("/proc/self", str(tmp_path))
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
    gaps = UnknownFacts()
    made = memory.nodes(Snapshot(files), gaps)
    assert [(node.id, node.cpus, node.distances) for node in made] == [(0, [0, 1, 2, 3], [10, 40]), (8, [], [40, 10])]
    assert (made[1].memory_bytes, made[1].free_bytes, made[1].available_bytes) == (64 << 30, 1 << 20, 3 << 19)
    assert made[0].available_bytes is None
    assert list(gaps.reasons) == ["nodes.0.memory_bytes", "nodes.firmware"]


def test_memory() -> None:
    files = {
        "/proc/meminfo": "MemTotal:       1000 kB\nMemAvailable:    500 kB\n",
        f"{MM}/transparent_hugepage/enabled": "always [madvise] never",
        f"{MM}/hugepages/hugepages-2048kB/nr_hugepages": "5",
        f"{MM}/hugepages/hugepages-2048kB/free_hugepages": "3",
        f"{MM}/hugepages/hugepages-1048576kB/nr_hugepages": "1",
    }
    page = {"page-size": CommandOutput(0, "KernelPageSize:       64 kB")}
    made = memory.memory(Snapshot(files, page), None, UnknownFacts())
    assert (made.total_bytes, made.available_bytes, made.page_bytes, made.thp) == (1024000, 512000, 65536, "madvise")
    assert [(one.page_bytes, one.total, one.free) for one in made.huge_pages] == [(2 << 20, 5, 3)]


def test_how_memory_is_managed() -> None:
    files = {
        "/proc/meminfo": MEMINFO,
        "/proc/sys/kernel/numa_balancing": "2",
        "/proc/sys/vm/swappiness": "10",
        "/proc/sys/vm/zone_reclaim_mode": "0",
        f"{MM}/transparent_hugepage/defrag": "always defer defer+madvise [madvise] never",
    }
    groups = {"memory-groups": CommandOutput(0, "9223372036854771712 5 0\n1073741824 536870912 0\n")}
    gaps = UnknownFacts()
    made = memory.memory(Snapshot(files, groups), None, gaps)
    assert (made.default_huge_page_bytes, made.dirty_bytes) == (2 << 20, 512 << 10)
    assert (made.swap_total_bytes, made.swap_free_bytes) == (2097148 << 10, 2097000 << 10)
    assert (made.swappiness, made.zone_reclaim, made.thp_defrag) == (10, 0, "madvise")
    assert (made.numa_balancing, made.numa_balancing_mode) == (True, 2)
    assert (made.limit_bytes, made.available_bytes) == (1 << 30, 512 << 20)
    assert gaps.reasons["memory.thp"] == f"there is no {MM}/transparent_hugepage"


def test_what_the_kernel_lacks_is_noted() -> None:
    gaps = UnknownFacts()
    made = memory.memory(Snapshot(), None, gaps)
    noted = {name.removeprefix("memory.") for name in gaps.reasons}
    null = {name for name, value in made.model_dump().items() if value is None}
    assert null - noted == {"numa_balancing_mode"}


def test_pools_and_performance_of_nodes() -> None:
    files = {
        f"{NODE}/node0/cpumap": "00000001,80000001",
        f"{NODE}/node0/hugepages/hugepages-2048kB/nr_hugepages": "8",
        f"{NODE}/node0/hugepages/hugepages-2048kB/free_hugepages": "7",
        f"{NODE}/node0/hugepages/hugepages-1048576kB/nr_hugepages": "1",
        f"{NODE}/node1/cpulist": "",
        f"{NODE}/node1/access0/initiators/read_bandwidth": "12800",
        f"{NODE}/node1/access0/initiators/read_latency": "250",
        f"{NODE}/node1/access0/initiators/write_latency": "0",
        f"{NODE}/online": "0-1",
        f"{NODE}/nodes/cpulist": "7",
        f"{NODE}/node2/power/control": "auto",
    }
    gaps = UnknownFacts()
    first, second = memory.nodes(Snapshot(files), gaps)
    assert first.cpus == [0, 31, 32]
    assert first.huge_pages == [HugePages(page_bytes=2 << 20, total=8, free=7)]
    assert (second.cpus, second.huge_pages) == ([], [])
    assert second.firmware == NodePerformance(read_bandwidth=12.8e9, read_latency=250 * 1e-9)
    assert (first.firmware, "nodes.firmware" in gaps.reasons) == (None, False)


@pytest.mark.parametrize(
    ("text", "cpus"),
    [
        ("3", [0, 1]),
        ("1,00000000", [32]),
        ("00000000,0000000f\n", [0, 1, 2, 3]),
        ("0", []),
        ("", None),
        (None, None),
        ("1,,2", None),
        ("123456789", None),
        ("0x3", None),
        ("f," * 30_000 + "f", None),
    ],
)
def test_masks(text: str | None, cpus: list[int] | None) -> None:
    assert cpu_mask(text) == cpus
