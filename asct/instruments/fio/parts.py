"""What parts of a point did: each section of a job file by fio's account, each of several targets by its drive's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from asct.instruments.fio.coverage import FIELDS
from asct.instruments.fio.document import DIRECTIONS
from asct.instruments.fio.histogram import NS, merged
from asct.instruments.fio.point import Point
from asct.instruments.fio.window import device_change
from asct.sdk.metric import Metric
from asct.sdk.record import Measurement, Scalar

_SECTION: Final[dict[str, tuple[str, ...] | None]] = {"section": None, "direction": DIRECTIONS}
PART_METRICS: Final = (
    Metric("section_iops", "ops/s", "higher", "Requests per second of one section of the job file", _SECTION),
    Metric("section_bandwidth", "B/s", "higher", "Bytes per second of one section of the job file", _SECTION),
    Metric("section_latency", "s", "lower", "Mean completion latency of one section of the job file", _SECTION),
    Metric("section_clat_p99", "s", "lower", "99 % of the section's requests took at most this", _SECTION),
    Metric(
        "target_bandwidth",
        "B/s",
        "higher",
        "Bytes per second of one of several targets, by the counters of its drive",
        {"path": None, "direction": DIRECTIONS},
    ),
)


def part_values(point: Point) -> Iterator[Measurement]:
    """Nothing for a point of one section and one target: that is the point itself."""
    if len({job.name for job in point.document.jobs}) > 1:
        yield from _sections(point)
    if len(point.watch.before) > 1:
        yield from _targets(point)


def _sections(point: Point) -> Iterator[Measurement]:
    for name in dict.fromkeys(job.name for job in point.document.jobs):
        jobs = [job for job in point.document.jobs if job.name == name]
        for direction in DIRECTIONS:
            parts = [job.directions[direction] for job in jobs if direction in job.directions]
            seconds = max((part.runtime_ms for part in parts), default=0) / 1000.0
            if not seconds:
                continue
            at: dict[str, Scalar] = {"section": name, "direction": direction}
            yield Measurement("section_iops", sum(part.ios for part in parts) / seconds, at, flags=point.flags)
            yield Measurement(
                "section_bandwidth", sum(part.io_bytes for part in parts) / seconds, at, flags=point.flags
            )
            latency = merged(part.clat for part in parts)
            if latency is None:
                continue
            yield Measurement("section_latency", latency.mean_ns * NS, at, flags=point.flags)
            p99 = latency.percentile_ns(99.0)
            if p99 is not None:
                yield Measurement("section_clat_p99", p99 * NS, at, flags=point.flags)


def _targets(point: Point) -> Iterator[Measurement]:
    window = point.window
    for index, device in enumerate(point.watch.before):
        for direction in (name for name in DIRECTIONS if name in point.sides):
            moved = device_change(point.watch.samples, FIELDS[direction], window.start_ns, window.end_ns, index)
            if moved is not None and window.seconds > 0:
                at: dict[str, Scalar] = {"path": device.path, "direction": direction}
                yield Measurement("target_bandwidth", moved / window.seconds, at, flags=point.flags)
