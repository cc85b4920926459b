"""Heat maps of all pairs in the order of the topology, and the histogram."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from asct.benchmarks.core_to_core_latency.pairs import CHAIN, DATA
from asct.benchmarks.core_to_core_latency.tables import StoredPairs, stored_pairs
from asct.sdk.figure import Axis, Bars, Figure, Heatmap, Series
from asct.sdk.record import Record
from asct.statistics.robust import median

_FEWEST: Final = 3
"""CPUs: two have one value, which needs no figure."""
_SAYS: Final = {
    "token": "One-way latency of a message that one CPU stores and the other polls for (half a round trip).",
    "cas": "One-way latency of a message by compare-and-swap (half a round trip).",
    CHAIN: "Time for CPU A to read one line that CPU B wrote, each load waiting for the previous one.",
}


def all_figures(records: Sequence[Record]) -> tuple[Figure, ...]:
    """A map per method and a histogram of all methods, for each point and memory node."""
    figures: list[Figure] = []
    for number, point in enumerate(stored_pairs(records), start=1):
        cpus = point.order.sorted({cell.cpu_a for cell in point.cells})
        if len(cpus) < _FEWEST:
            continue
        suffix = "" if number == 1 else f"-{number}"
        for data in DATA:
            methods = point.methods(data)
            figures += [_heatmap(point, method, data, cpus, suffix) for method in methods]
            if methods:
                figures.append(_histogram(point, data, suffix))
    return tuple(figures)


def _heatmap(point: StoredPairs, method: str, data: str, cpus: list[int], suffix: str) -> Heatmap:
    found: dict[tuple[int, int], list[float]] = {}
    for cell in point.groups[data, method]:
        found.setdefault((cell.cpu_a, cell.cpu_b), []).append(cell.value)
    values = {pair: median(repeats) for pair, repeats in found.items()}
    names = tuple(map(str, cpus))
    return Heatmap(
        slug=f"heatmap-{method}-{data}{suffix}",
        title=_title(f"Core to core, {method}", point, data),
        caption=f"{_SAYS[method]} {_lines_text(point)}",
        x_title="CPU B",
        y_title="CPU A",
        columns=names,
        rows=names,
        values=tuple(tuple(values.get((a, b)) for b in cpus) for a in cpus),
        unit=point.base_unit,
        ceiling=_ceiling(point),
        groups=tuple(point.order.breaks(cpus)),
        host=point.records[0].host,
        better="lower",
    )


def _lines_text(point: StoredPairs) -> str:
    blocks = "nodes, and groups of CPUs that share a last-level cache" if point.order.cluster else "nodes"
    return f"CPUs are in topology order; lines separate {blocks}."


def _ceiling(point: StoredPairs) -> float | None:
    """The setting is in time; in cycles it is as many of them at the clock that was measured."""
    seconds, clock = point.single("heatmap_vmax"), point.single("core_clock")
    if seconds is None or not point.in_cycles:
        return seconds
    return None if clock is None else seconds * clock


def _histogram(point: StoredPairs, data: str, suffix: str) -> Bars:
    methods = {
        method: [cell.value for cell in mine if not cell.repeated] for method, mine in point.methods(data).items()
    }
    edges = _edges([value for mine in methods.values() for value in mine], int(point.single("hist_bins") or 1))
    labels = _labels([edge / point.scale for edge in edges])
    series = []
    for method, mine in methods.items():
        counts = [0] * len(labels)
        for value in mine:
            counts[_bin_of(value, edges)] += 1
        series.append(Series(method, labels, tuple(map(float, counts)), host=point.records[0].host))
    return Bars(
        slug=f"histogram-{data}{suffix}",
        title=_title("Pairs of CPUs by latency", point, data),
        caption="Number of pairs in each range; chain counts both directions.",
        x=Axis(f"Latency ({point.unit})", "", "category"),
        y=Axis("Pairs", "1"),
        series=tuple(series),
    )


def _edges(values: Sequence[float], bins: int) -> list[float]:
    """Of ranges of the same width; of one when all values are the same."""
    low, high = min(values), max(values)
    if low == high:
        return [low, high]
    return [low + (high - low) * number / bins for number in range(bins)] + [high]


def _labels(edges: Sequence[float]) -> tuple[str, ...]:
    """`18 to 42`, with as many decimals as tell one range from the next."""
    width = edges[1] - edges[0]
    decimals = max(0, 1 - math.floor(math.log10(width))) if width > 0 else 2
    return tuple(f"{low:.{decimals}f} to {high:.{decimals}f}" for low, high in pairwise(edges))


def _bin_of(value: float, edges: Sequence[float]) -> int:
    last = len(edges) - 2
    width = (edges[-1] - edges[0]) / (last + 1)
    return min(last, int((value - edges[0]) / width)) if width > 0 else 0


def _title(what: str, point: StoredPairs, data: str) -> str:
    label = f", {point.label}" if point.label else ""
    return f"{what}, data at the {data} node{label}"
