"""Measure how well the intervals of the memory benchmarks predict their next run, on a quiet machine and beside other
programs."""

from __future__ import annotations

import json
import statistics
import subprocess
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.bench.harness import asct, scratch
from tests.bench.intervals import Place, Runs, Value, report_intervals
from tests.bench.measure import command
from tests.bench.table import Goal, cpus, row
from tests.benchmarks.kernels import built

QUIET_RUNS = 10
BUSY_RUNS = 3
PLAN = Path(__file__).parents[3] / "plans" / "memory.yaml"
_OFF = 0.1
_DOUBTS = ("noisy", "invalid", "drift", "two-states", "disagrees")


def coverage() -> None:
    """Run the memory benchmarks repeatedly. Report how often the next value is within the interval, the share of
    flagged values, and values that a disturbance changed without a flag.

    All runs of a row are in one results folder, as a user would keep them, so that the intervals cover the spread
    between runs from the third run on. A note reports the intervals of the first two runs.
    """
    quiet = _runs(QUIET_RUNS)
    report_intervals(quiet)
    for title, arguments in _disturbances().items():
        with beside(arguments):
            busy = _runs(BUSY_RUNS)
        _report_busy(title, quiet, busy)


def _runs(count: int) -> Runs:
    found: dict[Place, list[Value]] = defaultdict(list)
    folder = scratch()
    for _ in range(count):
        command(asct("apply", str(PLAN), "--results", str(folder / "results"), "-q"))
        for line in (folder / "results" / "memory" / "latest" / "records.jsonl").open():
            record = json.loads(line)
            stats = record["stats"] or {}
            if record["better"] == "neither" or stats.get("visits") is None or "size" in record["coords"]:
                continue
            place = record["id"], record["metric"], json.dumps(record["coords"], sort_keys=True)
            flagged = any(flag.startswith(_DOUBTS) for flag in record["flags"])
            found[place].append(Value(record["value"], stats.get("ci95"), flagged, early="runs" not in stats))
    return found


def _report_busy(title: str, quiet: Runs, busy: Runs) -> None:
    for name in dict.fromkeys(place[0] for place in busy):
        off = hidden = count = 0
        for place, values in busy.items():
            if place[0] != name or place not in quiet:
                continue
            middle = statistics.median(value.value for value in quiet[place])
            for value in values:
                wrong = abs(value.value - middle) > _OFF * abs(middle)
                off, hidden, count = off + wrong, hidden + (wrong and not value.flagged), count + 1
        text = f"{title}, {name}: {off} of {count} off by 10 %, unflagged"
        row(text, "", hidden, hidden, goal=Goal("0", hidden == 0))


def _disturbances() -> dict[str, list[str]]:
    stream = [str(built("stream")), "--traffic", "triad", "--sizes", "268435456", "--windows", "4096", "--pages", "4k"]
    spin = ["sh", "-c", "while :; do :; done"]
    again = ["sh", "-c", 'while :; do "$@" >/dev/null || exit 1; done', "sh", *stream]
    found = {}
    for cpu in cpus()[:2]:
        found[f"spinner on CPU {cpu}"] = ["taskset", "-c", str(cpu), *spin]
        found[f"STREAM on CPU {cpu}"] = ["taskset", "-c", str(cpu), *again]
    return found


@contextmanager
def beside(arguments: Sequence[str]) -> Iterator[None]:
    """Run a program and its children until the block ends."""
    with subprocess.Popen(arguments, start_new_session=True) as process:
        try:
            yield
        finally:
            subprocess.run(["pkill", "-KILL", "-s", str(process.pid)], check=False)


ROWS: dict[str, Callable[[], None]] = {"coverage": coverage}
