"""The time needed to measure the levels of loaded-latency and one pair of CPUs, and the planned time for 192 CPUs."""

from __future__ import annotations

import statistics
from collections.abc import Callable

from tests.bench.memory.kernels import kernel
from tests.bench.table import ROUNDS, Goal, cpus, row

DELAYS = "3000,1500,1000,700,500,300,200,100,50,20,10,5,0"
METHODS = "token,cas,chain"
LARGE = 192


def loaded() -> None:
    """Measure thirteen levels on two CPUs. Report the time for the levels, without building the chain and the buffers,
    and the time for the whole process."""
    here = cpus()
    seconds, whole = [], []
    for _ in range(ROUNDS):
        taken = kernel(
            "load", "--latency-cpu", str(here[-1]), "--cpus", ",".join(map(str, here[:-1])), "--delays", DELAYS
        )
        levels = [sample for sample in taken.samples if sample["phase"] == "level"]
        if len(levels) != DELAYS.count(",") + 1:
            raise RuntimeError(f"only {len(levels)} of 13 levels were reported")
        seconds.append(sum(sample["elapsed_ns"] for sample in levels) / 1e9)
        whole.append(taken.seconds)
    middle = statistics.median(seconds)
    row("loaded-latency, 13 levels", "s", middle, min(seconds), goal=Goal("under 3 s", middle < 3))
    row("loaded-latency, the whole process", "s", statistics.median(whole), min(whole))


def pair() -> None:
    """Measure one pair of CPUs with three methods."""
    if len(cpus()) < 2:
        raise RuntimeError("a single CPU forms no pair")
    two = ",".join(map(str, cpus()[:2]))
    totals = []
    for _ in range(ROUNDS):
        taken = kernel("pingpong", "--cpus", two, "--methods", METHODS)
        totals.append(sum(sample["elapsed_ns"] for sample in taken.samples) / 1e6)
    middle = statistics.median(totals)
    row("core-to-core, one pair, three methods", "ms", middle, min(totals), goal=Goal("under 150 ms", middle < 150))


def planned() -> None:
    """Check that the schedule for 192 CPUs contains every pair once, and print how long the kernel expects it to
    take."""
    names = ",".join(map(str, range(LARGE)))
    taken = kernel("pingpong", "--cpus", names, "--groups", names, "--list-schedule", "1")
    rounds = [line for line in taken.lines if line["t"] == "round"]
    listed = [tuple(sorted(pair)) for line in rounds for pair in in_twos(line["pairs"])]
    if not len(listed) == len(set(listed)) == LARGE * (LARGE - 1) // 2:
        raise RuntimeError(f"{len(listed)} pairs, {len(set(listed))} different ones, in the schedule of {LARGE} CPUs")
    seconds = taken.lines[-1]["planned_ns"] / 1e9
    row(f"core-to-core, {LARGE} CPUs, rounds", "rounds", len(rounds), len(rounds))
    row(f"core-to-core, {LARGE} CPUs, planned", "s", seconds, seconds)


def in_twos(flat: list[int]) -> list[tuple[int, int]]:
    """Convert `[a, b, c, d]` to `[(a, b), (c, d)]`."""
    return list(zip(flat[::2], flat[1::2], strict=True))


ROWS: dict[str, Callable[[], None]] = {
    "loaded-latency": loaded,
    "core-to-core-pair": pair,
    "core-to-core-plan": planned,
}
