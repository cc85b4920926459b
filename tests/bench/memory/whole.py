"""All memory benchmarks as a user runs them: their time, the share of it spent on mapping memory, and the share of
flagged values. Also, the levels of a latency sweep while other programs occupy every CPU."""

from __future__ import annotations

import json
import statistics
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.bench.harness import asct, scratch
from tests.bench.measure import command
from tests.bench.table import Goal, cpus, note, row

SWEEPS = 3
LEVELS = ("L1", "L2", "L3")
PLAN = Path(__file__).parents[3] / "plans" / "memory.yaml"


def memory_set() -> None:
    """Measure plans/memory.yaml, which runs every memory benchmark with its default settings. The time includes
    starting asct, building the kernels, and writing the report."""
    folder = scratch()
    cost = command(asct("apply", str(PLAN), "--results", str(folder / "results"), "--wait", "10m", "-q"))
    run = folder / "results" / "memory" / "latest"
    goal = Goal("under 60 s on 2 CPUs", cost.wall_s < 60) if len(cpus()) == 2 else None
    row("memory set, all included", "s", cost.wall_s, cost.wall_s, goal=goal)
    for event in _lines(run / "journal.jsonl"):
        if event["t"] == "point-ended":
            row(f"  {event['id']}", "s", event["elapsed_s"], event["elapsed_s"])
    _report_mapping(run)
    _report_flags(run)


def _report_mapping(run: Path) -> None:
    """Report the share of the kernels' time that is spent on mapping and filling memory. pingpong is excluded, because
    it maps only a few pages."""
    mapping, whole = Counter[str](), Counter[str]()
    for path in run.glob("jobs/**/stdout"):
        lines = [json.loads(line) for line in path.open()]
        job = path.relative_to(run / "jobs").parts[1]
        mapping[job] += lines[0].get("map_ns", 0)
        whole[job] += lines[-1]["elapsed_ns"]
    share = 100 * mapping.total() / whole.total()
    row("mapping, share of the set", "%", share, share, goal=Goal("at most 20 %", share <= 20))
    for job in whole:
        part = 100 * mapping[job] / whole[job]
        row(f"  {job}: mapping, of {whole[job] / 1e9:.1f} s", "%", part, part)


def _report_flags(run: Path) -> None:
    """Report the share of values with each flag, among the values for which lower or higher is better."""
    values = [record for record in _lines(run / "records.jsonl") if record["better"] != "neither"]
    visited = sum((record["stats"] or {}).get("ci95") is not None for record in values)
    row(f"values with an interval, of {len(values)}", "%", *[100 * visited / len(values)] * 2)
    flags = Counter(flag for record in values for flag in set(record["flags"]))
    for flag, count in flags.most_common():
        row(f"  flagged {flag}", "%", *[100 * count / len(values)] * 2)


def busy() -> None:
    """Compare the levels of the latency sweep that are measured while a loop runs on every CPU with those measured
    without such loops: they must be close, or flagged."""
    idle: dict[str, list[tuple[float, bool]]] = {}
    loaded: dict[str, list[tuple[float, bool]]] = {}
    for _ in range(SWEEPS):
        _gather(idle)
        with loops_everywhere():
            _gather(loaded)
    for level in LEVELS:
        if level not in idle:
            note(f"busy machine, {level}: the sweep finds no such level here")
            continue
        if level not in loaded:
            raise RuntimeError(f"the level {level} was not found on the busy machine")
        quiet = statistics.median(value for value, _ in idle[level])
        for value, flagged in loaded[level]:
            off = abs(value - quiet) / quiet * 100
            told = ", flagged" if flagged else ""
            row(
                f"busy machine, {level}{told}, off idle",
                "%",
                off,
                off,
                goal=Goal("10 % or flagged", off <= 10 or flagged),
            )


@contextmanager
def loops_everywhere() -> Iterator[None]:
    """Run a program that never waits on each CPU."""
    running = [subprocess.Popen(["taskset", "-c", str(cpu), "sh", "-c", "while :; do :; done"]) for cpu in cpus()]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


def _gather(levels: dict[str, list[tuple[float, bool]]]) -> None:
    """Add the value of each cache level from one sweep, and whether it was flagged as unreliable."""
    folder = scratch()
    plan = "plan: 1\nname: sweep\nbenchmarks:\n  - uses: latency-sweep\n"
    (folder / "plan.yaml").write_text(plan)
    command(asct("apply", str(folder / "plan.yaml"), "--results", str(folder / "results"), "-q"))
    for record in _lines(folder / "results" / "sweep" / "latest" / "records.jsonl"):
        level = record["coords"].get("level")
        if record["metric"] == "latency" and level in LEVELS:
            told = any(flag.startswith(("noisy", "invalid")) for flag in record["flags"])
            levels.setdefault(level, []).append((record["value"], told))


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.open()]


ROWS: dict[str, Callable[[], None]] = {"whole-set": memory_set, "busy-machine": busy}
