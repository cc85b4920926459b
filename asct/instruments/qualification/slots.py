"""What was done in a piece of a long test: light enough for more than a thousand of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from asct.instruments.fio.document import read_document
from asct.instruments.fio.point import Point
from asct.instruments.fio.process import RESULT_FILE
from asct.sdk.step import Output


@dataclass(frozen=True, slots=True)
class Slot:
    """A piece of the course: its length in seconds, requests, bytes of them, bytes written."""

    seconds: float
    ios: int
    io_bytes: int
    written: int

    @property
    def iops(self) -> float:
        """Requests per second."""
        return self.ios / self.seconds

    @property
    def bandwidth(self) -> float:
        """Bytes per second."""
        return self.io_bytes / self.seconds


def joined(slots: Sequence[Slot]) -> Slot:
    """Slots that follow one another as one; `slots` is not empty."""
    return Slot(
        sum(slot.seconds for slot in slots),
        sum(slot.ios for slot in slots),
        sum(slot.io_bytes for slot in slots),
        sum(slot.written for slot in slots),
    )


def slot_of(output: Output) -> Slot:
    """What one process of fio did. Raises ValueError for a result that cannot be read, or without any request.

    The next step of a long test depends on all that was done before it, so each result is read once and remembered.
    """
    slot = _slot(output.files.get(RESULT_FILE, ""))
    if slot.seconds <= 0:
        raise ValueError(f"{output.step.name}: fio did no request; see its stderr")
    return slot


@lru_cache(maxsize=4096)
def _slot(result: str) -> Slot:
    parts = [(name, part) for job in read_document(result).jobs for name, part in job.directions.items()]
    return Slot(
        seconds=max((part.runtime_ms for _, part in parts), default=0) / 1000.0,
        ios=sum(part.ios for _, part in parts),
        io_bytes=sum(part.io_bytes for _, part in parts),
        written=sum(part.io_bytes for name, part in parts if name == "write"),
    )


def course_of(point: Point) -> tuple[Slot, ...]:
    """The pieces between the reports of a process."""
    return tuple(
        Slot(one.seconds, one.ios, one.io_bytes, one.sides["write"].io_bytes if "write" in one.sides else 0)
        for one in point.seconds
        if one.seconds > 0
    )
