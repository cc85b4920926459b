"""Convert the measurements of a repeat to records. This module performs no I/O, so that a rebuilt record is identical
to the original."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from asct.sdk.benchmark import Benchmark
from asct.sdk.record import INVALID_HOST, NOISY_HOST, Measurement, Record, Scalar
from asct.store.model import HostVerdict


class ContractBreachError(ValueError):
    """Raised if a benchmark returns an undeclared metric or a value that is not a finite number."""


@dataclass(frozen=True, slots=True)
class Origin:
    """The fields that all records of a repeat share. `raw` is the folder that contains the repeat's raw files."""

    run: str
    plan: str
    host: str
    benchmark: str
    id: str
    version: str
    swept: dict[str, Scalar | list[Scalar] | None]
    point_id: str
    repeat: int
    raw: str


def with_host_flag(found: Iterable[Measurement], verdict: HostVerdict | None) -> tuple[Measurement, ...]:
    """Add a flag to the values if the host state makes them doubtful. A measurement kernel observes only the CPUs on
    which it runs; only the host state shows that another program uses caches, memory bandwidth or power."""
    flag = {"invalid": INVALID_HOST, "noisy": NOISY_HOST}.get(verdict.state if verdict else "unknown")
    return tuple(replace(item, flags=(*item.flags, flag)) if flag else item for item in found)


def records_of(found: Iterable[Measurement], benchmark: Benchmark[Any], origin: Origin) -> list[Record]:
    """Return the records of measurements. Raises ContractBreachError for a measurement that the benchmark does not
    declare."""
    metrics = {metric.name: metric for metric in benchmark.metrics}
    records = []
    for item in found:
        metric = metrics.get(item.metric)
        if metric is None:
            raise ContractBreachError(
                f"{origin.benchmark} returned the metric `{item.metric}`, which it does not declare"
            )
        if not math.isfinite(item.value):
            raise ContractBreachError(f"{origin.benchmark} returned {item.value} for `{item.metric}`")
        records.append(_record(item, metric.unit, metric.better, origin))
    return records


def _record(item: Measurement, unit: str, better: Any, origin: Origin) -> Record:
    return Record(
        run=origin.run,
        plan=origin.plan,
        host=origin.host,
        benchmark=origin.benchmark,
        id=origin.id,
        version=origin.version,
        point=origin.swept,
        coords=item.coords,
        point_id=origin.point_id,
        repeat=origin.repeat,
        metric=item.metric,
        value=item.value,
        unit=unit,
        better=better,
        stats=item.stats,
        flags=list(item.flags),
        raw=origin.raw,
    )


def measurements_of(records: Sequence[Record]) -> list[Measurement]:
    """Return the measurements contained in records that an earlier part of the run, or an earlier run, stored."""
    return [Measurement(r.metric, r.value, dict(r.coords), r.stats, tuple(r.flags)) for r in records]
