"""The facts of a host (asct.facts/1): `HostFacts` and its parts, one file per subject."""

from asct.sdk.facts.cpu import Cache, CacheLevel, CoreKind, Cpu, FrequencyPolicy, IdleState, LogicalCpu
from asct.sdk.facts.host import HostFacts, ToolFact
from asct.sdk.facts.memory import HugePages, Memory, MemoryModule, NodePerformance, NumaNode
from asct.sdk.facts.network import Interface, Network
from asct.sdk.facts.storage import BlockDevice, Mount, NvmeHealth
from asct.sdk.facts.system import Firmware, Interconnect, Load, Perf, Product, System, Thermal

__all__ = [
    "BlockDevice",
    "Cache",
    "CacheLevel",
    "CoreKind",
    "Cpu",
    "Firmware",
    "FrequencyPolicy",
    "HostFacts",
    "HugePages",
    "IdleState",
    "Interconnect",
    "Interface",
    "Load",
    "LogicalCpu",
    "Memory",
    "MemoryModule",
    "Mount",
    "Network",
    "NodePerformance",
    "NumaNode",
    "NvmeHealth",
    "Perf",
    "Product",
    "System",
    "Thermal",
    "ToolFact",
]
