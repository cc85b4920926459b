"""From the samples of the kernel load to measurements: each level, each target, and the curve as a whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from asct.benchmarks.loaded_latency.command import layout
from asct.benchmarks.loaded_latency.curve import summary
from asct.benchmarks.loaded_latency.findings import SMALL_CHAIN
from asct.benchmarks.loaded_latency.params import LoadedLatencyParams
from asct.benchmarks.loaded_latency.samples import Level, levels_of
from asct.instruments.memory.needed import CACHES
from asct.instruments.memory.pages import page_flags
from asct.instruments.memory.settings import CYCLE_BASE
from asct.instruments.memory.stream_sizes import working_set_flags
from asct.sdk.facts import HostFacts
from asct.sdk.record import Measurement, Scalar, Stats
from asct.sdk.samples import KernelRun, number
from asct.statistics.robust import median


def measurements(params: LoadedLatencyParams, run: KernelRun, facts: HostFacts) -> list[Measurement]:
    """Everything that the run says. Raises ValueError for samples that are none."""
    levels = levels_of(run)
    theoretical = params.theoretical_bandwidth or facts.memory.theoretical_bandwidth
    extra = _size_flags(params, run.meta, facts)
    found = [item for level in levels for item in _of_level(params, level, theoretical, extra)]
    idle = next((level.latency.median for level in levels if level.phase == "idle" and level.latency), None)
    if params.phase != "loading":
        rungs = [
            replace(level, flags=(*level.flags, *extra["bandwidth"])) for level in levels if level.phase == "level"
        ]
        found += summary(rungs, idle, extra["latency"])
    if theoretical is not None:
        found.append(Measurement("theoretical_bandwidth", theoretical))
    return found + _circumstances(params, levels, run.meta)


def _of_level(
    params: LoadedLatencyParams, level: Level, theoretical: float | None, extra: Mapping[str, tuple[str, ...]]
) -> list[Measurement]:
    flags = (*level.flags, *extra["latency"])
    if level.delay is None:
        return _latencies(level, "idle_latency", {}, flags) + _workload(level, "idle_workload_time", {})
    at: dict[str, Scalar] = {"delay": level.delay} if level.target is None else {"target_bandwidth": level.target}
    found = _latencies(level, "latency", at, flags) + _workload(level, "workload_time", at)
    if level.bandwidth is not None and params.phase != "loading":
        found += _bandwidths(level, level.bandwidth, at, theoretical, extra["bandwidth"])
    if level.target is not None:
        found.append(Measurement("nops", float(level.delay), dict(at), flags=level.flags))
    return found


def _latencies(level: Level, metric: str, at: Mapping[str, Scalar], flags: tuple[str, ...]) -> list[Measurement]:
    if level.latency is None:
        return []
    found = [Measurement(metric, level.latency.median, dict(at), level.latency, flags)]
    if level.clock_hz is not None:
        cycles = level.latency.scaled(level.clock_hz)
        found.append(Measurement(f"{metric}_cycles", cycles.median, dict(at), cycles, flags))
    return found


def _workload(level: Level, metric: str, at: Mapping[str, Scalar]) -> list[Measurement]:
    return [] if level.workload is None else [Measurement(metric, level.workload, dict(at), flags=level.flags)]


def _bandwidths(
    level: Level, useful: Stats, at: Mapping[str, Scalar], theoretical: float | None, extra: tuple[str, ...]
) -> list[Measurement]:
    bus = useful.scaled(level.bus_share)
    flags = (*level.flags, *extra)
    spreads = {"bandwidth": useful, "bus_bandwidth": bus}
    if level.clock_hz is not None:
        spreads["bandwidth_cycles"] = useful.scaled(1.0 / level.clock_hz)
    found = [Measurement(name, stats.median, dict(at), stats, flags) for name, stats in spreads.items()]
    if theoretical is not None:
        share = 100.0 * bus.median / theoretical
        words = (*flags, *(("above-theoretical",) if share > 100.0 else ()))
        found.append(Measurement("share_of_theoretical", share, dict(at), flags=words))
    return found


def _size_flags(params: LoadedLatencyParams, meta: Mapping[str, Any], facts: HostFacts) -> dict[str, tuple[str, ...]]:
    """What the sizes say against all latencies, and against all bandwidths."""
    asked = meta.get("options")
    sizes = asked if isinstance(asked, Mapping) else {}
    small = number(sizes, "size") < CACHES * number(meta, "llc_bytes")
    cpus = layout(params, facts).load_cpus
    return {
        "latency": (SMALL_CHAIN,) if small else (),
        "bandwidth": working_set_flags(facts, cpus, int(number(sizes, "load-size"))),
    }


def _circumstances(params: LoadedLatencyParams, levels: Sequence[Level], meta: Mapping[str, Any]) -> list[Measurement]:
    clocks = [level.clock_hz for level in levels if level.clock_hz is not None]
    shown = (CYCLE_BASE,) if params.cycle_base else ()
    found = [Measurement("core_clock", median(clocks), flags=shown)] if clocks else []
    arenas = [meta.get("chain_arena"), *(meta.get("load_arenas") or ())]
    pages = [arena for arena in arenas if isinstance(arena, Mapping)]
    if not pages:
        raise ValueError("the kernel load does not say which memory it used")
    flags = tuple(dict.fromkeys(flag for arena in pages for flag in page_flags(arena)))
    found.append(Measurement("page_size", min(number(arena, "page_bytes") for arena in pages), flags=flags))
    options = meta["options"]
    if meta.get("chain_arena") is not None:
        found.append(Measurement("data_size", number(options, "size")))
    found.append(Measurement("load_size", number(options, "load-size")))
    return [*found, Measurement("threads", float(len(meta.get("cpus") or ())))]
