"""Records of one point by what they stand for: a disk has thousands of zone values, too many to search for each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from asct.sdk.record import Record, Scalar

CELL_KEYS: Final = ("rw", "block_size", "rwmixread")


@dataclass(frozen=True, slots=True)
class Place:
    """Coordinates of a cell (see CELL_KEYS) as records have them."""

    rw: str
    block_size: int
    rwmixread: int

    @property
    def random(self) -> bool:
        """Whether the requests are random."""
        return self.rw.startswith("rand")

    @property
    def cells(self) -> dict[str, Scalar | None]:
        """The coordinates as columns of a table."""
        return {"rw": self.rw, "block_size": self.block_size, "rwmixread": self.rwmixread}


Index = Mapping[tuple[str, Place | None, Scalar | None], Sequence[Record]]
"""By metric, cell, and zone or part."""


def indexed(records: Iterable[Record]) -> Index:
    """The repeats of each value of one point."""
    found: dict[tuple[str, Place | None, Scalar | None], list[Record]] = {}
    for record in records:
        where = record.coords.get("zone", record.coords.get("part"))
        found.setdefault((record.metric, place_of(record), where), []).append(record)
    return found


def place_of(record: Record) -> Place | None:
    """The cell of a record; None for values of the disk or of a zone alone."""
    if "rw" not in record.coords:
        return None
    rw, block_size, reads = (record.coords[key] for key in CELL_KEYS)
    return Place(str(rw), int(block_size), int(reads))


def places(records: Iterable[Record]) -> list[Place]:
    """Every cell: random before sequential, many reads before few, large requests before small ones."""
    found = {place for record in records if (place := place_of(record)) is not None}
    return sorted(found, key=lambda one: (not one.random, -one.rwmixread, -one.block_size))


def zone_starts(index: Index) -> dict[int, float]:
    """Offset of each zone in bytes."""
    return {
        int(where): found[0].value
        for (metric, _, where), found in index.items()
        if metric == "zone_offset" and where is not None
    }
