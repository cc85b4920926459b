"""Settings for storage-hdd, and the zones and workloads derived from them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Final, Literal

from pydantic import BeforeValidator, Field

from asct.instruments.fio.params import Engine, FioParams, Paths
from asct.instruments.qualification.settings import Workload
from asct.sdk.params import Count, Counts, Duration, Params, Size, listed, setting
from asct.values.size import format_size

# Sectors on the outer tracks of a disk pass the head faster than sectors on the inner tracks, and logical addresses
# start on the outer tracks (ZBR, zone bit recording; Ruemmler and Wilkes, "An introduction to disk drive modeling",
# IEEE Computer 27(3), 1994). The rate by address is therefore a map of the disk. All sizes are in bytes, because a
# sector may have 512 or 4096 bytes.

_ALIGNMENT: Final = 2**20
_PAGE: Final = 4096
_GOLDEN: Final = (math.sqrt(5.0) - 1.0) / 2.0


@dataclass(frozen=True, slots=True)
class Zone:
    """A part of the target: `size` bytes, starting at `offset`."""

    index: int
    offset: int
    size: int


def zone_workload(block_size: int, reads: int, *, random: bool) -> Workload:
    """Return a workload whose values have the access pattern as an additional coordinate."""
    cell = Workload(block_size, reads, random, title=format_size(block_size))
    return replace(cell, place=(("rw", cell.rw), ("block_size", block_size), ("rwmixread", reads)))


def zones_of(size: int, count: int, largest_block: int) -> Sequence[Zone]:
    """Return `count` zones of equal size that cover `size` bytes. Zones are aligned to a MiB, or to a page if they are
    smaller than a MiB.

    Raises ValueError if a zone is smaller than the largest request.
    """
    share = size // count
    grain = _ALIGNMENT if share >= _ALIGNMENT else _PAGE
    length = share // grain * grain
    if length < max(largest_block, grain):
        raise ValueError(
            f"dividing {format_size(size)} into {count} zones leaves {format_size(share)} per zone, which is less "
            f"than a request of {format_size(max(largest_block, _PAGE))}; reduce `zones` or the block sizes"
        )
    starts = (index * share // grain * grain for index in range(count))
    return tuple(Zone(index, start, length) for index, start in enumerate(starts))


def zone_visits(zones: Sequence[Zone], cells: Sequence[Workload], scattered: bool) -> Iterator[tuple[Zone, Workload]]:
    """Yield every workload in every zone, zone by zone. The zones are in ascending order or scattered over the disk.

    A scattered order prevents a slow drift, for example while the disk warms up, from being mistaken for a difference
    between zones. Multiples of the golden ratio are spread evenly for any number of zones (Knuth, The Art of Computer
    Programming, volume 3, section 6.4).
    """
    order = sorted(zones, key=lambda zone: zone.index * _GOLDEN % 1.0) if scattered else zones
    for zone in order:
        for cell in cells:
            yield zone, cell


Test = Literal["iops", "throughput"]
Order = Literal["scattered", "ascending"]
Sizes = Annotated[tuple[Annotated[Size, Field(ge=512, le=2**27)], ...], BeforeValidator(listed)]
"""A list of sizes, such as `64K,4K`."""
_SHARED: Final = (
    "file_names", "create_temp_file", "overwrite", "engine", "iodepth", "numjobs", "duration", "ramp_time", "seed",
)  # fmt: skip


class HddParams(Params):
    """Settings for the target and for the workloads in its zones."""

    test: Annotated[tuple[Test, ...], BeforeValidator(listed)] = setting(
        ("iops", "throughput"), "Random requests (`iops`), sequential streams (`throughput`), or both", min_length=1
    )
    zones: Count = setting(
        128, "Number of equal parts into which the target is divided", aliases=("slices",), ge=2, le=4096
    )
    order: Order = setting("scattered", "Order in which the zones are measured")
    mixes: Counts = setting((100, 50, 0), "Read percentages of the random workloads", min_length=1)
    block_sizes: Sizes = setting((65536, 16384, 4096), "Bytes per random request", min_length=1)
    sequential_block_sizes: Sizes = setting((2**20, 4096), "Bytes per sequential request", min_length=1)
    write: bool = setting(
        True,
        "Measure writes as well as reads; `false` skips all writing workloads and requires no consent",
        pitfalls="Writing destroys the content of the target.",
    )
    duration: Duration = setting(
        60.0, "Time per workload in each zone", aliases=("runtime", "round_time"), gt=0, le=86400
    )
    ramp_time: Duration = setting(0.0, "Time under load before each workload is measured", aliases=("ramp",), le=3600)
    iodepth: Count = setting(1, "Queue depth per job", aliases=("io_depth", "queue_depth"), ge=1, le=65536)
    numjobs: Count = setting(1, "Number of identical concurrent processes", ge=1, le=1024)
    engine: Engine = setting("auto", "I/O engine", aliases=("ioengine",))
    file_names: Paths = setting(
        (), "Absolute path of the disk or file to measure", aliases=("filenames", "filename", "file_name")
    )
    filesize: Size | None = setting(
        None, "Number of bytes of the target that are divided into zones; if unset, the whole target", aliases=("size",)
    )
    create_temp_file: bool | None = setting(
        None, "Use a temporary file in the work folder; the default is true unless `file_names` is set"
    )
    overwrite: bool = setting(False, "Consent to overwrite the content of the existing regular file in `file_names`")
    seed: Count = setting(1, "Seed for the random offsets", aliases=("randseed",), le=2**31)

    @property
    def makes_file(self) -> bool:
        """Whether the zones are in a temporary file."""
        return self.create_temp_file if self.create_temp_file is not None else not self.file_names

    def cells(self, logical_block: int = 512) -> tuple[Workload, ...]:
        """Return the workloads of each zone, excluding those whose requests are smaller than a logical block of the
        target."""
        return tuple(cell for cell in self._all_cells() if cell.block_size % logical_block == 0)

    def _all_cells(self) -> Iterator[Workload]:
        if "iops" in self.test:
            for reads in dict.fromkeys(self.mixes):
                if self.write or reads == 100:
                    yield from (zone_workload(size, reads, random=True) for size in dict.fromkeys(self.block_sizes))
        if "throughput" in self.test:
            for size in dict.fromkeys(self.sequential_block_sizes):
                yield zone_workload(size, 100, random=False)
                if self.write:
                    yield zone_workload(size, 0, random=False)

    @property
    def writes(self) -> bool:
        """Whether any workload writes."""
        return any(cell.reads < 100 for cell in self.cells())

    def whole(self) -> FioParams:
        """Return the fio settings for the whole target, which are used to lay out the temporary file and for fio's
        checks."""
        return self._fio(rw="randwrite" if self.writes else "randread", filesize=self.filesize)

    def fio(self, cell: Workload, zone: Zone) -> FioParams:
        """Return the fio settings for a workload in a zone. Each zone has its own random offsets."""
        return self._fio(
            rw=cell.rw, block_size=cell.block_size, rwmixread=cell.reads,
            offset=zone.offset, filesize=zone.size, seed=self.seed + zone.index,
        )  # fmt: skip

    def _fio(self, **own: object) -> FioParams:
        shared = {name: getattr(self, name) for name in _SHARED}
        return FioParams.model_validate(shared | own)
