"""Benchmarks of several nodes: every node that has CPUs is combined with every node that has memory, and memory is
bound as stated."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.machines.guest import Guest
from tests.machines.running import applied, of, streams

pytestmark = [pytest.mark.machines, pytest.mark.timeout(900)]

NODES = {"pair": ((0, 1), (0, 1)), "three": ((0, 1), (0, 1, 2)), "arm": ((0, 1), (0, 1)), "narrow": ((0, 1), (0, 1))}
"""The nodes with CPUs and the nodes with memory of each machine."""


def pairs_of(machine: str) -> set[tuple[int, int]]:
    runs, memories = NODES[machine]
    return {(run, memory) for run in runs for memory in memories}


def test_idle_latency_is_taken_from_every_node_to_every_memory(guests: dict[str, Guest], tmp_path: Path) -> None:
    plan = "benchmarks:\n  - uses: idle-latency\n    config: {data_size: 2M, duration: 50ms, visits: 2}\n"
    run = applied(plan, [*guests.values()], tmp_path)
    for name in guests:
        found = [record["coords"] for record in of(run, "latency") if record["host"] == name]
        assert sorted((coords["run_node"], coords["memory_node"]) for coords in found) == sorted(pairs_of(name)), name
        metas = [lines[0] for lines in streams(run, name, "idle-latency")]
        assert {meta["node"] for meta in metas} == set(NODES[name][1])
    report = (run / "report.html").read_text()
    assert "three" in report


def test_cross_numa_bandwidth_is_taken_from_every_node_to_every_memory(
    guests: dict[str, Guest], tmp_path: Path
) -> None:
    config = "{data_size: 1M, duration: 30ms, visits: 1, pages: 4K}"
    run = applied(f"benchmarks:\n  - uses: cross-numa-bandwidth\n    config: {config}\n", [*guests.values()], tmp_path)
    for name in guests:
        found = [record["coords"] for record in of(run, "bandwidth") if record["host"] == name]
        assert sorted((coords["run_node"], coords["memory_node"]) for coords in found) == sorted(pairs_of(name)), name


def test_core_to_core_latency_is_taken_with_local_and_remote_memory(three: Guest, tmp_path: Path) -> None:
    config = "{all_cpus: true, memory_nodes: all, iterations: 20, time_cap: 50ms, visits: 1, addresses: 2}"
    run = applied(f"benchmarks:\n  - uses: core-to-core-latency\n    config: {config}\n", [three], tmp_path)
    pairs = {frozenset((a, b)) for a in range(4) for b in range(a)}
    for method, metric, directions in (("token", "one_way", 1), ("cas", "one_way", 1), ("chain", "latency", 2)):
        for node in (0, 1, 2):
            at = [
                record["coords"]
                for record in of(run, metric)
                if record["coords"]["method"] == method and record["coords"].get("memory_node") == node
            ]
            two = [(coords["cpu_a"], coords["cpu_b"]) for coords in at]
            assert len(two) == len(set(two)) and {frozenset(one) for one in two} <= pairs
            assert len(two) + missing(run, method, node) == len(pairs) * directions
    metas = [lines[0] for lines in streams(run, "three", "core-to-core-latency")]
    assert sorted(meta["node"] for meta in metas) == [0, 1, 2]


def missing(run: Path, method: str, node: int) -> int:
    """Return the number of pairs that were measured but have no value, because the emulator constantly interrupted
    their CPUs."""
    found = [record for record in of(run, "missing") if record["coords"] == {"method": method, "memory_node": node}]
    return sum(int(record["value"]) for record in found)
