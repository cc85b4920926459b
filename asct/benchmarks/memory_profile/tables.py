"""The table of peaks: a row for each kind of traffic, a column for each width of accesses, and the caches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from asct.instruments.memory.stream import IN_TIME, STREAM_FLAGS, Shown, shown
from asct.instruments.memory.stream_sizes import SET_FLAGS
from asct.instruments.memory.traffic import TITLES, width_title
from asct.sdk.figure import Axis, Bars, Column, Series, Table
from asct.sdk.record import Record, Scalar
from asct.sdk.rows import (
    at,
    by_point,
    flags_of,
    interval,
    middle,
    point_label,
    swept_cells,
    swept_columns,
)

BEST: Final = "best"
"""Flag of the level whose figure is the peak of the caches."""
FLAGS: Final = {**STREAM_FLAGS, **SET_FLAGS}
_OWN: Final = ("traffic",)
"""Settings that have a column of their own, swept or not."""
COUNTING: Final = (
    "All CPUs at once; medians of the windows of the best variant, MB = 10^6 bytes. From memory bytes on the bus are "
    "counted: what the program loads and stores, and lines that a normal store reads first (assumed). In the caches "
    "they are those that the program loads and stores."
)
_PROFILE_TITLES: Final = {**TITLES, "triad": "Stream-triad like"}


def profile_table(records: Sequence[Record]) -> Table:
    """The peaks of each point; medians over the repeats."""
    swept = swept_columns(records, _OWN)
    how = _shown(records)
    widths = _widths(records)
    columns = (
        *swept,
        Column("traffic", "Traffic", format="text"),
        *(Column(f"width{one}", f"{width_title(one)} loads/stores [{how.unit}]", how.scale) for one in widths),
        Column("cache", f"Peak Cache Bandwidth [{how.unit}]", how.scale),
        Column("level", "Cache level", format="text", help="The fastest level of cache, at its own size"),
        Column("flags", "Flags", format="text"),
    )
    rows: list[dict[str, Scalar | None]] = []
    for mine in by_point(records):
        cells = swept_cells(mine, swept)
        rows += [cells | _row(mine, traffic, widths, how.suffix) for traffic in _kinds(mine)]
    valued = [record for record in records if record.metric in ("bus_bandwidth", "peak_cache_bandwidth")]
    notes = (COUNTING,) if rows else ()
    return Table("profile", "Peak memory bandwidths", columns, tuple(rows), notes, flags_of(valued))


def profile_bars(records: Sequence[Record]) -> Bars | None:
    """Memory by width, side by side for each kind of traffic; None without values."""
    series = [_series(mine, width) for mine in by_point(records) for width in _widths(mine)]
    if not series:
        return None
    return Bars(
        slug="profile",
        title="Peak memory bandwidths",
        caption="All CPUs at once on memory of their own nodes, bytes on the bus. Medians, with 95 % intervals.",
        x=Axis("Traffic", scale="category"),
        y=Axis("Bandwidth", "B/s"),
        series=tuple(series),
        better="higher",
    )


def _shown(records: Sequence[Record]) -> Shown:
    how = shown(records)
    return Shown("MB/s", 1e6, how.suffix) if how is IN_TIME else how


def _row(mine: Sequence[Record], traffic: str, widths: Sequence[str], suffix: str) -> dict[str, Scalar | None]:
    memory = {width: at(mine, f"bus_bandwidth{suffix}", traffic=traffic, width=width) for width in widths}
    cache = at(mine, f"peak_cache_bandwidth{suffix}", traffic=traffic)
    levels = [r.coords["level"] for r in at(mine, "level_bandwidth", traffic=traffic) if BEST in r.flags]
    return {
        "traffic": _PROFILE_TITLES[traffic],
        **{f"width{width}": middle(repeats) for width, repeats in memory.items()},
        "cache": middle(cache),
        "level": ", ".join(map(str, dict.fromkeys(levels))),
        "flags": ", ".join(flags_of([*cache, *(one for repeats in memory.values() for one in repeats)])),
    }


def _widths(records: Sequence[Record]) -> list[str]:
    return list(dict.fromkeys(str(record.coords["width"]) for record in records if record.metric == "bus_bandwidth"))


def _kinds(mine: Sequence[Record]) -> list[str]:
    found = {record.coords["traffic"] for record in mine if record.metric == "bus_bandwidth"}
    return [traffic for traffic in TITLES if traffic in found]


def _series(mine: Sequence[Record], width: str) -> Series:
    kinds = _kinds(mine)
    groups = [at(mine, "bus_bandwidth", traffic=traffic, width=width) for traffic in kinds]
    ends = [interval(group) or (None, None) for group in groups]
    label = point_label(mine[0], "", _OWN)
    name = width_title(width)
    return Series(
        name=f"{name}, {label}" if label else name,
        x=tuple(_PROFILE_TITLES[traffic] for traffic in kinds),
        y=tuple(middle(group) for group in groups),
        low=tuple(low for low, _ in ends),
        high=tuple(high for _, high in ends),
        host=mine[0].host,
    )
