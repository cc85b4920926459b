"""The report of storage-hdd: tables that show each workload across the disk (the values of a box plot) and, for
exports, every zone, and figures that plot the rate against the position on the disk."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import quantiles
from typing import Final

from asct.benchmarks.storage_hdd.measure import EDGE_SHARE, QUANTITIES
from asct.benchmarks.storage_hdd.params import zone_workload
from asct.instruments.fio.devices import device_table
from asct.instruments.qualification.settings import Workload
from asct.sdk.figure import Axis, Column, Figure, Line, Series, Table
from asct.sdk.record import Record, Scalar
from asct.sdk.rows import FLAGS_COLUMN, Row, by_point, flag_cell, flags_of, middle, point_label, point_rows, series_of
from asct.values.grouping import grouped
from asct.values.size import format_size

Index = Mapping[tuple[str, Workload | None, Scalar | None], Sequence[Record]]
"""Maps each combination of metric, workload, and zone or part of the disk to its records."""


def indexed(records: Iterable[Record]) -> Index:
    """Return the records of one point, with the repeats of each value grouped."""
    return grouped(
        records,
        lambda record: (record.metric, _workload_of(record), record.coords.get("zone", record.coords.get("part"))),
    )


def _workload_of(record: Record) -> Workload | None:
    """Return the workload of a record, or None if the value belongs to the whole disk or to a whole zone."""
    at = record.coords
    if "rw" not in at:
        return None
    return zone_workload(int(at["block_size"]), int(at["rwmixread"]), random=str(at["rw"]).startswith("rand"))


def workloads_of(index: Index) -> list[Workload]:
    """Return all workloads: random before sequential, then by decreasing read percentage and request size."""
    found = {cell for _, cell, _ in index if cell is not None}
    return sorted(found, key=lambda one: (not one.random, -one.reads, -one.block_size))


def zone_starts(index: Index) -> dict[int, float]:
    """Return the offset of each zone, in bytes."""
    return {
        int(where): found[0].value
        for (metric, _, where), found in index.items()
        if metric == "zone_offset" and where is not None
    }


_US: Final = 1e-6
_CELL: Final = (
    Column("rw", "AccessPattern", format="text"),
    Column("block_size", "BlockSize", format="size"),
    Column("rwmixread", "RWMixRead", format="integer"),
)
_TITLES: Final = {
    "lowest": "Lowest zone", "lower": "Lower quartile", "median": "Median", "upper": "Upper quartile",
    "highest": "Highest zone",
}  # fmt: skip
NOTE: Final = (
    f"Outer and inner: medians of the first and the last 1/{EDGE_SHARE} of the zones. Quartiles are computed over the "
    "zones. MB = 1,000,000 bytes"
)


def all_tables(records: Sequence[Record]) -> tuple[Table, ...]:
    """Return the non-empty tables: IOPS of random requests, bandwidth of sequential requests, and all zones."""
    tables = (
        _spread_table("storage-hdd-iops", "IOPS across the zones of the disk", records, True),
        _spread_table("storage-hdd-throughput", "Throughput across the zones of the disk", records, False),
        _zone_table(records),
    )
    return (*(table for table in tables if table.rows), *device_table(records, "storage-hdd"))


def _spread_table(slug: str, title: str, records: Sequence[Record], random: bool) -> Table:
    """Return a table with one row per workload: box plot values over the zones, the parts of the disk, and their
    ratio."""
    metric, unit, scale = ("iops", "", 1.0) if random else ("bandwidth", " (MB/s)", 1e6)

    def rows(mine: Sequence[Record]) -> Iterable[Row]:
        index = indexed(mine)
        for cell in workloads_of(index):
            if cell.random == random:
                yield _spread_row(index, cell, metric)

    rates = tuple(Column(key, f"{text}{unit}", scale) for key, text in _TITLES.items())
    parts = tuple(Column(part, f"{part.capitalize()}{unit}", scale) for part in ("outer", "inner"))
    columns = (
        *_CELL, *rates, *parts,
        Column("ratio", "Outer/inner", digits=2),
        Column("latency", "Lat. (us)", _US, help="median of the zones' mean latencies"),
        Column("slow", "Slow zones", digits=0, help="zones whose rate is below 70 % of their neighbors' rate"),
        FLAGS_COLUMN,
    )  # fmt: skip
    whole = (one for one in records if one.metric == metric and one.coords["part"] == "all")
    flags = flags_of(one for one in whole if str(one.coords["rw"]).startswith("rand") == random)
    return Table(slug, title, *point_rows(records, columns, rows), (NOTE,), flags)


def _spread_row(index: Index, cell: Workload, metric: str) -> Row:
    zones = [one.value for zone in zone_starts(index) for one in index.get((f"zone_{metric}", cell, zone), ())]
    spread = (min(zones), *quantiles(zones, method="inclusive"), max(zones))
    return {
        **cell.coords,
        **dict(zip(_TITLES, spread, strict=True)),
        **{part: middle(index.get((metric, cell, part), ())) for part in ("outer", "inner")},
        "ratio": middle(index.get(("outer_to_inner", cell, None), ())),
        "latency": middle(index.get(("latency", cell, "all"), ())),
        "slow": middle(index.get(("slow_zones", cell, None), ())),
        **flag_cell(index.get((metric, cell, "all"), ())),
    }


def _zone_table(records: Sequence[Record]) -> Table:
    """Return a table with one row per zone and workload. It is only for exports, because it has too many rows to
    read."""

    def rows(mine: Sequence[Record]) -> Iterable[Row]:
        index = indexed(mine)
        for cell in workloads_of(index):
            for zone, start in zone_starts(index).items():
                here = {name: index.get((f"zone_{name}", cell, zone), ()) for name in QUANTITIES}
                values = {name: middle(found) for name, found in here.items()}
                flags = flag_cell(record for found in here.values() for record in found)
                yield {**cell.coords, "zone": zone, "offset": start, **values, **flags}

    columns = (
        *_CELL,
        Column("zone", "Zone", format="integer"),
        Column("offset", "Offset (bytes)", digits=0),
        Column("iops", "IOPS"),
        Column("bandwidth", "BW (MB/s)", 1e6),
        Column("latency", "Lat. (us)", _US),
        FLAGS_COLUMN,
    )
    return Table("storage-hdd-zones", "All zones of the disk", *point_rows(records, columns, rows), bulk=True)


def _zone_line(slug: str, title: str, y: Axis) -> Line:
    x = Axis("Distance from the outer edge", "%")
    caption = "Each point marks the middle of a zone. The outer edge is at 0 %, the inner edge at 100 %."
    return Line(slug, title, caption, x, y, ())


_LINES: Final = {
    "zone_iops": _zone_line("zones-iops", "IOPS across the disk", Axis("IOPS", "ops/s", better="higher")),
    "zone_latency": _zone_line(
        "zones-latency", "Mean latency across the disk", Axis("Mean latency", "s", better="lower")
    ),
    "zone_bandwidth": _zone_line(
        "zones-throughput", "Throughput across the disk", Axis("Bandwidth", "B/s", better="higher")
    ),
}
"""Figures by metric: bandwidth for sequential workloads, all other metrics for random ones."""


def zone_figures(records: Sequence[Record]) -> Sequence[Figure]:
    """Return figures that show the IOPS and latency of random requests, and the bandwidth of sequential requests, or an
    empty sequence if there are no records."""
    points = by_point(records)
    lines = {
        metric: tuple(
            _series(metric, point_label(mine[0], "") if len(points) > 1 else "", index, cell)
            for mine in points
            for index in (indexed(mine),)
            for cell in workloads_of(index)
            if cell.random != (metric == "zone_bandwidth")
        )
        for metric in _LINES
    }
    return tuple(replace(_LINES[metric], series=series) for metric, series in lines.items() if series)


def _series(metric: str, point: str, index: Index, cell: Workload) -> Series:
    """Return the values of one workload in each zone, for one point."""
    starts = zone_starts(index)
    size = middle(index.get(("zone_size", None, None), ())) or 0.0
    end = max(starts.values()) + size
    reads = f" {cell.reads} % reads" if cell.rw == "randrw" else ""
    label = f"{cell.rw}{reads}, {format_size(cell.block_size)}"
    return series_of(
        f"{point}, {label}" if point else label,
        [100.0 * (start + size / 2.0) / end for start in starts.values()],
        [index.get((metric, cell, zone), ()) for zone in starts],
    )
