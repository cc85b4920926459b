"""The table and the bar chart of memory-profile."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from asct.instruments.memory.bandwidth import OWN_COLUMNS, traffic_bars, traffic_kinds, traffic_series
from asct.instruments.memory.sizes import SET_FLAGS
from asct.instruments.memory.stream import IN_TIME, STREAM_FLAGS, BandwidthStyle, bandwidth_style
from asct.instruments.memory.traffic import TITLES, width_title
from asct.sdk.figure import Bars, Column, Table
from asct.sdk.record import Record, Scalar
from asct.sdk.rows import at, by_point, flags_of, middle, swept_cells, swept_columns

BEST: Final = "best"
"""Flag of the fastest cache level, whose value is the peak of the caches."""
FLAGS: Final = {**STREAM_FLAGS, **SET_FLAGS}
COUNTING: Final = (
    "All CPUs at once; medians over the windows of the best variant, MB = 10^6 bytes. Memory bandwidth counts bytes on "
    "the bus: the program's loads and stores, and the cache lines that a regular store reads first (assumed). Cache "
    "bandwidth counts the program's loads and stores."
)
_PROFILE_TITLES: Final = {**TITLES, "triad": "Stream-triad like"}


def profile_table(records: Sequence[Record]) -> Table:
    """The peaks of each point; medians over the repeats."""
    swept = swept_columns(records, OWN_COLUMNS)
    style = bandwidth_style(records)
    style = BandwidthStyle("MB/s", 1e6, style.suffix) if style is IN_TIME else style
    widths = _widths(records)
    columns = (
        *swept,
        Column("traffic", "Traffic", format="text"),
        *(Column(f"width{one}", f"{width_title(one)} loads/stores [{style.unit}]", style.scale) for one in widths),
        Column("cache", f"Peak Cache Bandwidth [{style.unit}]", style.scale),
        Column("level", "Cache level", format="text", help="The fastest cache level, at its own size"),
        Column("flags", "Flags", format="text"),
    )
    rows: list[dict[str, Scalar | None]] = []
    for mine in by_point(records):
        cells = swept_cells(mine, swept)
        rows += [cells | _row(mine, traffic, widths, style.suffix) for traffic in traffic_kinds(mine)]
    valued = [record for record in records if record.metric in ("bus_bandwidth", "peak_cache_bandwidth")]
    notes = (COUNTING,) if rows else ()
    return Table("profile", "Peak memory bandwidths", columns, tuple(rows), notes, flags_of(valued))


def profile_bars(records: Sequence[Record]) -> tuple[Bars, ...]:
    """Memory bandwidth by access width, side by side for each kind of traffic; empty without values."""
    series = [
        traffic_series(mine, "bus_bandwidth", width_title(width), _PROFILE_TITLES, width=width)
        for mine in by_point(records)
        for width in _widths(mine)
    ]
    caption = "All CPUs at once, each using memory of its own node; bytes on the bus. Medians, with 95 % intervals."
    return traffic_bars("profile", "Peak memory bandwidths", caption, series)


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
