"""What a point costs beside fio's own start and run, and a whole matrix."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from tests.bench.storage.subjects import applied, by_hand, limited, show
from tests.bench.table import note

POINTS = 9
MATRIX = {
    "block_size": ["4K", "16K", "32K", "128K"],
    "rwmixread": [100, 0, 50, 70],
    "iodepth": [1, 32, 256, 1024],
}


def point() -> None:
    """From the start of the first point to the end of the last, less what fio took itself by the clock of guard."""
    with limited(64, riops=20_000) as (loop, _):
        config = {
            "file_names": str(loop.path), "rw": "randread", "iodepth": 8, "numjobs": 1, "duration": "1s",
            "engine": "libaio",
        }  # fmt: skip
        run = applied({"uses": "storage-fio", "config": config, "sweep": {"seed": list(range(1, POINTS + 1))}})
        options = {
            "rw": "randread", "bs": "4096", "iodepth": "8", "direct": "1", "ioengine": "libaio", "runtime": "1",
            "time_based": "1",
        }  # fmt: skip
        hand = [_timed(lambda: by_hand(loop.path, **options)) for _ in range(POINTS)]
    programs = [_program_s(path) for path in run.glob("jobs/local/bench/*/r1/stdout")]
    cost = (_span_s(run) - sum(programs)) / len(programs) * 1000
    show(f"harness cost of a point, {len(programs)} points", "under 150 ms", f"{cost:.0f} ms", cost < 150)
    beside = (statistics.median(programs) - statistics.median(hand)) * 1000
    note(f"fio itself took {beside:+.0f} ms below guard against by hand (medians; noise of fio's start)")


def _span_s(run: Path) -> float:
    """From the first begin of a point to the last end, by the journal."""
    events = [json.loads(line) for line in (run / "journal.jsonl").read_text().splitlines()]
    times = [datetime.fromisoformat(event["at"]) for event in events if event["t"] in ("point-started", "point-ended")]
    return (times[-1] - times[0]).total_seconds()


def _program_s(stdout: Path) -> float:
    """How long guard's program ran."""
    lines = [json.loads(line) for line in stdout.read_text().splitlines()]
    [end] = [line for line in lines if line["t"] == "exit"]
    return float(end["ended_ns"] - end["started_ns"]) / 1e9


def _timed(act: Callable[[], object]) -> float:
    started = time.perf_counter()
    act()
    return time.perf_counter() - started


def matrix() -> None:
    """The 64 points of 1 s each, with start, layout of the file and report."""
    config = {"rw": "randrw", "numjobs": 1, "duration": "1s", "filesize": "256M"}
    started = time.perf_counter()
    run = applied({"uses": "storage-fio", "config": config, "sweep": MATRIX})
    seconds = time.perf_counter() - started
    programs = sum(_program_s(path) for path in run.glob("jobs/local/bench/*/r1/stdout"))
    show("a matrix of 64 points of 1 s, all included", "under 90 s", f"{seconds:.1f} s", seconds < 90)
    note(f"of that fio itself took {programs:.1f} s, an idle machine lets it take about 82 s")


ROWS: dict[str, Callable[[], None]] = {"point": point, "matrix": matrix}
