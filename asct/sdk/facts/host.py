"""The facts of a host (asct.facts/1). Nothing is guessed: an unknown field is null and `unknown` says why."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field

from asct.sdk.facts.base import Fact
from asct.sdk.facts.cpu import Cache, CacheLevel, Cpu
from asct.sdk.facts.memory import Memory, NumaNode
from asct.sdk.facts.network import Network
from asct.sdk.facts.storage import BlockDevice, Mount
from asct.sdk.facts.system import Interconnect, Load, Perf, System, Thermal


class ToolFact(Fact):
    """A program on the host: where it is and the version it prints; `features` are what was probed (fio engines),
    `options` those that fio has, the ones of an engine as `engine.option`; empty when it was not asked."""

    path: str
    version: str | None = None
    banner: str | None = None
    """The first line of what it says of its version, if it ended well: names a compiler in the keys of its builds."""
    features: list[str] = Field(default_factory=list)
    options: list[str] = Field(default_factory=list)


class HostFacts(Fact):
    """The facts of one host."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, allow_inf_nan=False, defer_build=True)

    schema_: Literal["asct.facts/1"] = Field("asct.facts/1", alias="schema")
    host: str
    collected_at: str
    dated_by_file: bool = False
    """Whether `collected_at` is only the time of the file that the facts were read from: nothing in it says when."""
    system: System = Field(default_factory=System)
    cpu: Cpu = Field(default_factory=Cpu)
    caches: list[Cache] = Field(default_factory=list)
    cache_levels: list[CacheLevel] = Field(default_factory=list)
    """Every cache of the machine; `caches` are those of its first CPU."""
    nodes: list[NumaNode] = Field(default_factory=list)
    memory: Memory = Field(default_factory=Memory)
    interconnects: list[Interconnect] = Field(default_factory=list)
    block_devices: list[BlockDevice] = Field(default_factory=list)
    mounts: list[Mount] = Field(default_factory=list)
    network: Network = Field(default_factory=Network)
    perf: Perf = Field(default_factory=Perf)
    thermal: list[Thermal] = Field(default_factory=list)
    load: Load = Field(default_factory=Load)
    tools: dict[str, ToolFact] = Field(default_factory=dict)
    io_uring: bool | None = None
    """Whether the kernel lets this account make an io_uring (kernel.io_uring_disabled and friends)."""
    io_uring_disabled: int | None = None
    """The value of kernel.io_uring_disabled; null where the kernel has no such limit (before Linux 6.6)."""
    work_free_bytes: int | None = None
    """Free space where the work folder is."""
    work_filesystem: str | None = None
    limits: dict[str, int | None] = Field(default_factory=dict)
    """Resource limits of the account (`memlock` in bytes, `nofile`, `nproc`); null is unlimited."""
    unknown: dict[str, str] = Field(default_factory=dict)
    not_applicable: dict[str, str] = Field(default_factory=dict)
    """Fields that are null because this machine has no such thing (SVE on x86), with the reason."""
    notes: list[str] = Field(default_factory=list)
    """What was cut off or left out of the dump that the facts were read from; empty when it was whole, or a host."""

    def data_caches(self) -> list[Cache]:
        """Data and unified caches, smallest level first."""
        return sorted((c for c in self.caches if c.type != "Instruction"), key=lambda c: c.level)
