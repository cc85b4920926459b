"""The table and the curve of bandwidth-sweep."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from asct.instruments.memory.bandwidth import OWN_COLUMNS, traffic_kinds
from asct.instruments.memory.sizes import SET_FLAGS
from asct.instruments.memory.stream import IN_CYCLES, IN_TIME, STREAM_FLAGS, BandwidthStyle, bandwidth_style
from asct.instruments.memory.traffic import TITLES
from asct.sdk.figure import Axis, Column, Line, Marker, Series, Table
from asct.sdk.record import Record, Scalar
from asct.sdk.rows import (
    at,
    by_point,
    flags_of,
    middle,
    series_name,
    series_of,
    spread_cells,
    swept_cells,
    swept_columns,
)

FEW_LINES: Final = "few-lines"
FLAGS: Final = {
    **STREAM_FLAGS,
    **SET_FLAGS,
    FEW_LINES: "fewer than 64 lines per thread: starting and ending the loop takes a large part of the time",
}
COUNTING: Final = (
    "Bytes that the program loads and stores, all threads combined; the size is per thread. Bandwidth is the median "
    "over the windows of the best variant, Max the best window."
)


def bandwidth_table(records: Sequence[Record]) -> Table:
    """A row for each level and kind of traffic; where no levels were measured, for each size."""
    swept = swept_columns(records, OWN_COLUMNS)
    style = bandwidth_style(records)
    axis = "level" if any("level" in record.coords for record in records) else "size"
    values = [record for record in records if record.metric == "bandwidth" and axis in record.coords]
    rows: list[dict[str, Scalar | None]] = []
    for mine in by_point(records):
        cells = swept_cells(mine, swept)
        rows += [cells | _row(mine, axis, where, traffic, style) for where, traffic in _combinations(mine, axis)]
    return Table(
        slug="levels",
        title="Bandwidth at different levels of cache",
        columns=(*swept, *_columns(style)),
        rows=tuple(rows),
        notes=(COUNTING,) if rows else (),
        flags=flags_of(values),
    )


def bandwidth_curve(records: Sequence[Record]) -> Line | None:
    """Bandwidth over the size of a thread, a line for each kind of traffic and point; None without a curve."""
    style = bandwidth_style(records)
    series = [
        _series(mine, traffic, f"bandwidth{style.suffix}")
        for mine in by_point(records)
        for traffic in TITLES
        if any("size" in record.coords for record in at(mine, "bandwidth", traffic=traffic))
    ]
    if not series:
        return None
    return Line(
        slug="bandwidth-curve",
        title="Bandwidth by working set size",
        caption=(
            "Bytes that the program loads and stores each second, all threads combined, over the working set of one "
            "thread. Dotted lines mark the sizes at which the levels were measured. Bars are 95 % intervals."
        ),
        x=Axis("Working set of a thread", "B", "log2"),
        y=Axis("Bandwidth", "B/cycle" if style is IN_CYCLES else "B/s", "log10"),
        series=tuple(series),
        markers=_markers(records),
        better="higher",
    )


def _columns(style: BandwidthStyle) -> tuple[Column, ...]:
    unit, scale = style.unit, style.scale
    other = IN_TIME if style is IN_CYCLES else IN_CYCLES
    return (
        Column("data_size", "Data size used", format="size", help="Of each thread, all arrays combined"),
        Column("level", "Level", format="text"),
        Column("traffic", "Traffic", format="text"),
        Column("bandwidth", f"Bandwidth [{unit}]", scale, help="Median, bytes that the program loads and stores"),
        Column(
            "other",
            f"Bandwidth [{other.unit}]",
            other.scale,
            digits=2,
            help="The same bandwidth in the other unit; cycles are core cycles",
        ),
        Column("interval", f"95 % interval [{unit}]", format="text", help="With repeats: their range"),
        Column("max", f"Max [{unit}]", scale, help="Best window"),
        Column("flags", "Flags", format="text"),
    )


def _row(
    mine: Sequence[Record], axis: str, where: Scalar, traffic: str, style: BandwidthStyle
) -> dict[str, Scalar | None]:
    coords = {axis: where, "traffic": traffic}
    repeats = at(mine, f"bandwidth{style.suffix}", **coords)
    other = IN_TIME if style is IN_CYCLES else IN_CYCLES
    level = axis == "level"
    return {
        "data_size": middle(at(mine, "data_size", level=where)) if level else where,
        "level": where if level else None,
        "traffic": TITLES[traffic],
        "bandwidth": middle(repeats),
        "other": middle(at(mine, f"bandwidth{other.suffix}", **coords)),
        **spread_cells(repeats, style.scale),
    }


def _combinations(mine: Sequence[Record], axis: str) -> list[tuple[Scalar, str]]:
    """Levels (by their size) or sizes, for each kind of traffic in the order of `TITLES`."""
    found = [record for record in at(mine, "bandwidth") if axis in record.coords]
    sizes = {record.coords["level"]: record.value for record in at(mine, "data_size")}
    kinds = traffic_kinds(found, "bandwidth")
    wheres = sorted({record.coords[axis] for record in found}, key=lambda where: float(sizes.get(where, 0) or where))
    return [
        (where, traffic)
        for where in wheres
        for traffic in kinds
        if at(found, "bandwidth", **{axis: where, "traffic": traffic})
    ]


def _series(mine: Sequence[Record], traffic: str, metric: str) -> Series:
    curve = [record for record in at(mine, metric, traffic=traffic) if "size" in record.coords]
    sizes = sorted({int(record.coords["size"]) for record in curve})
    groups = [at(curve, metric, size=size) for size in sizes]
    return series_of(series_name(TITLES[traffic], mine[0], OWN_COLUMNS), sizes, groups)


def _markers(records: Sequence[Record]) -> tuple[Marker, ...]:
    sizes = {str(record.coords["level"]): record.value for record in at(records, "data_size")}
    return tuple(Marker(size, level, "hint") for level, size in sorted(sizes.items(), key=lambda item: item[1]))
