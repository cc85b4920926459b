"""The steady state of a drive that changes during a run, and the fast profile compared with the pts profile."""

from __future__ import annotations

import json
import statistics
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.bench.storage.subjects import applied, by_hand, ended, limited, records, show, started, value, write_plan
from tests.bench.table import note
from tests.disks.loop import Throttle

BURST, LASTING = 8000, 1000
PLATEAU_ROUNDS = 8
"""Number of rounds in the burst: more than a window contains, so that a rule that considers only the window mistakes
the burst for the steady state."""


def cliff() -> None:
    """Measure a device whose rate falls from 8,000 to 1,000 requests per second during the run, with storage-iops and
    with fio's own rule."""
    with limited(512, wiops=BURST) as (loop, group):
        config = {
            "file_names": str(loop.path), "block_sizes": ["4K"], "mixes": [0], "dependent": ["4K:0"],
            "round_time": "2s", "rounds_max": 30, "precondition": 1, "numjobs": 1, "iodepth": 8, "purge": "none",
        }  # fmt: skip
        folder = write_plan({"uses": "storage-iops", "config": config}, loop)
        process = started(folder)
        _fall(process, folder, group)
        run = ended(process, folder)
    steady, rounds = value(run, "iops", block_size=4096, rwmixread=0), value(run, "rounds")
    off = abs(steady / LASTING - 1) * 100
    reached = off <= 2 and value(run, "steady") == 1
    show(
        "steady state behind a cliff", f"{LASTING} within 2 %", f"{steady:.0f} ops/s after {rounds:.0f} rounds", reached
    )
    note(f"fio's own steady state on the same cliff: {_fio_alone():.0f} ops/s")


def _fall(process: subprocess.Popen[str], folder: Path, group: Throttle) -> None:
    """Lower the limit after enough rounds of the burst. Raises RuntimeError if the test ends before that."""
    while process.poll() is None:
        notes = list(folder.glob("results/*/latest/jobs/*/*/*/r1/steps.jsonl"))
        done = [json.loads(line)["name"] for line in notes[0].read_text().splitlines()] if notes else []
        if sum(name.startswith("round") for name in done) >= PLATEAU_ROUNDS:
            group.limit(wiops=LASTING)
            return
        time.sleep(0.1)
    raise RuntimeError(f"the test ended before the cliff:\n{process.communicate()[0]}")


def _fio_alone() -> float:
    """Return the rate that fio considers steady; fio ends within the burst."""
    with limited(64, wiops=BURST) as (loop, group):
        timer = threading.Timer(12, lambda: group.limit(wiops=LASTING))
        timer.start()
        document = by_hand(
            loop.path, rw="randwrite", bs="4096", iodepth="8", direct="1", ioengine="libaio", time_based="1",
            runtime="40", ss="iops:30%", ss_dur="4", ss_ramp="1",
        )  # fmt: skip
        timer.cancel()
    return float(document["jobs"][0]["write"]["iops"])


def profiles() -> None:
    """Compare the `fast` profile with `pts` under the same limits: each cell, and the duration of the whole test."""
    found: dict[str, Path] = {}
    seconds: dict[str, float] = {}
    with limited(128, riops=4000, wiops=2000) as (loop, _):
        config: dict[str, Any] = {
            "file_names": str(loop.path), "block_sizes": ["4K", "8K", "16K", "32K"], "mixes": [100, 65, 35, 0],
            "dependent": ["4K:0"], "round_time": "6s", "precondition": 1, "numjobs": 1, "iodepth": 8, "purge": "none",
            "steady_volume": 0, "fast_min_time": "3s",
        }  # fmt: skip
        for profile in ("pts", "fast"):
            begun = time.perf_counter()
            found[profile] = applied({"uses": "storage-iops", "config": config | {"profile": profile}}, loop)
            seconds[profile] = time.perf_counter() - begun
    cells = {profile: _cells(run) for profile, run in found.items()}
    if cells["pts"].keys() != cells["fast"].keys() or not cells["pts"]:
        raise RuntimeError(f"the profiles measured different cells: {cells}")
    offs = [abs(cells["fast"][cell] / rate - 1) * 100 for cell, rate in cells["pts"].items()]
    seen = f"{max(offs):.2f} % off at most, median {statistics.median(offs):.2f} %"
    show(f"fast against pts, {len(offs)} cells", "within 5 %", seen, max(offs) <= 5)
    share = seconds["fast"] / seconds["pts"]
    seen = f"{share:.2f} ({seconds['fast']:.0f} s of {seconds['pts']:.0f} s)"
    show("time of fast over pts", "a fifth", seen, share <= 0.2)


def _cells(run: Path) -> dict[tuple[int, int], float]:
    return {
        (one["coords"]["block_size"], one["coords"]["rwmixread"]): one["value"]
        for one in records(run)
        if one["metric"] == "iops"
    }


ROWS: dict[str, Callable[[], None]] = {"cliff": cliff, "profiles": profiles}
