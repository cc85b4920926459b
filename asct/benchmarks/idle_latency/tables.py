"""The matrix that users of ASCT know, what it is relative to local memory, and how sure each value is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from asct.instruments.memory.matrix import Look, node_heatmaps, node_table, pair_table
from asct.instruments.memory.settings import CYCLE_BASE
from asct.sdk.figure import Heatmap, Table
from asct.sdk.record import Record

_TITLE: Final = "Latencies of random memory access at idle"
_TIME: Final = Look("idle-latency", _TITLE, "latency", 1e-9, "nanoseconds", 1, "lower")
_CYCLES: Final = Look("idle-latency", _TITLE, "latency_cycles", 1.0, "core cycles", 1, "lower")
_RATIO: Final = Look("ratio", "Latency relative to local memory", "ratio", 1.0, "times", 2, "lower")
_DISTANCE: Final = Look("distance", "Distances as the system reports them", "distance", 1.0, "tenths", 0, "neither")
_CAPTION: Final = "Time of one dependent load in random order: rows run, columns hold the memory. Nothing else runs."


def matrix_tables(records: Sequence[Record]) -> tuple[Table, ...]:
    """The matrix; with several nodes its ratios and distances as well; then the spread of every pair."""
    look = _look(records)
    tables = [node_table(records, look)]
    if len({str(record.coords) for record in records if record.metric == "latency"}) > 1:
        shown = [one for one in (_RATIO, _DISTANCE) if any(record.metric == one.metric for record in records)]
        tables += [node_table(records, one) for one in shown]
    return (*tables, pair_table(records, replace(look, unit="cycle" if look is _CYCLES else "ns")))


def heat_maps(records: Sequence[Record]) -> tuple[Heatmap, ...]:
    """The matrix as colours; none for one pair."""
    return node_heatmaps(records, _look(records), _CAPTION)


def _look(records: Sequence[Record]) -> Look:
    cycles = any(CYCLE_BASE in record.flags for record in records if record.metric == "core_clock")
    return _CYCLES if cycles else _TIME
