"""Memory: nodes, pools of huge pages, modules, and how the kernel manages it."""

from __future__ import annotations

from pydantic import Field

from asct.sdk.facts.base import Fact


class HugePages(Fact):
    """A pool of huge pages, of the machine or of a node."""

    page_bytes: int
    total: int
    free: int


class NodePerformance(Fact):
    """The firmware's data on a node's memory, as seen by its nearest initiators (ACPI HMAT, Linux access0).

    In bytes per second and seconds.
    """

    read_bandwidth: float | None = None
    write_bandwidth: float | None = None
    read_latency: float | None = None
    write_latency: float | None = None


class NumaNode(Fact):
    """One NUMA node; a memory-only node has no CPUs.

    `available_bytes` can be had there: what is free, and the part of the file cache that goes first.
    """

    id: int
    cpus: list[int]
    memory_bytes: int | None = None
    free_bytes: int | None = None
    available_bytes: int | None = None
    distances: list[int] = Field(default_factory=list)
    huge_pages: list[HugePages] = Field(default_factory=list)
    firmware: NodePerformance | None = None


class MemoryModule(Fact):
    """A slot for a module as the firmware describes it (SMBIOS type 17); `size_bytes` 0 when it is empty.

    `rate` is the configured speed in transfers a second, `rated` the highest of the module.
    """

    slot: str
    bank: str | None = None
    size_bytes: int | None = None
    type: str | None = None
    form_factor: str | None = None
    data_bits: int | None = None
    total_bits: int | None = None
    ranks: int | None = None
    rate: float | None = None
    rated: float | None = None
    manufacturer: str | None = None
    part_number: str | None = None
    channel: str | None = None


class Memory(Fact):
    """Bytes from /proc/meminfo; `thp` is the selected mode of transparent huge pages.

    `theoretical_bandwidth` is the peak of all channels in bytes a second, from the modules that the firmware describes;
    `channels` those that have a module, null where the names of the slots do not tell.
    """

    total_bytes: int | None = None
    available_bytes: int | None = None
    page_bytes: int | None = None
    huge_pages: list[HugePages] = Field(default_factory=list)
    default_huge_page_bytes: int | None = None
    thp: str | None = None
    thp_defrag: str | None = None
    numa_balancing: bool | None = None
    numa_balancing_mode: int | None = None
    """The value of kernel.numa_balancing: 1 is ordinary balancing, 2 moving between tiers of memory."""
    zone_reclaim: int | None = None
    swap_total_bytes: int | None = None
    swap_free_bytes: int | None = None
    swappiness: int | None = None
    dirty_bytes: int | None = None
    limit_bytes: int | None = None
    """The tightest limit of the control groups of the account."""
    modules: list[MemoryModule] = Field(default_factory=list)
    channels: int | None = None
    ecc: str | None = None
    theoretical_bandwidth: float | None = None
