"""One run of the kernel as cells: what was measured between every two CPUs with the memory of one node."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from asct.benchmarks.core_to_core_latency.cells import CHAIN, Cell, Order
from asct.benchmarks.core_to_core_latency.findings import INTERFERENCE, SIBLINGS
from asct.instruments.memory.noise import settled_flags
from asct.sdk.facts import HostFacts
from asct.sdk.record import Stats
from asct.sdk.samples import KernelRun, interval, number
from asct.statistics.robust import mad, median

PS: Final = 1e-12
METRICS: Final = {CHAIN: "latency", "token": "one_way", "cas": "one_way"}
DISTURBED: Final = 1.1
"""Ratio to the same pairs alone from which pairs of a round disturb one another."""
_SETTLED: Final = 0.05
"""Width of the interval that still does: what else the caches do moves a pair by as much."""


@dataclass(frozen=True, slots=True)
class Session:
    """One run of the kernel: all pairs with the memory of one node. `cycles` are the same cells in core cycles,
    if they are wanted.

    `checks` are ratios by method: a pair among others to the same alone; `missing` counts pairs without a value.
    """

    memory_node: int
    run: KernelRun
    cells: tuple[Cell, ...]
    cycles: tuple[Cell, ...]
    checks: Mapping[str, tuple[float, ...]]
    missing: Mapping[str, int]


def order_of(runs: Iterable[KernelRun], facts: HostFacts) -> Order:
    """The topology as the facts and the kernel tell it; without nodes all CPUs are in node 0."""
    nodes = {cpu: node.id for node in facts.nodes for cpu in node.cpus}
    core: dict[int, int] = {}
    cluster: dict[int, int] = {}
    for run in runs:
        core |= _by_cpu(run.meta, "groups")
        cluster |= _by_cpu(run.meta, "clusters")
    return Order(nodes, core, cluster)


def _by_cpu(meta: Mapping[str, Any], key: str) -> dict[int, int]:
    cpus, values = meta.get("cpus"), meta.get(key)
    if not isinstance(cpus, list) or not isinstance(values, list) or len(cpus) != len(values):
        return {}
    return {int(cpu): int(value) for cpu, value in zip(cpus, values, strict=True) if int(value) >= 0}


def session_of(node: int, run: KernelRun, order: Order, in_cycles: bool) -> Session:
    """The cells of one run, flagged with what speaks against them."""
    checks = _compared(run.samples)
    disturbed = {method for method, ratios in checks.items() if median(ratios) > DISTURBED}
    said = {(fine, some): settled_flags(fine, run.end, some) for fine in (True, False) for some in (0, 1)}
    cells, cycles = [], []
    missing: dict[str, int] = {}
    for sample in run.samples:
        if sample.get("phase") != "round":
            continue
        cell = _cell(sample, node, order, said)
        if cell is None:
            missing[str(sample["method"])] = missing.get(str(sample["method"]), 0) + 1
            continue
        if cell.method in disturbed:
            cell = replace(cell, flags=(*cell.flags, INTERFERENCE))
        cells.append(cell)
        if in_cycles:
            cycles.append(_in_cycles(cell, number(sample, "cycle_fs") * 1e-15))
    return Session(node, run, tuple(cells), tuple(cycles), checks, missing)


def _cell(
    sample: Mapping[str, Any], node: int, order: Order, said: Mapping[tuple[bool, int], tuple[str, ...]]
) -> Cell | None:
    """None where no batch was left alone. `said` are the flags by whether it settled and whether batches were dropped:
    the same for all samples of a run."""
    method = sample.get("method")
    if method not in METRICS:
        raise ValueError(f"the kernel pingpong measured something unknown: {method!r}")
    if sample.get("median_ps") is None:
        return None
    value = number(sample, "median_ps") * PS
    ci95 = interval(sample, "ci_low_ps", "ci_high_ps", PS)
    a, b = int(number(sample, "cpu_a")), int(number(sample, "cpu_b"))
    settled = ci95 is not None and ci95[1] - ci95[0] <= _SETTLED * value
    flags = said[settled, min(1, int(number(sample, "dropped")))]
    return Cell(
        cpu_a=a,
        cpu_b=b,
        node_a=order.nodes.get(a, 0),
        node_b=order.nodes.get(b, 0),
        method=str(method),
        memory_node=node,
        value=value,
        stats=_stats(sample, value, ci95),
        flags=(*flags, SIBLINGS) if order.siblings(a, b) else flags,
    )


def _stats(sample: Mapping[str, Any], value: float, ci95: tuple[float, float] | None) -> Stats | None:
    """Of the batches; None where the kernel lists none, which it does for thousands of pairs."""
    ns, messages = sample.get("ns"), number(sample, "messages")
    if not isinstance(ns, list) or not ns or messages <= 0:
        return None
    return Stats(
        n=int(number(sample, "batches")),
        median=value,
        mad=mad([one / messages * 1e-9 for one in ns]),
        ci95=ci95,
        min=number(sample, "min_ps") * PS,
        max=number(sample, "max_ps") * PS,
    )


def _in_cycles(cell: Cell, cycle_s: float) -> Cell:
    """At the clock of the CPU that measured, as it was right after."""
    return replace(cell, value=cell.value / cycle_s, stats=cell.stats and cell.stats.scaled(1 / cycle_s))


def _compared(samples: Sequence[Mapping[str, Any]]) -> dict[str, tuple[float, ...]]:
    """By method, how much slower pairs were with others beside them than alone, as ratios."""
    values: dict[str, dict[tuple[Any, ...], float]] = {"round": {}, "alone": {}}
    for sample in samples:
        if sample.get("median_ps") is not None and sample.get("phase") in values:
            key = (sample.get("method"), sample.get("cpu_a"), sample.get("cpu_b"))
            values[str(sample["phase"])][key] = number(sample, "median_ps")
    found: dict[str, list[float]] = {}
    for key, alone in values["alone"].items():
        if key in values["round"] and alone > 0:
            found.setdefault(str(key[0]), []).append(values["round"][key] / alone)
    return {method: tuple(ratios) for method, ratios in found.items()}
