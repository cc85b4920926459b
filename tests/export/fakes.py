"""Two fake benchmarks for reports. Their names, tables and figures resemble the real ones, and their values are
given."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any, ClassVar

from asct.analysis.view import RunView, open_view
from asct.sdk.benchmark import Benchmark, Context
from asct.sdk.facts import HostFacts
from asct.sdk.figure import Axis, Bars, Column, Figure, Line, Marker, Series, Table
from asct.sdk.metric import Metric
from asct.sdk.needs import Needs
from asct.sdk.params import Params, Size, setting
from asct.sdk.record import Measurement, Record
from asct.sdk.step import Output, Step
from tests.export.sample import Sample, write_sample


class LatencyParams(Params):
    stride: Size = setting(64, "Bytes between two loads.")
    sizes: list[Size] = setting([], "Sizes of the chain.")
    pages: str = setting("auto", "Kind of page.")


class DepthParams(Params):
    block_size: Size = setting(4096, "Bytes of one request.")
    iodepth: int = setting(1, "Requests in flight.")
    rw: str = setting("randread", "Access pattern.")
    file_names: str | None = setting(None, "Target.")


class _Fake(Benchmark[Any]):
    def needs(self, params: Any, facts: HostFacts | None) -> Needs:
        return Needs()

    def steps(self, params: Any, context: Context) -> Sequence[Step]:
        return ()

    def parse(self, params: Any, outputs: Sequence[Output], facts: HostFacts) -> Sequence[Measurement]:
        return ()


def value_at(records: Sequence[Record], metric: str, **at: Any) -> float | None:
    found = [
        r.value
        for r in records
        if r.metric == metric and all({**r.point, **r.coords}.get(k) == v for k, v in at.items())
    ]
    return median(found) if found else None


class FakeLatency(_Fake):
    name = "latency-sweep"
    title = "Memory latency by data size"
    version = "1"
    keywords = ("memory", "latency")
    summary = "Latency of dependent loads over chains of 128 B to 1 GiB; finds the levels of cache."
    params_model = LatencyParams
    pictures: ClassVar[dict[str, str]] = {"curve": "latency-sweep"}
    metrics = (
        Metric("latency", "s", "lower", "Time of one dependent load.", {"size": None, "level": None}),
        Metric("latency_cycles", "cycles", "lower", "The same in core cycles.", {"size": None, "level": None}),
    )

    def tables(self, records: Sequence[Record]) -> Sequence[Table]:
        levels = list(dict.fromkeys(str(r.coords["level"]) for r in records if "level" in r.coords))
        rows = []
        for level in levels:
            row: dict[str, Any] = {"level": level, "latency": value_at(records, "latency", level=level)}
            row["cycles"] = value_at(records, "latency_cycles", level=level)
            for key in ("lower_bound", "upper_bound", "optimum_size"):
                row[key] = value_at(records, key, level=level)
            rows.append(row)
        columns = (
            Column("level", "Level", format="text"),
            Column("lower_bound", "Lower bound", format="size", help="Smallest size that this level serves."),
            Column("upper_bound", "Upper bound", format="size"),
            Column("optimum_size", "Optimum data size", format="size"),
            Column("latency", "Latency [ns]", scale=1e-9, digits=1),
            Column("cycles", "Latency [cycles]", digits=1),
        )
        return (Table("levels", "Latencies at different levels of cache", columns, tuple(rows)),)

    def figures(self, records: Sequence[Record]) -> Sequence[Figure]:
        curve = [r for r in records if r.metric == "latency" and "size" in r.coords and r.repeat == 1]
        if not curve:
            return ()
        series = Series(
            "latency",
            tuple(r.coords["size"] for r in curve),
            tuple(r.value for r in curve),
            tuple(r.stats.ci95[0] if r.stats and r.stats.ci95 else None for r in curve),
            tuple(r.stats.ci95[1] if r.stats and r.stats.ci95 else None for r in curve),
        )
        bounds = [r for r in records if r.metric == "upper_bound" and r.repeat == 1]
        markers = [Marker(r.value, str(r.coords["level"])) for r in bounds[:-1]]
        markers += [Marker(float(size), name, "hint") for size, name in ((32768, "L1d 32K"), (1 << 20, "L2 1M"))]
        return (
            Line(
                "curve",
                "Latency against data size",
                "Flat steps are levels of cache; solid lines mark where one ends, dotted ones what the host reports.",
                Axis("Data size", "B", "log2"),
                Axis("Latency", "s", "log10", better="lower"),
                (series,),
                tuple(markers),
            ),
        )


DEPTH_COLUMNS = (
    ("read_bandwidth", "Read BW (MB/s)", 1e6, 1),
    ("read_iops", "Read Thruput (kops)", 1e3, 1),
    ("read_clat_mean", "Read Lat. (us)", 1e-6, 1),
    ("read_clat_p50", "p50 (us)", 1e-6, 1),
    ("read_clat_p99", "p99 (us)", 1e-6, 1),
    ("read_clat_p99_99", "p99.99 (us)", 1e-6, 1),
    ("cpu_usr", "CPU usr (%)", 1.0, 1),
    ("cpu_sys", "CPU sys (%)", 1.0, 1),
    ("cpu_iowait", "CPU iowait (%)", 1.0, 1),
)


class FakeDepth(_Fake):
    name = "storage-io-depth-sweep"
    title = "Storage by queue depth"
    version = "1"
    keywords = ("storage",)
    summary = "Random reads with 1 to 128 requests in flight: bandwidth, rate, latency and processor time."
    params_model = DepthParams
    pictures: ClassVar[dict[str, str]] = {"bandwidth": "{id}/storage_io_bandwidth", "cpu": "{id}/storage_io_cpu"}
    flags: ClassVar[dict[str, str]] = {"noisy": "the value did not settle", "unseen": "stands in no table"}
    metrics = (
        Metric("bandwidth", "B/s", "higher", "Bytes moved a second."),
        Metric("iops", "ops/s", "higher", "Requests finished a second."),
        Metric("read_clat_mean", "s", "lower", "Mean completion latency."),
        Metric("read_iops", "ops/s", "higher", "Reads finished a second."),
    )

    def tables(self, records: Sequence[Record]) -> Sequence[Table]:
        rows = [
            {"iodepth": depth, **{key: value_at(records, key, iodepth=depth) for key, *_ in DEPTH_COLUMNS}}
            for depth in _depths(records)
        ]
        columns = (
            Column("iodepth", "IODepth", format="integer"),
            *(Column(k, t, s, d) for k, t, s, d in DEPTH_COLUMNS),
        )
        flags = tuple(dict.fromkeys(flag for record in records for flag in record.flags))
        return (Table("sweep", "Results by queue depth", columns, tuple(rows), flags=flags),)

    def figures(self, records: Sequence[Record]) -> Sequence[Figure]:
        depths = _depths(records)

        def series(name: str, metric: str) -> Series:
            groups = [[r.value for r in records if r.metric == metric and r.point["iodepth"] == d] for d in depths]
            return Series(
                name,
                tuple(depths),
                tuple(median(group) if group else None for group in groups),
                tuple(min(group) if group else None for group in groups),
                tuple(max(group) if group else None for group in groups),
            )

        x = Axis("Queue depth", "", "log2")
        names = (("p50", "p50"), ("p95", "p95"), ("p99", "p99"), ("p99.99", "p99_99"))
        percentiles = tuple(series(name, f"read_clat_{key}") for name, key in names)
        cpu = tuple(series(name, f"cpu_{name}") for name in ("usr", "sys", "iowait", "irq", "soft"))
        return (
            Bars("bandwidth", "Bandwidth", "Stops rising where the device is full.",
                 Axis("Queue depth", "", "category"), Axis("Bandwidth", "B/s", better="higher"),
                 (series("read", "read_bandwidth"),)),
            Line("iops", "Request rate", "Rises with the depth until the device is busy.", x,
                 Axis("Rate", "ops/s", better="higher"), (series("read", "read_iops"),)),
            Line("percentiles", "Read latency percentiles", "A tail that leaves the median is queueing.", x,
                 Axis("Latency", "s", "log10", better="lower"), percentiles),
            Bars("cpu", "Processor time", "Shares of all processors while the point ran.",
                 Axis("Queue depth", "", "category"), Axis("Share", "%"), cpu, stacked=True),
        )  # fmt: skip


def _depths(records: Sequence[Record]) -> list[int]:
    return sorted({int(str(r.point["iodepth"])) for r in records})


class Fakes:
    """A catalog of the two benchmarks."""

    def __init__(self) -> None:
        self._all: dict[str, Benchmark[Any]] = {item.name: item for item in (FakeLatency(), FakeDepth())}

    def names(self) -> list[str]:
        return sorted(self._all)

    def get(self, name: str) -> Benchmark[Any] | None:
        return self._all.get(name)


def sample_view(folder: Path, **changes: Any) -> RunView:
    """Write a run with these properties of `Sample` below `folder`, and open it with the fake benchmarks."""
    return open_view(write_sample(folder, Sample(**changes)), Fakes())
