"""The plans in plans/platforms can be resolved, and their points fit the synthetic facts of such a machine."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from asct.engine.points import bind_points, waits_for_results
from asct.plan.load import load_plan
from asct.plan.sources import plans
from asct.planner.model import ResolvedPlan
from asct.planner.resolve import resolve
from asct.registry import installed
from asct.sdk.facts import Cache, Cpu, HostFacts, Load, Memory, NumaNode, System

FOLDER = plans() / "platforms"
PARTS = {"base", "common"}
"""Files that are not complete plans."""
WITHOUT_BANDWIDTH = {"generic", "ampereone", "axion", "cobalt"}
"""Plans that contain no theoretical bandwidth."""
PRODUCT = re.compile(r"# (\d+) \w+ x ([\d.]+e\d+) \S+(?: x (\d+) bytes)? = ([\d.]+e9) B/s")
"""Matches the arithmetic behind a bandwidth, such as `# 8 channels x 3200e6 transfers/s x 8 bytes = 204.8e9 B/s`."""
SOURCE = re.compile(r"# Source: .+, .*[\w-]+\.\w{2,3}\b.* \(accessed \d{4}-\d\d-\d\d\)")
K, M, G = 1 << 10, 1 << 20, 1 << 30
FOUND = {
    "dram.optimum_size": 512 * M,
    "llc.optimum_size": 16 * M,
    "l2.optimum_size": 512 * K,
    "l1.optimum_size": 32 * K,
}
"""Values of latency-sweep that other benchmarks use."""


@dataclass(frozen=True)
class Machine:
    """The topology of a machine: nodes of equal size, and caches of one core, except for the last level."""

    model: str
    arch: str
    sockets: int
    cores: int
    nodes: int
    l1: int
    l2: int
    l3: int
    memory: int
    threads: int = 1
    line: int = 64


MACHINES = {
    "altra": Machine("Neoverse-N1", "aarch64", 2, 160, 2, 64 * K, M, 32 * M, 512 * G),
    "ampereone": Machine("Ampere-1a", "aarch64", 1, 192, 1, 64 * K, 2 * M, 64 * M, 512 * G),
    "graviton2": Machine("Neoverse-N1", "aarch64", 1, 64, 1, 64 * K, M, 32 * M, 256 * G),
    "graviton3": Machine("Neoverse-V1", "aarch64", 1, 64, 1, 64 * K, M, 32 * M, 256 * G),
    "graviton4": Machine("Neoverse-V2", "aarch64", 2, 192, 2, 64 * K, 2 * M, 36 * M, 1536 * G),
    "grace": Machine("Neoverse-V2", "aarch64", 2, 144, 2, 64 * K, M, 117 * M, 480 * G),
    "cobalt": Machine("Neoverse-N2", "aarch64", 1, 96, 1, 64 * K, M, 128 * M, 384 * G),
    "axion": Machine("Neoverse-V2", "aarch64", 1, 72, 1, 64 * K, 2 * M, 80 * M, 288 * G),
    "kunpeng-920": Machine("TaiShan-v110", "aarch64", 2, 128, 4, 64 * K, 512 * K, 32 * M, 512 * G),
    "a64fx": Machine("A64FX", "aarch64", 1, 48, 4, 64 * K, 8 * M, 0, 32 * G, line=256),
    "raspberry-pi-5": Machine("Cortex-A76", "aarch64", 1, 4, 1, 64 * K, 512 * K, 2 * M, 8 * G),
    "epyc": Machine("AMD EPYC 9654", "x86_64", 2, 192, 8, 32 * K, M, 32 * M, 768 * G, threads=2),
    "xeon": Machine("Intel Xeon Platinum 8480+", "x86_64", 2, 112, 2, 48 * K, 2 * M, 105 * M, 512 * G, threads=2),
    "generic": Machine("Cortex-A53", "aarch64", 1, 2, 1, 32 * K, 512 * K, 0, G),
}


def facts_of(machine: Machine) -> HostFacts:
    cpus = list(range(machine.cores * machine.threads))
    share = len(cpus) // machine.nodes
    caches = [(1, "Data", machine.l1), (2, "Unified", machine.l2), (3, "Unified", machine.l3)]
    return HostFacts(
        host="target",
        collected_at="2026-11-21T04:28:13Z",
        system=System(hostname="target", arch=machine.arch, kernel="6.1.0", os="Debian 12", uid=0),
        cpu=Cpu(
            cpus=len(cpus), online=cpus, allowed=cpus, model=machine.model, sockets=machine.sockets,
            cores=machine.cores, threads_per_core=machine.threads,
        ),
        caches=[
            Cache(level=level, type=kind, size_bytes=size, line_bytes=machine.line, shared_cpus=[0])
            for level, kind, size in caches
            if size
        ],
        nodes=[
            NumaNode(
                id=node,
                cpus=cpus[node * share : (node + 1) * share],
                memory_bytes=machine.memory // machine.nodes,
                distances=[10 if other == node else 20 for other in range(machine.nodes)],
            )
            for node in range(machine.nodes)
        ],
        memory=Memory(
            total_bytes=machine.memory, available_bytes=machine.memory * 9 // 10, page_bytes=4096, thp="madvise"
        ),
        load=Load(load1=0.0, load5=0.0, load15=0.0),
        work_free_bytes=100 * G,
    )  # fmt: skip


def resolved(path: Path, sets: tuple[str, ...] = ()) -> ResolvedPlan:
    loaded = load_plan(path, sets=sets)
    assert loaded.plan is not None, [item.message for item in loaded.diagnostics]
    found = resolve(loaded.plan, installed()).required()
    assert not found.diagnostics, [item.message for item in found.diagnostics]
    return found


def test_every_platform_has_a_machine() -> None:
    assert {path.stem for path in FOLDER.glob("*.yaml")} - PARTS == set(MACHINES)


@pytest.mark.parametrize("name", sorted(MACHINES))
def test_its_points_fit_such_a_machine(name: str) -> None:
    plan = resolved(FOLDER / f"{name}.yaml")
    facts = facts_of(MACHINES[name])
    assert len(plan.jobs) == 7
    for job in plan.jobs:
        benchmark = installed().get(job.benchmark)
        assert benchmark is not None
        values = {f"{alias}.{key}": value for alias in job.needs for key, value in FOUND.items()}
        assert not waits_for_results(job) or values
        points, _ = bind_points(job, benchmark, values, facts)
        assert [point.unfit for point in points] == [None] * len(points)


@pytest.mark.parametrize("name", sorted(set(MACHINES) - WITHOUT_BANDWIDTH))
def test_the_theoretical_bandwidth_is_that_of_all_sockets(name: str) -> None:
    one = _theoretical(resolved(FOLDER / f"{name}.yaml", ("vars.sockets=1",)))
    assert one > 10e9
    assert _theoretical(resolved(FOLDER / f"{name}.yaml", ("vars.sockets=2",))) == 2 * one


def _theoretical(plan: ResolvedPlan) -> float:
    job = next(job for job in plan.jobs if job.id == "peak-bandwidth")
    return float(job.points[0].settings["theoretical_bandwidth"])


def test_each_expectation_and_bandwidth_of_a_platform_names_its_source() -> None:
    """A source has a title, an address and the date on which it was read."""
    found = 0
    for path in FOLDER.glob("*.yaml"):
        lines = path.read_text(encoding="utf-8").splitlines()
        for number, line in enumerate(lines):
            if line.startswith(("  - {id:", "  socket_bandwidth: ")) and path.stem != "base":
                found += 1
                assert SOURCE.search(_comment_above(lines, number)), f"{path.name}:{number + 1}"
    assert found > len(MACHINES)


@pytest.mark.parametrize("name", sorted(set(MACHINES) - WITHOUT_BANDWIDTH - {"grace"}))
def test_the_arithmetic_behind_a_bandwidth_is_right(name: str) -> None:
    lines = (FOLDER / f"{name}.yaml").read_text(encoding="utf-8").splitlines()
    number = next(number for number, line in enumerate(lines) if line.startswith("  socket_bandwidth: "))
    found = PRODUCT.search(_comment_above(lines, number))
    assert found is not None
    product = float(found[1]) * float(found[2]) * float(found[3] or 1)
    written = float(lines[number].split(":")[1])
    assert float(found[4]) == written
    assert written == pytest.approx(product, rel=0.003)


def _comment_above(lines: list[str], number: int) -> str:
    start = number
    while lines[start - 1].lstrip().startswith("#"):
        start -= 1
    return "\n".join(lines[start:number])
