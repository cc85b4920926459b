"""Values over the course of a run: changes in the rate, timelines, and latency over time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from asct.instruments.fio.rows import MOST_SERIES, PointRow, label, sample, sample_note, settings_text, slug_of, varying
from asct.instruments.fio.verdict import CHANGED, LEAST_CHANGE, rate_changes
from asct.sdk.figure import Axis, Column, Detail, Figure, Heatmap, Line, Marker, Series, Table
from asct.sdk.record import Record
from asct.sdk.rows import Row, flags_of
from asct.statistics.changepoint import SHORTEST
from asct.values.quantity import format_quantity

_MOST_MAPS: Final = 4
_MOST_MARKERS: Final = 3
_GIB: Final = float(2**30)
_DONE: Final = {"read": "read", "write": "written", "trim": "trimmed"}


@dataclass(frozen=True, slots=True)
class LevelChange:
    """A change in the rate from `before` to `after` (ops/s) at the time `second` of a repeat, after `moved` bytes."""

    row: PointRow
    repeat: int
    second: float
    before: float
    after: float
    moved: float


def level_changes(row: PointRow) -> list[LevelChange]:
    """Return the changes in the rate during each repeat of a row."""
    found = []
    for repeat in row.repeats:
        rates, bytes_per_s = _course(row, "second_iops", repeat), _course(row, "second_bandwidth", repeat)
        moved = [0.0]
        for (start, rate), (end, _) in pairwise([*bytes_per_s, *bytes_per_s[-1:]]):
            moved.append(moved[-1] + rate * (end - start))
        for change in rate_changes(rates):
            total = moved[change.index] if change.index < len(moved) else moved[-1]
            found.append(LevelChange(row, repeat, rates[change.index][0], change.before, change.after, total))
    return found


def _course(row: PointRow, metric: str, repeat: int) -> list[tuple[float, float]]:
    """Return the (second, value) pairs of one repeat, sorted by time."""
    return sorted((_second(one), one.value) for one in row.course.get(metric, []) if one.repeat == repeat)


def _second(record: Record) -> float:
    second = record.coords["second"]
    return float(second) if isinstance(second, int | float) else 0.0


def changes_table(found: Sequence[LevelChange], names: Sequence[str], slug: str) -> tuple[Table, ...]:
    """Return a table with one row per change, or an empty tuple if there are none."""
    if not found:
        return ()
    columns = (
        Column("point", "Point", format="text"),
        Column("repeat", "Repeat", format="integer"),
        Column("second", "After (s)", digits=0),
        Column("moved", "After (GiB)", _GIB, 2, help="amount read or written since the start of the run"),
        Column("before", "From (kops)", 1e3, 2),
        Column("after", "To (kops)", 1e3, 2),
        Column("change", "Change (%)"),
    )
    rows: tuple[Row, ...] = tuple(
        {
            "point": _point(turn.row, names), "repeat": turn.repeat, "second": turn.second, "moved": turn.moved,
            "before": turn.before, "after": turn.after,
            "change": 100.0 * (turn.after / turn.before - 1.0 if turn.before else 1.0),
        }
        for turn in found
    )  # fmt: skip
    note = f"Rate changes of {100 * LEAST_CHANGE:.0f} % or more during a run; the mean rate of such a run is misleading"
    return (Table(f"{slug}-changes", "Rate changes during a run", columns, rows, (note,), (CHANGED,)),)


def change_note(turn: LevelChange, names: Sequence[str]) -> str:
    """Describe a change as a sentence without a period."""
    verb = "fell" if turn.after < turn.before else "rose"
    sides = [word for side, word in _DONE.items() if turn.row.value(f"{side}_iops") is not None]
    moved = f"{turn.moved / _GIB:.3g} GiB {' and '.join(sides)}"
    rates = " to ".join(format_quantity(rate, "ops/s") for rate in (turn.before, turn.after))
    return f"{_point(turn.row, names)}: the rate {verb} from {rates} after {turn.second:.0f} s ({moved})"


def _point(row: PointRow, names: Sequence[str]) -> str:
    return settings_text(row, names) or "the point"


def course_figures(rows: Sequence[PointRow], names: Sequence[str]) -> tuple[Figure, ...]:
    """Return figures of rate and latency over time, for points whose rate changed or for the point with the highest
    rate."""
    timed = [row for row in rows if len(row.course.get("second_iops", [])) >= SHORTEST]
    if not timed:
        return ()
    turned = {id(row): found for row in timed if (found := level_changes(row))}
    first = [row for row in timed if id(row) in turned]
    lines = timed if len(timed) <= MOST_SERIES else first[:MOST_SERIES] or sample(timed, names)
    mapped = first[:_MOST_MAPS] or [max(timed, key=lambda row: row.value("iops") or 0.0)]
    found = [turn for row in lines for turn in turned.get(id(row), [])]
    maps = [_latency_map(row, names, _repeat(row, turned.get(id(row), []))) for row in mapped]
    return (_timeline(lines, names, found, timed), *(chart for chart in maps if chart is not None))


def _repeat(row: PointRow, found: Sequence[LevelChange]) -> int:
    """Return the first repeat in which the rate changed or, if there is none, the first repeat."""
    return found[0].repeat if found else row.repeats[0]


def _timeline(
    lines: Sequence[PointRow], names: Sequence[str], found: Sequence[LevelChange], timed: Sequence[PointRow]
) -> Line:
    series = []
    vary = varying(lines, names) or list(names)
    for row in lines:
        repeat = _repeat(row, [turn for turn in found if turn.row is row])
        course = _course(row, "second_iops", repeat)
        times, rates = (tuple(pair[index] for pair in course) for index in (0, 1))
        whole = [record for record in row.samples.get("iops", ()) if record.repeat == repeat]
        detail = Detail((), flags=flags_of(whole), setting=settings_text(row, list(row.swept)))
        series.append(Series(label(row, vary) or "all", times, rates, details=(detail,) * len(times)))
    markers = tuple(
        Marker(turn.second, "", value=format_quantity(turn.after, "ops/s")) for turn in found[:_MOST_MARKERS]
    )
    caption = "Requests completed per second over the course of a run."
    if markers:
        caption += " Vertical lines mark changes in the rate and show the new rate."
    if found and len(lines) < len(timed):
        caption += f" {len(lines)} of {len(timed)} points are shown: those whose rate changed."
    else:
        caption += sample_note(lines, timed, names)
    return Line(
        "timeline", "IOPS over time", caption, Axis("Time", "s"), Axis("IOPS", "ops/s", better="higher"),
        tuple(series), markers,
    )  # fmt: skip


def _latency_map(row: PointRow, names: Sequence[str], repeat: int) -> Heatmap | None:
    """Return a heat map of how each second's requests are distributed over latencies, with slow requests at the top.
    Return None if there are no histograms.

    The rows are powers of two, in nanoseconds. A row is empty if no request had a latency in its range.
    """
    cells = {
        (_second(record), round(math.log2(float(record.coords["latency"]) * 1e9))): record.value
        for record in row.course.get("second_share", [])
        if record.repeat == repeat and isinstance(record.coords["latency"], int | float)
    }
    if not cells:
        return None
    seconds = sorted({second for second, _ in cells})
    powers = range(max(power for _, power in cells), min(power for _, power in cells) - 1, -1)
    where = _point(row, names)
    return Heatmap(
        slug=f"latency-over-time{slug_of(where)}",
        title=f"Latency over time, {where}",
        caption="Share of each second's requests with a completion latency between the row's value and twice "
        "that value.",
        x_title="Time (s)",
        y_title="Latency, at least",
        columns=_times(seconds),
        rows=tuple(format_quantity(2.0**power * 1e-9, "s") for power in powers),
        values=tuple(tuple(cells.get((second, power)) for second in seconds) for power in powers),
        unit="%",
    )


def _times(seconds: Sequence[float]) -> tuple[str, ...]:
    """Format times to a tenth of a second, or exactly if two of them would otherwise look the same."""
    short = tuple(f"{round(second, 1):g}" for second in seconds)
    return short if len(set(short)) == len(short) else tuple(f"{second:g}" for second in seconds)
