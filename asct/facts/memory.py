"""Memory, huge pages, swap, and how the kernel manages them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from asct.facts import channels, groups, smbios
from asct.facts.smbios import MemoryDevice
from asct.facts.snapshot import Snapshot
from asct.facts.sources import MM
from asct.facts.unknown import UnknownFacts, chosen, fields, whole
from asct.sdk.facts import HugePages, Memory, MemoryModule

BANDWIDTH = "memory.theoretical_bandwidth"
_FIELDS = ("modules", "ecc", "channels", "theoretical_bandwidth")


def described(found: Snapshot, virtualization: str | None, gaps: UnknownFacts) -> dict[str, Any]:
    """The fields `modules`, `ecc`, `channels` and `theoretical_bandwidth` (bytes a second) of sdk.facts.Memory.

    A virtual machine has the modules that its hypervisor makes up; channels and bandwidth are then unknown.
    """
    try:
        devices = smbios.devices(found)
        ecc = smbios.error_correction(found)
    except ValueError as error:
        for field in _FIELDS:
            gaps.note(f"memory.{field}", str(error))
        return {}
    if ecc is None:
        gaps.note("memory.ecc", "the firmware does not report it (SMBIOS type 16)")
    ram = [one for one in devices if one.ram]
    return {"modules": [_module(one, ram) for one in ram], "ecc": ecc, **_summed(devices, virtualization, gaps)}


def _summed(devices: Sequence[MemoryDevice], virtualization: str | None, gaps: UnknownFacts) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for field, of in (("channels", lambda: len(channels.channels_of(devices))),
                      ("theoretical_bandwidth", lambda: channels.peak_of(devices))):  # fmt: skip
        try:
            if virtualization not in (None, "none"):
                raise ValueError("a virtual machine's firmware does not describe the host's memory")
            made[field] = of()
        except ValueError as error:
            gaps.note(f"memory.{field}", str(error))
    return made


def _module(one: MemoryDevice, devices: Sequence[MemoryDevice]) -> MemoryModule:
    channel = None
    if one.populated:
        with suppress(ValueError):  # why, stands at `channels`
            channel = " ".join(channels.channel_of(one, devices))
    return MemoryModule(
        slot=one.locator or "?",
        bank=one.bank or None,
        size_bytes=one.size_bytes,
        type=smbios.TYPES.get(one.kind) if one.populated else None,
        form_factor=smbios.FORMS.get(one.form),
        data_bits=one.width_bits,
        total_bits=one.total_bits,
        ranks=one.ranks,
        rate=_transfers(one.speed_mts),
        rated=_transfers(one.rated_mts),
        manufacturer=one.manufacturer,
        part_number=one.part_number,
        channel=channel,
    )


def _transfers(mts: int | None) -> float | None:
    return None if mts is None else mts * 1e6


_KIB = re.compile(r"(\d{1,18})\s*kB", re.ASCII)
_ROOM = re.compile(r"^(\d{1,20}) (\d{1,20})(?: (\d{1,20}))?$", re.MULTILINE | re.ASCII)
_POOL = re.compile(r".*/hugepages-(\d{1,15})kB/(nr|free)_hugepages", re.ASCII)
_FROM_MEMINFO = {
    "total_bytes": "MemTotal",
    "available_bytes": "MemAvailable",
    "default_huge_page_bytes": "Hugepagesize",
    "swap_total_bytes": "SwapTotal",
    "swap_free_bytes": "SwapFree",
    "dirty_bytes": "Dirty",
}


def memory(found: Snapshot, virtualization: str | None, gaps: UnknownFacts) -> Memory:
    """The memory, from /proc/meminfo, control groups, /proc/sys, /sys/kernel/mm and, as root, the firmware's
    description of modules."""
    info = fields(found.text("/proc/meminfo"))
    sizes = {field: _kib(info.get(name)) for field, name in _FROM_MEMINFO.items()}
    for field, value in sizes.items():
        if value is None:
            gaps.note(f"memory.{field}", "/proc/meminfo does not report it")
    page = _kib(fields(found.command_output("page-size")).get("KernelPageSize"))
    if page is None:
        gaps.note("memory.page_bytes", "/proc/self/smaps does not report it")
    limited = _groups(groups.memory(found, gaps))
    available, total = sizes["available_bytes"], sizes["total_bytes"]
    limits = [limit for limit, _ in limited if total is None or limit < total]
    sizes["available_bytes"] = None if available is None else min([available, *(room for _, room in limited)])
    balancing = _sysctl(found, "numa_balancing", "/proc/sys/kernel/numa_balancing", gaps)
    return Memory(
        **sizes,
        page_bytes=page,
        huge_pages=pools({path: text for path, text in found.files.items() if path.startswith(f"{MM}/hugepages/")}),
        thp=_thp(found, "thp", "enabled", gaps),
        thp_defrag=_thp(found, "thp_defrag", "defrag", gaps),
        numa_balancing=None if balancing is None else balancing > 0,
        numa_balancing_mode=balancing,
        zone_reclaim=_sysctl(found, "zone_reclaim", "/proc/sys/vm/zone_reclaim_mode", gaps),
        swappiness=_sysctl(found, "swappiness", "/proc/sys/vm/swappiness", gaps),
        limit_bytes=min(limits, default=None),
        **described(found, virtualization, gaps),
    )


def _groups(said: str) -> list[tuple[int, int]]:
    """For each control group of the account with a limit: the limit in bytes, and the remaining bytes (usage counts,
    except reclaimable file cache)."""
    rows = _ROOM.findall(said)
    return [(int(limit), max(0, int(limit) - int(used) + int(cached or 0))) for limit, used, cached in rows]


def _kib(text: str | None) -> int | None:
    match = _KIB.fullmatch(text or "")
    return int(match[1]) * 1024 if match else None


def pools(files: dict[str, str]) -> list[HugePages]:
    """Pools of huge pages from `.../hugepages-<kB>kB/{nr,free}_hugepages`, smallest page first; of the machine or of a
    node (Documentation/admin-guide/mm/hugetlbpage.rst). One without both numbers is left out."""
    counts: dict[int, dict[str, int]] = {}
    for path, text in files.items():
        match, value = _POOL.fullmatch(path), whole(text)
        if match and value is not None:
            counts.setdefault(int(match[1]) * 1024, {})[match[2]] = value
    return [
        HugePages(page_bytes=size, total=counts[size]["nr"], free=counts[size]["free"])
        for size in sorted(counts)
        if counts[size].keys() == {"nr", "free"}
    ]


def _sysctl(found: Snapshot, field: str, path: str, gaps: UnknownFacts) -> int | None:
    value = whole(found.text(path))
    if value is None:
        gaps.note(f"memory.{field}", f"there is no {path}")
    return value


def _thp(found: Snapshot, field: str, file: str, gaps: UnknownFacts) -> str | None:
    text = found.text(f"{MM}/transparent_hugepage/{file}")
    mode = chosen(text)
    if mode is None:
        gaps.note(
            f"memory.{field}", f"there is no {MM}/transparent_hugepage" if text is None else "no mode is selected"
        )
    return mode
