"""Flags of a point; the README of the benchmark explains each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from asct.instruments.fio.counters import ENOUGH_ROWS, Coverage, CpuLoad, MeasuredWindow, coverage_of
from asct.instruments.fio.document import Document, JobResult
from asct.instruments.fio.histogram import NS
from asct.instruments.fio.params import SYNCHRONOUS, FioParams
from asct.instruments.fio.sections import chosen_engine, depth_is_lost, effective_depth, sections_of
from asct.instruments.guard_output import GuardOutput, GuardTarget
from asct.instruments.nvme import throttled
from asct.sdk.facts import HostFacts

LITTLE_TOLERANCE: Final = 0.02
_SHORTEST_SHARE: Final = 0.95
_BUSY_PERCENT: Final = 90.0
_DEEP_PERCENT: Final = 90.0
_DEEPEST: Final = 64
_MANY: Final = 20
_WAITING_SHARE: Final = 0.5
_CLOCK_STEP_S: Final = 0.001
"""fio counts run times in whole milliseconds."""
_MEMORY_FILESYSTEMS: Final = frozenset({"tmpfs", "ramfs", "devtmpfs"})

_INVALIDATING: Final = frozenset(
    {
        "littles-law",
        "depth-not-honoured",
        "depth-not-reached",
        "short-runtime",
        "short-ios",
        "not-from-device",
        "target-shrank",
    }
)
"""With these the figures are not those of the point that was asked for."""


@dataclass(frozen=True, slots=True)
class FlagInput:
    """The input of the flags. `depth` is the number of requests that the engine can keep in flight, `in_flight` the
    actual one."""

    in_flight: float
    depth: int
    little: bool | None
    """Whether Little's law holds; None if it does not apply."""
    coverage: Coverage
    throttled: bool
    shrank: bool

    @classmethod
    def of(
        cls, params: FioParams, document: Document, watch: GuardOutput, window: MeasuredWindow, facts: HostFacts
    ) -> FlagInput:
        """Gather it from one run."""
        depth = effective_depth(params, facts)
        return cls(
            in_flight=in_flight(document),
            depth=depth,
            little=_little(params, document, depth),
            coverage=coverage_of(params, document, watch, window),
            throttled=throttled(watch.before, watch.after),
            shrank=any(_bytes(late) < _bytes(early) for early, late in zip(watch.before, watch.after, strict=False)),
        )


def _bytes(device: GuardTarget) -> float:
    size = device.scalar("bytes")
    return float(size) if isinstance(size, int) else 0.0


def in_flight(document: Document) -> float:
    """Requests in flight on average: rate times mean latency (Little, Operations Research 9(3), 1961), summed."""
    return sum(
        part.ios / (part.runtime_ms / 1000.0) * part.lat.mean_ns * NS
        for job in document.jobs
        for part in job.directions.values()
        if part.runtime_ms
    )


def _little(params: FioParams, document: Document, depth: int) -> bool | None:
    """Whether as many requests were in flight as the depth says.

    The requests in flight when the measured time begins and ends belong to it in part only: each for the mean of its
    remaining time, E[L^2] / 2E[L]. A job takes up one completion at a time and is one request short until it has made
    the next one, whatever its depth: that is its own CPU time.
    """
    if any(section.paced or section.syncs for _, section in sections_of(params)):
        return None
    seconds = max(job.runtime_ms for job in document.jobs) / 1000.0
    between = sum(job.cpu_s for job in document.jobs) / seconds
    difference = in_flight(document) - depth
    allowed = depth * (LITTLE_TOLERANCE + (_remaining_s(document) + _CLOCK_STEP_S) / seconds)
    return -allowed - between <= difference <= allowed


def _remaining_s(document: Document) -> float:
    """At both ends together, per request in flight: E[L^2] / E[L]."""
    parts = [part for job in document.jobs for part in job.directions.values()]
    first = sum(part.ios * part.lat.mean_ns for part in parts)
    second = sum(part.ios * (part.lat.mean_ns**2 + part.lat.stddev_ns**2) for part in parts)
    return second / first * NS if first else 0.0


def _is_shallow(params: FioParams, document: Document, facts: HostFacts) -> bool:
    """Whether fio itself counted a queue below iodepth. It counts in powers of two, when a request is handed over."""
    jobs = iter(document.jobs)
    for _, section in sections_of(params):
        own = [job for job, _ in zip(jobs, range(section.numjobs), strict=False)]
        if section.keeps_depth and chosen_engine(section, facts) not in SYNCHRONOUS:
            target = min(_DEEPEST, 1 << (section.iodepth.bit_length() - 1))
            if any(_share_at(job, target) < _DEEP_PERCENT for job in own if _has_many(job, section.iodepth)):
                return True
    return False


def _submission_blocks(document: Document, depth: int) -> bool:
    """Whether the jobs of an asynchronous engine wait within the call that hands a request over.

    They do for buffered requests, and for more than the block layer holds: most of their time is then in submission,
    and it is not time of a CPU. fio counts such requests as in flight.
    """
    within = sum(part.slat.n * part.slat.mean_ns * NS for job in document.jobs for part in job.directions.values())
    lasted = sum(job.runtime_ms / 1000.0 for job in document.jobs)
    cpu = sum(job.cpu_s for job in document.jobs)
    return depth > len(document.jobs) and within - cpu > _WAITING_SHARE * lasted


def _share_at(job: JobResult, depth: int) -> float:
    return sum(share for level, share in job.depth_shares.items() if int(level.strip("><=")) >= depth)


def _has_many(job: JobResult, depth: int) -> bool:
    """Whether the first requests, which find the queue empty, do not count."""
    return sum(part.ios for part in job.directions.values()) >= _MANY * depth


def point_flags(
    params: FioParams, document: Document, evidence: FlagInput, facts: HostFacts, cpu: CpuLoad | None, stopped: str
) -> tuple[str, ...]:
    """Flags for every value of the point."""
    ended_early = bool(stopped) or params.io_size is not None
    shortest_ms = min(job.runtime_ms for job in document.jobs)
    coverage = evidence.coverage
    found = {
        "littles-law": evidence.little is False,
        "depth-not-honoured": depth_is_lost(params, facts),
        "depth-not-reached": _is_shallow(params, document, facts),
        "submission-blocks": _submission_blocks(document, evidence.depth),
        "short-runtime": not ended_early and shortest_ms < _SHORTEST_SHARE * params.duration * 1000.0,
        "short-ios": any(part.faulty_ios for job in document.jobs for part in job.directions.values()),
        "not-from-device": coverage.missing,
        "target-shrank": evidence.shrank,
        "memory-filesystem": params.makes_file and facts.work_filesystem in _MEMORY_FILESYSTEMS,
        "host-limited": cpu is not None and cpu.busiest > _BUSY_PERCENT,
        "throttled": evidence.throttled,
        "little-unchecked": evidence.little is None,
        f"coverage-{coverage.why}": bool(coverage.why),
    }
    flags = tuple(name for name, holds in found.items() if holds)
    return flags if _INVALIDATING.isdisjoint(flags) else ("invalid", *flags)


def cpu_flags(cpu: CpuLoad) -> tuple[str, ...]:
    """Flags for the cpu_* values."""
    return ("few-cpu-samples",) if cpu.rows < ENOUGH_ROWS else ()
