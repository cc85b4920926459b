"""The settings that every benchmark on fio shares, with the names of ASCT and fio's own as aliases."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BeforeValidator, StringConstraints

from asct.instruments.fio.jobfile import written
from asct.sdk.params import Count, Duration, Params, Rate, Size, listed, setting
from asct.values.cpulist import parse_cpulist

Form = Literal["plain", "time"]


def passed(
    default: Any,
    help: str,
    option: str,
    *,
    form: Form = "plain",
    engines: tuple[str, ...] = (),
    aliases: tuple[str, ...] = (),
    **bounds: Any,
) -> Any:
    """Declare a setting that becomes the option `option` of fio; it is omitted while it is None.

    `form` "time" is a Duration, which fio reads with its unit. `engines` are those that support the option; empty: all.
    """
    field = setting(default, help, aliases=aliases, **bounds)
    field.json_schema_extra["fio"] = {"option": option, "form": form, "engines": list(engines)}
    return field


@cache
def option_of(params: type[Params], name: str) -> Mapping[str, Any] | None:
    """How fio spells the setting `name` (keys option, form, engines); None for a setting that asct computes."""
    extra = params.model_fields[name].json_schema_extra
    found = extra.get("fio") if isinstance(extra, dict) else None
    return found if isinstance(found, dict) else None


def passed_options(params: Params) -> dict[str, str]:
    """Every such setting that was given, by fio's name, in the order of declaration."""
    found: dict[str, str] = {}
    for name in type(params).model_fields:
        how, value = option_of(type(params), name), getattr(params, name)
        if how is not None and value is not None:
            found[str(how["option"])] = _written(value, str(how["form"]))
    return found


def _written(value: Any, form: str) -> str:
    """fio reads sizes as plain counts, and a time without a unit in one that depends on the option."""
    return f"{max(1, round(value * 1e6))}us" if form == "time" else written(value)


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
SPLIT_FORM = "size/percent:size/percent, for writes after a comma"


class QueueParams(Params):
    """The settings for submitting and collecting requests."""

    iodepth_batch_complete_min: Count | None = passed(
        None,
        "Minimum number of completions to collect at once; 0 polls",
        "iodepth_batch_complete_min",
        aliases=("iodepth_batch_complete",),
        le=65536,
    )
    iodepth_batch_complete_max: Count | None = passed(
        None, "Maximum number of completions to collect at once", "iodepth_batch_complete_max", ge=1, le=65536
    )
    iodepth_low: Count | None = passed(
        None, "Queue depth below which new requests are submitted", "iodepth_low", ge=1, le=65536
    )
    io_submit_mode: Literal["inline", "offload"] | None = passed(
        None, "Submit requests from the job's thread or from separate threads", "io_submit_mode"
    )
    thread: Checked = passed(None, "Use threads instead of processes", "thread")
    hipri: Checked = passed(None, "Poll for completions", "hipri", engines=("io_uring", "pvsync2"))
    fixedbufs: Checked = passed(None, "Register buffers with the kernel in advance", "fixedbufs", engines=("io_uring",))
    registerfiles: Checked = passed(
        None, "Register files with the kernel in advance", "registerfiles", engines=("io_uring",)
    )
    sqthread_poll: Checked = passed(
        None, "Let a kernel thread poll for submissions", "sqthread_poll", engines=("io_uring",)
    )
    nonvectored: Checked = passed(None, "Use non-vectored requests", "nonvectored", engines=("io_uring",))


class RateParams(Params):
    """Rate at which requests are issued. With any of these the depth is not held, so Little's law does not apply."""

    rate: Size | None = passed(None, "Maximum bytes per second per job", "rate", ge=1)
    rate_iops: Rate | None = passed(None, "Maximum IOPS per job", "rate_iops", ge=1)
    rate_process: Literal["linear", "poisson"] | None = passed(
        None, "Issue rate-limited requests at regular or at random intervals", "rate_process"
    )
    thinktime: Duration | None = passed(None, "Pause of a job between requests", "thinktime", form="time")
    thinktime_spin: Duration | None = passed(
        None, "Part of thinktime spent computing instead of sleeping", "thinktime_spin", form="time"
    )
    thinktime_blocks: Count | None = passed(None, "Number of requests before each thinktime", "thinktime_blocks", ge=1)
    latency_target: Duration | None = passed(
        None, "Latency target: fio searches for the largest queue depth that meets it", "latency_target", form="time"
    )
    latency_window: Duration | None = passed(
        None, "Time over which latency_target is evaluated", "latency_window", form="time"
    )
    latency_percentile: float | None = passed(
        None, "Percentage of requests that must meet latency_target", "latency_percentile", gt=0, le=100
    )

    @property
    def paced(self) -> bool:
        """Whether something other than the completion of requests determines when the next one is issued."""
        return any(value is not None for value in (self.rate, self.rate_iops, self.thinktime, self.latency_target))


class OffsetParams(Params):
    """The settings for the offsets and sizes of requests."""

    offset: Size = passed(0, "Bytes at the start of the target to skip", "offset")
    random_distribution: Annotated[Share, StringConstraints(pattern=_DISTRIBUTION)] | None = passed(
        None,
        "Distribution of random offsets: random, zipf:1.2, pareto:0.9, normal:10 or zoned:share/size% and so on",
        "random_distribution",
    )
    percentage_random: Count | None = passed(
        None, "Percentage of requests of a random pattern with random offsets", "percentage_random", le=100
    )
    norandommap: bool = passed(True, "Choose random offsets without tracking which ones were used", "norandommap")
    random_generator: Literal["tausworthe", "lfsr", "tausworthe64"] | None = passed(
        None, "Random generator for offsets", "random_generator"
    )
    bssplit: Annotated[Share, StringConstraints(pattern=_SPLIT)] | None = passed(
        None, f"Request sizes and their shares, instead of block_size: {SPLIT_FORM}", "bssplit"
    )
    blockalign: Size | None = passed(None, "Alignment of random requests", "ba", aliases=("ba",), ge=512)
    zonemode: Literal["none", "strided", "zbd"] | None = passed(
        None, "Access zone by zone: strided, or the zones of a zoned device", "zonemode"
    )
    zonesize: Size | None = passed(None, "Bytes of a zone", "zonesize", ge=512)
    zonerange: Size | None = passed(
        None, "Bytes from the start of a zone to the start of the next", "zonerange", ge=512
    )
    zoneskip: Size | None = passed(None, "Bytes to skip after each zone", "zoneskip")
    max_open_zones: Count | None = passed(None, "Maximum number of open zones, all jobs combined", "max_open_zones")
    job_max_open_zones: Count | None = passed(None, "Maximum number of open zones per job", "job_max_open_zones")


class DataParams(Params):
    """Content, durability and verification of writes. Buffers contain zeros only if requested."""

    sync: Literal["none", "sync", "dsync"] | None = passed(None, "Open the target with O_SYNC or O_DSYNC", "sync")
    fsync: Count | None = passed(None, "Call fsync after this many writes", "fsync", ge=1)
    fdatasync: Count | None = passed(None, "Call fdatasync after this many writes", "fdatasync", ge=1)
    end_fsync: Checked = passed(None, "Call fsync at the end of the run", "end_fsync")
    refill_buffers: Checked = passed(None, "Generate new random content for each write", "refill_buffers")
    zero_buffers: Checked = passed(None, "Write zeros", "zero_buffers")
    buffer_compress_percentage: Count | None = passed(
        None, "Compressibility of the content in percent", "buffer_compress_percentage", le=100
    )
    buffer_compress_chunk: Size | None = passed(
        None, "Size of the alternating blocks of compressible and random content", "buffer_compress_chunk", ge=512
    )
    dedupe_percentage: Count | None = passed(
        None, "Percentage of requests with duplicate content", "dedupe_percentage", le=100
    )
    buffer_pattern: Annotated[Share, StringConstraints(pattern=_PATTERN)] | None = passed(
        None, "Content of every write, as 0x and hexadecimal digits", "buffer_pattern"
    )
    verify: VerifyMode | None = passed(None, "Verify written data on reading, with this checksum", "verify")
    verify_backlog: Count | None = passed(None, "Verify after this many writes", "verify_backlog", ge=1)
    verify_interval: Size | None = passed(None, "Bytes between verification headers", "verify_interval", ge=32)
    verify_pattern: Annotated[Share, StringConstraints(pattern=_PATTERN)] | None = passed(
        None, "Content to verify against, as 0x and hexadecimal digits", "verify_pattern"
    )

    @property
    def syncs(self) -> bool:
        """Whether writes wait for the drive in addition to their own completion."""
        return bool(self.fsync or self.fdatasync or self.verify or self.sync in ("sync", "dsync"))


class HostParams(Params):
    """The settings for running the jobs on the host."""

    nice: int | None = passed(None, "Nice value of the jobs", "nice", ge=-20, le=19)
    prio: Count | None = passed(None, "I/O priority of the requests; 0 is the highest", "prio", le=7)
    prioclass: Count | None = passed(
        None, "I/O priority class: 1 real time, 2 best effort, 3 idle", "prioclass", ge=1, le=3
    )


Pattern = Literal[
    "read", "write", "randread", "randwrite", "rw", "randrw", "trim", "randtrim", "trimwrite", "randtrimwrite"
]
Engine = Literal["auto", "io_uring", "libaio", "posixaio", "psync", "pvsync2", "sync", "mmap"]

DEFAULT_FILE_BYTES: Final = 1000 * 2**20
"""Size of the temporary file when `filesize` is not set (ASCT's default)."""
SCRATCH_NAME: Final = "scratch.dat"
SYNCHRONOUS: Final = frozenset({"psync", "pvsync2", "sync", "mmap"})
"""Engines that keep one request in flight per job, independent of `iodepth`."""


def _pattern(value: object) -> object:
    """fio's long spelling of a mixed sequential pattern."""
    return "rw" if value == "readwrite" else value


def _as_text(value: object) -> object:
    """One CPU as a list of one."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _cpu_choice(text: str) -> str:
    """`auto`, `all`, or a list that reads. Raises ValueError for anything else."""
    if text not in ("auto", "all") and not parse_cpulist(text):
        raise ValueError("is not a list of CPUs; write auto, all, or a list such as 0-3,8")
    return text


def _paths(value: object) -> object:
    """One path as a list of one. Colons and commas are parts of a name and separate nothing."""
    return [value] if isinstance(value, str) else value


AccessPattern = Annotated[Pattern, BeforeValidator(_pattern)]
"""One access pattern, in fio's long spelling as well."""
Paths = Annotated[tuple[str, ...], BeforeValidator(_paths)]
"""Paths of files or devices; one path as text. Colons and commas are part of a name and do not separate names."""
Counts = Annotated[tuple[Count, ...], BeforeValidator(listed)]
"""A list of whole numbers; `4,5,6` as text."""


class PointParams(Params):
    """The settings of every point."""

    duration: Duration = setting(
        60.0,
        "Measured time per point",
        aliases=("runtime",),
        gt=0,
        le=30 * 86400,
        pitfalls="Below 2s, mpstat has no complete sample within the run; p99_99 requires 100,000 requests.",
    )
    ramp_time: Duration = setting(
        0.0, "Time of load before the measurement, per point", aliases=("ramp", "warmup_time"), le=86400
    )
    block_size: Size = setting(4096, "Bytes per request", aliases=("blocksize", "bs"), ge=512, le=2**30)
    filesize: Size | None = setting(
        None,
        "Bytes of the target to use; unset: 1000 MiB for a temporary file, the whole of a named target",
        aliases=("size",),
        pitfalls="With a file smaller than the caches of the drive, the benchmark measures these caches.",
    )
    file_names: Paths = setting(
        (),
        "Existing files or devices to measure, as absolute paths",
        aliases=("filenames", "filename", "file_name"),
        pitfalls="Reads of a sparse file come from memory: fill it first.",
    )
    rw: AccessPattern = setting("randread", "Access pattern", aliases=("rw_pattern", "readwrite"))
    rwmixread: Count = setting(70, "Percentage of reads in a mixed pattern", le=100)
    engine: Engine = setting(
        "auto",
        "I/O engine; auto: io_uring, libaio or psync, whichever the host permits",
        aliases=("ioengine",),
        pitfalls="psync, pvsync2 and sync keep only one request in flight per job.",
    )
    iodepth: Count = setting(16, "Queue depth per job", aliases=("io_depth", "queue_depth"), ge=1, le=65536)
    iodepth_batch: Count = setting(
        1, "Requests submitted at once, at most iodepth", aliases=("iodepth_batch_submit",), ge=1, le=65536
    )
    numjobs: Count = setting(4, "Number of identical concurrent processes", ge=1, le=1024)
    io_size: Size | None = setting(
        None,
        "End the point after this many bytes, all jobs combined; duration is then the time limit",
        aliases=("io_limit", "volume"),
        ge=512,
    )
    cpus: Annotated[str, AfterValidator(_cpu_choice), BeforeValidator(_as_text)] = setting(
        "auto",
        "CPUs of the jobs: auto (one per job, near the drive), all, or a list such as 0-3,8",
        aliases=("cpus_allowed",),
    )
    memory_node: Count | None = setting(
        None, "NUMA node of the buffers; unset: the node on which the job runs", aliases=("numa_mem_policy",), le=1023
    )
    direct: bool = setting(
        True,
        "Bypass the page cache (O_DIRECT)",
        pitfalls="Without it, the benchmark measures memory instead of the drive.",
    )
    create_temp_file: bool | None = setting(
        None, "Use a temporary file in the work folder; on unless file_names is set"
    )
    overwrite: bool = setting(False, "Consent to overwrite the content of the existing regular files in file_names")
    seed: Count = setting(1, "Seed of the random offsets", aliases=("randseed",), le=2**32 - 1)


class FioParams(HostParams, DataParams, RateParams, QueueParams, OffsetParams, PointParams):
    """Settings of one point of fio. A benchmark derives from it and adds its `*_sweep_steps`."""

    options: dict[str, str | int | float | bool] = setting(
        {}, "Further fio options that only affect the requests, by their fio names"
    )
    job_file: str = setting(
        "",
        "Text of a fio job file whose sections run at the same time; its options correspond to asct settings",
        max_length=20_000,
    )

    @property
    def makes_file(self) -> bool:
        """Whether the point works on the temporary file of its job."""
        return self.create_temp_file if self.create_temp_file is not None else not self.file_names

    @property
    def span_bytes(self) -> int | None:
        """Number of bytes of the target that all jobs use together; None means the whole of a named target."""
        return DEFAULT_FILE_BYTES if self.filesize is None and self.makes_file else self.filesize

    @property
    def writes(self) -> bool:
        """Whether the pattern may change the target; a mixed one counts, also with 100 % reads, and so does trim."""
        return self.rw not in ("read", "randread")

    @property
    def trims(self) -> bool:
        """Whether the pattern discards blocks."""
        return "trim" in self.rw

    @property
    def mixed(self) -> bool:
        """Whether the pattern reads and writes."""
        return self.rw in ("rw", "randrw")

    @property
    def sequential(self) -> bool:
        """Whether offsets ascend."""
        return not self.rw.startswith("rand")

    @property
    def keeps_depth(self) -> bool:
        """Whether a new request is made as soon as one is complete."""
        return not (self.paced or self.syncs or self.iodepth_batch > 1 or self.iodepth_low)

    @property
    def requested_depth(self) -> int:
        """Requests in flight that the settings ask for, all jobs combined."""
        return self.iodepth * self.numjobs
