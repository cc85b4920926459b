"""Modules of memory as the firmware describes them, and what follows of them for the whole memory."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from asct.facts import channels, smbios
from asct.facts.gaps import Gaps
from asct.facts.smbios import Device
from asct.facts.snapshot import Snapshot
from asct.sdk.facts import MemoryModule

BANDWIDTH = "memory.theoretical_bandwidth"
_FIELDS = ("modules", "ecc", "channels", "theoretical_bandwidth")


def described(found: Snapshot, virtualization: str | None, gaps: Gaps) -> dict[str, Any]:
    """The fields `modules`, `ecc`, `channels` and `theoretical_bandwidth` (bytes a second) of sdk.facts.Memory.

    A virtual machine has the modules that its hypervisor makes up; channels and bandwidth are then unknown.
    """
    try:
        devices = smbios.devices(found)
        ecc = smbios.error_correction(found)
    except ValueError as error:
        for field in _FIELDS:
            gaps.note(f"memory.{field}", str(error))
        return {}
    if ecc is None:
        gaps.note("memory.ecc", "the firmware does not tell it (SMBIOS type 16)")
    ram = [one for one in devices if one.ram]
    return {"modules": [_module(one, ram) for one in ram], "ecc": ecc, **_summed(devices, virtualization, gaps)}


def _summed(devices: Sequence[Device], virtualization: str | None, gaps: Gaps) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for field, of in (("channels", lambda: len(channels.channels_of(devices))),
                      ("theoretical_bandwidth", lambda: channels.peak_of(devices))):  # fmt: skip
        try:
            if virtualization not in (None, "none"):
                raise ValueError("in a virtual machine the firmware does not describe the host's memory")
            made[field] = of()
        except ValueError as error:
            gaps.note(f"memory.{field}", str(error))
    return made


def _module(one: Device, devices: Sequence[Device]) -> MemoryModule:
    channel = None
    if one.populated:
        with suppress(ValueError):  # why, stands at `channels`
            channel = " ".join(channels.channel_of(one, devices))
    return MemoryModule(
        slot=one.locator or "?",
        bank=one.bank or None,
        size_bytes=one.size_bytes,
        type=smbios.TYPES.get(one.kind) if one.populated else None,
        form_factor=smbios.FORMS.get(one.form),
        data_bits=one.width_bits,
        total_bits=one.total_bits,
        ranks=one.ranks,
        rate=_transfers(one.speed_mts),
        rated=_transfers(one.rated_mts),
        manufacturer=one.manufacturer,
        part_number=one.part_number,
        channel=channel,
    )


def _transfers(mts: int | None) -> float | None:
    return None if mts is None else mts * 1e6
