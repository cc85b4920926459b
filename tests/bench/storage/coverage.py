"""Measure how well the intervals of storage values predict the next run, on a throttled device and beside random
bursts."""

from __future__ import annotations

import json
import random
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from asct.sdk.record import doubtful
from tests.bench.intervals import Place, Runs, Value, report_intervals
from tests.bench.storage.subjects import applied, by_hand, limited, records
from tests.bench.table import note

RUNS = 10
SECONDS = 20
LIMIT = 4000
METRICS = ("iops", "latency", "clat_p50", "clat_p99")
_SEED = 12
_PAUSE_S, _BURST_S = (0.1, 0.8), (0.2, 0.8)


def coverage() -> None:
    """Measure the same points repeatedly. Report how often the next value is within the interval, the share of flagged
    values, and the width of the intervals."""
    with limited(64, riops=LIMIT) as (loop, _):
        for title, beside in (("throttled", nullcontext), ("noisy", lambda: bursts(loop.path))):
            note(f"{title}: {RUNS} runs of {SECONDS} s, random reads of 4k at depth 8, limit {LIMIT} a second")
            with beside():
                report_intervals(_runs(title, loop.path))


def _runs(title: str, device: Path) -> Runs:
    config = {
        "file_names": str(device), "rw": "randread", "numjobs": 1, "iodepth": 8, "engine": "libaio",
        "duration": f"{SECONDS}s",
    }  # fmt: skip
    found: dict[Place, list[Value]] = defaultdict(list)
    for _ in range(RUNS):
        for one in records(applied({"uses": "storage-fio", "config": config})):
            if one["metric"] in METRICS:
                flagged = any(doubtful(flag) for flag in one["flags"])
                value = Value(one["value"], (one["stats"] or {}).get("ci95"), flagged)
                found[f"{title}, {one['metric']}", one["metric"], json.dumps(one["point"])].append(value)
    return found


@contextmanager
def bursts(device: Path) -> Iterator[None]:
    """Run another fio on the same device, within the same limit, in bursts of random length and depth."""
    over = threading.Event()
    rng = random.Random(_SEED)

    def burst() -> None:
        while not over.wait(rng.uniform(*_PAUSE_S)):
            by_hand(
                device, rw="randread", bs="4096", iodepth=str(rng.choice((1, 2, 4, 8))), direct="1", ioengine="libaio",
                runtime=f"{rng.uniform(*_BURST_S):.2f}", time_based="1", randseed=str(rng.randrange(10**6)),
            )  # fmt: skip

    thread = threading.Thread(target=burst)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


ROWS: dict[str, Callable[[], None]] = {"coverage": coverage}
