"""The table of what parts of a point did: the sections of a job file, and each of several targets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from asct.instruments.fio.rows import Row, place
from asct.sdk.figure import Column, Table
from asct.sdk.record import Record, Scalar

_US: Final = 1e-6
_COLUMNS: Final = (
    Column("point", "Point", format="text"),
    Column("part", "Part", format="text"),
    Column("direction", "Direction", format="text"),
    Column("iops", "Thruput (kops)", 1e3),
    Column("bandwidth", "BW (MB/s)", 1e6),
    Column("latency", "Lat. (us)", _US, help="mean completion latency"),
    Column("clat_p99", "p99 (us)", _US),
)
_KINDS: Final = {"section": "section", "target": "path"}
"""How the metrics of a part begin, and the coordinate that names the part."""
_NOTE: Final = "Sections by fio's account, targets by the counters of their drives; the mean over the repeats"


def part_table(rows: Sequence[Row], names: Sequence[str], slug: str) -> Sequence[Table]:
    """A row for each part and direction of each point; nothing where points are not made of parts."""
    cells = [line for row in rows for line in _lines(row, names)]
    return (Table(f"{slug}-parts", "Sections and targets", _COLUMNS, tuple(cells), (_NOTE,)),) if cells else ()


def _lines(row: Row, names: Sequence[str]) -> list[dict[str, Scalar | None]]:
    label = place(row, [name for name in names if name in row.swept]) or None
    found: dict[tuple[str, Scalar, Scalar], dict[str, list[Record]]] = {}
    for metric, records in row.samples.items():
        kind, _, quantity = metric.partition("_")
        for record in records if kind in _KINDS else []:
            key = (kind, record.coords[_KINDS[kind]], record.coords["direction"])
            found.setdefault(key, {}).setdefault(quantity, []).append(record)
    return [
        {column.key: None for column in _COLUMNS}
        | {"point": label, "part": part, "direction": direction}
        | {name: sum(one.value for one in values) / len(values) for name, values in quantities.items()}
        for (_, part, direction), quantities in found.items()
    ]
