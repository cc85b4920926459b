"""Measurements and a table of the drives, based on guard's reports before and after each point."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from asct.instruments.fio.metrics import IDENTITY
from asct.instruments.guard_output import GuardOutput, GuardTarget
from asct.instruments.nvme import health_of
from asct.sdk.figure import Column, Table
from asct.sdk.record import Measurement, Record, Scalar
from asct.sdk.rows import Row
from asct.values.size import about_size, format_size

HEALTH: Final = ("percentage_used", "available_spare", "media_errors", "data_units_written")


def device_values(guard: GuardOutput) -> Iterator[Measurement]:
    """Yield the size, identity, temperature and health of each target, omitting unknown values, and how much of it was
    read to make sure that it contains no data, if that was not all of it."""
    for device in (*guard.before, *guard.members_before):
        size = device.scalar("bytes")
        if isinstance(size, int):
            yield Measurement("device_size", float(size), _identity(device))
    for path, read_bytes in guard.sampled.items():
        yield Measurement("device_sampled", float(read_bytes), {"path": path}, detail=True)
    for when, devices in (("before", guard.drives), ("after", guard.members_after or guard.after)):
        for device in devices:
            at: dict[str, Scalar] = {"path": device.path, "when": when}
            temperature, health = device.scalar("temperature_mc"), health_of(device)
            if isinstance(temperature, int):
                yield Measurement("device_temperature", temperature / 1000.0, at, detail=True)
            for name in HEALTH if health is not None else ():
                yield Measurement(f"device_{name}", float(getattr(health, name)), at, detail=True)


def _identity(device: GuardTarget) -> dict[str, Scalar]:
    speed, width = device.scalar("link_speed"), device.scalar("link_width")
    if device.scalar("raid_level") is not None:
        return {"path": device.path, "model": _set_name(device)}
    found = {"path": device.path, **{name: device.scalar(name) for name in IDENTITY}}
    found |= {"format": device.scalar("logical_block"), "link": f"{speed} x{width}" if speed and width else None}
    return {name: value for name, value in found.items() if value is not None and value != ""}


def _set_name(device: GuardTarget) -> str:
    """Describe a RAID set: `RAID-5 of 3 drives, 64K chunks`."""
    chunk = device.scalar("raid_chunk")
    chunks = f", {format_size(chunk)} chunks" if isinstance(chunk, int) and chunk else ""
    return f"RAID-{device.scalar('raid_level')} of {len(device.fields['members'])} drives{chunks}"


_COLUMNS: Final = tuple(
    Column(key, title, format="size" if key == "device_size" else "text")
    for key, title in {
        "path": "Target", "device_size": "Size", "model": "Model", "serial": "Serial", "firmware": "Firmware",
        "format": "Block (B)", "write_cache": "Write Cache", "scheduler": "Scheduler", "numa_node": "NUMA Node",
        "link": "Link", "transport": "Transport", "device_temperature": "Temperature (C)",
        "device_percentage_used": "Used (%)", "device_available_spare": "Spare (%)",
        "device_media_errors": "Media Errors", "device_data_units_written": "Data Units Written",
    }.items()
)  # fmt: skip
_NO_NODE: Final = -1
"""The node number that the Linux kernel reports for a drive that does not belong to a NUMA node."""
_NOTE: Final = "A temporary file is listed with the drive that contains the work folder, if the host reports that drive"
_HEALTH_NOTE: Final = "Temperature and health: before the first point -> after the last point"


def device_table(records: Sequence[Record], slug: str) -> Sequence[Table]:
    """Return a table of the targets, or an empty sequence if no size is known.

    A target has several rows if its identity, for example its write cache, changed between points.
    """
    rows: dict[tuple[tuple[str, Scalar], ...], Row] = {}
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
    has_health = any(row[f"device_{name}"] for row in rows.values() for name in ("temperature", *HEALTH))
    notes = (_NOTE, *((_HEALTH_NOTE,) if has_health else ()), *_sampled(records))
    return (Table(f"{slug}-targets", "Measured drives", _COLUMNS, tuple(rows.values()), notes),)


def _sampled(records: Sequence[Record]) -> Iterator[str]:
    """Yield a note for each target of which only a part was searched for data before it was overwritten."""
    found = {record.coords["path"]: round(record.value) for record in records if record.metric == "device_sampled"}
    for path, read_bytes in found.items():
        yield (
            f"{path}: before the first write, asct read only {about_size(read_bytes)} of it (both ends and samples in "
            "between) to make sure that it contained no data"
        )


def _course(records: Sequence[Record]) -> str | None:
    """Return the first and last value as text, such as `38 -> 52`, or a single number if the value did not change.
    Return None if there are no records."""
    if not records:
        return None
    first = next((one for one in records if one.coords.get("when") == "before"), records[0])
    last = next((one for one in reversed(records) if one.coords.get("when") == "after"), records[-1])
    return " -> ".join(dict.fromkeys(f"{one.value:.10g}" for one in (first, last)))
