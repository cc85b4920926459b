"""Build table rows from the records of a job. The rows are grouped by point and contain the median over the repeats,
the spread and the flags."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from typing import Final

from asct.sdk.figure import Column, Detail, Series
from asct.sdk.record import Record, Scalar, doubtful
from asct.statistics.robust import median
from asct.values.grouping import grouped

Row = dict[str, Scalar | None]
FLAGS_COLUMN: Final = Column("flags", "Flags", format="text")


def point_rows(
    records: Sequence[Record],
    columns: Sequence[Column],
    rows: Callable[[Sequence[Record]], Iterable[Row]],
    own: Collection[str] = (),
) -> tuple[tuple[Column, ...], tuple[Row, ...]]:
    """Return the columns and rows of a table. Each point contributes its `rows`, preceded by its swept settings except
    those in `own`."""
    swept = swept_columns(records, own)
    found = tuple(swept_cells(mine, swept) | row for mine in by_point(records) for row in rows(mine))
    return (*swept, *columns), found


def by_point(records: Iterable[Record]) -> list[list[Record]]:
    """Return the records of each point, in order of first appearance."""
    return list(grouped(records, lambda record: record.point_id).values())


def swept_columns(records: Iterable[Record], own: Collection[str] = ()) -> tuple[Column, ...]:
    """Return a column for each swept setting except those in `own`, for which the table already has columns."""
    keys = dict.fromkeys(key for record in records for key in record.point if key not in own)
    return tuple(Column(key, key, format="text") for key in keys)


def swept_cells(mine: Sequence[Record], columns: Iterable[Column]) -> Row:
    """Return the settings of one point as cells for the columns from `swept_columns`."""
    return {column.key: _text(mine[0].point.get(column.key)) for column in columns}


def point_label(record: Record, other: str, own: Collection[str] = ()) -> str:
    """Return the swept settings of a record's point as text, excluding those in `own`. If none remain, return
    `other`."""
    return ", ".join(f"{key} {_text(value)}" for key, value in record.point.items() if key not in own) or other


def at(records: Iterable[Record], metric: str, **coords: Scalar) -> list[Record]:
    """Return the records of a metric with these coordinates. If `coords` specifies every coordinate of the metric, the
    records are the repeats of a single value."""
    return [
        record
        for record in records
        if record.metric == metric and all(record.coords.get(key) == value for key, value in coords.items())
    ]


def middle(repeats: Sequence[Record]) -> float | None:
    """Return the median over the repeats, or None if there are no repeats."""
    return median([record.value for record in repeats]) if repeats else None


def highest(repeats: Sequence[Record]) -> float | None:
    """Return the largest sample of all repeats, or None if no repeat has statistics."""
    return max((record.stats.max for record in repeats if record.stats is not None), default=None)


def interval(repeats: Sequence[Record]) -> tuple[float, float] | None:
    """Return the 95 % interval of a single repeat or the range of values over several repeats, or None if it is
    unknown."""
    if len(repeats) > 1:
        values = [record.value for record in repeats]
        return min(values), max(values)
    stats = repeats[0].stats if repeats else None
    return None if stats is None else stats.ci95


def interval_text(repeats: Sequence[Record], unit: float, digits: int) -> str | None:
    """Format the interval as `41.20 .. 41.35` in multiples of `unit`, followed by the number of repeats if there are
    several."""
    ends = interval(repeats)
    if ends is None:
        return None
    text = f"{ends[0] / unit:.{digits}f} .. {ends[1] / unit:.{digits}f}"
    return text if len(repeats) == 1 else f"{text} ({len(repeats)} repeats)"


def flags_of(records: Iterable[Record]) -> tuple[str, ...]:
    """Return each flag once. Flags that mark a value as doubtful come first."""
    found = dict.fromkeys(flag for record in records for flag in record.flags)
    return tuple(sorted(found, key=lambda flag: not doubtful(flag)))


def flag_cell(records: Iterable[Record]) -> Row:
    """Return the cell for the column `FLAGS_COLUMN`, with the flags of all records separated by commas."""
    return {"flags": ", ".join(flags_of(records))}


def spread_cells(repeats: Sequence[Record], unit: float, digits: int = 1) -> Row:
    """Return the cells for the columns `interval`, `max` and `flags` from the repeats of one value."""
    return {"interval": interval_text(repeats, unit, digits), "max": highest(repeats), **flag_cell(repeats)}


def rows_by(mine: Sequence[Record], keys: Sequence[str], columns: Sequence[Column]) -> list[Row]:
    """Return one row for each combination of the coordinates `keys`. A row contains the flags and the median of each
    metric in `columns`. Only values that have exactly these coordinates are used. Rows are sorted by their coordinates:
    numbers by value, text by first appearance in the records.
    """
    metrics = [column.key for column in columns if column.key not in keys]
    found: dict[tuple[Scalar, ...], dict[str, list[Record]]] = {}
    for record in mine:
        if record.metric in metrics and set(record.coords) == set(keys):
            where = tuple(record.coords[key] for key in keys)
            found.setdefault(where, {}).setdefault(record.metric, []).append(record)
    texts = list(dict.fromkeys(one for where in found for one in where if isinstance(one, str)))
    rows: list[Row] = []
    for where in sorted(found, key=lambda where: [texts.index(one) if isinstance(one, str) else one for one in where]):
        values = found[where]
        cells: Row = dict(zip(keys, where, strict=True))
        cells |= {metric: middle(values.get(metric, ())) for metric in metrics}
        rows.append(cells | flag_cell(record for repeats in values.values() for record in repeats))
    return rows


def series_name(name: str, record: Record, own: Collection[str] = ()) -> str:
    """Return `name` followed by the swept settings of a record's point, except those in `own`."""
    return ", ".join(filter(None, (name, point_label(record, "", own))))


def series_of(name: str, x: Sequence[Scalar], groups: Sequence[Sequence[Record]]) -> Series:
    """Return a line or a set of bars for one host. For each item of `x`, `groups` contains the repeats of the value at
    that x."""
    ends = [interval(group) or (None, None) for group in groups]
    return Series(
        name=name,
        x=tuple(x),
        y=tuple(middle(group) for group in groups),
        low=tuple(low for low, _ in ends),
        high=tuple(high for _, high in ends),
        host=next((group[0].host for group in groups if group), ""),
        details=tuple(detail_of(group) for group in groups),
    )


def over_measured(series: Series, groups: Sequence[Sequence[Record]]) -> Series:
    """Return the series with the intervals of its x values. For each x, `groups` contains the repeats of this value."""
    ends = [interval(group) or (None, None) for group in groups]
    return replace(series, x_low=tuple(low for low, _ in ends), x_high=tuple(high for _, high in ends))


def detail_of(repeats: Sequence[Record]) -> Detail | None:
    """Return what a figure shows about the repeats of one value: the flags, and the value of each repeat. If there is
    only one repeat, the values of its visits are shown instead."""
    if not repeats:
        return None
    stats = repeats[0].stats if len(repeats) == 1 else None
    visits = stats.visit_values if stats is not None else None
    return Detail(
        values=visits or tuple(record.value for record in repeats),
        kind="visit" if visits else "repeat",
        states=tuple(state.value for state in (stats.states if stats is not None else None) or ()),
        flags=flags_of(repeats),
        setting=point_label(repeats[0], ""),
    )


def _text(value: object) -> str:
    return (", ".join(map(str, value)) or "none") if isinstance(value, list) else str(value)
