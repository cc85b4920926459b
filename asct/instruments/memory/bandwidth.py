"""The base class of the bandwidth benchmarks, and the series for their figures."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar, Final, TypeVar

from asct.instruments.memory.sizes import CACHE, page_privileges
from asct.instruments.memory.stream import IN_CYCLES, IN_TIME, KERNEL, BandwidthStyle, StreamParams
from asct.instruments.memory.traffic import TITLES
from asct.instruments.memory.visits import VISITS_MOST, VisitedBenchmark, in_own_order
from asct.sdk.benchmark import Context
from asct.sdk.facts import HostFacts
from asct.sdk.figure import Axis, Bars, Series
from asct.sdk.needs import Needs
from asct.sdk.record import Record
from asct.sdk.rows import at, series_name, series_of
from asct.sdk.step import Step
from asct.statistics.visits import VISITS_MIN

TRIALS_S: Final = 0.01
"""Duration, in seconds, of the short trials that compare all variants of an access pattern. Only the fastest variant is
then measured."""
OWN_COLUMNS: Final = ("traffic",)
"""Settings that have their own column in the tables, even if they are not swept."""

P = TypeVar("P", bound=StreamParams)


class BandwidthBenchmark(VisitedBenchmark[P]):
    """A benchmark that derives bandwidths from the samples of the `stream` kernel.

    Each process measures several values in the same memory, in an order that differs between visits.
    """

    keywords: ClassVar[tuple[str, ...]] = ("memory", "bandwidth")
    dependencies = (CACHE,)

    @abstractmethod
    def demand(self, params: P, facts: HostFacts | None) -> tuple[int, float]:
        """Return the memory (in bytes) and the time (in seconds) required for one visit. Without facts, both are
        estimates."""

    def style(self, records: Sequence[Record]) -> BandwidthStyle:
        """Return IN_CYCLES if `cycle_base` is set for any point in the records, otherwise IN_TIME."""
        return IN_CYCLES if self.in_cycles(records) else IN_TIME

    def steps(self, params: P, context: Context) -> Sequence[Step]:
        return [in_own_order(step, params.seed) for step in super().steps(params, context)]

    def expected(self, params: P) -> float:
        """Return the number of visits to assume in estimates. If `visits` is not set, it is between the number of pilot
        visits and the maximum."""
        return params.visits or (VISITS_MIN + VISITS_MOST) / 2

    def needs(self, params: P, facts: HostFacts | None) -> Needs:
        """Return the required resources: the kernel, and the memory and time that all of its threads need."""
        memory_bytes, seconds = self.demand(params, facts)
        return Needs(
            kernels=(KERNEL,),
            memory_bytes=memory_bytes,
            seconds=seconds * self.expected(params),
            privileges=page_privileges(params.pages, KERNEL),
        )


def traffic_kinds(records: Sequence[Record], metric: str = "bus_bandwidth") -> list[str]:
    """Return the access patterns that have a value of `metric`, in the order in which tables list them."""
    found = {record.coords["traffic"] for record in records if record.metric == metric}
    return [traffic for traffic in TITLES if traffic in found]


def traffic_series(
    records: Sequence[Record], metric: str, name: str, titles: Mapping[str, str] = TITLES, **coords: str
) -> Series:
    """Return the median and interval for each access pattern at one point."""
    kinds = traffic_kinds(records)
    groups = [at(records, metric, traffic=traffic, **coords) for traffic in kinds]
    return series_of(series_name(name, records[0], OWN_COLUMNS), [titles[traffic] for traffic in kinds], groups)


def traffic_bars(slug: str, title: str, caption: str, series: Sequence[Series]) -> tuple[Bars, ...]:
    """Return a bar chart of the access patterns, or an empty tuple if there are no series."""
    axes = Axis("Traffic", scale="category"), Axis("Bandwidth", "B/s", better="higher")
    return (Bars(slug, title, caption, *axes, tuple(series)),) if series else ()
