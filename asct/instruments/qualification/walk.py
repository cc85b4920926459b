"""Where the next round of a sequential stream goes.

Every fio begins at the first byte of its span. Rounds of a minute would then work on the same beginning of a large
drive again and again, while the rest of it lies idle (TKperf's throughput test reads mostly what was never written).
So a round goes on where the one before it ended, and one that comes to the end of the span stops there.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from asct.instruments.fio.params import FioParams

_WORTH: Final = 4
"""What is left of the span is skipped when it holds less than this part of a round."""


@dataclass(frozen=True, slots=True)
class Walk:
    """`size` bytes from `offset` on; with `once` the round ends when it has passed over them."""

    offset: int
    size: int
    once: bool = False


def next_walk(span: int, volumes: Iterable[int], block: int) -> Walk:
    """The part of a span of `span` bytes for the round after those that passed over `volumes` bytes each.

    A round that passes over the whole span within its time has no place to go on from: then every one is the whole.
    """
    position = last = 0
    for last in volumes:
        position = (position + last) % span // block * block if last < span else 0
        if span - position < max(block, last // _WORTH):
            position = 0
    left = (span - position) // block * block
    return Walk(position, left, once=position > 0 and left < 2 * last)


def walked(params: FioParams, volumes: Iterable[int]) -> FioParams:
    """`params` of a sequential round after those of the same cell that passed over `volumes` bytes each.

    Several jobs have a slice each, which they walk from its begin; random requests go everywhere anyway.
    """
    if not params.sequential or params.numjobs > 1 or params.filesize is None:
        return params
    walk = next_walk(params.filesize, volumes, params.block_size)
    changes: dict[str, int] = {"offset": params.offset + walk.offset, "filesize": walk.size}
    return params.model_copy(update=changes | ({"io_size": walk.size} if walk.once else {}))
