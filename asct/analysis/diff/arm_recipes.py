"""Convert the results of Arm's ASCT to metrics of the corresponding benchmarks.

ASCT calls a benchmark a recipe. If a recipe measures something other than the benchmark of the same name, the values of
the recipe state why they cannot be compared with values that asct measured. `docs/results.md` (Results of Arm's ASCT)
contains the complete list with the reasons.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from statistics import median
from typing import Any, Final

from asct.analysis.diff.arm_tables import ArmTable, misfit, table_of
from asct.sdk.metric import Better
from asct.sdk.record import Scalar
from asct.values.error import clip
from asct.values.grouping import grouped

_TICKS: Final = "ASCT counts ticks of a timer with a constant frequency, not core cycles"
_LINES: Final = "ASCT counts 64 bytes for each 8-byte load"
_ONE_NODE: Final = "ASCT measures one node and extrapolates to all CPUs"
_UNKNOWN_NODES: Final = "ASCT measures one node, and the folder does not say how many there are"
_DIMMS: Final = "ASCT counts each memory module as a channel"
_EMPTY_LOOP: Final = "ASCT delays the load with iterations of an empty loop, whereas asct uses NOP instructions"
_FASTEST: Final = "ASCT reports the fastest walk, whereas asct reports the median"
_FEW_CPUS: Final = "ASCT always uses the same `numjobs` CPUs, regardless of the number of processes"
_MEBI: Final = 1 << 20
_SIZE: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)([KMGT]?)")
_NODE: Final = re.compile(r"Node ([0-9]{1,4})")

TICK_METRICS: Final[Mapping[str, tuple[str, Better]]] = {
    "latency_ticks": ("ticks", "lower"),
    "bandwidth_ticks": ("B/tick", "higher"),
    "bus_bandwidth_ticks": ("B/tick", "higher"),
}
"""Units and directions of metrics that no asct benchmark has."""


@dataclass(frozen=True, slots=True)
class ArmValue:
    """One value, in the base unit of its metric. `point` contains the swept setting, if any. `unlike` is the reason why
    the value cannot be compared with values that asct measured."""

    metric: str
    value: float
    coords: Mapping[str, Scalar]
    point: Mapping[str, Scalar] = field(default_factory=dict)
    unlike: str = ""


@dataclass(slots=True)
class ArmRecipe:
    """The results of one recipe. `data` and `summary` are its tables as read from JSON; `place` is the file that
    contains `data`, and `nodes` is the number of NUMA nodes. `config` contains the settings that ASCT recorded."""

    place: str
    data: Mapping[str, Any]
    summary: Mapping[str, Any] | None = None
    config: Mapping[str, Any] = field(default_factory=dict)
    nodes: int | None = None
    tables: list[ArmTable] = field(default_factory=list)

    @property
    def ticks(self) -> bool:
        """Whether the values are in ticks (`cycle_base`), for tables whose column names do not state the unit."""
        return self.config.get("cycle_base") is True

    def table(self, content: object, part: str = "") -> ArmTable:
        """Return a table of the recipe; `part` identifies the part of the file that contains it. Raises StoreError
        (E530)."""
        self.tables.append(table_of(content, f"{self.place}{part}"))
        return self.tables[-1]

    def curve(self) -> ArmTable:
        """Return the table with all sizes that a sweep measured. The table is empty if the file contains no
        such table."""
        content = self.data.get("sweep_data", self.data if "sizes" in self.data else {})
        return self.table(content, ": sweep_data")

    def levels(self) -> ArmTable:
        """Return the summary table of a sweep, with one row per level. The table is empty if the file contains no such
        table."""
        alone = {} if {"sweep_data", "sizes"} & self.data.keys() else self.data
        content = self.data.get("summary", alone if self.summary is None else self.summary)
        return self.table(content, ": summary")


def _latency(value: float, unit: str, **fields: Any) -> ArmValue:
    """Return a latency in ns or in ticks."""
    if unit == "ns":
        return ArmValue("latency", value / 1e9, **fields)
    return ArmValue("latency_ticks", value, **{**fields, "unlike": _TICKS})


def _bandwidth(metric: str, value: float, unit: str, **fields: Any) -> ArmValue:
    """Return a bandwidth in GB/s (1e9 bytes per second) or in bytes per tick."""
    if unit == "GB/s":
        return ArmValue(metric, value * 1e9, **fields)
    return ArmValue(f"{metric}_ticks", value, **{**fields, "unlike": _TICKS})


def _unit(column: str) -> str:
    """Return the unit stated in a column name, such as `ns` in `Latency [ns]`."""
    return column.rpartition("[")[2].removesuffix("]")


def _latency_sweep(recipe: ArmRecipe) -> Iterator[ArmValue]:
    curve, levels = recipe.curve(), recipe.levels()
    measured: dict[int, float] = {}
    for row in curve.rows:
        size, latency = curve.integer(row, "sizes"), curve.number(row, "average_latency_ns")
        if size is not None and latency is not None:
            measured[size] = latency
            yield _latency(latency, "ns", coords={"size": size})
    for row in levels.rows:
        at: dict[str, Scalar] = {"level": row}
        bounds = {"lower_bound": "Lower Bound", "upper_bound": "Upper Bound", "optimum_size": "Optimum Datasize"}
        found = {metric: levels.integer(row, column) for metric, column in bounds.items()}
        yield from (ArmValue(metric, size, at) for metric, size in found.items() if size is not None)
        for column, value in levels.numbers(row, "Latency ["):
            yield _latency(value, _unit(column), coords=at)
        optimum = found["optimum_size"]
        if "Latency [ns]" not in levels.columns and optimum in measured:
            yield _latency(measured[optimum], "ns", coords=at)


def _bandwidth_sweep(recipe: ArmRecipe) -> Iterator[ArmValue]:
    curve, levels = recipe.curve(), recipe.levels()
    for row in curve.rows:
        size, rate = curve.integer(row, "sizes"), curve.number(row, "total_bandwidth_mbps")
        if size is not None and rate is not None:
            yield ArmValue("bandwidth", rate * 1e6, {"size": size, "traffic": "all-reads"}, unlike=_LINES)
    for row in levels.rows:
        level = levels.text(row, "Level")
        if not level:
            continue
        at: dict[str, Scalar] = {"level": level, "traffic": "all-reads"}
        for column, value in levels.numbers(row, "Bandwidth ["):
            # DRAM values are comparable: memory transfers whole lines, even if few of their bytes are loaded.
            yield _bandwidth("bandwidth", value, _unit(column), coords=at, unlike="" if level == "DRAM" else _LINES)


def _matrix(recipe: ArmRecipe) -> Iterator[tuple[dict[str, Scalar], float]]:
    """Yield the cells of a matrix whose rows are CPU nodes and whose columns are memory nodes."""
    table = recipe.table(recipe.data)
    for row in table.rows:
        for column, value in table.numbers(row):
            yield {"run_node": _node(row, table), "memory_node": _node(column, table)}, value


def _node(label: str, table: ArmTable) -> int:
    found = _NODE.fullmatch(label)
    if found is None:
        raise misfit(f"{table.place}: `{clip(label)}` is not the name of a node")
    return int(found[1])


def _idle_latency(recipe: ArmRecipe) -> Iterator[ArmValue]:
    for pair, value in _matrix(recipe):
        yield _latency(value, "ticks" if recipe.ticks else "ns", coords=pair)


def _cross_numa_bandwidth(recipe: ArmRecipe) -> Iterator[ArmValue]:
    for pair, value in _matrix(recipe):
        yield _bandwidth("bandwidth", value, "ticks" if recipe.ticks else "GB/s", coords=pair)


_TRAFFIC: Final = {
    "All Reads": "all-reads", "3:1 Reads-Writes": "3:1", "2:1 Reads-Writes": "2:1", "1:1 Reads-Writes": "1:1",
    "2:1 Rd-Wr (Non-Temporal)": "2:1-nt",
}  # fmt: skip


def _peak_bandwidth(recipe: ArmRecipe) -> Iterator[ArmValue]:
    """Yield the values as bus bandwidths, because ASCT also counts the cache line that a store reads before it
    writes."""
    table = recipe.table(recipe.data)
    reason = "" if recipe.nodes == 1 else _UNKNOWN_NODES if recipe.nodes is None else _ONE_NODE
    for row in table.rows:
        title = table.text(row, "Traffic type") or ""
        at: dict[str, Scalar] = {"traffic": _TRAFFIC.get(title, title)}
        for column, value in table.numbers(row, "Peak BW ["):
            yield _bandwidth("bus_bandwidth", value, _unit(column), coords=at, unlike=reason)
        if (share := table.number(row, "% of Peak Theoretical")) is not None:
            yield ArmValue("share_of_theoretical", share, at, unlike=_DIMMS)


def _loaded_latency(recipe: ArmRecipe) -> Iterator[ArmValue]:
    table = recipe.table(recipe.data)
    for row in table.rows:
        delay = table.integer(row, "Injected NOPs")
        if delay is None:
            continue
        at: dict[str, Scalar] = {"delay": delay}
        for column, value in table.numbers(row, "Loaded latency ["):
            yield _latency(value, _unit(column), coords=at, unlike=_EMPTY_LOOP)
        for column, value in table.numbers(row, "Bandwidth ["):
            yield _bandwidth("bus_bandwidth", value, _unit(column), coords=at, unlike=_EMPTY_LOOP)
        if (share := table.number(row, "% of Peak Theoretical BW")) is not None:
            yield ArmValue("share_of_theoretical", share, at, unlike=_DIMMS)


def _core_to_core(recipe: ArmRecipe) -> Iterator[ArmValue]:
    """Yield the latency of each pair of CPUs, and the medians over all pairs."""
    table = recipe.table(recipe.data)
    names = {"cpu_a": "CPUA", "cpu_b": "CPUB", "node_a": "CPUA_NODE", "memory_node": "MEMBIND_NODE"}
    found: list[tuple[dict[str, Scalar], float]] = []
    for row in table.rows:
        cells = {name: table.integer(row, column) for name, column in names.items()}
        pair: dict[str, Scalar] = {name: cell for name, cell in cells.items() if cell is not None}
        latency = table.number(row, "LATENCY")
        if latency is not None and len(pair) == len(names):
            found.append(({**pair, "method": "chain"}, latency))
    nodes = {pair["cpu_a"]: pair["node_a"] for pair, _ in found}
    for pair, _ in found:  # ASCT writes the node only for the first CPU of a pair
        if pair["cpu_b"] in nodes:
            pair["node_b"] = nodes[pair["cpu_b"]]
    pairs = [_latency(value, "ns", coords=pair, unlike=_FASTEST) for pair, value in found]
    local = grouped(pairs, lambda value: value.coords["node_a"] == value.coords["memory_node"])
    for near, mine in local.items():
        at: dict[str, Scalar] = {"method": "chain", "data": "local" if near else "remote"}
        yield replace(mine[0], value=median(one.value for one in mine), coords=at)
    yield from pairs


def _storage(recipe: ArmRecipe, axis: str) -> Iterator[ArmValue]:
    table = recipe.table(recipe.data)
    for row in table.rows:
        point = {axis: _step(axis, row, table)}
        for value in _of_point(table, row):
            yield replace(value, point=point, unlike=_FEW_CPUS if axis == "numjobs" else "")


def _step(axis: str, label: str, table: ArmTable) -> Scalar:
    """Return the value of the swept setting in a row. The row's label is a size for `block_size`, a pattern for `rw`,
    and a count for other settings."""
    if axis == "rw":
        return label
    found = _SIZE.fullmatch(label)
    if found is None or (axis != "block_size" and not label.isdecimal()):
        raise misfit(f"{table.place}: the row label `{clip(label)}` is not a valid {axis}")
    factor: int = 1024 ** " KMGT".index(found[2] or " ")
    return round(float(found[1]) * factor)


def _of_point(table: ArmTable, row: str) -> Iterator[ArmValue]:
    """Yield the values of one step. The values of a direction without requests are zero; they are skipped, because
    nothing was measured."""
    for prefix, title in (("", ""), ("read_", "Read "), ("write_", "Write ")):
        rate = table.number(row, f"{title}Thruput (kops)")
        if not rate:
            continue
        yield ArmValue(f"{prefix}iops", rate * 1e3, {})
        if (bandwidth := table.number(row, f"{title or 'Total '}BW (MB/s)")) is not None:
            # The values are in MiB/s, even if the column name states another unit.
            yield ArmValue(f"{prefix}bandwidth", bandwidth * _MEBI, {})
        if (latency := table.number(row, f"{title}Lat. (us)")) is not None:
            yield ArmValue(f"{prefix}latency", latency / 1e6, {})
    for name in ("usr", "sys", "iowait"):
        if (share := table.number(row, f"CPU {name} (%)")) is not None:
            yield ArmValue(f"used_cpu_{name}", share, {})


RECIPES: Final[Mapping[str, Callable[[ArmRecipe], Iterator[ArmValue]]]] = {
    "latency-sweep": _latency_sweep,
    "bandwidth-sweep": _bandwidth_sweep,
    "idle-latency": _idle_latency,
    "peak-bandwidth": _peak_bandwidth,
    "cross-numa-bandwidth": _cross_numa_bandwidth,
    "loaded-latency": _loaded_latency,
    "c2c-latency": _core_to_core,
    "storage-request-size-sweep": partial(_storage, axis="block_size"),
    "storage-io-depth-sweep": partial(_storage, axis="iodepth"),
    "storage-process-count-sweep": partial(_storage, axis="numjobs"),
    "storage-access-pattern-sweep": partial(_storage, axis="rw"),
}
"""Maps each recipe that has a corresponding benchmark (one with the same name or alias) to the function that yields its
values."""
NOT_COMPARED: Final[Mapping[str, str]] = {
    "system-info": "",
    **dict.fromkeys(("cmn", "sysreg", "ucie", "dms", "pss"), "registers"),
    "network-info": "network interfaces",
    **dict.fromkeys(("iperf3-tcp-sweep", "iperf3-udp-sweep"), "results of network benchmarks"),
}
"""Maps each recipe that has no corresponding benchmark to a description of its results. The text for system-info is
empty, because its content is compared as facts."""
