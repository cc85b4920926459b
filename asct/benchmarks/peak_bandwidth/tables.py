"""The table of peaks and the bars of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from asct.instruments.memory.stream import STREAM_FLAGS, Shown, shown
from asct.instruments.memory.stream_sizes import SET_FLAGS
from asct.instruments.memory.traffic import TITLES
from asct.sdk.figure import Axis, Bars, Column, Series, Table
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

BEST: Final = "best"
"""Flag of the variant whose figures stand for its kind of traffic."""
FLAGS: Final = {
    **STREAM_FLAGS,
    **SET_FLAGS,
    "above-theoretical": "more than the theoretical peak: the modules are not as the firmware or the setting says, or "
    "the caches served a part",
}
_OWN: Final = ("traffic",)
"""Settings that have a column of their own, swept or not."""
COUNTING: Final = (
    "Peak BW is the median of the windows of the best variant, all threads together, in bytes on the memory bus: what "
    "the program loads and stores, and lines that a normal store reads first (assumed; some cores avoid it, and of "
    "string instructions it is not assumed). Useful BW leaves those out. Max is the best window on the bus."
)


def peak_table(records: Sequence[Record]) -> Table:
    """A row for each kind of traffic (and point); values are medians over the repeats."""
    swept = swept_columns(records, _OWN)
    how = shown(records)
    rows: list[dict[str, Scalar | None]] = []
    for mine in by_point(records):
        cells = swept_cells(mine, swept)
        rows += [cells | _row(mine, traffic, how) for traffic in _kinds(mine)]
    return Table(
        slug="peak",
        title="Peak memory bandwidth",
        columns=(*swept, *_columns(how)),
        rows=tuple(rows),
        notes=(COUNTING,) if rows else (),
        flags=flags_of(record for record in records if record.metric in ("bus_bandwidth", "share_of_theoretical")),
    )


def peak_bars(records: Sequence[Record]) -> Bars | None:
    """Bytes on the bus and useful ones, side by side, for each kind of traffic; None without values."""
    series = [
        _series(mine, metric, name)
        for mine in by_point(records)
        for metric, name in (("bus_bandwidth", "On the memory bus"), ("bandwidth", "Useful"))
        if at(mine, metric)
    ]
    if not series:
        return None
    return Bars(
        slug="peak",
        title="Peak memory bandwidth",
        caption="All CPUs at once, each on memory of its own node. Bars are medians, with 95 % intervals.",
        x=Axis("Traffic", scale="category"),
        y=Axis("Bandwidth", "B/s"),
        series=tuple(series),
        better="higher",
    )


def _columns(how: Shown) -> tuple[Column, ...]:
    unit, scale = how.unit, how.scale
    return (
        Column("traffic", "Traffic type", format="text"),
        Column("bus_bandwidth", f"Peak BW [{unit}]", scale, help="Median, bytes on the memory bus"),
        Column("bandwidth", f"Useful BW [{unit}]", scale, help="Median, bytes that the program loads and stores"),
        Column("share", "% of Peak Theoretical", digits=1, help="Of the bytes on the bus"),
        Column("variant", "Variant", format="text", help="The fastest of the loops that were tried"),
        Column("interval", f"95 % interval [{unit}]", format="text", help="Of Peak BW; of several repeats their span"),
        Column("max", f"Max [{unit}]", scale, help="Best window, bytes on the bus"),
        Column("flags", "Flags", format="text"),
    )


def _row(mine: Sequence[Record], traffic: str, how: Shown) -> dict[str, Scalar | None]:
    bus = at(mine, f"bus_bandwidth{how.suffix}", traffic=traffic)
    share = at(mine, "share_of_theoretical", traffic=traffic)
    variants = [r.coords["variant"] for r in at(mine, "variant_bandwidth", traffic=traffic) if BEST in r.flags]
    return {
        "traffic": TITLES[traffic],
        "bus_bandwidth": middle(bus),
        "bandwidth": middle(at(mine, f"bandwidth{how.suffix}", traffic=traffic)),
        "share": middle(share),
        "variant": ", ".join(map(str, dict.fromkeys(variants))),
        "interval": interval_text(bus, how.scale, 1),
        "max": highest(bus),
        "flags": ", ".join(flags_of([*bus, *share])),
    }


def _kinds(mine: Sequence[Record]) -> list[str]:
    """The kinds of traffic of a point, in the order of `TITLES`."""
    found = {record.coords["traffic"] for record in mine if record.metric == "bus_bandwidth"}
    return [traffic for traffic in TITLES if traffic in found]


def _series(mine: Sequence[Record], metric: str, name: str) -> Series:
    kinds = _kinds(mine)
    groups = [at(mine, metric, traffic=traffic) for traffic in kinds]
    ends = [interval(group) or (None, None) for group in groups]
    label = point_label(mine[0], "", _OWN)
    return Series(
        name=f"{name}, {label}" if label else name,
        x=tuple(TITLES[traffic] for traffic in kinds),
        y=tuple(middle(group) for group in groups),
        low=tuple(low for low, _ in ends),
        high=tuple(high for _, high in ends),
        host=mine[0].host,
    )
