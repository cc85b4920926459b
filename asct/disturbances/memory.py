"""How the kernel manages memory: huge pages, NUMA balancing, swap, reclaim."""

from __future__ import annotations

from typing import Final

from asct.disturbances.build import Evaluation, Evaluations, RuleInput, finding
from asct.sdk.disturbance import Setting
from asct.sdk.facts import HugePages, Memory
from asct.values.quantity import format_quantity
from asct.values.size import format_size

_THP: Final = "/sys/kernel/mm/transparent_hugepage/enabled"
_TRANSHUGE: Final = "Linux, Documentation/admin-guide/mm/transhuge.rst"
_VM: Final = "/proc/sys/vm"
_POOL_BYTES: Final = 1 << 30
"""More than the largest working set of the latency benchmarks (`optimum_size` of DRAM)."""
_HUGE: Final = 2 << 20
_SWAPPED: Final = 64 << 20
"""What daemons that sleep for weeks leave in swap means nothing."""


def _transparent(seen: RuleInput, wanted: str) -> list[Setting]:
    """The setting that mends it where the kernel's mode is `wanted`."""
    mode = seen.known(seen.facts.memory.thp, "transparent huge pages", "memory.thp")
    return [Setting(path=_THP, value="madvise", was=mode)] if mode == wanted else []


@finding(
    "transparent-huge-pages",
    effect="benchmarks of memory get small pages where no pool of huge pages is reserved: latency beyond the reach of "
    "the TLB holds the walks through the page tables and is higher, bandwidth is lower",
    touches=["memory"],
    source=_TRANSHUGE,
)
def _never(seen: RuleInput) -> Evaluations:
    if settings := _transparent(seen, "never"):
        yield Evaluation(
            title="transparent huge pages: never",
            seen="transparent_hugepage/enabled is never",
            sure="likely",
            why="the benchmarks ask for huge pages by madvise, and `never` refuses",
            settings=settings,
        )


@finding(
    "transparent-huge-pages",
    effect="the kernel makes huge pages for every program and gathers small ones in the background: it takes CPU time "
    "and memory bandwidth while others are measured, so the spread is wider",
    touches=["memory", "storage"],
    source=_TRANSHUGE,
)
def _always(seen: RuleInput) -> Evaluations:
    if seen.facts.memory.thp is not None and (settings := _transparent(seen, "always")):
        yield Evaluation(
            title="transparent huge pages: always",
            seen="transparent_hugepage/enabled is always",
            sure="possible",
            why="only where other programs grow meanwhile",
            settings=settings,
        )


@finding(
    "huge-pages",
    effect="benchmarks of memory use transparent huge pages, which the kernel gives as far as it finds room: "
    "latency in DRAM may hold walks through the page tables, and differ from run to run",
    touches=["memory.latency"],
    source="Linux, Documentation/admin-guide/mm/hugetlbpage.rst",
)
def _pool(seen: RuleInput) -> Evaluations:
    memory = seen.facts.memory
    two_mib = next((one for one in memory.huge_pages if one.page_bytes == _HUGE), None)
    pool = seen.known(two_mib or _default(memory), "pools of huge pages", "memory.huge_pages")
    if seen.facts.system.uid == 0 or sum(one.free * one.page_bytes for one in memory.huge_pages) >= _POOL_BYTES:
        return  # as root the benchmarks reserve their own, and give them back
    size, missing = pool.page_bytes, -(-_POOL_BYTES // pool.page_bytes) - pool.free
    path = f"/sys/kernel/mm/hugepages/hugepages-{size >> 10}kB/nr_hugepages"
    yield Evaluation(
        title="no pool of huge pages",
        seen=f"{pool.free} of {pool.total} pages of {format_size(size)} are free, and the account is not root",
        sure="possible",
        why="on a machine that has just started there is room enough; `page_size` of the results says what was had",
        advice="or `sudo: true` for the host: then the benchmarks reserve what they need, and give it back",
        settings=[Setting(path=path, value=str(pool.total + missing), was=str(pool.total))],
    )


def _default(memory: Memory) -> HugePages | None:
    return next((one for one in memory.huge_pages if one.page_bytes == memory.default_huge_page_bytes), None)


@finding(
    "numa-balancing",
    effect="the kernel unmaps pages to see who uses them, and moves them between nodes: faults and copies while "
    "others are measured, so latency has outliers and the spread of bandwidth and IOPS is wider",
    touches=["memory", "storage"],
    source="Linux, Documentation/admin-guide/sysctl/kernel.rst (numa_balancing): to be switched off for what is "
    "bound to nodes",
)
def _balancing(seen: RuleInput) -> Evaluations:
    memory = seen.facts.memory
    if len(seen.facts.nodes) < 2:
        return
    fields = ("memory.numa_balancing_mode", "memory.numa_balancing")
    mode = seen.known(memory.numa_balancing_mode, "NUMA balancing", *fields)
    if mode == 0:
        return
    yield Evaluation(
        title="NUMA balancing on",
        seen=f"kernel.numa_balancing is {mode} on {len(seen.facts.nodes)} nodes",
        sure="possible",
        why="memory that a benchmark binds to a node is left alone; fio and other programs do not bind theirs",
        settings=[Setting(path="/proc/sys/kernel/numa_balancing", value="0", was=str(mode))],
    )


@finding(
    "swap",
    effect="pages that are fetched back from a drive stop a program for as long as the drive takes: latency has "
    "outliers, and the drive that swap lies on has other work",
    touches=["memory", "storage"],
    source="Linux, Documentation/admin-guide/sysctl/vm.rst (swappiness)",
)
def _swap(seen: RuleInput) -> Evaluations:
    memory = seen.facts.memory
    free, swappiness = memory.swap_free_bytes, memory.swappiness
    total = seen.known(memory.swap_total_bytes, "swap", "memory.swap_total_bytes")
    if total == 0:
        return
    used = total - free if free is not None else 0
    used_text = format_quantity(used, "B")
    if used < _SWAPPED and (swappiness is None or swappiness <= 1):
        return
    much = used >= _SWAPPED
    settings = [Setting(path=f"{_VM}/swappiness", value="1", was=str(swappiness))] if (swappiness or 0) > 1 else []
    yield Evaluation(
        title=f"{used_text} swapped out" if much else "swap on",
        seen=f"{used_text} of {format_quantity(total, 'B')} swap are used, vm.swappiness is {swappiness}",
        sure="likely" if much else "possible",
        why="memory has been short before" if much else "nothing to speak of is swapped out now",
        advice="free memory; swapoff -a as root where what is swapped out fits into memory, swapon -a afterwards"
        if much
        else "",
        settings=settings,
    )


@finding(
    "zone-reclaim",
    effect="the kernel empties the file cache of a node before it takes memory of another one: allocating has "
    "pauses, and reads that were cached go to the drive again",
    touches=["memory", "storage"],
    source="Linux, Documentation/admin-guide/sysctl/vm.rst (zone_reclaim_mode)",
)
def _reclaim(seen: RuleInput) -> Evaluations:
    mode = seen.facts.memory.zone_reclaim
    if not mode:
        return
    yield Evaluation(
        title="zone reclaim on",
        seen=f"vm.zone_reclaim_mode is {mode}",
        sure="possible",
        why="only once the memory of a node is full",
        settings=[Setting(path=f"{_VM}/zone_reclaim_mode", value="0", was=str(mode))],
    )
