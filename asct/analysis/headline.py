"""The key results of a report: those that the benchmark highlights, or a selection by rule."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from asct.analysis.expectations import MetricGroup, gather
from asct.analysis.grid import ABSENT, ColumnHead, TableCell, TextTable, coordinates_text, plain, slug
from asct.analysis.telemetry import mark_of
from asct.analysis.view import JobView, sizes_of
from asct.sdk.metric import Highlight, Metric
from asct.sdk.record import Scalar
from asct.statistics.quantiles import relative_half_width
from asct.values.quantity import format_quantity

_UNITS = ("s", "B/s", "ops/s")
"""Units of key results; tables show cycles, percentages and sizes."""
_MOST_LEVELS = 6


@dataclass(frozen=True, slots=True)
class HeadlineMetric:
    """`value` (with `unit`) large, `label` above it, `detail` below it."""

    host: str
    id: str
    label: str
    value: str
    unit: str
    detail: str
    doubt: str = ""
    """`noisy` or, graver, `invalid`, and what the host was like; empty for a value to be relied on."""
    number: float = 0.0
    """The value in its base unit."""


def headlines(job: JobView) -> list[HeadlineMetric]:
    """The highlights of the benchmark. Without any, for each unit the first metric that it declares in it: by level, or
    the best of all places."""
    if job.benchmark is None:
        return []
    places = gather(job.records)
    if job.benchmark.highlights:
        metrics = {metric.name: metric for metric in job.benchmark.metrics}
        found = (_highlighted(job, metrics[one.metric], one, places) for one in job.benchmark.highlights)
        return [item for item in found if item is not None]
    taken: set[str] = set()
    result: list[HeadlineMetric] = []
    for metric in job.benchmark.metrics:
        if metric.unit not in _UNITS or metric.unit in taken or metric.better == "neither" or not metric.comparable:
            continue
        own = [place for place in places if place.metric == metric.name]
        if not own:
            continue
        taken.add(metric.unit)
        result.extend(_of_metric(job, metric, own))
    return result


def _of_metric(job: JobView, metric: Metric, places: Sequence[MetricGroup]) -> list[HeadlineMetric]:
    by_level = [place for place in places if "level" in place.records[0].coords]
    if 0 < len(by_level) <= _MOST_LEVELS:
        named = _named(metric)
        return [
            _headline(job, metric, place, f"{place.at['level']} {named}", _where(job, place, by_level, {"level"}))
            for place in by_level
        ]
    if len(places) == 1:
        return [_headline(job, metric, places[0], _named(metric).capitalize(), "")]
    best = _best(metric, places)
    word = "Lowest" if metric.better == "lower" else "Highest"
    return [_headline(job, metric, best, f"{word} {_named(metric)}", _where(job, best, places))]


def _highlighted(
    job: JobView, metric: Metric, wanted: Highlight, places: Sequence[MetricGroup]
) -> HeadlineMetric | None:
    own = [place for place in places if place.metric == metric.name and _stands(place.records[0].coords, wanted.at)]
    if not own:
        return None
    best = _best(metric, own)
    return _headline(job, metric, best, wanted.label, _where(job, best, own))


def _stands(coords: Mapping[str, Scalar], at: Mapping[str, Scalar | None]) -> bool:
    return coords.keys() == at.keys() and all(value in (None, coords[key]) for key, value in at.items())


def _best(metric: Metric, places: Sequence[MetricGroup]) -> MetricGroup:
    pick = min if metric.better == "lower" else max
    return pick(places, key=lambda place: place.value)


def _where(job: JobView, chosen: MetricGroup, places: Sequence[MetricGroup], told: Collection[str] = ()) -> str:
    """Coordinates that distinguish `chosen` from the other groups, without those in `told`."""
    apart = {
        key: value
        for key, value in chosen.at.items()
        if key not in told and any(key not in place.at or place.at[key] != value for place in places)
    }
    return f"at {coordinates_text(apart, sizes_of(job.benchmark)).replace('_', ' ')}" if apart else ""


def _named(metric: Metric) -> str:
    name = metric.name.replace("_", " ")
    return "IOPS" if name == "iops" else name


def _headline(job: JobView, metric: Metric, place: MetricGroup, label: str, where: str) -> HeadlineMetric:
    number, _, unit = format_quantity(place.value, metric.unit).partition(" ")
    details = [text for text in (where, _spread(place, metric)) if text]
    doubts = [text for text in (_doubt(place.doubts), _host_doubt(job, place)) if text]
    return HeadlineMetric(
        job.entry.host, job.entry.id, label, number, unit, "; ".join(details), ", ".join(doubts), place.value
    )


def headline_grids(found: Iterable[HeadlineMetric]) -> Iterable[TextTable]:
    """The headlines of several hosts: a table for each benchmark, a row for each host, in the order they come in."""
    by_id: dict[str, dict[str, dict[str, HeadlineMetric]]] = {}
    for item in found:
        by_id.setdefault(item.id, {}).setdefault(item.host, {})[item.label] = item
    for name, hosts in by_id.items():
        labels = list(dict.fromkeys(label for items in hosts.values() for label in items))
        heads = (ColumnHead("Host"), *(ColumnHead(label, "right") for label in labels))
        rows = [
            (TableCell(plain(host), host), *(_cell(items.get(label)) for label in labels))
            for host, items in hosts.items()
        ]
        yield TextTable(f"headlines-{slug(name)}", plain(name), heads, tuple(rows))


def _cell(item: HeadlineMetric | None) -> TableCell:
    if item is None:
        return TableCell(ABSENT, tone="muted")
    value = f"{item.value} {item.unit}".rstrip()
    text = f"{value} ({item.doubt})" if item.doubt else value
    return TableCell(text, item.number, "doubt" if item.doubt else "", item.detail)


def _host_doubt(job: JobView, place: MetricGroup) -> str:
    """The worst host state in the telemetry of the repeats."""
    folders = {record.raw for record in place.records}
    marks = {mark_of(item) for item in job.repeats if item.folder in folders}
    return next((mark for mark in ("invalid host", "noisy host") if mark in marks), "")


def _doubt(flags: Sequence[str]) -> str:
    return "invalid" if any(flag.startswith("invalid") for flag in flags) else "noisy" if flags else ""


def _spread(place: MetricGroup, metric: Metric) -> str:
    """The interval of a single repeat, or the range of several."""
    values = [record.value for record in place.records]
    if len(values) > 1:
        low, high = min(values), max(values)
        text = f"median of {len(values)}"
        return (
            text if not place.value else f"{text}, range {(high - low) / abs(place.value) * 100:.2g}\N{NO-BREAK SPACE}%"
        )
    stats = place.records[0].stats
    half = relative_half_width(stats.ci95 if stats else None, place.value)
    if half is None:
        return ""
    text = f"±{half * 100:.2g}\N{NO-BREAK SPACE}%" if half >= 0.00005 else "±0.01\N{NO-BREAK SPACE}% or less"
    # a median over the sizes of a level has an interval that spans the drift between them
    return f"{text} across sizes" if "size" in metric.coords and "size" not in place.at else text
