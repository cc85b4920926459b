"""The flags of a point. `FLAGS` in `metrics` describes each flag."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Final

from asct.instruments.fio.counters import Coverage, CpuLoad
from asct.instruments.fio.depth import is_rounded
from asct.instruments.fio.document import Document, JobResult
from asct.instruments.fio.histogram import NS
from asct.instruments.fio.params import SYNCHRONOUS, FioParams
from asct.instruments.fio.raid import raid_flags
from asct.instruments.fio.sections import chosen_engine, effective_depth, sections_of, used_cpus
from asct.instruments.guard_output import GuardOutput, GuardTarget
from asct.instruments.nvme import throttled
from asct.sdk.facts import HostFacts
from asct.statistics.changepoint import Changepoint, changes

LITTLE_TOLERANCE: Final = 0.02
"""Maximum relative difference from the queue depth that remains after `little_holds` has allowed for the requests in
flight at both ends of the run and for the time between requests."""
_SHORTEST_SHARE: Final = 0.95
"""Share of `duration` that a run must last, unless a rule may end it early."""
_BUSY: Final = 0.90
_BUSY_SHARED: Final = 0.80
"""Shares of busy time above which CPUs may limit the rate: the first applies if each job has its own CPU, the second if
jobs share CPUs and therefore wait for one another. Two jobs on one CPU used 85 % of it when it limited them."""
_FOREIGN_CPUS: Final = 0.5
"""If other programs use more than this number of CPUs in user space, a busy CPU is attributed to them. A single busy
program uses a whole CPU."""
_FOREIGN_NEAR_CPUS: Final = 0.1
"""A busy CPU is not attributed to other programs that use less than this number of CPUs on the CPUs of the jobs. This
allows for the difference between mpstat's times and fio's."""
_BRIEF_S: Final = 0.2
"""Shortest run, in seconds, that is not flagged. In shorter runs, the start of the jobs and the requests in flight at
both ends distort the values too much."""
_DEEP_PERCENT: Final = 90.0
"""Percentage of the requests that a job must issue at full depth."""
_DEEPEST: Final = 64
"""The greatest depth that fio distinguishes; it counts greater depths as `>=64`."""
_MANY: Final = 20
"""Multiple of `iodepth` that a job must issue. The first `iodepth` requests, which find the queue empty, are then at
most 5 % of all requests, half of what _DEEP_PERCENT allows."""
_WAITING_SHARE: Final = 0.5
"""Share of the run above which a job spends most of its time waiting in submissions."""
CHANGED: Final = "rate-changed"
"""Flag for values whose rate changed during the run."""
LEAST_CHANGE: Final = 0.10
"""Minimum relative change to report. On a shared machine, 5 % is normal."""
_LEAST_S: Final = 6.0
"""Shortest run, in seconds, that is searched for changes. A shorter run has not settled."""
CLOCK_STEP_S: Final = 0.001
"""Resolution of fio's run times, in seconds; fio counts whole milliseconds."""
_MEMORY_FILESYSTEMS: Final = frozenset({"tmpfs", "ramfs", "devtmpfs"})

_INVALIDATING: Final = frozenset({
    "littles-law", "depth-not-honoured", "depth-not-reached", "short-runtime", "short-ios", "not-from-device",
    "target-shrank",
})  # fmt: skip
"""Flags indicating that the values do not correspond to the point's settings."""


def _bytes(device: GuardTarget) -> float:
    size = device.scalar("bytes")
    return float(size) if isinstance(size, int) else 0.0


def in_flight(document: Document) -> float:
    """Return the average number of requests in flight: rate times mean latency, summed over all jobs and directions
    (Little, Operations Research 9(3), 1961)."""
    return sum(
        part.ios / (part.runtime_ms / 1000.0) * part.lat.mean_ns * NS
        for job in document.jobs
        for part in job.directions.values()
        if part.runtime_ms
    )


def little_holds(document: Document, depth: int) -> bool:
    """Return whether `depth` requests were in flight on average.

    Requests that are in flight at the start or end of the measured time contribute only part of their latency: on
    average, their remaining time, E[L^2] / 2E[L]. A job handles one completion at a time and has one request fewer in
    flight until it has submitted the next one, which takes CPU time.
    """
    seconds = max(1, *(job.runtime_ms for job in document.jobs)) / 1000.0  # fio reports a shorter time as 0 ms
    between = sum(job.cpu_s for job in document.jobs) / seconds
    difference = in_flight(document) - depth
    allowed = depth * (LITTLE_TOLERANCE + (_remaining_s(document) + CLOCK_STEP_S) / seconds)
    return -allowed - between <= difference <= allowed


def _remaining_s(document: Document) -> float:
    """Return the mean remaining time of a request in flight, in seconds, for both ends of the run combined: E[L^2] /
    E[L]."""
    parts = [part for job in document.jobs for part in job.directions.values()]
    first = sum(part.ios * part.lat.mean_ns for part in parts)
    second = sum(part.ios * (part.lat.mean_ns**2 + part.lat.stddev_ns**2) for part in parts)
    return second / first * NS if first else 0.0


def _any_shallow(params: FioParams, document: Document, facts: HostFacts) -> bool:
    """Return whether fio recorded a queue depth below `iodepth`. fio samples the depth at each submission and groups
    the samples by powers of two."""
    jobs = iter(document.jobs)
    for _, section in sections_of(params):
        own = list(islice(jobs, section.numjobs))
        keeps_depth = section.keeps_depth and chosen_engine(section, facts) not in SYNCHRONOUS
        if keeps_depth and any(is_shallow(job, section.iodepth) for job in own):
            return True
    return False


def is_shallow(job: JobResult, iodepth: int) -> bool:
    """Return whether a job issued too few requests at full depth, or False if it had so few requests that the first
    ones, which find the queue empty, are not negligible."""
    full = min(_DEEPEST, 1 << (iodepth.bit_length() - 1))
    many = sum(part.ios for part in job.directions.values()) >= _MANY * iodepth
    shares = ((int(level.strip("><=")), share) for level, share in job.depth_shares.items())
    return many and sum(share for level, share in shares if level >= full) < _DEEP_PERCENT


def submission_blocks(document: Document, depth: int) -> bool:
    """Return whether the jobs of an asynchronous engine wait in the call that submits a request. They wait if requests
    are buffered or the block layer's queue is full. The jobs then spend most of their time in submission without using
    a CPU. fio counts these requests as in flight.
    """
    within = sum(part.slat.n * part.slat.mean_ns * NS for job in document.jobs for part in job.directions.values())
    lasted = sum(job.runtime_ms / 1000.0 for job in document.jobs)
    cpu = sum(job.cpu_s for job in document.jobs)
    return depth > len(document.jobs) and within - cpu > _WAITING_SHARE * lasted


def _cpu_flags(params: FioParams, document: Document, cpu: CpuLoad | None, facts: HostFacts) -> dict[str, bool]:
    """Return whether the jobs, or the Linux kernel on their behalf, fully used a CPU, and whether other programs did.

    The Linux kernel's work for the jobs cannot be distinguished from its work for other programs, so only user-space
    time is attributed to other programs.
    """
    seconds = [max(job.runtime_ms, 1) / 1000.0 for job in document.jobs]
    own = [job.cpu_s / lasted for job, lasted in zip(document.jobs, seconds, strict=True)]
    user = sum(job.user_s / lasted for job, lasted in zip(document.jobs, seconds, strict=True))
    cpus = len(used_cpus(params, facts) or facts.cpu.allowed or facts.cpu.online) or len(own)
    limit = _BUSY_SHARED if cpus < len(own) else _BUSY
    used_up = max(own) > _BUSY or sum(own) > limit * min(cpus, len(own))
    busy = cpu is not None and cpu.busiest > 100.0 * limit
    foreign = (
        cpu is not None and cpu.user_cpus - user > _FOREIGN_CPUS and cpu.used_user_cpus - user > _FOREIGN_NEAR_CPUS
    )
    return {"host-limited": used_up or (busy and not foreign), "foreign-cpu": busy and foreign}


def rate_changes(course: Sequence[tuple[float, float]]) -> list[Changepoint]:
    """Return the changes in rate during a run. `course` contains (second, ops/s) pairs in chronological order."""
    if not course or course[-1][0] - course[0][0] < _LEAST_S - 1.0:
        return []
    return changes([rate for _, rate in course], LEAST_CHANGE)


def point_flags(
    params: FioParams, document: Document, guard: GuardOutput, coverage: Coverage, cpu: CpuLoad | None, facts: HostFacts
) -> tuple[str, ...]:
    """Return the flags that apply to all values for the point."""
    ended_early = bool(guard.stopped) or params.io_size is not None
    shortest_ms = min(job.runtime_ms for job in document.jobs)
    depth = effective_depth(params, facts)
    keeps_depth = not any(section.paced or section.syncs for _, section in sections_of(params))
    sizes = [[_bytes(device) for device in devices] for devices in (guard.before, guard.after)]
    found = {
        "littles-law": keeps_depth and not little_holds(document, depth),
        "depth-not-honoured": depth < sum(section.requested_depth for _, section in sections_of(params)),
        "depth-not-reached": _any_shallow(params, document, facts),
        "depth-rounded": any(is_rounded(section, facts) for _, section in sections_of(params)),
        "submission-blocks": submission_blocks(document, depth),
        "short-runtime": not ended_early and shortest_ms < _SHORTEST_SHARE * params.duration * 1000.0,
        "short-ios": has_faulty(document),
        "not-from-device": coverage.missing,
        "target-shrank": any(after < before for before, after in zip(*sizes, strict=False)),
        "memory-filesystem": params.makes_file and facts.work_filesystem in _MEMORY_FILESYSTEMS,
        **_cpu_flags(params, document, cpu, facts),
        "throttled": throttled(guard.drives, guard.members_after or guard.after),
        "little-unchecked": not keeps_depth,
        f"coverage-{coverage.why}": bool(coverage.why),
    }
    found |= dict.fromkeys(raid_flags(guard), True)
    return judged((*(name for name, holds in found.items() if holds), *brief_flags(document)))


def has_faulty(document: Document) -> bool:
    """Return whether any requests were incomplete or dropped."""
    return any(part.faulty_ios for job in document.jobs for part in job.directions.values())


def brief_flags(document: Document) -> tuple[str, ...]:
    """Return the flags for a run that is too short to be useful."""
    return ("noisy", "brief-run") if max(job.runtime_ms for job in document.jobs) < _BRIEF_S * 1000.0 else ()


def judged(flags: tuple[str, ...]) -> tuple[str, ...]:
    """Return the flags, preceded by `invalid` if one of them invalidates the values."""
    return flags if _INVALIDATING.isdisjoint(flags) else ("invalid", *flags)
