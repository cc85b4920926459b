"""Synthetic output of the kernel `pingpong`, and the facts of the synthetic machine that it describes: nodes, cores and
caches.

`python -m tests.benchmarks.pingpong_streams` writes the synthetic testdata of core-to-core-latency again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

from asct.instruments.memory.visits import visit_number
from asct.registry import Registry
from asct.sdk.benchmark import Context
from asct.sdk.facts import Cpu, HostFacts, NumaNode
from asct.sdk.step import Output
from tests.benchmarks.record import document
from tests.benchmarks.test_contract import option

DATA = Path(__file__).parents[2] / "asct" / "benchmarks" / "core_to_core_latency" / "testdata"
SYNTHETIC = "made up for tests of tables and figures; no machine measured this"


@dataclass(frozen=True)
class Machine:
    """A machine whose CPUs 0, 1, ... are distributed over the nodes in order. `per_cluster` CPUs share a cache.
    `node_ids` may have gaps."""

    node_ids: tuple[int, ...] = (0, 1)
    per_node: int = 4
    per_cluster: int = 2
    siblings: bool = False
    memory_only: tuple[int, ...] = ()
    slow: Mapping[tuple[int, int], float] = field(default_factory=dict)
    """Additional nanoseconds between two CPUs, from A to B."""

    @property
    def cpus(self) -> list[int]:
        return list(range(self.per_node * len(self.node_ids)))

    def node(self, cpu: int) -> int:
        return self.node_ids[cpu // self.per_node]

    def core(self, cpu: int) -> int:
        return cpu // 2 * 2 if self.siblings else cpu

    def facts(self) -> HostFacts:
        nodes = [NumaNode(id=node, cpus=[c for c in self.cpus if self.node(c) == node]) for node in self.node_ids]
        nodes += [NumaNode(id=node, cpus=[], memory_bytes=1 << 30) for node in self.memory_only]
        threads = 2 if self.siblings else 1
        cpu = Cpu(cpus=len(self.cpus), online=self.cpus, allowed=self.cpus, threads_per_core=threads)
        return HostFacts(host="h", collected_at="2026-11-21T00:00:00Z", cpu=cpu, nodes=nodes)

    def ps(self, a: int, b: int, method: str, memory_node: int) -> int:
        """Return the median in picoseconds. `a` is the CPU that measures."""
        same_cache = self.core(a) // self.per_cluster == self.core(b) // self.per_cluster
        ns = 20.0 if same_cache else 34.0 if self.node(a) == self.node(b) else 150.0
        ns += 0.0 if memory_node == self.node(a) else 9.0
        ns *= {"token": 1.6, "cas": 1.0, "chain": 0.9}[method]
        return round((ns + self.slow.get((a, b), 0.0)) * 1e3) + (a * 7 + b * 3) % 11


Change = Callable[[dict[str, Any]], dict[str, Any]]


def sample(machine: Machine, a: int, b: int, method: str, node: int, **more: Any) -> dict[str, Any]:
    """Return a `sample` line whose batches vary by 1 %."""
    median = machine.ps(a, b, method, node)
    messages = 256 if method == "chain" else 200
    spread = [995, 997, 998, 999, 1000, 1000, 1001, 1002, 1003, 1005, 1007]
    ns = [median * messages * part // 1_000_000 for part in spread]
    quarters = [median] if method == "chain" else [median, median * 11 // 10]
    body = {
        "t": "sample", "phase": "round", "round": 0, "cpu_a": a, "cpu_b": b, "node": node, "method": method,
        "addresses": 1 if method == "chain" else 2, "turns": 100, "messages": messages, "batches": len(spread),
        "dropped": 0, "capped": False, "order": "time", "ns": ns,
        "address_p25_ps": quarters, "p25_ps": median * 998 // 1000,
        "median_ps": median, "ci_low_ps": median * 997 // 1000, "ci_high_ps": median * 1003 // 1000,
        "min_ps": median * 995 // 1000, "max_ps": median * 1007 // 1000, "effective": len(spread), "cycle_fs": 333_000,
        "elapsed_ns": 30_000_000,
    }  # fmt: skip
    return {**body, **more}


def samples(machine: Machine, cpus: Sequence[int], methods: Sequence[str], node: int) -> Iterator[dict[str, Any]]:
    for a, b in combinations(cpus, 2):
        for method in methods:
            yield sample(machine, a, b, method, node)
            if method == "chain":
                yield sample(machine, b, a, method, node)


def probes(
    machine: Machine, cpus: Sequence[int], node: int, moved: Collection[tuple[int, int]]
) -> list[dict[str, Any]]:
    """Return the `probe` lines of every pair. After the measurement, the `moved` pairs are four times as far apart."""
    found = []
    for a, b in combinations(cpus, 2):
        for when in ("before", "after"):
            ns = machine.ps(a, b, "cas", node) * 200 // 1000 * (4 if when == "after" and (a, b) in moved else 1)
            found.append(
                {"t": "probe", "phase": "round", "round": 0, "cpu_a": a, "cpu_b": b, "node": node, "when": when,
                 "messages": 200, "dropped": 1, "ns": [ns + 3 * part for part in range(31)]}
            )  # fmt: skip
    return found


def stream(
    machine: Machine,
    cpus: Sequence[int],
    node: int,
    methods: Sequence[str] = ("token", "cas", "chain"),
    lines: Sequence[dict[str, Any]] | None = None,
    clusters: bool = True,
    moved: Collection[tuple[int, int]] = (),
) -> str:
    """Return the complete output of one run. `lines` replaces the samples that the machine would produce."""
    meta: dict[str, Any] = {
        "t": "meta", "abi": 1, "kernel": "pingpong", "version": "1.0", "cpus": list(cpus),
        "groups": [machine.core(cpu) for cpu in cpus], "node": node, "pages_asked": "auto", "pages": "thp",
        "page_bytes": 2 << 20, "pages_verified": True, "options": {"cpus": list(cpus)},
    }  # fmt: skip
    if clusters:
        meta["clusters"] = [machine.core(cpu) // machine.per_cluster * machine.per_cluster for cpu in cpus]
    noise = {"cpus": len(cpus), "elapsed_ns": 10**9, "others_ns": 0, "steal_ns": 0, "involuntary_switches": 0}
    body = list(samples(machine, cpus, methods, node)) if lines is None else list(lines)
    seen = probes(machine, cpus, node, moved)
    end = {"t": "end", "ok": True, "samples": len(body), "noise": noise}
    return "".join(f"{json.dumps(line, separators=(',', ':'))}\n" for line in (meta, {"t": "ready"}, *seen, *body, end))


def played(
    benchmark: Any,
    params: Any,
    machine: Machine,
    change: Change = lambda line: line,
    moved: Mapping[int, Collection[tuple[int, int]]] | None = None,
) -> list[Output]:
    """Return the outputs of one repeat on the machine. `change` may modify each sample. `moved` contains, for each
    visit, the pairs of which a CPU moved."""
    outputs = []
    for step in benchmark.steps(params, Context(machine.facts(), "/work")):
        cpus = [int(cpu) for cpu in str(option(step, "cpus")).split(",")]
        node = int(option(step, "node") or 0)
        gone = (moved or {}).get(visit_number(step.name), ())
        lines = [change(line) for line in samples(machine, cpus, params.methods, node)]
        outputs.append(
            Output(step, 0, {"stdout": stream(machine, cpus, node, lines=lines, moved=gone), "stderr": ""}, 10**9)
        )
    return outputs


CASES: dict[str, tuple[dict[str, Any], Machine]] = {
    "synthetic-two-nodes": ({"all_cpus": True}, Machine(slow={(5, 2): 8.0, (0, 6): 3.0})),
    "synthetic-siblings-cycles": (
        {"all_cpus": True, "cycle_base": True, "hist_bins": 4},
        Machine(node_ids=(3,), per_node=6, per_cluster=6, siblings=True),
    ),
}


def main() -> None:
    benchmark = Registry().get("core-to-core-latency")
    assert benchmark is not None
    for case, (settings, machine) in CASES.items():
        params = benchmark.params_model(**settings)
        outputs, facts = played(benchmark, params, machine), machine.facts()
        measured = benchmark.parse(params, outputs, facts)
        body = {"synthetic": SYNTHETIC} | document((settings, {}), facts, outputs, measured)
        (DATA / f"{case}.json").write_text(json.dumps(body) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
