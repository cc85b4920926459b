"""The key results of a report: the highlights that a benchmark declares or, if it declares none, one metric per
unit."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from asct.analysis.grid import (
    NO_VALUE,
    ColumnHead,
    TableCell,
    TextTable,
    coordinates_text,
    plain,
    slug,
    without_empty_columns,
)
from asct.analysis.groups import MetricGroup, gather
from asct.analysis.telemetry import mark_of
from asct.analysis.view import JobView, sizes_of
from asct.sdk.benchmark import Benchmark
from asct.sdk.disturbance import family_of, subject_text
from asct.sdk.metric import Metric
from asct.sdk.record import DISAGREES, NOISY_HOST, is_invalid, matches
from asct.statistics.quantiles import relative_half_width
from asct.values.grouping import grouped
from asct.values.quantity import format_alike, format_quantity
from asct.values.text import counted, listed

_UNITS = ("s", "B/s", "ops/s")
"""Units of key results. Cycles, percentages and sizes are shown only in tables."""
_MOST_LEVELS = 6
_FLAG_TEXTS = {
    "burst-possible": "burst possible", "two-states": "two states", "drift": "drift",
    "noisy-above-core-limit": "above the limit of the core", "below-core-limit": "below the limit of the core",
    "below-curve": "below the curve",
}  # fmt: skip
"""Flags that are shown with key results in words. `strict` accepts values with these flags, except for values above the
limit of the core, which are impossible."""


@dataclass(frozen=True, slots=True)
class HeadlineMetric:
    """A key result: `value` and `unit` below a `label`. `place` contains the coordinates that distinguish it from other
    values, `spread` its interval or range, and `count` the number of its repeats, visits or samples. All of these
    fields are strings, which are empty if their content is unknown."""

    host: str
    id: str
    label: str
    value: str
    unit: str
    place: str = ""
    spread: str = ""
    count: str = ""
    doubts: tuple[str, ...] = ()
    """The reasons why the value is questionable: `noisy` or `invalid`, the host state, disagreeing values, or problems
    with its samples according to its flags. Empty if the value is reliable."""
    number: float | None = 0.0
    """The value in its base unit, or None if no value is valid."""
    group: MetricGroup | None = None
    """The repeats of the value, or None if no value is valid."""
    subject: str = ""
    """What the value is about, such as `memory latency`."""

    @property
    def text(self) -> str:
        """The value with its unit."""
        return f"{self.value} {self.unit}".rstrip()

    @property
    def precision(self) -> str:
        """The spread and the count, separated by a comma."""
        return ", ".join(filter(None, (self.spread, self.count)))

    @property
    def doubt(self) -> str:
        """All doubts, separated by commas."""
        return ", ".join(self.doubts)


def headline_metrics(benchmark: Benchmark[Any]) -> set[str]:
    """Return the names of the metrics from which `headlines` chooses."""
    if benchmark.highlights:
        return {one.metric for one in benchmark.highlights}
    return {same[0].name for same in grouped(_default_metrics(benchmark), lambda metric: metric.unit).values()}


def _default_metrics(benchmark: Benchmark[Any]) -> list[Metric]:
    """Return the metrics that can be headlines if the benchmark declares no highlights."""
    return [one for one in benchmark.metrics if one.unit in _UNITS and one.better != "neither" and one.comparable]


def headlines(job: JobView) -> list[HeadlineMetric]:
    """Return the highlights of the benchmark, each with the best valid value at its coordinates.

    If it declares none, return the first metric in each unit, with the value at each level or the best valid value.
    """
    if job.benchmark is None:
        return []
    family = family_of(job.benchmark)
    defaults = _default_metrics(job.benchmark)
    names = {one.metric for one in job.benchmark.highlights} or {metric.name for metric in defaults}
    # Most records belong to other metrics, and grouping them would take seconds.
    places = gather((record for record in job.records if record.metric in names), job.disagreements)
    by_metric = grouped(places, lambda place: place.metric)
    if job.benchmark.highlights:
        metrics = {metric.name: metric for metric in job.benchmark.metrics}
        found = []
        for one in job.benchmark.highlights:
            own = [place for place in by_metric.get(one.metric, ()) if matches(place.record.coords, one.at)]
            if own:
                subject = one.subject or subject_text(family, metrics[one.metric].unit)
                found.append(replace(_of_best(job, metrics[one.metric], own, one.label), subject=subject))
        return found
    by_unit: dict[str, list[HeadlineMetric]] = {}
    for metric in defaults:
        if metric.name in by_metric and metric.unit not in by_unit:
            by_unit[metric.unit] = _of_metric(job, metric, by_metric[metric.name])
    return [replace(item, subject=subject_text(family, unit)) for unit, items in by_unit.items() for item in items]


def _of_metric(job: JobView, metric: Metric, places: Sequence[MetricGroup]) -> list[HeadlineMetric]:
    by_level = [place for place in places if "level" in place.record.coords]
    if 0 < len(by_level) <= _MOST_LEVELS:
        name = _metric_name(metric)
        return [
            _headline(job, metric, place, f"{place.at['level']} {name}", _at_text(job, place, by_level, {"level"}))
            for place in by_level
        ]
    if len(places) == 1:
        name = _metric_name(metric)
        return [_headline(job, metric, places[0], name[0].upper() + name[1:], "")]
    word = "Lowest" if metric.better == "lower" else "Highest"
    return [_of_best(job, metric, places, f"{word} {_metric_name(metric)}")]


def _of_best(job: JobView, metric: Metric, places: Sequence[MetricGroup], label: str) -> HeadlineMetric:
    """Return the best valid value. If there are several values and none is valid, return a headline without a value."""
    valid = [place for place in places if not is_invalid(place.doubts)]
    if len(places) > 1 and not valid:
        detail = f"all {len(places)} values are invalid"
        return HeadlineMetric(job.entry.host, job.entry.id, label, "none", "", detail, doubts=("invalid",), number=None)
    pick = min if metric.better == "lower" else max
    best = pick(valid or places, key=lambda place: place.value)
    return _headline(job, metric, best, label, _at_text(job, best, places))


def _at_text(job: JobView, chosen: MetricGroup, places: Sequence[MetricGroup], excluded: Collection[str] = ()) -> str:
    """Return the coordinates that distinguish `chosen` from the other groups, excluding those whose names are in
    `excluded`."""
    coordinates = {
        key: value
        for key, value in chosen.at.items()
        if key not in excluded and any(key not in place.at or place.at[key] != value for place in places)
    }
    return f"at {coordinates_text(coordinates, sizes_of(job.benchmark)).replace('_', ' ')}" if coordinates else ""


def _metric_name(metric: Metric) -> str:
    return " ".join("IOPS" if word == "iops" else word for word in metric.name.split("_"))


def _headline(job: JobView, metric: Metric, place: MetricGroup, label: str, at: str) -> HeadlineMetric:
    number, unit = _number(place, metric.unit)
    flag_texts = [text for flag, text in _FLAG_TEXTS.items() if any(flag in record.flags for record in place.records)]
    doubts = [text for text in (_doubt(place), _host_doubt(job, place), *_disagreeing(place), *flag_texts) if text]
    return HeadlineMetric(
        job.entry.host, job.entry.id, label, number, unit, at, _spread(place), _count(place, metric), tuple(doubts),
        place.value, place,
    )  # fmt: skip


def _number(place: MetricGroup, unit: str) -> tuple[str, str]:
    """Return the value and its unit as text, or both values if the visits have two states."""
    number, _, scaled_unit = format_quantity(place.value, unit).partition(" ")
    both = [format_quantity(state.value, unit).partition(" ") for state in place.states]
    if len({own for _, _, own in both}) == 1:
        return " or ".join(text for text, _, _ in both), both[0][2]
    return number, scaled_unit


def in_common_units(found: Sequence[HeadlineMetric]) -> list[HeadlineMetric]:
    """Return the key results. The values of all hosts have the same unit, except for values with two states."""
    texts: dict[tuple[str, str, str], str] = {}
    for (job, label), items in grouped(found, lambda item: (item.id, item.label)).items():
        known = {item.host: item.group for item in items if item.group is not None and " or " not in item.value}
        if len(known) > 1:
            unit = next(iter(known.values())).record.unit
            alike = format_alike([group.value for group in known.values()], unit)
            texts |= {(host, job, label): text for host, text in zip(known, alike, strict=True)}
    return [_with_text(item, texts.get((item.host, item.id, item.label), item.text)) for item in found]


def _with_text(item: HeadlineMetric, text: str) -> HeadlineMetric:
    number, _, unit = text.partition(" ")
    return replace(item, value=number, unit=unit) if text != item.text else item


def headline_grids(found: Sequence[HeadlineMetric], several: bool) -> Iterator[TextTable]:
    """Yield the key results as tables. For one host, this is a single table with one row per value; for several hosts,
    it is one table per benchmark with one row per host."""
    if several:
        yield from (_by_host(name, items) for name, items in grouped(found, lambda item: item.id).items())
    elif found:
        yield _by_value(found)


def _by_value(found: Sequence[HeadlineMetric]) -> TextTable:
    titles = ("Result", "Benchmark", "Value", "Spread", "Based on", "At", "Doubt")
    heads = tuple(ColumnHead(title, "right" if title in ("Value", "Spread") else "left") for title in titles)
    rows = tuple(
        (
            TableCell(plain(item.label), item.label),
            TableCell(plain(item.id), item.id),
            TableCell(item.text, "" if item.number is None else item.number, "doubt" if item.doubts else ""),
            *(TableCell(text) for text in (item.spread, item.count, item.place.removeprefix("at "))),
            TableCell(plain(item.doubt), item.doubt, "doubt" if item.doubts else ""),
        )
        for item in found
    )
    return without_empty_columns(TextTable("all-key-results", "All key results", heads, rows))


def _by_host(name: str, items: Sequence[HeadlineMetric]) -> TextTable:
    """Return a table with one row per host in the given order. Coordinates that all hosts share are part of the
    heading, and the number of repeats, visits or samples that all values in a column summarize is in a note."""
    cells = {(item.host, item.label): item for item in items}
    columns = grouped(items, lambda item: item.label)
    places = {label: common(item.place for item in same) for label, same in columns.items()}
    counts = {label: common(item.count for item in same) for label, same in columns.items()}
    titles = (f"{label} {place}".rstrip() for label, place in places.items())
    heads = (ColumnHead("Host"), *(ColumnHead(title, "right") for title in titles))
    rows = tuple(
        (TableCell(plain(host), host), *(_cell(cells.get((host, one)), places[one], counts[one]) for one in columns))
        for host in dict.fromkeys(item.host for item in items)
    )
    by_count = grouped(columns, lambda label: counts[label])
    notes = (
        f"{'Each value' if len(labels) == len(columns) else listed(labels)}: {count}"
        for count, labels in by_count.items()
        if count
    )
    return TextTable(f"headlines-{slug(name)}", plain(name), heads, rows, tuple(map(plain, notes)))


def common(texts: Iterable[str]) -> str:
    """Return the text if all are the same, otherwise an empty string."""
    found = set(texts)
    return found.pop() if len(found) == 1 else ""


def _cell(item: HeadlineMetric | None, place: str, count: str) -> TableCell:
    """Return a result, without the place and the count that all results in its column share."""
    if item is None:
        return NO_VALUE
    precision = item.spread if item.count == count else item.precision
    details = [precision, "" if item.place == place else item.place]
    lead = f"{item.text} ({item.doubt})" if item.doubt else item.text
    text = "; ".join(filter(None, (lead, *details)))
    return TableCell(text, "" if item.number is None else item.number, "doubt" if item.doubts else "")


def _host_doubt(job: JobView, place: MetricGroup) -> str:
    """Return the worst state of the host during the repeats, according to the telemetry or the flags of the repeats."""
    folders = {record.raw for record in place.records}
    marks = {mark_of(item) for item in job.repeats if item.folder in folders}
    marks |= {"noisy host"} if NOISY_HOST in place.doubts else set()
    return next((mark for mark in ("invalid host", "noisy host") if mark in marks), "")


def _doubt(place: MetricGroup) -> str:
    """Return `invalid`, `noisy` (if the value itself is noisy, not only its host), or an empty string."""
    if is_invalid(place.doubts):
        return "invalid"
    return "noisy" if any(flag.startswith("noisy") and flag != NOISY_HOST for flag in place.doubts) else ""


def _disagreeing(place: MetricGroup) -> list[str]:
    """Return `disagrees with idle-latency 158 ns` for each value with which this one disagrees, or `disagrees` if the
    benchmark itself found a disagreement."""
    found = [f"disagrees with {side.text}" for side in place.rivals]
    return found or [DISAGREES] * any(flag.startswith(DISAGREES) for flag in place.doubts)


def _count(place: MetricGroup, metric: Metric) -> str:
    """Return the number of repeats, visits or samples that the value summarizes, and the number of runs whose spread
    its interval includes, if any. Return an empty string for a single sample."""
    stats = place.record.stats
    text = ""
    if len(place.records) > 1:
        text = f"{len(place.records)} repeats"
    elif stats is not None and (stats.visits is not None or stats.n > 1):
        text = counted(stats.n, "sample") if stats.visits is None else counted(stats.visits, "visit")
    # If a value is a median over several sizes, its interval also covers the differences between these sizes.
    text += " over several sizes" if text and "size" in metric.coords and "size" not in place.at else ""
    return f"{text}, spread of {stats.runs} runs" if text and stats is not None and stats.runs else text


def _spread(place: MetricGroup) -> str:
    """Return the confidence interval of a single repeat, or the range of several repeats."""
    if len(place.records) > 1:
        if not place.value:
            return ""
        spread = (max(place.values) - min(place.values)) / abs(place.value) * 100
        return f"range {_percent(spread)}"
    stats = place.record.stats
    half = relative_half_width(stats.ci95 if stats else None, place.value)
    if half is None:
        return ""
    return f"±{_percent(half * 100)}" if half >= 0.00005 else "±0.01\N{NO-BREAK SPACE}% or less"


def _percent(value: float) -> str:
    """Format a percentage with two significant digits or, from 10 % on, as a whole number (3.6 %, 600 %)."""
    return f"{value:{'.0f' if value >= 10 else '.2g'}}\N{NO-BREAK SPACE}%"
