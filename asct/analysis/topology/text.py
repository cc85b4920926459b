"""The topology as a text tree of limited width. Identical boxes are counted instead of repeated."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from asct.analysis.grid import plain
from asct.analysis.sparkline import sparkline
from asct.analysis.topology.boxes import Box, each, machine
from asct.analysis.topology.latency import CoreLatency
from asct.sdk.facts import HostFacts
from asct.values.cpulist import format_cpulist
from asct.values.grouping import breakable, grouped, shortened
from asct.values.quantity import format_quantity

_NEVER_FOLDED: Final = ("socket", "node", "bridge", "controller", "drive", "interface", "gpu")
_TOGETHER: Final = "\N{NO-BREAK SPACE}"
_MOST_LISTED: Final = 4
"""Maximum number of groups of CPUs to list in full. If there are more, only the first and the last are listed."""


def lines(facts: HostFacts, width: int = 80, latency: CoreLatency | None = None) -> list[str]:
    """Return the lines of the tree, followed by the distances between the nodes if there are several, and by the
    `latency` of the cores if it was measured."""
    whole, across = machine(facts)
    drawn = _wrapped(f"{whole.title}: {whole.detail}" if whole.detail else whole.title, "", "", width)
    drawn += list(_inside(whole.parts, "", width))
    if not whole.cpus:
        drawn.append("The facts list no CPUs, so the topology cannot be drawn.")
    drawn += [line for text in _overlaps(across) for line in _wrapped(text, "", "  ", width)]
    for text in facts.contradictions:
        drawn += _wrapped(f"Contradiction: {plain(text)}.", "", "  ", width)
    return [*drawn, *_distances(facts), *(_latencies(whole, latency, width) if latency is not None else ())]


def _overlaps(across: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Yield a sentence for each box that one or more groups overlap."""
    for box, pairs in grouped(across, lambda pair: pair[1]).items():
        names = shortened([name for name, _ in pairs], _MOST_LISTED)
        yield f"Not drawn: {names} {'overlaps' if len(pairs) == 1 else 'overlap'} {box}."


def _inside(parts: Sequence[Box], indent: str, width: int, each: bool = False) -> Iterator[str]:
    """Yield the lines for the boxes inside another box. `each` is true if the outer box represents several identical
    boxes."""
    groups = [list(group) for _, group in groupby(parts, key=_fold_key)]
    for number, group in enumerate(groups):
        last = number == len(groups) - 1
        head, below = ("└─ ", "   ") if last else ("├─ ", "│  ")
        yield from _wrapped(_line(group, each), indent + head, indent + below + "  ", width)
        yield from _inside(group[0].parts, indent + below, width, each or len(group) > 1)


def _fold_key(part: Box) -> object:
    """Return a key that is the same for neighbors that share a line."""
    return (part.kind, part.title) if part.kind in _NEVER_FOLDED else part.shape


def _line(group: Sequence[Box], each: bool) -> str:
    first = group[0]
    title = first.title
    if first.kind not in _NEVER_FOLDED:
        title = first.detail if first.kind == "cache" else first.kind
        title = title if len(group) == 1 else f"{len(group)} x {title}"
    detail = "" if first.kind == "cache" else first.detail
    head = f"{title}: {detail}" if detail else title
    if each:
        return f"each {head}"
    return f"{head}  [{_cpus(group)}]" if first.cpus else head


def _cpus(group: Sequence[Box]) -> str:
    """Format the CPUs of a group of boxes: `CPUs 0-3 | 4-7`. If each box has one CPU, format all of them as one
    list."""
    lists = [format_cpulist(part.cpus) for part in group]
    if all(len(part.cpus) == 1 for part in group):
        lists = [format_cpulist(cpu for part in group for cpu in part.cpus)]
    elif len(lists) > _MOST_LISTED:
        lists = [*lists[:2], "...", lists[-1]]
    word = "CPU" if len(group) == 1 and len(group[0].cpus) == 1 else "CPUs"
    return f"{word}{_TOGETHER}{' | '.join(lists)}"


def _wrapped(text: str, first: str, rest: str, width: int) -> list[str]:
    wide = max(width, 40, len(rest) + 20)
    wrapped = textwrap.wrap(
        breakable(text, wide - len(rest)), wide, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False
    )
    return [line.replace(_TOGETHER, " ") for line in wrapped]


def _distances(facts: HostFacts) -> list[str]:
    """Return the matrix of relative distances in panels of 12 columns (ACPI SLIT: the distance of a node to itself is
    10)."""
    nodes = [node for node in facts.nodes if node.distances]
    if len(nodes) < 2 or any(len(node.distances) != len(nodes) for node in nodes):
        return []
    drawn = ["", "Distances between nodes (10 is the distance of a node to itself):"]
    for start in range(0, len(nodes), 12):
        columns = range(start, min(start + 12, len(nodes)))
        drawn.append("  from \\ to" + "".join(f"{nodes[column].id:>5}" for column in columns))
        drawn += [f"{node.id:>11}" + "".join(f"{node.distances[column]:>5}" for column in columns) for node in nodes]
    return drawn


def _latencies(whole: Box, latency: CoreLatency, width: int) -> Iterator[str]:
    """Yield one line per node: a sparkline of the latencies of its CPUs, in ascending order of CPU number, and their
    range. All lines have the same scale."""
    yield ""
    yield from _wrapped(f"{latency.title}, by ascending CPU number:", "", "  ", width)
    places = [part for part in each(whole) if part.kind == "node" and part.cpus] or [whole]
    size = max(len(part.title) for part in places)
    for part in places:
        values = [latency.cpus.get(cpu) for cpu in sorted(part.cpus)]
        known = [value for value in values if value is not None]
        if known:
            low, high = format_quantity(min(known), "s"), format_quantity(max(known), "s")
            chart = sparkline(values, ends=latency.scale, most=max(8, width - size - 28))
            yield f"  {part.title:<{size}}  {chart}  {low} to {high}"
