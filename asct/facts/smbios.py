"""Peak bandwidth of the memory from its modules, as the firmware describes them: SMBIOS type 17, "Memory Device".

Source: DMTF DSP0134, System Management BIOS Reference Specification 3.7: 6.1 (structures, strings), 7.18 (type 17).
The sum over the populated channels of configured speed times data width; two modules on one channel count once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from asct.facts.gaps import Gaps
from asct.facts.snapshot import Snapshot

FIELD = "memory.theoretical_bandwidth"
UNREADABLE = "unreadable"
_TYPE, _SHORTEST = 17, 0x15
_NOT_RAM = frozenset({0x08, 0x09, 0x0A, 0x0B, 0x0C})
"""Memory types ROM, FLASH, EEPROM, FEPROM and EPROM: firmware chips."""
_DRAM_TECHNOLOGIES = frozenset({0x00, 0x01, 0x02, 0x03})
"""Memory technology: absent, other, unknown, DRAM. The rest is non-volatile."""
_UNKNOWN_WORD = 0xFFFF
_MOST_SLOTS = 3
"""Modules on one channel. More of a letter (A1 ... A12) means that the letter names a processor."""

_CHANNEL = re.compile(
    r"(?:CHANNEL|CHAN|CH)[ _-]?([0-9]{1,2}|[A-Z])(?![A-Z])|(?<![A-Z0-9])C([0-9]{1,2})D[0-9]{1,2}(?![0-9])"
)
_LETTERED = re.compile(r"DIMM[ _-]?(?:P[0-9]{1,2}[ _-])?([A-Z])[ _-]?([0-9]{1,2})(?![0-9])")
_SOCKET = re.compile(r"(?<![A-Z])(CPU|PROC|PROCESSOR|SOCKET|NODE|CONTROLLER|MC|IMC|DIE|P)[ _-]?([0-9]{1,3})")


@dataclass(frozen=True, slots=True)
class Device:
    """One memory device: its places as named on the board, and 0 or None for what the firmware does not tell."""

    locator: str
    bank: str
    populated: bool
    kind: int
    technology: int
    width_bits: int | None
    speed_mts: int | None

    @property
    def ram(self) -> bool:
        """Whether it is memory that programs use, rather than a firmware chip."""
        return self.kind not in _NOT_RAM


def theoretical_bandwidth(found: Snapshot, virtualization: str | None, gaps: Gaps) -> float | None:
    """Bytes a second of all channels together; None and a note when the firmware does not tell it without doubt."""
    try:
        return peak_of(_devices(found, virtualization))
    except ValueError as error:
        gaps.note(FIELD, str(error))
        return None


def _devices(found: Snapshot, virtualization: str | None) -> list[Device]:
    said = found.said("memory-devices")
    if virtualization not in (None, "none"):
        raise ValueError("in a virtual machine the firmware does not describe the host's memory")
    if not said:
        raise ValueError("the firmware describes no memory devices (SMBIOS type 17)")
    lines = said.split("\n")
    if UNREADABLE in lines:
        raise ValueError("only root can read the memory devices in /sys/firmware/dmi/entries")
    return [device(_raw(line)) for line in lines]


def _raw(line: str) -> bytes:
    try:
        return bytes.fromhex(line)
    except ValueError:
        raise ValueError(f"a memory device is not in hexadecimal: {line[:40]!r}") from None


def device(raw: bytes) -> Device:
    """One structure with its strings behind it; raises ValueError for another one, or one that is cut short."""
    length = raw[1] if len(raw) > 1 else 0
    if len(raw) < _SHORTEST or raw[0] != _TYPE or not _SHORTEST <= length <= len(raw):
        raise ValueError("a memory device (SMBIOS type 17) is cut short or of another type")
    body, strings = raw[:length], raw[length:].split(b"\0")
    size, width = _number(body, 0x0C, 2), _number(body, 0x0A, 2)
    return Device(
        locator=_string(strings, body[0x10]),
        bank=_string(strings, body[0x11]),
        populated=size not in (0, None),
        kind=body[0x12],
        technology=_number(body, 0x28, 1) or 0,
        width_bits=None if width == _UNKNOWN_WORD else width or None,
        speed_mts=_speed(body),
    )


def _number(body: bytes, offset: int, size: int) -> int | None:
    """A little-endian field; None when the structure is of an older version that ends before it."""
    field = body[offset : offset + size]
    return int.from_bytes(field, "little") if len(field) == size else None


def _speed(body: bytes) -> int | None:
    """Configured speed in megatransfers a second; from the extended field when it does not fit the first."""
    speed = _number(body, 0x20, 2)
    if speed == _UNKNOWN_WORD:
        speed = (_number(body, 0x58, 4) or 0) & 0x7FFF_FFFF
    return speed or None


def _string(strings: Sequence[bytes], number: int) -> str:
    """String `number`, counted from 1; 0 means none."""
    return strings[number - 1].decode("ascii", "replace").strip() if 0 < number <= len(strings) else ""


def peak_of(devices: Sequence[Device]) -> float:
    """Bytes a second. Raises ValueError with the reason when it cannot be told without doubt."""
    devices = [one for one in devices if one.ram]
    fitted = [one for one in devices if one.populated]
    if not fitted:
        raise ValueError("the firmware describes no memory module that is fitted")
    if any(one.technology not in _DRAM_TECHNOLOGIES for one in fitted):
        raise ValueError("some modules are non-volatile memory")
    if len({one.kind for one in fitted}) > 1:
        raise ValueError("the modules are of several memory types")
    places = [(one.locator, one.bank) for one in devices]
    if len(set(places)) < len(places):
        raise ValueError("several memory devices have the same name, so channels cannot be told apart")
    channels: dict[tuple[str, ...], float] = {}
    for one in fitted:
        channel, rate = _channel(one, devices), _rate(one)
        channels[channel] = min(rate, channels.get(channel, rate))
    return sum(channels.values())


def _rate(one: Device) -> float:
    if one.speed_mts is None or one.width_bits is None:
        raise ValueError(f"the firmware does not tell the configured speed and width of the module {_named(one)}")
    return one.speed_mts * 1e6 * one.width_bits / 8


def _channel(one: Device, devices: Sequence[Device]) -> tuple[str, ...]:
    """What names the channel: socket or controller, and channel. Both stand in one of the two names."""
    names = [one.bank.upper(), one.locator.upper()]
    for name, other in (names, names[::-1]):
        match = _CHANNEL.search(name)
        if match:
            return (*_sockets(name, other), match[1] or match[2])
    match = _LETTERED.search(names[1])
    if match and _letters_are_channels(match[1], devices):
        return (*_sockets(names[1], names[0]), match[1])
    raise ValueError(f"the name of the module {_named(one)} does not tell its channel")


def _sockets(name: str, other: str) -> tuple[str, ...]:
    found = _SOCKET.findall(name) or _SOCKET.findall(other)
    return tuple(f"{word}{number}" for word, number in found)


def _letters_are_channels(letter: str, devices: Sequence[Device]) -> bool:
    slots: dict[tuple[str, ...], set[str]] = {}
    for one in devices:
        match = _LETTERED.search(one.locator.upper())
        if match and match[1] == letter:
            slots.setdefault(_sockets(one.locator.upper(), one.bank.upper()), set()).add(match[2])
    return all(len(numbers) <= _MOST_SLOTS for numbers in slots.values())


def _named(one: Device) -> str:
    return f"`{one.locator or '?'}` (`{one.bank or '?'}`)"
