"""The outputs of the finished steps of a repeat, by name; each is read on demand, once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Final

from asct.instruments.fio.document import read_document
from asct.instruments.fio.histogram import NS
from asct.instruments.fio.params import FioParams
from asct.instruments.fio.point import FioPoint, read_point
from asct.instruments.fio.process import INSPECTION, RESULT_FILE, fio_step, limit_s, targets_of
from asct.instruments.guard_output import GuardOutput, GuardTarget, read_guard_output
from asct.instruments.qualification.settings import MIB, Phase, QualificationParams, Quantity, Workload
from asct.sdk.benchmark import Context
from asct.sdk.facts import HostFacts
from asct.sdk.guard import StopRule, inspection
from asct.sdk.step import Output, Step

_LONG_S: Final = 30.0
_KEPT: Final = 64
"""Points in memory: about a megabyte each, and a test of hours has thousands."""


@dataclass(frozen=True, slots=True)
class FioSummary:
    """Results of one fio process: requests and bytes per second, mean latency in s (from call to completion; None if
    fio gave none), bytes of all requests and of writes, flags."""

    iops: float
    bandwidth: float
    latency: float | None
    io_bytes: int
    written: int
    flags: tuple[str, ...]

    @classmethod
    def of(cls, point: FioPoint) -> FioSummary:
        """The summary omits the histograms, because those of thousands of processes would fill the memory."""
        whole, writes = point.sides[""], point.sides.get("write")
        return cls(
            iops=whole.iops,
            bandwidth=whole.bandwidth,
            latency=None if whole.lat is None else whole.lat.mean_ns * NS,
            io_bytes=whole.io_bytes,
            written=writes.io_bytes if writes else 0,
            flags=point.flags,
        )

    def value(self, quantity: Quantity) -> float:
        """Raises ValueError for a latency that is not there."""
        if quantity == "iops":
            return self.iops
        if quantity == "bandwidth":
            return self.bandwidth
        if self.latency is None:
            raise ValueError("fio reports no latency")
        return self.latency


class StepJournal:
    """The outputs of a repeat. Steps are known by their names, so that a repeat goes on where it was cut off."""

    def __init__(self, params: QualificationParams, outputs: Sequence[Output], facts: HostFacts) -> None:
        self.params = params
        self.facts = facts
        self.outputs = {output.step.name: output for output in outputs}
        self._points: dict[str, FioPoint] = {}
        self._summaries: dict[str, FioSummary] = {}

    def has(self, name: str) -> bool:
        """Whether the step is done."""
        return name in self.outputs

    @cached_property
    def inspected(self) -> GuardOutput:
        """The result of the inspection. Raises ValueError if it has not run, or failed."""
        if not self.has(INSPECTION):
            raise ValueError("the target was not inspected")
        return read_guard_output(self.outputs[INSPECTION])

    @property
    def last(self) -> GuardOutput:
        """The output of guard in the last step. Raises ValueError like `read_guard_output`."""
        return read_guard_output(next(reversed(self.outputs.values())))

    @property
    def device(self) -> GuardTarget:
        """The target. Raises ValueError as `inspected`."""
        return self.inspected.before[0]

    @cached_property
    def target_bytes(self) -> int:
        """Size of the target."""
        size = self.device.scalar("bytes")
        if not isinstance(size, int) or size <= 0:
            raise ValueError("the size of the target could not be read; see the checks of guard")
        return size

    @cached_property
    def span(self) -> int:
        """Bytes of the active range."""
        return self.params.span(self.target_bytes)

    @cached_property
    def logical_block(self) -> int:
        """Bytes of the smallest request that the target takes."""
        block = self.device.scalar("logical_block")
        return block if isinstance(block, int) and block > 0 else 512

    def fio(self, cell: Workload, phase: Phase, seed: int = 0) -> FioParams:
        """The process of a cell; `seed` is added to the one of the settings."""
        return self.params.fio(
            self.span,
            rw=cell.rw,
            rwmixread=cell.reads,
            block_size=cell.block_size,
            duration=phase.seconds,
            ramp_time=phase.ramp_s,
            seed=(self.params.seed + seed) % 2**32,
        )

    def point(self, name: str, params: FioParams) -> FioPoint:
        """The result of a step. Raises ValueError like `read_point`, with the name of the step."""
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
        """The summary of a step, which every evaluation of all rounds needs. Raises ValueError like `point`."""
        if name not in self._summaries:
            self._summaries[name] = FioSummary.of(self.point(name, params))
        return self._summaries[name]

    def dirty(self, context: Context) -> bool:
        """Whether this run, or this repeat, has written to the target before."""
        wrote = any(RESULT_FILE in output.step.collect for output in self.outputs.values())
        return wrote or not context.written.isdisjoint(self.params.file_names)

    def inspection(self, context: Context) -> Step:
        """The inspection of the target, which comes first because its size is unknown before it."""
        params = self.params.fio(MIB, rw="randwrite")
        return inspection(targets_of(params, context, dirty=self.dirty(context)), INSPECTION)


def fio_process(params: FioParams, context: Context, name: str, stop: StopRule | None = None) -> Step:
    """A fio process on the target that this test has written to before.

    Of hundreds of processes in each round the course of a single one is not kept: it reports once, at its end, samples
    are a second apart, and no mpstat runs beside it. One that guard is to stop is watched closely. One that hangs is
    ended long before the limit of the whole test.
    """
    step = fio_step(params, context, name, dirty=True, stop=stop)
    arguments = tuple(one for one in step.arguments if not one.startswith("--status-interval="))
    seldom = () if stop is not None or params.duration < _LONG_S else ("--sample-ms", "1000")
    return replace(step, arguments=(*seldom, *arguments), companions=(), timeout_s=limit_s(params))


@dataclass(frozen=True, slots=True)
class TimeSlot:
    """A piece of the course: its length in seconds, requests, bytes of them, bytes written."""

    seconds: float
    ios: int
    io_bytes: int
    written: int

    @property
    def iops(self) -> float:
        """Requests per second."""
        return self.ios / self.seconds

    @property
    def bandwidth(self) -> float:
        """Bytes per second."""
        return self.io_bytes / self.seconds


def joined(slots: Sequence[TimeSlot]) -> TimeSlot:
    """Slots that follow one another as one; `slots` is not empty."""
    return TimeSlot(
        sum(slot.seconds for slot in slots),
        sum(slot.ios for slot in slots),
        sum(slot.io_bytes for slot in slots),
        sum(slot.written for slot in slots),
    )


def time_slot_of(output: Output) -> TimeSlot:
    """The results of one fio process. Raises ValueError for a result that cannot be read, or without any request.

    The next step of a long test depends on all that was done before it, so each result is read once and remembered.
    """
    slot = _slot(output.files.get(RESULT_FILE, ""))
    if slot.seconds <= 0:
        raise ValueError(f"{output.step.name}: fio did no request; see its stderr")
    return slot


@lru_cache(maxsize=4096)
def _slot(result: str) -> TimeSlot:
    parts = [(name, part) for job in read_document(result).jobs for name, part in job.directions.items()]
    return TimeSlot(
        seconds=max((part.runtime_ms for _, part in parts), default=0) / 1000.0,
        ios=sum(part.ios for _, part in parts),
        io_bytes=sum(part.io_bytes for _, part in parts),
        written=sum(part.io_bytes for name, part in parts if name == "write"),
    )


def slots_of(point: FioPoint) -> tuple[TimeSlot, ...]:
    """The pieces between the reports of a process."""
    return tuple(
        TimeSlot(one.seconds, one.ios, one.io_bytes, one.sides["write"].io_bytes if "write" in one.sides else 0)
        for one in point.seconds
        if one.seconds > 0
    )
