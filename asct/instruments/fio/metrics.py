"""The metrics and flags of all fio benchmarks, separate from the code that computes them, because a plan needs only
their names.

Most metrics have no coordinates, because the point's settings identify each value. If a job file has several stages,
their only coordinate is the stage. The coordinates of `queue_depth` are the settings that tables and figures need even
if they are not swept, and the engine that `auto` selected.
"""

from __future__ import annotations

from typing import Final

from asct.instruments.fio.raid import FLAGS as RAID_FLAGS
from asct.sdk.metric import Coords, Metric

DIRECTIONS: Final = ("read", "write", "trim")
KINDS: Final = ("usr", "sys", "iowait", "irq", "soft")
IDENTITY: Final = (
    "model", "serial", "firmware", "format", "write_cache", "scheduler", "numa_node", "link", "transport",
)  # fmt: skip
"""Coordinates of `device_size`."""
BOUND_METRIC: Final = "latency_bound"
PERCENTILES: Final = {
    "p50": 50.0, "p90": 90.0, "p95": 95.0, "p99": 99.0, "p99_9": 99.9, "p99_99": 99.99,
}  # fmt: skip
BODY: Final = {"p1": 1.0, "p5": 5.0, "p10": 10.0, "p25": 25.0, "p75": 75.0}
"""Additional percentiles of the completion latency, for the distribution figure."""
LATENCIES: Final = {
    "slat": ("submission latency", "time until the Linux kernel accepts the request"),
    "clat": ("completion latency", "time from submission to completion"),
    "lat": ("total latency", "submission plus completion"),
}
"""The name and meaning of each latency type."""
STAGE: Final = "stage"
"""Coordinate that identifies the stage of a value if a job file has several stages."""
CONTEXT: Final = ("rw", "rwmixread", "block_size", "iodepth", "numjobs", "engine")
"""Coordinates of `queue_depth`."""
_MOMENTS: Final = {"mean": "Mean", "min": "Minimum", "max": "Maximum", "stddev": "Standard deviation of the"}
_CPU: Final[dict[str, str]] = {
    "usr": "in user space", "sys": "in the Linux kernel",
    "iowait": "idle with I/O requests pending (not counted as load)",
    "irq": "in hardware interrupts", "soft": "in software interrupts",
}  # fmt: skip
PREFIXES: Final = {"": "", "read_": " of reads", "write_": " of writes", "trim_": " of trims"}
_BYTES: Final = {"": "Bytes", "read_": "Bytes read", "write_": "Bytes written", "trim_": "Bytes trimmed"}
_REQUESTS: Final = {"": "Requests", "read_": "Read requests", "write_": "Write requests", "trim_": "Trim requests"}


def percentiles_of(kind: str) -> dict[str, float]:
    """Return the percentiles for one latency type, in percent, keyed by metric name suffix."""
    return BODY | PERCENTILES if kind == "clat" else PERCENTILES


def _rates(prefix: str) -> tuple[Metric, ...]:
    side = PREFIXES[prefix]
    return (
        Metric(f"{prefix}bandwidth", "B/s", "higher", f"{_BYTES[prefix]} per second, all jobs combined"),
        Metric(f"{prefix}iops", "ops/s", "higher", f"{_REQUESTS[prefix]} completed per second, all jobs combined"),
        Metric(f"{prefix}latency", "s", "lower", f"Mean completion latency{side}, the same as `{prefix}clat_mean`"),
        Metric.info(f"{prefix}ios", "1", f"Number of {_REQUESTS[prefix].lower()} completed"),
    )


def _latencies(prefix: str) -> tuple[Metric, ...]:
    side = PREFIXES[prefix]
    texts = {
        f"{prefix}{kind}_{name}": f"{text} {latency}{side} ({meaning})"
        for kind, (latency, meaning) in LATENCIES.items()
        for name, text in _MOMENTS.items()
    } | {
        f"{prefix}{kind}_{name}": f"{percentile_text(percent)} of the {latency}{side} ({meaning})"
        for kind, (latency, meaning) in LATENCIES.items()
        for name, percent in percentiles_of(kind).items()
    }
    return tuple(Metric(name, "s", "lower", text) for name, text in texts.items())


def percentile_text(percent: float) -> str:
    """Return the percentile name: `1st percentile`, `99.9th percentile`."""
    return f"{percent:g}{'st' if percent == 1 else 'th'} percentile"


_UNITS: Final = "over the drive's lifetime, in units of 512,000 bytes"
_OCTAVE: Final = "a completion latency between `latency` and twice that"
_SECOND: Final[Coords] = {"second": None}
_DEVICE: Final[Coords] = {"path": None, "when": ("before", "after")}
DEVICE_METRICS: Final = (
    Metric.info("device_size", "B", "Size and type of a target", {"path": None, **dict.fromkeys(IDENTITY)}),
    Metric.info(
        "device_sampled", "B", "Bytes that were read to make sure that a device contains no data, if that was not all "
        "of it", {"path": None},
    ),
    Metric("device_temperature", "degC", "lower", "Drive temperature", _DEVICE, False),
    Metric.info(
        "device_percentage_used", "%", "Share of the drive's rated life used, as reported by the drive", _DEVICE
    ),
    Metric.info("device_available_spare", "%", "Remaining spare blocks, relative to the initial number", _DEVICE),
    Metric.info("device_media_errors", "1", "Uncorrectable media errors", _DEVICE),
    Metric.info("device_data_units_written", "1", f"Data written by the host {_UNITS}", _DEVICE),
)  # fmt: skip
"""Metrics of a target. `asct.instruments.fio.devices` computes their values."""

_SECOND_OCTAVE: Final[Coords] = _SECOND | {"latency": None}
_SECTION: Final[Coords] = {"section": None, "direction": DIRECTIONS}
_TARGET: Final[Coords] = {"path": None, "direction": DIRECTIONS}
_BY_STAGE: Final[tuple[Metric, ...]] = (
    *(metric for prefix in PREFIXES for metric in _rates(prefix)),
    *(metric for prefix in PREFIXES for metric in _latencies(prefix)),
    *(
        Metric(
            f"cpu_{kind}", "%", "lower", f"Share of time spent {_CPU[kind]} by all online CPUs, measured with mpstat"
        )
        for kind in KINDS
    ),
    *(
        Metric(
            f"used_cpu_{kind}",
            "%",
            "lower",
            f"Share of time spent {_CPU[kind]} by the CPUs that the jobs use, measured with mpstat",
        )
        for kind in KINDS
    ),
    Metric("cpu_time_per_io", "s", "lower", "CPU time per request, used by fio and its kernel threads"),
    Metric("host_cpu_time_per_io", "s", "lower", "CPU time per request, across the whole host"),
    Metric("iops_per_core", "ops/s", "higher", "Requests per second of CPU time used by fio and its kernel threads"),
    Metric.info("in_flight", "1", "Average number of requests in flight: IOPS x latency"),
    Metric.info("queue_depth", "1", "Maximum number of requests in flight, all jobs combined", dict.fromkeys(CONTEXT)),
    Metric.info("coverage", "1", "Bytes that the drive counted, relative to those that fio counted"),
    Metric("section_iops", "ops/s", "higher", "Requests completed per second by one section of the job file", _SECTION),
    Metric(
        "section_bandwidth", "B/s", "higher", "Bytes per second transferred by one section of the job file", _SECTION
    ),
    Metric("section_latency", "s", "lower", "Mean completion latency in one section of the job file", _SECTION),
    Metric(
        "section_clat_p99",
        "s",
        "lower",
        "99th percentile of the completion latency in one section of the job file",
        _SECTION,
    ),
    Metric(
        "target_bandwidth",
        "B/s",
        "higher",
        "Bytes per second transferred by one of several targets, as counted by its drive",
        _TARGET,
    ),
    Metric("second_iops", "ops/s", "higher", "Requests completed per second within the interval", _SECOND, False),
    Metric("second_bandwidth", "B/s", "higher", "Bytes per second transferred within the interval", _SECOND, False),
    Metric("second_clat_p50", "s", "lower", "Median completion latency within the interval", _SECOND, False),
    Metric(
        "second_clat_p99", "s", "lower", "99th percentile of the completion latency within the interval", _SECOND, False
    ),
    Metric.info("second_share", "%", f"Share of the interval's requests with {_OCTAVE}", _SECOND_OCTAVE),
)
METRICS: Final[tuple[Metric, ...]] = (
    *(metric._replace(coords={**metric.coords, STAGE: None}) for metric in _BY_STAGE), *DEVICE_METRICS,
)  # fmt: skip

FLAGS: Final = RAID_FLAGS | {
    "invalid": "the values do not correspond to the settings; the other flags give the reason",
    "noisy": "the values would differ in another run; the other flags give the reason",
    "littles-law": "IOPS x latency does not match the queue depth: "
    "the depth was not maintained, or the values contradict each other",
    "little-unchecked": "the queue depth is intentionally not maintained (rate limit, pauses, `latency_target`, "
    "`fsync` or `verify`), so IOPS x latency cannot be checked",
    "depth-not-honoured": "the engine keeps only one request in flight per job; `iodepth` had no effect",
    "depth-not-reached": "fewer than 90 % of the requests were issued at the full queue depth",
    "depth-rounded": "fio before 3.39 rounds `iodepth` up to a power of two for io_uring, so more requests are in "
    "flight; use powers of two, set `engine` to libaio (with `direct`), or install fio 3.39 or newer",
    "submission-blocks": "jobs spend most of their time submitting requests, so the drive receives one request "
    "at a time",
    "short-runtime": "fio measured for less than 95 % of `duration`",
    "brief-run": "fio measured for less than 0.2 s, so the start and the end of the run carry too much weight",
    "short-ios": "some requests were incomplete or dropped",
    "not-from-device": "the drive transferred fewer bytes than fio counts: the file is sparse or unwritten, or a "
    "cache served the requests",
    "target-shrank": "the target became smaller during the run: requests beyond its end had no effect",
    "coverage-buffered": "it is unknown whether requests reached the drive, because they go through the page cache",
    "coverage-no-drive": "it is unknown whether requests reached the drive, because no drive below the target "
    "has counters",
    "coverage-clock": "it is unknown whether requests reached the drive, because the run is too short or the "
    "clock was set",
    "coverage-foreign": "the drive transferred more bytes than fio counts: other processes used it, or the file "
    "system added writes",
    "memory-filesystem": "the temporary file is in memory (tmpfs)",
    "host-limited": "the jobs or the Linux kernel used more than 90 % of a CPU (80 % if jobs share CPUs): the host, "
    "not the drive, may limit the rate",
    "foreign-cpu": "a CPU used by the jobs was more than 90 % busy (80 % if jobs share CPUs) while other programs "
    "used more than half a CPU",
    "throttled": "the drive exceeded its warning temperature or was thermally throttled during the run",
    "rate-changed": "the rate changed to a different level during the run, so the mean is misleading",
    "imported": "the value comes from an imported fio result: asct checked neither the target nor the host",
    "no-progress": "fio wrote no reports during the run (`--status-interval`), so changes during the run are unknown",
    "few-cpu-samples": "fewer than 3 mpstat samples are within the run",
    "not-enough-ios": "the highest percentiles are omitted: fewer than 10 requests are above them",
}
