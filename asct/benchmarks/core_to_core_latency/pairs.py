"""The latency of a pair of CPUs, in both directions and by location of the data; and the flags of values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from asct.instruments.memory.kernel_flags import NOISE_FLAGS, PAGE_FLAGS
from asct.sdk.record import Stats

INTERFERENCE: Final = "noisy-interference"
SIBLINGS: Final = "smt-siblings"
MISSING: Final = "noisy-missing"

FLAGS: Final = {
    **NOISE_FLAGS,
    "noisy": "the 95 % interval is wider than 5 % of the median; of an aggregate: that of more than half of its pairs",
    INTERFERENCE: "pairs measured at the same time disturbed each other: alone they were more than 10 % faster; "
    "set `parallel: false`",
    SIBLINGS: "the two CPUs are threads of one core",
    MISSING: "some pairs have no value because every batch was disturbed; repeat on an idle machine",
    **PAGE_FLAGS,
}
"""Flags of values."""


LOCAL: Final = "local"
REMOTE: Final = "remote"
DATA: Final = (LOCAL, REMOTE)
CHAIN: Final = "chain"


@dataclass(frozen=True, slots=True)
class PairLatency:
    """CPU A with CPU B by one method, with data in the memory of one node: the median in seconds or cycles.

    `chain` is directed: A reads what B wrote. For the other methods, a `turned` value is the same one with A and B
    exchanged.
    """

    cpu_a: int
    cpu_b: int
    node_a: int
    node_b: int
    method: str
    memory_node: int
    value: float
    stats: Stats | None = None
    flags: tuple[str, ...] = ()
    turned: bool = False

    @property
    def data(self) -> str:
        """Location of the data relative to CPU A."""
        return LOCAL if self.memory_node == self.node_a else REMOTE

    def seen_from_b(self) -> PairLatency:
        """The same with A and B exchanged."""
        return PairLatency(
            cpu_a=self.cpu_b,
            cpu_b=self.cpu_a,
            node_a=self.node_b,
            node_b=self.node_a,
            method=self.method,
            memory_node=self.memory_node,
            value=self.value,
            stats=self.stats,
            flags=self.flags,
            turned=True,
        )

    @property
    def repeated(self) -> bool:
        """Whether the value merely repeats the opposite direction of the same pair."""
        return self.turned and self.node_a == self.node_b


def both_ways(cells: Iterable[PairLatency]) -> list[PairLatency]:
    """Every ordered pair: a value without direction counts for B and A as well."""
    found: list[PairLatency] = []
    for cell in cells:
        found.append(cell)
        if cell.method != CHAIN:
            found.append(cell.seen_from_b())
    return found


def by_data_and_method(cells: Iterable[PairLatency]) -> dict[tuple[str, str], list[PairLatency]]:
    """Pairs by location of their data relative to CPU A, and by method."""
    groups: dict[tuple[str, str], list[PairLatency]] = {}
    for cell in cells:
        groups.setdefault((cell.data, cell.method), []).append(cell)
    return groups


@dataclass(frozen=True, slots=True)
class Order:
    """The CPUs of the host in topology order. `core` and `cluster` map a CPU to the first CPU of its core, and of those
    that share its last-level cache; empty if unknown."""

    nodes: Mapping[int, int] = field(default_factory=dict)
    core: Mapping[int, int] = field(default_factory=dict)
    cluster: Mapping[int, int] = field(default_factory=dict)

    def sorted(self, cpus: Iterable[int]) -> list[int]:
        """The CPUs sorted by node, last-level cache, core and number."""
        return sorted(cpus, key=lambda cpu: (*self._block(cpu), self.core.get(cpu, cpu), cpu))

    def breaks(self, cpus: list[int]) -> list[int]:
        """The places in a sorted list at which a node begins or, where these are not single cores, a cache."""
        blocks = [self._block(cpu) for cpu in cpus]
        if len(set(blocks)) > len({self.core.get(cpu, cpu) for cpu in cpus}) // 2:
            blocks = [(node, 0) for node, _ in blocks]
        return [at for at in range(1, len(blocks)) if blocks[at] != blocks[at - 1]]

    def siblings(self, one: int, other: int) -> bool:
        """Whether two CPUs are known to be threads of one core."""
        return one in self.core and self.core[one] == self.core.get(other)

    def _block(self, cpu: int) -> tuple[int, int]:
        return self.nodes.get(cpu, 0), self.cluster.get(cpu, 0)
