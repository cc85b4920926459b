"""Facts that could not be read, with the reason; parsers note them instead of raising."""

from __future__ import annotations

from asct.values.cpulist import parse_cpulist


class Gaps:
    """`reasons` maps a field (`cpu.governor`) to why it is unknown."""

    def __init__(self) -> None:
        self.reasons: dict[str, str] = {}

    def note(self, field: str, reason: str) -> None:
        """The field is unknown because of `reason`."""
        self.reasons[field] = reason

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
