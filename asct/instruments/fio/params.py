"""The settings shared by all fio benchmarks. The names used by Arm's ASCT and by fio are aliases."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, StringConstraints

from asct.instruments.fio.jobfile import option_hint, option_text
from asct.instruments.fio.raid import RaidParams
from asct.sdk.params import Count, Duration, Params, Rate, Size, setting
from asct.values.cpulist import parse_cpulist


def passed(
    help: str,
    *,
    default: Any = None,
    option: str = "",
    time: bool = False,
    engines: tuple[str, ...] = (),
    aliases: tuple[str, ...] = (),
    **bounds: Any,
) -> Any:
    """Declare a setting that is passed to fio as an option unless it is None.

    `option` is the option name, by default the setting name. `time` marks a Duration, which is passed with its unit.
    `engines` lists the engines that support the option; if it is empty, all of them do.
    """
    field = setting(default, help, aliases=aliases, **bounds)
    field.json_schema_extra["fio"] = {"option": option, "time": time, "engines": list(engines)}
    return field


@cache
def option_of(params: type[Params], name: str) -> Mapping[str, Any] | None:
    """Return how the setting `name` is passed to fio (keys `option`, `time`, `engines`), or None if it is not a fio
    option."""
    extra = params.model_fields[name].json_schema_extra
    found = extra.get("fio") if isinstance(extra, dict) else None
    return found | {"option": found["option"] or name} if isinstance(found, dict) else None


def passed_options(params: Params, engine: str) -> dict[str, str]:
    """Return the fio options for all settings that have a value and that `engine` supports. The keys are fio's names,
    in order of declaration.

    Times include their unit, because fio's default unit depends on the option.
    """
    found: dict[str, str] = {}
    for name in type(params).model_fields:
        how, value = option_of(type(params), name), getattr(params, name)
        if how is not None and value is not None and engine in (how["engines"] or [engine]):
            found[how["option"]] = f"{max(1, round(value * 1e6))}us" if how["time"] else option_text(value)
    return found


_SPLIT = r"^[0-9]+[kKmMgG]?/[0-9]*(:[0-9]+[kKmMgG]?/[0-9]*)*(,[0-9]+[kKmMgG]?/[0-9]*(:[0-9]+[kKmMgG]?/[0-9]*)*)*$"
_DISTRIBUTION = (
    r"^(random|(zipf|pareto|normal):[0-9.]+(:[0-9.]+)?"
    r"|zoned(_abs)?:[0-9.]+/[0-9]*[kKmMgGtT]?(:[0-9.]+/[0-9]*[kKmMgGtT]?)*)$"
)
Distribution = Annotated[str, StringConstraints(max_length=500, pattern=_DISTRIBUTION)]
Split = Annotated[str, StringConstraints(max_length=500, pattern=_SPLIT)]
HexContent = Annotated[str, StringConstraints(max_length=500, pattern=r"^0x[0-9a-fA-F]+$")]
VerifyMode = Literal[
    "md5", "crc64", "crc32", "crc32c", "crc16", "crc7", "sha1", "sha256", "sha512", "sha3-224", "sha3-256", "sha3-384",
    "sha3-512", "xxhash", "meta", "pattern", "null",
]  # fmt: skip


class QueueParams(Params):
    """The settings for submitting and collecting requests."""

    iodepth_batch_complete_min: Count | None = passed(
        "Minimum number of completions to collect at once; 0 means polling",
        aliases=("iodepth_batch_complete",),
        le=65536,
    )
    iodepth_batch_complete_max: Count | None = passed(
        "Maximum number of completions to collect at once", ge=1, le=65536
    )
    iodepth_low: Count | None = passed("Queue depth below which new requests are submitted", ge=1, le=65536)
    io_submit_mode: Literal["inline", "offload"] | None = passed(
        "Submit requests from the job's thread or from separate threads"
    )
    thread: bool | None = passed("Use threads instead of processes")
    hipri: bool | None = passed("Poll for completions", engines=("io_uring", "pvsync2"))
    fixedbufs: bool | None = passed("Register buffers with the Linux kernel in advance", engines=("io_uring",))
    registerfiles: bool | None = passed("Register files with the Linux kernel in advance", engines=("io_uring",))
    sqthread_poll: bool | None = passed("Let a Linux kernel thread poll for submissions", engines=("io_uring",))
    nonvectored: bool | None = passed("Use non-vectored requests", engines=("io_uring",))


class RateParams(Params):
    """The settings that limit the rate of requests. They change the queue depth, so Little's law does not apply."""

    rate: Size | None = passed("Maximum bytes per second per job", ge=1)
    rate_iops: Rate | None = passed("Maximum IOPS per job", ge=1)
    rate_process: Literal["linear", "poisson"] | None = passed(
        "Issue rate-limited requests at regular or at random intervals"
    )
    thinktime: Duration | None = passed("Pause between a job's requests", time=True)
    thinktime_spin: Duration | None = passed("Part of `thinktime` spent computing instead of sleeping", time=True)
    thinktime_blocks: Count | None = passed("Number of requests before each pause of `thinktime`", ge=1)
    latency_target: Duration | None = passed(
        "Latency target: fio searches for the largest queue depth that meets it", time=True
    )
    latency_window: Duration | None = passed("Time over which `latency_target` is evaluated", time=True)
    latency_percentile: float | None = passed("Percentage of requests that must meet `latency_target`", gt=0, le=100)

    @property
    def paced(self) -> bool:
        """Whether any setting holds back requests even when earlier ones have completed."""
        return any(value is not None for value in (self.rate, self.rate_iops, self.thinktime, self.latency_target))


class OffsetParams(Params):
    """The settings for the offsets and sizes of requests."""

    offset: Size = passed("Bytes to skip at the start of the target", default=0)
    random_distribution: Distribution | None = passed(
        "Distribution of random offsets, for example `random`, `zipf:1.2`, `pareto:0.9`, `normal:10` or "
        "`zoned:50/5:50/95`"
    )
    percentage_random: Count | None = passed("Percentage of requests with random offsets in a random pattern", le=100)
    norandommap: bool = passed("Choose random offsets without tracking which ones were used", default=True)
    random_generator: Literal["tausworthe", "lfsr", "tausworthe64"] | None = passed(
        "Random number generator for the offsets"
    )
    bssplit: Split | None = passed(
        "Request sizes and their shares, written as `size/percent:size/percent`, instead of `block_size`; a second "
        "list, after a comma, applies to writes"
    )
    blockalign: Size | None = passed("Alignment of random requests", option="ba", aliases=("ba",), ge=512)
    zonemode: Literal["none", "strided", "zbd"] | None = passed(
        "Access the target zone by zone: `strided` uses zones of `zonesize` bytes, `zbd` uses the zones of a zoned "
        "device"
    )
    zonesize: Size | None = passed("Size of a zone", ge=512)
    zonerange: Size | None = passed("Distance in bytes from the start of a zone to the start of the next", ge=512)
    zoneskip: Size | None = passed("Bytes to skip after each zone")
    max_open_zones: Count | None = passed("Maximum number of open zones, all jobs combined")
    job_max_open_zones: Count | None = passed("Maximum number of open zones per job")


class DataParams(Params):
    """The settings for the content, durability and verification of writes."""

    sync: Literal["none", "sync", "dsync"] | None = passed("Open the target with O_SYNC or O_DSYNC")
    fsync: Count | None = passed("Number of writes after which fsync is called", ge=1)
    fdatasync: Count | None = passed("Number of writes after which fdatasync is called", ge=1)
    end_fsync: bool | None = passed("Call fsync at the end of the run")
    refill_buffers: bool | None = passed("Generate new random content for each write")
    zero_buffers: bool | None = passed("Write zeros")
    buffer_compress_percentage: Count | None = passed("Compressibility of the content in percent", le=100)
    buffer_compress_chunk: Size | None = passed(
        "Size of the alternating blocks of compressible and random content", ge=512
    )
    dedupe_percentage: Count | None = passed("Percentage of requests with duplicate content", le=100)
    buffer_pattern: HexContent | None = passed("Content of every write, as `0x` followed by hexadecimal digits")
    verify: VerifyMode | None = passed("Checksum used to verify written data when it is read")
    verify_backlog: Count | None = passed("Number of writes after which data is verified", ge=1)
    verify_interval: Size | None = passed("Bytes between verification headers", ge=32)
    verify_pattern: HexContent | None = passed("Content to verify against, as `0x` followed by hexadecimal digits")

    @property
    def syncs(self) -> bool:
        """Whether jobs sync or verify data after a write completes and before they continue."""
        return bool(self.fsync or self.fdatasync or self.verify or self.sync in ("sync", "dsync"))


class HostParams(Params):
    """The settings for running the jobs on the host."""

    nice: int | None = passed("Nice value for the jobs", ge=-20, le=19)
    prio: Count | None = passed("I/O priority of the requests; 0 is the highest", le=7)
    prioclass: Count | None = passed("I/O priority class: 1 = real time, 2 = best effort, 3 = idle", ge=1, le=3)


Pattern = Literal[
    "read", "write", "randread", "randwrite", "rw", "randrw", "trim", "randtrim", "trimwrite", "randtrimwrite"
]
Engine = Literal["auto", "io_uring", "libaio", "posixaio", "psync", "pvsync2", "sync", "mmap"]

DEFAULT_FILE_BYTES: Final = 1000 * 2**20
"""Size of the temporary file, in bytes, if `filesize` is not set (the default of Arm's ASCT)."""
SCRATCH_NAME: Final = "scratch.dat"
SYNCHRONOUS: Final = frozenset({"psync", "pvsync2", "sync", "mmap"})
"""Engines that keep only one request per job in flight, regardless of `iodepth`."""


def short_pattern(value: object) -> object:
    """Replace fio's long name for the mixed sequential pattern with the short name."""
    return "rw" if value == "readwrite" else value


def _cpu_choice(value: object) -> object:
    """Accept `auto`, `all`, a list of CPUs or a single number. Raises ValueError for anything else."""
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if isinstance(text, str) and text not in ("auto", "all") and not parse_cpulist(text):
        raise ValueError("is not a list of CPUs; write `auto`, `all`, or a list such as `0-3,8`")
    return text


AccessPattern = Annotated[Pattern, BeforeValidator(short_pattern)]
"""An access pattern. fio's long names are also accepted."""
Paths = Annotated[tuple[str, ...], BeforeValidator(lambda value: [value] if isinstance(value, str) else value)]
"""Paths of files or devices. A single path is also accepted; colons and commas in it are part of the name."""
LIKE_FILE_NAMES: Final = (
    "device", "devices", "directory", "disk", "disks", "drive", "drives", "file", "files", "path", "paths", "targets",
)  # fmt: skip
"""Names that other tools use for what asct calls `file_names`."""


class PointParams(Params):
    """The settings that every point uses."""

    duration: Duration = setting(
        60.0,
        "Measured time per point",
        aliases=("runtime",),
        gt=0,
        le=30 * 86400,
        pitfalls="If `duration` is below 2s, mpstat has no complete sample within the run. The p99_99 metrics require "
        "at least 100,000 requests.",
    )
    ramp_time: Duration = setting(
        0.0, "Time under load before the measurement, per point", aliases=("ramp", "warmup_time"), le=86400
    )
    block_size: Size = setting(4096, "Bytes per request", aliases=("blocksize", "bs"), ge=512, le=2**30)
    filesize: Size | None = setting(
        None,
        "Number of bytes of the target to use; if unset, 1000 MiB of a temporary file, or the whole of a named target",
        aliases=("size",),
        pitfalls="If the file is smaller than the caches of the drive, the benchmark measures the caches.",
    )
    file_names: Paths = setting(
        (),
        "Existing files or devices to measure, as absolute paths",
        aliases=("filenames", "filename", "file_name", "target"),
        resembles=LIKE_FILE_NAMES,
        pitfalls="Reads from a sparse file come from memory. Fill the file first.",
    )
    rw: AccessPattern = setting("randread", "Access pattern", aliases=("rw_pattern", "readwrite"))
    rwmixread: Count = setting(70, "Percentage of reads in a mixed pattern", le=100)
    engine: Engine = setting(
        "auto",
        "I/O engine; `auto` selects the first of io_uring, libaio and psync that the host permits",
        aliases=("ioengine",),
        pitfalls="psync, pvsync2 and sync keep only one request in flight per job. fio before 3.39 rounds `iodepth` up "
        "to a power of two for io_uring; with other depths, `auto` therefore selects libaio for the whole job.",
    )
    iodepth: Count = setting(16, "Queue depth per job", aliases=("io_depth", "queue_depth"), ge=1, le=65536)
    iodepth_batch: Count = setting(
        1, "Number of requests submitted at once, at most `iodepth`", aliases=("iodepth_batch_submit",), ge=1, le=65536
    )
    numjobs: Count = setting(4, "Number of identical concurrent processes", ge=1, le=1024)
    io_size: Size | None = setting(
        None,
        "Number of bytes after which the point ends, all jobs combined; `duration` then becomes the time limit",
        aliases=("io_limit", "volume"),
        ge=512,
    )
    cpus: Annotated[str, BeforeValidator(_cpu_choice)] = setting(
        "auto",
        "CPUs for the jobs: `auto` (one per job, near the drive), `all`, or a list such as `0-3,8`",
        aliases=("cpus_allowed",),
    )
    memory_node: Count | None = setting(
        None,
        "NUMA node for the buffers; if unset, the node on which the job runs",
        aliases=("numa_mem_policy",),
        le=1023,
    )
    direct: bool = setting(
        True,
        "Bypass the page cache (O_DIRECT)",
        pitfalls="Without `direct`, the benchmark measures memory instead of the drive.",
        resembles=("buffered",),
    )
    create_temp_file: bool | None = setting(
        None, "Use a temporary file in the work folder; this is the default unless `file_names` is set"
    )
    overwrite: bool = setting(False, "Consent to overwrite the content of the existing regular files in `file_names`")
    seed: Count = setting(1, "Seed for the random offsets", aliases=("randseed",), le=2**32 - 1)


class FioParams(HostParams, DataParams, RateParams, QueueParams, OffsetParams, RaidParams, PointParams):
    """The settings for one fio point. Each benchmark derives its own class and adds its `*_sweep_steps`."""

    options: dict[str, str | int | float | bool] = setting(
        {}, "Further fio options that affect only the requests, under their fio names"
    )
    job_file: str = setting(
        "",
        "Text of a fio job file whose options correspond to asct settings. Its sections run at the same time, or in "
        "stages separated by `stonewall`",
        max_length=20_000,
    )

    @classmethod
    def hint_for_unknown(cls, name: str) -> str:
        """Return a hint that names similar settings, or that says how to set a fio option or why asct refuses it."""
        return super().hint_for_unknown(name) or option_hint(name)

    @property
    def makes_file(self) -> bool:
        """Whether the point uses the temporary file of its job."""
        return self.create_temp_file if self.create_temp_file is not None else not self.file_names

    @property
    def target_count(self) -> int:
        """The number of files or devices that fio opens. A RAID set is a single device."""
        return 1 if self.raid_level is not None else max(1, len(self.file_names))

    @property
    def span_bytes(self) -> int | None:
        """The number of target bytes that all jobs together use. None means the whole of a named target."""
        return DEFAULT_FILE_BYTES if self.filesize is None and self.makes_file else self.filesize

    @property
    def writes(self) -> bool:
        """Whether the pattern can change the target. This includes mixed patterns (even with 100 % reads) and trims."""
        return self.rw not in ("read", "randread")

    @property
    def trims(self) -> bool:
        """Whether the pattern discards blocks."""
        return "trim" in self.rw

    @property
    def mixed(self) -> bool:
        """Whether the pattern both reads and writes."""
        return self.rw in ("rw", "randrw")

    @property
    def sequential(self) -> bool:
        """Whether offsets are ascending."""
        return not self.rw.startswith("rand")

    @property
    def keeps_depth(self) -> bool:
        """Whether every completed request is immediately replaced by a new one."""
        return not (self.paced or self.syncs or self.iodepth_batch > 1 or self.iodepth_low)

    @property
    def requested_depth(self) -> int:
        """The number of requests in flight according to the settings, all jobs combined."""
        return self.iodepth * self.numjobs
