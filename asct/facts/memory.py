"""Memory, huge pages, swap and NUMA nodes, and how the Linux kernel manages them.

Node numbers may have gaps, and a node may have memory but no CPUs.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from asct.facts import groups, smbios
from asct.facts.caches import cache_size
from asct.facts.cpusets import differ, listed, masked
from asct.facts.smbios import MemoryDevice
from asct.facts.snapshot import Snapshot
from asct.facts.sources import MM, NODE
from asct.facts.unknown import UnknownFacts, chosen, fields, folders, whole
from asct.sdk.facts import HugePages, Memory, MemoryModule, MemorySideCache, NodePerformance, NumaNode
from asct.values.cpulist import format_cpulist

_FIELDS = ("modules", "ecc", "channels", "theoretical_bandwidth")


def described(snapshot: Snapshot, virtualization: str | None, gaps: UnknownFacts) -> dict[str, Any]:
    """Return the fields `modules`, `ecc`, `channels` and `theoretical_bandwidth` (bytes/s) of sdk.facts.Memory.

    In a virtual machine, the hypervisor invents the memory modules, so the channels and the bandwidth are unknown.
    """
    try:
        devices = smbios.devices(snapshot)
        ecc = smbios.error_correction(snapshot)
    except ValueError as error:
        for field in _FIELDS:
            gaps.note(f"memory.{field}", str(error))
        return {}
    gaps.known("memory.ecc", ecc, "not reported by the firmware (SMBIOS type 16)")
    ram = [one for one in devices if one.ram]
    return {"modules": [_module(one, ram) for one in ram], "ecc": ecc, **_summed(devices, virtualization, gaps)}


def _summed(devices: Sequence[MemoryDevice], virtualization: str | None, gaps: UnknownFacts) -> dict[str, Any]:
    totals: dict[str, Any] = {}
    for field, of in (("channels", lambda: len(smbios.channels_of(devices))),
                      ("theoretical_bandwidth", lambda: smbios.peak_of(devices))):  # fmt: skip
        try:
            if virtualization not in (None, "none"):
                raise ValueError("a virtual machine's firmware does not describe the host's memory")
            totals[field] = of()
        except ValueError as error:
            gaps.note(f"memory.{field}", str(error))
    return totals


def _module(one: MemoryDevice, devices: Sequence[MemoryDevice]) -> MemoryModule:
    channel = None
    if one.populated:
        with suppress(ValueError):  # the reason is already reported for the field `channels`
            channel = " ".join(smbios.channel_of(one, devices))
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


def memory(snapshot: Snapshot, virtualization: str | None, gaps: UnknownFacts) -> Memory:
    """Return the memory facts. The sources are /proc/meminfo, control groups, /proc/sys, /sys/kernel/mm and, if asct
    runs as root, the firmware's description of the modules."""
    info = fields(snapshot.text("/proc/meminfo"))
    sizes = {field: _kib(info.get(name)) for field, name in _FROM_MEMINFO.items()}
    for field, value in sizes.items():
        gaps.known(f"memory.{field}", value, "not reported by /proc/meminfo")
    page = _kib(fields(snapshot.command_output("page-size")).get("KernelPageSize"))
    limited = _groups(groups.memory(snapshot, gaps))
    available, total = sizes["available_bytes"], sizes["total_bytes"]
    limits = [limit for limit, _ in limited if total is None or limit < total]
    sizes["available_bytes"] = None if available is None else min([available, *(room for _, room in limited)])
    balancing = _sysctl(snapshot, "numa_balancing", "/proc/sys/kernel/numa_balancing", gaps)
    return Memory(
        **sizes,
        page_bytes=gaps.known("memory.page_bytes", page, "not reported by /proc/self/smaps"),
        huge_pages=pools({path: snapshot.files[path] for path in snapshot.beginning(f"{MM}/hugepages/")}),
        thp=_thp(snapshot, "thp", "enabled", gaps),
        thp_defrag=_thp(snapshot, "thp_defrag", "defrag", gaps),
        numa_balancing=None if balancing is None else balancing > 0,
        numa_balancing_mode=balancing,
        address_randomization=_sysctl(snapshot, "address_randomization", "/proc/sys/kernel/randomize_va_space", gaps),
        zone_reclaim=_sysctl(snapshot, "zone_reclaim", "/proc/sys/vm/zone_reclaim_mode", gaps),
        swappiness=_sysctl(snapshot, "swappiness", "/proc/sys/vm/swappiness", gaps),
        limit_bytes=min(limits, default=None),
        **described(snapshot, virtualization, gaps),
    )


def _groups(text: str) -> list[tuple[int, int]]:
    """Return the limit and the remaining bytes for each of the account's control groups that limits memory.

    Reclaimable file cache does not count as used.
    """
    rows = _ROOM.findall(text)
    return [(int(limit), max(0, int(limit) - int(used) + int(cached or 0))) for limit, used, cached in rows]


def _kib(text: str | None) -> int | None:
    match = _KIB.fullmatch(text or "")
    return int(match[1]) * 1024 if match else None


def pools(files: dict[str, str]) -> list[HugePages]:
    """Return the huge page pools of a machine or node, smallest page size first.

    The files are `.../hugepages-<kB>kB/{nr,free}_hugepages` (Documentation/admin-guide/mm/hugetlbpage.rst). Pools for
    which either number is missing are omitted.
    """
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


def _sysctl(snapshot: Snapshot, field: str, path: str, gaps: UnknownFacts) -> int | None:
    return gaps.known(f"memory.{field}", whole(snapshot.text(path)), f"there is no {path}")


def _thp(snapshot: Snapshot, field: str, file: str, gaps: UnknownFacts) -> str | None:
    text = snapshot.text(f"{MM}/transparent_hugepage/{file}")
    why = f"there is no {MM}/transparent_hugepage" if text is None else "no mode is selected"
    return gaps.known(f"memory.{field}", chosen(text), why)


_NODE_MEMORY = re.compile(r"Node\s+\d+\s+([\w()]+):\s+(\d{1,18})\s*kB", re.ASCII)
_NODE_NAME = re.compile(r"node(\d{1,5})", re.ASCII)
_SIDE_CACHE = re.compile(r"memory_side_cache/index[1-9]/size", re.ASCII)
_NODE_FILES = ("cpulist", "cpumap", "distance", "meminfo")


def nodes(snapshot: Snapshot, gaps: UnknownFacts) -> list[NumaNode]:
    """Return the online nodes in numerical order. If the Linux kernel was built without NUMA support, record a note and
    return an empty list."""
    texts = {
        int(match[1]): files
        for name, files in folders(snapshot, NODE).items()
        if (match := _NODE_NAME.fullmatch(name)) and any(known in files for known in _NODE_FILES)
    }
    gaps.known("nodes", texts, f"{NODE} lists no nodes")
    found = [_node(number, texts[number], gaps) for number in sorted(texts)]
    _compare(found, gaps)
    if found and not any(node.firmware for node in found):
        gaps.note("nodes.firmware", "the firmware provides no ACPI HMAT")
    return found


def _compare(nodes: list[NumaNode], gaps: UnknownFacts) -> None:
    """Report CPUs that belong to several nodes. Only bugs in the firmware or the Linux kernel can cause this."""
    sets = [set(node.cpus) for node in nodes if node.cpus]
    several = sorted(cpu for cpu, count in Counter(cpu for one in sets for cpu in one).items() if count > 1)
    if len(sets) > 1 and all(one == sets[0] for one in sets):
        gaps.contradiction(f"each of the {len(sets)} NUMA nodes lists the same CPUs: {format_cpulist(several)}")
    elif several:
        gaps.contradiction(f"several NUMA nodes list the same CPUs: {format_cpulist(several)}")


def _cpus(number: int, texts: dict[str, str], gaps: UnknownFacts) -> list[int]:
    """Return the CPUs of a node. They are read from the mask if the list is missing, malformed or empty. A memory-only
    node has no CPUs."""
    of_list, mask = listed(texts.get("cpulist")), masked(texts.get("cpumap"))
    if differ(texts, ("cpulist", "cpumap")):
        used = "list" if of_list else "mask"
        gaps.contradiction(f"cpulist and cpumap of node {number} contradict each other; asct uses the {used}")
    if not of_list and mask is not None:
        return sorted(mask)
    return gaps.cpus(f"nodes.{number}.cpus", texts.get("cpulist"), f"{NODE}/node{number}/cpulist")


def _node(number: int, texts: dict[str, str], gaps: UnknownFacts) -> NumaNode:
    memory = {name: int(kib) * 1024 for name, kib in _NODE_MEMORY.findall(texts.get("meminfo", ""))}
    distances = [whole(one) for one in texts.get("distance", "").split()]
    for field, value in (("memory_bytes", memory.get("MemTotal")), ("distances", distances)):
        gaps.known(f"nodes.{number}.{field}", value, f"not reported by {NODE}/node{number}")
    free = memory.get("MemFree")
    return NumaNode(
        id=number,
        cpus=_cpus(number, texts, gaps),
        memory_bytes=memory.get("MemTotal"),
        free_bytes=free,
        available_bytes=None if free is None else free + memory.get("Inactive(file)", 0),
        distances=[] if None in distances else [one for one in distances if one is not None],
        huge_pages=pools(texts),
        firmware=_firmware(texts),
        caches=_side_caches(texts),
    )


def _side_caches(texts: dict[str, str]) -> list[MemorySideCache]:
    """Return the memory-side caches of a node (Documentation/admin-guide/mm/numaperf.rst)."""
    sizes = {path: cache_size(text) for path, text in texts.items() if _SIDE_CACHE.fullmatch(path)}
    return [MemorySideCache(level=int(path.split("/")[1][5:]), size_bytes=size) for path, size in sizes.items() if size]


def _firmware(texts: dict[str, str]) -> NodePerformance | None:
    """Parse the access classes, in MB/s and ns (Documentation/admin-guide/mm/numaperf.rst). 0 means not reported.

    Class 0 describes access by the nearest initiators, which may be GPUs. Class 1, which newer Linux kernels provide,
    describes access by the nearest CPUs.
    """
    scales = {"read_bandwidth": 1e6, "write_bandwidth": 1e6, "read_latency": 1e-9, "write_latency": 1e-9}
    for access in ("access1", "access0"):
        values = {name: whole(texts.get(f"{access}/initiators/{name}")) for name in scales}
        if any(values.values()):
            return NodePerformance(**{name: value * scales[name] if value else None for name, value in values.items()})
    return None
