"""The metrics of the tests of a drive's steady state."""

from __future__ import annotations

from typing import Final

from asct.instruments.fio.metrics import DEVICE_METRICS
from asct.sdk.metric import Metric

Coords = dict[str, tuple[str, ...] | None]
CELL: Final[Coords] = {"block_size": None, "rwmixread": None}
PERCENTILES: Final = {"p50": 50.0, "p99": 99.0, "p99_9": 99.9, "p99_99": 99.99, "p99_999": 99.999}
SETTINGS: Final = (
    "profile", "round_time", "numjobs", "iodepth", "engine", "window", "excursion", "slope", "rounds_max",
    "steady_volume", "precondition", "purge", "seed",
)  # fmt: skip
"""Coordinates of `rounds`: what was really run, for tables and reports."""
QUANTITIES: Final = ("iops", "bandwidth", "latency")
_PHASE: Final[Coords] = {"phase": None}
_TRACKED: Final[Coords] = {**_PHASE, **CELL, "quantity": QUANTITIES}

TARGET: Final[tuple[Metric, ...]] = (
    Metric("active_range", "B", "neither", "Bytes of the target that were used", comparable=False),
    Metric("left_out", "B", "neither", "Block size below the logical block of the target", comparable=False,
           coords={"block_size": None}),
    *DEVICE_METRICS,
)  # fmt: skip
"""What every test says of its target."""

METRICS: Final[tuple[Metric, ...]] = (
    Metric("iops", "ops/s", "higher", "Requests per second: average of the rounds of the window", CELL),
    Metric("bandwidth", "B/s", "higher", "Bytes per second: average of the rounds of the window", CELL),
    Metric("latency", "s", "lower", "Mean time of a request, all requests of the window", CELL),
    Metric("latency_max", "s", "lower", "Longest time of a request in the window", CELL),
    *(
        Metric(f"latency_{name}", "s", "lower", f"{percent:g} % of the requests of the window took at most this", CELL)
        for name, percent in PERCENTILES.items()
    ),
    Metric("round_iops", "ops/s", "higher", "Requests per second in a round", {**CELL, "round": None}, False),
    Metric("round_bandwidth", "B/s", "higher", "Bytes per second in a round", {**CELL, "round": None}, False),
    Metric("round_latency", "s", "lower", "Mean time of a request in a round", {**CELL, "round": None}, False),
    Metric("steady", "1", "higher", "1: the steady state was reached; 0: it was not", _PHASE, False),
    Metric("rounds", "1", "neither", "Rounds until then", _PHASE | dict.fromkeys(SETTINGS), False),
    Metric("window_excursion", "%", "lower", "Largest minus smallest value, of the average", _TRACKED, False),
    Metric("window_slope", "%", "neither", "Change of the fitted line in the window, of the average", _TRACKED, False),
    Metric("sentinel_drift", "%", "neither", "fast: how far it moved in a pass", {**_TRACKED, "pass": None}, False),
    Metric("written_volume", "B", "neither", "Written since the purge", _PHASE, False),
    Metric("purged", "1", "higher", "1: the target was purged by `method`", {**_PHASE, "method": None}, False),
    *TARGET,
)  # fmt: skip
