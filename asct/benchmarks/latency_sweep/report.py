"""The level table of latency-sweep, which has the columns from Arm's ASCT, and the latency curve."""

from __future__ import annotations

from collections.abc import Sequence

from asct.benchmarks.latency_sweep.measure import NO_LEVELS, NO_LEVELS_HINT, NOTES
from asct.instruments.memory.sizes import working_set_note
from asct.sdk.figure import Axis, Column, Figure, Line, Marker, Series, Table
from asct.sdk.record import Record, doubtful
from asct.sdk.rows import (
    FLAGS_COLUMN,
    Row,
    at,
    by_point,
    flag_cell,
    flags_of,
    interval_text,
    middle,
    point_label,
    point_rows,
    series_of,
)
from asct.statistics.robust import median
from asct.values.grouping import grouped
from asct.values.size import about_size

_NS = 1e-9
_LOCAL = "local chain"
_INTERVAL_HELP = "95 % interval for the level's latency, computed from the values of the visits"


def level_table(records: Sequence[Record], cycles: bool) -> Table:
    """Return a table of medians over the repeats, with one row per level and point. If no levels were found, the notes
    say why."""

    def rows(mine: Sequence[Record]) -> list[Row]:
        names = dict.fromkeys(str(r.coords["level"]) for r in mine if r.metric == "latency" and "level" in r.coords)
        order = sorted(names, key=lambda level: middle(at(mine, "lower_bound", level=level)) or 0.0)
        return [_row(mine, name, cycles) for name in order]

    flags = flags_of(r for r in records if "level" in r.coords or r.metric == "page_size")
    columns, found = point_rows(records, _columns(cycles), rows)
    columns = tuple(column for column in columns if column.key != "tlb_end" or any(row.get("tlb_end") for row in found))
    return Table("levels", "Latencies at different levels of cache", columns, found, _notes(records), flags)


def _columns(cycles: bool) -> tuple[Column, ...]:
    latency = Column("latency", "Latency [ns]", scale=_NS, digits=2, help="Median over the visits")
    in_cycles = Column("latency_cycles", "Latency [cycle]", digits=2, help="In core cycles")
    return (
        Column("level", "Level", format="text"),
        Column("lower_bound", "Lower bound", format="size", help="Smallest working set that belongs to the level"),
        Column("upper_bound", "Upper bound", format="size", help="Largest working set that the level holds"),
        Column(
            "tlb_end",
            "TLB end",
            format="size",
            help="Above this size, random loads in this level wait for address translations",
        ),
        Column("optimum_size", "Optimum data size", format="size", help="Midpoint between the bounds"),
        *((in_cycles, latency) if cycles else (latency, in_cycles)),
        Column("interval", f"95 % interval [{'cycle' if cycles else 'ns'}]", format="text", help=_INTERVAL_HELP),
        FLAGS_COLUMN,
    )


def _row(mine: Sequence[Record], level: str, cycles: bool) -> Row:
    keys = ("lower_bound", "upper_bound", "tlb_end", "optimum_size", "latency", "latency_cycles")
    metric, unit = ("latency_cycles", 1.0) if cycles else ("latency", _NS)
    return {
        "level": level,
        **{key: middle(at(mine, key, level=level)) for key in keys},
        "interval": interval_text(at(mine, metric, level=level), unit, 2),
        **flag_cell(r for r in mine if r.coords.get("level") == level),
    }


def _notes(records: Sequence[Record]) -> tuple[str, ...]:
    searches = dict.fromkeys(flag for r in records if r.metric == "levels" for flag in r.flags)
    notes = [f"{NOTES[word][0].upper()}{NOTES[word][1:]}." for word in searches if word in NOTES]
    if NO_LEVELS in searches:
        notes.insert(0, NO_LEVELS_HINT)
    notes += [*_tlb_notes(records), *working_set_note(records, "Latency of DRAM")]
    curve = [r for r in records if r.metric == "latency" and "size" in r.coords]
    doubted = sum(any(map(doubtful, r.flags)) for r in curve)
    if doubted:
        notes.append(f"{doubted} of {len(curve)} sizes on the curve were disturbed.")
    return tuple(notes)


def _tlb_notes(records: Sequence[Record]) -> list[str]:
    """Return a note for each level in which the reach of the TLB ends before the cache does."""
    levels = dict.fromkeys(str(r.coords["level"]) for r in records if r.metric == "tlb_end")
    return [
        f"{level} ends at {_size(records, 'upper_bound', level)}. Beyond {_size(records, 'tlb_end', level)}, random "
        "loads in this level are slower, because their pages exceed the reach of a TLB."
        for level in levels
    ]


def _size(records: Sequence[Record], metric: str, level: str) -> str:
    return about_size(int(middle(at(records, metric, level=level)) or 0))


def latency_curve(records: Sequence[Record], cycles: bool) -> tuple[Figure, ...]:
    """Return the curve with one line per point (medians over the repeats), or an empty sequence if there are no
    values."""
    metric = "latency_cycles" if cycles else "latency"
    points = by_point(record for record in records if record.metric == metric and "size" in record.coords)
    local = by_point(record for record in records if record.metric == f"local_{metric}")
    curve = Line(
        slug="latency-curve",
        title="Latency by working set size",
        caption=(
            "Time per dependent load in random order. A flat part is a level. The lower curve shows the local "
            "chain, which uses only a few pages at a time: it rises at the end of a cache, but not where the reach "
            "of a TLB ends. Solid lines mark where a level or the reach of a TLB ends; dotted lines mark the caches "
            "that the host reports. Bars and shaded areas are 95 % intervals."
        ),
        x=Axis("Working set", "B", "log2"),
        y=Axis("Latency", "cycles" if cycles else "s", "log10", better="lower"),
        series=(*(_series(mine, "latency") for mine in points), *(_series(mine, _LOCAL) for mine in local)),
        markers=(*(_bounds(records) if len(points) == 1 else ()), *_reported(records)),
    )
    return (curve,) if points else ()


def _series(mine: Sequence[Record], what: str) -> Series:
    sizes = sorted({int(record.coords["size"]) for record in mine})
    name = what if not mine[0].point else f"{point_label(mine[0], '')}{f', {what}' if what == _LOCAL else ''}"
    return series_of(name, sizes, [[r for r in mine if r.coords["size"] == size] for size in sizes])


def _bounds(records: Sequence[Record]) -> list[Marker]:
    """Return the upper bound of every level except the last (which ends only because the data ends there), and every
    size inside a level at which the reach of a TLB is exceeded."""
    ends = [(size, f"{level} ends at") for size, level in _sizes(records, "upper_bound")]
    tlb = [(size, f"TLB limit in {level}") for size, level in _sizes(records, "tlb_end")]
    return [Marker(size, name, value=about_size(int(size))) for size, name in (*ends[:-1], *tlb)]


def _sizes(records: Sequence[Record], metric: str) -> list[tuple[float, str]]:
    """Return the median size and the name of each level, from the smallest size to the largest."""
    found = grouped((r for r in records if r.metric == metric), lambda record: str(record.coords["level"]))
    return sorted((median([record.value for record in mine]), level) for level, mine in found.items())


def _reported(records: Sequence[Record]) -> list[Marker]:
    sizes = {str(r.coords["level"]): r.value for r in records if r.metric == "cache_size"}
    return [Marker(size, level, "hint", about_size(int(size))) for level, size in sizes.items()]
