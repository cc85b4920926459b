"""The settings that the tests of a drive's steady state share: target, load, rounds, purge and preconditioning."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Annotated, Final, Literal

from pydantic import BeforeValidator

from asct.instruments.fio.params import Engine, FioParams
from asct.sdk.benchmark import Unsuitable
from asct.sdk.params import Count, Duration, Params, Size, listed, setting
from asct.statistics.steady import Rule

Profile = Literal["pts", "fast"]
PurgeMethod = Literal["auto", "none", "nvme-format", "blkdiscard", "ata-erase", "sg-format", "sg-sanitize"]
CacheState = Literal["as-found", "on", "off"]
Sizes = Annotated[tuple[Size, ...], BeforeValidator(listed)]
"""A list of sizes; `4K,64K` as text."""

DEFAULT_FILE_BYTES: Final = 2**30
MIB: Final = 2**20
SEQUENTIAL_BLOCK: Final = 128 * 1024
"""Block size of the preconditioning that does not depend on the workload (SNIA PTS)."""
_SLOWEST_BYTES_PER_S: Final = 10_000_000


class QualificationParams(Params):
    """One target, one load, and the rules by which its state is called steady."""

    profile: Profile = setting(
        "pts",
        "pts measures every cell in every round; fast drives the tracked cells alone to the steady state and then "
        "measures each cell once",
        pitfalls="Values of `fast` are labelled: compare them with those of `fast` alone.",
    )
    file_names: Annotated[
        tuple[str, ...], BeforeValidator(lambda value: [value] if isinstance(value, str) else value)
    ] = setting(
        (),
        "Existing device or file to measure, as an absolute path; a temporary file unless set",
        aliases=("filenames", "filename", "file_name", "target"),
        max_length=1,
        pitfalls="A device is overwritten whole and purged: it needs its consent in `safety.destroys`.",
    )
    filesize: Size = setting(DEFAULT_FILE_BYTES, "Bytes of the temporary file", aliases=("size",), ge=MIB)
    overwrite: bool = setting(False, "Consent to overwrite the content of the existing regular file in file_names")
    offset: Size = setting(0, "First byte of the active range", aliases=("active_range_offset",))
    active_range: Size | None = setting(
        None, "Bytes of the target that are used, from offset on; up to its end unless set", ge=MIB
    )
    capacity_fraction: float = setting(
        1.0, "Share of the active range that is used: 0.75 is the consumer form of SNIA PTS", gt=0, le=1
    )
    numjobs: Count = setting(2, "Processes that do the same at the same time", aliases=("nj",), ge=1, le=1024)
    iodepth: Count = setting(16, "Requests in flight per job", aliases=("iod", "queue_depth"), ge=1, le=65536)
    engine: Engine = setting(
        "auto", "How requests reach the kernel; auto takes io_uring, libaio or psync", aliases=("ioengine",)
    )
    round_time: Duration = setting(
        60.0, "Time of each cell in each round", aliases=("duration", "runtime", "rt"), gt=0, le=86400
    )
    ramp_time: Duration = setting(0.0, "Load before the measured time of each cell", aliases=("ramp",), le=3600)
    window: Count = setting(5, "Rounds of the measurement window", ge=2, le=100)
    excursion: float = setting(
        20.0, "Largest minus smallest value in the window, in percent of the average, at most", gt=0, le=100
    )
    slope: float = setting(
        10.0, "Rise or fall of the fitted line over the window, in percent of the average, at most", gt=0, le=100
    )
    rounds_max: Count = setting(25, "Rounds after which the test ends without a steady state", ge=2, le=1000)
    steady_volume: float = setting(
        1.0,
        "Times the active range that must have been written since the purge before a window counts, preconditioning "
        "included; a fall of the level by half counts as well",
        ge=0,
        le=100,
        pitfalls="With 0 the plateau of a burst may be taken for the steady state.",
    )
    purge: PurgeMethod = setting(
        "auto",
        "How all content is removed first: auto takes what the device allows",
        aliases=("secure_erase",),
        pitfalls="Files cannot be purged; values of a target that was not purged are flagged.",
    )
    precondition: Count = setting(
        2, "Times the active range is written before the rounds", aliases=("preconditioning",), le=10
    )
    write_cache: CacheState = setting(
        "as-found", "State that the write cache of the drive must have (SNIA PTS: off for enterprise, on for client)"
    )
    fast_interval: float = setting(
        2.0, "Profile fast: a cell ends when the 95 % interval of its rate is within so many percent", gt=0, le=50
    )
    fast_min_time: Duration = setting(5.0, "Profile fast: shortest time of a cell", gt=0, le=3600)
    fast_drift: float = setting(
        5.0, "Profile fast: the cells are measured again when the tracked ones moved by more percent meanwhile", gt=0
    )
    fast_passes: Count = setting(3, "Profile fast: how often the cells are measured at most", ge=1, le=20)
    seed: Count = setting(1, "Seed of the random offsets and of the data", aliases=("randseed",), le=2**31)

    @property
    def makes_file(self) -> bool:
        """Whether the target is the temporary file of the job."""
        return not self.file_names

    @property
    def rule(self) -> Rule:
        """When a window is steady."""
        return Rule(self.window, self.excursion / 100.0, self.slope / 100.0)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Every block size that is used."""
        return (SEQUENTIAL_BLOCK,)

    def span(self, target_bytes: int) -> int:
        """Bytes of the active range on such a target: whole requests of every size in equal slices for the jobs.

        So all that is measured was preconditioned, the last request included. Raises Unsuitable when none fits.
        """
        room = target_bytes - self.offset
        if self.active_range is not None and self.active_range > room:
            raise Unsuitable(
                f"the target has {target_bytes} bytes and active_range ends at {self.offset + self.active_range}; "
                "lower active_range or offset"
            )
        wanted = (self.active_range or room) * self.capacity_fraction
        grain = math.lcm(MIB, *self.sizes) * self.numjobs
        if wanted < grain:
            raise Unsuitable(
                f"the active range has {max(0, int(wanted))} bytes, a request of each size for {self.numjobs} jobs "
                f"takes {grain}; raise active_range or capacity_fraction, or lower numjobs or the block sizes"
            )
        return int(wanted) // grain * grain

    def fio(self, span: int, **changes: object) -> FioParams:
        """Settings of one fio process on the active range; `changes` are those of the cell."""
        common: dict[str, object] = {
            "filesize": span, "offset": self.offset, "file_names": self.file_names, "overwrite": self.overwrite,
            "engine": self.engine, "numjobs": self.numjobs, "iodepth": self.iodepth, "refill_buffers": True,
            "seed": self.seed,
        }  # fmt: skip
        return FioParams(**(common | changes))

    def precondition_params(self, span: int, block_size: int) -> FioParams:
        """One sequential pass over the whole active range: each job writes its own slice of it once."""
        limit = 60.0 + span / _SLOWEST_BYTES_PER_S
        return self.fio(span, rw="write", block_size=block_size, io_size=span, duration=min(limit, 30 * 86400.0))


def settings_at_odds(params: QualificationParams) -> Iterator[tuple[str, str]]:
    """Pairs of a setting and what is wrong with it, each with the way out."""
    if params.rounds_max < params.window:
        yield "rounds_max", f"{params.rounds_max} rounds hold no window of {params.window}; raise it, or lower window"
    if params.makes_file and params.purge not in ("auto", "none"):
        yield "purge", f"a temporary file cannot be purged by {params.purge}; name a device, or leave purge at auto"
    if any(size % 512 for size in params.sizes):
        yield "block_sizes", "direct requests are multiples of 512; round the sizes"
    if params.offset % 4096:
        yield "offset", "is not a multiple of 4096; round it"
    if params.makes_file:
        try:
            params.span(params.filesize)
        except ValueError as error:
            yield "filesize", str(error)
