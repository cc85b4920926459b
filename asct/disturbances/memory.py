"""How the kernel manages memory: huge pages, NUMA balancing, swap, reclaim."""

from __future__ import annotations

from typing import Final

from asct.disturbances.build import Found, Look, scripted
from asct.sdk.disturbance import Setting
from asct.sdk.facts import HugePages, Memory
from asct.values.quantity import format_quantity
from asct.values.size import format_size

_THP: Final = "/sys/kernel/mm/transparent_hugepage/enabled"
_VM: Final = "/proc/sys/vm"
_POOL_BYTES: Final = 1 << 30
"""More than the largest working set of the latency benchmarks (`optimum_size` of DRAM)."""
_HUGE: Final = 2 << 20
_SWAPPED: Final = 64 << 20
"""What daemons that sleep for weeks leave in swap means nothing."""


def look(seen: Look) -> Found:
    """Findings on memory."""
    memory = seen.facts.memory
    yield from _transparent(seen, memory)
    yield from _pool(seen, memory)
    yield from _balancing(seen, memory)
    yield from _swap(seen, memory)
    yield from _reclaim(memory)


def _transparent(seen: Look, memory: Memory) -> Found:
    if memory.thp is None:
        yield from seen.unseen("transparent huge pages", "memory.thp")
    if memory.thp not in ("always", "never"):
        return
    never = memory.thp == "never"
    yield scripted(
        [Setting(path=_THP, value="madvise", was=memory.thp)],
        name="transparent-huge-pages",
        title=f"transparent huge pages: {memory.thp}",
        seen=f"transparent_hugepage/enabled is {memory.thp}",
        effect="benchmarks of memory get small pages where no pool of huge pages is reserved: latency beyond the "
        "reach of the TLB holds the walks through the page tables and is higher, bandwidth is lower"
        if never
        else "the kernel makes huge pages for every program and gathers small ones in the background: it takes CPU "
        "time and memory bandwidth while others are measured, so the spread is wider",
        touches=["memory"] if never else ["memory", "storage"],
        sure="likely" if never else "possible",
        why="the benchmarks ask for huge pages by madvise, and `never` refuses"
        if never
        else "only where other programs grow meanwhile",
        source="Linux, Documentation/admin-guide/mm/transhuge.rst",
    )


def _pool(seen: Look, memory: Memory) -> Found:
    pool = next((one for one in memory.huge_pages if one.page_bytes == _HUGE), None) or _default(memory)
    if pool is None:
        yield from seen.unseen("pools of huge pages", "memory.huge_pages")
        return
    if seen.facts.system.uid == 0 or sum(one.free * one.page_bytes for one in memory.huge_pages) >= _POOL_BYTES:
        return  # as root the benchmarks reserve their own, and give them back
    size, missing = pool.page_bytes, -(-_POOL_BYTES // pool.page_bytes) - pool.free
    path = f"/sys/kernel/mm/hugepages/hugepages-{size >> 10}kB/nr_hugepages"
    yield scripted(
        [Setting(path=path, value=str(pool.total + missing), was=str(pool.total))],
        name="huge-pages",
        title="no pool of huge pages",
        seen=f"{pool.free} of {pool.total} pages of {format_size(size)} are free, and the account is not root",
        effect="benchmarks of memory use transparent huge pages, which the kernel gives as far as it finds room: "
        "latency in DRAM may hold walks through the page tables, and differ from run to run",
        touches=["memory.latency"],
        sure="possible",
        why="on a machine that has just started there is room enough; `page_size` of the results says what was had",
        advice="or `sudo: true` for the host: then the benchmarks reserve what they need, and give it back",
        source="Linux, Documentation/admin-guide/mm/hugetlbpage.rst",
    )


def _default(memory: Memory) -> HugePages | None:
    return next((one for one in memory.huge_pages if one.page_bytes == memory.default_huge_page_bytes), None)


def _balancing(seen: Look, memory: Memory) -> Found:
    mode = memory.numa_balancing_mode
    if mode is None and len(seen.facts.nodes) > 1:
        yield from seen.unseen("NUMA balancing", "memory.numa_balancing_mode", "memory.numa_balancing")
    if not mode or len(seen.facts.nodes) < 2:
        return
    yield scripted(
        [Setting(path="/proc/sys/kernel/numa_balancing", value="0", was=str(mode))],
        name="numa-balancing",
        title="NUMA balancing on",
        seen=f"kernel.numa_balancing is {mode} on {len(seen.facts.nodes)} nodes",
        effect="the kernel unmaps pages to see who uses them, and moves them between nodes: faults and copies while "
        "others are measured, so latency has outliers and the spread of bandwidth and IOPS is wider",
        touches=["memory", "storage"],
        sure="possible",
        why="memory that a benchmark binds to a node is left alone; fio and other programs do not bind theirs",
        source="Linux, Documentation/admin-guide/sysctl/kernel.rst (numa_balancing): to be switched off for what is "
        "bound to nodes",
    )


def _swap(seen: Look, memory: Memory) -> Found:
    total, free, swappiness = memory.swap_total_bytes, memory.swap_free_bytes, memory.swappiness
    if total is None:
        yield from seen.unseen("swap", "memory.swap_total_bytes")
    if not total:
        return
    used = total - free if free is not None else 0
    used_text = format_quantity(used, "B")
    if used < _SWAPPED and (swappiness is None or swappiness <= 1):
        return
    much = used >= _SWAPPED
    settings = [Setting(path=f"{_VM}/swappiness", value="1", was=str(swappiness))] if (swappiness or 0) > 1 else []
    yield scripted(
        settings,
        name="swap",
        title=f"{used_text} swapped out" if much else "swap on",
        seen=f"{used_text} of {format_quantity(total, 'B')} swap are used, vm.swappiness is {swappiness}",
        effect="pages that are fetched back from a drive stop a program for as long as the drive takes: latency has "
        "outliers, and the drive that swap lies on has other work",
        touches=["memory", "storage"],
        sure="likely" if much else "possible",
        why="memory has been short before" if much else "nothing to speak of is swapped out now",
        advice="free memory; swapoff -a as root where what is swapped out fits into memory, swapon -a afterwards"
        if much
        else "",
        source="Linux, Documentation/admin-guide/sysctl/vm.rst (swappiness)",
    )


def _reclaim(memory: Memory) -> Found:
    mode = memory.zone_reclaim
    if not mode:
        return
    yield scripted(
        [Setting(path=f"{_VM}/zone_reclaim_mode", value="0", was=str(mode))],
        name="zone-reclaim",
        title="zone reclaim on",
        seen=f"vm.zone_reclaim_mode is {mode}",
        effect="the kernel empties the file cache of a node before it takes memory of another one: allocating has "
        "pauses, and reads that were cached go to the drive again",
        touches=["memory", "storage"],
        sure="possible",
        why="only once the memory of a node is full",
        source="Linux, Documentation/admin-guide/sysctl/vm.rst (zone_reclaim_mode)",
    )
