"""Compare the latency of the first level with whole cycles, that of the second level from run to run, and that of
memory with a plain chain."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

from tests.bench.memory.kernels import Taken, kernel
from tests.bench.memory.limits import caches
from tests.bench.memory.peers import chase
from tests.bench.table import ROUNDS, Goal, Limit, best_peer, cpus, interleaved, row

DRAM_BYTES = 512 << 20


def _walked(size: int, pages: str = "auto", cap_ms: int = 200) -> Taken:
    arguments = ("--cpu", str(cpus()[-1]), "--sizes", str(size), "--pages", pages, "--time-cap-ms", str(cap_ms))
    return kernel("chase", *arguments)


def _sample(size: int, pages: str = "auto", cap_ms: int = 200) -> dict[str, Any]:
    (sample,) = _walked(size, pages, cap_ms).samples
    return sample


def l1() -> None:
    """Measure half of the first-level cache, where a load takes a whole number of cycles."""
    size = caches()[0] // 2
    cycles = [_sample(size)["mcycles"] / 1e3 for _ in range(ROUNDS)]
    middle = statistics.median(cycles)
    off = abs(middle - round(middle)) / round(middle)
    goal = Goal("within 0.5 % of whole cycles", off <= 0.005)
    limit = Limit(round(middle), "the next whole cycle", round(middle))
    row("l1-latency", "cycles", middle, min(cycles), limit=limit, goal=goal)


def l2() -> None:
    """Measure a quarter of the second-level cache, and report how far runs are from their median."""
    size = caches()[1] // 4
    values = [_sample(size)["median_ps"] / 1e3 for _ in range(2 * ROUNDS)]
    middle = statistics.median(values)
    off = max(abs(value - middle) / middle for value in values) * 100
    row("l2-latency", "ns", middle, min(values))
    row("l2-latency, furthest of ten runs", "%", off, off, goal=Goal("1 %", off <= 1))


def dram() -> None:
    """Measure 512 MiB, with base pages and with transparent huge pages."""
    for pages in ("4k", "thp"):
        subjects: dict[str, Callable[[], float]] = {
            "ours": lambda pages=pages: _sample(DRAM_BYTES, pages, 400)["median_ps"] / 1e3,
            "plain chain": lambda pages=pages: chase(DRAM_BYTES, pages, cpus()[-1]),
        }
        values = interleaved(subjects)
        middle, peer = statistics.median(values["ours"]), best_peer(values, min)
        goal = Goal("at most 1.02 of the best peer", middle <= 1.02 * peer[1]) if peer else None
        row(f"dram-latency, {pages} pages", "ns", middle, min(values["ours"]), peer=peer, goal=goal)


ROWS: dict[str, Callable[[], None]] = {"l1-latency": l1, "l2-latency": l2, "dram-latency": dram}
