"""What was measured: the drives, as guard found them before and after, as values of the point."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from asct.instruments.nvme import Health, health_of
from asct.instruments.watch import Device, Watch
from asct.sdk.record import Measurement, Scalar

IDENTITY: Final = {
    "model": "model", "serial": "serial", "firmware": "firmware", "format": "logical_block",
    "write_cache": "write_cache", "scheduler": "scheduler", "numa_node": "numa_node", "link": "link",
    "transport": "transport",
}  # fmt: skip
"""Coordinates of `device_size` and the fields of guard's line that they are read from."""
HEALTH: Final = ("percentage_used", "available_spare", "media_errors", "data_units_written")


def device_values(watch: Watch) -> Iterator[Measurement]:
    """Size and identity of each target, its temperature and health. What is unknown is left out."""
    for device in watch.before:
        size = device.scalar("bytes")
        if isinstance(size, int):
            yield Measurement("device_size", float(size), _identity(device))
    yield from _moment(watch.before, "before")
    yield from _moment(watch.after, "after")


def _identity(device: Device) -> dict[str, Scalar]:
    found: dict[str, Scalar] = {"path": device.path}
    for name, field in IDENTITY.items():
        value = _link(device) if name == "link" else device.scalar(field)
        if value is not None and value != "":
            found[name] = value
    return found


def _link(device: Device) -> str | None:
    speed, width = device.scalar("link_speed"), device.scalar("link_width")
    return f"{speed} x{width}" if speed and width else None


def _moment(devices: Sequence[Device], when: str) -> Iterator[Measurement]:
    for device in devices:
        at: dict[str, Scalar] = {"path": device.path, "when": when}
        temperature = device.scalar("temperature_mc")
        if isinstance(temperature, int):
            yield Measurement("device_temperature", temperature / 1000.0, at, detail=True)
        health = health_of(device)
        if health is not None:
            yield from (Measurement(f"device_{name}", _value(health, name), at, detail=True) for name in HEALTH)


def _value(health: Health, name: str) -> float:
    return float(getattr(health, name))
