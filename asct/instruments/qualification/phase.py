"""What a test of rounds consists of: cells (workloads), those whose values decide, and the phase they belong to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from asct.instruments.fio.params import Pattern
from asct.sdk.record import Scalar
from asct.values.size import format_size

Quantity = Literal["iops", "bandwidth", "latency"]


@dataclass(frozen=True, slots=True)
class Cell:
    """One workload: `reads` is the share of reads in percent, `random` whether offsets are."""

    block_size: int
    reads: int
    random: bool = True

    @property
    def rw(self) -> Pattern:
        """fio's name of the pattern."""
        if self.random:
            return "randread" if self.reads == 100 else "randwrite" if self.reads == 0 else "randrw"
        return "read" if self.reads == 100 else "write" if self.reads == 0 else "rw"

    @property
    def name(self) -> str:
        """For names of steps: `randrw65-64K`."""
        mixed = str(self.reads) if 0 < self.reads < 100 else ""
        return f"{self.rw}{mixed}-{size_name(self.block_size)}"

    @property
    def label(self) -> str:
        """For people: `64k 65/35`, as reports on drives have it."""
        return cell_label(self.block_size, self.reads)

    @property
    def coords(self) -> dict[str, Scalar]:
        """Where the values of the cell stand."""
        return {"block_size": self.block_size, "rwmixread": self.reads}


def cell_label(block_size: int, reads: int) -> str:
    """`64k 65/35`: block size, reads and writes in percent."""
    return f"{size_name(block_size)} {reads}/{100 - reads}"


def size_name(size: int) -> str:
    """`512`, `4k`, `1024k`: as reports on drives have it."""
    if size % 1024 == 0:
        return f"{size // 1024}k"
    return format_size(size) if size >= 1024 else str(size)


@dataclass(frozen=True, slots=True)
class Tracked:
    """A dependent variable: the quantity of a cell that must be steady."""

    cell: Cell
    quantity: Quantity

    @property
    def label(self) -> str:
        """For people: `iops 4k 0/100`."""
        return f"{self.quantity} {self.cell.label}"


@dataclass(frozen=True, slots=True)
class Phase:
    """Purge, preconditioning and rounds that belong together. `name` begins the names of its steps.

    Each round has every cell once, in this order. `sequential_block` is the block size of the preconditioning.
    """

    name: str
    cells: tuple[Cell, ...]
    tracked: tuple[Tracked, ...]
    sequential_block: int
    seconds: float
    """Time of each cell."""
    ramp_s: float = 0.0

    def step_name(self, number: int, cell: Cell) -> str:
        """The step of a cell in round `number` (from 1)."""
        return f"{self.name}round{number:02}-{cell.name}"
