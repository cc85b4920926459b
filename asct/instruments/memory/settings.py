"""The settings shared by several memory benchmarks, and their types."""

from __future__ import annotations

import re
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field

from asct.sdk.params import Size, listed, setting
from asct.values.cpulist import MAX_CPU, parse_integers
from asct.values.quantity import parse_quantity

_PAGE_SPELLINGS: Final = {
    "4kib": "4k", "4096": "4k", "base": "4k", "2mib": "2m", "2097152": "2m", "1gib": "1g", "1073741824": "1g",
}  # fmt: skip
_PERCENT: Final = re.compile(r"\s*([0-9]+(?:\.[0-9]*)?)\s*%\s*", re.ASCII)


def _page_kind(value: object) -> object:
    """Convert `4K`, `4096`, `THP`, `2MiB` and so on to the kernels' notation."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return value
    text = str(value).strip().lower()
    return _PAGE_SPELLINGS.get(text, text)


def _share(value: object) -> object:
    """Convert `0.5 %` to 0.005."""
    found = _PERCENT.fullmatch(value) if isinstance(value, str) else None
    return float(found.group(1)) / 100.0 if found else value


def _unless_auto(value: object) -> object:
    return None if isinstance(value, str) and value.strip().lower() == "auto" else value


def integers(value: object) -> object:
    """Convert a number, or text with commas and ranges, to a list. Return other values unchanged for the type check."""
    if isinstance(value, str):
        return parse_integers(value)
    return [value] if isinstance(value, int) and not isinstance(value, bool) else value


def _bandwidth(value: object) -> object:
    return parse_quantity(value, "B/s") if isinstance(value, str) else value


PageKind = Annotated[Literal["auto", "4k", "thp", "2m", "1g"], BeforeValidator(_page_kind)]
"""The page size of the measured memory."""
Share = Annotated[float, BeforeValidator(_share)]
"""A share; accepts `0.5 %` for 0.005."""
LISTED: Final = BeforeValidator(listed)
"""A list; also accepts a single value or comma-separated text."""
AUTO: Final = BeforeValidator(_unless_auto)
"""Converts `auto` to None, for settings that asct determines by default."""
AutoSize = Annotated[Size | None, AUTO]
"""A size in bytes. None or `auto` means that asct determines it."""
INTEGERS: Final = BeforeValidator(integers)
"""A list of integers; also accepts a single number, or text with ranges such as `3000,900,5-9:2`."""
Cpus = Annotated[tuple[Annotated[int, Field(ge=0, le=MAX_CPU)], ...], INTEGERS]
"""CPU numbers; also accepts text such as `0,2-5`."""
Bandwidth = Annotated[float, BeforeValidator(_bandwidth), Field(gt=0, le=1e18, json_schema_extra={"unit": "B/s"})]
"""Bytes per second; accepts `20 GB/s` (decimal) and `20 GiB/s`. The maximum fits into the 63-bit integers of the
kernels."""


def from_pools(pages: PageKind) -> bool:
    """Return whether the measurement kernel may use pages from a pool, which only root can fill."""
    return pages in ("auto", "2m", "1g")


def data_size_setting() -> Any:
    """Declare the setting for the memory of each thread in a bandwidth benchmark."""
    return setting(
        None,
        "Working set of each CPU; `auto` means the CPU's share of the DRAM size that latency-sweep found, but at least "
        "four times the CPU's share of the caches",
        ge=4096,
        pitfalls="With less than four times the CPU's share of the caches, part of the traffic stays in the caches.",
    )


def iterations_setting(default: int, unit: str) -> Any:
    """Declare the setting for the number of windows in each visit. `unit` names what they measure, such as `access
    pattern`."""
    return setting(
        default,
        f"Number of 100 us windows per {unit} and visit; there are fewer if the `duration` limit is reached first",
        ge=1,
        le=10**9,
    )


def duration_setting(default_s: float, unit: str, *, max_s: float = 600, help: str = "") -> Any:
    """Declare the setting for a time limit in each visit. `unit` names what the limit applies to, such as `access
    pattern`."""
    text = help or f"Time limit per {unit} and visit; normally reached only on a busy host"
    return setting(default_s, text, aliases=("time_cap",), ge=1e-3, le=max_s)


def target_interval_setting(unit: str, *, max_share: float = 0.2) -> Any:
    """Declare the setting for the interval width, which determines the number of visits. `unit` names what the interval
    applies to."""
    return setting(
        0.1,
        f"Intended width of the 95 % interval for {unit}, relative to the median (10 % = 0.1); "
        "an interval that is more than twice as wide is flagged",
        ge=0.001,
        le=max_share,
    )


def pages_setting(pitfalls: str = "") -> Any:
    """Declare the setting for the page size."""
    return setting(
        "auto",
        "Page size of the memory: `4K` (base pages), `THP`, `2M` or `1G` from the huge page pools, or `auto` (2M if "
        "available, "
        "otherwise THP, otherwise 4K)",
        aliases=("page_size", "page_kind"),
        pitfalls=pitfalls,
    )


def stride_setting(pitfalls: str) -> Any:
    """Declare the setting for the distance between the lines of a chain."""
    return setting(
        None, "Distance between the accessed cache lines; if unset, the line size of the machine",
        ge=16, le=1 << 20, pitfalls=pitfalls,
    )  # fmt: skip


def memory_node_setting(help: str) -> Any:
    """Declare the setting for the NUMA node to which memory is bound."""
    return setting(None, help, aliases=("node", "membind"), ge=0, le=1023)


def theoretical_bandwidth_setting() -> Any:
    """Declare the setting for the theoretical peak bandwidth."""
    return setting(
        None,
        "Theoretical peak of all memory channels together; `auto` computes it from the firmware's DIMM data (needs "
        "root)",
    )


def cycle_base_setting(units: str = "core cycles instead of nanoseconds") -> Any:
    """Declare the setting that selects the unit in tables and figures."""
    return setting(False, f"Show {units} in tables and figures")
