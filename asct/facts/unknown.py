"""Facts that could not be read, with the reason; parsers note them instead of raising."""

from __future__ import annotations

import re

from asct.facts.snapshot import Snapshot
from asct.values.cpulist import MAX_CPU, parse_cpulist

NEEDS_ROOT = "needs root"
"""The reason of every field that an account without privileges cannot read: one wording, to gather them by."""

LATE = "timed out"
"""Reason for values of a program that did not answer, after its name."""

_LONGEST_REASON = 1000
"""Characters: a reason may quote what could not be read."""
_CHOSEN = re.compile(r"\[([^\[\]\s]{1,40})\]")
_MASK = re.compile(r"[0-9a-fA-F]{1,8}(,[0-9a-fA-F]{1,8})*")
_LONGEST_MASK = (MAX_CPU + 1) // 32 * 9


class UnknownFacts:
    """`reasons` maps a field (`cpu.governor`) to why it is unknown, `absent` those to why there is nothing to know."""

    def __init__(self) -> None:
        self.reasons: dict[str, str] = {}
        self.absent: dict[str, str] = {}

    def note(self, field: str, reason: str) -> None:
        """The field is unknown because of `reason`."""
        self.reasons[field] = begun(reason, _LONGEST_REASON)

    def not_applicable(self, field: str, reason: str) -> None:
        """The machine has no such thing, so there is nothing to know."""
        self.absent[field] = begun(reason, _LONGEST_REASON)

    def cpus(self, field: str, text: str | None, source: str) -> list[int]:
        """The CPUs of a list as the kernel writes them; empty and noted when it is missing or odd."""
        if text is None:
            self.note(field, f"{source} is missing")
            return []
        try:
            return parse_cpulist(text.strip())
        except ValueError as error:
            self.note(field, f"{source}: {error}")
            return []


def begun(text: str, most: int) -> str:
    """The text, cut after `most` characters, with the number of omitted characters."""
    return text if len(text) <= most else f"{text[:most]} ... ({len(text) - most} more characters)"


def whole(text: str | None) -> int | None:
    """A whole number as the kernel prints it; None for anything else."""
    stripped = (text or "").strip()
    return int(stripped) if stripped.isascii() and stripped.isdigit() and len(stripped) < 20 else None


def real(text: str | None) -> float | None:
    """A finite number written with digits and a point; None for anything else."""
    stripped = (text or "").strip()
    left, _, right = stripped.partition(".")
    if not (left + right).isdigit() or not stripped.isascii() or len(stripped) > 30:
        return None
    return float(stripped)


def fields(text: str | None) -> dict[str, str]:
    """`name : value` lines to a dictionary; the first of a name counts."""
    found: dict[str, str] = {}
    for line in (text or "").split("\n"):
        name, colon, value = line.partition(":")
        if colon:
            found.setdefault(name.strip(), value.strip())
    return found


def chosen(text: str | None) -> str | None:
    """The choice in brackets of a list as the kernel prints it: `madvise` of `always [madvise] never`."""
    match = _CHOSEN.search(text or "")
    return match[1] if match else None


def cpu_mask(text: str | None) -> list[int] | None:
    """The CPUs of a mask as the kernel prints it (`ff,00000003`: words of 32 bits, highest first); None if it is odd.

    Source: Linux Documentation/core-api/printk-formats.rst, bitmaps (`%*pb`).
    """
    stripped = (text or "").strip()
    if len(stripped) > _LONGEST_MASK or not _MASK.fullmatch(stripped):
        return None
    words = stripped.split(",")
    bits = int(words[0] + "".join(word.zfill(8) for word in words[1:]), 16)
    return [cpu for cpu in range(bits.bit_length()) if bits >> cpu & 1]


def folders(found: Snapshot, above: str) -> dict[str, dict[str, str]]:
    """The files below each folder of `above`, stripped, by the name of the folder and their path in it, in order."""
    made: dict[str, dict[str, str]] = {}
    prefix = f"{above}/"
    for path in found.beginning(prefix):
        name, slash, inner = path[len(prefix) :].partition("/")
        if slash:
            made.setdefault(name, {})[inner] = found.files[path].strip()
    return made


def present(found: Snapshot) -> dict[str, bool] | None:
    """The checked paths that exist, and whether the account may read each one; None if not checked."""
    said = found.command_output("present")
    if said is None:
        return None
    rows = [line.split(" ", 1) for line in said.split("\n")]
    return {row[1]: row[0] == "readable" for row in rows if len(row) == 2}
