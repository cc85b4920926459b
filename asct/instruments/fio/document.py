"""Reads the json+ output of fio (3.30 or newer) into typed values, without judging them.

With `--status-interval` the file contains several documents, each with the totals so far; the last one is the result.
fio writes notes before and between them (fio issue 731), and an unfinished document when it is killed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, NoReturn

from pydantic_core import from_json

from asct.instruments.fio.histogram import Latency, added
from asct.instruments.fio.metrics import DIRECTIONS

_DAMAGES: Final = (KeyError, TypeError, AttributeError, ValueError, OverflowError)


@dataclass(frozen=True, slots=True)
class Direction:
    """The reads, writes or trims of one job. fio divides its rates by `runtime_ms`."""

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
    """One process of fio. `error` is an errno, 0 for none. `directions` has those that did anything."""

    name: str
    error: int
    runtime_ms: int
    directions: Mapping[str, Direction]
    depth_shares: Mapping[str, float]
    """Percent of the submissions by number of requests in flight: `1`, `2`, `4` ... `>=64`."""
    cpu_s: float
    """CPU time of this process: without worker threads of the engine and the kernel."""


@dataclass(frozen=True, slots=True)
class FioStatus:
    """One of the documents that fio writes during a run, unchanged. `stamp_ms` is wall-clock time."""

    stamp_ms: float
    jobs: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Document:
    """The output of one run of fio. `notes` are the lines outside the documents.

    `reports` are the documents of the measured time in order, without those of the ramp; the last one is the result.
    """

    version: str
    ended_s: float
    jobs: Sequence[JobResult]
    reports: Sequence[FioStatus]
    notes: tuple[str, ...]


def read_document(text: str) -> Document:
    """Raises ValueError for anything but whole json+ documents of fio, notes aside."""
    contents, notes = _contents(text)
    if not contents:
        raise ValueError("fio wrote no JSON output")
    try:
        reports = [_report(content) for content in contents]
        last = contents[-1]
        return Document(
            version=str(last["fio version"]),
            ended_s=reports[-1].stamp_ms / 1000.0,
            jobs=tuple(_job(job) for job in last["jobs"]),
            reports=_measured(reports),
            notes=notes,
        )
    except _DAMAGES as error:
        raise ValueError(f"the JSON document is not in fio's json+ format: {error!r}") from None


def notes_of(text: str) -> tuple[str, ...]:
    """The lines before the first document: the messages of fio when it fails."""
    start = 0 if text.startswith("{") else text.find("\n{") + 1 or len(text)
    return _lines(text[:start])


def _contents(text: str) -> tuple[list[Any], tuple[str, ...]]:
    """Every document, and the lines beside them. A document begins with `{` at the begin of a line."""
    decoder = json.JSONDecoder(parse_constant=_no_constant)
    contents: list[Any] = []
    notes: list[str] = []
    position = 0
    while True:
        start = position if text.startswith("{", position) else text.find("\n{", position) + 1
        if start == 0 and not text.startswith("{", position):
            notes += _lines(text[position:])
            return contents, tuple(notes)
        notes += _lines(text[position:start])
        content, position = _content(decoder, text, start)
        contents.append(content)


def _content(decoder: json.JSONDecoder, text: str, start: int) -> tuple[Any, int]:
    """The document at `start`, and where it ends. fio's own form ends with the next `}` at the begin of a line, which
    spares the slower decoder; that one finds the end of any other, and the place of a mistake."""
    end = text.find("\n}", start) + 2
    if end > 1:
        with suppress(ValueError):
            return from_json(text[start:end], allow_inf_nan=False), end
    try:
        return decoder.raw_decode(text, start)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the JSON output of fio is truncated or damaged: {error}") from None


def _lines(text: str) -> tuple[str, ...]:
    return tuple(line for line in text.splitlines() if line.strip())


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")


def _report(content: Any) -> FioStatus:
    stamp = content.get("timestamp_ms")
    jobs = content["jobs"]
    if not isinstance(jobs, list):
        raise TypeError("`jobs` is not a list")
    return FioStatus(_number(stamp) if stamp is not None else _number(content["timestamp"]) * 1000.0, jobs)


def _measured(reports: Sequence[FioStatus]) -> tuple[FioStatus, ...]:
    """The reports after the ramp: fio sets its counters back when it ends, and keeps no latencies until then."""
    kept = [reports[-1]]
    for report in reversed(reports[:-1]):
        later = kept[-1]
        if len(report.jobs) != len(later.jobs):
            break
        pairs = zip(report.jobs, later.jobs, strict=True)
        if any(_in_ramp(job) or job["job_runtime"] > after["job_runtime"] for job, after in pairs):
            break
        kept.append(report)
    return tuple(reversed(kept))


def _in_ramp(job: Mapping[str, Any]) -> bool:
    parts = [job[name] for name in DIRECTIONS]
    return any(part["total_ios"] for part in parts) and not any(part["lat_ns"]["N"] for part in parts)


def _job(job: Any) -> JobResult:
    runtime_ms = count(job["job_runtime"])
    return JobResult(
        name=str(job["jobname"]),
        error=count(job["error"]),
        runtime_ms=runtime_ms,
        directions={name: _direction(job[name]) for name in DIRECTIONS if count(job[name]["total_ios"])},
        depth_shares={str(level): _number(share) for level, share in job["iodepth_level"].items()},
        cpu_s=(_number(job["usr_cpu"]) + _number(job["sys_cpu"])) / 100.0 * runtime_ms / 1000.0,
    )


def _direction(part: Any) -> Direction:
    return Direction(
        ios=count(part["total_ios"]),
        io_bytes=count(part["io_bytes"]),
        runtime_ms=count(part["runtime"]),
        faulty_ios=count(part.get("short_ios", 0)) + count(part.get("drop_ios", 0)),
        slat=_latency(part["slat_ns"]),
        clat=_latency(part["clat_ns"]),
        lat=_latency(part["lat_ns"]),
    )


def _latency(part: Any) -> Latency:
    return Latency(
        n=count(part["N"]),
        min_ns=_number(part["min"]),
        max_ns=_number(part["max"]),
        mean_ns=_number(part["mean"]),
        stddev_ns=_number(part["stddev"]),
        bins=bins_of(part),
    )


def bins_of(part: Mapping[str, Any]) -> dict[int, int]:
    """Midpoint of each bucket in ns to its count. Raises TypeError or ValueError for anything else."""
    bins = buckets(part)
    return dict(zip(map(int, bins), bins.values(), strict=True))


def buckets(part: Mapping[str, Any]) -> Mapping[str, int]:
    """The same with the midpoints as fio writes them. Raises TypeError for a bucket without a count."""
    bins: Mapping[str, int] = part.get("bins", {})
    counts = bins.values()
    if not set(map(type, counts)) <= {int} or min(counts, default=0) < 0:
        raise TypeError("a histogram bucket does not contain a count")
    return bins


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
        raise TypeError(f"{value!r} is not a non-negative number")
    return float(value)


def count(value: Any) -> int:
    """A whole number of 0 or more; raises TypeError for anything else."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise TypeError(f"{value!r} is not a count")
    return value


# Each document has the counts and the histograms of all that was done until then, so that of two neighbours the
# difference is what happened between them: requests, bytes and every latency, not a mean of means.


@dataclass(frozen=True, slots=True)
class DirectionInterval:
    """The requests of one direction within an interval; `bins` are their completion latencies (ns to count)."""

    ios: int
    io_bytes: int
    bins: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class RunInterval:
    """An interval of the run, `start_s` after the measured time began: a second, less or more as fio was told.

    `sides` has "" (all requests) and those of `read`, `write`, `trim` that did anything in the whole run.
    """

    start_s: float
    seconds: float
    sides: Mapping[str, DirectionInterval]

    @property
    def ios(self) -> int:
        """Requests of all sides."""
        return self.sides[""].ios

    @property
    def io_bytes(self) -> int:
        """Bytes of all sides."""
        return self.sides[""].io_bytes


def seconds_of(reports: Sequence[FioStatus], shortest_s: float = 0.02) -> tuple[RunInterval, ...]:
    """One interval between neighbouring reports; those shorter than `shortest_s` (the last one) join their neighbour.

    Time is fio's own count of run time, which no clock that is set changes. Raises TypeError, KeyError or ValueError
    for a report that is not one of fio's, ValueError when counts fall.
    """
    totals = [_total(report) for report in reports]
    kept: list[_Total] = [_Total(0.0, {})]
    for total in totals:
        if total.time_s - kept[-1].time_s < shortest_s:
            if len(kept) > 1:
                kept[-1] = total
            continue
        kept.append(total)
    if len(kept) > 3 and kept[-1].time_s - kept[-2].time_s < (kept[-2].time_s - kept[-3].time_s) / 2.0:
        del kept[-2]  # what was in flight at the end: a rate of that moment alone would look like a drop
    sides = [name for name in DIRECTIONS if kept[-1].parts.get(name) and kept[-1].parts[name].ios]
    return tuple(_difference(before, after, sides) for before, after in pairwise(kept))


def merged_seconds(seconds: Sequence[RunInterval], most: int) -> tuple[RunInterval, ...]:
    """At most `most` intervals: neighbours joined, as many into each as into the others."""
    share = -(-len(seconds) // most)
    return tuple(_joined(seconds[start : start + share]) for start in range(0, len(seconds), share)) if share else ()


@dataclass(frozen=True, slots=True)
class _Total:
    """All that was done until `time_s`."""

    time_s: float
    parts: Mapping[str, _DirectionTotal]


@dataclass(frozen=True, slots=True)
class _DirectionTotal:
    """The requests of one direction until then; the midpoints of `bins` are read when they are needed."""

    ios: int
    io_bytes: int
    bins: Mapping[str, int]


def _total(report: FioStatus) -> _Total:
    """The time is that of the longest job, as in fio's own group report."""
    parts = {name: _sum([job[name] for job in report.jobs]) for name in DIRECTIONS}
    return _Total(max((count(job["job_runtime"]) for job in report.jobs), default=0) / 1000.0, parts)


def _sum(parts: Sequence[Mapping[str, Any]]) -> _DirectionTotal:
    used = [part for part in parts if part["total_ios"]]
    bins = added([buckets(part["clat_ns"]) for part in used])
    return _DirectionTotal(
        sum(count(part["total_ios"]) for part in used), sum(count(part["io_bytes"]) for part in used), bins
    )


_NOTHING = _DirectionTotal(0, 0, {})


def _difference(before: _Total, after: _Total, sides: Sequence[str]) -> RunInterval:
    parts = {name: _minus(after.parts.get(name, _NOTHING), before.parts.get(name, _NOTHING)) for name in sides}
    return RunInterval(before.time_s, after.time_s - before.time_s, {"": _plus(list(parts.values())), **parts})


def _minus(after: _DirectionTotal, before: _DirectionTotal) -> DirectionInterval:
    known = before.bins
    bins = {int(value): more for value, number in after.bins.items() if (more := number - known.get(value, 0))}
    ios, io_bytes = after.ios - before.ios, after.io_bytes - before.io_bytes
    if ios < 0 or io_bytes < 0 or min(bins.values(), default=0) < 0:
        raise ValueError("the counters of a later document are lower than those of an earlier one")
    return DirectionInterval(ios, io_bytes, bins)


def _plus(parts: Sequence[DirectionInterval]) -> DirectionInterval:
    bins = added([part.bins for part in parts])
    return DirectionInterval(sum(part.ios for part in parts), sum(part.io_bytes for part in parts), bins)


def _joined(seconds: Sequence[RunInterval]) -> RunInterval:
    sides = {name: _plus([one.sides[name] for one in seconds]) for name in seconds[0].sides}
    return RunInterval(seconds[0].start_s, sum(one.seconds for one in seconds), sides)
