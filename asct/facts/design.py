"""What a core is: its vendor, its names, its instruction set and the numbers that they come from."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

Texts = Mapping[str, str]

_HEX = re.compile(r"(?:0x)?([0-9a-fA-F]{1,16})")
_DECIMAL = re.compile(r"[0-9]{1,9}")


@dataclass(frozen=True, slots=True)
class Design:
    """None where the tables or the kernel do not say it; `numbers` are the identity by name, `family` the name of the
    processor where its cores have names of their own."""

    vendor: str | None = None
    model: str | None = None
    microarchitecture: str | None = None
    instruction_set: str | None = None
    numbers: tuple[tuple[str, int], ...] = ()
    family: str | None = None


def numbers(**found: int | None) -> tuple[tuple[str, int], ...]:
    """The identity without what is unknown."""
    return tuple((name, value) for name, value in found.items() if value is not None)


def hexadecimal(text: str | None) -> int | None:
    """`0xd0c`; None for anything else."""
    stripped = (text or "").strip()
    match = _HEX.fullmatch(stripped)
    return int(match[1], 16) if match else None


def decimal(text: str | None) -> int | None:
    """`143`; None for anything else."""
    stripped = (text or "").strip()
    return int(stripped) if _DECIMAL.fullmatch(stripped) else None
