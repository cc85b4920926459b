"""What a register is: its name, place, access and fields, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Access = Literal["RO", "RW"]


@dataclass(frozen=True, slots=True)
class FieldLayout:
    """Bits `msb` to `lsb`. `values` says what some numbers stand for; empty for a plain number."""

    name: str
    msb: int
    lsb: int
    description: str = ""
    values: Mapping[int, str] = field(default_factory=dict)

    def of(self, value: int) -> int:
        """The field of a register's value."""
        return value >> self.lsb & ((1 << (self.msb - self.lsb + 1)) - 1)


@dataclass(frozen=True, slots=True)
class RegisterLayout:
    """A register of a node. `offset` counts from the node's registers; `width` is that of the access, in bytes.

    `reset` is None where the manuals leave it to the configuration, or it was not looked up.
    """

    name: str
    offset: int
    access: Access
    description: str
    fields: tuple[FieldLayout, ...] = ()
    reset: int | None = None
    width: int = 8


def bits(name: str, msb: int, lsb: int, description: str = "", values: Mapping[int, str] | None = None) -> FieldLayout:
    """Several bits."""
    return FieldLayout(name, msb, lsb, description, values or {})


def bit(name: str, at: int, description: str = "", values: Mapping[int, str] | None = None) -> FieldLayout:
    """One bit."""
    return FieldLayout(name, at, at, description, values or {})


def read_only(
    name: str, offset: int, description: str, *fields: FieldLayout, reset: int | None = None, width: int = 8
) -> RegisterLayout:
    """A register that tells something."""
    return RegisterLayout(name, offset, "RO", description, fields, reset, width)


def read_write(
    name: str, offset: int, description: str, *fields: FieldLayout, reset: int | None = None
) -> RegisterLayout:
    """A register that sets something; here it is only read."""
    return RegisterLayout(name, offset, "RW", description, fields, reset)
