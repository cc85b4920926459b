"""The metrics and flags of every benchmark on fio, without the code that computes them: a plan only needs their names.

Most metrics have no coordinates: the settings of the point identify a value.

The coordinates of `queue_depth` repeat the settings that tables and figures need even if they are not swept, and the
engine that `auto` selected. Values of one interval of the run, or of one drive, have it as a coordinate.
"""

from __future__ import annotations

from typing import Final

from asct.sdk.metric import Metric, Unit

DIRECTIONS: Final = ("read", "write", "trim")
KINDS: Final = ("usr", "sys", "iowait", "irq", "soft")
IDENTITY: Final = {
    "model": "model", "serial": "serial", "firmware": "firmware", "format": "logical_block",
    "write_cache": "write_cache", "scheduler": "scheduler", "numa_node": "numa_node", "link": "link",
    "transport": "transport",
}  # fmt: skip
"""Coordinates of `device_size` and the fields of guard's line that they are read from."""
BOUND_METRIC: Final = "latency_bound"
PERCENTILES: Final = {
    "p50": 50.0, "p90": 90.0, "p95": 95.0, "p99": 99.0, "p99_9": 99.9, "p99_99": 99.99,
}  # fmt: skip
BODY: Final = {"p1": 1.0, "p5": 5.0, "p10": 10.0, "p25": 25.0, "p75": 75.0}
"""Percentiles of completion latency alone, for the figure of its distribution."""
PREFIXES: Final = ("", "read_", "write_", "trim_")
LATENCIES: Final = {
    "slat": "from the call until the kernel accepts the request (submission)",
    "clat": "from submission until completion",
    "lat": "from the call until completion (submission and completion)",
}
CONTEXT: Final = ("rw", "rwmixread", "block_size", "iodepth", "numjobs", "engine")
"""Coordinates of `queue_depth`."""
_MOMENTS: Final = {"mean": "mean", "min": "lowest", "max": "highest", "stddev": "standard deviation of the"}
_CPU: Final[dict[str, str]] = {
    "usr": "in user space", "sys": "in the kernel", "iowait": "idle with pending requests (not load)",
    "irq": "in hardware interrupts", "soft": "in software interrupts",
}  # fmt: skip
_SIDES: Final = {"": "", "read_": " of reads", "write_": " of writes", "trim_": " of trims"}
_BYTES: Final = {"": "Bytes", "read_": "Bytes read", "write_": "Bytes written", "trim_": "Bytes trimmed"}
_REQUESTS: Final = {"": "Requests", "read_": "Read requests", "write_": "Write requests", "trim_": "Trim requests"}


def percentiles_of(kind: str) -> dict[str, float]:
    """The percentiles of a kind of latency, in percent, by the end of their metric's name."""
    return BODY | PERCENTILES if kind == "clat" else PERCENTILES


def _rates(prefix: str) -> tuple[Metric, ...]:
    side = _SIDES[prefix]
    return (
        Metric(f"{prefix}bandwidth", "B/s", "higher", f"{_BYTES[prefix]} per second, all jobs combined"),
        Metric(f"{prefix}iops", "ops/s", "higher", f"{_REQUESTS[prefix]} completed per second, all jobs combined"),
        Metric(f"{prefix}latency", "s", "lower", f"Mean completion latency{side}: the same as {prefix}clat_mean"),
        Metric(f"{prefix}ios", "1", "neither", f"Number of {_REQUESTS[prefix].lower()} completed", comparable=False),
    )


def _latencies(prefix: str) -> tuple[Metric, ...]:
    side, requests = _SIDES[prefix], _REQUESTS[prefix].lower()
    found = [
        Metric(f"{prefix}{kind}_{name}", "s", "lower", f"{text.capitalize()} time{side} {what}")
        for kind, what in LATENCIES.items()
        for name, text in _MOMENTS.items()
    ]
    found += [
        Metric(f"{prefix}{kind}_{name}", "s", "lower", f"{percent:g} % of {requests} took at most this time {what}")
        for kind, what in LATENCIES.items()
        for name, percent in percentiles_of(kind).items()
    ]
    return tuple(found)


_DEVICE: Final[dict[str, tuple[Unit, str]]] = {
    "percentage_used": ("%", "Wear that the drive reports"),
    "available_spare": ("%", "Remaining spare blocks, relative to the initial number"),
    "media_errors": ("1", "Uncorrectable media errors"),
    "data_units_written": ("1", "Total written by the host over the drive's lifetime, in units of 512,000 bytes"),
}


def _cost() -> tuple[Metric, ...]:
    return (
        *(Metric(f"cpu_{kind}", "%", "lower", f"Time of all online CPUs {_CPU[kind]}, from mpstat") for kind in KINDS),
        *(
            Metric(f"used_cpu_{kind}", "%", "lower", f"Time of the CPUs that the jobs use {_CPU[kind]}, from mpstat")
            for kind in KINDS
        ),
        Metric("cpu_time_per_io", "s", "lower", "CPU time of fio and its kernel threads per request"),
        Metric("host_cpu_time_per_io", "s", "lower", "CPU time of the whole host per request"),
        Metric("iops_per_core", "ops/s", "higher", "Requests per second of CPU time of fio and its threads"),
    )


def _course() -> tuple[Metric, ...]:
    """Values of one interval of the run; `second` is its begin."""
    at: dict[str, tuple[str, ...] | None] = {"second": None}
    return (
        Metric("second_iops", "ops/s", "higher", "Requests per second within the interval", at, comparable=False),
        Metric("second_bandwidth", "B/s", "higher", "Bytes per second within the interval", at, comparable=False),
        Metric("second_clat_p50", "s", "lower", "Median completion time within the interval", at, comparable=False),
        Metric(
            "second_clat_p99",
            "s",
            "lower",
            "99 % of the requests took at most this time within the interval",
            at,
            comparable=False,
        ),
        Metric(
            "second_share",
            "%",
            "neither",
            "Share of the interval's requests with a completion latency between `latency` and twice that",
            at | {"latency": None},
            comparable=False,
        ),
    )


def _devices() -> tuple[Metric, ...]:
    at: dict[str, tuple[str, ...] | None] = {"path": None, "when": ("before", "after")}
    identity: dict[str, tuple[str, ...] | None] = {"path": None, **dict.fromkeys(IDENTITY)}
    return (
        Metric("device_size", "B", "neither", "Size and type of a target", identity, comparable=False),
        Metric("device_temperature", "degC", "lower", "Temperature of the drive", at, comparable=False),
        *(
            Metric(f"device_{name}", unit, "neither", text, at, comparable=False)
            for name, (unit, text) in _DEVICE.items()
        ),
    )


DEVICE_METRICS: Final = _devices()
"""Metrics of a target; `asct.instruments.fio.devices` makes the values."""

_SECTION: Final[dict[str, tuple[str, ...] | None]] = {"section": None, "direction": DIRECTIONS}
PART_METRICS: Final = (
    Metric("section_iops", "ops/s", "higher", "Requests per second of one section of the job file", _SECTION),
    Metric("section_bandwidth", "B/s", "higher", "Bytes per second of one section of the job file", _SECTION),
    Metric("section_latency", "s", "lower", "Mean completion latency of one section of the job file", _SECTION),
    Metric("section_clat_p99", "s", "lower", "99 % of the section's requests took at most this time", _SECTION),
    Metric(
        "target_bandwidth",
        "B/s",
        "higher",
        "Bytes per second of one of several targets, from the counters of its drive",
        {"path": None, "direction": DIRECTIONS},
    ),
)

METRICS: Final[tuple[Metric, ...]] = (
    *(metric for prefix in PREFIXES for metric in _rates(prefix)),
    *(metric for prefix in PREFIXES for metric in _latencies(prefix)),
    *_cost(),
    Metric("in_flight", "1", "neither", "Average number of requests in flight: IOPS x latency", comparable=False),
    Metric(
        "queue_depth",
        "1",
        "neither",
        "Maximum number of requests in flight, all jobs combined",
        coords=dict.fromkeys(CONTEXT),
        comparable=False,
    ),
    Metric("coverage", "1", "neither", "Bytes counted by the drive relative to those counted by fio", comparable=False),
    *PART_METRICS,
    *_course(),
    *DEVICE_METRICS,
)

FLAGS: Final = {
    "invalid": "the values do not correspond to the settings; the other flags give the reason",
    "littles-law": "IOPS x latency does not match the queue depth: the depth was not held, or the figures disagree",
    "little-unchecked": "the queue depth is intentionally not held (rate limit, pauses, latency_target, fsync or "
    "verify), so IOPS x latency cannot be checked",
    "depth-not-honoured": "the engine keeps only one request in flight per job; iodepth had no effect",
    "depth-not-reached": "fewer than 90 % of the requests were issued at the full queue depth",
    "submission-blocks": "jobs spend most of their time submitting requests, so the drive receives one request "
    "at a time",
    "short-runtime": "fio measured less than 95 % of duration",
    "short-ios": "some requests were incomplete or dropped",
    "not-from-device": "the drive transferred fewer bytes than fio counts: a sparse or unwritten file, or a cache",
    "target-shrank": "the target became smaller during the run: requests beyond its end had no effect",
    "coverage-buffered": "unknown whether requests reached the drive: they go through the page cache",
    "coverage-no-drive": "unknown whether requests reached the drive: no drive below the target has counters",
    "coverage-clock": "unknown whether requests reached the drive: the run is too short, or the clock was set",
    "coverage-foreign": "the drive transferred more bytes than fio counts: other processes used it, or the file "
    "system added writes",
    "memory-filesystem": "the temporary file is in memory (tmpfs)",
    "host-limited": "a CPU was more than 90 % busy: the host may be the limit, not the drive",
    "throttled": "the drive exceeded its warning temperature or was thermally throttled during the run",
    "rate-changed": "the rate changed to another level during the run, so the mean is misleading",
    "few-cpu-samples": "fewer than 3 samples of mpstat are within the run",
    "not-enough-ios": "the highest percentiles are omitted: fewer than 10 requests are above them",
}
