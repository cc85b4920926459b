"""When fio measured, on the clock of guard's samples, and what the counters did meanwhile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from asct.instruments.fio.document import Document
from asct.instruments.watch import Sample, Watch

_STEADY_NS: Final = 100_000_000
"""The clock of the day may be slewed by this much in a run; more, and it was set."""


@dataclass(frozen=True, slots=True)
class Window:
    """The measured time (without fio's start and the ramp) by the monotonic clock.

    `real_offset_ns` added to it gives the clock of the day, None when that was set during the run.
    """

    start_ns: float
    end_ns: float
    real_offset_ns: float | None

    @property
    def seconds(self) -> float:
        """Its length."""
        return (self.end_ns - self.start_ns) * 1e-9


def window_of(document: Document, watch: Watch) -> Window:
    """It ends with fio's last report, whose stamp is of the clock of the day, or with fio when that clock was set."""
    longest_ns = max(job.runtime_ms for job in document.jobs) * 1e6
    offsets = [sample.real_ns - sample.mono_ns for sample in watch.samples]
    offset = median(offsets) if offsets and max(offsets) - min(offsets) <= _STEADY_NS else None
    end = float(watch.ended_ns)
    if offset is not None and watch.started_ns < document.ended_s * 1e9 - offset <= watch.ended_ns + _STEADY_NS:
        end = min(end, document.ended_s * 1e9 - offset)
    return Window(max(end - longest_ns, float(watch.started_ns)), end, offset)


def program_cpu_ns(watch: Watch, window: Window) -> float | None:
    """CPU time of fio and the threads that work for it; None where it was not counted."""
    return _change([(one.mono_ns, one.program_cpu_ns) for one in watch.samples], window.start_ns, window.end_ns)


def host_cpu_ns(watch: Watch, window: Window) -> float | None:
    """CPU time of the whole host; None where it was not counted."""
    return _change([(one.mono_ns, one.host_cpu_ns) for one in watch.samples], window.start_ns, window.end_ns)


def device_change(
    samples: Sequence[Sample], fields: Sequence[int], start_ns: float, end_ns: float, target: int | None = None
) -> float | None:
    """How much the given counters rose, of one target or all together; None where a drive has none."""
    return _change([(one.mono_ns, _sum(one, fields, target)) for one in samples], start_ns, end_ns)


def _sum(sample: Sample, fields: Sequence[int], target: int | None) -> int | None:
    chosen = sample.devices if target is None else sample.devices[target : target + 1]
    rows = [row for row in chosen if row is not None]
    return sum(row[field] for row in rows for field in fields) if len(rows) == len(chosen) > 0 else None


def _change(series: Sequence[tuple[int, int | None]], start_ns: float, end_ns: float) -> float | None:
    known = [(moment, value) for moment, value in series if value is not None]
    if len(known) < 2 or len(known) < len(series):
        return None
    return _at(known, end_ns) - _at(known, start_ns)


def _at(series: Sequence[tuple[int, int]], moment: float) -> float:
    """The counter at a moment: a straight line between the samples, and what the outermost ones say outside them."""
    before = series[0]
    for after in series:
        if after[0] >= moment:
            span = after[0] - before[0]
            share = max(0.0, (moment - before[0]) / span) if span else 1.0
            return before[1] + min(share, 1.0) * (after[1] - before[1])
        before = after
    return float(before[1])
