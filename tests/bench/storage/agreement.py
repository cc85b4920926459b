"""Compare asct with the same job run manually with fio: rates in interleaved pairs, and percentiles from the same
counts."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

from asct.instruments.fio.document import bins_of
from asct.instruments.fio.histogram import Latency, Quantiles, merged
from tests.bench.storage.subjects import applied, by_hand, limited, show, value

PAIRS = 7
_BUCKETS_OF_TWO = 64
"""Number of bins into which fio divides each power of two."""


def rates() -> None:
    """Compare IOPS under a request limit and bandwidth under a byte limit: the median ratio of asct to fio over the
    pairs."""
    _pairs("IOPS, 4k reads, limit 4,000 a second", "iops", 4096, {"riops": 4000})
    _pairs("bandwidth, 64k reads, limit 60 MB/s", "bandwidth", 65536, {"rbps": 60_000_000})


def _pairs(name: str, metric: str, block_size: int, rules: dict[str, int]) -> None:
    ratios, repeats = [], []
    with limited(64, **rules) as (loop, _):
        config = {
            "file_names": str(loop.path), "rw": "randread", "block_size": block_size, "iodepth": 8, "numjobs": 1,
            "duration": "4s", "ramp_time": "1s", "engine": "libaio",
        }  # fmt: skip
        options = {
            "rw": "randread", "bs": str(block_size), "iodepth": "8", "direct": "1", "ioengine": "libaio",
            "runtime": "4", "ramp_time": "1", "time_based": "1",
        }  # fmt: skip
        field = "iops" if metric == "iops" else "bw_bytes"
        for _ in range(PAIRS):
            hand = by_hand(loop.path, **options)["jobs"][0]["read"][field]
            ratios.append(value(applied({"uses": "storage-fio", "config": config}), metric) / hand)
            repeats.append(hand)
    off = abs(statistics.median(ratios) - 1) * 100
    spread = (max(repeats) - min(repeats)) / statistics.median(repeats) * 100
    seen = f"{off:.2f} % off (fio alone: {spread:.2f} % apart)"
    show(name, f"within 1 % of fio by hand, {PAIRS} pairs", seen, off <= 1)


def percentiles() -> None:
    """Compare percentiles computed from fio's bins with fio's own percentiles, for a group of jobs and for jobs that
    asct combines."""
    options = {
        "rw": "randread", "bs": "4096", "iodepth": "8", "direct": "1", "ioengine": "libaio", "runtime": "3",
        "time_based": "1", "numjobs": "3", "randrepeat": "1", "allrandrepeat": "1",
    }  # fmt: skip
    with limited(64, riops=6000) as (loop, _):
        group = by_hand(loop.path, **options, group_reporting="1")["jobs"][0]["read"]["clat_ns"]
        apart = [job["read"]["clat_ns"] for job in by_hand(loop.path, **options)["jobs"]]
    quantiles = Quantiles(bins_of(group))
    own = max(_bins_apart(quantiles.percentile(float(percent)), told) for percent, told in group["percentile"].items())
    show("percentiles of a group, from its bins", "within one bin of fio's", f"{own:.2f} bins apart", own <= 1)
    whole = merged([_latency(part) for part in apart])
    assert whole is not None
    counts = sum(part["N"] for part in apart)
    sums = sum(sum(bins_of(part).values()) for part in apart)
    kept = f"{sum(whole.bins.values())} of {sums} requests, N {counts}"
    show("bins of 3 jobs added up", "every request once", kept, sum(whole.bins.values()) == sums == counts)


def _latency(part: dict[str, Any]) -> Latency:
    return Latency(part["N"], part["min"], part["max"], part["mean"], part["stddev"], bins_of(part))


def _bins_apart(ours: float | None, told: float) -> float:
    """Return the distance between two latencies in fio's bins; 0 for a percentile that is omitted because too few
    requests are above it."""
    if ours is None or told <= 0:
        return 0.0
    width = max(1.0, 2.0 ** int(told).bit_length() / 2 / _BUCKETS_OF_TWO)
    return abs(ours - told) / width


ROWS: dict[str, Callable[[], None]] = {"rates": rates, "percentiles": percentiles}
