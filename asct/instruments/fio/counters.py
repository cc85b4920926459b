"""Host counters during a fio run: mpstat rows, CPU time, and the bytes transferred by each drive.

mpstat (sysstat 12, JSON) labels each row with the second in which its interval ended: a row labeled 12:00:07 covers an
interval (1 s, or longer in long runs) that ended at some time during that second. The values are percentages of time.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from itertools import pairwise
from statistics import median
from typing import Any, Final

from asct.instruments.fio.document import Document, FioStatus, count
from asct.instruments.fio.metrics import KINDS
from asct.instruments.fio.params import FioParams
from asct.instruments.guard_output import DISCARD_BYTES, READ_BYTES, WRITE_BYTES, CounterSample, GuardOutput

ENOUGH_ROWS: Final = 3
_BUSY: Final = ("usr", "nice", "sys", "irq", "soft", "steal", "guest", "gnice")
"""Kinds of CPU time during which a CPU is busy, including time that the hypervisor gave to other guests."""
_USER: Final = ("usr", "nice")


@dataclass(frozen=True, slots=True)
class CpuLoad:
    """The load in the mpstat interval that ended in `second`, or the mean of `rows` intervals.

    `load` (for all online CPUs) and `used` (for the CPUs that the jobs use) map each kind of CPU time to a percentage.
    `busiest` is the busy time of the busiest CPU in use, as a percentage. `user_cpus` is the user-space CPU time of all
    programs on the host, as a number of CPUs, and `used_user_cpus` the part of it on the CPUs in use.
    """

    second: int
    load: Mapping[str, float]
    used: Mapping[str, float]
    busiest: float
    rows: int = 1
    user_cpus: float = 0.0
    used_user_cpus: float = 0.0


def read_rows(text: str, used: Sequence[int] = ()) -> Sequence[CpuLoad]:
    """Parse the output of `mpstat -o JSON -P ALL` with S_TIME_FORMAT=ISO and TZ=UTC0; times are in seconds since the
    epoch.

    `used` contains the CPUs in use; if it is empty, all CPUs are in use. Raises ValueError for any other output. mpstat
    writes a complete document only if it is stopped by SIGINT after at least one second.
    """
    try:
        host = json.loads(text)["sysstat"]["hosts"][0]
        day = date.fromisoformat(host["date"])
        rows: list[CpuLoad] = []
        for sample in host["statistics"]:
            if "cpu-load" not in sample:
                continue
            moment = datetime.combine(day, time.fromisoformat(sample["timestamp"]), UTC)
            if rows and moment.timestamp() < rows[-1].second:  # mpstat prints only its start date
                day, moment = day + timedelta(days=1), moment + timedelta(days=1)
            rows.append(_row(int(moment.timestamp()), sample["cpu-load"], {str(cpu) for cpu in used}))
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError, RecursionError) as error:
        raise ValueError(f"mpstat's JSON output is incomplete: {error!r}") from None
    return rows


def _row(second: int, cpus: Sequence[Mapping[str, Any]], used: set[str]) -> CpuLoad:
    together = next((cpu for cpu in cpus if cpu["cpu"] == "all"), {})
    single = [cpu for cpu in cpus if cpu["cpu"] != "all" and (not used or cpu["cpu"] in used)]
    return CpuLoad(
        second=second,
        load={kind: float(together[kind]) for kind in KINDS},
        used={kind: sum(float(cpu[kind]) for cpu in single) / len(single) for kind in KINDS} if single else {},
        busiest=max((sum(float(cpu.get(kind, 0.0)) for kind in _BUSY) for cpu in single), default=0.0),
        user_cpus=_user_cpus(cpu for cpu in cpus if cpu["cpu"] != "all"),
        used_user_cpus=_user_cpus(single),
    )


def _user_cpus(cpus: Iterable[Mapping[str, Any]]) -> float:
    return sum(float(cpu.get(kind, 0.0)) for cpu in cpus for kind in _USER) / 100.0


def load_within(rows: Sequence[CpuLoad], start_s: float, end_s: float, interval_s: int = 1) -> CpuLoad | None:
    """Return the mean of the rows inside the window. If no row is inside, return the row with the largest overlap, or
    None if no row overlaps the window.

    If at least ENOUGH_ROWS rows are known to be inside, only those are used. Otherwise, each row is assumed to end in
    the middle of its second.
    """
    chosen = [row for row in rows if row.second - interval_s >= start_s and row.second + 1 <= end_s]
    if len(chosen) < ENOUGH_ROWS:
        chosen = [row for row in rows if row.second + 0.5 - interval_s >= start_s and row.second + 0.5 <= end_s]
    if not chosen:
        nearest = max(rows, key=lambda row: _overlap(row, start_s, end_s, interval_s), default=None)
        if nearest is None or _overlap(nearest, start_s, end_s, interval_s) <= 0:
            return None
        chosen = [nearest]
    count = len(chosen)
    return CpuLoad(
        second=chosen[-1].second,
        load={kind: sum(row.load[kind] for row in chosen) / count for kind in KINDS},
        used={kind: sum(row.used[kind] for row in chosen) / count for kind in chosen[0].used},
        busiest=sum(row.busiest for row in chosen) / count,
        rows=count,
        user_cpus=sum(row.user_cpus for row in chosen) / count,
        used_user_cpus=sum(row.used_user_cpus for row in chosen) / count,
    )


def _overlap(row: CpuLoad, start_s: float, end_s: float, interval_s: int) -> float:
    """Return the number of seconds of the row inside the window, assuming that it ends in the middle of its second."""
    return min(row.second + 0.5, end_s) - max(row.second + 0.5 - interval_s, start_s)


_STEADY_NS: Final = 100_000_000
"""Maximum adjustment of the wall clock during a run, in nanoseconds. A larger change means that the clock was set."""


_MOST_RATES: Final = 240


@dataclass(frozen=True, slots=True)
class MeasuredWindow:
    """The measured time (excluding fio's start and ramp) on the monotonic clock.

    Adding `real_offset_ns` converts it to wall-clock time. `real_offset_ns` is None if the wall clock was set during
    the run.
    """

    start_ns: float
    end_ns: float
    real_offset_ns: float | None

    @property
    def seconds(self) -> float:
        """The length of the window, in seconds."""
        return (self.end_ns - self.start_ns) * 1e-9


def window_of(document: Document, guard: GuardOutput) -> MeasuredWindow:
    """Return the window of measured time, which ends with fio's last report or, if the wall clock was set, when fio
    ends."""
    longest_ns = max(job.runtime_ms for job in document.jobs) * 1e6
    offsets = [sample.real_ns - sample.mono_ns for sample in guard.samples]
    offset = median(offsets) if offsets and max(offsets) - min(offsets) <= _STEADY_NS else None
    end = float(guard.ended_ns)
    if offset is not None and guard.started_ns < document.ended_s * 1e9 - offset <= guard.ended_ns + _STEADY_NS:
        end = min(end, document.ended_s * 1e9 - offset)
    return MeasuredWindow(max(end - longest_ns, float(guard.started_ns)), end, offset)


def device_change(
    samples: Sequence[CounterSample], fields: Sequence[int], start_ns: float, end_ns: float, target: int | None = None
) -> float | None:
    """Return the increase in the given counters for one target, or for all targets combined. Return None if a drive has
    no counters."""
    return counter_change([(one.mono_ns, _sum(one, fields, target)) for one in samples], start_ns, end_ns)


def _sum(sample: CounterSample, fields: Sequence[int], target: int | None) -> int | None:
    chosen = sample.devices if target is None else sample.devices[target : target + 1]
    rows = [row for row in chosen if row is not None]
    return sum(row[field] for row in rows for field in fields) if len(rows) == len(chosen) > 0 else None


def counter_change(series: Sequence[tuple[int, int | None]], start_ns: float, end_ns: float) -> float | None:
    """Return the increase in a counter whose samples are pairs of time and value. Return None if a value is unknown or
    if there is only one sample."""
    known = [(moment, value) for moment, value in series if value is not None]
    if len(known) < 2 or len(known) < len(series):
        return None
    return _at(known, end_ns) - _at(known, start_ns)


def device_course(
    samples: Sequence[CounterSample], fields: Sequence[int], window: MeasuredWindow, most: int = _MOST_RATES
) -> list[tuple[float, float]]:
    """Return pairs of time (in seconds since the start of the window) and increase per second in the given counters,
    summed over all targets, for each of at most `most` consecutive parts of the window. The list is empty if a drive
    has no counters.
    """
    inside = [sample for sample in samples if window.start_ns <= sample.mono_ns <= window.end_ns]
    chosen = inside[:: max(1, -(-(len(inside) - 1) // most))]
    counts = [_sum(sample, fields, None) for sample in chosen]
    return [
        ((one.mono_ns - window.start_ns) * 1e-9, (after - before) / ((later.mono_ns - one.mono_ns) * 1e-9))
        for (one, before), (later, after) in pairwise(zip(chosen, counts, strict=True))
        if before is not None and after is not None and later.mono_ns > one.mono_ns
    ]


def _at(series: Sequence[tuple[int, int]], moment: float) -> float:
    """Return the counter value at `moment`. It is interpolated linearly between samples, and constant before the first
    and after the last sample."""
    before = series[0]
    for after in series:
        if after[0] >= moment:
            span = after[0] - before[0]
            share = max(0.0, (moment - before[0]) / span) if span else 1.0
            return before[1] + min(share, 1.0) * (after[1] - before[1])
        before = after
    return float(before[1])


# Reads of a sparse or unwritten file, and requests served by the page cache, do not reach a drive. The counters of the
# drives below the targets reveal this: normally, the number of bytes that they count differs from fio's by only a few
# percent.


TOLERANCE: Final = 0.02
_EDGE_S: Final = 0.02
"""Maximum error, in seconds, of a report's timestamp on an idle host."""
FIELDS: Final = {"read": (READ_BYTES,), "write": (WRITE_BYTES,), "trim": (DISCARD_BYTES,)}
"""The counters in a guard sample that count the bytes transferred in each direction."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """The number of bytes counted by the drives, relative to the number counted by fio (`ratio`).

    If the ratio is unknown, `ratio` is None, and `why` is the reason: `buffered`, `no-drive` or `clock`. If the ratio
    is too high, `why` is `foreign`. `uncertainty` is the relative uncertainty of the compared times.
    """

    ratio: float | None
    why: str = ""
    uncertainty: float = 0.0

    @property
    def missing(self) -> bool:
        """Whether the drives transferred fewer bytes than fio counted."""
        return self.ratio is not None and self.ratio < 1.0 - TOLERANCE - self.uncertainty


def coverage_of(params: FioParams, document: Document, guard: GuardOutput, window: MeasuredWindow) -> Coverage:
    """Compare the bytes counted by the drives with those counted by fio, over the whole run or between two reports
    after the ramp."""
    if not params.direct:
        return Coverage(None, "buffered")
    sides = sorted({name for job in document.jobs for name in job.directions})
    fields = [field for name in sides for field in FIELDS[name]]
    if params.ramp_time <= 0:
        fio_bytes = sum(part.io_bytes for job in document.jobs for part in job.directions.values())
        drive_bytes = device_change(guard.samples, fields, float("-inf"), float("inf"))
        found = _coverage(drive_bytes, fio_bytes, 0.0)
    else:
        found = _between_reports(document.reports, guard, window, sides, fields)
    if found.ratio is not None and found.ratio > 1.0 + TOLERANCE + found.uncertainty:
        return Coverage(found.ratio, "foreign", found.uncertainty)
    return found


def _between_reports(
    reports: Sequence[FioStatus],
    guard: GuardOutput,
    window: MeasuredWindow,
    sides: Sequence[str],
    fields: Sequence[int],
) -> Coverage:
    if window.real_offset_ns is None:
        return Coverage(None, "clock")
    running = reports[:-1] if len(reports) > 2 else reports
    first, last = running[0], running[-1]
    seconds = (last.stamp_ms - first.stamp_ms) / 1000.0
    fio_bytes = _bytes(last, sides) - _bytes(first, sides)
    if seconds <= 4 * _EDGE_S or fio_bytes <= 0:
        return Coverage(None, "clock")
    start, end = (one.stamp_ms * 1e6 - window.real_offset_ns for one in (first, last))
    edge = _EDGE_S + _lateness_s(guard.samples)
    return _coverage(device_change(guard.samples, fields, start, end), fio_bytes, 2 * edge / seconds)


def _lateness_s(samples: Sequence[CounterSample]) -> float:
    """Return the largest delay of a guard sample, in seconds. On a busy host, fio's reports have similar delays."""
    gaps = [(later.mono_ns - one.mono_ns) / 1e9 for one, later in pairwise(samples)]
    return max(gaps) - median(gaps) if gaps else 0.0


def _bytes(report: FioStatus, sides: Sequence[str]) -> int:
    return sum(count(job[name]["io_bytes"]) for job in report.jobs for name in sides)


def _coverage(drive_bytes: float | None, fio_bytes: int, uncertainty: float) -> Coverage:
    return Coverage(None, "no-drive") if drive_bytes is None else Coverage(drive_bytes / fio_bytes, "", uncertainty)
