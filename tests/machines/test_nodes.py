"""Benchmarks over nodes: every node that has CPUs against every node that has memory, bound where they say."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.machines.guest import Guest
from tests.machines.running import applied, of, streams

pytestmark = [pytest.mark.machines, pytest.mark.xdist_group("machines")]

NODES = {"pair": ((0, 1), (0, 1)), "three": ((0, 1), (0, 1, 2)), "arm": ((0, 1), (0, 1)), "narrow": ((0, 1), (0, 1))}
"""Of each machine: nodes with CPUs, nodes with memory."""


def pairs_of(machine: str) -> set[tuple[int, int]]:
    runs, memories = NODES[machine]
    return {(run, memory) for run in runs for memory in memories}


def test_idle_latency_is_taken_from_every_node_to_every_memory(guests: dict[str, Guest], tmp_path: Path) -> None:
    plan = "benchmarks:\n  - uses: idle-latency\n    config: {data_size: 2M, duration: 50ms, target_interval: 10%}\n"
    run = applied(plan, [*guests.values()], tmp_path)
    for name in guests:
        found = [record["coords"] for record in of(run, "latency") if record["host"] == name]
        assert sorted((coords["run_node"], coords["memory_node"]) for coords in found) == sorted(pairs_of(name))
        metas = [lines[0] for lines in streams(run, name, "idle-latency")]
        assert {meta["node"] for meta in metas} == set(NODES[name][1])
    report = (run / "report.html").read_text()
    assert "three" in report
