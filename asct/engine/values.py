"""Convert the measurements of a repeat to records. This module performs no I/O, so that rebuilding a record gives the
same result."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from asct.sdk.benchmark import Benchmark
from asct.sdk.record import INVALID_HOST, NOISY_HOST, Measurement, Record, Scalar
from asct.statistics.visits import RUNS_MIN, next_run_interval
from asct.store.model import EarlierValues, HostVerdict

SHAPE_ERRORS = (ValueError, LookupError, TypeError, ArithmeticError)
"""The exceptions that a benchmark may raise when it reads unexpected output."""


class ContractBreachError(ValueError):
    """Raised if a benchmark returns an undeclared metric or a value that is not a finite number."""


def adjusted(
    found: Iterable[Measurement], verdict: HostVerdict | None, earlier: Iterable[EarlierValues] = ()
) -> tuple[Measurement, ...]:
    """Return the measurements as they are recorded, given the host state and the values of earlier runs.

    If the host state makes the values doubtful, they receive a flag. A measurement kernel observes only the CPUs that
    it runs on; only the host state shows whether another program uses caches, memory bandwidth or power.

    Intervals become wide enough to be expected to contain the next run's value, except those of values without visits.
    """
    flag = {"invalid": INVALID_HOST, "noisy": NOISY_HOST}.get(verdict.state if verdict else "unknown")
    known = {value_key(item.metric, item.coords): item.values for item in earlier}
    flagged = (replace(item, flags=(*item.flags, flag)) if flag else item for item in found)
    return tuple(_for_next_run(item, known.get(value_key(item.metric, item.coords), ())) for item in flagged)


def _for_next_run(item: Measurement, earlier: Sequence[float]) -> Measurement:
    if item.stats is None or item.stats.ci95 is None or item.stats.visits is None:
        return item
    interval = next_run_interval(item.value, item.stats.ci95, earlier)
    runs = len(earlier) + 1 if len(earlier) + 1 >= RUNS_MIN else None
    return replace(item, stats=item.stats.model_copy(update={"ci95": interval, "runs": runs}))


def value_key(metric: str, coords: Mapping[str, Scalar]) -> tuple[object, ...]:
    """Return a key that identifies a value in every repeat of a point."""
    return metric, *sorted(coords.items())


def records_of(
    found: Iterable[Measurement], benchmark: Benchmark[Any], record_of: Callable[..., Record]
) -> list[Record]:
    """Return one record for each measurement. `record_of` creates a record from a measurement's fields and adds the
    fields that all records of a repeat share.

    Raises ContractBreachError for a measurement that the benchmark does not declare.
    """
    metrics = {metric.name: metric for metric in benchmark.metrics}
    records = []
    for item in found:
        metric = metrics.get(item.metric)
        if metric is None:
            raise ContractBreachError(
                f"{benchmark.name} returned the metric `{item.metric}`, which it does not declare"
            )
        if not math.isfinite(item.value):
            raise ContractBreachError(f"{benchmark.name} returned {item.value} for `{item.metric}`")
        records.append(record_of(
            coords=item.coords, metric=item.metric, value=item.value, unit=metric.unit, better=metric.better,
            stats=item.stats, flags=list(item.flags),
        ))  # fmt: skip
    return records


def measurements_of(records: Sequence[Record]) -> list[Measurement]:
    """Convert stored records from an earlier run, or from an earlier part of this run, back to measurements."""
    return [Measurement(r.metric, r.value, dict(r.coords), r.stats, tuple(r.flags)) for r in records]
