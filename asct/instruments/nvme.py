"""The data reported by an NVMe drive: Identify Controller, Identify Namespace and the SMART / Health log page.

Offsets are from the NVM Express Base Specification 2.0c (figures 207 and 275) and the NVM Command Set Specification
1.0c (figure 97). guard's `device` lines contain the bytes as hexadecimal text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pydantic import BaseModel, ConfigDict, Field
from pydantic.json_schema import SkipJsonSchema

from asct.instruments.guard_output import GuardTarget

UNIT_BYTES: Final = 512_000
"""Size of a data unit in the health log: 1000 blocks of 512 bytes."""


class DriveHealth(BaseModel):
    """The SMART / Health log of an NVMe drive (NVM Express Base Specification, log page 02h). Temperatures are in
    degrees Celsius, and durations are in minutes."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, defer_build=True)

    celsius: float
    critical_warning: int
    available_spare: int
    percentage_used: int
    media_errors: int
    warning_minutes: int
    critical_minutes: int
    throttle_transitions: int
    """Number of thermally triggered transitions to a lower power state, summed over both thresholds."""
    data_units_written: SkipJsonSchema[int | None] = Field(None, exclude=True)
    """Number of data units that the host has written. This number is not part of the documents, because it is recorded
    as a measurement."""

    @property
    def heat(self) -> int:
        """A number that increases whenever the drive is too warm or throttled."""
        return self.warning_minutes + self.critical_minutes + self.throttle_transitions


@dataclass(frozen=True, slots=True)
class IdentifyController:
    """The Identify Controller data on the Format NVM command: whether the drive supports it, and whether a format or an
    erase affects every namespace."""

    formats: bool
    formats_all: bool


@dataclass(frozen=True, slots=True)
class IdentifyNamespace:
    """The Identify Namespace data: the number of used blocks, and the index of the current format."""

    used_blocks: int
    format_index: int


def health_of(device: GuardTarget) -> DriveHealth | None:
    """Return the health log of a drive, or None if it cannot be read."""
    data = _bytes(device, "nvme_smart", 512)
    if data is None:
        return None
    return DriveHealth(
        celsius=round(_number(data, 1, 2) - 273.15, 2),
        critical_warning=data[0],
        available_spare=data[3],
        percentage_used=data[5],
        data_units_written=_number(data, 48, 16),
        media_errors=_number(data, 160, 16),
        warning_minutes=_number(data, 192, 4),
        critical_minutes=_number(data, 196, 4),
        throttle_transitions=_number(data, 216, 4) + _number(data, 220, 4),
    )


def controller_of(device: GuardTarget) -> IdentifyController | None:
    """Return the controller data of a drive, or None if it is not an NVMe drive or could not be queried."""
    data = _bytes(device, "nvme_id_ctrl", 4096)
    if data is None:
        return None
    formats_all = bool(data[524] & 3)  # FNA: bit 0 for formats, bit 1 for erases
    return IdentifyController(bool(_number(data, 256, 2) & 2), formats_all)


def namespace_of(device: GuardTarget) -> IdentifyNamespace | None:
    """Return the namespace data of a drive, or None if it is not an NVMe drive or could not be queried."""
    data = _bytes(device, "nvme_id_ns", 4096)
    if data is None:
        return None
    index = data[26] & 0x0F | (data[26] & 0x60) >> 1
    return IdentifyNamespace(_number(data, 16, 8), index)


def throttled(before: Sequence[GuardTarget], after: Sequence[GuardTarget]) -> bool:
    """Return whether any drive exceeded its warning temperature or was throttled between two inspections."""
    old = {device.path: health_of(device) for device in before}
    pairs = [(old.get(device.path), health_of(device)) for device in after]
    return any(first.heat < last.heat for first, last in pairs if first and last)


def _bytes(device: GuardTarget, field: str, size: int) -> bytes | None:
    """Return the bytes of a field, or None if it is missing, not hexadecimal, or shorter than the structure."""
    text = device.scalar(field)
    try:
        data = bytes.fromhex(text) if isinstance(text, str) else b""
    except ValueError:
        return None
    return data if len(data) >= size else None


def _number(data: bytes, start: int, size: int) -> int:
    return int.from_bytes(data[start : start + size], "little")
