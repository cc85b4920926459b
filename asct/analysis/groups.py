"""Values grouped by metric, swept settings and coordinates, for expectations and comparisons.

The value of each group is the median of its repeats. In this package, a combination of swept settings and coordinates
is called a place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any

from asct.analysis.agreement import Disagreement, RecordKey, record_key
from asct.sdk.record import Record, ValueState, doubtful
from asct.values.grouping import grouped


@dataclass(frozen=True, slots=True)
class MetricGroup:
    """All repeats of one metric with the same swept settings and coordinates, in a job on one host. `records` is never
    empty."""

    host: str
    id: str
    metric: str
    at: Mapping[str, Any]
    records: tuple[Record, ...]
    rivals: tuple[Disagreement, ...] = ()
    """Other values of the same quantity in the run that disagree with this value."""

    @property
    def key(self) -> RecordKey:
        """The key that identifies the group in its run: host, id, metric, point and coordinates."""
        return record_key(self.record)

    @property
    def record(self) -> Record:
        """The first record. It provides the unit, the direction, the benchmark and the point of the value."""
        return self.records[0]

    @property
    def values(self) -> list[float]:
        """The values of the repeats, in the metric's base unit."""
        return [record.value for record in self.records]

    @property
    def value(self) -> float:
        """The median of the repeats."""
        return median(self.values)

    @property
    def span(self) -> tuple[float, float]:
        """The interval of a single repeat, or the range of several repeats."""
        stats = self.record.stats
        if len(self.records) == 1 and stats is not None and stats.ci95 is not None:
            return stats.ci95
        return min(self.values), max(self.values)

    @property
    def noisy_span(self) -> tuple[float, float] | None:
        """The range by which a noisy value is judged: its span or, for a single repeat without an interval, the range
        of its visits or samples. None if the value is the only sample."""
        stats = self.record.stats
        if len(self.records) > 1 or (stats is not None and stats.ci95 is not None):
            return self.span
        if stats is None or stats.n == 1:
            return None
        visits = stats.visit_values or (stats.min, stats.max)
        return min(visits), max(visits)

    @property
    def states(self) -> tuple[ValueState, ...]:
        """The two values between which visits alternate, the smaller one first, as the medians over those repeats in
        which they do. Empty if there is no such repeat."""
        found = [
            sorted(record.stats.states, key=lambda state: state.value)
            for record in self.records
            if record.stats is not None and record.stats.states
        ]
        return tuple(
            ValueState(value=median(state.value for state in same), share=fmean(state.share for state in same))
            for same in zip(*found, strict=True)
        )

    @property
    def doubts(self) -> list[str]:
        """The sorted flags that cast doubt on the value, from all repeats. With `strict`, the verdict on a value that
        has such flags is unknown."""
        return sorted({flag for record in self.records for flag in record.flags if doubtful(flag)})


def gather(records: Iterable[Record], disagreements: Iterable[Disagreement] = ()) -> list[MetricGroup]:
    """Group records by host, id, metric, swept settings and coordinates, in order of first appearance. Warm-ups (repeat
    numbers below 1) are skipped."""
    rivals: dict[RecordKey, list[Disagreement]] = {}
    for side in disagreements:
        for place in side.places:
            rivals.setdefault(place, []).append(side)
    groups = grouped((record for record in records if record.repeat >= 1), record_key)
    return [
        MetricGroup(*place[:3], {**group[0].point, **group[0].coords}, tuple(group), tuple(rivals.get(place, ())))
        for place, group in groups.items()
    ]
