"""The report of storage-write-saturation: tables of the whole test and, for exports, of every round; figures of IOPS
and latency over rounds, time and bytes written, and of the final histogram."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from asct.instruments.fio.devices import device_table
from asct.instruments.qualification.responses import response_figure
from asct.sdk.figure import Axis, Column, Figure, Line, Marker, Series, Table
from asct.sdk.record import Record
from asct.sdk.rows import (
    FLAGS_COLUMN,
    Row,
    at,
    by_point,
    flag_cell,
    flags_of,
    middle,
    point_label,
    point_rows,
    rows_by,
)
from asct.values.duration import format_duration
from asct.values.size import format_size

_US: Final = 1e-6
_GB: Final = 1e9
_SUMMARY: Final = (
    Column("iops", "IOPS at the end", digits=0, help="last rounds of the test"),
    Column("bandwidth", "BW (MB/s)", 1e6),
    Column("latency", "Mean lat. (us)", _US),
    Column("response_p99_99", "p99.99 (us)", _US, help="in the histogram run"),
    Column("response_max", "Max lat. (us)", _US, help="in the histogram run"),
    Column("burst_iops", "IOPS before the cliff", digits=0),
    Column("cliff_written", "Cliff at (GB)", _GB, digits=2, help="amount written before the rate fell by half"),
    Column("cliff_ratio", "Fall (times)", digits=2),
    Column("written", "Written (GB)", _GB, digits=2),
    Column("drive_fills", "Drive fills", digits=2),
    Column("rounds", "Rounds", digits=0),
    Column("load_time", "Time (s)", digits=0),
)
_ROUND: Final = (
    Column("round", "Round", format="integer"),
    Column("round_iops", "IOPS"),
    Column("round_bandwidth", "BW (MB/s)", 1e6),
    Column("round_latency", "Mean lat. (us)", _US),
    Column("round_latency_p99_9", "p99.9 (us)", _US),
    Column("round_latency_max", "Max lat. (us)", _US),
    Column("round_written", "Written (GB)", _GB, digits=3),
    Column("round_time", "Time (s)", digits=1),
)
_ENDS: Final = {
    "volume": "the amount of data that volume_factor specifies was written",
    "time": "time_cap was reached before that amount of data was written",
    "steady": "the samples were steady",
}


def all_tables(records: Sequence[Record]) -> tuple[Table, ...]:
    """Return a table with one row per point and a table with one row per round, or an empty sequence if there are no
    records."""
    if not records:
        return ()
    slug = "storage-write-saturation"
    notes: dict[str, None] = dict.fromkeys(("GB = 1,000,000,000 bytes, MB = 1,000,000 bytes",))
    for mine in by_point(records):
        ends = at(mine, "rounds")
        notes |= dict.fromkeys(_settings_note(record) for record in ends)
        notes |= dict.fromkeys(f"The test ended because {_ENDS[str(record.coords['ended_by'])]}" for record in ends)
        if not any(record.value for record in at(mine, "cliffs")):
            notes["The rate never fell by half: there is no cliff"] = None

    def summary(mine: Sequence[Record]) -> list[Row]:
        cells: Row = {column.key: middle(at(mine, column.key)) for column in _SUMMARY}
        return [cells | flag_cell(at(mine, "iops"))]

    def rounds(mine: Sequence[Record]) -> list[Row]:
        return rows_by(mine, ("round",), _ROUND)

    whole = point_rows(records, (*_SUMMARY, FLAGS_COLUMN), summary)
    every = point_rows(records, (*_ROUND, FLAGS_COLUMN), rounds)
    return (
        Table(slug, "Write saturation", *whole, tuple(notes), flags_of(records)),
        Table(f"{slug}-rounds", "Every round", *every, bulk=True),
        *device_table(records, slug),
    )


def _settings_note(record: Record) -> str:
    """Return the settings of the rounds as a note."""
    run = record.coords
    mix = f" with {run['rwmixread']} % reads" if run["rw"] in ("randrw", "rw") else ""
    each, size = format_duration(float(run["round_time"])), format_size(int(run["block_size"]))
    load = f"{run['numjobs']} jobs at queue depth {run['iodepth']}"
    return f"Rounds of {each}: {run['rw']} of {size}{mix}, {load}, direct"


_RATE: Final = Axis("IOPS", "ops/s")
_LATENCY: Final = Axis("Latency", "s", "log10")
_LATENCIES: Final = {
    "mean": "round_latency", "p99.9": "round_latency_p99_9", "maximum": "round_latency_max",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ProgressAxis:
    """An x axis, and the metrics that give the position of a round and of the cliff on it."""

    slug: str
    words: str
    axis: Axis
    metric: str
    cliff: str


_OVER: Final = (
    ProgressAxis("round", "rounds", Axis("Round"), "", ""),
    ProgressAxis("time", "time", Axis("Time under load", "s"), "round_time", "cliff_time"),
    ProgressAxis("written", "GB written", Axis("Written", "B"), "round_written", "cliff_written"),
    ProgressAxis("fills", "drive fills", Axis("Drive fills"), "round_written", "cliff_fills"),
)


def course_figures(records: Sequence[Record]) -> Sequence[Figure]:
    """Return figures of IOPS over every axis, of latency over two of them, and of the histogram, or an empty sequence
    if there are no records."""
    points = [mine for mine in by_point(records) if at(mine, "round_iops")]
    if not points:
        return ()
    names = [point_label(mine[0], "") if len(points) > 1 else "" for mine in points]
    values = [_Progress(name, mine) for name, mine in zip(names, points, strict=True)]
    rates = [_rate(over, values) for over in _OVER]
    latencies = [_latency(over, values) for over in (_OVER[0], _OVER[2])]
    pairs = {
        name or "all requests": [
            (float(record.coords["latency"]), record.value) for record in at(mine, "response_share")
        ]
        for name, mine in zip(names, points, strict=True)
    }
    histogram = response_figure(pairs, "response-histogram", "Response times at the end")
    return (*rates, *latencies, *(() if histogram is None else (histogram,)))


class _Progress:
    """The rounds of one point, with medians over the repeats."""

    def __init__(self, name: str, mine: Sequence[Record]) -> None:
        self.name = name
        found: dict[str, dict[int, list[Record]]] = {}
        for record in mine:
            if "round" in record.coords:
                found.setdefault(record.metric, {}).setdefault(int(record.coords["round"]), []).append(record)
        self.values: Mapping[str, Mapping[int, float | None]] = {
            metric: {number: middle(repeats) for number, repeats in rounds.items()} for metric, rounds in found.items()
        }
        self.numbers = sorted(self.values["round_iops"])
        fills, written = middle(at(mine, "drive_fills")), middle(at(mine, "written"))
        self.span = written / fills if written and fills else 1.0
        self.mine = mine

    def places(self, over: ProgressAxis) -> tuple[float, ...]:
        """Return the positions on the axis at which the rounds end."""
        if not over.metric:
            return tuple(float(number) for number in self.numbers)
        scale = self.span if over.slug == "fills" else 1.0
        return tuple((self.values[over.metric][number] or 0.0) / scale for number in self.numbers)

    def series(self, over: ProgressAxis, metric: str, name: str) -> Series:
        """Return one line of a figure."""
        rounds = self.values.get(metric, {})
        label = ", ".join(part for part in (self.name, name) if part)
        return Series(label, self.places(over), tuple(rounds.get(number) for number in self.numbers))


def _rate(over: ProgressAxis, courses: Sequence[_Progress]) -> Figure:
    lines = tuple(course.series(over, "round_iops", "" if course.name else "rounds") for course in courses)
    cliff = middle(at(courses[0].mine, over.cliff)) if over.cliff and len(courses) == 1 else None
    markers = () if cliff is None else (Marker(cliff, "cliff"),)
    caption = f"IOPS by round, plotted against {over.words}. The cliff is where the rate first fell by half."
    return Line(
        f"iops-over-{over.slug}", f"IOPS over {over.words}", caption, over.axis, _RATE, lines, markers, better="higher"
    )


def _latency(over: ProgressAxis, courses: Sequence[_Progress]) -> Figure:
    lines = tuple(course.series(over, metric, name) for course in courses for name, metric in _LATENCIES.items())
    caption = f"Request latency by round (mean, p99.9 and maximum, submission included), plotted against {over.words}."
    return Line(
        f"latency-over-{over.slug}", f"Latency over {over.words}", caption, over.axis, _LATENCY, lines, better="lower"
    )
