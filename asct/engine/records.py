"""Turns measurements into records, and into the results that other jobs read."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median, median_low, mode
from typing import Any

from asct.planner.model import Job, Point
from asct.sdk.benchmark import Benchmark
from asct.sdk.metric import Metric
from asct.sdk.record import Measurement, Record, Scalar

Swept = dict[str, Scalar | list[Scalar] | None]


class ContractBreach(ValueError):
    """A benchmark returned an undeclared metric, or a value that is not a finite number."""


@dataclass(frozen=True, slots=True)
class RecordOrigin:
    """The parts that all records of a job have in common."""

    run: str
    plan: str
    job: Job
    metrics: Mapping[str, Metric]

    @classmethod
    def of(cls, run: str, plan: str, job: Job, benchmark: Benchmark[Any]) -> RecordOrigin:
        """The origin of `job`'s records."""
        return cls(run, plan, job, {metric.name: metric for metric in benchmark.metrics})


def swept_values(point: Point, settings: Mapping[str, Any]) -> Swept:
    """The swept settings of a point with their final values: JSON scalars or lists of them (sizes in bytes)."""
    return {name: _plain(settings.get(name, value)) for name, value in point.swept.items()}


def _plain(value: Any) -> Scalar | list[Scalar] | None:
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, list | tuple):
        return [item if isinstance(item, str | int | float | bool) else str(item) for item in value]
    return str(value)


def records_of(
    origin: RecordOrigin, point_id: str, swept: Swept, repeat: int, measurements: Sequence[Measurement], raw: str
) -> list[Record]:
    """One record per measurement; raises ContractBreach for an undeclared metric or a value that is not a number."""
    job = origin.job
    records = []
    for item in measurements:
        metric = origin.metrics.get(item.metric)
        if metric is None:
            raise ContractBreach(f"{job.benchmark} returned the metric `{item.metric}`, which it does not declare")
        if not math.isfinite(item.value):
            raise ContractBreach(f"{job.benchmark} returned {item.value} for `{item.metric}`")
        records.append(
            Record(
                run=origin.run,
                plan=origin.plan,
                host=job.host,
                benchmark=job.benchmark,
                id=job.id,
                version=job.version,
                point=swept,
                coords=item.coords,
                point_id=point_id,
                repeat=repeat,
                metric=item.metric,
                value=item.value,
                unit=metric.unit,
                better=metric.better,
                stats=item.stats,
                flags=list(item.flags),
                raw=raw,
            )
        )
    return records


def measurements_of(records: Sequence[Record]) -> list[Measurement]:
    """The measurements of stored records, for results of an earlier part of the run or of an earlier run."""
    return [Measurement(r.metric, r.value, dict(r.coords), r.stats, tuple(r.flags)) for r in records]


Exported = Mapping[str, Scalar]


class ExportLedger:
    """The results of one job that other jobs can read, per point."""

    def __init__(self) -> None:
        self._by_point: dict[str, list[Exported]] = {}

    def add(self, point_id: str, exported: Exported) -> None:
        """Add the results of one repeat."""
        self._by_point.setdefault(point_id, []).append(exported)

    def values(self) -> dict[str, Scalar]:
        """One value per path. A path whose value differs between points is omitted: no single value is the result."""
        per_point = [combined(repeats) for repeats in self._by_point.values()]
        paths = dict.fromkeys(path for values in per_point for path in values)
        found: dict[str, Scalar] = {}
        for path in paths:
            distinct = {values[path] for values in per_point if path in values}
            if len(distinct) == 1:
                found[path] = distinct.pop()
        return found


def combined(repeats: Sequence[Exported]) -> dict[str, Scalar]:
    """The middle value of the repeats of one point for each path, among those repeats that have it."""
    paths = dict.fromkeys(path for values in repeats for path in values)
    return {path: middle([values[path] for values in repeats if path in values]) for path in paths}


def middle(values: Sequence[Scalar]) -> Scalar:
    """The median of numbers (of integers the lower median, which was measured), otherwise the most frequent value."""
    if all(isinstance(value, int) and not isinstance(value, bool) for value in values):
        return median_low(_numbers(values))
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return median(_numbers(values))
    return mode(values)


def _numbers(values: Iterable[Scalar]) -> list[float]:
    return [value for value in values if isinstance(value, int | float)]
