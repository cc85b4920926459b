"""Records of one job as one row per point, and the grouping of rows into figures: the input of tables and figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Final

from asct.instruments.fio.metrics import CONTEXT
from asct.sdk.record import Record, Scalar, doubtful
from asct.values.size import format_size

Key = tuple[tuple[str, str], ...]
SIDES: Final = ("read", "write", "trim")
SIZES: Final = frozenset({"block_size", "filesize", "offset", "zonesize", "zonerange"})
_SPEAKING: Final = frozenset({"rw", "block_size", "engine"})
"""Settings whose values need no name beside them."""
AXIS_TITLES: Final = {
    "iodepth": "IODepth", "block_size": "BlockSize", "numjobs": "ProcessCount", "rw": "AccessPattern",
    "rwmixread": "RWMixRead", "iodepth_batch": "IODepthBatch", "engine": "Engine", "direct": "Direct",
    "filesize": "FileSize", "duration": "Duration (s)", "file_names": "File",
}  # fmt: skip


@dataclass(slots=True)
class PointRow:
    """One point: its settings, the values of each metric in every repeat, and the values over time.

    `course` has the values with a time within the run (metrics named `second_`), in the order of the records.
    """

    swept: dict[str, Scalar]
    context: dict[str, Scalar] = field(default_factory=dict)
    samples: dict[str, list[Record]] = field(default_factory=dict)
    course: dict[str, list[Record]] = field(default_factory=dict)

    def setting(self, name: str) -> Scalar | None:
        """A swept setting, or one of the context that all points share."""
        return self.swept.get(name, self.context.get(name))

    def value(self, metric: str, repeat: int | None = None) -> float | None:
        """The median over the repeats, or the value of one repeat; None if there is none."""
        values = [record.value for record in self.samples.get(metric, []) if repeat in (None, record.repeat)]
        return median(values) if values else None

    def interval(self, metric: str) -> tuple[float | None, float | None]:
        """Lowest and highest repeat, or the 95 % interval inside a single one."""
        records = self.samples.get(metric, [])
        if len(records) > 1:
            return min(record.value for record in records), max(record.value for record in records)
        stats = records[0].stats if records else None
        return stats.ci95 if stats and stats.ci95 else (None, None)

    @property
    def repeats(self) -> tuple[int, ...]:
        """The repeats that gave a rate, in order."""
        return tuple(sorted({record.repeat for record in self.samples.get("iops", [])}))

    @property
    def flags(self) -> tuple[str, ...]:
        """Every flag of the row, once, in order of appearance."""
        found = [flag for records in self.samples.values() for record in records for flag in record.flags]
        return tuple(dict.fromkeys(found))

    @property
    def doubtful(self) -> bool:
        """Whether the rate of any repeat should not be trusted."""
        return any(doubtful(flag) for record in self.samples.get("iops", []) for flag in record.flags)


def gather(records: Sequence[Record]) -> list[PointRow]:
    """One row per point, sorted by the swept settings in their order; numbers by size, words by first appearance."""
    rows: dict[Key, PointRow] = {}
    for record in records:
        swept = {name: _scalar(value) for name, value in record.point.items()}
        row = rows.setdefault(_key(swept), PointRow(swept))
        kept = row.course if "second" in record.coords else row.samples
        kept.setdefault(record.metric, []).append(record)
        if record.metric == "queue_depth":
            row.context.update({name: record.coords[name] for name in CONTEXT if name in record.coords})
    found = list(rows.values())
    for name in reversed(list(found[0].swept) if found else []):
        seen = list(dict.fromkeys(str(row.swept.get(name)) for row in found))
        numeric = all(isinstance(row.swept.get(name), int | float) for row in found)
        found.sort(key=lambda row: _rank(row.swept.get(name), numeric, seen))
    return found


def _rank(value: Scalar | None, numeric: bool, seen: Sequence[str]) -> float:
    return float(value) if numeric and isinstance(value, int | float) else float(seen.index(str(value)))


def _key(swept: Mapping[str, Scalar]) -> Key:
    return tuple((name, repr(value)) for name, value in sorted(swept.items()))


def _scalar(value: Scalar | list[Scalar] | None) -> Scalar:
    if value is None:
        return "-"
    return ", ".join(str(part) for part in value) if isinstance(value, list) else value


def swept_names(rows: Sequence[PointRow], axis: str | None) -> list[str]:
    """The swept settings, the benchmark's own axis first."""
    names = list(dict.fromkeys(name for row in rows for name in row.swept))
    return [axis, *(name for name in names if name != axis)] if axis else names


def varying(rows: Sequence[PointRow], names: Sequence[str]) -> list[str]:
    """The names that have several values in `rows`."""
    return [name for name in names if len({row.setting(name) for row in rows}) > 1]


def grouped(rows: Sequence[PointRow], names: Sequence[str]) -> dict[str, list[PointRow]]:
    """Rows that share the settings `names`, in order, by a short label of these ("" if there are none)."""
    groups: dict[str, list[PointRow]] = {}
    for row in rows:
        groups.setdefault(label(row, names), []).append(row)
    return groups


def label(row: PointRow, names: Sequence[str]) -> str:
    """The settings `names` of a row where there is little room: `randread, 4K, iodepth 8`."""
    values = {name: shown(name, row.setting(name)) for name in names}
    return ", ".join(text if name in _SPEAKING else f"{name} {text}" for name, text in values.items())


def place(row: PointRow, names: Sequence[str]) -> str:
    """The settings `names` of a row for people: `block_size 4K, iodepth 8`."""
    return ", ".join(f"{name} {shown(name, row.setting(name))}" for name in names)


def shown(name: str, value: Scalar | None) -> str:
    """The value of a setting for people."""
    if name in SIZES and isinstance(value, int) and not isinstance(value, bool):
        return format_size(value)
    return "-" if value is None else str(value)


# A single swept setting is the axis. With more of them, a figure has up to eight lines; the others become figures of
# their own, one per value. In addition, every other setting that is a quantity becomes the axis once, at the largest
# value of the first. So the 64 points of {size} x {share of reads} x {depth} become: over the size, one figure per
# depth with a line per share; over the depth, one figure at the largest size.


LOADS: Final = ("iodepth", "numjobs")
"""Settings that increase the number of requests in flight."""
SCALES: Final = (*LOADS, "block_size", "iodepth_batch", "filesize")
"""Settings whose ratios matter: axes with powers of two."""
MOST_SERIES: Final = 8
MOST_PANELS: Final = 8
_LEAST_SECOND_AXIS: Final = 3
"""Values that a setting needs for figures of its own."""


@dataclass(frozen=True, slots=True)
class FigureView:
    """The rows of one figure. `over` is the setting on its axis, `fixed` names what all rows share, `suffix` makes its
    slug unique."""

    over: str
    groups: Mapping[str, Sequence[PointRow]]
    fixed: str = ""
    suffix: str = ""


def main_axis(rows: Sequence[PointRow], names: Sequence[str], axis: str | None) -> str | None:
    """The benchmark's own axis, or the scale with most values, or the first setting that varies; None if none does."""
    vary = varying(rows, names)
    if axis is not None:
        return axis
    scales = [name for name in vary if name in SCALES]
    if scales:
        return max(scales, key=lambda name: len({row.setting(name) for row in rows}))
    return vary[0] if vary else None


def views(rows: Sequence[PointRow], names: Sequence[str], over: str) -> list[FigureView]:
    """Every view of `rows`; the one over `over` comes first."""
    others = [name for name in varying(rows, names) if name != over]
    found = panels(rows, over, others)
    for second in others:
        values = {row.setting(second) for row in rows}
        if second in SCALES and over in SCALES and len(values) >= _LEAST_SECOND_AXIS:
            fixed = [name for name in others if name != second]
            largest = _largest(rows, over)
            chosen = [row for row in rows if row.setting(over) == largest]
            label = place(chosen[0], [over])
            found += [
                FigureView(
                    second, view.groups, ", ".join(filter(None, (label, view.fixed))), f"-over-{second}{view.suffix}"
                )
                for view in panels(chosen, second, fixed)
            ]
    return found


def panels(rows: Sequence[PointRow], over: str, others: Sequence[str], most: int = MOST_SERIES) -> list[FigureView]:
    """Figures over `over` with at most `most` lines each: the settings that do not fit, counting ones first, become
    figures of their own, at most MOST_PANELS of them, evenly chosen."""
    inner = sorted(others, key=lambda name: name not in SCALES)
    outer: list[str] = []
    while len(grouped(rows, inner)) > most and inner:
        outer.append(inner.pop(0))
    inner = [name for name in others if name in inner]
    found = [(place(part[0], outer), part) for part in grouped(rows, outer).values()]
    return [FigureView(over, grouped(part, inner), fixed, slug_of(fixed)) for fixed, part in evenly(found, MOST_PANELS)]


def evenly(items: Sequence[tuple[str, list[PointRow]]], most: int) -> list[tuple[str, list[PointRow]]]:
    """At most `most` of `items`, the first and the last among them."""
    if len(items) <= most:
        return list(items)
    return [items[round(number * (len(items) - 1) / (most - 1))] for number in range(most)]


def sample(rows: Sequence[PointRow], names: Sequence[str]) -> list[PointRow]:
    """Points that fit one figure with a line each: all, or those along one setting among which the highest rate is."""
    vary = varying(rows, names)
    over = main_axis(rows, names, None)
    if len(rows) <= MOST_SERIES or over is None:
        return list(rows)
    best = max(rows, key=lambda row: row.value("iops") or 0.0)
    fixed = [name for name in vary if name != over]
    along = [row for row in rows if all(row.setting(name) == best.setting(name) for name in fixed)]
    return [row for _, [row] in evenly([("", [row]) for row in along], MOST_SERIES)]


def _largest(rows: Sequence[PointRow], name: str) -> Scalar | None:
    values = [row.setting(name) for row in rows]
    numbers = [value for value in values if isinstance(value, int | float)]
    return max(numbers) if numbers else values[-1]


def slug_of(label: str) -> str:
    """A label as part of a slug: letters and digits after dashes; "" for none."""
    text = "".join(mark if mark.isalnum() else "-" for mark in label).strip("-").lower()
    return f"-{text}" if text else ""
