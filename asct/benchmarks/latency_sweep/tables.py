"""The table of levels, with the columns that users of ASCT know."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from asct.benchmarks.latency_sweep.findings import CYCLE_BASE, FLAGS, NO_LEVELS, NOTES, WAY_OUT
from asct.sdk.figure import Column, Table
from asct.sdk.record import Record, Scalar
from asct.statistics.robust import median

NS = 1e-9
_INTERVAL_HELP: Final = "Of the median over the sizes of the level: it spans the drift from size to size as well"


def level_table(records: Sequence[Record]) -> Table:
    """One row per level and point; values are medians over the repeats."""
    cycles = any(CYCLE_BASE in record.flags for record in records if record.metric == "levels")
    points = _points(records)
    swept = list(dict.fromkeys(key for record in records for key in record.point))
    rows: list[dict[str, Scalar | None]] = []
    for mine in points:
        names = dict.fromkeys(str(r.coords["level"]) for r in mine if r.metric == "latency" and "level" in r.coords)
        for name in sorted(names, key=lambda level: _value(mine, "lower_bound", level) or 0.0):
            row: dict[str, Scalar | None] = {key: _text(mine[0].point.get(key)) for key in swept}
            rows.append(row | _row(mine, name, cycles))
    return Table(
        slug="levels",
        title="Latencies at different levels of cache",
        columns=(*(Column(key, key, format="text") for key in swept), *_columns(cycles)),
        rows=tuple(rows),
        notes=_notes(records),
    )


def _columns(cycles: bool) -> tuple[Column, ...]:
    latency = Column("latency", "Latency [ns]", scale=NS, digits=2, help="Median over the sizes of the level")
    in_cycles = Column("latency_cycles", "Latency [cycle]", digits=2, help="The same in cycles of the core")
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
    flags = dict.fromkeys(flag for r in mine if r.coords.get("level") == level for flag in r.flags)
    keys = ("lower_bound", "upper_bound", "optimum_size", "latency", "latency_cycles")
    row: dict[str, Scalar | None] = {"level": level, **{key: _value(mine, key, level) for key in keys}}
    row["interval"] = _interval(mine, level, "latency_cycles" if cycles else "latency", 1.0 if cycles else NS)
    row["flags"] = ", ".join(flags)
    return row


def _interval(mine: Sequence[Record], level: str, metric: str, unit: float) -> str | None:
    """The interval of the only repeat; of several, the span of their values."""
    found = [r for r in mine if r.metric == metric and r.coords.get("level") == level]
    if len(found) == 1:
        ci95 = found[0].stats.ci95 if found[0].stats else None
        return None if ci95 is None else f"{ci95[0] / unit:.2f} .. {ci95[1] / unit:.2f}"
    values = sorted(r.value / unit for r in found)
    return f"{values[0]:.2f} .. {values[-1]:.2f} ({len(values)} repeats)"


def _value(mine: Iterable[Record], metric: str, level: str) -> float | None:
    values = [r.value for r in mine if r.metric == metric and r.coords.get("level") == level]
    return median(values) if values else None


def _points(records: Sequence[Record]) -> list[list[Record]]:
    points: dict[str, list[Record]] = {}
    for record in records:
        points.setdefault(record.point_id, []).append(record)
    return list(points.values())


def _text(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _notes(records: Sequence[Record]) -> tuple[str, ...]:
    searches = dict.fromkeys(flag for r in records if r.metric == "levels" for flag in r.flags)
    notes = [f"{NOTES[word][0].upper()}{NOTES[word][1:]}." for word in searches if word in NOTES]
    if NO_LEVELS in searches:
        notes.insert(0, WAY_OUT)
    curve = [r for r in records if r.metric == "latency" and "size" in r.coords]
    unsettled = sum("noisy" in r.flags for r in curve)
    if unsettled:
        notes.append(f"{unsettled} of {len(curve)} sizes on the curve did not reach target_interval within time_cap.")
    at_levels = dict.fromkeys(flag for r in records if "level" in r.coords for flag in r.flags)
    notes += [f"{word}: {FLAGS[word]}." for word in at_levels if word in FLAGS]
    return tuple(notes)
