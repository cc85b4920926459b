"""Memory access patterns and access widths: their names in settings, coordinates and kernels, and their titles."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Final, Literal

from pydantic import BeforeValidator

if TYPE_CHECKING:
    from asct.sdk.facts import HostFacts

TITLES: Final[dict[str, str]] = {
    "all-reads": "All Reads",
    "3:1": "3:1 Reads-Writes",
    "2:1": "2:1 Reads-Writes",
    "1:1": "1:1 Reads-Writes",
    "2:1-nt": "2:1 Rd-Wr (Non-Temporal)",
    "write": "Write",
    "copy": "Copy",
    "scale": "Scale",
    "add": "Add",
    "triad": "Triad",
    "nt-write": "Non-temporal write",
    "nt-copy": "Non-temporal copy",
    "nt-triad": "Non-temporal triad",
}
"""The title of each access pattern, in the order used in tables. Ratios refer to bus traffic, where a normal store also
reads the line."""
WORDS: Final = tuple(TITLES)
_TWO: Final = ("2:1", "copy", "scale", "nt-copy")
_ONE: Final = ("all-reads", "1:1", "write", "nt-write")
ARRAYS: Final[dict[str, int]] = {word: 1 if word in _ONE else 2 if word in _TWO else 3 for word in WORDS}
"""The number of arrays that each access pattern uses."""
LOADS_STORES: Final[dict[str, tuple[int, int]]] = {
    word: (1, 0) if word == "all-reads" else (arrays - 1, 1) for word, arrays in ARRAYS.items()
}
"""Cache lines that each access pattern loads and stores in one step."""
WIDTHS: Final[dict[str, str]] = {"16": "128 bit", "32": "256 bit", "64": "512 bit"}
"""Bytes per load or store, with the equivalent in bits."""
_X86: Final = {"32": "avx2", "64": "avx512f"}
_BY_TITLE: Final = {title.lower(): word for word, title in TITLES.items()}
_OTHER: Final = {"reads": "all-reads", "read": "all-reads", "stores": "write", "writes": "write"}


def _traffic(value: object) -> object:
    """Return the access pattern with this name or title, ignoring case: `All Reads`, `2:1 Reads-Writes`, `NT-Copy`."""
    if not isinstance(value, str):
        return value
    text = re.sub(r"\s+", " ", value.strip().lower())
    return _BY_TITLE.get(text) or _OTHER.get(text, text)


def _width(value: object) -> object:
    """Convert 16, `16` and `16B` to `16`."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return value
    return str(value).strip().lower().removesuffix("b").strip()


Traffic = Annotated[
    Literal[
        "all-reads", "3:1", "2:1", "1:1", "2:1-nt", "write", "copy", "scale", "add", "triad", "nt-write", "nt-copy",
        "nt-triad",
    ],
    BeforeValidator(_traffic),
]  # fmt: skip
"""An access pattern."""
Width = Annotated[Literal["auto", "16", "32", "64", "sve"], BeforeValidator(_width)]
"""Bytes per load or store. `auto` means the widest access that the CPU supports, and `sve` means the length of its
scalable vectors."""


def widths_of(facts: HostFacts) -> tuple[str, ...]:
    """Return the widths that the host supports according to its CPU flags, narrowest first: at least 16 (SSE2, NEON).

    The flags do not contain the length of scalable vectors, so `sve` is listed on aarch64.
    """
    flags = set(facts.cpu.flags)
    if facts.system.arch == "aarch64":
        return ("16", "sve") if "sve" in flags else ("16",)
    return ("16", *(width for width, flag in _X86.items() if flag in flags))


def width_title(width: str) -> str:
    """Format a width: `16 byte (128 bit)`, or `SVE`."""
    return f"{width} byte ({WIDTHS[width]})" if width in WIDTHS else width.upper()
