"""Rules for the Linux kernel's memory management: huge pages, NUMA balancing, swap, reclaim."""

from __future__ import annotations

from typing import Final

from asct.disturbances.build import Evaluation, Evaluations, RuleInput, rule
from asct.sdk.disturbance import Setting
from asct.sdk.facts import HugePages, Memory
from asct.values.quantity import format_quantity
from asct.values.size import format_size

_THP: Final = "/sys/kernel/mm/transparent_hugepage/enabled"
_VM: Final = "/proc/sys/vm"
_POOL_BYTES: Final = 1 << 30
"""Minimum total size of the free huge pages, in bytes. It is larger than the largest working set of the latency
benchmarks (`optimum_size` for DRAM)."""
_HUGE: Final = 2 << 20
_SWAPPED: Final = 64 << 20
"""Threshold in bytes. Smaller amounts of swapped-out memory are ignored, because every machine swaps out daemons that
sleep for weeks."""


def _transparent(seen: RuleInput, wanted: str) -> list[Setting]:
    """Return the setting that changes the mode of transparent huge pages if the current mode is `wanted`."""
    mode = seen.known(seen.facts.memory.thp, "transparent huge pages", "memory.thp")
    return [Setting(path=_THP, value="madvise", was=mode)] if mode == wanted else []


@rule("transparent-huge-pages")
def _never(seen: RuleInput) -> Evaluations:
    if settings := _transparent(seen, "never"):
        yield Evaluation(
            title="transparent huge pages: never",
            seen="transparent_hugepage/enabled is never",
            sure="likely",
            why="the benchmarks request huge pages with madvise, which `never` ignores",
            settings=settings,
        )


@rule("transparent-huge-pages-always")
def _always(seen: RuleInput) -> Evaluations:
    if seen.facts.memory.thp is not None and (settings := _transparent(seen, "always")):
        yield Evaluation(
            title="transparent huge pages: always",
            seen="transparent_hugepage/enabled is always",
            sure="possible",
            why="this matters only if other processes allocate memory during the measurement",
            settings=settings,
        )


@rule("huge-pages")
def _pool(seen: RuleInput) -> Evaluations:
    memory = seen.facts.memory
    two_mib = next((one for one in memory.huge_pages if one.page_bytes == _HUGE), None)
    pool = seen.known(two_mib or _default(memory), "pools of huge pages", "memory.huge_pages")
    if seen.facts.system.uid == 0 or sum(one.free * one.page_bytes for one in memory.huge_pages) >= _POOL_BYTES:
        return  # as root, the benchmarks themselves reserve and release huge pages
    size, missing = pool.page_bytes, -(-_POOL_BYTES // pool.page_bytes) - pool.free
    path = f"/sys/kernel/mm/hugepages/hugepages-{size >> 10}kB/nr_hugepages"
    yield Evaluation(
        title="no pool of huge pages",
        seen=f"{pool.free} of {pool.total} pages of {format_size(size)} are free, and the account is not root",
        sure="possible",
        why="a recently booted machine has enough contiguous memory; `page_size` in the results is the page size that "
        "was used",
        advice="alternatively, set `sudo: true` for the host: the benchmarks then reserve the pages that they need and "
        "release them afterwards",
        settings=[Setting(path=path, value=str(pool.total + missing), was=str(pool.total))],
    )


def _default(memory: Memory) -> HugePages | None:
    return next((one for one in memory.huge_pages if one.page_bytes == memory.default_huge_page_bytes), None)


@rule("numa-balancing")
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
        seen=f"kernel.numa_balancing is {mode} and the host has {len(seen.facts.nodes)} nodes",
        sure="possible",
        why="memory that a benchmark binds to a node is not affected, but fio and others do not bind their memory",
        settings=[Setting(path="/proc/sys/kernel/numa_balancing", value="0", was=str(mode))],
    )


@rule("address-layout")
def _layout(seen: RuleInput) -> Evaluations:
    if seen.facts.memory.address_randomization != 0:
        return
    yield Evaluation(
        title="address randomization off",
        seen="kernel.randomize_va_space is 0",
        sure="possible",
        why="every process gets the same virtual addresses, so their effects do not average out over the visits; "
        "physical addresses still vary",
        settings=[Setting(path="/proc/sys/kernel/randomize_va_space", value="2", was="0")],
    )


@rule("swap")
def _swap(seen: RuleInput) -> Evaluations:
    memory = seen.facts.memory
    swappiness = memory.swappiness
    total = seen.known(memory.swap_total_bytes, "swap", "memory.swap_total_bytes")
    if total == 0:
        return
    used = total - seen.known(memory.swap_free_bytes, "swap usage", "memory.swap_free_bytes")
    if used < _SWAPPED and (swappiness is None or swappiness <= 1):
        return
    used_text = format_quantity(used, "B") if used else "none"
    much = used >= _SWAPPED
    settings = [Setting(path=f"{_VM}/swappiness", value="1", was=str(swappiness))] if (swappiness or 0) > 1 else []
    yield Evaluation(
        title=f"{used_text} swapped out" if much else "swap on",
        seen=f"{used_text} of {format_quantity(total, 'B')} swap is in use, and vm.swappiness is {swappiness}",
        sure="likely" if much else "possible",
        why="the host was short of memory at some point in the past"
        if much
        else "the kernel may swap during a measurement"
        + (", but such a small amount is usual: idle daemons are swapped out" if used else ""),
        advice="free some memory; if the swapped-out data fits into memory, run swapoff -a and then swapon -a as root"
        if much
        else "",
        settings=settings,
    )


@rule("zone-reclaim")
def _reclaim(seen: RuleInput) -> Evaluations:
    mode = seen.facts.memory.zone_reclaim
    if not mode:
        return
    yield Evaluation(
        title="zone reclaim on",
        seen=f"vm.zone_reclaim_mode is {mode}",
        sure="possible",
        why="memory is reclaimed only if a node is full",
        settings=[Setting(path=f"{_VM}/zone_reclaim_mode", value="0", was=str(mode))],
    )
