"""The limits of a core's load and store units, and flags for bandwidths above or below them.

Sources: Intel 64 and IA-32 Architectures Optimization Reference Manual, cache parameters and load and store units of
Skylake Server, Ice Lake (Sunny Cove) and Golden Cove; AMD Software Optimization Guides for the Zen 2 (56305), Zen 3
(56665), Zen 4 (57647) and Zen 5 (58455) microarchitectures, load-store unit.
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

ABOVE: Final = "above-core-limit"
BELOW: Final = "below-core-limit"
LIMIT_FLAGS: Final = {
    ABOVE: "the value exceeds the bytes per cycle that the load and store units of the core can move, so the core "
    "clock is wrong",
    BELOW: "the value is less than 97 % of what the core can move at this cache level: a program on the other "
    "hyperthread, or another disturbance, may have slowed it",
}
# A limit in bytes per cycle needs a tolerance, because the clock is not measured at the same moments as the windows.
_TOLERANCE: Final = 1.01
_REACHED: Final = 0.97


@dataclass(frozen=True, slots=True)
class Core:
    """Vector loads and stores per cycle, and the bytes that each kind moves per cycle.

    `second` is the documented sustained rate of reads from the second cache level in bytes per cycle, or None if no
    rate is documented.
    """

    loads: int
    load_bytes: int
    stores: int
    store_bytes: int
    second: float | None = None


_SKYLAKE: Final = Core(2, 128, 1, 64, 52)
_SUNNY_COVE: Final = Core(2, 128, 2, 64, 48)
_GOLDEN_COVE: Final = Core(3, 128, 2, 64, 48)
_ZEN: Final = Core(2, 64, 1, 32)
_ZEN_5: Final = Core(2, 128, 2, 64)
CORES: Final[dict[str, Core]] = {
    "Skylake-SP": _SKYLAKE, "Cascade Lake": _SKYLAKE, "Cooper Lake": _SKYLAKE,
    "Ice Lake": _SUNNY_COVE, "Sapphire Rapids": _GOLDEN_COVE, "Emerald Rapids": _GOLDEN_COVE,
    "Zen 2": _ZEN, "Zen 3": _ZEN, "Zen 4": _ZEN, "Zen 4c": _ZEN, "Zen 5": _ZEN_5,
}  # fmt: skip
"""The known cores, keyed by the microarchitecture name in the facts. Bandwidths on other cores are not flagged."""


def limit(core: Core, traffic: str, vector_bytes: int) -> float:
    """Return the largest number of useful bytes per cycle that accesses of `vector_bytes` bytes each can move at the
    first cache level."""
    loads, stores = LOADS_STORES[traffic]
    loaded = min(core.load_bytes, core.loads * vector_bytes)
    stored = min(core.store_bytes, core.stores * vector_bytes)
    return (loads + stores) / max(loads / loaded, stores / stored)


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
    if level == "L1" and LOADS_STORES[result.traffic][0] <= 1 and "nt" not in result.traffic:
        return most
    widest = result.vector_bytes * core.loads >= core.load_bytes
    return core.second if level == "L2" and result.traffic == "all-reads" and widest else None


def _core(facts: HostFacts, cpus: Sequence[int]) -> Core | None:
    kinds = [kind for kind in facts.cpu.kinds if not kind.cpus or set(kind.cpus) & set(cpus)]
    names = {kind.microarchitecture for kind in kinds} or {facts.cpu.microarchitecture}
    return CORES.get(names.pop() or "") if len(names) == 1 else None
