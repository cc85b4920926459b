"""Zones of a disk and the cells that are measured in each.

Sectors on the outer tracks of a disk pass the head faster than on the inner ones, and logical addresses begin outside
(ZBR, zone bit recording; Ruemmler and Wilkes, "An introduction to disk drive modeling", IEEE Computer 27(3), 1994). So
the rate over the address is the map of the disk. All sizes are in bytes: a count of sectors is one of 512 or of 4096
bytes, depending on whom one asks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from asct.values.size import format_size

_ALIGNMENT: Final = 2**20
_PAGE: Final = 4096
_GOLDEN: Final = (math.sqrt(5.0) - 1.0) / 2.0


@dataclass(frozen=True, slots=True)
class Zone:
    """The part of the target from `offset` on, `size` bytes long."""

    index: int
    offset: int
    size: int

    @property
    def middle(self) -> float:
        """The address in its middle."""
        return self.offset + self.size / 2.0


@dataclass(frozen=True, slots=True)
class Cell:
    """What is done in a zone: a pattern of fio; `reads` is the share of reads in percent."""

    pattern: str
    block_size: int
    reads: int

    @property
    def sequential(self) -> bool:
        """Whether offsets ascend."""
        return not self.pattern.startswith("rand")

    @property
    def writes(self) -> bool:
        """Whether anything is written."""
        return self.reads < 100

    @property
    def name(self) -> str:
        """A name that no other cell of the test has: `randrw50-64KiB`."""
        return f"{self.pattern}{self.reads if 0 < self.reads < 100 else ''}-{format_size(self.block_size)}"


def random_cell(block_size: int, reads: int) -> Cell:
    """Random requests. Reads alone are a pattern that cannot write."""
    pattern = {100: "randread", 0: "randwrite"}.get(reads, "randrw")
    return Cell(pattern, block_size, reads)


def zones_of(size: int, count: int, largest_block: int) -> Sequence[Zone]:
    """`count` zones of the same size over `size` bytes, each begun on a MiB (on a page where they are smaller).

    Raises ValueError when a zone does not hold the largest request.
    """
    share = size // count
    grain = _ALIGNMENT if share >= _ALIGNMENT else _PAGE
    length = share // grain * grain
    if length < max(largest_block, grain):
        raise ValueError(
            f"{count} zones of {format_size(size)} are {format_size(share)} each and hold no request of "
            f"{format_size(max(largest_block, _PAGE))}; lower zones or the block sizes"
        )
    starts = (index * share // grain * grain for index in range(count))
    return tuple(Zone(index, start, length) for index, start in enumerate(starts))


def visits(zones: Sequence[Zone], cells: Sequence[Cell], scattered: bool) -> Iterator[tuple[Zone, Cell]]:
    """Every cell of every zone, zone by zone: in ascending order, or scattered over the disk.

    Scattered, a slow drift (a disk that warms up) is not taken for a difference of the zones. The multiples of the
    golden ratio spread evenly, wherever they stop (Knuth, The Art of Computer Programming, volume 3, section 6.4).
    """
    order = sorted(zones, key=lambda zone: zone.index * _GOLDEN % 1.0) if scattered else zones
    for zone in order:
        for cell in cells:
            yield zone, cell
