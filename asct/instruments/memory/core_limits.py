"""The limits of a core's load and store units, and flags for bandwidths above or below them.

Sources for x86: Intel 64 and IA-32 Architectures Optimization Reference Manual, cache parameters and load and store
units of Skylake Server, Ice Lake (Sunny Cove) and Golden Cove; "Intel's Redwood Cove: Baby Steps are Still Steps",
Chips and Cheese, 2024 (Granite Rapids: the core structures of Golden Cove); AMD Software Optimization Guides for the
Zen 2 (56305), Zen 3 (56665), Zen 4 (57647) and Zen 5 (58455) microarchitectures, load-store unit.

Sources for Arm:
- Technical Reference Manuals, data side of the L1 memory system, read and write paths of the vector execute pipeline:
  Neoverse N1 (100616), N3, V2, V3; pipes for loads and stores: Software Optimization Guides, pipeline overview
  (Cortex-A72, Neoverse N1, N2, N3, V1, V2, V3), also in the scheduling models of LLVM.
- AmpereOne, ThunderX2: scheduling models of LLVM (AArch64SchedAmpere1.td, AArch64SchedThunderX2T99.td).
- TaiShan v110 (Kunpeng 920): "Huawei's Kunpeng 920 and TaiShan v110 CPU Architecture", Chips and Cheese, 2025.
- A64FX: Fujitsu at Cool Chips 22, 2019: 230 GB/s of loads and 115 GB/s of stores per core at 1.8 GHz.
- Azure Cobalt 100 has Neoverse N2 cores.

Cores without a reliable source are not listed, such as Neoverse E1, Crestmont (Sierra Forest) and Apple's cores.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from asct.instruments.memory.sizes import sharers
from asct.instruments.memory.traffic import LOADS_STORES

if TYPE_CHECKING:
    from asct.instruments.memory.stream import StreamResult
    from asct.sdk.facts import HostFacts

ABOVE: Final = "noisy-above-core-limit"
"""The value is impossible, so it is doubtful. A value below the limit is possible: the core was merely slower."""
BELOW: Final = "below-core-limit"
LIMIT_FLAGS: Final = {
    ABOVE: "the value exceeds the bytes per cycle that the load and store units of the core can move, which is "
    "impossible: the core clock changed during the measurement, or it is wrong",
    BELOW: "the value is less than 97 % of what the core can move at this cache level: a program on the other "
    "hyperthread, or another disturbance, may have slowed it",
}
# A limit in bytes per cycle needs a tolerance, because the clock is not measured at the same moments as the windows.
_TOLERANCE: Final = 1.01
# On a busy machine, reads from the first level were 20 to 47 % too low.
_REACHED: Final = 0.97


@dataclass(frozen=True, slots=True)
class Core:
    """Vector loads and stores per cycle, and the bytes that each kind moves per cycle.

    `accesses` is the number of loads and stores together per cycle, or None if loads and stores have separate pipes.
    `second` is the documented sustained rate of reads from the second cache level in bytes per cycle, or None if no
    rate is documented. `reached` states whether a value below the limits is flagged.
    """

    loads: int
    load_bytes: int
    stores: int
    store_bytes: int
    second: float | None = None
    accesses: int | None = None
    reached: bool = True


_SKYLAKE: Final = Core(2, 128, 1, 64, 52)
_SUNNY_COVE: Final = Core(2, 128, 2, 64, 48)
_GOLDEN_COVE: Final = Core(3, 128, 2, 64, 48)
_REDWOOD_COVE: Final = Core(3, 128, 2, 64, reached=False)
_ZEN: Final = Core(2, 64, 1, 32)
_ZEN_5: Final = Core(2, 128, 2, 64)


def _arm(loads: int, load_bytes: int, stores: int, store_bytes: int, accesses: int) -> Core:
    """Return an Arm core. Values below its limits are not flagged: only the widths of the paths between L1 and L2 are
    documented, not sustained rates, and no measurement shows that the loops of the `stream` kernel reach the limits."""
    return Core(loads, load_bytes, stores, store_bytes, None, accesses, reached=False)


# NEON and SVE accesses have 16 bytes, except SVE accesses on Neoverse V1 (32 bytes) and A64FX (64 bytes). On Neoverse
# V1, one of the three pipes for loads is limited to 16 bytes.
_NEOVERSE_N1: Final = _arm(2, 32, 2, 32, 2)
_NEOVERSE_N2: Final = _arm(3, 48, 2, 32, 3)
_NEOVERSE_V1: Final = _arm(3, 64, 2, 64, 3)
_NEOVERSE_V3: Final = _arm(3, 48, 2, 32, 4)
_AMPERE_1: Final = _arm(2, 32, 1, 16, 3)
_TWO_PIPES: Final = _arm(2, 32, 1, 16, 2)
CORES: Final[dict[str, Core]] = {
    "Skylake-SP": _SKYLAKE, "Cascade Lake": _SKYLAKE, "Cooper Lake": _SKYLAKE,
    "Ice Lake": _SUNNY_COVE, "Sapphire Rapids": _GOLDEN_COVE, "Emerald Rapids": _GOLDEN_COVE,
    "Granite Rapids": _REDWOOD_COVE,
    "Zen 2": _ZEN, "Zen 3": _ZEN, "Zen 4": _ZEN, "Zen 4c": _ZEN, "Zen 5": _ZEN_5, "Zen 5c": _ZEN_5,
    "Cortex-A72": _arm(1, 16, 1, 16, 2), "Neoverse-N1": _NEOVERSE_N1, "Neoverse-N2": _NEOVERSE_N2,
    "Azure-Cobalt-100": _NEOVERSE_N2, "Neoverse-N3": _NEOVERSE_N2, "Neoverse-V1": _NEOVERSE_V1,
    "Neoverse-V2": _NEOVERSE_N2, "Neoverse-V3": _NEOVERSE_V3, "Neoverse-V3AE": _NEOVERSE_V3,
    "Ampere-1": _AMPERE_1, "Ampere-1a": _AMPERE_1, "TaiShan-v110": _TWO_PIPES, "ThunderX2": _TWO_PIPES,
    "ThunderX2-99xx": _TWO_PIPES, "A64FX": _arm(2, 128, 1, 64, 2),
}  # fmt: skip
"""The known cores, keyed by the microarchitecture name in the facts. Bandwidths on other cores are not flagged."""


def limit(core: Core, traffic: str, vector_bytes: int) -> float:
    """Return the largest number of useful bytes per cycle that accesses of `vector_bytes` bytes each can move at the
    first cache level."""
    loads, stores = LOADS_STORES[traffic]
    loaded = min(core.load_bytes, core.loads * vector_bytes)
    stored = min(core.store_bytes, core.stores * vector_bytes)
    together = (loads + stores) / (core.accesses * vector_bytes) if core.accesses else 0.0
    return (loads + stores) / max(loads / loaded, stores / stored, together)


def limit_flags(facts: HostFacts, cpus: Sequence[int], result: StreamResult, level: str = "") -> tuple[str, ...]:
    """Return the flags for a bandwidth at a cache level, or an empty tuple if the core is unknown. An empty `level`
    means any level.

    A bandwidth is known to reach its limit only in two cases, and only if threads do not share a core: at the first
    level (for traffic with at most one load and one store), and for reads from the second level.
    """
    core = _core(facts, cpus)
    if core is None:
        return ()
    first = next((cache for cache in facts.data_caches() if cache.level == 1), None)
    together = sharers(first, cpus) if first else 1
    cycles = result.useful.median / result.clock_hz / result.threads
    most = limit(core, result.traffic, result.vector_bytes)
    if cycles * together > _TOLERANCE * most:
        return (ABOVE,)
    expected = _expected(core, result, level, most) if together == 1 else None
    return (BELOW,) if expected is not None and cycles < _REACHED * expected else ()


def _expected(core: Core, result: StreamResult, level: str, most: float) -> float | None:
    """Return the useful bytes per cycle that an undisturbed core reaches, or None if they are not documented."""
    if not core.reached:
        return None
    if level == "L1" and LOADS_STORES[result.traffic][0] <= 1 and "nt" not in result.traffic:
        return most
    widest = result.vector_bytes * core.loads >= core.load_bytes
    return core.second if level == "L2" and result.traffic == "all-reads" and widest else None


def _core(facts: HostFacts, cpus: Sequence[int]) -> Core | None:
    kinds = [kind for kind in facts.cpu.kinds if not kind.cpus or set(kind.cpus) & set(cpus)]
    names = {kind.microarchitecture for kind in kinds} or {facts.cpu.microarchitecture}
    return CORES.get(names.pop() or "") if len(names) == 1 else None
