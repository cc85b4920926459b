"""From the samples of the chase kernel to measurements: one latency a pair of nodes, and what it compares with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from asct.benchmarks.idle_latency.pairs import SMALLEST, Pair, lowered, needed_bytes, pairs
from asct.benchmarks.idle_latency.params import IdleLatencyParams
from asct.instruments.memory.chase import Chased, chased
from asct.instruments.memory.matrix import left_out
from asct.instruments.memory.needed import CACHES
from asct.instruments.memory.noise import NOISE_FLAGS, settled_flags
from asct.instruments.memory.pages import PAGE_FLAGS, page_flags
from asct.instruments.memory.settings import CYCLE_BASE
from asct.sdk.facts import HostFacts
from asct.sdk.record import Measurement, Scalar
from asct.sdk.samples import KernelRun, number, read_kernel, stats_of
from asct.sdk.step import Output

_MANY_DROPPED: Final = 0.25
FLAGS: Final[dict[str, str]] = {
    **NOISE_FLAGS,
    **PAGE_FLAGS,
    "switched": "more than a quarter of the batches were dropped since the thread lost its CPU",
    "small-working-set": "less than twice the last cache was walked, so that some of the loads hit it",
    "smaller-memory": "the node has less free memory than latency-sweep suggests to walk: as much as fits was walked",
}
"""Every flag of a pair, and its meaning."""


@dataclass(frozen=True, slots=True)
class Walked:
    """What the kernel says of one pair."""

    pair: Pair
    sample: Chased
    page_bytes: float
    flags: tuple[str, ...]

    @property
    def at(self) -> dict[str, Scalar]:
        """Its coordinates."""
        return {"run_node": self.pair.run.id, "memory_node": self.pair.memory.id}


def measurements(params: IdleLatencyParams, outputs: Sequence[Output], facts: HostFacts) -> list[Measurement]:
    """Latencies and ratios pair by pair, then clocks and pages, then the pairs that were left out.

    Raises ValueError when nothing was measured, or for output that is not of the kernel.
    """
    if not outputs:
        raise ValueError("the kernel chase was not run")
    known = {pair.name: pair for pair in pairs(facts)}
    walked = [_walked(known[output.step.name], read_kernel(output), params) for output in outputs]
    return [
        *(item for one in walked for item in _of_pair(one)),
        *_ratios(walked),
        *_distances(walked, facts),
        *_circumstances(walked, params),
        *_left_out(params, {one.pair.name for one in walked}, facts),
    ]


def _walked(pair: Pair, run: KernelRun, params: IdleLatencyParams) -> Walked:
    if len(run.samples) != 1:
        raise ValueError(f"the kernel chase measured {len(run.samples)} sizes for {pair.name}, not one")
    sample = chased(run.samples[0])
    caches = number(run.meta, "llc_bytes")
    flags = {
        "switched": sample.dropped > _MANY_DROPPED * (sample.dropped + sample.latency.n),
        "small-working-set": sample.size < CACHES * caches,
        "smaller-memory": params.data_size is None and sample.size >= lowered(pair.memory, sample.size + 1),
    }
    mine = tuple(flag for flag, holds in flags.items() if holds)
    found = (*settled_flags(sample.settled, run.end, sample.dropped), *page_flags(run.meta), *mine)
    return Walked(pair, sample, number(run.meta, "page_bytes"), found)


def _of_pair(one: Walked) -> list[Measurement]:
    sample = one.sample
    return [
        Measurement("latency", sample.latency.median, one.at, sample.latency, one.flags),
        Measurement("latency_cycles", sample.cycles.median, one.at, sample.cycles, one.flags),
        Measurement("data_size", float(sample.size), one.at),
    ]


def _ratios(walked: Sequence[Walked]) -> list[Measurement]:
    """To the local memory of the node that runs; a node without memory of its own has nothing to compare with."""
    local = {one.pair.run.id: one for one in walked if one.pair.run.id == one.pair.memory.id}
    found = []
    for one in walked:
        own = local.get(one.pair.run.id)
        if own is not None:
            flags = tuple(dict.fromkeys((*one.flags, *own.flags)))
            found.append(
                Measurement("ratio", one.sample.latency.median / own.sample.latency.median, one.at, None, flags)
            )
    return found


def _distances(walked: Sequence[Walked], facts: HostFacts) -> list[Measurement]:
    table = _distance_table(facts)
    return [
        Measurement("distance", float(table[place]), one.at)
        for one in walked
        if (place := (one.pair.run.id, one.pair.memory.id)) in table
    ]


def _distance_table(facts: HostFacts) -> Mapping[tuple[int, int], int]:
    """By numbers of nodes. The system lists a distance for each online node, in their order, whatever their numbers."""
    ids = sorted(node.id for node in facts.nodes)
    return {
        (node.id, other): distance
        for node in facts.nodes
        if len(node.distances) == len(ids)
        for other, distance in zip(ids, node.distances, strict=True)
    }


def _circumstances(walked: Sequence[Walked], params: IdleLatencyParams) -> list[Measurement]:
    clock = stats_of([one.sample.clock_hz for one in walked], independent=False)
    return [
        Measurement("core_clock", clock.median, stats=clock, flags=(CYCLE_BASE,) if params.cycle_base else ()),
        *(Measurement("page_size", one.page_bytes, one.at) for one in walked),
    ]


def _left_out(params: IdleLatencyParams, measured: set[str], facts: HostFacts) -> list[Measurement]:
    size = SMALLEST if params.data_size is None else params.data_size
    return [left_out(pair.run, pair.memory, needed_bytes(size)) for pair in pairs(facts) if pair.name not in measured]
