"""Parse the json+ output of fio (3.30 or newer), without validating the measured values.

With `--status-interval`, the output contains several documents, each with the totals so far; the last one is the
result. fio prints messages before and between the documents (fio issue 731), and leaves an incomplete document if it is
killed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Final, NamedTuple

from pydantic_core import from_json

from asct.instruments.fio.histogram import Latency, Quantiles, added
from asct.instruments.fio.metrics import DIRECTIONS
from asct.values.strict_json import DECODER

_SHORTEST_S: Final = 0.02
"""Shortest interval between two reports. fio may print its last report right after the previous one."""
_COUNTER_END: Final = 1 << 64
"""All counts are below this number, because fio's counters are unsigned 64-bit integers."""
_DAMAGES: Final = (KeyError, TypeError, AttributeError, ValueError, OverflowError)


@dataclass(frozen=True, slots=True)
class Direction:
    """The reads, writes or trims of one job. fio computes its own rates from `runtime_ms`."""

    ios: int
    io_bytes: int
    runtime_ms: int
    faulty_ios: int
    """Number of requests that were incomplete or dropped."""
    slat: Latency
    clat: Latency
    lat: Latency


@dataclass(frozen=True, slots=True)
class JobResult:
    """The result of one fio job. `error` is an errno value, or 0. `directions` contains only directions that had
    requests."""

    name: str
    error: int
    runtime_ms: int
    directions: Mapping[str, Direction]
    depth_shares: Mapping[str, float]
    """Percentage of submissions, keyed by the number of requests in flight: `1`, `2`, `4` ... `>=64`."""
    cpu_s: float
    """CPU time of the process, in seconds, excluding worker threads of the engine and of the Linux kernel."""
    user_s: float = 0.0
    """The part of `cpu_s` spent in user space."""


@dataclass(frozen=True, slots=True)
class FioStatus:
    """One of the documents that fio writes during a run, as parsed JSON. `stamp_ms` is the wall-clock time in
    milliseconds."""

    stamp_ms: float
    jobs: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Document:
    """The output of one fio run. `notes` contains the lines outside the JSON documents.

    `reports` contains the documents written after the ramp, in order; the last one is the result.
    """

    version: str
    ended_s: float
    jobs: Sequence[JobResult]
    reports: Sequence[FioStatus]
    notes: tuple[str, ...]


def read_document(text: str) -> Document:
    """Parse fio's output. Raises ValueError unless it consists of complete json+ documents and messages."""
    parts, notes = parts_of(text)
    if not parts:
        raise ValueError("fio wrote no JSON output")
    return document_of([part.content for part in parts], notes)


def document_of(contents: Sequence[Any], notes: tuple[str, ...] = ()) -> Document:
    """Return the document for a run, combined from all JSON documents. Raises ValueError for any other format."""
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
    """Return the lines before the first document, which contain fio's messages if it fails."""
    start = 0 if text.startswith("{") else text.find("\n{") + 1 or len(text)
    return _lines(text[:start])


class JsonPart(NamedTuple):
    """A JSON document in fio's output, at the indices `start` to `end` of the text."""

    content: Any
    start: int
    end: int


def parts_of(text: str) -> tuple[list[JsonPart], tuple[str, ...]]:
    """Return all documents, and the lines outside them. Raises ValueError for an incomplete document.

    A document begins with `{` at the start of a line.
    """
    parts: list[JsonPart] = []
    notes: list[str] = []
    position = 0
    while True:
        start = position if text.startswith("{", position) else text.find("\n{", position) + 1
        if start == 0 and not text.startswith("{", position):
            notes += _lines(text[position:])
            return parts, tuple(notes)
        notes += _lines(text[position:start])
        content, position = _content(text, start)
        parts.append(JsonPart(content, start, position))


def _content(text: str, start: int) -> tuple[Any, int]:
    """Return the document that begins at `start`, and the index of its end. fio ends a document with a `}` at the start
    of a line, so exactly this text can be passed to a fast parser. A slower decoder handles any other layout and
    locates errors.
    """
    end = text.find("\n}", start) + 2
    if end > 1:
        with suppress(ValueError):
            return from_json(text[start:end], allow_inf_nan=False), end
    try:
        return DECODER.raw_decode(text, start)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"fio's JSON output is truncated or damaged: {error}") from error


def _lines(text: str) -> tuple[str, ...]:
    return tuple(line for line in text.splitlines() if line.strip())


def _report(content: Any) -> FioStatus:
    stamp = content.get("timestamp_ms")
    jobs = content["jobs"]
    if not isinstance(jobs, list):
        raise TypeError("`jobs` is not a list")
    return FioStatus(_number(stamp) if stamp is not None else _number(content["timestamp"]) * 1000.0, jobs)


def _measured(reports: Sequence[FioStatus]) -> tuple[FioStatus, ...]:
    """Return the reports after the ramp. At the end of the ramp, fio resets its counters and begins to record
    latencies."""
    measured = [reports[-1]]
    for report in reversed(reports[:-1]):
        later = measured[-1]
        if len(report.jobs) != len(later.jobs):
            break
        pairs = zip(report.jobs, later.jobs, strict=True)
        if any(in_ramp(job) or job["job_runtime"] > after["job_runtime"] for job, after in pairs):
            break
        measured.append(report)
    return tuple(reversed(measured))


def in_ramp(job: Mapping[str, Any]) -> bool:
    """Return whether fio has counted requests for a job but has not yet recorded their latencies."""
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
        user_s=_number(job["usr_cpu"]) / 100.0 * runtime_ms / 1000.0,
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
        fio_percentiles=_percentiles(part),
    )


def _percentiles(part: Mapping[str, Any]) -> dict[float, float]:
    """Return the percentiles that fio computed, as a mapping from percent to ns. The result is empty for json+ output,
    because asct computes the percentiles from the buckets instead."""
    found = {} if "bins" in part else part.get("percentile", {})
    return {float(percent): _number(value) for percent, value in found.items()}


def bins_of(part: Mapping[str, Any]) -> dict[int, int]:
    """Return the count of each bucket, keyed by its midpoint in ns. Raises TypeError or ValueError for invalid
    buckets."""
    bins = buckets(part)
    return dict(zip(map(int, bins), bins.values(), strict=True))


def buckets(part: Mapping[str, Any]) -> Mapping[str, int]:
    """Return the count of each bucket, keyed by its midpoint as text. Raises TypeError for a bucket without a count."""
    bins: Mapping[str, int] = part.get("bins", {})
    counts = bins.values()
    if not set(map(type, counts)) <= {int} or min(counts, default=0) < 0 or max(counts, default=0) >= _COUNTER_END:
        raise TypeError("a histogram bucket does not contain a count")
    return bins


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
        raise TypeError(f"{value!r} is not a non-negative number")
    return float(value)


def count(value: Any) -> int:
    """Return `value` if it is an integer that fits into a fio counter; otherwise raise TypeError."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < _COUNTER_END:
        raise TypeError(f"{str(value)[:40]} is not a count")
    return value


# Each document contains the counts and histograms since the start. The difference between two consecutive documents
# gives the requests, bytes and latencies between them.


@dataclass(frozen=True)
class DirectionInterval:
    """The requests in one direction during an interval. `bins` maps each completion latency in ns to the number of
    requests with that latency."""

    ios: int
    io_bytes: int
    bins: Mapping[int, int]

    @cached_property
    def quantiles(self) -> Quantiles[int]:
        """The quantiles of the completion latencies, in nanoseconds."""
        return Quantiles(self.bins)


@dataclass(frozen=True, slots=True)
class RunInterval:
    """An interval between two fio reports. `start_s` is relative to the start of the measured time.

    `sides` has the key "" for all requests, and one key for each of `read`, `write` and `trim` that had requests in the
    run.
    """

    start_s: float
    seconds: float
    sides: Mapping[str, DirectionInterval]

    @property
    def ios(self) -> int:
        """The number of requests in all directions together."""
        return self.sides[""].ios

    @property
    def io_bytes(self) -> int:
        """The number of bytes in all directions together."""
        return self.sides[""].io_bytes


_Totals = tuple[int, int, Mapping[str, int]]
"""The requests, bytes and completion latencies in one direction so far. The midpoints of latency buckets remain text
until they are needed."""


def seconds_of(reports: Sequence[FioStatus]) -> tuple[RunInterval, ...]:
    """Return the intervals between reports. An interval shorter than 20 ms, usually the last one, is merged into
    the previous one.

    Times are fio's own run times, which do not depend on the wall clock. Raises TypeError, KeyError or ValueError for
    an invalid report, and ValueError if counts decrease.
    """
    totals: list[tuple[float, Mapping[str, _Totals]]] = [(0.0, dict.fromkeys(DIRECTIONS, (0, 0, {})))]
    for report in reports:
        # the time of the longest job, as in fio's own group report
        time_s = max((count(job["job_runtime"]) for job in report.jobs), default=0) / 1000.0
        total = time_s, {name: _totals([job[name] for job in report.jobs]) for name in DIRECTIONS}
        if time_s - totals[-1][0] >= _SHORTEST_S:
            totals.append(total)
        elif len(totals) > 1:
            totals[-1] = total
    if len(totals) > 3 and totals[-1][0] - totals[-2][0] < (totals[-2][0] - totals[-3][0]) / 2.0:
        del totals[-2]  # only requests in flight completed after this report, so the rate would seem to drop
    used = [name for name in DIRECTIONS if totals[-1][1][name][0]]
    found = []
    for (start_s, before), (end_s, after) in pairwise(totals):
        sides = {name: _minus(after[name], before[name]) for name in used}
        found.append(RunInterval(start_s, end_s - start_s, {"": _plus(list(sides.values())), **sides}))
    return tuple(found)


def merged_seconds(seconds: Sequence[RunInterval], most: int) -> tuple[RunInterval, ...]:
    """Merge consecutive intervals in groups of equal size so that at most `most` remain."""
    share = -(-len(seconds) // most)
    return tuple(_joined(seconds[start : start + share]) for start in range(0, len(seconds), share)) if share else ()


def _totals(parts: Sequence[Mapping[str, Any]]) -> _Totals:
    used = [part for part in parts if part["total_ios"]]
    ios, io_bytes = (sum(count(part[name]) for part in used) for name in ("total_ios", "io_bytes"))
    return ios, io_bytes, added([buckets(part["clat_ns"]) for part in used])


def _minus(after: _Totals, before: _Totals) -> DirectionInterval:
    known = before[2]
    bins = {int(value): more for value, number in after[2].items() if (more := number - known.get(value, 0))}
    ios, io_bytes = after[0] - before[0], after[1] - before[1]
    if ios < 0 or io_bytes < 0 or min(bins.values(), default=0) < 0:
        raise ValueError("a later document has lower counters than an earlier one")
    return DirectionInterval(ios, io_bytes, bins)


def _plus(parts: Sequence[DirectionInterval]) -> DirectionInterval:
    if len(parts) == 1:
        return parts[0]
    bins = added([part.bins for part in parts])
    return DirectionInterval(sum(part.ios for part in parts), sum(part.io_bytes for part in parts), bins)


def _joined(seconds: Sequence[RunInterval]) -> RunInterval:
    sides = {name: _plus([one.sides[name] for one in seconds]) for name in seconds[0].sides}
    return RunInterval(seconds[0].start_s, sum(one.seconds for one in seconds), sides)
