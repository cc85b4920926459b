"""Convert the records of a job to one row per point, and group rows for figures."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeVar

from asct.instruments.fio.metrics import CONTEXT, STAGE
from asct.sdk.record import Record, Scalar, doubtful
from asct.sdk.rows import middle
from asct.values.grouping import grouped
from asct.values.size import format_size

T = TypeVar("T")
SIZES: Final = frozenset({"block_size", "filesize", "offset", "zonesize", "zonerange"})
_SPEAKING: Final = frozenset({STAGE, "rw", "block_size", "engine"})
"""Settings whose values are self-explanatory, so that labels omit the setting names."""
AXIS_TITLES: Final = {
    "iodepth": "IODepth", "block_size": "BlockSize", "numjobs": "ProcessCount", "rw": "AccessPattern",
    "rwmixread": "RWMixRead", "iodepth_batch": "IODepthBatch", "engine": "Engine", "direct": "Direct",
    "filesize": "FileSize", "duration": "Duration (s)", "file_names": "File", STAGE: "Stage",
}  # fmt: skip


@dataclass(slots=True)
class PointRow:
    """One point: its settings, and the records of each metric in every repeat.

    `course` contains the values over the course of a run (metrics with the prefix `second_`), and `samples` all other
    values.
    """

    swept: dict[str, Scalar]
    context: dict[str, Scalar] = field(default_factory=dict)
    samples: dict[str, list[Record]] = field(default_factory=dict)
    course: dict[str, list[Record]] = field(default_factory=dict)

    def setting(self, name: str) -> Scalar | None:
        """Return the value of a setting, swept or not, or None if it is unknown."""
        return self.swept.get(name, self.context.get(name))

    def value(self, metric: str, repeat: int | None = None) -> float | None:
        """Return the median over the repeats or, if `repeat` is set, the value of that repeat. Return None if there is
        no value."""
        return middle([record for record in self.samples.get(metric, ()) if repeat in (None, record.repeat)])

    @property
    def repeats(self) -> tuple[int, ...]:
        """The numbers of the repeats that have a rate, in order."""
        return tuple(sorted({record.repeat for record in self.samples.get("iops", [])}))

    @property
    def flags(self) -> tuple[str, ...]:
        """All flags of the row, in order of first appearance."""
        return tuple(dict.fromkeys(flag for found in self.samples.values() for one in found for flag in one.flags))

    @property
    def doubtful(self) -> bool:
        """Whether the rate of any repeat is unreliable."""
        return any(doubtful(flag) for record in self.samples.get("iops", []) for flag in record.flags)


def gather(records: Sequence[Record]) -> list[PointRow]:
    """Return one row per point, sorted by the swept settings: numbers by value, text by first appearance.

    A point with several stages has one row per stage; the stage is an additional setting.
    """
    stages: dict[str, dict[Scalar, None]] = {}
    for record in records:
        if STAGE in record.coords:
            stages.setdefault(record.point_id, {})[record.coords[STAGE]] = None
    rows: dict[tuple[str, Scalar | None], PointRow] = {}
    for record in records:
        own = (record.coords[STAGE],) if STAGE in record.coords else stages.get(record.point_id, (None,))
        for stage in own:
            place = (record.point_id, stage)
            if place not in rows:
                rows[place] = PointRow(_settings(record, stage))
            row = rows[place]
            by_metric = row.course if "second" in record.coords else row.samples
            by_metric.setdefault(record.metric, []).append(record)
            if record.metric == "queue_depth":
                row.context.update({name: record.coords[name] for name in CONTEXT if name in record.coords})
    found = list(rows.values())
    for name in reversed(list(found[0].swept) if found else []):
        order = {value: rank for rank, value in enumerate(ordered(found, name))}
        found.sort(key=lambda row: order[row.setting(name)])
    return found


def ordered(rows: Sequence[PointRow], name: str) -> list[Scalar | None]:
    """Return the values of a setting, sorted: numbers by value, text by first appearance."""
    values = list(dict.fromkeys(row.setting(name) for row in rows))
    numbers = [value for value in values if isinstance(value, int | float)]
    return [*sorted(numbers)] if len(numbers) == len(values) else values


def _settings(record: Record, stage: Scalar | None) -> dict[str, Scalar]:
    """Return the swept settings of a record's point, including the stage if there is one."""
    swept = {name: _scalar(value) for name, value in record.point.items()}
    return swept if stage is None else swept | {STAGE: stage}


def _scalar(value: Scalar | list[Scalar] | None) -> Scalar:
    if value is None:
        return "-"
    return ", ".join(str(part) for part in value) if isinstance(value, list) else value


def swept_names(rows: Sequence[PointRow], axis: str | None) -> list[str]:
    """Return the swept settings, starting with the axis of the benchmark."""
    names = list(dict.fromkeys(name for row in rows for name in row.swept))
    return [axis, *(name for name in names if name != axis)] if axis else names


def varying(rows: Sequence[PointRow], names: Sequence[str]) -> list[str]:
    """Return the settings in `names` that have more than one value in `rows`."""
    return [name for name in names if len({row.setting(name) for row in rows}) > 1]


def labeled(rows: Sequence[PointRow], names: Sequence[str]) -> dict[str, list[PointRow]]:
    """Group the rows by the settings `names`; the keys are short labels for their values ("" if there are none)."""
    return grouped(rows, lambda row: label(row, names))


def label(row: PointRow, names: Sequence[str]) -> str:
    """Format the settings `names` of a row as a short label: `randread, 4K, iodepth 8`."""
    values = {name: text_of(name, row.setting(name)) for name in names}
    return ", ".join(text if name in _SPEAKING else f"{name} {text}" for name, text in values.items())


def settings_text(row: PointRow, names: Sequence[str]) -> str:
    """Format the settings `names` of a row as text: `block_size 4K, iodepth 8`."""
    return ", ".join(f"{name} {text_of(name, row.setting(name))}" for name in names)


def text_of(name: str, value: Scalar | None) -> str:
    """Format the value of the setting `name`: sizes with a unit, and None as a hyphen."""
    if name in SIZES and isinstance(value, int) and not isinstance(value, bool):
        return format_size(value)
    return "-" if value is None else str(value)


# A single swept setting is the axis. If there are more, each combination of the others is a line. If there are more
# than eight lines, the report draws several charts; lines whose names begin with the same words share a chart. In
# addition, there is a figure for every other setting that is a quantity, with this setting as the axis and the first
# setting at its largest value. For example, {size} x {share of reads} x {depth} gives a figure over the size with a
# chart for each depth and a line for each share, and a figure over the depth at the largest size.


LOADS: Final = ("iodepth", "numjobs")
"""Settings that increase the number of requests in flight."""
SCALES: Final = (*LOADS, "block_size", "iodepth_batch", "filesize")
"""Settings shown on a logarithmic axis."""
MOST_SERIES: Final = 8
MOST_PANELS: Final = 12
"""Maximum number of charts per figure."""
_LEAST_SECOND_AXIS: Final = 3
"""Minimum number of values that a setting must have to be the x axis of an additional figure."""


@dataclass(frozen=True, slots=True)
class FigureView:
    """The rows of one figure, keyed by line name.

    `over` is the setting on the x axis, `fixed` describes the settings shared by all rows, `suffix` makes the slug
    unique, and `note` says which combinations are shown if there are too many for one figure.
    """

    over: str
    groups: Mapping[str, Sequence[PointRow]]
    note: str = ""
    fixed: str = ""
    suffix: str = ""

    @property
    def rows(self) -> list[PointRow]:
        """All rows of the figure, line by line."""
        return [row for rows in self.groups.values() for row in rows]


def main_axis(rows: Sequence[PointRow], names: Sequence[str], axis: str | None) -> str | None:
    """Return `axis` if it is set, otherwise the setting in SCALES with the most values, otherwise the first setting
    that varies. Return None if no setting varies."""
    vary = varying(rows, names)
    if axis is not None:
        return axis
    scales = [name for name in vary if name in SCALES]
    if scales:
        return max(scales, key=lambda name: len({row.setting(name) for row in rows}))
    return vary[0] if vary else None


def views(rows: Sequence[PointRow], names: Sequence[str], over: str) -> list[FigureView]:
    """Return the views of `rows`; the one with `over` on the x axis comes first."""
    others = [name for name in varying(rows, names) if name != over]
    found = [panels(rows, over, others)]
    for second in others:
        values = {row.setting(second) for row in rows}
        if second in SCALES and over in SCALES and len(values) >= _LEAST_SECOND_AXIS:
            numbers = [value for row in rows if isinstance(value := row.setting(over), int | float)]
            largest = max(numbers, default=rows[-1].setting(over))
            chosen = [row for row in rows if row.setting(over) == largest]
            view = panels(chosen, second, [name for name in others if name != second])
            found.append(replace(view, fixed=settings_text(chosen[0], [over]), suffix=f"-over-{second}"))
    return found


def panels(rows: Sequence[PointRow], over: str, others: Sequence[str], most: int = MOST_SERIES) -> FigureView:
    """Return the view of a figure that has `over` on the x axis and at most `most` lines in each chart.

    If there are too many lines, the values of a setting (preferably one in SCALES) are divided among several charts,
    and line names begin with these values. If a single setting has too many values, only some of them are shown.
    """
    inner = sorted(others, key=lambda name: name not in SCALES)
    outer: list[str] = []
    while len(labeled(rows, inner)) > most and len(inner) > 1:
        outer.append(inner.pop(0))
    lines, line_note = capped(list(labeled(rows, inner)), most, combinations(inner))
    charts, chart_note = capped(list(labeled(rows, outer).values()), MOST_PANELS, combinations(outer))
    order = [name for part in (outer, inner) for name in others if name in part]
    chosen = [row for part in charts for row in part if label(row, inner) in lines]
    return FigureView(over, labeled(chosen, order), chart_note + line_note)


def combinations(names: Sequence[str]) -> str:
    """Describe the combinations of several settings, or the values of a single setting."""
    return f"{'combinations' if len(names) > 1 else 'values'} of {', '.join(names)}"


def capped(items: Sequence[T], most: int, what: str) -> tuple[list[T], str]:
    """Return at most `most` items, and a sentence that says how many were selected, or "" if all of them were."""
    subset = evenly(items, most)
    return subset, selection_note(len(subset), len(items), what)


def selection_note(shown: int, total: int, what: str) -> str:
    """Return a sentence that says how many of the items are shown, or "" if all of them are."""
    if shown == total:
        return ""
    return f" {shown} of {total} {what} are shown, selected at even intervals; the table lists all of them."


def thinned(values: Sequence[Sequence[T]], most: int) -> list[list[T]]:
    """Select values of several settings at even intervals, so that they have at most `most` combinations. The setting
    with the most values loses a value first."""
    counts = [len(one) for one in values]
    while math.prod(counts) > most and max(counts) > 1:
        counts[counts.index(max(counts))] -= 1
    return [evenly(one, count) for one, count in zip(values, counts, strict=True)]


def evenly(items: Sequence[T], most: int) -> list[T]:
    """Select at most `most` items at even intervals, including the first and, if there are several, the last."""
    if len(items) <= most:
        return list(items)
    step = (len(items) - 1) / max(most - 1, 1)
    return [items[round(number * step)] for number in range(most)]


def sample(rows: Sequence[PointRow], names: Sequence[str]) -> list[PointRow]:
    """Select points for a figure with one line per point: all points or, if there are too many, those that differ from
    the point with the highest rate in only one setting."""
    vary = varying(rows, names)
    over = main_axis(rows, names, None)
    if len(rows) <= MOST_SERIES or over is None:
        return list(rows)
    best = max(rows, key=lambda row: row.value("iops") or 0.0)
    fixed = [name for name in vary if name != over]
    along = [row for row in rows if all(row.setting(name) == best.setting(name) for name in fixed)]
    return evenly(along, MOST_SERIES)


def sample_note(chosen: Sequence[PointRow], rows: Sequence[PointRow], names: Sequence[str]) -> str:
    """Return a sentence that says which of the rows are shown, or "" if all are."""
    if len(chosen) == len(rows):
        return ""
    own = varying(chosen, names)
    fixed = settings_text(chosen[0], [name for name in varying(rows, names) if name not in own])
    return f" {len(chosen)} of {len(rows)} points are shown" + (f": {fixed}." if fixed else ".")


def slug_of(label: str) -> str:
    """Convert a label to a slug suffix, such as `-block-size-4k`. The suffix of an empty label is empty."""
    text = "".join(mark if mark.isalnum() else " " for mark in label).lower()
    return "".join(f"-{word}" for word in text.split())
