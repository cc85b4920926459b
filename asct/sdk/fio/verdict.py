"""What speaks against a point: flags, each a word that the README of the benchmark explains."""

from __future__ import annotations

from typing import Final

from asct.sdk.facts import HostFacts
from asct.sdk.fio.cpu_load import ENOUGH_ROWS, CpuLoad
from asct.sdk.fio.document import DIRECTIONS, Document
from asct.sdk.fio.engines import chosen_engine, depth_is_lost, effective_depth
from asct.sdk.fio.histogram import NS
from asct.sdk.fio.params import FioParams

LITTLE_TOLERANCE: Final = 0.05
_SHORTEST_SHARE: Final = 0.95
_BUSY_PERCENT: Final = 90.0
_LEAST_DEVICE_SHARE: Final = 0.5
_MEMORY_FILESYSTEMS: Final = frozenset({"tmpfs", "ramfs", "devtmpfs"})

_INVALIDATING: Final = frozenset({"littles-law", "depth-not-honoured", "short-runtime", "short-ios"})
"""With these the figures are not those of the point that was asked for."""

FLAGS: Final = {
    "invalid": "the figures are not those of the settings beside them, for the reason that the other flags tell",
    "littles-law": "rate times latency is not the queue depth: the depth was not kept, or the figures do not fit",
    "depth-not-honoured": "the engine keeps one request in flight per job; iodepth had no effect",
    "short-runtime": "fio measured less than 95 % of duration",
    "short-ios": "some requests came back short or were dropped",
    "not-from-device": "the drive saw less than half of the reads: a sparse file, or the page cache",
    "memory-filesystem": "the temporary file lies in memory (tmpfs)",
    "host-limited": "one CPU was over 90 % busy: the host may be the limit, not the drive",
    "few-cpu-samples": "less than 3 samples of mpstat lie within the run",
    "not-enough-ios": "the highest percentiles are left out: fewer than 10 requests lie above them",
}


def in_flight(document: Document) -> float:
    """Requests in flight on average: rate times mean latency (Little, Operations Research 9(3), 1961), summed."""
    return sum(
        part.ios / (part.runtime_ms / 1000.0) * part.lat.mean_ns * NS
        for job in document.jobs
        for part in job.directions.values()
        if part.ios and part.runtime_ms
    )


def point_flags(params: FioParams, document: Document, facts: HostFacts, cpu: CpuLoad | None) -> tuple[str, ...]:
    """Flags for every value of the point."""
    engine = chosen_engine(params, facts)
    expected = effective_depth(params, engine)
    found = {
        "littles-law": abs(in_flight(document) / expected - 1.0) > LITTLE_TOLERANCE,
        "depth-not-honoured": depth_is_lost(params, engine),
        "short-runtime": min(job.runtime_ms for job in document.jobs) < _SHORTEST_SHARE * params.duration * 1000.0,
        "short-ios": any(job.directions[name].faulty_ios for job in document.jobs for name in DIRECTIONS),
        "not-from-device": _from_memory(document),
        "memory-filesystem": params.makes_file and facts.work_filesystem in _MEMORY_FILESYSTEMS,
        "host-limited": cpu is not None and cpu.busiest > _BUSY_PERCENT,
    }
    flags = tuple(name for name, holds in found.items() if holds)
    past_the_drive = params.direct and "not-from-device" in flags
    return ("invalid", *flags) if past_the_drive or not _INVALIDATING.isdisjoint(flags) else flags


def cpu_flags(cpu: CpuLoad) -> tuple[str, ...]:
    """Flags for the cpu_* values."""
    return ("few-cpu-samples",) if cpu.rows < ENOUGH_ROWS else ()


def _from_memory(document: Document) -> bool:
    """Whether the block devices saw far fewer reads than fio did. fio counts them a little low, never by half."""
    reads = sum(job.directions["read"].ios for job in document.jobs)
    return document.device_reads is not None and document.device_reads < _LEAST_DEVICE_SHARE * reads
