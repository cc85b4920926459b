"""NVMe controllers and the health of their drives."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from asct.facts.devices import DeviceLocation
from asct.facts.snapshot import KILLED, Snapshot
from asct.facts.sources import NVME
from asct.facts.unknown import LATE, NEEDS_ROOT, folders, whole
from asct.instruments.nvme import UNIT_BYTES
from asct.sdk.facts import NvmeHealth

NEEDS_NVME_CLI = "needs nvme-cli"
_HEAD = re.compile(r"/dev/(nvme\d+)(?: (needs root|needs nvme-cli))?", re.ASCII)
_OVER = re.compile(r"over (\d{1,3})", re.ASCII)
_HWMON = re.compile(r"/nvme/(nvme\d+)/(?:hwmon/)?hwmon\d+", re.ASCII)
_ABSOLUTE_ZERO = 273  # as nvme-cli reckons: kelvins are whole numbers
_FROM_LOG = {
    "critical_warning": "critical_warning",
    "available_spare": "avail_spare",
    "percentage_used": "percent_used",
    "power_on_hours": "power_on_hours",
    "unsafe_shutdowns": "unsafe_shutdowns",
    "media_errors": "media_errors",
}


@dataclass(frozen=True, slots=True)
class NvmeController:
    """`nvme0`: its sysfs attributes and location, the health of its drive, and why more of it is unknown."""

    name: str
    texts: Mapping[str, str]
    place: DeviceLocation | None
    health: NvmeHealth | None
    reason: str | None


def controllers(found: Snapshot, places: Mapping[str, DeviceLocation]) -> list[NvmeController]:
    """All controllers by name."""
    logs, reasons, otherwise = _logs(found)
    celsius = temperatures(found, places)
    made = []
    for name, texts in folders(found, NVME).items():
        log = logs.get(name)
        values = _health(log) if log is not None else {}
        if values.get("celsius") is None:
            values["celsius"] = celsius.get(name)
        known = any(value is not None for value in values.values())
        made.append(
            NvmeController(
                name=name,
                texts=texts,
                place=places.get(f"{NVME}/{name}"),
                health=NvmeHealth(**values) if known else None,
                reason=None if log is not None else reasons.get(name, otherwise),
            )
        )
    return made


def temperatures(found: Snapshot, places: Mapping[str, DeviceLocation]) -> dict[str, float]:
    """Degrees Celsius of controllers that have a sensor in hwmon (drivers/nvme/host/hwmon.c: temp1 is the composite
    temperature), which needs no root."""
    made: dict[str, float] = {}
    for at, place in places.items():
        match = _HWMON.search(place.path) if at.startswith("/sys/class/hwmon/") else None
        value = whole(found.text(f"{at}/temp1_input"))
        if match and value is not None:
            made[match[1]] = value / 1000
    return made


def _logs(found: Snapshot) -> tuple[dict[str, dict[str, Any]], dict[str, str], str]:
    """Output of `nvme smart-log -o json` for each controller, and why it is missing; the last reason applies to all
    others."""
    bodies, reasons, late = _bodies((found.command_output("nvme-health") or "").split("\n"))
    logs: dict[str, dict[str, Any]] = {}
    waited_for = list(bodies)[-1:] if late else []
    for name, lines in bodies.items():
        try:
            said = json.loads("\n".join(lines))
        except (ValueError, RecursionError):
            said = None
        if isinstance(said, dict):
            logs[name] = said
        else:
            reasons[name] = f"nvme {LATE}" if name in waited_for else "the drive did not return its health log"
    return logs, reasons, f"nvme {LATE} before this drive was queried" if late else NEEDS_ROOT


def _bodies(lines: Iterable[str]) -> tuple[dict[str, list[str]], dict[str, str], bool]:
    """The lines for each drive, why others were not queried, and whether a query timed out."""
    bodies: dict[str, list[str]] = {}
    reasons: dict[str, str] = {}
    name, late = "", False
    for line in lines:
        if head := _HEAD.fullmatch(line.strip()):
            name = head[1]
            if head[2]:
                reasons[name] = head[2]
            else:
                bodies[name] = []
        elif over := _OVER.fullmatch(line):
            name, late = "", int(over[1]) == KILLED
        elif name in bodies:
            bodies[name].append(line)
    return bodies, reasons, late


def _health(log: Mapping[str, Any]) -> dict[str, Any]:
    """The names are those of nvme-cli; temperatures are in kelvins, data in thousands of 512 bytes."""
    kelvins = _number(log.get("temperature"))
    made: dict[str, Any] = {field: _number(log.get(name)) for field, name in _FROM_LOG.items()}
    made["celsius"] = None if kelvins is None else float(kelvins - _ABSOLUTE_ZERO)
    for field, name in (("read_bytes", "data_units_read"), ("written_bytes", "data_units_written")):
        units = _number(log.get(name))
        made[field] = None if units is None else units * UNIT_BYTES
    return made


def _number(value: object) -> int | None:
    """Numbers beyond 64 bits are texts in some versions, and flags come with their meaning in others."""
    if isinstance(value, Mapping):
        value = value.get("value")
    if isinstance(value, str):
        return whole(value.replace(",", ""))
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 128 else None
