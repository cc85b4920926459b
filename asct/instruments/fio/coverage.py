"""Whether the drive did what fio counted: bytes by the drive's own counters against fio's.

A sparse file, one that was never written, and the page cache give figures that no drive had a part in. Counters of the
drives below the targets show it: their bytes are those of fio within a few percent when all is right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Final

from asct.instruments.fio.document import Document, Report, count
from asct.instruments.fio.params import FioParams
from asct.instruments.fio.window import Window, device_change
from asct.instruments.watch import Sample, Watch

TOLERANCE: Final = 0.02
_EDGE_S: Final = 0.02
"""How far the moment that a report tells of may be from its stamp on an idle host."""
FIELDS: Final = {"read": (1,), "write": (3,), "trim": (5,)}
"""Places of read_bytes, write_bytes and discard_bytes in a sample of guard."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """`ratio` is the drives' bytes over fio's; None where `why` says what keeps it from being told: `buffered`,
    `no-drive`, `clock`, or `foreign` (then the ratio is kept). `uncertainty` is that of the moments compared."""

    ratio: float | None
    why: str = ""
    uncertainty: float = 0.0

    @property
    def missing(self) -> bool:
        """The drive did less than fio says."""
        return self.ratio is not None and self.ratio < 1.0 - TOLERANCE - self.uncertainty


def coverage_of(params: FioParams, document: Document, watch: Watch, window: Window) -> Coverage:
    """Without a ramp the whole run is compared, to the byte; with one, the time between two reports after it."""
    if not params.direct:
        return Coverage(None, "buffered")
    sides = sorted({name for job in document.jobs for name in job.directions})
    fields = [field for name in sides for field in FIELDS[name]]
    if params.ramp_time <= 0:
        done = sum(part.io_bytes for job in document.jobs for part in job.directions.values())
        seen = device_change(watch.samples, fields, float("-inf"), float("inf"))
        found = _coverage(seen, done, 0.0)
    else:
        found = _between_reports(document.reports, watch, window, sides, fields)
    if found.ratio is not None and found.ratio > 1.0 + TOLERANCE + found.uncertainty:
        return Coverage(found.ratio, "foreign", found.uncertainty)
    return found


def _between_reports(
    reports: Sequence[Report], watch: Watch, window: Window, sides: Sequence[str], fields: Sequence[int]
) -> Coverage:
    if window.real_offset_ns is None:
        return Coverage(None, "clock")
    running = reports[:-1] if len(reports) > 2 else reports
    first, last = running[0], running[-1]
    seconds = (last.stamp_ms - first.stamp_ms) / 1000.0
    done = _bytes(last, sides) - _bytes(first, sides)
    if seconds <= 4 * _EDGE_S or done <= 0:
        return Coverage(None, "clock")
    start, end = (one.stamp_ms * 1e6 - window.real_offset_ns for one in (first, last))
    edge = _EDGE_S + _lateness_s(watch.samples)
    return _coverage(device_change(watch.samples, fields, start, end), done, 2 * edge / seconds)


def _lateness_s(samples: Sequence[Sample]) -> float:
    """How much later than usual guard came to take a sample: on a busy host fio's reports are late by as much."""
    gaps = [(later.mono_ns - one.mono_ns) / 1e9 for one, later in pairwise(samples)]
    return max(gaps) - median(gaps) if gaps else 0.0


def _bytes(report: Report, sides: Sequence[str]) -> int:
    return sum(count(job[name]["io_bytes"]) for job in report.jobs for name in sides)


def _coverage(seen: float | None, done: int, uncertainty: float) -> Coverage:
    return Coverage(None, "no-drive") if seen is None else Coverage(seen / done, "", uncertainty)
