"""Temperature sensors: the kernel's thermal zones and hwmon.

Source: Linux Documentation/ABI/testing/sysfs-class-thermal, Documentation/hwmon/sysfs-interface.rst (thousandths of
degrees Celsius).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from asct.facts.devices import places
from asct.facts.snapshot import Snapshot
from asct.facts.sources import HWMON, ZONES
from asct.facts.unknown import UnknownFacts, folders
from asct.sdk.facts import Thermal

_INPUT = re.compile(r"temp(\d{1,4})_input", re.ASCII)
_TRIP = re.compile(r"trip_point_(\d{1,4})_type", re.ASCII)
_MILLI = re.compile(r"-?\d{1,7}", re.ASCII)
_HIGHEST = 1000.0
"""Degrees. Broken sensors report more, or less than absolute zero."""
_LOWEST = -273.15


def thermal(found: Snapshot, gaps: UnknownFacts) -> list[Thermal]:
    """Sensors by name: `coretemp Core 0`, `nvme Composite`, `acpitz`. A zone that hwmon shows again counts once."""
    where = places(found)
    made = [_zone(files) for files in folders(found, ZONES).values() if files.get("type")]
    for name, files in folders(found, HWMON).items():
        place = where.get(f"{HWMON}/{name}")
        if place is None or "/thermal_zone" not in place.path:
            made += _chip(files)
    if not made:
        gaps.note("thermal", "the kernel has no temperature sensor")
    return sorted(made, key=lambda one: one.name)


def _zone(files: Mapping[str, str]) -> Thermal:
    trips = [match[1] for path, text in files.items() if (match := _TRIP.fullmatch(path)) and text == "critical"]
    critical = [value for trip in trips if (value := _celsius(files.get(f"trip_point_{trip}_temp"))) is not None]
    return Thermal(
        name=files["type"], celsius=_celsius(files.get("temp")), critical_celsius=_too_hot(min(critical, default=None))
    )


def _chip(files: Mapping[str, str]) -> list[Thermal]:
    numbers = sorted(int(match[1]) for path in files if (match := _INPUT.fullmatch(path)))
    return [
        Thermal(
            name=f"{files.get('name') or 'hwmon'} {files.get(f'temp{number}_label') or f'temp{number}'}",
            celsius=_celsius(files.get(f"temp{number}_input")),
            critical_celsius=_too_hot(_celsius(files.get(f"temp{number}_crit"))),
        )
        for number in numbers
    ]


def _celsius(text: str | None) -> float | None:
    if text is None or not _MILLI.fullmatch(text):
        return None
    value = int(text) / 1000
    return value if _LOWEST <= value <= _HIGHEST else None


def _too_hot(celsius: float | None) -> float | None:
    """Zero, negative and implausibly high values mean that no limit is set."""
    return celsius if celsius is not None and 0 < celsius < 250 else None
