"""What a point costs beside fio's own start and run, and a whole matrix."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

from tests.bench.storage.subjects import applied, by_hand, limited, show

POINTS = 9
ROUNDS = 3
MATRIX = {
    "block_size": ["4K", "16K", "32K", "128K"],
    "rwmixread": [100, 0, 50, 70],
    "iodepth": [1, 32, 256, 1024],
}


def point() -> None:
    """A run of several points less a run of one, over fio with the same settings by hand; interleaved."""
    costs = []
    with limited(64, riops=20_000) as (loop, _):
        config = {
            "file_names": str(loop.path), "rw": "randread", "iodepth": 8, "numjobs": 1, "duration": "1s",
            "engine": "libaio",
        }  # fmt: skip
        options = {
            "rw": "randread", "bs": "4096", "iodepth": "8", "direct": "1", "ioengine": "libaio", "runtime": "1",
            "time_based": "1",
        }  # fmt: skip
        for _ in range(ROUNDS):
            one, many = (_timed(lambda n=n: _sweep(config, n)) for n in (1, POINTS))
            hand = statistics.median(_timed(lambda: by_hand(loop.path, **options)) for _ in range(3))
            costs.append(((many - one) / (POINTS - 1) - hand) * 1000)
    middle = statistics.median(costs)
    show("a point of 1 s, above fio by hand", "under 150 ms", f"{middle:.0f} ms (least {min(costs):.0f})", middle < 150)


def _sweep(config: dict[str, Any], points: int) -> object:
    return applied({"uses": "storage-fio", "config": config, "sweep": {"seed": list(range(1, points + 1))}})


def _timed(act: Callable[[], object]) -> float:
    started = time.perf_counter()
    act()
    return time.perf_counter() - started


def matrix() -> None:
    """The 64 points of 1 s each, with start, layout of the file and report."""
    config = {"rw": "randrw", "numjobs": 1, "duration": "1s", "filesize": "256M"}
    seconds = _timed(lambda: applied({"uses": "storage-fio", "config": config, "sweep": MATRIX}))
    show("a matrix of 64 points of 1 s, all included", "under 90 s", f"{seconds:.1f} s", seconds < 90)


ROWS: dict[str, Callable[[], None]] = {"point": point, "matrix": matrix}
