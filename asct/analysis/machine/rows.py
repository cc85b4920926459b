"""The parts of a machine description: sections with rows of label and value."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from asct.values.cpulist import format_cpulist
from asct.values.quantity import format_quantity

Row = tuple[str, str]
_LONGEST: Final = 8000
"""Characters of a value: twice the flags of a processor that has all of them."""


@dataclass(frozen=True, slots=True)
class MachineSection:
    """`rows` affect measurements and appear in every report; `details` (a row per module, drive, interface) only where
    the machine is the subject."""

    title: str
    rows: tuple[Row, ...]
    details: tuple[Row, ...] = ()


def section(title: str, rows: Iterable[Row], details: Iterable[Row] = ()) -> MachineSection:
    """The section without empty rows, with long values truncated."""
    return MachineSection(
        title, *(tuple((label, _begun(text)) for label, text in part if text) for part in (rows, details))
    )


def _begun(text: str) -> str:
    more = len(text) - _LONGEST
    return text if more <= 0 else f"{text[:_LONGEST]} ... ({more} more characters)"


def listed(*parts: str | None, by: str = ", ") -> str:
    """The parts that are there."""
    return by.join(part for part in parts if part)


def size(number: float | None) -> str:
    """Bytes in readable form; empty if unknown."""
    return "" if number is None else format_quantity(number, "B")


def decimal_size(number: int | None) -> str:
    """Bytes as makers of drives count them: `960 GB`."""
    if number is None:
        return ""
    units = ("B", "kB", "MB", "GB", "TB", "PB")
    power = 0
    while number >= 1000 ** (power + 1) and power < len(units) - 1:
        power += 1
    return f"{number / 1000**power:.3g} {units[power]}"


def clock(hertz: float | None) -> str:
    """`2.6 GHz`."""
    return "" if hertz is None else format_quantity(hertz, "Hz")


def yes(flag: bool | None, true: str = "yes", false: str = "no") -> str:
    """A word for each; nothing when it is unknown."""
    return "" if flag is None else true if flag else false


def cpus(numbers: list[int]) -> str:
    """`0-3,8`; nothing for none."""
    return format_cpulist(numbers) if numbers else ""


def counted(number: int | None, noun: str) -> str:
    """`1 core`, `2 cores`; nothing when it is unknown."""
    return "" if number is None else f"{number} {noun}" if number == 1 else f"{number} {noun}s"
