"""The table and the bar chart of peak-bandwidth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from asct.instruments.memory.bandwidth import OWN_COLUMNS, traffic_bars, traffic_kinds, traffic_series
from asct.instruments.memory.kernel_flags import ABOVE_THEORETICAL_FLAGS
from asct.instruments.memory.sizes import SET_FLAGS
from asct.instruments.memory.stream import STREAM_FLAGS, BandwidthStyle, bandwidth_style
from asct.instruments.memory.traffic import TITLES
from asct.sdk.figure import Bars, Column, Table
from asct.sdk.record import Record, Scalar
from asct.sdk.rows import at, by_point, flags_of, middle, spread_cells, swept_cells, swept_columns

BEST: Final = "best"
"""Flag of the fastest variant, whose values are those of its kind of traffic."""
FLAGS: Final = {**STREAM_FLAGS, **SET_FLAGS, **ABOVE_THEORETICAL_FLAGS}
COUNTING: Final = (
    "Peak BW is the median over the windows of the best variant, all threads combined. It counts bytes on the memory "
    "bus: the program's loads and stores, and the cache lines that a regular store reads first (assumed; some cores "
    "avoid that read, and string instructions are taken to avoid it). Useful BW counts the loads and stores only. Max "
    "is the best window on the bus."
)


def peak_table(records: Sequence[Record]) -> Table:
    """A row per kind of traffic (and point); values are medians over the repeats."""
    swept = swept_columns(records, OWN_COLUMNS)
    style = bandwidth_style(records)
    rows: list[dict[str, Scalar | None]] = []
    for mine in by_point(records):
        cells = swept_cells(mine, swept)
        rows += [cells | _row(mine, traffic, style) for traffic in traffic_kinds(mine)]
    return Table(
        slug="peak",
        title="Peak memory bandwidth",
        columns=(*swept, *_columns(style)),
        rows=tuple(rows),
        notes=(COUNTING,) if rows else (),
        flags=flags_of(record for record in records if record.metric in ("bus_bandwidth", "share_of_theoretical")),
    )


def peak_bars(records: Sequence[Record]) -> tuple[Bars, ...]:
    """Bytes on the bus and useful bytes side by side, for each kind of traffic; empty without values."""
    series = [
        traffic_series(mine, metric, name)
        for mine in by_point(records)
        for metric, name in (("bus_bandwidth", "On the memory bus"), ("bandwidth", "Useful"))
        if at(mine, metric)
    ]
    caption = "All CPUs at once, each using memory of its own node. Bars are medians, with 95 % intervals."
    return traffic_bars("peak", "Peak memory bandwidth", caption, series)


def _columns(style: BandwidthStyle) -> tuple[Column, ...]:
    unit, scale = style.unit, style.scale
    return (
        Column("traffic", "Traffic type", format="text"),
        Column("bus_bandwidth", f"Peak BW [{unit}]", scale, help="Median, bytes on the memory bus"),
        Column("bandwidth", f"Useful BW [{unit}]", scale, help="Median, bytes that the program loads and stores"),
        Column("share", "% of Peak Theoretical", digits=1, help="Bytes on the memory bus"),
        Column("variant", "Variant", format="text", help="The fastest loop variant"),
        Column("interval", f"95 % interval [{unit}]", format="text", help="Of Peak BW; with repeats: their range"),
        Column("max", f"Max [{unit}]", scale, help="Best window, bytes on the memory bus"),
        Column("flags", "Flags", format="text"),
    )


def _row(mine: Sequence[Record], traffic: str, style: BandwidthStyle) -> dict[str, Scalar | None]:
    bus = at(mine, f"bus_bandwidth{style.suffix}", traffic=traffic)
    share = at(mine, "share_of_theoretical", traffic=traffic)
    variants = [r.coords["variant"] for r in at(mine, "variant_bandwidth", traffic=traffic) if BEST in r.flags]
    return {
        "traffic": TITLES[traffic],
        "bus_bandwidth": middle(bus),
        "bandwidth": middle(at(mine, f"bandwidth{style.suffix}", traffic=traffic)),
        "share": middle(share),
        "variant": ", ".join(map(str, dict.fromkeys(variants))),
        **spread_cells(bus, style.scale),
        "flags": ", ".join(flags_of([*bus, *share])),
    }
