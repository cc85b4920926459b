"""Tables: each cell over the disk (the figures of a box plot), and every zone for exports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import quantiles
from typing import Final

from asct.benchmarks.storage_hdd.measure import EDGE_SHARE, QUANTITIES
from asct.instruments.fio.devices import device_table
from asct.sdk.figure import Column, Table
from asct.sdk.record import Record, Scalar
from asct.sdk.rows import by_point, flags_of, middle, swept_cells, swept_columns

CELL_KEYS: Final = ("rw", "block_size", "rwmixread")


@dataclass(frozen=True, slots=True)
class ZoneCoordinates:
    """Coordinates of a cell (see CELL_KEYS) as records have them."""

    rw: str
    block_size: int
    rwmixread: int

    @property
    def random(self) -> bool:
        """Whether the requests are random."""
        return self.rw.startswith("rand")

    @property
    def cells(self) -> dict[str, Scalar | None]:
        """The coordinates as columns of a table."""
        return {"rw": self.rw, "block_size": self.block_size, "rwmixread": self.rwmixread}


Index = Mapping[tuple[str, ZoneCoordinates | None, Scalar | None], Sequence[Record]]
"""By metric, cell, and zone or part."""


def indexed(records: Iterable[Record]) -> Index:
    """The repeats of each value of one point."""
    found: dict[tuple[str, ZoneCoordinates | None, Scalar | None], list[Record]] = {}
    for record in records:
        where = record.coords.get("zone", record.coords.get("part"))
        found.setdefault((record.metric, coordinates_of(record), where), []).append(record)
    return found


def coordinates_of(record: Record) -> ZoneCoordinates | None:
    """The cell of a record; None for values of the disk or of a zone alone."""
    if "rw" not in record.coords:
        return None
    rw, block_size, reads = (record.coords[key] for key in CELL_KEYS)
    return ZoneCoordinates(str(rw), int(block_size), int(reads))


def workloads_of(records: Iterable[Record]) -> list[ZoneCoordinates]:
    """Every cell: random before sequential, many reads before few, large requests before small ones."""
    found = {workload_coordinates for record in records if (workload_coordinates := coordinates_of(record)) is not None}
    return sorted(found, key=lambda one: (not one.random, -one.rwmixread, -one.block_size))


def zone_starts(index: Index) -> dict[int, float]:
    """Offset of each zone in bytes."""
    return {
        int(where): found[0].value
        for (metric, _, where), found in index.items()
        if metric == "zone_offset" and where is not None
    }


_US: Final = 1e-6
_Point = tuple[dict[str, Scalar | None], Index, Sequence[ZoneCoordinates]]
"""Swept settings, values and cells of a point."""
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
    f"Outer and inner: median of the first and of the last 1/{EDGE_SHARE} of the zones. Quartiles refer to the "
    "zones. MB = 1,000,000 bytes"
)


def all_tables(records: Sequence[Record]) -> tuple[Table, ...]:
    """Random requests by rate, sequential streams by bandwidth, and all zones; tables without rows are omitted."""
    swept = swept_columns(records)
    points = [(swept_cells(mine, swept), indexed(mine), workloads_of(mine)) for mine in by_point(records)]
    tables = (
        _spread_table("storage-hdd-iops", "IOPS across the zones of the disk", True, points, swept),
        _spread_table("storage-hdd-throughput", "Throughput across the zones of the disk", False, points, swept),
        _zone_table(points, swept),
    )
    return (*(table for table in tables if table.rows), *device_table(records, "storage-hdd"))


def _spread_table(slug: str, title: str, random: bool, points: Sequence[_Point], swept: Sequence[Column]) -> Table:
    """One row per cell: the figures of a box plot over the zones, the parts and their ratio."""
    metric, unit, scale = ("iops", "", 1.0) if random else ("bandwidth", " (MB/s)", 1e6)
    rows: list[dict[str, Scalar | None]] = []
    flagged: list[Record] = []
    for settings, index, cells in points:
        for cell in cells:
            if cell.random != random:
                continue
            zones = [
                record.value for zone in zone_starts(index) for record in index.get((f"zone_{metric}", cell, zone), ())
            ]
            whole = index.get((metric, cell, "all"), ())
            flagged += whole
            rows.append(
                {
                    **settings, **cell.cells,
                    **dict(zip(_TITLES, (min(zones), *quantiles(zones, method="inclusive"), max(zones)), strict=True)),
                    **{part: middle(index.get((metric, cell, part), ())) for part in ("outer", "inner")},
                    "ratio": middle(index.get(("outer_to_inner", cell, None), ())),
                    "latency": middle(index.get(("latency", cell, "all"), ())),
                    "slow": middle(index.get(("slow_zones", cell, None), ())),
                    "flags": ", ".join(flags_of(whole)),
                }
            )  # fmt: skip
    rates = tuple(Column(key, f"{text}{unit}", scale) for key, text in _TITLES.items())
    parts = tuple(Column(part, f"{part.capitalize()}{unit}", scale) for part in ("outer", "inner"))
    columns = (
        *swept, *_CELL, *rates, *parts,
        Column("ratio", "Outer/inner", digits=2),
        Column("latency", "Lat. (us)", _US, help="median of the mean latency over the zones"),
        Column("slow", "Slow zones", digits=0, help="below 70 % of their neighbours"),
        Column("flags", "Flags", format="text"),
    )  # fmt: skip
    return Table(slug, title, columns, tuple(rows), (NOTE,), flags_of(flagged))


def _zone_table(points: Sequence[_Point], swept: Sequence[Column]) -> Table:
    """One row for each zone and cell: too many to read, so for exports only."""
    rows: list[dict[str, Scalar | None]] = []
    for settings, index, cells in points:
        starts = zone_starts(index)
        for cell in cells:
            for zone, start in starts.items():
                here = {name: index.get((f"zone_{name}", cell, zone), ()) for name in QUANTITIES}
                values = {name: middle(found) for name, found in here.items()}
                flags = flags_of(record for found in here.values() for record in found)
                rows.append(
                    {**settings, **cell.cells, "zone": zone, "offset": start, **values, "flags": ", ".join(flags)}
                )
    columns = (
        *swept, *_CELL,
        Column("zone", "Zone", format="integer"),
        Column("offset", "Offset (bytes)", digits=0),
        Column("iops", "IOPS"),
        Column("bandwidth", "BW (MB/s)", 1e6),
        Column("latency", "Lat. (us)", _US),
        Column("flags", "Flags", format="text"),
    )  # fmt: skip
    return Table("storage-hdd-zones", "All zones of the disk", columns, tuple(rows), bulk=True)
