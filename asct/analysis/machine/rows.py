"""Sections of a machine description, each consisting of rows of labels and values, and functions that format values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from asct.analysis.grid import plain
from asct.sdk.facts import BlockDevice, PciDevice
from asct.values.cpulist import format_cpulist
from asct.values.quantity import format_quantity
from asct.values.text import truncated

TextRow = tuple[str, str]
_LONGEST: Final = 8000
"""Maximum length of a value, in characters. This is twice the length of the complete list of CPU flags."""


@dataclass(frozen=True)
class MachineSection:
    """Facts about one subject. `rows` contains facts that affect measurements; they appear in every report."""

    title: str
    rows: tuple[TextRow, ...]
    _details: Iterable[TextRow] = ()

    @cached_property
    def details(self) -> tuple[TextRow, ...]:
        """One row per module, drive or interface. These rows appear only in machine descriptions, so reports on many
        hosts do not format them."""
        return _shown(self._details)


def section(title: str, rows: Iterable[TextRow], details: Iterable[TextRow] = ()) -> MachineSection:
    """Return a section without empty rows, with long values truncated and all text safe to display."""
    return MachineSection(title, _shown(rows), details)


def _shown(rows: Iterable[TextRow]) -> tuple[TextRow, ...]:
    return tuple((plain(label), plain(truncated(text, _LONGEST))) for label, text in rows if text)


def listed(*parts: str | None, by: str = ", ") -> str:
    """Join the parts with `by`, skipping those that are None or empty."""
    return by.join(part for part in parts if part)


def phrase(template: str, value: object) -> str:
    """Insert a value, or the items of a list, into `template`, such as `serial {}`. Return an empty string if the value
    is unknown or empty."""
    if isinstance(value, list):
        value = ", ".join(value)
    return "" if value in (None, "") else template.format(value)


def size(number: float | None) -> str:
    """Format a number of bytes, or return an empty string if it is unknown."""
    return quantity(number, "B")


def quantity(number: float | None, unit: str) -> str:
    """Format a value with its unit, or return an empty string if it is unknown."""
    return "" if number is None else format_quantity(number, unit)


def decimal_size(number: int | None) -> str:
    """Format a number of bytes in decimal units, as drive manufacturers do: `960 GB`."""
    if number is None:
        return ""
    units = ("B", "kB", "MB", "GB", "TB", "PB")
    power = 0
    while number >= 1000 ** (power + 1) and power < len(units) - 1:
        power += 1
    return f"{number / 1000**power:.3g} {units[power]}"


def clock(hertz: float | None) -> str:
    """Format a clock frequency: `2.6 GHz`."""
    return quantity(hertz, "Hz")


def firmware_text(vendor: str | None, version: str | None, date: str | None) -> str:
    """Describe a firmware: `ACME 1.2, of 2024-05-01`."""
    return listed(listed(vendor, version, by=" "), phrase("of {}", date))


def pcie_link(device: BlockDevice | PciDevice) -> str:
    """Return the speed and the width of a device's PCIe link, followed by those that the device supports if they are
    higher, or an empty string if they are unknown."""
    faster = device.link_max if device.link_max != device.link else None
    return f"{device.link} (up to {faster})" if device.link and faster else device.link or ""


def yes(flag: bool | None, true: str = "yes", false: str = "no") -> str:
    """Return the word for a Boolean value, or an empty string if the value is unknown."""
    return "" if flag is None else true if flag else false


def cpus(numbers: list[int]) -> str:
    """Format a list of CPUs, such as `0-3,8`, or return an empty string if there are none."""
    return format_cpulist(numbers) if numbers else ""
