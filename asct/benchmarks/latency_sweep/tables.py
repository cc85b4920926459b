"""The table of levels, with the columns that users of ASCT know."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from asct.benchmarks.latency_sweep.measure import NO_LEVELS, NO_LEVELS_HINT, NOTES
from asct.instruments.memory.settings import CYCLE_BASE
from asct.sdk.figure import Column, Table
from asct.sdk.record import Record, Scalar, doubtful
from asct.sdk.rows import (
    at,
    by_point,
    flags_of,
    interval_text,
    middle,
    swept_cells,
    swept_columns,
)

NS = 1e-9
_INTERVAL_HELP: Final = "Of the median over the sizes of the level; includes the drift from size to size"


def level_table(records: Sequence[Record]) -> Table:
    """One row per level and point; values are medians over the repeats."""
    cycles = any(CYCLE_BASE in record.flags for record in records if record.metric == "levels")
    swept = swept_columns(records)
    rows: list[dict[str, Scalar | None]] = []
    for mine in by_point(records):
        names = dict.fromkeys(str(r.coords["level"]) for r in mine if r.metric == "latency" and "level" in r.coords)
        for name in sorted(names, key=lambda level: middle(at(mine, "lower_bound", level=level)) or 0.0):
            rows.append(swept_cells(mine, swept) | _row(mine, name, cycles))
    return Table(
        slug="levels",
        title="Latencies at different levels of cache",
        columns=(*swept, *_columns(cycles)),
        rows=tuple(rows),
        notes=_notes(records),
        flags=flags_of(r for r in records if "level" in r.coords or r.metric == "page_size"),
    )


def _columns(cycles: bool) -> tuple[Column, ...]:
    latency = Column("latency", "Latency [ns]", scale=NS, digits=2, help="Median over the sizes of the level")
    in_cycles = Column("latency_cycles", "Latency [cycle]", digits=2, help="In core cycles")
    return (
        Column("level", "Level", format="text"),
        Column("lower_bound", "Lower bound", format="size", help="Smallest working set with the latency of this level"),
        Column("upper_bound", "Upper bound", format="size", help="Largest working set with the latency of this level"),
        Column("optimum_size", "Optimum data size", format="size", help="Halfway between the bounds"),
        *((in_cycles, latency) if cycles else (latency, in_cycles)),
        Column("interval", f"95 % interval [{'cycle' if cycles else 'ns'}]", format="text", help=_INTERVAL_HELP),
        Column("flags", "Flags", format="text"),
    )


def _row(mine: Sequence[Record], level: str, cycles: bool) -> dict[str, Scalar | None]:
    keys = ("lower_bound", "upper_bound", "optimum_size", "latency", "latency_cycles")
    metric, unit = ("latency_cycles", 1.0) if cycles else ("latency", NS)
    return {
        "level": level,
        **{key: middle(at(mine, key, level=level)) for key in keys},
        "interval": interval_text(at(mine, metric, level=level), unit, 2),
        "flags": ", ".join(flags_of(r for r in mine if r.coords.get("level") == level)),
    }


def _notes(records: Sequence[Record]) -> tuple[str, ...]:
    searches = dict.fromkeys(flag for r in records if r.metric == "levels" for flag in r.flags)
    notes = [f"{NOTES[word][0].upper()}{NOTES[word][1:]}." for word in searches if word in NOTES]
    if NO_LEVELS in searches:
        notes.insert(0, NO_LEVELS_HINT)
    curve = [r for r in records if r.metric == "latency" and "size" in r.coords]
    unsettled = sum(any(map(doubtful, r.flags)) for r in curve)
    if unsettled:
        notes.append(f"{unsettled} of {len(curve)} sizes on the curve did not reach target_interval within time_cap.")
    return tuple(notes)
