"""Which pairs of nodes can be measured, and how much memory each thread of a pair walks."""

from __future__ import annotations

from dataclasses import dataclass

from asct.benchmarks.cross_numa_bandwidth.params import CrossNumaBandwidthParams
from asct.instruments.memory.matrix import step_name
from asct.instruments.memory.stream_sizes import TOO_SMALL, aligned, cache_share, fitted, memory_size, room
from asct.instruments.memory.topology import Place, memory_places, places, run_places
from asct.sdk.facts import HostFacts


@dataclass(frozen=True, slots=True)
class Pair:
    """All usable CPUs of the node `run` with the memory of the node `memory`; `least` bytes a thread are needed."""

    run: Place
    memory: Place
    least: int

    @property
    def name(self) -> str:
        """That of its step: `node0-memory8`."""
        return step_name(self.run, self.memory)

    @property
    def threads(self) -> int:
        """One for each CPU; one where the CPUs of the host are not known."""
        return max(1, len(self.run.cpus))

    @property
    def possible(self) -> bool:
        """Whether the memory node has that much free, as far as is known."""
        return self.memory.free_bytes is None or self.least <= room(self.memory, self.threads)

    @property
    def needed_bytes(self) -> int:
        """The least that all threads need together."""
        return self.least * self.threads


def pairs(params: CrossNumaBandwidthParams, facts: HostFacts) -> list[Pair]:
    """Every node with CPUs and every node with memory, also memory only. A size that is given is needed whole; else
    twice the caches of a thread at least."""
    runs = run_places(facts) or places(facts)[:1]
    return [
        Pair(run, memory, params.data_size or aligned(TOO_SMALL * cache_share(facts, run.cpus)))
        for run in runs
        for memory in memory_places(facts)
    ]


def pair_size(params: CrossNumaBandwidthParams, facts: HostFacts, pair: Pair, optimum: int) -> int:
    """Bytes a thread: the size given, or what lies well outside the caches and fits the memory node."""
    if params.data_size is not None:
        return params.data_size
    return fitted(memory_size(facts, pair.run.cpus, optimum), pair.memory, pair.threads)
