"""Settings of a test over block sizes and mixes of reads and writes, and the phase they make."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from pydantic import BeforeValidator, StringConstraints

from asct.instruments.fio.params import Counts
from asct.instruments.qualification.phase import Cell, Phase, Quantity, Tracked
from asct.instruments.qualification.settings import SEQUENTIAL_BLOCK, QualificationParams, Sizes
from asct.sdk.benchmark import Unsuitable
from asct.sdk.params import listed, setting
from asct.values.size import parse_size

Place = Annotated[str, StringConstraints(pattern=r"^[0-9]+(K|KiB|M|MiB)?:[0-9]{1,3}$")]
Places = Annotated[tuple[Place, ...], BeforeValidator(listed)]
"""Cells by block size and percent of reads: `4K:0, 64K:65`."""


class MatrixParams(QualificationParams):
    """Every block size with every mix is a cell of each round."""

    block_sizes: Sizes = setting((4096,), "Block sizes of the cells", aliases=("block_size", "bs"), min_length=1)
    mixes: Counts = setting((0,), "Shares of reads of the cells, in percent", aliases=("rwmixread",), min_length=1)
    dependent: Places = setting(
        ("4K:0",),
        "Cells that must be steady, as block size and percent of reads",
        aliases=("dependent_variables", "tracking"),
        min_length=1,
    )

    @property
    def sizes(self) -> tuple[int, ...]:
        """Every block size that is used."""
        return (SEQUENTIAL_BLOCK, *self.block_sizes)

    def cells(self, logical_block: int) -> tuple[Cell, ...]:
        """All cells of a round, mix by mix, large requests first; none is smaller than a logical block."""
        sizes = [size for size in sorted(set(self.block_sizes), reverse=True) if size >= logical_block]
        return tuple(Cell(size, reads) for reads in dict.fromkeys(self.mixes) for size in sizes)

    def phase(self, logical_block: int, quantity: Quantity) -> Phase:
        """Raises Unsuitable when the target takes no request of the dependent cells."""
        cells = self.cells(logical_block)
        tracked = tuple(Tracked(cell, quantity) for cell in self.places() if cell in cells)
        if not tracked:
            raise Unsuitable(
                f"the target has logical blocks of {logical_block} bytes, and every cell of `dependent` is smaller; "
                "name one of 4k or more"
            )
        return Phase("", cells, tracked, SEQUENTIAL_BLOCK, self.round_time, self.ramp_time)

    def places(self) -> list[Cell]:
        """The cells of `dependent`. Left at its default, those that are measured; if none is, the smallest writes."""
        pairs = [place.split(":") for place in dict.fromkeys(self.dependent)]
        named = [Cell(parse_size(size), int(reads)) for size, reads in pairs]
        if self.dependent != type(self).model_fields["dependent"].default:
            return named
        cells = self.cells(512)
        return [cell for cell in named if cell in cells] or [min(cells, key=lambda one: (one.reads, one.block_size))]


def matrix_at_odds(params: MatrixParams) -> Iterator[tuple[str, str]]:
    """Pairs of a setting and what is wrong with it, each with the way out."""
    if any(reads > 100 for reads in params.mixes):
        yield "mixes", "a share of reads is at most 100 percent"
    if any(size < 512 for size in params.block_sizes):
        yield "block_sizes", "a request has 512 bytes or more"
        return
    cells = params.cells(512)
    missing = [cell.label for cell in params.places() if cell not in cells]
    if missing:
        yield (
            "dependent",
            f"{', '.join(missing)} is not among the cells of block_sizes and mixes; name cells that are measured",
        )
