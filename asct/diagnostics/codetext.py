"""The long form of an error code, for `asct explain E104`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CodeText:
    """`title` in a few words; `text` says what it means, an example, and how to mend it."""

    title: str
    text: str
