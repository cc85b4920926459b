"""Types of settings that several memory benchmarks have."""

from __future__ import annotations

import re
from typing import Annotated, Final, Literal

from pydantic import BeforeValidator

_PAGE_SPELLINGS: Final = {
    "4kib": "4k", "4096": "4k", "base": "4k", "2mib": "2m", "2097152": "2m", "1gib": "1g", "1073741824": "1g",
}  # fmt: skip
_PERCENT: Final = re.compile(r"\s*([0-9]+(?:\.[0-9]*)?)\s*%\s*", re.ASCII)


def _page_kind(value: object) -> object:
    """`4K`, `4096`, `THP`, `2MiB` ... as the kernels spell it."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return value
    text = str(value).strip().lower()
    return _PAGE_SPELLINGS.get(text, text)


def _share(value: object) -> object:
    """`0.5 %` as 0.005."""
    found = _PERCENT.fullmatch(value) if isinstance(value, str) else None
    return float(found.group(1)) / 100.0 if found else value


def listed(value: object) -> object:
    """One value, or a text with commas (the command line has no lists), as a list."""
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    return [value] if isinstance(value, int | float) and not isinstance(value, bool) else value


PageKind = Annotated[Literal["auto", "4k", "thp", "2m", "1g"], BeforeValidator(_page_kind)]
"""Pages of the memory that is measured."""
Share = Annotated[float, BeforeValidator(_share)]
"""A share of one; reads `0.5 %` as 0.005."""
LISTED: Final = BeforeValidator(listed)
"""Lets a list setting be given as one value or as a text with commas."""
