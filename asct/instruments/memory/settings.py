"""Types of settings that several memory benchmarks have."""

from __future__ import annotations

import re
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field

from asct.sdk.params import Size, listed, setting
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
    """One number, or a text with commas and ranges, as a list; other values are left to the type check."""
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


def data_size_setting() -> Any:
    """Memory of each thread of a bandwidth benchmark."""
    return setting(
        None,
        "Working set of each CPU; auto: its part of the DRAM size that latency-sweep found, at least four times its "
        "share of the caches",
        ge=4096,
        pitfalls="With less than four times a CPU's share of the caches, part of the traffic stays in them.",
    )


def iterations_setting(unit: str) -> Any:
    """Limit on the windows that are measured for one `unit`."""
    return setting(
        100_000, f"Maximum number of 100 us windows to measure for one {unit}; `duration` may end it earlier",
        ge=1, le=10**9,
    )  # fmt: skip


def duration_setting(default_s: float, unit: str, *, max_s: float = 600, help: str = "") -> Any:
    """Time limit of one value, `unit`, whose interval does not reach the target."""
    text = help or f"Time limit for {unit} if target_interval is not reached"
    return setting(default_s, text, aliases=("time_cap",), ge=1e-3, le=max_s)


def target_interval_setting(default: float, unit: str, *, value: str = "median", max_share: float = 0.2) -> Any:
    """Width of the interval at which the measurement of one `unit` ends."""
    return setting(
        default,
        f"Stop measuring {unit} when the 95 % interval of its {value} is no wider than this share of the {value} "
        f"({100 * default:g} % = {default:g})",
        ge=0.001,
        le=max_share,
    )


def pages_setting(pitfalls: str = "") -> Any:
    """Kind of pages."""
    return setting(
        "auto",
        "Page size of the memory: 4K (base pages), THP, 2M or 1G from the huge page pools, or auto: the largest "
        "available",
        aliases=("page_size", "page_kind"),
        pitfalls=pitfalls,
    )


def stride_setting(pitfalls: str) -> Any:
    """Distance of the lines of a chain."""
    return setting(
        None, "Distance between the cache lines that are read; unset: the line size of the machine",
        ge=16, le=1 << 20, pitfalls=pitfalls,
    )  # fmt: skip


def memory_node_setting(help: str) -> Any:
    """NUMA node to bind memory to."""
    return setting(None, help, aliases=("node", "membind"), ge=0, le=1023)


def theoretical_bandwidth_setting() -> Any:
    """Peak that bandwidths are compared with."""
    return setting(
        None, "Theoretical peak of all memory channels together; auto: from the DIMM data of the firmware (needs root)"
    )


def seed_setting(help: str) -> Any:
    """Seed of the random numbers of a kernel."""
    return setting(1, help, ge=0, le=2**31 - 1)


def cycle_base_setting(units: str = "core cycles instead of nanoseconds") -> Any:
    """Choice of the unit in tables and figures."""
    return setting(False, f"Show {units} in tables and figures")
