"""The gate as a user runs it: unchanged runs, and runs with a slowed kernel and a slowed device, interleaved."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from statistics import median

from tests.bench.harness import scratch
from tests.bench.judge.runs import ROOT, apply, label
from tests.bench.storage.subjects import limited
from tests.bench.table import Goal, note, row

RUNS = 20
UNCHANGED = 5
"""Number of runs before the judged ones; the last of them is the baseline."""
IOPS = 4000
SLOWER = 0.05
"""Share by which the slowed device reduces the number of requests that it serves per second."""
NOPS = 96
"""Iterations of the NOP loop per 64 loads. They take about a tenth of the time that the loads take in a cache with a
latency of 14 cycles."""
_TIMED = "*at = loop_loads(node, turns);"
_SLOWED = f'{_TIMED}\n    for (uint64_t i = 0; i < turns * {NOPS}; i++)\n        __asm__ volatile("nop");'


def live() -> None:
    """Print how many of the unchanged and of the slowed runs fail, and how often each value was reported as
    regressed."""
    results = scratch() / "results"
    slowed = _slowed_checkout(scratch() / "checkout")
    unchanged, changed = [], []
    with limited(64, riops=IOPS) as (loop, group):
        for _ in range(UNCHANGED):
            _, golden = apply(results, loop.path)
        label(results, golden)
        for _ in range(RUNS):
            group.limit(riops=IOPS)
            unchanged.append(apply(results, loop.path))
            group.limit(riops=round(IOPS * (1.0 - SLOWER)))
            changed.append(apply(results, loop.path, slowed))
    false = sum(code == 1 for code, _ in unchanged)
    row("unchanged runs that failed", f"of {RUNS}", false, false, goal=Goal("0", false == 0))
    _report(unchanged)
    found = sum(code == 1 for code, _ in changed)
    row("slowed runs that failed", f"of {RUNS}", found, found, goal=Goal(str(RUNS), found == RUNS))
    _report(changed)


def _slowed_checkout(to: Path) -> Path:
    """Copy this checkout, and add a loop of NOPs to the code that the `chase` kernel times."""
    for name in ("asct", "kernels", "plans", "results_schema", "templates"):
        shutil.copytree(ROOT / name, to / name)
    source = to / "kernels" / "chase" / "measure.c"
    text = source.read_text()
    if text.count(_TIMED) != 1:
        raise RuntimeError(f"{source} contains {_TIMED} {text.count(_TIMED)} times")
    source.write_text(text.replace(_TIMED, _SLOWED))
    return to


def _report(runs: list[tuple[int, Path]]) -> None:
    failed, changes = Counter[str](), dict[str, list[float]]()
    for _, folder in runs:
        for verdict in json.loads((folder / "run.json").read_text())["verdicts"]:
            name = f"{verdict['id']}.{verdict['metric']}"
            failed[name] += verdict["outcome"] == "fail"
            change = (verdict.get("baseline") or {}).get("change")
            changes.setdefault(name, []).extend([] if change is None else [change])
    for name, count in failed.most_common():
        if changes[name] and (count or abs(median(changes[name])) > SLOWER / 2):
            note(f"  {name}: called {count} times; median change {100 * median(changes[name]):+.1f} %")


ROWS: dict[str, Callable[[], None]] = {"live": live}
