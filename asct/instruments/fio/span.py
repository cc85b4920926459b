"""Which part of its target each job of a point works on.

Random patterns: every job draws from the whole span, from a random sequence of its own. Sequential patterns: the span
is cut into one slice per job. Without that every job walks the same offsets, and the second reader is served from the
cache of the drive (fio issue 1501).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from asct.instruments.fio.params import FioParams

_PAGE: Final = 4096


@dataclass(frozen=True, slots=True)
class Span:
    """fio's `size` and `offset_increment` as plain byte counts or percentages; None leaves the option out."""

    size: str | None = None
    offset_increment: str | None = None


def span_of(params: FioParams) -> Span:
    """The part of the target for each job. Settings that pass `contradictions` never give an empty slice."""
    total = params.span_bytes
    if not params.sequential or params.numjobs == 1:
        return Span(None if total is None else str(total))
    if total is None:
        share = f"{100 // params.numjobs}%"
        return Span(share, share)
    files = max(1, len(params.file_names))
    increment = slice_bytes(params, total)
    return Span(str(increment * files), str(increment))


def slice_bytes(params: FioParams, total: int) -> int:
    """Bytes of each file that one of several sequential jobs works on: whole requests on whole pages, possibly 0."""
    grain = math.lcm(params.block_size, _PAGE)
    files = max(1, len(params.file_names))
    return total // files // params.numjobs // grain * grain


def job_bytes(params: FioParams, total: int) -> int:
    """The share of one job in `total` bytes of requests: whole requests, rounded up."""
    return -(-total // params.numjobs // params.block_size) * params.block_size
