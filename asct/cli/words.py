"""Small pieces of text that several commands print."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """`1 job`, `2 jobs`, `0 jobs`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
