"""Which pairs of nodes are measured with which size, as command lines of the kernel."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from asct.benchmarks.idle_latency.params import IdleLatencyParams
from asct.instruments.memory.matrix import step_name
from asct.instruments.memory.stream_sizes import fitted
from asct.instruments.memory.topology import UNBOUND, Place, memory_places, places, run_places
from asct.sdk.facts import HostFacts

SMALLEST: Final = 64 << 20
"""A size that was to be found is lowered to what a node has free, but not below this: nothing of it would be memory."""
_SURROUNDINGS: Final = 64 << 20
"""What the kernel and the tables of its pages take beside the data."""
_MAP_S_PER_GIB: Final = 1.2
"""Mapping memory, and putting in and checking the lines of the chain."""
_START_S: Final = 0.15


@dataclass(frozen=True, slots=True)
class Pair:
    """A node that runs and a node whose memory it reads."""

    run: Place
    memory: Place

    @property
    def name(self) -> str:
        """Of the step that measures it."""
        return step_name(self.run, self.memory)


def pairs(facts: HostFacts) -> Iterator[Pair]:
    """Every node with a usable CPU with every node that has memory, row by row.

    On a host whose CPUs are unknown the first node runs, on the CPU that the kernel starts on.
    """
    for run in run_places(facts) or places(facts)[:1]:
        for memory in memory_places(facts):
            yield Pair(run, memory)


def lowered(memory: Place, size: int) -> int:
    """`size`, or what the node has free if that is less: for a size that nobody asked for."""
    return fitted(size, memory, 1)


def has_room(memory: Place, size: int) -> bool:
    """Whether a process with a working set of `size` fits; a node that does not tell is tried."""
    return memory.free_bytes is None or needed_bytes(size) <= memory.free_bytes


def needed_bytes(size: int) -> int:
    """Memory that one process takes for a working set of `size`."""
    return size + size // 32 + _SURROUNDINGS


def sizes(params: IdleLatencyParams, facts: HostFacts, optimum: int) -> Mapping[Pair, int]:
    """The working set of each pair that can be measured; `optimum` is the size where none was asked for."""
    if params.data_size is not None:
        return {pair: params.data_size for pair in pairs(facts) if has_room(pair.memory, params.data_size)}
    found = {pair: lowered(pair.memory, optimum) for pair in pairs(facts)}
    return {pair: size for pair, size in found.items() if size >= min(SMALLEST, optimum)}


def arguments(params: IdleLatencyParams, pair: Pair, size: int) -> tuple[str, ...]:
    """The kernel's command line for one pair: the last CPU of the node that runs."""
    named: dict[str, object] = {
        "sizes": size,
        "pages": params.pages,
        "target-interval": max(1, round(params.target_interval * 1000)),
        "time-cap-ms": max(1, round(params.duration * 1e3)),
        "seed": params.seed,
    }
    if params.stride is not None:
        named["stride"] = params.stride
    if pair.run.cpus:
        named["cpu"] = pair.run.cpus[-1]
    if pair.memory.bind != UNBOUND:
        named["node"] = pair.memory.bind
    return tuple(part for name, value in named.items() for part in (f"--{name}", str(value)))


def estimated_seconds(params: IdleLatencyParams, size: int, count: int) -> float:
    """Of `count` pairs, each a process of its own."""
    return count * (_START_S + params.duration + _MAP_S_PER_GIB * size / 2**30)
