"""Memory modules, their channels and peak bandwidth, from SMBIOS (the firmware's description of the machine).

The relevant types are 16, "Physical Memory Array", and 17, "Memory Device".

Source: DMTF DSP0134, System Management BIOS Reference Specification 3.7: 6.1 (structures, strings), 7.17 (type 16),
7.18 (type 17).

SMBIOS has no field for the channel of a module. It contains only the names printed on the board (Device Locator and
Bank Locator), which every vendor chooses differently. If the names are ambiguous, the channels are unknown. The peak
bandwidth is the configured speed multiplied by the data width, summed over all populated channels; two modules on one
channel count once.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from asct.facts.snapshot import Snapshot
from asct.facts.unknown import NEEDS_ROOT
from asct.resources import data

UNREADABLE = "unreadable"
_ARRAY, _DEVICE = 16, 17
_SHORTEST = 0x15
_SHORTEST_ARRAY = 0x07
_SYSTEM_MEMORY = 3
_MIB = 1 << 20
_UNKNOWN_WORD = 0xFFFF
_EXTENDED_SIZE = 0x7FFF
_IN_KIB = 0x8000
_NAMES: Mapping[str, Any] = data(__file__, "smbios.yaml")
TYPES: Mapping[int, str] = _NAMES["types"]
FORMS: Mapping[int, str] = _NAMES["forms"]


@dataclass(frozen=True, slots=True)
class MemoryDevice:
    """A memory device and its locators as printed on the board.

    Values that the firmware does not report are None, or 0 for `kind` and `technology`. `size_bytes` is 0 for an empty
    slot. Speeds are in megatransfers per second.
    """

    locator: str
    bank: str
    size_bytes: int | None
    kind: int
    technology: int
    form: int
    width_bits: int | None
    total_bits: int | None
    ranks: int | None
    speed_mts: int | None
    rated_mts: int | None
    manufacturer: str | None
    part_number: str | None

    @property
    def populated(self) -> bool:
        """Whether a module is installed, even if its size is unknown."""
        return self.size_bytes != 0

    @property
    def ram(self) -> bool:
        """Whether programs can use the device as memory. This is not the case for firmware chips, which are also
        listed."""
        return self.kind not in _NAMES["not_ram"]


def structures(snapshot: Snapshot) -> list[bytes]:
    """Return the structures of types 16 and 17 with their strings. Raises ValueError with the reason if there are
    none."""
    output = snapshot.command_output("memory-devices")
    if not output:
        raise ValueError("the firmware describes no memory devices (SMBIOS type 17)")
    lines = output.split("\n")
    if UNREADABLE in lines:
        raise ValueError(NEEDS_ROOT)
    return [_raw(line) for line in lines]


def devices(snapshot: Snapshot) -> list[MemoryDevice]:
    """Return the memory devices. Raises ValueError with the reason if they cannot be read."""
    modules = [device(raw) for raw in structures(snapshot) if raw[:1] != bytes([_ARRAY])]
    if not modules:
        raise ValueError("the firmware describes no memory devices (SMBIOS type 17)")
    return modules


def error_correction(snapshot: Snapshot) -> str | None:
    """Return the error correction of the system memory (`multi-bit ECC`), or None if it is not reported.

    Raises ValueError with the reason if the structures cannot be read.
    """
    arrays = [raw for raw in structures(snapshot) if len(raw) >= _SHORTEST_ARRAY and raw[0] == _ARRAY]
    kinds = {_NAMES["correction"].get(raw[6]) for raw in arrays if raw[5] == _SYSTEM_MEMORY}
    return ", ".join(sorted(one for one in kinds if one)) if kinds and None not in kinds else None


def _raw(line: str) -> bytes:
    try:
        return bytes.fromhex(line)
    except ValueError:
        raise ValueError(f"the record of a memory device is not hexadecimal: {line[:40]!r}") from None


def device(raw: bytes) -> MemoryDevice:
    """Parse one structure and the strings that follow it. Raises ValueError if it has a different type or is
    truncated."""
    length = raw[1] if len(raw) > 1 else 0
    if len(raw) < _SHORTEST or raw[0] != _DEVICE or not _SHORTEST <= length <= len(raw):
        raise ValueError("the record of a memory device is truncated, or is not of SMBIOS type 17")
    body, strings = raw[:length], raw[length:].split(b"\0")
    return MemoryDevice(
        locator=_string(strings, body[0x10]),
        bank=_string(strings, body[0x11]),
        size_bytes=_size(body),
        kind=body[0x12],
        technology=_number(body, 0x28, 1) or 0,
        form=body[0x0E],
        width_bits=_known(_number(body, 0x0A, 2)),
        total_bits=_known(_number(body, 0x08, 2)),
        ranks=(_number(body, 0x1B, 1) or 0) & 0xF or None,
        speed_mts=_speed(body, 0x20, 0x58),
        rated_mts=_speed(body, 0x15, 0x54),
        manufacturer=_known_text(_string(strings, _number(body, 0x17, 1) or 0)),
        part_number=_known_text(_string(strings, _number(body, 0x1A, 1) or 0)),
    )


def _number(body: bytes, offset: int, size: int) -> int | None:
    """Read a little-endian field; return None if the structure has an older version that ends before the field."""
    field = body[offset : offset + size]
    return int.from_bytes(field, "little") if len(field) == size else None


def _known(word: int | None) -> int | None:
    return None if word == _UNKNOWN_WORD else word or None


def _size(body: bytes) -> int | None:
    """Return the size in bytes.

    The first field is in MiB, or in KiB if its top bit is set. Larger sizes are in the extended field, in MiB.
    """
    size = _number(body, 0x0C, 2)
    if size is None or size == _UNKNOWN_WORD:
        return None
    if size == _EXTENDED_SIZE:
        extended = _number(body, 0x1C, 4)
        return None if extended is None else (extended & 0x7FFF_FFFF) * _MIB
    return (size & ~_IN_KIB) << 10 if size & _IN_KIB else size * _MIB


def _speed(body: bytes, offset: int, extended: int) -> int | None:
    """Return a speed in megatransfers per second. A speed that does not fit in the first field is in the extended
    field."""
    speed = _number(body, offset, 2)
    if speed == _UNKNOWN_WORD:
        speed = (_number(body, extended, 4) or 0) & 0x7FFF_FFFF
    return speed or None


def _string(strings: Sequence[bytes], number: int) -> str:
    """Return the string with this number, counted from 1; 0 means an empty string."""
    return strings[number - 1].decode("ascii", "replace").strip() if 0 < number <= len(strings) else ""


def _known_text(text: str) -> str | None:
    return None if text.lower() in _NAMES["unknown"] else text


_DRAM_TECHNOLOGIES = frozenset({0x00, 0x01, 0x02, 0x03})
"""The memory technology codes that mean "not reported", "other", "unknown" or "DRAM". All other codes are for
non-volatile memory."""
_MOST_SLOTS = 3
"""Maximum number of modules on one channel. A letter with more modules (A1 ... A12) denotes a processor."""

_CHANNEL = re.compile(
    r"(?:CHANNEL|CHAN|CH)[ _-]?([0-9]{1,2}|[A-Z])(?![A-Z])|(?<![A-Z0-9])C([0-9]{1,2})D[0-9]{1,2}(?![0-9])"
)
_LETTERED = re.compile(r"DIMM[ _-]?(?:P[0-9]{1,2}[ _-])?([A-Z])[ _-]?([0-9]{1,2})(?![0-9])")
_SOCKET = re.compile(r"(?<![A-Z])(CPU|PROC|PROCESSOR|SOCKET|NODE|CONTROLLER|MC|IMC|DIE|P)[ _-]?([0-9]{1,3})")

Channel = tuple[str, ...]


def fitted(devices: Sequence[MemoryDevice]) -> list[MemoryDevice]:
    """Return the modules that programs can use as memory. Raises ValueError if their channels cannot be determined."""
    devices = [one for one in devices if one.ram]
    found = [one for one in devices if one.populated]
    if not found:
        raise ValueError("the firmware describes no installed memory module")
    if any(one.technology not in _DRAM_TECHNOLOGIES for one in found):
        raise ValueError("some modules are non-volatile memory")
    if len({one.kind for one in found}) > 1:
        raise ValueError("the modules have different memory types")
    places = [(one.locator, one.bank) for one in devices]
    if len(set(places)) < len(places):
        raise ValueError("several memory devices have the same name, so their channels cannot be distinguished")
    return found


def channels_of(devices: Sequence[MemoryDevice]) -> set[Channel]:
    """Return the channels that have a module. Raises ValueError with the reason if they are ambiguous."""
    known = [one for one in devices if one.ram]
    return {channel_of(one, known) for one in fitted(devices)}


def peak_of(devices: Sequence[MemoryDevice]) -> float:
    """Return the peak bandwidth in bytes per second. Raises ValueError with the reason if it is ambiguous."""
    known = [one for one in devices if one.ram]
    channels: dict[Channel, float] = {}
    for one in fitted(devices):
        channel, rate = channel_of(one, known), _module_rate(one)
        channels[channel] = min(rate, channels.get(channel, rate))
    return sum(channels.values())


def _module_rate(one: MemoryDevice) -> float:
    if one.speed_mts is None or one.width_bits is None:
        raise ValueError(f"the firmware does not report the configured speed and width of module {_location(one)}")
    return one.speed_mts * 1e6 * one.width_bits / 8


def channel_of(one: MemoryDevice, devices: Sequence[MemoryDevice]) -> Channel:
    """Derive the channel of a module, prefixed with its socket or controller, from one of the module's two names.

    Raises ValueError if the names do not identify the channel.
    """
    names = [one.bank.upper(), one.locator.upper()]
    for name, other in (names, names[::-1]):
        match = _CHANNEL.search(name)
        if match:
            return (*_sockets(name, other), match[1] or match[2])
    match = _LETTERED.search(names[1])
    if match and _letters_are_channels(match[1], devices):
        return (*_sockets(names[1], names[0]), match[1])
    raise ValueError(f"the name of module {_location(one)} does not identify its channel")


def _sockets(name: str, other: str) -> tuple[str, ...]:
    found = _SOCKET.findall(name) or _SOCKET.findall(other)
    return tuple(f"{word}{number}" for word, number in found)


def _letters_are_channels(letter: str, devices: Sequence[MemoryDevice]) -> bool:
    slots: dict[tuple[str, ...], set[str]] = {}
    for one in devices:
        match = _LETTERED.search(one.locator.upper())
        if match and match[1] == letter:
            slots.setdefault(_sockets(one.locator.upper(), one.bank.upper()), set()).add(match[2])
    return all(len(numbers) <= _MOST_SLOTS for numbers in slots.values())


def _location(one: MemoryDevice) -> str:
    return f"`{one.locator or '?'}` (`{one.bank or '?'}`)"
