"""The drives that were measured, as guard describes them before and after: as values of the point, and as a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from asct.instruments.fio.metrics import IDENTITY
from asct.instruments.guard_output import GuardOutput, GuardTarget
from asct.instruments.nvme import SmartHealth, health_of
from asct.sdk.figure import Column, Table
from asct.sdk.record import Measurement, Record, Scalar

HEALTH: Final = ("percentage_used", "available_spare", "media_errors", "data_units_written")


def device_values(watch: GuardOutput) -> Iterator[Measurement]:
    """Size and identity of each target, its temperature and health. Unknown values are omitted."""
    for device in watch.before:
        size = device.scalar("bytes")
        if isinstance(size, int):
            yield Measurement("device_size", float(size), _identity(device))
    yield from _moment(watch.before, "before")
    yield from _moment(watch.after, "after")


def _identity(device: GuardTarget) -> dict[str, Scalar]:
    found: dict[str, Scalar] = {"path": device.path}
    for name, field in IDENTITY.items():
        value = _link(device) if name == "link" else device.scalar(field)
        if value is not None and value != "":
            found[name] = value
    return found


def _link(device: GuardTarget) -> str | None:
    speed, width = device.scalar("link_speed"), device.scalar("link_width")
    return f"{speed} x{width}" if speed and width else None


def _moment(devices: Sequence[GuardTarget], when: str) -> Iterator[Measurement]:
    for device in devices:
        at: dict[str, Scalar] = {"path": device.path, "when": when}
        temperature = device.scalar("temperature_mc")
        if isinstance(temperature, int):
            yield Measurement("device_temperature", temperature / 1000.0, at, detail=True)
        health = health_of(device)
        if health is not None:
            yield from (Measurement(f"device_{name}", _value(health, name), at, detail=True) for name in HEALTH)


def _value(health: SmartHealth, name: str) -> float:
    return float(getattr(health, name))


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
"""The value of the Linux kernel for a drive without a NUMA node."""
_NOTE: Final = "For a temporary file: the drive of the work folder, if the host reports it"
_HEALTH_NOTE: Final = "Temperature and health: before the first point -> after the last point"


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
    return (Table(f"{slug}-targets", "Measured drives", _COLUMNS, tuple(rows.values()), notes),)


def _course(records: Sequence[Record]) -> str | None:
    """`38 -> 52`; one number where nothing changed, None without any."""
    if not records:
        return None
    first = next((one for one in records if one.coords.get("when") == "before"), records[0])
    last = next((one for one in reversed(records) if one.coords.get("when") == "after"), records[-1])
    return " -> ".join(dict.fromkeys(f"{one.value:.10g}" for one in (first, last)))
