"""Compare the bandwidth of the caches (in bytes per cycle) with the documented values, and that of memory with the best
peer."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

from asct.benchmarks.peak_bandwidth import PEAK
from tests.bench.memory import limits
from tests.bench.memory.kernels import bandwidth_sample, kernel
from tests.bench.memory.peers import bandwidth_peers, memory_peers
from tests.bench.table import Goal, Limit, best_peer, cpus, interleaved, row

CACHE_TRAFFIC = ("all-reads", "write", "copy", "triad")
DRAM_TRAFFIC = ("all-reads", "write", "copy", "triad", "nt-write", "nt-copy")
DRAM_BYTES = 512 << 20
ROUNDS = 5
GOALS = {1: ("all-reads", "write"), 2: ("all-reads",)}
"""Kinds of traffic with a documented rate. The documented sustained rate of the path to the second level applies only
to incoming data."""


def cache(level: int) -> None:
    """Measure one thread that walks half of the cache."""
    size = limits.caches()[level - 1] // 2
    for traffic in CACHE_TRAFFIC:
        samples: list[dict[str, Any]] = []

        def ours(traffic: str = traffic, samples: list[dict[str, Any]] = samples) -> float:
            samples.append(bandwidth_sample(size, traffic, cpus()[-1:]))
            return float(samples[-1]["median_bps"]) / 1e9

        name = f"l{level}-bandwidth {traffic}"
        values = interleaved({"ours": ours, **bandwidth_peers(traffic, size, cpus()[-1:])})
        per_cycle = [sample["median_bps"] * sample["cycle_fs"] * 1e-15 for sample in samples]
        limit = limits.limit(level, traffic)
        row(
            name,
            "B/cycle",
            statistics.median(per_cycle),
            max(per_cycle),
            limit=limit,
            goal=_share(limit, per_cycle) if traffic in GOALS[level] else None,
        )
        best = max(sample["max_bps"] for sample in samples) / 1e9
        row(f"{name}, GB/s", "GB/s", statistics.median(values["ours"]), best, peer=best_peer(values, max))


def _share(limit: Limit | None, values: list[float]) -> Goal | None:
    if limit is None:
        return None
    aim = 0.95 * limit.sustained
    return Goal(f"0.95 of {limit.sustained:g} sustained", statistics.median(values) >= aim)


def last_level() -> None:
    """Measure one thread that walks twice the size of the second-level cache, so that it reads from the last-level
    cache. Compare it with plain loops in adjacent pairs."""
    size = 2 * limits.caches()[1]
    values = interleaved(
        {"ours": lambda: float(bandwidth_sample(size, "all-reads", cpus()[-1:])["median_bps"]) / 1e9}
        | bandwidth_peers("all-reads", size, cpus()[-1:])
    )
    peer = best_peer(values, max)
    middle = statistics.median(values["ours"])
    goal = Goal("at least 0.97 of the best peer", middle >= 0.97 * peer[1]) if peer else None
    row("l3-bandwidth all-reads", "GB/s", middle, max(values["ours"]), peer=peer, goal=goal)


def mapping() -> None:
    """Measure the share of a visit that is spent on mapping memory, with all CPUs, ten kinds of traffic and 512 MiB per
    thread."""
    options = ("--cpus", ",".join(map(str, cpus())), "--sizes", str(DRAM_BYTES), "--traffic", ",".join(PEAK))
    shares = []
    for _ in range(ROUNDS):
        taken = kernel("stream", *options)
        shares.append(100 * taken.meta["map_ns"] / taken.lines[-1]["elapsed_ns"])
    row("mapping, share of a visit", "%", statistics.median(shares), min(shares))


def memory(threads: list[int], name: str) -> None:
    """Measure the memory bandwidth with 512 MiB per thread."""
    for traffic in DRAM_TRAFFIC:
        samples: list[dict[str, Any]] = []

        def ours(traffic: str = traffic, samples: list[dict[str, Any]] = samples) -> float:
            samples.append(bandwidth_sample(DRAM_BYTES, traffic, threads))
            return float(samples[-1]["median_bps"]) / 1e9

        peers = {**bandwidth_peers(traffic, DRAM_BYTES, threads), **memory_peers(traffic, threads)}
        values = interleaved({"ours": ours, **peers}, rounds=3)
        middle, best = statistics.median(values["ours"]), max(sample["max_bps"] for sample in samples) / 1e9
        peer = best_peer(values, max)
        goal = Goal("at least 1.00 of the best peer", middle >= peer[1]) if peer else None
        row(f"{name} {traffic}", "GB/s", middle, best, peer=peer, goal=goal)


ROWS: dict[str, Callable[[], None]] = {
    "l1-bandwidth": lambda: cache(1),
    "l2-bandwidth": lambda: cache(2),
    "l3-bandwidth": last_level,
    "bandwidth-mapping": mapping,
    "dram-bandwidth-one": lambda: memory(cpus()[-1:], "dram-bandwidth, one thread,"),
    "dram-bandwidth-all": lambda: memory(cpus(), "dram-bandwidth, all CPUs,"),
}
