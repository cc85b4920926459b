"""Rules for the Linux kernel's memory management: huge pages, NUMA balancing, swap and reclaim."""

from __future__ import annotations

from typing import Final

from asct.disturbances.build import Evaluation, Evaluations, RuleInput, rule
from asct.sdk.disturbance import Setting
from asct.values.quantity import format_quantity
from asct.values.size import format_size

_THP: Final = "/sys/kernel/mm/transparent_hugepage/enabled"
_VM: Final = "/proc/sys/vm"
_POOL_BYTES: Final = 1 << 30
"""Minimum total size of the free huge pages, in bytes. This size exceeds the largest working set of the latency
benchmarks (`optimum_size` for DRAM)."""
_HUGE: Final = 2 << 20
_SWAPPED: Final = 64 << 20
"""Threshold for swapped-out memory, in bytes. Smaller amounts are ignored, because every machine swaps out daemons that
sleep for weeks."""


def _transparent(host: RuleInput, from_mode: str) -> list[Setting]:
    """Return a list with the setting that switches transparent huge pages to `madvise` if their current mode is
    `from_mode`, otherwise an empty list."""
    mode = host.known(host.facts.memory.thp, "transparent huge pages", "memory.thp")
    return [Setting(path=_THP, value="madvise", was=mode)] if mode == from_mode else []


@rule("transparent-huge-pages")
def _never(host: RuleInput) -> Evaluations:
    if settings := _transparent(host, "never"):
        yield Evaluation({}, settings)


@rule("transparent-huge-pages-always")
def _always(host: RuleInput) -> Evaluations:
    if host.facts.memory.thp is not None and (settings := _transparent(host, "always")):
        yield Evaluation({}, settings)


@rule("huge-pages")
def _pool(host: RuleInput) -> Evaluations:
    memory = host.facts.memory
    pools = {one.page_bytes: one for one in reversed(memory.huge_pages)}
    found = pools.get(_HUGE) or pools.get(memory.default_huge_page_bytes or 0)
    pool = host.known(found, "huge page pools", "memory.huge_pages")
    if host.facts.system.uid == 0 or sum(one.free * one.page_bytes for one in memory.huge_pages) >= _POOL_BYTES:
        return  # as root, the benchmarks reserve and release huge pages on their own
    size, missing = pool.page_bytes, -(-_POOL_BYTES // pool.page_bytes) - pool.free
    path = f"/sys/kernel/mm/hugepages/hugepages-{size >> 10}kB/nr_hugepages"
    setting = Setting(path=path, value=str(pool.total + missing), was=str(pool.total))
    yield Evaluation({"free": pool.free, "total": pool.total, "size": format_size(size)}, [setting])


@rule("numa-balancing")
def _balancing(host: RuleInput) -> Evaluations:
    memory = host.facts.memory
    if len(host.facts.nodes) < 2:
        return
    fields = ("memory.numa_balancing_mode", "memory.numa_balancing")
    mode = host.known(memory.numa_balancing_mode, "NUMA balancing", *fields)
    if mode == 0:
        return
    setting = Setting(path="/proc/sys/kernel/numa_balancing", value="0", was=str(mode))
    yield Evaluation({"mode": mode, "nodes": len(host.facts.nodes)}, [setting])


@rule("address-layout")
def _layout(host: RuleInput) -> Evaluations:
    if host.facts.memory.address_randomization != 0:
        return
    yield Evaluation({}, [Setting(path="/proc/sys/kernel/randomize_va_space", value="2", was="0")])


@rule("swap")
def _swap(host: RuleInput) -> Evaluations:
    memory = host.facts.memory
    swappiness = memory.swappiness
    total = host.known(memory.swap_total_bytes, "swap", "memory.swap_total_bytes")
    if total == 0:
        return
    used = total - host.known(memory.swap_free_bytes, "swap usage", "memory.swap_free_bytes")
    if used < _SWAPPED and (swappiness is None or swappiness <= 1):
        return
    case = "much" if used >= _SWAPPED else "little" if used else ""
    settings = [Setting(path=f"{_VM}/swappiness", value="1", was=str(swappiness))] if (swappiness or 0) > 1 else []
    values = {"used": format_quantity(used, "B") if used else "none", "total": format_quantity(total, "B")}
    yield Evaluation({**values, "swappiness": swappiness}, settings, case)


@rule("zone-reclaim")
def _reclaim(host: RuleInput) -> Evaluations:
    mode = host.facts.memory.zone_reclaim
    if not mode:
        return
    yield Evaluation({"mode": mode}, [Setting(path=f"{_VM}/zone_reclaim_mode", value="0", was=str(mode))])
