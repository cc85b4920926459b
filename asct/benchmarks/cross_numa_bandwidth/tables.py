"""How the matrix of bandwidths is shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from asct.instruments.memory.matrix import Look, node_heatmaps, node_table, pair_table
from asct.instruments.memory.stream import STREAM_FLAGS, shown
from asct.instruments.memory.stream_sizes import SET_FLAGS
from asct.sdk.figure import Figure, Table
from asct.sdk.record import Record

FLAGS: Final = {**STREAM_FLAGS, **SET_FLAGS}
_CAPTION: Final = (
    "All usable CPUs of the node on the left with memory of the node below. Medians of short windows, in "
    "bytes on the memory bus."
)


def matrix_tables(records: Sequence[Record]) -> tuple[Table, ...]:
    """The matrix, and the spread of each pair."""
    look = _look(records)
    return node_table(records, look), pair_table(records, look)


def matrix_figures(records: Sequence[Record]) -> tuple[Figure, ...]:
    """The matrix as colours where there are several pairs."""
    return node_heatmaps(records, _look(records), _CAPTION)


def _look(records: Sequence[Record]) -> Look:
    how = shown(records)
    return Look(
        slug="nodes",
        title="Cross-NUMA bandwidths for the system",
        metric=f"bus_bandwidth{how.suffix}",
        scale=how.scale,
        unit=how.unit,
        digits=1,
        better="higher",
    )
