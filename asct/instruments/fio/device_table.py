"""The table of the drives that a benchmark measured: what each is, and how it was before the first and after the last
point. Figures without the name, firmware and state of their drive cannot be compared with any others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from asct.instruments.fio.devices import HEALTH, IDENTITY
from asct.sdk.figure import Column, Table
from asct.sdk.record import Record, Scalar

_TITLES: Final = {
    "model": "Model", "serial": "Serial", "firmware": "Firmware", "format": "Block (B)", "write_cache": "Write Cache",
    "scheduler": "Scheduler", "numa_node": "NUMA Node", "link": "Link", "transport": "Transport",
}  # fmt: skip
_HEALTH: Final = {
    "percentage_used": "Used (%)", "available_spare": "Spare (%)", "media_errors": "Media Errors",
    "data_units_written": "Data Units Written",
}  # fmt: skip
_COLUMNS: Final = (
    Column("path", "Target", format="text"),
    Column("device_size", "Size", format="size"),
    *(Column(name, _TITLES[name], format="text") for name in IDENTITY),
    Column("device_temperature", "Temperature (C)", format="text"),
    *(Column(f"device_{name}", _HEALTH[name], format="text") for name in HEALTH),
)
_NO_NODE: Final = -1
"""How the kernel says that a drive is at no NUMA node."""
_NOTE: Final = "Of a temporary file it is the drive of the work folder, as far as the host says"
_HEALTH_NOTE: Final = "Temperature and health: before the first point -> after the last one"


def device_table(records: Sequence[Record], slug: str) -> Sequence[Table]:
    """A row for each target; one that changed between two points, for instance its write cache, has several. Nothing
    without a target whose size is known."""
    rows: dict[tuple[tuple[str, Scalar], ...], dict[str, Scalar | None]] = {}
    for record in records:
        if record.metric == "device_size":
            row = {column.key: record.coords.get(column.key) for column in _COLUMNS} | {"device_size": record.value}
            row |= {"numa_node": None} if row.get("numa_node") == _NO_NODE else {}
            rows.setdefault((*sorted(record.coords.items()), ("device_size", record.value)), row)
    if not rows:
        return ()
    for row in rows.values():
        of_path = [record for record in records if record.coords.get("path") == row["path"]]
        for name in ("temperature", *HEALTH):
            row[f"device_{name}"] = _course([one for one in of_path if one.metric == f"device_{name}"])
    told = any(row[f"device_{name}"] for row in rows.values() for name in ("temperature", *HEALTH))
    notes = (_NOTE, _HEALTH_NOTE) if told else (_NOTE,)
    return (Table(f"{slug}-targets", "What was measured", _COLUMNS, tuple(rows.values()), notes),)


def _course(records: Sequence[Record]) -> str | None:
    """`38 -> 52`; one number where nothing changed, None without any."""
    if not records:
        return None
    first = next((one for one in records if one.coords.get("when") == "before"), records[0])
    last = next((one for one in reversed(records) if one.coords.get("when") == "after"), records[-1])
    return " -> ".join(dict.fromkeys(f"{one.value:.10g}" for one in (first, last)))
