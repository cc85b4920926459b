"""Propose expectations based on measured values, as text for the `expect` section of a plan."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from asct.analysis.baseline import BaselineKey, key_of
from asct.analysis.groups import MetricGroup, gather
from asct.analysis.headline import headlines
from asct.analysis.view import JobView, RunView
from asct.sdk.record import is_invalid
from asct.values.quantity import format_quantity
from asct.values.text import counted

_DIGITS = 4
"""Number of digits to which bounds are rounded. This changes a bound by far less than any useful margin."""
MetricKey = tuple[str, str, tuple[tuple[str, str], ...]]
"""The key that identifies the same value in all runs of a plan and on all hosts: id, metric, and coordinates as
text."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A bound on one value, derived from its measurements in all runs and on all hosts. `lowest` and `highest` are the
    outermost ends of their intervals, and `doubts` contains their flags."""

    metric: str
    at: dict[str, Any]
    bound: str
    """The key of the bound: `min` or `max`."""
    limit: str
    """The bound as text with a unit."""
    lowest: str
    highest: str
    values: int
    doubts: tuple[str, ...]

    def as_entry(self) -> dict[str, Any]:
        """Return the expectation as an item of `expect`."""
        return {"metric": self.metric, **({"at": self.at} if self.at else {}), self.bound: self.limit}

    def comment(self) -> str:
        """Return a comment that says what the bound is based on, such as `measured 1.2 ns to 1.4 ns (3 values)`."""
        span = self.lowest if self.lowest == self.highest else f"{self.lowest} to {self.highest}"
        doubt = f"; flagged {', '.join(self.doubts)}" if self.doubts else ""
        return f"measured {span} ({counted(self.values, 'value')}){doubt}"


def proposals(runs: Sequence[RunView], margin: float, patterns: Sequence[str]) -> list[Proposal]:
    """Return a bound for each headline value of the runs, or for each value of the metrics that match `patterns`.

    A bound is the worst end of the intervals over all runs and hosts, relaxed by the fraction `margin`. Invalid values
    are left out.
    """
    keys = dict.fromkeys(_place(group) for run in runs for job in run.jobs for group in _chosen(job, patterns))
    found: dict[MetricKey, list[MetricGroup]] = {place: [] for place in keys}
    for group in (group for run in runs for job in run.jobs for group in _comparable(job)):
        if (place := _place(group)) in found:
            found[place].append(group)
    return [_proposal(groups, margin) for groups in found.values() if groups]


def metrics_of(runs: Sequence[RunView]) -> list[str]:
    """Return, sorted by name, the metrics (`ID.METRIC`) in the runs for which a bound can be proposed."""
    return sorted({_name(group) for run in runs for job in run.jobs for group in _comparable(job)})


def _name(group: MetricGroup) -> str:
    return f"{group.id}.{group.metric}"


def _place(group: MetricGroup) -> MetricKey:
    key: BaselineKey = key_of(group)
    return key[1:]


def _chosen(job: JobView, patterns: Sequence[str]) -> Iterable[MetricGroup]:
    if not patterns:
        return [item.group for item in headlines(job) if item.group is not None and not is_invalid(item.group.doubts)]
    return [group for group in _comparable(job) if any(fnmatchcase(_name(group), pattern) for pattern in patterns)]


def _comparable(job: JobView) -> Iterator[MetricGroup]:
    """Yield the valid values that have a direction and may be compared."""
    ignored = {metric.name for metric in job.benchmark.metrics if not metric.comparable} if job.benchmark else set()
    for group in gather(job.records, job.disagreements):
        if group.record.better != "neither" and group.metric not in ignored and not is_invalid(group.doubts):
            yield group


def _proposal(groups: Sequence[MetricGroup], margin: float) -> Proposal:
    first = groups[0]
    record = first.record
    ends = [end for group in groups for end in group.span]
    low, high = min(ends), max(ends)
    lower_better = record.better == "lower"
    limit = high + margin * abs(high) if lower_better else low - margin * abs(low)
    return Proposal(
        metric=_name(first),
        at=dict(first.at),
        bound="max" if lower_better else "min",
        limit=_text(limit, record.unit),
        lowest=format_quantity(low, record.unit),
        highest=format_quantity(high, record.unit),
        values=sum(len(group.records) for group in groups),
        doubts=tuple(sorted({doubt for group in groups for doubt in group.doubts})),
    )


def _text(value: float, unit: str) -> str:
    """Return a bound in the form that a plan accepts, such as `112.4 ns` or `57.9k`. Sizes are whole numbers of
    bytes."""
    return str(round(value)) if unit == "B" else format_quantity(value, unit, _DIGITS).removesuffix(" ops/s")
