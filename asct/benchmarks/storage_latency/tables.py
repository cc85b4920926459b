"""The table of the run for the histogram."""

from __future__ import annotations

from collections.abc import Sequence

from asct.instruments.qualification.responses import PERCENTILES
from asct.sdk.figure import Column, Table
from asct.sdk.record import Record, Scalar
from asct.sdk.rows import at, by_point, flags_of, middle, point_label

_NAMES = {"mean": "mean", **{name: f"{percent:g} %" for name, percent in PERCENTILES.items()}, "max": "max"}


def response_table(records: Sequence[Record], slug: str) -> Sequence[Table]:
    """A row for each point: mean, confidence levels and highest of the response times; nothing without that run."""
    points = [mine for mine in by_point(records) if at(mine, "response_mean")]
    if not points:
        return ()
    columns = (
        Column("point", "Point", format="text"),
        *(Column(name, f"{title} (ms)", 1e-3, 3) for name, title in _NAMES.items()),
        Column("flags", "Flags", format="text"),
    )
    rows = tuple(_row(mine, len(points) > 1) for mine in points)
    notes = (
        "4k random writes behind the rounds: all requests of one run, up to the level given; a level is left out where "
        "fewer than 10 requests were slower",
    )
    flags = flags_of(record for mine in points for record in at(mine, "response_mean"))
    return (Table(f"{slug}-response", "Response Times of 4k Random Writes", columns, rows, notes, flags),)


def _row(mine: Sequence[Record], named: bool) -> dict[str, Scalar | None]:
    row: dict[str, Scalar | None] = {"point": point_label(mine[0], "") if named else None}
    row |= {name: middle(at(mine, f"response_{name}")) for name in _NAMES}
    return row | {"flags": ", ".join(flags_of(at(mine, "response_mean")))}
