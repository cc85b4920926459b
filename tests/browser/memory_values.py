"""Values of memory benchmarks on synthetic machines, obtained by parsing recorded outputs, scaling them, and repeating
them in visits."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import combinations, permutations
from typing import Any
from zlib import crc32

from asct.instruments.memory.combining import combined
from asct.instruments.memory.visits import visit_number
from asct.registry import installed
from asct.sdk.benchmark import Context
from asct.sdk.record import Measurement, Scalar, Stats, doubtful
from asct.sdk.step import Output, Step
from tests.benchmarks.load_streams import PEAK, levels, output
from tests.benchmarks.streams import Place, numbers, output_of
from tests.benchmarks.test_contract import folder_of, needed, option, replayed
from tests.browser.machines import Shape, facts

VISITS = 8
_INTERVAL = 0.02
_RATES = ("B/s", "B/cycle", "ops/s")
_IDLE_S = 1.15
"""Factor that makes the recorded latency of idle memory equal to that of the recorded latency sweep."""
_CORE_BYTES_PER_S = {48 << 10: 340e9, 1 << 20: 140e9, 8 << 20: 62e9, 34 << 20: 31e9}
"""The rate at which one core reads from a working set of at most this number of bytes."""
_CORE_MEMORY, _NODE_MEMORY = 16e9, 94e9
_TRAFFIC = {
    "all-reads": 1.0, "3:1": 0.93, "2:1": 0.9, "1:1": 0.84, "2:1-nt": 0.95, "copy": 0.72, "triad": 0.78, "write": 0.6,
    "nt-write": 0.82, "nt-copy": 0.86,
}  # fmt: skip
_LOADED_S = 1.72
"""Factor that makes the idle latency of the synthetic load equal to that of the recorded latency sweep."""


def chance(*key: object) -> float:
    """Return a number from -1 to 1 that depends only on the key."""
    return crc32(repr(key).encode()) / 0x7FFFFFFF - 1.0


@cache
def recorded(name: str, case: str = "default") -> tuple[Measurement, ...]:
    """Return the measurements parsed from a recorded repeat of a benchmark, without the flags that cast doubt on the
    recording machine."""
    benchmark = installed().get(name)
    assert benchmark is not None
    path = folder_of(benchmark) / "testdata" / f"{case}.json"
    params, facts, outputs = replayed(benchmark, json.loads(path.read_text(encoding="utf-8")))
    return tuple(
        replace(item, flags=tuple(flag for flag in item.flags if not doubtful(flag)))
        for item in benchmark.parse(params, outputs, facts)
    )


def scaled(item: Measurement, factor: float) -> Measurement:
    """Return the same measurement, with the value and the statistics multiplied by `factor`."""
    return replace(item, value=item.value * factor, stats=item.stats.scaled(factor) if item.stats else None)


def units_of(name: str) -> dict[str, str]:
    """Return the units of the metrics of a benchmark."""
    benchmark = installed().get(name)
    assert benchmark is not None
    return {metric.name: metric.unit for metric in benchmark.metrics}


def visited(name: str, items: Sequence[Measurement], seed: object) -> list[Measurement]:
    """Return the values as several visits measure them."""
    units = units_of(name)

    def of_visit(visit: int) -> list[Measurement]:
        found = []
        for item in items:
            steady = item.stats is None or units[item.metric] == "Hz"
            wide = 0.0 if steady else 0.012 if "size" in item.coords else 0.006
            around = wide * chance(seed, visit, item.metric, sorted(item.coords.items(), key=str))
            found.append(scaled(item, 1.0 + around))
        return found

    return combined([of_visit(visit) for visit in range(VISITS)], _INTERVAL)


def _slower(name: str, items: Sequence[Measurement], slow: float) -> list[Measurement]:
    """Return the values of a machine that is slower by the factor `slow`. Sizes, counts and clocks remain unchanged."""
    units = units_of(name) | {"theoretical_bandwidth": "B"}

    def factor(unit: str) -> float:
        return 1.0 / slow if unit in _RATES else slow if unit in ("s", "cycles") else 1.0

    return [scaled(item, factor(units[item.metric])) for item in items]


def _by_node(name: str, items: Sequence[Measurement], shape: Shape) -> Iterator[Measurement]:
    """Yield the values of one pair of nodes for every pair. The values are slower the farther apart the nodes are."""
    units, nodes = units_of(name), range(shape.sockets * shape.nodes)
    for item in items:
        if "run_node" not in item.coords:
            yield item
            continue
        for run in nodes:
            for memory in nodes:
                far = (1.0 + 0.02 * chance(run, memory)) / _near(shape, run, memory)
                yield replace(
                    scaled(item, 1.0 if units[item.metric] in ("B", "Hz") else far),
                    coords={**item.coords, "run_node": run, "memory_node": memory},
                )


def _pair(shape: Shape, a: int, b: int, method: str, node: int) -> float:
    """Return the time, in seconds, from one CPU to another, which depends on whether they share a core, a cluster, a
    node or a socket."""
    distances = ((shape.core, 8.0), (shape.cluster, 21.0), (shape.node, 46.0), (shape.socket, 78.0))
    ns = next((cost for part, cost in distances if part(a) == part(b)), 170.0)
    ns += 0.0 if shape.node(a) == node else 9.0
    return ns * {"token": 1.4, "cas": 1.0, "chain": 0.9}[method] * (1.0 + 0.04 * chance(a, b, method, node)) * 1e-9


def _core_to_core(shape: Shape, settings: dict[str, Any]) -> Iterator[Measurement]:
    """Yield the values of every pair of CPUs, or of the pairs among the last two CPUs of each node."""
    nodes = shape.groups("node")
    chosen = list(shape.cpus) if settings["all_cpus"] else sorted(cpu for mine in nodes for cpu in mine[-2:])
    for cpu in chosen:
        core, cluster = shape.groups("core")[shape.core(cpu)], shape.groups("cluster")[shape.cluster(cpu)]
        yield Measurement("core", float(core[0]), {"cpu_a": cpu}, detail=True)
        yield Measurement("cluster", float(cluster[0]), {"cpu_a": cpu}, detail=True)
    wanted = settings["memory_nodes"]
    nodes_used = sorted({shape.node(cpu) for cpu in chosen}) if wanted in ("local", "all") else wanted
    for method in settings["methods"]:
        metric = "latency" if method == "chain" else "one_way"
        pairs = list((permutations if method == "chain" else combinations)(chosen, 2))
        values = {(a, b, node): _pair(shape, a, b, method, node) for node in nodes_used for a, b in pairs}
        summaries: dict[tuple[Any, ...], list[float]] = {}
        for (a, b, node), value in values.items():
            data = "local" if shape.node(a) == node else "remote"
            for key in ((data,), (data, shape.node(a), shape.node(b))):
                summaries.setdefault(key, []).append(value)
        for key, found in summaries.items():
            place: dict[str, Scalar] = {"method": method, **dict(zip(("data", "node_a", "node_b"), key, strict=False))}
            middle = sorted(found)[len(found) // 2]
            yield Measurement(metric, middle, place, _spread(middle))
            if method != "chain":
                yield Measurement("round_trip", 2.0 * middle, place, _spread(2.0 * middle))
        for (a, b, node), value in values.items():
            place = {"cpu_a": a, "cpu_b": b, "node_a": shape.node(a), "node_b": shape.node(b), "method": method}
            yield Measurement(metric, value, {**place, "memory_node": node}, _spread(value), detail=True)


def _spread(value: float) -> Stats:
    return Stats(
        n=66, median=value, mad=value / 200, ci95=(value * 0.997, value * 1.003), min=value * 0.98, max=value * 1.06
    )


def _rate(place: Place, traffic: str, shape: Shape, seed: object) -> float:
    """Return the bytes per second of all threads in a step. Where all CPUs read, memory is placed less favorably in
    every third visit."""
    cpus = numbers(place.step, "cpus")
    core = next((rate for size, rate in _CORE_BYTES_PER_S.items() if place.size <= size), _CORE_MEMORY)
    rate = core * len({shape.core(cpu) for cpu in cpus})
    if core == _CORE_MEMORY:
        rate = min(rate, _NODE_MEMORY * len({shape.node(cpu) for cpu in cpus}))
    run, _, memory = place.step.name.partition("-memory")
    if memory:
        run_node, memory_node = int(run.removeprefix("node")), int(memory.partition("-")[0])
        rate *= _near(shape, run_node, memory_node)
    visit = visit_number(place.step.name)
    state = 0.86 if visit % 3 == 0 and len(cpus) == len(shape.cpus) and core == _CORE_MEMORY else 1.0
    return rate * _TRAFFIC[traffic] * state * (1.0 + 0.006 * chance(seed, visit, place.name, traffic))


def _near(shape: Shape, run: int, memory: int) -> float:
    same = run // shape.nodes == memory // shape.nodes
    return 1.0 if run == memory else 0.82 if same else 0.54


def _load(step: Step, shape: Shape, seed: object) -> Output:
    """Return the output of the `load` kernel, in which a queue grows as the memory approaches its limit."""
    delays = [int(one) for one in str(option(step, "delays")).split(",")]
    around = 1.0 + 0.008 * chance(seed, step.name)
    factors = {"_ps": _LOADED_S * around, "_bps": shape.sockets * shape.nodes * _NODE_MEMORY / PEAK / around}

    def moved(key: str, value: Any) -> Any:
        factor = next((one for ending, one in factors.items() if key.endswith(ending)), None)
        if factor is None or value is None:
            return value
        return [round(one * factor) for one in value] if isinstance(value, list) else round(value * factor)

    return output(step, [{key: moved(key, value) for key, value in line.items()} for line in levels(delays)])


def _played(name: str, settings: Mapping[str, Any], shape: Shape, seed: object) -> list[Measurement]:
    """Return the values that the real benchmark parses from the output of a synthetic kernel, visit by visit."""
    benchmark, known = installed().get(name), facts("h", shape)
    assert benchmark is not None
    params = benchmark.params_model(**settings)
    done: list[Output] = []
    while wanted := benchmark.steps(params, Context(known, "/work", tuple(done), needed(benchmark))):
        for step in wanted:
            answer = _load(step, shape, seed) if name == "loaded-latency" else output_of(
                step, lambda place, traffic: _rate(place, traffic, shape, seed)
            )  # fmt: skip
            done.append(answer)
    return list(benchmark.parse(params, done, known))


@cache
def _kept(name: str, settings: str, shape: Shape) -> tuple[Measurement, ...]:
    """Return the same values for all hosts of a fleet, which differ only by a factor."""
    return tuple(_played(name, json.loads(settings), shape, "kept"))


def memory_values(name: str, settings: dict[str, Any], shape: Shape, slow: float, seed: object) -> list[Measurement]:
    """Return the values of a memory benchmark on a machine of this shape that is slower than usual by the factor
    `slow`."""
    if name == "core-to-core-latency":
        return _slower(name, list(_core_to_core(shape, settings)), slow)
    if name in ("latency-sweep", "idle-latency"):
        items: Sequence[Measurement] = recorded(name)
        if name == "idle-latency":
            items = _slower(name, list(_by_node(name, items, shape)), _IDLE_S)
        return _slower(name, visited(name, items, seed), slow)
    found = _kept(name, json.dumps(settings, sort_keys=True), shape)
    return _slower(name, found, slow)
