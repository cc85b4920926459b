"""The table of levels (or of the sizes asked for) and the curve."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from asct.benchmarks.bandwidth_sweep.measure import FEW_LINES
from asct.instruments.memory.stream import IN_CYCLES, IN_TIME, STREAM_FLAGS, Shown, shown
from asct.instruments.memory.stream_sizes import SET_FLAGS
from asct.instruments.memory.traffic import TITLES
from asct.sdk.figure import Axis, Column, Line, Marker, Series, Table
from asct.sdk.record import Record, Scalar
from asct.sdk.rows import (
    at,
    by_point,
    flags_of,
    highest,
    interval,
    interval_text,
    middle,
    point_label,
    swept_cells,
    swept_columns,
)

FLAGS: Final = {
    **STREAM_FLAGS,
    **SET_FLAGS,
    FEW_LINES: "fewer than 64 lines a thread: starting and ending the loop takes a good part of the time",
}
_OWN: Final = ("traffic",)
"""Settings that have a column of their own, swept or not."""
COUNTING: Final = (
    "Bytes that the program loads and stores, over all threads; the size is that of one thread. Bandwidth is the "
    "median of the windows of the best variant, Max the best window."
)


def bandwidth_table(records: Sequence[Record]) -> Table:
    """A row for each level and kind of traffic; where no levels were measured, for each size."""
    swept = swept_columns(records, _OWN)
    how = shown(records)
    place = "level" if any("level" in record.coords for record in records) else "size"
    values = [record for record in records if record.metric == "bandwidth" and place in record.coords]
    rows: list[dict[str, Scalar | None]] = []
    for mine in by_point(records):
        cells = swept_cells(mine, swept)
        rows += [cells | _row(mine, place, where, traffic, how) for where, traffic in _places(mine, place)]
    return Table(
        slug="levels",
        title="Bandwidth at different levels of cache",
        columns=(*swept, *_columns(how)),
        rows=tuple(rows),
        notes=(COUNTING,) if rows else (),
        flags=flags_of(values),
    )


def bandwidth_curve(records: Sequence[Record]) -> Line | None:
    """Bandwidth over the size of a thread, a line for each kind of traffic and point; None without a curve."""
    how = shown(records)
    series = [
        _series(mine, traffic, f"bandwidth{how.suffix}")
        for mine in by_point(records)
        for traffic in TITLES
        if any("size" in record.coords for record in at(mine, "bandwidth", traffic=traffic))
    ]
    if not series:
        return None
    return Line(
        slug="bandwidth-curve",
        title="Bandwidth over the working set",
        caption=(
            "Bytes that the program loads and stores each second, all threads together, over the working set of one "
            "thread. Dotted lines mark the sizes at which the levels were measured. Bars are 95 % intervals."
        ),
        x=Axis("Working set of a thread", "B", "log2"),
        y=Axis("Bandwidth", "B/cycle" if how is IN_CYCLES else "B/s", "log10"),
        series=tuple(series),
        markers=_markers(records),
        better="higher",
    )


def _columns(how: Shown) -> tuple[Column, ...]:
    unit, scale = how.unit, how.scale
    other = IN_TIME if how is IN_CYCLES else IN_CYCLES
    return (
        Column("data_size", "Data size used", format="size", help="Of each thread, all arrays together"),
        Column("level", "Level", format="text"),
        Column("traffic", "Traffic", format="text"),
        Column("bandwidth", f"Bandwidth [{unit}]", scale, help="Median, bytes that the program loads and stores"),
        Column("other", f"Bandwidth [{other.unit}]", other.scale, digits=2, help="The same; cycles are of the core"),
        Column("interval", f"95 % interval [{unit}]", format="text", help="Of several repeats their span"),
        Column("max", f"Max [{unit}]", scale, help="Best window"),
        Column("flags", "Flags", format="text"),
    )


def _row(mine: Sequence[Record], place: str, where: Scalar, traffic: str, how: Shown) -> dict[str, Scalar | None]:
    coords = {place: where, "traffic": traffic}
    repeats = at(mine, f"bandwidth{how.suffix}", **coords)
    other = IN_TIME if how is IN_CYCLES else IN_CYCLES
    level = place == "level"
    return {
        "data_size": middle(at(mine, "data_size", level=where)) if level else where,
        "level": where if level else None,
        "traffic": TITLES[traffic],
        "bandwidth": middle(repeats),
        "other": middle(at(mine, f"bandwidth{other.suffix}", **coords)),
        "interval": interval_text(repeats, how.scale, 1),
        "max": highest(repeats),
        "flags": ", ".join(flags_of(repeats)),
    }


def _places(mine: Sequence[Record], place: str) -> list[tuple[Scalar, str]]:
    """Levels (by their size) or sizes, for each kind of traffic in the order of `TITLES`."""
    found = [record for record in at(mine, "bandwidth") if place in record.coords]
    sizes = {record.coords["level"]: record.value for record in at(mine, "data_size")}
    kinds = [traffic for traffic in TITLES if any(record.coords["traffic"] == traffic for record in found)]
    wheres = sorted({record.coords[place] for record in found}, key=lambda where: float(sizes.get(where, 0) or where))
    return [
        (where, traffic)
        for where in wheres
        for traffic in kinds
        if at(found, "bandwidth", **{place: where, "traffic": traffic})
    ]


def _series(mine: Sequence[Record], traffic: str, metric: str) -> Series:
    curve = [record for record in at(mine, metric, traffic=traffic) if "size" in record.coords]
    sizes = sorted({int(record.coords["size"]) for record in curve})
    groups = [at(curve, metric, size=size) for size in sizes]
    ends = [interval(group) or (None, None) for group in groups]
    label = point_label(mine[0], "", _OWN)
    return Series(
        name=f"{TITLES[traffic]}, {label}" if label else TITLES[traffic],
        x=tuple(sizes),
        y=tuple(middle(group) for group in groups),
        low=tuple(low for low, _ in ends),
        high=tuple(high for _, high in ends),
        host=mine[0].host,
    )


def _markers(records: Sequence[Record]) -> tuple[Marker, ...]:
    sizes = {str(record.coords["level"]): record.value for record in at(records, "data_size")}
    return tuple(Marker(size, level, "hint") for level, size in sorted(sizes.items(), key=lambda item: item[1]))
