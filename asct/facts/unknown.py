"""The reasons for unknown facts, which parsers record instead of raising errors, and parsers for the Linux kernel's
formats."""

from __future__ import annotations

import re
from typing import TypeVar

from asct.facts.snapshot import Snapshot
from asct.values.cpulist import MAX_CPU, parse_cpulist
from asct.values.text import truncated

NEEDS_ROOT = "needs root"
"""The reason for every field that only root can read. The wording is constant, so that reports can group the fields."""

LATE = "timed out"
"""The reason for values that are missing because a program did not finish in time. In messages, this text follows the
program's name."""

_LONGEST_REASON = 1000
"""Maximum length of a reason, in characters. Reasons need a limit because they may quote malformed text."""
_MOST_CONTRADICTIONS = 40
_CHOSEN = re.compile(r"\[([^\[\]\s]{1,40})\]")
_MASK = re.compile(r"[0-9a-fA-F]{1,8}(,[0-9a-fA-F]{1,8})*")
_LONGEST_MASK = (MAX_CPU + 1) // 32 * 9
_T = TypeVar("_T")


class UnknownFacts:
    """The reasons why facts are unknown.

    `reasons` maps each unknown field (`cpu.governor`) to its reason. `absent` maps each field that does not apply to
    the machine to the reason why it does not apply. `contradictions` describes values that contradict each other.
    """

    def __init__(self) -> None:
        self.reasons: dict[str, str] = {}
        self.absent: dict[str, str] = {}
        self.contradictions: list[str] = []

    def note(self, field: str, reason: str) -> None:
        """Record that the field is unknown because of `reason`."""
        self.reasons[field] = truncated(reason, _LONGEST_REASON)

    def known(self, field: str, value: _T, reason: str) -> _T:
        """Return the value. If it is None or empty, record the reason."""
        if not value and value != 0:
            self.note(field, reason)
        return value

    def not_applicable(self, field: str, reason: str) -> None:
        """Record that the field does not apply to the machine."""
        self.absent[field] = truncated(reason, _LONGEST_REASON)

    def contradiction(self, text: str) -> None:
        """Record that the Linux kernel or the firmware reports contradictory values."""
        if len(self.contradictions) < _MOST_CONTRADICTIONS:
            self.contradictions.append(truncated(text, _LONGEST_REASON))

    def cpus(self, field: str, text: str | None, source: str) -> list[int]:
        """Parse a CPU list. If it is missing or malformed, record the reason and return an empty list."""
        if text is None:
            self.note(field, f"{source} is missing")
            return []
        try:
            return parse_cpulist(text.strip())
        except ValueError as error:
            self.note(field, f"{source}: {error}")
            return []


def whole(text: str | None) -> int | None:
    """Parse a nonnegative integer as printed by the Linux kernel; return None for any other text."""
    stripped = (text or "").strip()
    return int(stripped) if stripped.isascii() and stripped.isdigit() and len(stripped) < 20 else None


def real(text: str | None) -> float | None:
    """Parse a decimal number without a sign or exponent; return None for any other text."""
    stripped = (text or "").strip()
    left, _, right = stripped.partition(".")
    if not (left + right).isdigit() or not stripped.isascii() or len(stripped) > 30:
        return None
    return float(stripped)


def fields(text: str | None, separator: str = ":") -> dict[str, str]:
    """Parse lines of the form `name : value`. If a name is repeated, its first line applies."""
    found: dict[str, str] = {}
    for line in (text or "").split("\n"):
        name, separated, value = line.partition(separator)
        if separated:
            found.setdefault(name.strip(), value.strip())
    return found


def chosen(text: str | None) -> str | None:
    """Return the choice that the Linux kernel marks with brackets, such as `madvise` in `always [madvise] never`."""
    match = _CHOSEN.search(text or "")
    return match[1] if match else None


def cpu_mask(text: str | None) -> list[int] | None:
    """Parse a CPU mask (`ff,00000003`: 32-bit words, highest first); return None if it is malformed.

    Source: Linux, Documentation/core-api/printk-formats.rst, bitmaps (`%*pb`).
    """
    stripped = (text or "").strip()
    if len(stripped) > _LONGEST_MASK or not _MASK.fullmatch(stripped):
        return None
    words = stripped.split(",")
    bits = int(words[0] + "".join(word.zfill(8) for word in words[1:]), 16)
    return [cpu for cpu in range(bits.bit_length()) if bits >> cpu & 1]


def folders(snapshot: Snapshot, above: str) -> dict[str, dict[str, str]]:
    """Return the contents of the files below each folder in `above`, without surrounding whitespace, sorted by folder
    and path."""
    contents: dict[str, dict[str, str]] = {}
    prefix = f"{above}/"
    for path in snapshot.beginning(prefix):
        name, slash, inner = path[len(prefix) :].partition("/")
        if slash:
            contents.setdefault(name, {})[inner] = snapshot.files[path].strip()
    return contents


def present(snapshot: Snapshot) -> dict[str, bool] | None:
    """Return the checked paths that exist, each mapped to whether the account may read it. Return None if no path was
    checked."""
    output = snapshot.command_output("present")
    if output is None:
        return None
    rows = [line.split(" ", 1) for line in output.split("\n")]
    return {row[1]: row[0] == "readable" for row in rows if len(row) == 2}
