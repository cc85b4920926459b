"""The settings shared by all drive qualifications: target, load, rounds, purge and preconditioning."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Final, Literal

from pydantic import BeforeValidator, StringConstraints

from asct.instruments.fio.params import LIKE_FILE_NAMES, Engine, FioParams, Paths, Pattern
from asct.instruments.fio.raid import RaidParams, member_bytes
from asct.sdk.benchmark import Unsuitable
from asct.sdk.params import Count, Counts, Duration, Size, Sizes, listed, setting
from asct.sdk.record import Scalar
from asct.statistics.steady import SteadyRule
from asct.values.size import format_size, parse_size

Quantity = Literal["iops", "bandwidth", "latency"]


@dataclass(frozen=True, slots=True)
class Workload:
    """One workload: block size, percentage of reads, and whether the offsets are random.

    A workload with requests of several sizes or patterns has a `title`, which replaces the block size in names, and
    further fio settings (`options`). Its `block_size` is used only for estimates. `place` contains the coordinates of
    its values if they differ from the block size and the percentage of reads.
    """

    block_size: int
    reads: int
    random: bool = True
    title: str = ""
    options: tuple[tuple[str, str | int], ...] = ()
    place: tuple[tuple[str, Scalar], ...] = ()

    @property
    def rw(self) -> Pattern:
        """fio's name for the pattern."""
        if self.random:
            return "randread" if self.reads == 100 else "randwrite" if self.reads == 0 else "randrw"
        return "read" if self.reads == 100 else "write" if self.reads == 0 else "rw"

    @property
    def name(self) -> str:
        """The name used in step names: `randrw65-64K`."""
        mixed = str(self.reads) if 0 < self.reads < 100 else ""
        return f"{self.rw}{mixed}-{self.title or size_name(self.block_size)}"

    @property
    def label(self) -> str:
        """The label used in reports: `64k 65/35`."""
        return f"{self.title or size_name(self.block_size)} {self.reads}/{100 - self.reads}"

    @property
    def coords(self) -> dict[str, Scalar]:
        """The coordinates of the workload's values."""
        return dict(self.place) or {"block_size": self.block_size, "rwmixread": self.reads}


def size_name(size: int) -> str:
    """Format a size as drive reports do: `512`, `4k`, `1024k`."""
    if size % 1024 == 0:
        return f"{size // 1024}k"
    return format_size(size) if size >= 1024 else str(size)


@dataclass(frozen=True, slots=True)
class TrackedMetric:
    """A dependent variable: a quantity of a workload that must reach steady state."""

    cell: Workload
    quantity: Quantity


@dataclass(frozen=True, slots=True)
class Phase:
    """A purge, followed by preconditioning and by rounds in which every workload runs once.

    `name` is the prefix of the step names, and `sequential_block` is the block size for preconditioning.
    """

    name: str
    cells: tuple[Workload, ...]
    tracked: tuple[TrackedMetric, ...]
    sequential_block: int
    seconds: float
    """Duration of each workload, in seconds."""
    ramp_s: float = 0.0

    def step_name(self, number: int, cell: Workload) -> str:
        """Return the step name of a workload in round `number` (from 1)."""
        return f"{self.name}round{number:02}-{cell.name}"


Profile = Literal["pts", "fast"]
PurgeMethod = Literal["auto", "none", "nvme-format", "blkdiscard", "ata-erase", "sg-format", "sg-sanitize"]
CacheState = Literal["as-found", "on", "off"]

MIB: Final = 2**20
SEQUENTIAL_BLOCK: Final = 128 * 1024
"""Block size of the workload-independent preconditioning (SNIA PTS)."""
_SLOWEST_BYTES_PER_S: Final = 10_000_000


class QualificationParams(RaidParams):
    """The settings for the target, the load and the steady-state rules."""

    profile: Profile = setting(
        "pts",
        "`pts` measures every workload in every round; `fast` brings only the tracked workloads to the steady state "
        "and then measures each workload once",
        pitfalls="Results from the `fast` profile are labeled. Compare them only with results from the same profile.",
    )
    file_names: Paths = setting(
        (),
        "Existing device or file to measure, as an absolute path, or the members of a RAID set; if unset, a temporary "
        "file is measured",
        aliases=("filenames", "filename", "file_name", "target"),
        resembles=LIKE_FILE_NAMES,
        pitfalls="The whole device is purged and overwritten, which requires consent in `safety.destroys`.",
    )
    filesize: Size = setting(2**30, "Size of the temporary file", aliases=("size",), ge=MIB)
    overwrite: bool = setting(False, "Consent to overwrite the content of the existing regular file in `file_names`")
    offset: Size = setting(0, "First byte of the active range", aliases=("active_range_offset",))
    active_range: Size | None = setting(
        None,
        "Number of bytes of the target to use, starting at `offset`; if unset, all bytes up to the end of the target",
        ge=MIB,
    )
    capacity_fraction: float = setting(
        1.0, "Share of the active range to use; SNIA PTS specifies 0.75 for consumer drives", gt=0, le=1
    )
    numjobs: Count = setting(2, "Number of identical concurrent processes", aliases=("nj",), ge=1, le=1024)
    iodepth: Count = setting(16, "Queue depth per job", aliases=("iod", "queue_depth"), ge=1, le=65536)
    engine: Engine = setting("auto", "I/O engine; `auto` selects io_uring, libaio or psync", aliases=("ioengine",))
    round_time: Duration = setting(
        60.0, "Time per workload in each round", aliases=("duration", "runtime", "rt"), gt=0, le=86400
    )
    ramp_time: Duration = setting(0.0, "Time under load before each workload is measured", aliases=("ramp",), le=3600)
    window: Count = setting(5, "Number of rounds in the measurement window", ge=2, le=100)
    excursion: float = setting(
        20.0,
        "Maximum difference between the largest and smallest value in the window, as a percentage of the average",
        gt=0,
        le=100,
    )
    slope: float = setting(
        10.0, "Maximum change in the fitted line over the window, as a percentage of the average", gt=0, le=100
    )
    rounds_max: Count = setting(
        25, "Maximum number of rounds, after which the test ends without a steady state", ge=2, le=1000
    )
    steady_volume: float = setting(
        1.0,
        "How many times the active range must have been written since the purge (including preconditioning) before a "
        "window is accepted; a window is also accepted once the rate has fallen by half",
        ge=0,
        le=100,
        pitfalls="With 0, the plateau of a burst may be mistaken for the steady state.",
    )
    purge: PurgeMethod = setting(
        "auto",
        "How to remove all content before the test; `auto` selects a method that the device supports",
        aliases=("secure_erase",),
        pitfalls="Files cannot be purged; results for a target that was not purged are flagged.",
    )
    precondition: Count = setting(
        2, "Number of times the active range is written before the rounds", aliases=("preconditioning",), le=10
    )
    write_cache: CacheState = setting(
        "as-found",
        "Required state of the drive's write cache (SNIA PTS: `off` for enterprise drives, `on` for client drives)",
    )
    fast_interval: float = setting(
        2.0,
        "Fast profile: a workload ends when a check finds that the 95 % interval for its rate lies within this "
        "percentage of the mean",
        gt=0,
        le=50,
    )
    fast_min_time: Duration = setting(5.0, "Fast profile: time of the first check of a workload", gt=0, le=3600)
    fast_drift: float = setting(
        5.0,
        "Fast profile: measure the workloads again if the tracked ones changed by more than this "
        "percentage during the pass",
        gt=0,
    )
    fast_passes: Count = setting(3, "Fast profile: maximum number of passes over the workloads", ge=1, le=20)
    seed: Count = setting(1, "Seed for the random offsets and the data", aliases=("randseed",), le=2**31)

    @property
    def makes_file(self) -> bool:
        """Whether the target is the temporary file of the job."""
        return not self.file_names

    def charged(self, total_bytes: int) -> tuple[tuple[str, int], ...]:
        """Return the number of bytes written to each target if fio writes `total_bytes` in total, in the form of
        `Needs.writes_bytes`."""
        targets = self.file_names or ("",)
        return tuple((name, member_bytes(self, len(targets), total_bytes)) for name in targets)

    @property
    def rule(self) -> SteadyRule:
        """The rule that a steady window must satisfy, with limits as fractions instead of percentages."""
        return SteadyRule(self.window, self.excursion / 100.0, self.slope / 100.0)

    @property
    def sizes(self) -> tuple[int, ...]:
        """All block sizes that the test uses, including the one for preconditioning."""
        return (SEQUENTIAL_BLOCK,)

    @property
    def queue_depths(self) -> tuple[int, ...]:
        """All queue depths per job that the workloads use."""
        return (self.iodepth,)

    def span(self, target_bytes: int) -> int:
        """Return the size of the active range, in bytes, on a target with `target_bytes` bytes.

        Every job gets a slice of equal size. The slice size is a multiple of every request size, so that
        preconditioning covers everything that is measured. Raises Unsuitable if the range is too small.
        """
        room = target_bytes - self.offset
        if self.active_range is not None and self.active_range > room:
            raise Unsuitable(
                f"the target has {target_bytes} bytes, but `active_range` ends at "
                f"{self.offset + self.active_range}; lower `active_range` or `offset`"
            )
        range_bytes = (self.active_range or room) * self.capacity_fraction
        grain = math.lcm(MIB, *self.sizes) * self.numjobs
        if range_bytes < grain:
            raise Unsuitable(
                f"the active range is {max(0, int(range_bytes))} bytes, but {self.numjobs} jobs need at least {grain} "
                "bytes to hold whole numbers of requests of every block size; raise `active_range` or "
                "`capacity_fraction`, or lower `numjobs` or the block sizes"
            )
        return int(range_bytes) // grain * grain

    def fio(self, span: int, **changes: object) -> FioParams:
        """Return the settings for a fio process on the active range. `changes` contains the workload's settings."""
        common: dict[str, object] = {
            "filesize": span, "offset": self.offset, "file_names": self.file_names, "overwrite": self.overwrite,
            "engine": self.engine, "numjobs": self.numjobs, "iodepth": self.iodepth, "refill_buffers": True,
            "seed": self.seed, "raid_level": self.raid_level, "raid_chunk": self.raid_chunk,
        }  # fmt: skip
        return FioParams(**(common | changes))

    def precondition_params(self, span: int, block_size: int) -> FioParams:
        """Return the settings for a sequential pass over the active range, in which each job writes its slice once."""
        limit = 60.0 + span / _SLOWEST_BYTES_PER_S
        return self.fio(span, rw="write", block_size=block_size, io_size=span, duration=min(limit, 30 * 86400.0))


def settings_at_odds(params: QualificationParams) -> Iterator[tuple[str, str]]:
    """Yield each contradictory setting with a message and a hint."""
    if params.rounds_max < params.window:
        rounds, window = params.rounds_max, params.window
        yield (
            "rounds_max",
            (
                f"`rounds_max` permits {rounds} rounds, but the window consists of {window}; raise `rounds_max` or "
                f"lower `window`"
            ),
        )
    if params.makes_file and params.purge not in ("auto", "none"):
        yield "purge", f"a temporary file cannot be purged with {params.purge}; use a device, or set `purge` to `auto`"
    if any(size % 512 for size in params.sizes):
        yield "block_sizes", "the size of direct requests must be a multiple of 512 bytes; round the sizes"
    if len(params.file_names) > 1 and params.raid_level is None:
        yield (
            "file_names",
            "lists several devices, but a qualification measures one target; add `raid_level` to combine them into a "
            "RAID set, or sweep `file_names` to measure them one after the other",
        )
    if params.offset % 4096:
        yield "offset", "is not a multiple of 4096; round it"
    if params.makes_file:
        try:
            params.span(params.filesize)
        except ValueError as error:
            yield "filesize", str(error)


WorkloadName = Annotated[str, StringConstraints(pattern=r"^[0-9]+(K|KiB|M|MiB)?:[0-9]{1,3}$")]
WorkloadNames = Annotated[tuple[WorkloadName, ...], BeforeValidator(listed)]
"""Workloads by block size and percentage of reads; accepts text such as `4K:0, 64K:65`."""


class MatrixParams(QualificationParams):
    """The settings for a qualification whose workloads are all combinations of block sizes and mixes. A subclass
    declares the defaults."""

    block_sizes: Sizes
    mixes: Counts
    dependent: WorkloadNames

    @property
    def sizes(self) -> tuple[int, ...]:
        """All block sizes that the test uses, including the one for preconditioning."""
        return (SEQUENTIAL_BLOCK, *self.block_sizes)

    def cells(self, logical_block: int) -> tuple[Workload, ...]:
        """Return the workloads of a round, grouped by mix, with the largest requests first. Requests smaller than a
        logical block are omitted."""
        sizes = [size for size in sorted(set(self.block_sizes), reverse=True) if size >= logical_block]
        return tuple(Workload(size, reads) for reads in dict.fromkeys(self.mixes) for size in sizes)

    def phase(self, logical_block: int, quantity: Quantity) -> Phase:
        """Return the only phase of the test. Raises Unsuitable if the target supports none of the dependent
        workloads."""
        cells = self.cells(logical_block)
        tracked = tuple(TrackedMetric(cell, quantity) for cell in self.dependent_cells() if cell in cells)
        if not tracked:
            raise Unsuitable(
                f"all workloads in `dependent` are smaller than a logical block of the target ({logical_block} bytes); "
                "use 4k or more"
            )
        return Phase("", cells, tracked, SEQUENTIAL_BLOCK, self.round_time, self.ramp_time)

    def dependent_cells(self) -> list[Workload]:
        """Return the workloads in `dependent`.

        The default is reduced to the workloads that are measured. If none of them is measured, the workload with the
        most writes and the smallest requests is used instead.
        """
        pairs = [name.split(":") for name in dict.fromkeys(self.dependent)]
        named = [Workload(parse_size(size), int(reads)) for size, reads in pairs]
        if self.dependent != type(self).model_fields["dependent"].default:
            return named
        cells = self.cells(512)
        return [cell for cell in named if cell in cells] or [min(cells, key=lambda one: (one.reads, one.block_size))]


def matrix_at_odds(params: MatrixParams) -> Iterator[tuple[str, str]]:
    """Yield each contradictory setting with a message and a hint."""
    if any(reads > 100 for reads in params.mixes):
        yield "mixes", "a read percentage cannot exceed 100"
    if any(size < 512 for size in params.block_sizes):
        yield "block_sizes", "the size of a request must be at least 512 bytes"
        return
    cells = params.cells(512)
    missing = ", ".join(cell.label for cell in params.dependent_cells() if cell not in cells)
    if missing:
        yield (
            "dependent",
            f"{missing} is not a combination of `block_sizes` and `mixes`; use workloads that are measured",
        )
