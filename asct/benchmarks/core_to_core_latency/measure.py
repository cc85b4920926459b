"""From the samples of the kernel to values: pairs, medians between nodes, checks, the clock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from asct.benchmarks.core_to_core_latency.cells import CHAIN, Cell, Order, both_ways
from asct.benchmarks.core_to_core_latency.command import node_of_step
from asct.benchmarks.core_to_core_latency.findings import INTERFERENCE, MISSING
from asct.benchmarks.core_to_core_latency.params import CoreToCoreLatencyParams
from asct.benchmarks.core_to_core_latency.sessions import DISTURBED, METRICS, Session, order_of, session_of
from asct.instruments.memory.pages import page_flags
from asct.sdk.facts import HostFacts
from asct.sdk.record import Measurement, Scalar, doubtful
from asct.sdk.samples import number, read_kernel, stats_of
from asct.sdk.step import Output
from asct.statistics.robust import median


def measurements(params: CoreToCoreLatencyParams, outputs: Sequence[Output], facts: HostFacts) -> list[Measurement]:
    """Everything of one repeat: first what sums up, then the pairs, as details."""
    runs = {node_of_step(output.step.name): read_kernel(output) for output in outputs}
    order = order_of(runs.values(), facts)
    sessions = [session_of(node, run, order, params.cycle_base) for node, run in runs.items()]
    if not any(session.cells for session in sessions):
        raise ValueError("no pair of CPUs was left alone long enough to be measured: repeat on an idle machine")
    found = _summaries(both_ways(cell for one in sessions for cell in one.cells), "")
    if params.cycle_base:
        found += _summaries(both_ways(cell for one in sessions for cell in one.cycles), "_cycles")
    found += [
        item for one in sessions for item in (*_checks(one), *_missing(one), *_spreads(one), _clock(one), _pages(one))
    ]
    found += [
        Measurement("hist_bins", float(params.hist_bins)),
        Measurement("heatmap_vmax", params.heatmap_vmax * 1e-9),
    ]
    found += _topology(order, {cpu for one in sessions for cell in one.cells for cpu in (cell.cpu_a, cell.cpu_b)})
    details = [(cell, "") for one in sessions for cell in one.cells]
    details += [(cell, "_cycles") for one in sessions for cell in one.cycles]
    return found + [_detail(cell, suffix) for cell, suffix in details]


def _summaries(cells: Sequence[Cell], suffix: str) -> list[Measurement]:
    """Medians over all pairs, and between nodes; of token and cas also the round trip."""
    groups: dict[tuple[tuple[str, Scalar], ...], list[Cell]] = {}
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
            found.append(_doubled(item))
    return found


def _summary(metric: str, at: dict[str, Scalar], mine: Sequence[Cell]) -> Measurement:
    """The spread is that over the pairs, and without an interval: they differ by nature. One pair keeps its own."""
    flags = _flags_of(mine)
    measured = [cell for cell in mine if not cell.repeated]
    if len(measured) == 1:
        return Measurement(metric, measured[0].value, at, measured[0].stats, flags)
    stats = stats_of([cell.value for cell in mine], independent=False)
    return Measurement(metric, stats.median, at, stats, flags)


def _doubled(one_way: Measurement) -> Measurement:
    stats = one_way.stats and one_way.stats.scaled(2.0)
    return replace(one_way, metric="round_trip", value=2 * one_way.value, stats=stats)


def _flags_of(mine: Sequence[Cell]) -> tuple[str, ...]:
    """Of one pair its own; of several what puts more than half of them in doubt."""
    if len({(cell.cpu_a, cell.cpu_b, cell.memory_node) for cell in mine if not cell.repeated}) == 1:
        return mine[0].flags
    doubted = [cell for cell in mine if any(doubtful(flag) for flag in cell.flags)]
    if 2 * len(doubted) <= len(mine):
        return ()
    return tuple(dict.fromkeys(flag for cell in doubted for flag in cell.flags if doubtful(flag)))


def _checks(session: Session) -> list[Measurement]:
    return [
        Measurement(
            "interference",
            median(ratios),
            {"method": method, "memory_node": session.memory_node},
            stats_of(ratios),
            (INTERFERENCE,) if median(ratios) > DISTURBED else (),
        )
        for method, ratios in session.checks.items()
    ]


def _missing(session: Session) -> list[Measurement]:
    """How many pairs gave no value; only where some did not."""
    return [
        Measurement("missing", float(count), {"method": method, "memory_node": session.memory_node}, flags=(MISSING,))
        for method, count in session.missing.items()
    ]


def _spreads(session: Session) -> list[Measurement]:
    """How much the place in memory matters: slowest over fastest address of a pair, median over the pairs."""
    found: dict[str, list[float]] = {}
    for sample in session.run.samples:
        quarters = sample.get("address_p25_ps")
        known = [value for value in quarters if value > 0] if isinstance(quarters, list) else []
        if sample.get("phase") == "round" and len(known) > 1:
            found.setdefault(str(sample["method"]), []).append(max(known) / min(known))
    return [
        Measurement(
            "address_spread",
            median(ratios),
            {"method": method, "memory_node": session.memory_node},
            stats_of(ratios, independent=False),
        )
        for method, ratios in found.items()
    ]


def _clock(session: Session) -> Measurement:
    clocks = [1e15 / number(sample, "cycle_fs") for sample in session.run.samples]
    return Measurement("core_clock", median(clocks), {"memory_node": session.memory_node}, stats_of(clocks))


def _pages(session: Session) -> Measurement:
    meta = session.run.meta
    at: dict[str, Scalar] = {"memory_node": session.memory_node}
    return Measurement("page_size", number(meta, "page_bytes"), at, flags=page_flags(meta))


def _topology(order: Order, cpus: set[int]) -> list[Measurement]:
    """What figures need to know of CPUs."""
    known = (("core", order.core), ("cluster", order.cluster))
    return [
        Measurement(metric, float(of[cpu]), {"cpu_a": cpu}, detail=True)
        for metric, of in known
        for cpu in sorted(cpus & set(of))
    ]


def _detail(cell: Cell, suffix: str) -> Measurement:
    at: dict[str, Scalar] = {
        "cpu_a": cell.cpu_a,
        "cpu_b": cell.cpu_b,
        "node_a": cell.node_a,
        "node_b": cell.node_b,
        "method": cell.method,
        "memory_node": cell.memory_node,
    }
    return Measurement(METRICS[cell.method] + suffix, cell.value, at, cell.stats, cell.flags, detail=True)
