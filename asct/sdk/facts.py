"""What is known of a host (asct.facts/1). Nothing is guessed: an unknown field is null and `unknown` says why."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Cache(_Model):
    """One cache as CPU 0 (or the first online CPU) sees it. Sizes in bytes."""

    level: int
    type: Literal["Data", "Instruction", "Unified"]
    size_bytes: int
    line_bytes: int | None = None
    ways: int | None = None
    shared_cpus: list[int] = Field(default_factory=list)


class Cpu(_Model):
    """`cpus` is lscpu's CPU(s); `allowed` is the affinity mask of the account that asct runs under; `microcode` the
    revision that the kernel prints, of x86 only."""

    cpus: int | None = None
    online: list[int] = Field(default_factory=list)
    allowed: list[int] = Field(default_factory=list)
    model: str | None = None
    vendor: str | None = None
    sockets: int | None = None
    cores: int | None = None
    threads_per_core: int | None = None
    flags: list[str] = Field(default_factory=list)
    governor: str | None = None
    microcode: str | None = None
    frequency_hz: float | None = None


class Node(_Model):
    """One NUMA node; a memory-only node has no CPUs.

    `available_bytes` can be had there: what is free, and the part of the file cache that goes first.
    """

    id: int
    cpus: list[int]
    memory_bytes: int | None = None
    free_bytes: int | None = None
    available_bytes: int | None = None
    distances: list[int] = Field(default_factory=list)


class HugePages(_Model):
    """A pool of huge pages."""

    page_bytes: int
    total: int
    free: int


class Memory(_Model):
    """Bytes from /proc/meminfo; `thp` is the selected mode of transparent huge pages.

    `theoretical_bandwidth` is the peak of all channels in bytes a second, from the modules that the firmware describes.
    """

    total_bytes: int | None = None
    available_bytes: int | None = None
    page_bytes: int | None = None
    huge_pages: list[HugePages] = Field(default_factory=list)
    thp: str | None = None
    theoretical_bandwidth: float | None = None


class System(_Model):
    """Kernel, distribution and the account; `virtualization` is the hypervisor below the kernel, `container` what asct
    runs in above it, both as systemd-detect-virt names them (`none`: looked for and not there)."""

    hostname: str | None = None
    arch: str | None = None
    kernel: str | None = None
    kernel_version: str | None = None
    command_line: str | None = None
    os: str | None = None
    uid: int | None = None
    virtualization: str | None = None
    container: str | None = None


class Load(_Model):
    """Load averages and pressure when the facts were read."""

    load1: float | None = None
    load5: float | None = None
    load15: float | None = None
    cpu_pressure_avg10: float | None = None


class ToolFact(_Model):
    """A program on the host: where it is and the version it prints; `features` are what was probed (fio engines),
    `options` those that fio has, the ones of an engine as `engine.option`; empty when it was not asked."""

    path: str
    version: str | None = None
    banner: str | None = None
    """The first line of what it says of its version, if it ended well: names a compiler in the keys of its builds."""
    features: list[str] = Field(default_factory=list)
    options: list[str] = Field(default_factory=list)


class HostFacts(_Model):
    """The facts of one host."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, allow_inf_nan=False)

    schema_: Literal["asct.facts/1"] = Field("asct.facts/1", alias="schema")
    host: str
    collected_at: str
    system: System = Field(default_factory=System)
    cpu: Cpu = Field(default_factory=Cpu)
    caches: list[Cache] = Field(default_factory=list)
    nodes: list[Node] = Field(default_factory=list)
    memory: Memory = Field(default_factory=Memory)
    load: Load = Field(default_factory=Load)
    tools: dict[str, ToolFact] = Field(default_factory=dict)
    io_uring: bool | None = None
    """Whether the kernel lets this account make an io_uring (kernel.io_uring_disabled and friends)."""
    work_free_bytes: int | None = None
    """Free space where the work folder is."""
    work_filesystem: str | None = None
    unknown: dict[str, str] = Field(default_factory=dict)

    def data_caches(self) -> list[Cache]:
        """Data and unified caches, smallest level first."""
        return sorted((c for c in self.caches if c.type != "Instruction"), key=lambda c: c.level)
