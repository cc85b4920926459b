"""The settings of fio beyond those that every point has, by theme. None leaves fio its own default."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import StringConstraints

from asct.instruments.fio.passing import passed
from asct.sdk.params import Count, Duration, Params, Rate, Size

Share = Annotated[str, StringConstraints(max_length=500)]
_SPLIT = r"^[0-9]+[kKmMgG]?/[0-9]*(:[0-9]+[kKmMgG]?/[0-9]*)*(,[0-9]+[kKmMgG]?/[0-9]*(:[0-9]+[kKmMgG]?/[0-9]*)*)*$"
_DISTRIBUTION = (
    r"^(random|(zipf|pareto|normal):[0-9.]+(:[0-9.]+)?"
    r"|zoned(_abs)?:[0-9.]+/[0-9]+[kKmMgGtT]?(:[0-9.]+/[0-9]+[kKmMgGtT]?)*)$"
)
_PATTERN = r"^0x[0-9a-fA-F]+$"
VerifyMode = Literal[
    "md5", "crc64", "crc32", "crc32c", "crc16", "crc7", "sha1", "sha256", "sha512", "sha3-224", "sha3-256", "sha3-384",
    "sha3-512", "xxhash", "meta", "pattern", "null",
]  # fmt: skip
Checked = bool | None
SPLIT_FORM = "size/percent:size/percent, that of writes after a comma"


class QueueParams(Params):
    """How requests are handed over and collected."""

    iodepth_batch_complete_min: Count | None = passed(
        None,
        "Requests collected at once at least; 0 polls",
        "iodepth_batch_complete_min",
        aliases=("iodepth_batch_complete",),
        le=65536,
    )
    iodepth_batch_complete_max: Count | None = passed(
        None, "Requests collected at once at most", "iodepth_batch_complete_max", ge=1, le=65536
    )
    iodepth_low: Count | None = passed(
        None, "Requests in flight below which new ones are handed over", "iodepth_low", ge=1, le=65536
    )
    io_submit_mode: Literal["inline", "offload"] | None = passed(
        None, "Hand over from the thread itself or from threads beside it", "io_submit_mode"
    )
    thread: Checked = passed(None, "Threads instead of processes", "thread")
    hipri: Checked = passed(None, "Poll for completions", "hipri", engines=("io_uring", "pvsync2"))
    fixedbufs: Checked = passed(None, "Buffers known to the kernel in advance", "fixedbufs", engines=("io_uring",))
    registerfiles: Checked = passed(
        None, "Files known to the kernel in advance", "registerfiles", engines=("io_uring",)
    )
    sqthread_poll: Checked = passed(
        None, "A thread of the kernel looks for requests", "sqthread_poll", engines=("io_uring",)
    )
    nonvectored: Checked = passed(None, "Requests without a vector", "nonvectored", engines=("io_uring",))


class RateParams(Params):
    """How fast requests are made. With any of these the depth is not kept, so Little's law says nothing."""

    rate: Size | None = passed(None, "Bytes per second and job at most", "rate", ge=1)
    rate_iops: Rate | None = passed(None, "Requests per second and job at most", "rate_iops", ge=1)
    rate_process: Literal["linear", "poisson"] | None = passed(
        None, "Requests at even or at random intervals, when the rate is bounded", "rate_process"
    )
    thinktime: Duration | None = passed(None, "Pause of a job after its requests", "thinktime", form="time")
    thinktime_spin: Duration | None = passed(
        None, "Part of thinktime that computes instead of sleeping", "thinktime_spin", form="time"
    )
    thinktime_blocks: Count | None = passed(None, "Requests before each thinktime", "thinktime_blocks", ge=1)
    latency_target: Duration | None = passed(
        None, "Latency to keep: fio looks for the greatest depth that does", "latency_target", form="time"
    )
    latency_window: Duration | None = passed(
        None, "Time over which latency_target is judged", "latency_window", form="time"
    )
    latency_percentile: float | None = passed(
        None, "Percent of the requests that must keep latency_target", "latency_percentile", gt=0, le=100
    )

    @property
    def paced(self) -> bool:
        """Whether something other than the completion of requests says when the next one is made."""
        return any(value is not None for value in (self.rate, self.rate_iops, self.thinktime, self.latency_target))


class PlaceParams(Params):
    """Where requests go, and how large they are."""

    offset: Size = passed(0, "Bytes at the begin of the target that are left out", "offset")
    random_distribution: Annotated[Share, StringConstraints(pattern=_DISTRIBUTION)] | None = passed(
        None,
        "Which places random requests prefer: random, zipf:1.2, pareto:0.9, normal:10 or zoned:share/size% and so on",
        "random_distribution",
    )
    percentage_random: Count | None = passed(
        None, "Percent of the requests of a random pattern that go to random places", "percentage_random", le=100
    )
    norandommap: bool = passed(True, "Draw places without a map of those that were used", "norandommap")
    random_generator: Literal["tausworthe", "lfsr", "tausworthe64"] | None = passed(
        None, "Generator of the random places", "random_generator"
    )
    bssplit: Annotated[Share, StringConstraints(pattern=_SPLIT)] | None = passed(
        None, f"Sizes of requests and their shares instead of block_size: {SPLIT_FORM}", "bssplit"
    )
    blockalign: Size | None = passed(None, "Multiple at which random requests begin", "ba", aliases=("ba",), ge=512)
    zonemode: Literal["none", "strided", "zbd"] | None = passed(
        None, "Work zone by zone: strided, or the zones of a zoned device", "zonemode"
    )
    zonesize: Size | None = passed(None, "Bytes of a zone", "zonesize", ge=512)
    zonerange: Size | None = passed(None, "Bytes from a zone's begin to the next one's", "zonerange", ge=512)
    zoneskip: Size | None = passed(None, "Bytes left out after each zone", "zoneskip")
    max_open_zones: Count | None = passed(None, "Zones open at once, all jobs together", "max_open_zones")
    job_max_open_zones: Count | None = passed(None, "Zones open at once, per job", "job_max_open_zones")


class DataParams(Params):
    """What is written, how it is made durable, and how it is checked. Buffers are never zero unless asked for."""

    sync: Literal["none", "sync", "dsync"] | None = passed(None, "Open the target O_SYNC or O_DSYNC", "sync")
    fsync: Count | None = passed(None, "Writes after which fsync is called", "fsync", ge=1)
    fdatasync: Count | None = passed(None, "Writes after which fdatasync is called", "fdatasync", ge=1)
    end_fsync: Checked = passed(None, "Call fsync at the end of the run", "end_fsync")
    refill_buffers: Checked = passed(None, "New random content for each write", "refill_buffers")
    zero_buffers: Checked = passed(None, "Write zeros", "zero_buffers")
    buffer_compress_percentage: Count | None = passed(
        None, "Percent by which the content can be compressed", "buffer_compress_percentage", le=100
    )
    buffer_compress_chunk: Size | None = passed(
        None, "Bytes in which compressible and random content take turns", "buffer_compress_chunk", ge=512
    )
    dedupe_percentage: Count | None = passed(
        None, "Percent of the requests with content that was written before", "dedupe_percentage", le=100
    )
    buffer_pattern: Annotated[Share, StringConstraints(pattern=_PATTERN)] | None = passed(
        None, "Content of every write, as 0x and hexadecimal digits", "buffer_pattern"
    )
    verify: VerifyMode | None = passed(None, "Check what was written when it is read, by this checksum", "verify")
    verify_backlog: Count | None = passed(None, "Writes after which they are checked", "verify_backlog", ge=1)
    verify_interval: Size | None = passed(None, "Bytes between headers of the check", "verify_interval", ge=32)
    verify_pattern: Annotated[Share, StringConstraints(pattern=_PATTERN)] | None = passed(
        None, "Content to check against, as 0x and hexadecimal digits", "verify_pattern"
    )

    @property
    def syncs(self) -> bool:
        """Whether writes wait for the drive beside their own completion."""
        return bool(self.fsync or self.fdatasync or self.verify or self.sync in ("sync", "dsync"))


class HostParams(Params):
    """Where and how the jobs run on the host."""

    nice: int | None = passed(None, "Niceness of the jobs", "nice", ge=-20, le=19)
    prio: Count | None = passed(None, "Priority of the requests, 0 is the highest", "prio", le=7)
    prioclass: Count | None = passed(
        None, "Class of the requests: 1 real time, 2 best effort, 3 idle", "prioclass", ge=1, le=3
    )
