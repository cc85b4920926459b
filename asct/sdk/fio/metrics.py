"""The metrics of every benchmark on fio. The settings of a point say where a value stands, so there are no coordinates.

The one exception is `queue_depth`: its coordinates repeat the settings that tables and figures name even when they are
not swept, and the engine that `auto` became.
"""

from __future__ import annotations

from typing import Final

from asct.sdk.fio.cpu_load import KINDS
from asct.sdk.metric import Metric

PERCENTILES: Final = {
    "p50": 50.0, "p90": 90.0, "p95": 95.0, "p99": 99.0, "p99_9": 99.9, "p99_99": 99.99,
}  # fmt: skip
PREFIXES: Final = ("", "read_", "write_")
LATENCIES: Final = {
    "slat": "from the call until the kernel took the request (submission)",
    "clat": "from there until it was complete (completion)",
    "lat": "from the call until it was complete (both)",
}
CONTEXT: Final = ("rw", "rwmixread", "block_size", "iodepth", "numjobs", "engine")
"""Coordinates of `queue_depth`."""
_MOMENTS: Final = {"mean": "mean", "min": "lowest", "max": "highest", "stddev": "standard deviation of the"}
_CPU: Final = {
    "usr": "in programs", "sys": "in the kernel", "iowait": "idle with requests pending (not load)",
    "irq": "in hardware interrupts", "soft": "in software interrupts",
}  # fmt: skip
_SIDES: Final = {"": "", "read_": " of reads", "write_": " of writes"}


def _rates(prefix: str) -> tuple[Metric, ...]:
    side = _SIDES[prefix]
    return (
        Metric(f"{prefix}bandwidth", "B/s", "higher", f"Bytes{side} per second, all jobs together"),
        Metric(f"{prefix}iops", "ops/s", "higher", f"Requests{side} completed per second, all jobs together"),
        Metric(f"{prefix}latency", "s", "lower", f"Mean completion latency{side}: the same as {prefix}clat_mean"),
        Metric(f"{prefix}ios", "1", "neither", f"Number of requests{side} completed", comparable=False),
    )


def _latencies(prefix: str) -> tuple[Metric, ...]:
    side = _SIDES[prefix]
    found = [
        Metric(f"{prefix}{kind}_{name}", "s", "lower", f"{text.capitalize()} time{side} {what}")
        for kind, what in LATENCIES.items()
        for name, text in _MOMENTS.items()
    ]
    found += [
        Metric(f"{prefix}{kind}_{name}", "s", "lower", f"{percent:g} % of requests{side} took at most this {what}")
        for kind, what in LATENCIES.items()
        for name, percent in PERCENTILES.items()
    ]
    return tuple(found)


METRICS: Final[tuple[Metric, ...]] = (
    *(metric for prefix in PREFIXES for metric in _rates(prefix)),
    *(metric for prefix in PREFIXES for metric in _latencies(prefix)),
    *(Metric(f"cpu_{kind}", "%", "lower", f"Time of all online CPUs {_CPU[kind]}, by mpstat") for kind in KINDS),
    Metric("in_flight", "1", "neither", "Requests in flight on average: rate times latency", comparable=False),
    Metric(
        "queue_depth",
        "1",
        "neither",
        "Requests in flight that the engine can hold, all jobs together",
        coords=dict.fromkeys(CONTEXT),
        comparable=False,
    ),
)
