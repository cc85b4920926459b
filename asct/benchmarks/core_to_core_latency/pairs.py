"""Define the latency of a pair of CPUs (in both directions and by data location), the topology order of the CPUs, and
the flags."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from asct.instruments.memory.kernel_flags import NOISE_FLAGS, PAGE_FLAGS
from asct.instruments.memory.visits import VISIT_FLAGS
from asct.sdk.record import Record, Scalar, Stats

INTERFERENCE: Final = "noisy-interference"
SIBLINGS: Final = "smt-siblings"
MISSING: Final = "noisy-missing"
SWITCHED: Final = "switched"

FLAGS: Final = {
    **NOISE_FLAGS,
    **VISIT_FLAGS,
    INTERFERENCE: "pairs measured at the same time disturbed each other: they were more than 10 % faster when "
    "measured alone; set `parallel: false`",
    SWITCHED: "more than a quarter of the batches were dropped because a thread was descheduled",
    SIBLINGS: "the two CPUs are threads of one core",
    MISSING: "some pairs have no value because every batch was disturbed; repeat the measurement on an idle machine",
    **PAGE_FLAGS,
}
"""All flags that a value can have, with their meanings."""

LOCAL: Final = "local"
REMOTE: Final = "remote"
DATA: Final = (LOCAL, REMOTE)
CHAIN: Final = "chain"


@dataclass(frozen=True, slots=True)
class PairLatency:
    """The median latency between CPU A and CPU B with one method, for data in the memory of one node.

    `value` is in seconds or cycles. `chain` has a direction: A reads what B wrote. The other methods have no direction;
    a `turned` value is a copy with A and B exchanged.
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
    repeats: tuple[Record, ...] = ()
    """The records of the value, one for each repeat, if it was read from records."""

    @property
    def data(self) -> str:
        """Whether the data is local or remote to CPU A."""
        return LOCAL if self.memory_node == self.node_a else REMOTE

    @property
    def coords(self) -> dict[str, Scalar]:
        """The coordinates of the value: both CPUs with their nodes, the method, and the memory node."""
        keys = ("cpu_a", "cpu_b", "node_a", "node_b", "method", "memory_node")
        return {key: getattr(self, key) for key in keys}

    @property
    def repeated(self) -> bool:
        """Whether the value is a copy of the value that was measured in the opposite direction of the same pair."""
        return self.turned and self.node_a == self.node_b


def both_ways(cells: Iterable[PairLatency]) -> list[PairLatency]:
    """Return every ordered pair. A value without a direction is returned twice: for A and B, and for B and A."""
    found: list[PairLatency] = []
    for cell in cells:
        found.append(cell)
        if cell.method != CHAIN:
            cpu_a, cpu_b, node_a, node_b = cell.cpu_b, cell.cpu_a, cell.node_b, cell.node_a
            found.append(replace(cell, cpu_a=cpu_a, cpu_b=cpu_b, node_a=node_a, node_b=node_b, turned=True))
    return found


@dataclass(frozen=True, slots=True)
class Order:
    """The topology of the host's CPUs: the node of each CPU, the first CPU of its core (`core`), and the first CPU that
    shares its last-level cache (`cluster`). A mapping is empty if its content is unknown."""

    nodes: Mapping[int, int] = field(default_factory=dict)
    core: Mapping[int, int] = field(default_factory=dict)
    cluster: Mapping[int, int] = field(default_factory=dict)

    def sorted(self, cpus: Iterable[int]) -> list[int]:
        """Return the CPUs sorted by node, last-level cache, core and number."""
        return sorted(cpus, key=lambda cpu: (*self._block(cpu), self.core.get(cpu, cpu), cpu))

    def breaks(self, cpus: list[int]) -> list[int]:
        """Return the positions in the sorted list at which a new node begins, or a new group of cores that share a
        last-level cache."""
        blocks = [self._block(cpu) for cpu in cpus]
        if len(set(blocks)) > len({self.core.get(cpu, cpu) for cpu in cpus}) // 2:
            blocks = [(node, 0) for node, _ in blocks]
        return [at for at in range(1, len(blocks)) if blocks[at] != blocks[at - 1]]

    def siblings(self, one: int, other: int) -> bool:
        """Return whether two CPUs are known to be threads of one core."""
        return one in self.core and self.core[one] == self.core.get(other)

    def _block(self, cpu: int) -> tuple[int, int]:
        return self.nodes.get(cpu, 0), self.cluster.get(cpu, 0)
