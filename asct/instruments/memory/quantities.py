"""The quantities that several memory benchmarks measure, and the conditions under which their values must agree.

A condition that asct determines (unset or `auto`) is considered equal in all benchmarks, no matter which value each of
them uses: if a plan measures memory latency twice, the results must agree.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from asct.instruments.memory.topology import cpu_nodes, measuring_cpu, memory_nodes, node_of_cpu
from asct.instruments.memory.traffic import widths_of
from asct.sdk.quantity import Quantity, settings

if TYPE_CHECKING:
    from asct.sdk.facts import HostFacts

LATENCY: Final = "load-to-use latency"
BANDWIDTH: Final = "bandwidth"
_DRAM: Final = {"level": "DRAM"}
_LEVEL_END: Final = "end of a cache level"
_CYCLES: Final = ("latency_cycles",)
_BANDWIDTHS: Final = ("bus_bandwidth", "bandwidth_cycles", "bus_bandwidth_cycles")


def _of_chain(values: Mapping[str, Any], facts: HostFacts) -> Mapping[str, Any]:
    """Return the conditions of a latency measurement: the CPU node, the memory node, and the chain settings."""
    named = next((values[name] for name in ("cpu", "latency_cpu_id") if values.get(name) is not None), None)
    cpu = measuring_cpu(facts, named, values.get("memory_node"))
    here = node_of_cpu(facts, cpu) if cpu is not None else None
    run_node = here.id if here is not None else None
    chosen = values.get("memory_node")
    conditions = settings("pages", "stride", "data_size")(values, facts)
    return {**conditions, "run_node": run_node, "memory_node": run_node if chosen is None else chosen}


def _of_threads(values: Mapping[str, Any], facts: HostFacts) -> Mapping[str, Any]:
    """Return the conditions of a bandwidth measurement. `threads` and `cpus` are None if all CPUs take part, and the
    nodes are None if there are several."""
    nodes = [*cpu_nodes(facts), *memory_nodes(facts)]
    only = nodes[0].id if nodes and all(node.id == nodes[0].id for node in nodes) else None
    width, threads, chosen = (values.get(name) for name in ("width", "threads", "memory_node"))
    return {
        **settings("pages", "traffic")(values, facts),
        "data_size": values.get("load_size" if "load_size" in values else "data_size"),
        "width": widths_of(facts)[-1] if width in (None, "auto") else width,
        "threads": None if threads == "all" else threads,
        "cpus": values.get("cpus") or values.get("load_cpus") or values.get("bw_cpu_blocklist") or None,
        "run_node": only,
        "memory_node": only if chosen is None else chosen,
    }


LEVEL_LATENCY: Final = Quantity(
    LATENCY, "latency", {"level": None}, {"level": "level"}, also=_CYCLES, conditions=_of_chain
)
"""The latency of a level found by latency-sweep. Its conditions match those of memory latencies that are measured on
the CPU's own node."""
CURVE_LATENCY: Final = Quantity(
    LATENCY, "latency", {"size": None}, also=_CYCLES, conditions=_of_chain, curve=("lower_bound", "optimum_size")
)
"""The latency of a level, as measured on the curve at sizes in the lower half of the level's range."""
PAIR_LATENCY: Final = Quantity(
    LATENCY, "latency", {"run_node": None, "memory_node": None},
    {"run_node": "run_node", "memory_node": "memory_node"}, _DRAM, _CYCLES, _of_chain,
)  # fmt: skip
IDLE_LATENCY: Final = Quantity(LATENCY, "idle_latency", {}, {}, _DRAM, ("idle_latency_cycles",), _of_chain)
PEAK_BANDWIDTH: Final = Quantity(
    BANDWIDTH, "bandwidth", {"traffic": None}, {"traffic": "traffic"}, _DRAM, _BANDWIDTHS, _of_threads
)
WIDTH_BANDWIDTH: Final = Quantity(
    BANDWIDTH, "bandwidth", {"traffic": None, "width": None},
    {"traffic": "traffic", "width": "width"}, _DRAM, _BANDWIDTHS, _of_threads,
)  # fmt: skip
PAIR_BANDWIDTH: Final = Quantity(
    BANDWIDTH, "bandwidth", {"run_node": None, "memory_node": None},
    {"run_node": "run_node", "memory_node": "memory_node"}, _DRAM, _BANDWIDTHS, _of_threads,
)  # fmt: skip
LOAD_BANDWIDTH: Final = Quantity(
    BANDWIDTH, "bandwidth", {"delay": 0}, {}, _DRAM, (*_BANDWIDTHS, "peak_bandwidth"), _of_threads, lower_bound=True
)
"""The bandwidth of the load threads without NOPs. All CPUs together cannot be slower than all CPUs but one. Only useful
bytes are comparable, because the bytes on the bus depend on the variant of the loop. At other delays, fewer requests
compete, so the bandwidth may be a few percent higher than with all CPUs at full speed."""
BANDWIDTH_OF_LEVEL: Final = Quantity(
    BANDWIDTH, "bandwidth", {"level": None, "traffic": None},
    {"level": "level", "traffic": "traffic"}, {}, _BANDWIDTHS, _of_threads,
)  # fmt: skip
CURVE_BANDWIDTH: Final = Quantity(
    BANDWIDTH, "bandwidth", {"size": None, "traffic": None}, {"traffic": "traffic"}, {}, _BANDWIDTHS, _of_threads,
    ("data_size", "data_size"),
)  # fmt: skip
CACHES_BANDWIDTH: Final = Quantity(
    BANDWIDTH, "level_bandwidth", {"traffic": None, "level": None}, {"traffic": "traffic", "level": "level"}, {},
    ("peak_cache_bandwidth", "peak_cache_bandwidth_cycles"), _of_threads,
)  # fmt: skip
"""The bandwidth of a cache level with all CPUs and the widest accesses, as in bandwidth-sweep with `threads: all`.
bandwidth-sweep uses a single thread by default, which is a different quantity. So are the cache sizes that
memory-profile derives from `data_size` or takes from `cache_sizes`: `data_size` is a condition, and the levels measured
at the sizes in `cache_sizes` have other names. Useful bytes are compared: the bytes on the bus have no meaning in a
cache."""
_OCTAVE: Final = 1.0
"""Two values for the end of a level agree if they differ by at most a factor of 2. Latency rises at the size at which
the first loads miss a cache, whereas bandwidth may fall halfway only at 1.5 times this size. In addition, the curve has
only two sizes per doubling."""
LEVEL_END: Final = Quantity(
    _LEVEL_END, "upper_bound", {"level": None}, {"level": "level"}, conditions=settings("pages"), tolerance=_OCTAVE
)
CURVE_END: Final = Quantity(
    _LEVEL_END, "curve_end", {"level": None}, {"level": "level"}, conditions=settings("pages"), tolerance=_OCTAVE
)


def transfers(metric: str) -> Quantity:
    """Return the quantity for the transfer time between two CPUs: `one_way` (token, cas) or `latency` (chain)."""
    names = ("cpu_a", "cpu_b", "method", "memory_node")
    at = dict.fromkeys((*names, "node_a", "node_b"))
    conditions = settings("pages", "turns", "chain_size", "addresses")
    return Quantity(
        f"{metric} between CPUs", metric, at, {name: name for name in names}, {}, (f"{metric}_cycles",), conditions
    )
