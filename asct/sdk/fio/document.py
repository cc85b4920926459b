"""Read fio's json+ document (fio 3.30 or newer) into typed values; nothing is judged here.

fio writes notes before the document into the same file (fio issue 731), and an unfinished one when it is killed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from asct.sdk.fio.histogram import Latency

DIRECTIONS: Final = ("read", "write")


@dataclass(frozen=True, slots=True)
class Direction:
    """The reads or writes of one job. `runtime_ms` is what fio divides its rates by."""

    ios: int
    io_bytes: int
    runtime_ms: int
    faulty_ios: int
    """Requests that came back short or were dropped."""
    slat: Latency
    clat: Latency
    lat: Latency


@dataclass(frozen=True, slots=True)
class JobResult:
    """One process of fio. `error` is an errno, 0 for none."""

    error: int
    runtime_ms: int
    directions: Mapping[str, Direction]


@dataclass(frozen=True, slots=True)
class Document:
    """What one run of fio reports. `ended_s` is the time of the report, since the epoch; `notes` are lines before it.

    `device_reads` counts reads of the block devices below (merged ones included), None where fio found no device.
    """

    version: str
    ended_s: float
    jobs: Sequence[JobResult]
    device_reads: int | None
    notes: tuple[str, ...]


def split_notes(text: str) -> tuple[tuple[str, ...], str]:
    """The lines before the document, and the document (empty if there is none)."""
    start = 0 if text.startswith("{") else text.find("\n{") + 1
    if start == 0 and not text.startswith("{"):
        return tuple(line for line in text.splitlines() if line.strip()), ""
    return tuple(line for line in text[:start].splitlines() if line.strip()), text[start:]


def read_document(text: str) -> Document:
    """Raises ValueError for anything but one whole json+ document of fio, notes before it aside."""
    notes, body = split_notes(text)
    if not body:
        raise ValueError("fio wrote no JSON document")
    try:
        content, _ = json.JSONDecoder(parse_constant=_no_constant).raw_decode(body)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the JSON document of fio is cut short or damaged: {error}") from None
    try:
        return _document(content, notes)
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
        raise ValueError(f"the JSON document is not one of fio's json+: {error!r}") from None


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")


def _document(content: Any, notes: tuple[str, ...]) -> Document:
    stamp = content.get("timestamp_ms")
    return Document(
        version=str(content["fio version"]),
        ended_s=_number(stamp) / 1000.0 if stamp is not None else _number(content["timestamp"]),
        jobs=tuple(_job(job) for job in content["jobs"]),
        device_reads=_device_reads(content.get("disk_util", [])),
        notes=notes,
    )


def _job(job: Any) -> JobResult:
    return JobResult(
        error=_count(job["error"]),
        runtime_ms=_count(job["job_runtime"]),
        directions={name: _direction(job[name]) for name in DIRECTIONS},
    )


def _direction(part: Any) -> Direction:
    return Direction(
        ios=_count(part["total_ios"]),
        io_bytes=_count(part["io_bytes"]),
        runtime_ms=_count(part["runtime"]),
        faulty_ios=_count(part.get("short_ios", 0)) + _count(part.get("drop_ios", 0)),
        slat=_latency(part["slat_ns"]),
        clat=_latency(part["clat_ns"]),
        lat=_latency(part["lat_ns"]),
    )


def _latency(part: Any) -> Latency:
    return Latency(
        n=_count(part["N"]),
        min_ns=_number(part["min"]),
        max_ns=_number(part["max"]),
        mean_ns=_number(part["mean"]),
        stddev_ns=_number(part["stddev"]),
        bins={int(value): _count(count) for value, count in part.get("bins", {}).items()},
    )


def _device_reads(disks: Any) -> int | None:
    """Reads of all devices; fio also lists the parts of md and dm devices, which only makes the sum larger."""
    if not disks:
        return None
    return sum(_count(disk.get("read_ios", 0)) + _count(disk.get("read_merges", 0)) for disk in disks)


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
        raise TypeError(f"{value!r} is not a number of 0 or more")
    return float(value)


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise TypeError(f"{value!r} is not a count")
    return value
