"""The settings that every benchmark on fio shares, with the names of ASCT and fio's own as aliases."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import AfterValidator, BeforeValidator

from asct.instruments.fio.more_params import DataParams, HostParams, PlaceParams, QueueParams, RateParams
from asct.sdk.params import Count, Duration, Params, Size, listed, setting
from asct.values.cpulist import parse_cpulist

Pattern = Literal[
    "read", "write", "randread", "randwrite", "rw", "randrw", "trim", "randtrim", "trimwrite", "randtrimwrite"
]
Engine = Literal["auto", "io_uring", "libaio", "posixaio", "psync", "pvsync2", "sync", "mmap"]

DEFAULT_FILE_BYTES: Final = 1000 * 2**20
"""Size of the temporary file when `filesize` is not set (ASCT's default)."""
SCRATCH_NAME: Final = "scratch.dat"
SYNCHRONOUS: Final = frozenset({"psync", "pvsync2", "sync", "mmap"})
"""Engines that keep one request in flight per job, whatever `iodepth` says."""


def _pattern(value: object) -> object:
    """fio's long spelling of a mixed sequential pattern."""
    return "rw" if value == "readwrite" else value


def _as_text(value: object) -> object:
    """One CPU as a list of one."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _cpu_choice(text: str) -> str:
    """`auto`, `all`, or a list that reads. Raises ValueError for anything else."""
    if text not in ("auto", "all") and not parse_cpulist(text):
        raise ValueError("names no CPU; write auto, all, or a list like 0-3,8")
    return text


def _paths(value: object) -> object:
    """One path as a list of one. Colons and commas are parts of a name and separate nothing."""
    return [value] if isinstance(value, str) else value


AccessPattern = Annotated[Pattern, BeforeValidator(_pattern)]
"""One access pattern, in fio's long spelling as well."""
Counts = Annotated[tuple[Count, ...], BeforeValidator(listed)]
"""A list of whole numbers; `4,5,6` as text."""


class PointParams(Params):
    """What every point has."""

    duration: Duration = setting(
        60.0,
        "Time that is measured, per point",
        aliases=("runtime",),
        gt=0,
        le=30 * 86400,
        pitfalls="Below 2s mpstat has no whole sample inside the run; p99_99 needs 100,000 requests.",
    )
    ramp_time: Duration = setting(
        0.0, "Load before the measured time, per point", aliases=("ramp", "warmup_time"), le=86400
    )
    block_size: Size = setting(4096, "Bytes per request", aliases=("blocksize", "bs"), ge=512, le=2**30)
    filesize: Size | None = setting(
        None,
        "Bytes of the target that are used: 1000 MiB of the temporary file, a named target whole, unless set",
        aliases=("size",),
        pitfalls="A file smaller than the caches of the drive measures these caches.",
    )
    file_names: Annotated[tuple[str, ...], BeforeValidator(_paths)] = setting(
        (),
        "Existing files or devices to measure, as absolute paths",
        aliases=("filenames", "filename", "file_name"),
        pitfalls="A sparse file is read from memory: fill it before.",
    )
    rw: AccessPattern = setting("randread", "Access pattern", aliases=("rw_pattern", "readwrite"))
    rwmixread: Count = setting(70, "Share of reads in a mixed pattern, in percent", le=100)
    engine: Engine = setting(
        "auto",
        "How requests reach the kernel; auto takes io_uring, libaio or psync, as the host allows",
        aliases=("ioengine",),
        pitfalls="psync, pvsync2 and sync keep one request in flight per job.",
    )
    iodepth: Count = setting(16, "Requests in flight per job", aliases=("io_depth", "queue_depth"), ge=1, le=65536)
    iodepth_batch: Count = setting(
        1, "Requests handed over at once, at most iodepth", aliases=("iodepth_batch_submit",), ge=1, le=65536
    )
    numjobs: Count = setting(4, "Processes that do the same at the same time", ge=1, le=1024)
    io_size: Size | None = setting(
        None,
        "Bytes of requests after which the point ends, all jobs together; duration is its limit then",
        aliases=("io_limit", "volume"),
        ge=512,
    )
    cpus: Annotated[str, AfterValidator(_cpu_choice), BeforeValidator(_as_text)] = setting(
        "auto",
        "CPUs of the jobs: auto (as many as jobs, near the drive), all, or a list like 0-3,8",
        aliases=("cpus_allowed",),
    )
    memory_node: Count | None = setting(
        None, "NUMA node of the buffers; where the job runs unless set", aliases=("numa_mem_policy",), le=1023
    )
    direct: bool = setting(
        True,
        "Pass by the page cache (O_DIRECT)",
        pitfalls="Without it memory is measured, not the drive.",
    )
    create_temp_file: bool | None = setting(
        None, "Make and remove a file of its own in the work folder; on unless file_names is set"
    )
    overwrite: bool = setting(False, "Consent to overwrite the content of the existing regular files in file_names")
    seed: Count = setting(1, "Seed of the random offsets", aliases=("randseed",), le=2**32 - 1)


class FioParams(HostParams, DataParams, RateParams, QueueParams, PlaceParams, PointParams):
    """Settings of one point of fio. A benchmark derives from it and adds its `*_sweep_steps`."""

    options: dict[str, str | int | float | bool] = setting(
        {}, "More options of fio by their names there, of those that only shape the requests"
    )
    job_file: str = setting(
        "",
        "Text of a job file with sections that run at the same time; its options are settings of asct by fio's names",
        max_length=20_000,
    )

    @property
    def makes_file(self) -> bool:
        """Whether the point works on the temporary file of its job."""
        return self.create_temp_file if self.create_temp_file is not None else not self.file_names

    @property
    def span_bytes(self) -> int | None:
        """Bytes used of the target, all jobs together; None: a named target whole."""
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
        """Requests in flight that the settings ask for, all jobs together."""
        return self.iodepth * self.numjobs
