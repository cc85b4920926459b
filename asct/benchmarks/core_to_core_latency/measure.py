"""Convert the samples of the `pingpong` kernel to values: pairs, medians between nodes, checks, and the clock."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from asct.benchmarks.core_to_core_latency.command import chosen_nodes, step_name
from asct.benchmarks.core_to_core_latency.pairs import (
    CHAIN,
    INTERFERENCE,
    MISSING,
    SIBLINGS,
    SWITCHED,
    Order,
    PairLatency,
    both_ways,
)
from asct.benchmarks.core_to_core_latency.params import CoreToCoreLatencyParams
from asct.instruments.memory.kernel_flags import MOVED, many_dropped, noise_flags, page_flags
from asct.sdk.facts import HostFacts
from asct.sdk.record import Measurement, Scalar, Stats, doubtful
from asct.sdk.samples import PS, KernelRun, number, sample_stats, stats_of
from asct.statistics.robust import median
from asct.statistics.visits import moved

METRICS: Final = {CHAIN: "latency", "token": "one_way", "cas": "one_way"}
DISTURBED: Final = 1.1
"""Pairs in a round disturbed each other if their latency is more than this multiple of their latency when measured
alone."""


@dataclass(frozen=True, slots=True)
class KernelPass:
    """The results of one run of the `pingpong` kernel: all pairs, measured with the memory of one node.

    `cycles` contains the same pairs in core cycles, if requested. For each method, `checks` contains one ratio per
    checked pair (the latency measured concurrently with other pairs, divided by the latency measured alone), and
    `missing` is the number of pairs without a value.
    """

    memory_node: int
    run: KernelRun
    cells: tuple[PairLatency, ...]
    cycles: tuple[PairLatency, ...]
    checks: Mapping[str, tuple[float, ...]]
    missing: Mapping[str, int]

    def at(self, method: str) -> dict[str, Scalar]:
        """Return the coordinates of a value from this run for one method."""
        return {"method": method, "memory_node": self.memory_node}


def order_of(runs: Iterable[KernelRun], facts: HostFacts) -> Order:
    """Return the topology according to the facts and the `pingpong` kernel. If the host has no nodes, all CPUs are in
    node 0."""
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


def kernel_pass_of(node: int, run: KernelRun, order: Order, in_cycles: bool) -> KernelPass:
    """Return the pairs of one run with their flags, the results of the run's checks, and the number of missing pairs
    per method."""
    checks = _compared(run.samples)
    disturbed = {method for method, ratios in checks.items() if median(ratios) > DISTURBED}
    noise, changed = noise_flags(run.end), _moved_pairs(run)
    cells, cycles = [], []
    missing: dict[str, int] = {}
    for sample in run.samples:
        if sample.get("phase") != "round":
            continue
        cell = _cell(sample, node, order, noise)
        if cell is None:
            missing[str(sample["method"])] = missing.get(str(sample["method"]), 0) + 1
            continue
        if cell.method in disturbed:
            cell = replace(cell, flags=(*cell.flags, INTERFERENCE))
        if {cell.cpu_a, cell.cpu_b} in changed:
            cell = replace(cell, flags=(*cell.flags, MOVED))
        cells.append(cell)
        if in_cycles:
            cycle_s = (
                number(sample, "cycle_fs") * 1e-15
            )  # based on the CPU's clock, which is read right after the measurement
            stats = cell.stats and cell.stats.scaled(1 / cycle_s)
            cycles.append(replace(cell, value=cell.value / cycle_s, stats=stats))
    return KernelPass(node, run, tuple(cells), tuple(cycles), checks, missing)


def _moved_pairs(run: KernelRun) -> list[set[int]]:
    """Return the pairs of CPUs whose distance changed during the round that measured them, according to probes before
    and after the round."""
    probes: dict[tuple[int, int], dict[str, list[float]]] = {}
    for line in run.lines:
        if line.get("t") == "probe" and line.get("phase") == "round":
            pair = (int(number(line, "cpu_a")), int(number(line, "cpu_b")))
            ns = line.get("ns")
            probes.setdefault(pair, {})[str(line.get("when"))] = ns if isinstance(ns, list) else []
    return [set(pair) for pair, ns in probes.items() if moved(ns.get("before", ()), ns.get("after", ()))]


def _cell(sample: Mapping[str, Any], node: int, order: Order, noise: tuple[str, ...]) -> PairLatency | None:
    """Return the pair that a sample describes, or None if every batch was disturbed. `noise` contains the flags that
    apply to all samples."""
    method = sample.get("method")
    if method not in METRICS:
        raise ValueError(f"unexpected sample from the `pingpong` kernel: {method!r}")
    if sample.get("median_ps") is None:
        return None
    value = number(sample, "median_ps") * PS
    a, b = int(number(sample, "cpu_a")), int(number(sample, "cpu_b"))
    switched = (SWITCHED,) if many_dropped(number(sample, "batches"), number(sample, "dropped")) else ()
    flags = (*(noise or (("noisy",) if sample.get("capped") is True else ())), *switched)
    return PairLatency(
        cpu_a=a,
        cpu_b=b,
        node_a=order.nodes.get(a, 0),
        node_b=order.nodes.get(b, 0),
        method=str(method),
        memory_node=node,
        value=value,
        stats=_stats(sample),
        flags=(*flags, SIBLINGS) if order.siblings(a, b) else flags,
    )


def _stats(sample: Mapping[str, Any]) -> Stats | None:
    """Return the spread over the batches, or None if there are thousands of pairs, for which the `pingpong` kernel
    lists no batches."""
    ns, messages = sample.get("ns"), number(sample, "messages")
    if not isinstance(ns, list) or not ns or messages <= 0:
        return None
    return sample_stats(sample, "ps", PS, int(number(sample, "batches")), [one / messages * 1e-9 for one in ns])


def _compared(samples: Sequence[Mapping[str, Any]]) -> dict[str, tuple[float, ...]]:
    """Return, for each method, one ratio per checked pair: the latency measured concurrently with other pairs, divided
    by the latency measured alone."""
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


def measurements(
    params: CoreToCoreLatencyParams, named: Mapping[str, KernelRun], facts: HostFacts
) -> list[Measurement]:
    """Return all values of one visit: first the summaries, then the pairs as details."""
    runs = {node.id: named[name] for node in chosen_nodes(params, facts) if (name := step_name(node)) in named}
    order = order_of(runs.values(), facts)
    sessions = [kernel_pass_of(node, run, order, params.cycle_base) for node, run in runs.items()]
    if not any(session.cells for session in sessions):
        raise ValueError("other activity disturbed every pair of CPUs; repeat the measurement on an idle machine")
    found = _summaries(both_ways(cell for one in sessions for cell in one.cells), "")
    if params.cycle_base:
        found += _summaries(both_ways(cell for one in sessions for cell in one.cycles), "_cycles")
    found += [item for one in sessions for item in _of_run(one)]
    found += _topology(order, {cpu for one in sessions for cell in one.cells for cpu in (cell.cpu_a, cell.cpu_b)})
    details = [(cell, "") for one in sessions for cell in one.cells]
    details += [(cell, "_cycles") for one in sessions for cell in one.cycles]
    return found + [
        Measurement(METRICS[cell.method] + suffix, cell.value, cell.coords, cell.stats, cell.flags, detail=True)
        for cell, suffix in details
    ]


def _summaries(cells: Sequence[PairLatency], suffix: str) -> list[Measurement]:
    """Return the medians over all pairs and for each pair of nodes; for `token` and `cas`, include the round trip."""
    groups: dict[tuple[tuple[str, Scalar], ...], list[PairLatency]] = {}
    for cell in cells:
        whole: tuple[tuple[str, Scalar], ...] = (("method", cell.method), ("data", cell.data))
        groups.setdefault(whole, []).append(cell)
        groups.setdefault((*whole, ("node_a", cell.node_a), ("node_b", cell.node_b)), []).append(cell)
    found = []
    for key, mine in groups.items():
        method = mine[0].method
        item = _summary(METRICS[method] + suffix, dict(key), mine)
        found.append(item)
        if method != CHAIN and not suffix:
            stats = item.stats and item.stats.scaled(2.0)
            found.append(replace(item, metric="round_trip", value=2 * item.value, stats=stats))
    return found


def _summary(metric: str, at: dict[str, Scalar], mine: Sequence[PairLatency]) -> Measurement:
    """Return the median over pairs, without an interval because pairs inherently differ. A single pair keeps its
    interval."""
    flags = _flags_of(mine)
    measured = [cell for cell in mine if not cell.repeated]
    if len(measured) == 1:
        return Measurement(metric, measured[0].value, at, measured[0].stats, flags)
    stats = stats_of([cell.value for cell in mine], independent=False)
    return Measurement(metric, stats.median, at, stats, flags)


def _flags_of(mine: Sequence[PairLatency]) -> tuple[str, ...]:
    """Return all flags of a single pair, in both directions.

    For several pairs, return the flags that more than half of them have; if more than half of the pairs are doubtful,
    also return every flag that casts doubt on any pair.
    """
    every = [flag for cell in mine for flag in cell.flags]
    flags = dict.fromkeys(every)
    if len({frozenset((cell.cpu_a, cell.cpu_b)) for cell in mine}) == 1:
        return tuple(flags)
    doubted = sum(any(doubtful(flag) for flag in cell.flags) for cell in mine)
    return tuple(
        flag for flag in flags if 2 * every.count(flag) > len(mine) or (doubtful(flag) and 2 * doubted > len(mine))
    )


def _of_run(one: KernelPass) -> Iterator[Measurement]:
    """Yield the results of the checks, the number of missing pairs, the influence of the memory address, the core clock
    and the page size."""
    noise = noise_flags(one.run.end)
    for method, ratios in one.checks.items():
        flags = (*noise, INTERFERENCE) if median(ratios) > DISTURBED else noise
        yield Measurement("interference", median(ratios), one.at(method), stats_of(ratios), flags)
    for method, count in one.missing.items():
        yield Measurement("missing", float(count), one.at(method), flags=(MISSING,))
    for method, spreads in _address_spreads(one.run).items():
        stats = stats_of(spreads, independent=False)
        yield Measurement("address_spread", stats.median, one.at(method), stats, noise)
    here: dict[str, Scalar] = {"memory_node": one.memory_node}
    clock = stats_of([1e15 / number(sample, "cycle_fs") for sample in one.run.samples])
    yield Measurement("core_clock", clock.median, here, clock)
    yield Measurement("page_size", number(one.run.meta, "page_bytes"), here, flags=page_flags(one.run.meta))


def _address_spreads(run: KernelRun) -> dict[str, list[float]]:
    """Return, for each method, the latency ratio between the slowest and the fastest memory address of each pair."""
    found: dict[str, list[float]] = {}
    for sample in run.samples:
        quarters = sample.get("address_p25_ps")
        known = [value for value in quarters if value > 0] if isinstance(quarters, list) else []
        if sample.get("phase") == "round" and len(known) > 1:
            found.setdefault(str(sample["method"]), []).append(max(known) / min(known))
    return found


def _topology(order: Order, cpus: set[int]) -> list[Measurement]:
    known = (("core", order.core), ("cluster", order.cluster))
    return [
        Measurement(metric, float(of[cpu]), {"cpu_a": cpu}, detail=True)
        for metric, of in known
        for cpu in sorted(cpus & set(of))
    ]
