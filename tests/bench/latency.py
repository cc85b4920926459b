"""The default latency sweep: its duration, the latency of the first level in core cycles, and how well ten runs
agree."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.bench.harness import applied, scratch
from tests.bench.measure import least_and_middle, show

RUNS = 10


def sweeps() -> None:
    """Measure ten complete runs of the default sweep."""
    seconds: list[float] = []
    levels: dict[str, list[float]] = {}
    cycles: dict[str, list[float]] = {}
    for _ in range(RUNS):
        folder = scratch()
        applied("plan: 1\nname: sweep\nbenchmarks: [latency-sweep]\n", folder)
        for record in _records(folder / "results" / "sweep" / "latest"):
            level = record["coords"].get("level")
            if level and record["metric"] == "latency":
                levels.setdefault(level, []).append(record["value"] * 1e9)
            if level and record["metric"] == "latency_cycles":
                cycles.setdefault(level, []).append(record["value"])
        events = [json.loads(line) for line in (folder / "results/sweep/latest/journal.jsonl").open()]
        seconds += [event["elapsed_s"] for event in events if event["t"] == "point-ended"]
    show("latency-sweep at its defaults", *least_and_middle(seconds), "s", 15)
    for level, values in levels.items():
        show(f"  {level}", *least_and_middle(values), "ns", None)
        show(f"  {level}, furthest of {len(values)} runs from their median", *_spread(values), "%", 2)
    for level, values in cycles.items():
        show(f"  {level}", *least_and_middle(values), "cyc", None)


def _records(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "records.jsonl").open()]


def _spread(values: list[float]) -> tuple[float, float]:
    middle = statistics.median(values)
    off = [abs(value - middle) / middle * 100 for value in values]
    return max(off), max(off)


FIGURES: dict[str, Callable[[], None]] = {"latency-sweep": sweeps}
