"""The course of one run: the differences of the documents that fio writes while it runs.

Each document has the counts and the histograms of all that was done until then, so that of two neighbours the
difference is what happened between them: requests, bytes and every latency, not a mean of means.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from asct.instruments.fio.document import DIRECTIONS, Report, buckets, count
from asct.instruments.fio.histogram import added


@dataclass(frozen=True, slots=True)
class Part:
    """The requests of one direction within an interval; `bins` are their completion latencies (ns to count)."""

    ios: int
    io_bytes: int
    bins: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class Second:
    """An interval of the run, `start_s` after the measured time began: a second, less or more as fio was told.

    `sides` has "" (all requests) and those of `read`, `write`, `trim` that did anything in the whole run.
    """

    start_s: float
    seconds: float
    sides: Mapping[str, Part]

    @property
    def ios(self) -> int:
        """Requests of all sides."""
        return self.sides[""].ios

    @property
    def io_bytes(self) -> int:
        """Bytes of all sides."""
        return self.sides[""].io_bytes


def seconds_of(reports: Sequence[Report], shortest_s: float = 0.02) -> tuple[Second, ...]:
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


def merged_seconds(seconds: Sequence[Second], most: int) -> tuple[Second, ...]:
    """At most `most` intervals: neighbours joined, as many into each as into the others."""
    share = -(-len(seconds) // most)
    return tuple(_joined(seconds[start : start + share]) for start in range(0, len(seconds), share)) if share else ()


@dataclass(frozen=True, slots=True)
class _Total:
    """All that was done until `time_s`."""

    time_s: float
    parts: Mapping[str, _Sum]


@dataclass(frozen=True, slots=True)
class _Sum:
    """The requests of one direction until then; the midpoints of `bins` are read when they are needed."""

    ios: int
    io_bytes: int
    bins: Mapping[str, int]


def _total(report: Report) -> _Total:
    """The time is that of the longest job, as in fio's own group report."""
    parts = {name: _sum([job[name] for job in report.jobs]) for name in DIRECTIONS}
    return _Total(max((count(job["job_runtime"]) for job in report.jobs), default=0) / 1000.0, parts)


def _sum(parts: Sequence[Mapping[str, Any]]) -> _Sum:
    used = [part for part in parts if part["total_ios"]]
    bins = added([buckets(part["clat_ns"]) for part in used])
    return _Sum(sum(count(part["total_ios"]) for part in used), sum(count(part["io_bytes"]) for part in used), bins)


_NOTHING = _Sum(0, 0, {})


def _difference(before: _Total, after: _Total, sides: Sequence[str]) -> Second:
    parts = {name: _minus(after.parts.get(name, _NOTHING), before.parts.get(name, _NOTHING)) for name in sides}
    return Second(before.time_s, after.time_s - before.time_s, {"": _plus(list(parts.values())), **parts})


def _minus(after: _Sum, before: _Sum) -> Part:
    known = before.bins
    bins = {int(value): more for value, number in after.bins.items() if (more := number - known.get(value, 0))}
    ios, io_bytes = after.ios - before.ios, after.io_bytes - before.io_bytes
    if ios < 0 or io_bytes < 0 or min(bins.values(), default=0) < 0:
        raise ValueError("the counts of a later document are below those of an earlier one")
    return Part(ios, io_bytes, bins)


def _plus(parts: Sequence[Part]) -> Part:
    bins = added([part.bins for part in parts])
    return Part(sum(part.ios for part in parts), sum(part.io_bytes for part in parts), bins)


def _joined(seconds: Sequence[Second]) -> Second:
    sides = {name: _plus([one.sides[name] for one in seconds]) for name in seconds[0].sides}
    return Second(seconds[0].start_s, sum(one.seconds for one in seconds), sides)
