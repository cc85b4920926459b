"""The base class of the bandwidth benchmarks, and the series of their figures."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar, Final, TypeVar

from asct.instruments.memory.sizes import CACHE, page_privileges
from asct.instruments.memory.stream import KERNEL, StreamParams
from asct.instruments.memory.traffic import TITLES
from asct.sdk.benchmark import Benchmark, Context
from asct.sdk.facts import HostFacts
from asct.sdk.figure import Axis, Bars, Series
from asct.sdk.needs import Needs
from asct.sdk.record import Measurement, Record
from asct.sdk.rows import at, series_name, series_of
from asct.sdk.samples import KernelRun, read_kernel
from asct.sdk.step import Output, Step

TRIALS_S: Final = 0.1
"""Time of the short trials of all variants of a kind of traffic, before the fastest is measured."""
OWN_COLUMNS: Final = ("traffic",)
"""Settings that have a column of their own in the tables, swept or not."""

P = TypeVar("P", bound=StreamParams)


class BandwidthBenchmark(Benchmark[P]):
    """A benchmark that runs a fixed list of processes of the kernel `stream` and converts their samples."""

    keywords: ClassVar[tuple[str, ...]] = ("memory", "bandwidth")
    dependencies = (CACHE,)

    @abstractmethod
    def demand(self, params: P, facts: HostFacts | None) -> tuple[int, float]:
        """Return the bytes of memory and the seconds of a repeat; an estimate without facts."""

    @abstractmethod
    def processes(self, params: P, context: Context) -> Sequence[Step]:
        """Return all processes of a repeat; raise LookupError if no size is set and latency-sweep found none."""

    @abstractmethod
    def values(self, params: P, runs: Mapping[str, KernelRun], facts: HostFacts) -> Sequence[Measurement]:
        """Return the values of the processes; `runs` are their outputs by the name of the step."""

    def needs(self, params: P, facts: HostFacts | None) -> Needs:
        """Return the requirements: the kernel, and memory and time of all its threads."""
        memory_bytes, seconds = self.demand(params, facts)
        return Needs(
            kernels=(KERNEL,),
            memory_bytes=memory_bytes,
            seconds=seconds,
            privileges=page_privileges(params.pages, KERNEL),
        )

    def steps_known_ahead(self, params: P, facts: HostFacts) -> bool:
        return True

    def steps(self, params: P, context: Context) -> Sequence[Step]:
        """Return the processes that have not run yet."""
        return self.processes(params, context)[len(context.done) :]

    def parse(self, params: P, outputs: Sequence[Output], facts: HostFacts) -> Sequence[Measurement]:
        """Return bandwidths, core clock and page size; raise ValueError for invalid output."""
        if not outputs:
            raise ValueError("the kernel stream was not run")
        return self.values(params, {output.step.name: read_kernel(output) for output in outputs}, facts)


def traffic_kinds(records: Sequence[Record], metric: str = "bus_bandwidth") -> list[str]:
    """Return the kinds of traffic that have a value of `metric`, in the order of tables."""
    found = {record.coords["traffic"] for record in records if record.metric == metric}
    return [traffic for traffic in TITLES if traffic in found]


def traffic_series(
    records: Sequence[Record], metric: str, name: str, titles: Mapping[str, str] = TITLES, **coords: str
) -> Series:
    """Return the medians of one point by kind of traffic, with their intervals."""
    kinds = traffic_kinds(records)
    groups = [at(records, metric, traffic=traffic, **coords) for traffic in kinds]
    return series_of(series_name(name, records[0], OWN_COLUMNS), [titles[traffic] for traffic in kinds], groups)


def traffic_bars(slug: str, title: str, caption: str, series: Sequence[Series]) -> tuple[Bars, ...]:
    """Return a bar chart over the kinds of traffic; nothing without series."""
    axes = Axis("Traffic", scale="category"), Axis("Bandwidth", "B/s")
    return (Bars(slug, title, caption, *axes, tuple(series), better="higher"),) if series else ()
