"""Memory, huge pages and transparent huge pages."""

from __future__ import annotations

import re

from asct.facts.gaps import Gaps, fields, whole
from asct.facts.smbios import theoretical_bandwidth
from asct.facts.snapshot import Snapshot
from asct.facts.sources import MM
from asct.sdk.facts import HugePages, Memory

_KIB = re.compile(r"(\d{1,18})\s*kB")
_ROOM = re.compile(r"^(\d{1,20}) (\d{1,20})(?: (\d{1,20}))?$", re.MULTILINE | re.ASCII)
_CHOSEN = re.compile(r"\[(\w+)\]")


def memory(found: Snapshot, virtualization: str | None, gaps: Gaps) -> Memory:
    """From /proc/meminfo, control groups, /sys/kernel/mm and, as root, the firmware's description of the modules."""
    info = fields(found.text("/proc/meminfo"))
    total, available = _kib(info.get("MemTotal")), _kib(info.get("MemAvailable"))
    page = _kib(fields(found.said("page-size")).get("KernelPageSize"))
    for field, value in (("total_bytes", total), ("available_bytes", available)):
        if value is None:
            gaps.note(f"memory.{field}", "/proc/meminfo does not say it")
    if page is None:
        gaps.note("memory.page_bytes", "/proc/self/smaps does not say it")
    return Memory(
        total_bytes=total,
        available_bytes=None if available is None else min([available, *_rooms(found)]),
        page_bytes=page,
        huge_pages=_pools(found),
        thp=_thp(found, gaps),
        theoretical_bandwidth=theoretical_bandwidth(found, virtualization, gaps),
    )


def _rooms(found: Snapshot) -> list[int]:
    """Bytes that each control group of the account still allows: its limit, what is used, the cache that goes first."""
    rows = _ROOM.findall(found.said("memory-groups") or "")
    return [max(0, int(limit) - int(used) + int(cached or 0)) for limit, used, cached in rows]


def _kib(text: str | None) -> int | None:
    match = _KIB.fullmatch(text or "")
    return int(match[1]) * 1024 if match else None


def _pools(found: Snapshot) -> list[HugePages]:
    counts: dict[int, dict[str, int]] = {}
    for match, text in found.matching(rf"{MM}/hugepages/hugepages-(\d{{1,15}})kB/(nr|free)_hugepages"):
        value = whole(text)
        if value is not None:
            counts.setdefault(int(match[1]) * 1024, {})[match[2]] = value
    return [
        HugePages(page_bytes=size, total=counts[size]["nr"], free=counts[size]["free"])
        for size in sorted(counts)
        if counts[size].keys() == {"nr", "free"}
    ]


def _thp(found: Snapshot, gaps: Gaps) -> str | None:
    text = found.text(f"{MM}/transparent_hugepage/enabled")
    match = _CHOSEN.search(text or "")
    if match is None:
        gaps.note("memory.thp", "the kernel has no transparent huge pages" if text is None else "no mode is chosen")
        return None
    return match[1]
