"""Channels of the memory and their peak bandwidth, from the names that the firmware gives to the slots.

SMBIOS has no field for the channel of a module, only the words that stand on the board (DSP0134, 7.18: Device Locator
and Bank Locator), and each maker has its own. What cannot be told from them without doubt is unknown. The peak is the
sum over the populated channels of configured speed times data width; two modules on one channel count once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from asct.facts.smbios import MemoryDevice

_DRAM_TECHNOLOGIES = frozenset({0x00, 0x01, 0x02, 0x03})
"""Memory technology: absent, other, unknown, DRAM. The rest is non-volatile."""
_MOST_SLOTS = 3
"""Modules on one channel. More of a letter (A1 ... A12) means that the letter names a processor."""

_CHANNEL = re.compile(
    r"(?:CHANNEL|CHAN|CH)[ _-]?([0-9]{1,2}|[A-Z])(?![A-Z])|(?<![A-Z0-9])C([0-9]{1,2})D[0-9]{1,2}(?![0-9])"
)
_LETTERED = re.compile(r"DIMM[ _-]?(?:P[0-9]{1,2}[ _-])?([A-Z])[ _-]?([0-9]{1,2})(?![0-9])")
_SOCKET = re.compile(r"(?<![A-Z])(CPU|PROC|PROCESSOR|SOCKET|NODE|CONTROLLER|MC|IMC|DIE|P)[ _-]?([0-9]{1,3})")

Channel = tuple[str, ...]


def fitted(devices: Sequence[MemoryDevice]) -> list[MemoryDevice]:
    """The modules that provide programs' memory. Raises ValueError when channels make no sense of them."""
    devices = [one for one in devices if one.ram]
    found = [one for one in devices if one.populated]
    if not found:
        raise ValueError("the firmware describes no installed memory module")
    if any(one.technology not in _DRAM_TECHNOLOGIES for one in found):
        raise ValueError("some modules are non-volatile memory")
    if len({one.kind for one in found}) > 1:
        raise ValueError("the modules are of several memory types")
    places = [(one.locator, one.bank) for one in devices]
    if len(set(places)) < len(places):
        raise ValueError("several memory devices have the same name, so channels are indistinguishable")
    return found


def channels_of(devices: Sequence[MemoryDevice]) -> set[Channel]:
    """The channels that have a module. Raises ValueError with the reason if they are ambiguous."""
    known = [one for one in devices if one.ram]
    return {channel_of(one, known) for one in fitted(devices)}


def peak_of(devices: Sequence[MemoryDevice]) -> float:
    """Bytes per second. Raises ValueError with the reason if it is ambiguous."""
    known = [one for one in devices if one.ram]
    channels: dict[Channel, float] = {}
    for one in fitted(devices):
        channel, rate = channel_of(one, known), _rate(one)
        channels[channel] = min(rate, channels.get(channel, rate))
    return sum(channels.values())


def _rate(one: MemoryDevice) -> float:
    if one.speed_mts is None or one.width_bits is None:
        raise ValueError(f"the firmware does not report the configured speed and width of module {_named(one)}")
    return one.speed_mts * 1e6 * one.width_bits / 8


def channel_of(one: MemoryDevice, devices: Sequence[MemoryDevice]) -> Channel:
    """The channel's name: socket or controller, and channel, from one of the two names.

    Raises ValueError if the names do not identify it.
    """
    names = [one.bank.upper(), one.locator.upper()]
    for name, other in (names, names[::-1]):
        match = _CHANNEL.search(name)
        if match:
            return (*_sockets(name, other), match[1] or match[2])
    match = _LETTERED.search(names[1])
    if match and _letters_are_channels(match[1], devices):
        return (*_sockets(names[1], names[0]), match[1])
    raise ValueError(f"the name of the module {_named(one)} does not report its channel")


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


def _named(one: MemoryDevice) -> str:
    return f"`{one.locator or '?'}` (`{one.bank or '?'}`)"
