"""Settings for storage-write-saturation, and the rules that determine the end of the test and the write cliff."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Annotated, Final, Literal

from pydantic import BeforeValidator

from asct.instruments.fio.params import short_pattern
from asct.instruments.qualification.journal import TimeSlot, joined
from asct.instruments.qualification.settings import Phase, QualificationParams, Workload
from asct.sdk.params import Count, Duration, Size, setting
from asct.statistics.steady import SteadyRule, SteadyWindow, cliff, drops, enough_from, last_window

Reason = Literal["volume", "time", "steady"]
_MOST_SLOTS: Final = 1200
"""Maximum number of time slots to search for cliffs. The search time grows faster than the number of slots."""


@dataclass(frozen=True, slots=True)
class StopCondition:
    """The conditions that end the test: `volume` bytes written, seconds of load, or a steady state over samples of
    `sample_s` seconds.

    If `sample_s` is 0, a steady state does not end the test. A window is accepted only after `settled` bytes have been
    written or the level has dropped by half, so that the plateau of a burst does not end the test.
    """

    volume: int
    seconds: float
    sample_s: float
    settled: float
    rule: SteadyRule


@dataclass(frozen=True, slots=True)
class RateDrop:
    """A permanent drop in the rate from `before` to `after`, both in requests per second, after `written_bytes`
    and `seconds` of load."""

    written_bytes: int
    seconds: float
    before: float
    after: float


def samples(rounds: Iterable[TimeSlot], length_s: float) -> list[TimeSlot]:
    """Join rounds into samples of at least `length_s` seconds; an incomplete last sample is omitted."""
    found: list[TimeSlot] = []
    pending: list[TimeSlot] = []
    for one in rounds:
        pending.append(one)
        if sum(slot.seconds for slot in pending) >= length_s * (1.0 - 1e-3):
            found.append(joined(pending))
            pending = []
    return found


def steady_window(rounds: Sequence[TimeSlot], goal: StopCondition, since: int = 0) -> SteadyWindow | None:
    """Return the last samples as a window if they are steady. Return None if they are not, or if a steady state does
    not end the test.

    The samples start at the round with index `since`, because an interruption before that round allowed the drive to
    rest.
    """
    if goal.sample_s <= 0:
        return None
    found = samples(rounds[since:], goal.sample_s)
    rates = [slot.iops for slot in found]
    rested = sum(slot.written_bytes for slot in rounds[:since])
    before = list(accumulate((slot.written_bytes for slot in found), initial=rested))
    starts = (enough_from(before, goal.settled), cliff(rates))
    since = min((index for index in starts if index is not None), default=len(rates))
    window = last_window(rates, goal.rule, since)
    return window if window is not None and window.holds(goal.rule) else None


def over(rounds: Sequence[TimeSlot], goal: StopCondition, since: int = 0) -> Reason | None:
    """Return the reason why the test ends after `rounds`, or None if it continues. See `steady_window` for `since`."""
    if sum(one.written_bytes for one in rounds) >= goal.volume:
        return "volume"
    if sum(one.seconds for one in rounds) >= goal.seconds:
        return "time"
    return "steady" if steady_window(rounds, goal, since) is not None else None


def first_drop(course: Sequence[TimeSlot]) -> RateDrop | None:
    """Return the first drop in the level by at least half. Such a drop means that the write cache is full or that no
    free blocks are left. The first part of the test is searched at full resolution, which detects a small cache even in
    a test that takes a day. Then the whole test is searched in merged slots.
    """
    for slots in (course[:_MOST_SLOTS], _thinned(course)):
        for drop in drops([slot.iops for slot in slots]):
            before = joined(slots[: drop.index])
            return RateDrop(before.written_bytes, before.seconds, drop.before, drop.after)
    return None


def _thinned(course: Sequence[TimeSlot]) -> list[TimeSlot]:
    width = -(-len(course) // _MOST_SLOTS) or 1
    return [joined(course[start : start + width]) for start in range(0, len(course), width)]


Pattern = Literal["randwrite", "randrw", "write", "rw"]

RUN: Final = ("profile", "round_time", "rw", "rwmixread", "block_size", "numjobs", "iodepth")
"""Coordinates of the `rounds` metric: the settings shown in tables and reports."""


class SaturationParams(QualificationParams):
    """The shared settings, the workload, and the conditions that end the test."""

    precondition: Count = setting(
        0,
        "Number of times to write the active range before the rounds; with the default of 0, the test starts with a "
        "purged drive",
        aliases=("preconditioning",),
        le=10,
    )
    rw: Annotated[Pattern, BeforeValidator(short_pattern)] = setting(
        "randwrite", "Access pattern of the rounds", aliases=("rw_pattern", "readwrite")
    )
    block_size: Size = setting(4096, "Bytes per request", aliases=("blocksize", "bs"), ge=512, le=2**27)
    rwmixread: Count = setting(0, "Percentage of reads in a mixed pattern", le=99)
    volume_factor: float = setting(4.0, "Number of times to write the active range before the test ends", gt=0, le=1000)
    time_cap: Duration = setting(86400.0, "Maximum duration of the test", gt=0, le=60 * 86400, aliases=("max_time",))
    sample_time: Duration | None = setting(
        None,
        "Duration of a sample; the test ends when the samples are steady (SNIA: 30m). With `0s`, the test "
        "does not end early. The default is `0s` with the `pts` profile and one round with the `fast` profile",
        le=86400,
    )
    histogram_time: Duration = setting(
        1200.0, "Duration of the final run for the latency histogram; `0s` omits it", le=86400
    )

    @property
    def cell(self) -> Workload:
        """The workload of the rounds."""
        mixed = self.rw in ("randrw", "rw")
        return Workload(self.block_size, self.rwmixread if mixed else 0, random=self.rw.startswith("rand"))

    @property
    def phase(self) -> Phase:
        """The phase that purges and preconditions the target. This phase tracks no workload, because the rounds have
        their own stop condition."""
        return Phase("", (self.cell,), (), self.sizes[0], self.round_time, self.ramp_time)

    @property
    def sizes(self) -> tuple[int, ...]:
        """All block sizes that the test uses, including those for preconditioning."""
        return (*super().sizes, self.block_size)

    def goal(self, span: int) -> StopCondition:
        """Return the stop condition for an active range of `span` bytes."""
        sample_s = self.sample_time
        if sample_s is None:
            sample_s = self.round_time if self.profile == "fast" else 0.0
        volume = round(self.volume_factor * span)
        return StopCondition(volume, self.time_cap, sample_s, self.steady_volume * span, self.rule)
