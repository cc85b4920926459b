"""The results of the finished steps in a repeat, keyed by step name. Each output is parsed once, on demand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import astuple, dataclass, replace
from functools import cached_property, lru_cache
from itertools import count, takewhile
from typing import Final, Literal

from asct.instruments.fio.document import read_document
from asct.instruments.fio.histogram import NS
from asct.instruments.fio.measure import course_flags
from asct.instruments.fio.params import FioParams
from asct.instruments.fio.point import FioPoint, read_point
from asct.instruments.fio.process import INSPECTION, RESULT_FILE, fio_step, limit_s, targets_of
from asct.instruments.fio.raid import raid_set
from asct.instruments.guard_output import GuardOutput, GuardTarget, read_guard_output
from asct.instruments.qualification.settings import MIB, Phase, QualificationParams, Quantity, Workload
from asct.sdk.benchmark import Context
from asct.sdk.facts import HostFacts
from asct.sdk.guard import StopRule, guarded, inspection
from asct.sdk.step import Output, Step, Tool

_LONG_S: Final = 30.0
_FAST_BYTES_PER_S: Final = 1e9
"""Rate of a fast drive. For a process that ends after a given amount of data, this rate determines the shortest
possible duration. Processes are sampled less often only if they would take at least `_LONG_S` even on such a drive."""
_KEPT: Final = 64
"""Maximum number of points kept in memory. Each takes about a megabyte, and a long test has thousands."""


@dataclass(frozen=True, slots=True)
class FioSummary:
    """The result of a fio process without its histograms, which would exhaust the memory in a test with thousands of
    processes.

    `latency` is the mean time from call to completion in seconds, and `latency_max` is the longest; both are None if
    fio does not report them. `written_bytes` counts only the bytes written, and `job_bytes` all bytes of each job.
    `level_flags` contains `flags` and the flags for a rate that changed while fio ran.
    """

    seconds: float
    iops: float
    bandwidth: float
    latency: float | None
    latency_max: float | None
    io_bytes: int
    written_bytes: int
    flags: tuple[str, ...]
    level_flags: tuple[str, ...]
    job_bytes: tuple[int, ...]

    @classmethod
    def of(cls, point: FioPoint) -> FioSummary:
        """Return the summary of a point, with times in seconds."""
        whole, writes = point.sides[""], point.sides.get("write")
        return cls(
            seconds=whole.seconds,
            iops=whole.iops,
            bandwidth=whole.bandwidth,
            latency=None if whole.lat is None else whole.lat.mean_ns * NS,
            latency_max=None if whole.lat is None else whole.lat.max_ns * NS,
            io_bytes=whole.io_bytes,
            written_bytes=writes.io_bytes if writes else 0,
            flags=point.flags,
            level_flags=level_flags(point),
            job_bytes=tuple(sum(part.io_bytes for part in job.directions.values()) for job in point.document.jobs),
        )

    def value(self, quantity: Quantity | Literal["latency_max"]) -> float:
        """Return the value of this quantity. Raises ValueError if it is a latency that fio did not report."""
        value: float | None = getattr(self, quantity)
        if value is None:
            raise ValueError("fio reports no latency")
        return value


def level_flags(point: FioPoint) -> tuple[str, ...]:
    """Return the flags of a process that is assumed to run at one level: the flags of its result, and those for a rate
    that changed while it ran. In tests of how a drive changes, such changes are not flagged."""
    return (*point.flags, *course_flags(point))


class StepJournal:
    """The finished steps in a repeat. Steps are identified by name, so an interrupted repeat can be continued."""

    def __init__(self, params: QualificationParams, outputs: Sequence[Output], facts: HostFacts) -> None:
        self.params = params
        self.facts = facts
        self.outputs = {output.step.name: output for output in outputs}
        self._points: dict[str, FioPoint] = {}
        self._summaries: dict[str, FioSummary] = {}

    def under(self, params: QualificationParams) -> StepJournal:
        """Return the same steps as part of a test with other settings."""
        return StepJournal(params, tuple(self.outputs.values()), self.facts)

    def has(self, name: str) -> bool:
        """Return whether a step has finished."""
        return name in self.outputs

    def rounds(self, names_of: Callable[[int], Iterable[str]]) -> int:
        """Return the number of rounds before the first one with an unfinished step. `names_of` returns the step names
        of a round (numbered from 1)."""
        return next(number for number in count() if not all(map(self.has, names_of(number + 1))))

    def numbered(self, name_of: Callable[[int], str]) -> list[Output]:
        """Return the outputs of the steps `name_of(1)`, `name_of(2)` and so on, stopping at the first unfinished
        one."""
        return [self.outputs[name] for name in takewhile(self.has, map(name_of, count(1)))]

    @cached_property
    def inspected(self) -> GuardOutput:
        """The result of the inspection. Raises ValueError if the inspection failed or has not yet run."""
        if not self.has(INSPECTION):
            raise ValueError("the target was not inspected")
        return read_guard_output(self.outputs[INSPECTION])

    @property
    def last(self) -> GuardOutput:
        """guard's output from the last step. Raises ValueError in the same cases as `read_guard_output`."""
        return read_guard_output(next(reversed(self.outputs.values())))

    @property
    def device(self) -> GuardTarget:
        """The target. Raises ValueError in the same cases as `inspected`."""
        return self.inspected.before[0]

    @cached_property
    def target_bytes(self) -> int:
        """The target size. Raises ValueError if it is unknown."""
        size = self.device.scalar("bytes")
        if not isinstance(size, int) or size <= 0:
            raise ValueError("the target size is unknown; see guard's checks")
        return size

    @cached_property
    def span(self) -> int:
        """The size of the active range, in bytes."""
        return self.params.span(self.target_bytes)

    @cached_property
    def logical_block(self) -> int:
        """The size of the smallest request that the target supports, in bytes."""
        block = self.device.scalar("logical_block")
        return block if isinstance(block, int) and block > 0 else 512

    def fio(self, cell: Workload, phase: Phase, seed: int = 0) -> FioParams:
        """Return the settings for a workload's fio process. `seed` is added to the seed in the settings."""
        return self.params.fio(
            self.span,
            rw=cell.rw,
            rwmixread=cell.reads,
            block_size=cell.block_size,
            duration=phase.seconds,
            ramp_time=phase.ramp_s,
            seed=(self.params.seed + seed) % 2**32,
            **dict(cell.options),
        )

    def point(self, name: str, params: FioParams) -> FioPoint:
        """Return the result of a step. Raises ValueError in the same cases as `read_point`; the message then begins
        with the step name."""
        if name not in self._points:
            try:
                point = read_point(params, self.outputs[name], self.facts)
            except ValueError as error:
                raise ValueError(f"{name}: {error}") from error
            while len(self._points) >= _KEPT:
                del self._points[next(iter(self._points))]
            self._points[name] = point
        return self._points[name]

    def summary(self, name: str, params: FioParams) -> FioSummary:
        """Return the summary of a step. Raises ValueError in the same cases as `point`."""
        if name not in self._summaries:
            self._summaries[name] = FioSummary.of(self.point(name, params))
        return self._summaries[name]

    def dirty(self, context: Context) -> bool:
        """Return whether this run or repeat has already written to the target."""
        wrote = any(RESULT_FILE in output.step.collect for output in self.outputs.values())
        return wrote or not context.written_paths.isdisjoint(self.params.file_names)

    def inspection(self, context: Context) -> Step:
        """Return the inspection of the target, which must be the first step, because it reads the target size, on which
        all other steps depend.

        The size of a RAID set is known only while it exists.
        """
        params = self.params.fio(MIB, rw="randwrite")
        targets = targets_of(params, context, dirty=self.dirty(context))
        raid = raid_set(params, context.facts)
        if raid is None:
            return inspection(targets, INSPECTION)
        return guarded(Step(INSPECTION, Tool("true")), "true", targets, raid=raid)


def fio_process(params: FioParams, context: Context, name: str, stop: StopRule | None = None) -> Step:
    """Return a fio process on a target to which this test has already written.

    fio reports only when it ends, so changes within a process are found in guard's samples of the drive. guard samples
    long processes only once per second, except those with a `stop` rule, and mpstat does not run. Each process has its
    own time limit.
    """
    step = fio_step(params, context, name, dirty=True, stop=stop)
    arguments = tuple(one for one in step.arguments if not one.startswith("--status-interval="))
    lasts_s = params.duration if params.io_size is None else params.io_size / _FAST_BYTES_PER_S
    seldom = () if stop is not None or lasts_s < _LONG_S else ("--sample-ms", "1000")
    return replace(step, arguments=(*seldom, *arguments), companions=(), timeout_s=limit_s(params))


@dataclass(frozen=True, slots=True)
class TimeSlot:
    """The requests and bytes in one interval of a test. `io_bytes` counts all bytes, whereas `written_bytes` counts
    only the bytes written."""

    seconds: float
    ios: int
    io_bytes: int
    written_bytes: int

    @property
    def iops(self) -> float:
        """Requests per second in this interval."""
        return self.ios / self.seconds

    @property
    def bandwidth(self) -> float:
        """Bytes read and written per second in this interval."""
        return self.io_bytes / self.seconds


def joined(slots: Sequence[TimeSlot]) -> TimeSlot:
    """Return one slot with the sums of the times, requests and bytes of consecutive slots."""
    columns = zip(*(astuple(slot) for slot in slots), strict=True)
    return TimeSlot(*map(sum, columns))


def time_slot_of(output: Output) -> TimeSlot:
    """Return the totals of a fio process. Raises ValueError for an invalid result, or if the process issued no
    requests.

    The result is cached, because each step of a long test depends on all preceding steps.
    """
    slot = _slot(output.files.get(RESULT_FILE, ""))
    if slot.seconds <= 0:
        raise ValueError(f"{output.step.name}: fio issued no requests; see its stderr")
    return slot


@lru_cache(maxsize=4096)
def _slot(result: str) -> TimeSlot:
    parts = [(name, part) for job in read_document(result).jobs for name, part in job.directions.items()]
    return TimeSlot(
        seconds=max((part.runtime_ms for _, part in parts), default=0) / 1000.0,
        ios=sum(part.ios for _, part in parts),
        io_bytes=sum(part.io_bytes for _, part in parts),
        written_bytes=sum(part.io_bytes for name, part in parts if name == "write"),
    )


def slots_of(point: FioPoint) -> tuple[TimeSlot, ...]:
    """Return the intervals between a process's reports, in chronological order."""
    return tuple(
        TimeSlot(one.seconds, one.ios, one.io_bytes, one.sides["write"].io_bytes if "write" in one.sides else 0)
        for one in point.seconds
        if one.seconds > 0
    )
