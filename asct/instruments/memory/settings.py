"""Types of settings that several memory benchmarks have."""

from __future__ import annotations

import re
from typing import Annotated, Final, Literal

from pydantic import BeforeValidator, Field

from asct.sdk.params import Size, listed
from asct.values.cpulist import parse_integers
from asct.values.quantity import parse_quantity

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


def _unless_auto(value: object) -> object:
    return None if isinstance(value, str) and value.strip().lower() == "auto" else value


def integers(value: object) -> object:
    """One number, or a text with commas and ranges, as a list; what is neither is left for the type to refuse."""
    if isinstance(value, str):
        return parse_integers(value)
    return [value] if isinstance(value, int) and not isinstance(value, bool) else value


def _bandwidth(value: object) -> object:
    return parse_quantity(value, "B/s") if isinstance(value, str) else value


PageKind = Annotated[Literal["auto", "4k", "thp", "2m", "1g"], BeforeValidator(_page_kind)]
"""Pages of the memory that is measured."""
Share = Annotated[float, BeforeValidator(_share)]
"""A share of one; reads `0.5 %` as 0.005."""
LISTED: Final = BeforeValidator(listed)
"""Lets a list setting be given as one value or as a text with commas."""
AUTO: Final = BeforeValidator(_unless_auto)
"""Reads `auto` as None, for settings that are found when they are not given."""
AutoSize = Annotated[Size | None, AUTO]
"""Bytes; `auto` or nothing when they are to be found."""
INTEGERS: Final = BeforeValidator(integers)
"""Lets a list of whole numbers be given as one, or as a text with ranges: `3000,900,5-9:2`."""
Bandwidth = Annotated[float, BeforeValidator(_bandwidth), Field(gt=0, le=1e18, json_schema_extra={"unit": "B/s"})]
"""Bytes per second; reads `20 GB/s` (decimal) and `20 GiB/s`, a number without unit is bytes per second. Kernels hold
up to 2^63 of them."""
CYCLE_BASE: Final = "cycle-base"
"""Flag of the core clock: `cycle_base` was set, so tables and figures show core cycles."""


def from_pools(pages: PageKind) -> bool:
    """Whether pages of a pool may be used; a pool is filled by root only."""
    return pages in ("auto", "2m", "1g")
