"""Measurements with their coordinates become records."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from asct.planner.model import Job, Point
from asct.sdk.benchmark import Benchmark
from asct.sdk.metric import Metric
from asct.sdk.record import Measurement, Record, Scalar

Swept = dict[str, Scalar | list[Scalar] | None]


class ContractBreach(ValueError):
    """A benchmark gave what it does not declare, or a value that is not a finite number."""


@dataclass(frozen=True, slots=True)
class Origin:
    """What all records of a job share."""

    run: str
    plan: str
    job: Job
    metrics: Mapping[str, Metric]

    @classmethod
    def of(cls, run: str, plan: str, job: Job, benchmark: Benchmark[Any]) -> Origin:
        """The origin of `job`'s records."""
        return cls(run, plan, job, {metric.name: metric for metric in benchmark.metrics})


def swept_values(point: Point, settings: Mapping[str, Any]) -> Swept:
    """The swept settings of a point with bound values, JSON scalars or lists of them (sizes are bytes)."""
    return {name: _plain(settings.get(name, value)) for name, value in point.swept.items()}


def _plain(value: Any) -> Scalar | list[Scalar] | None:
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, list | tuple):
        return [item if isinstance(item, str | int | float | bool) else str(item) for item in value]
    return str(value)


def records_of(
    origin: Origin, point_id: str, swept: Swept, repeat: int, measurements: Sequence[Measurement], raw: str
) -> list[Record]:
    """One record per measurement; raises ContractBreach for an undeclared metric or a value that is no number."""
    job = origin.job
    records = []
    for item in measurements:
        metric = origin.metrics.get(item.metric)
        if metric is None:
            raise ContractBreach(f"{job.benchmark} gave the metric `{item.metric}`, which it does not declare")
        if not math.isfinite(item.value):
            raise ContractBreach(f"{job.benchmark} gave {item.value} for `{item.metric}`")
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
    """The way back, for results that were measured by an earlier part of a resumed run."""
    return [Measurement(r.metric, r.value, dict(r.coords), r.stats, tuple(r.flags)) for r in records]
