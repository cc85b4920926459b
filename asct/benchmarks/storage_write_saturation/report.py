"""The report of storage-write-saturation: tables of the whole test and, for exports, of every round; figures of IOPS
and latency over time and over the data written, and of the final histogram."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
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
    series_of,
)
from asct.values.duration import format_duration
from asct.values.grouping import grouped
from asct.values.size import format_size
from asct.values.text import counted

_US: Final = 1e-6
_GB: Final = 1e9
_SUMMARY: Final = (
    Column("iops", "IOPS at the end", digits=0, help="over the last rounds of the test"),
    Column("bandwidth", "BW (MB/s)", 1e6),
    Column("latency", "Mean lat. (us)", _US),
    Column("response_p99_99", "p99.99 (us)", _US, help="measured in the histogram run"),
    Column("response_max", "Max lat. (us)", _US, help="measured in the histogram run"),
    Column("burst_iops", "IOPS before the cliff", digits=0),
    Column("cliff_written", "Cliff at (GB)", _GB, digits=2, help="amount written before the rate fell by half"),
    Column("cliff_ratio", "Drop (x)", digits=2),
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
    "volume": "the amount of data that `volume_factor` specifies was written",
    "time": "`time_cap` was reached before the required amount of data was written",
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
    """Return a note that gives the settings for the rounds."""
    run = record.coords
    mix = f" with {run['rwmixread']} % reads" if run["rw"] in ("randrw", "rw") else ""
    each, size = format_duration(float(run["round_time"])), format_size(int(run["block_size"]))
    load = f"{counted(int(run['numjobs']), 'job')} at queue depth {run['iodepth']}"
    return f"Rounds of {each}: {run['rw']} of {size}{mix}, {load}, direct I/O"


_LATENCIES: Final = {
    "mean": "round_latency", "p99.9": "round_latency_p99_9", "maximum": "round_latency_max",
}  # fmt: skip
_COURSES: Final = (
    Line(
        "iops", "IOPS", "IOPS of each round, plotted against {over}. The cliff is where the rate first fell by half.",
        Axis(""), Axis("IOPS", "ops/s", better="higher"), (),
    ),
    Line(
        "latency", "Latency",
        "Request latency of each round (mean, p99.9 and maximum, including submission), plotted against {over}.",
        Axis(""), Axis("Latency", "s", "log10", better="lower"), (),
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ProgressAxis:
    """An x axis, and the metrics that give the positions of a round and of the cliff on this axis."""

    slug: str
    words: str
    axis: Axis
    metric: str
    cliff: str


_OVER: Final = (
    ProgressAxis("time", "time", Axis("Time under load", "s"), "round_time", "cliff_time"),
    ProgressAxis("written", "data written", Axis("Written", "B"), "round_written", "cliff_written"),
)


def course_figures(records: Sequence[Record]) -> Sequence[Figure]:
    """Return figures that plot IOPS and latency against time and against the data written, and a figure of the
    histogram, or an empty sequence if there are no records."""
    points = [mine for mine in by_point(records) if at(mine, "round_iops")]
    if not points:
        return ()
    names = [point_label(mine[0], "") if len(points) > 1 else "" for mine in points]
    found = [_course(chart, over, names, points) for chart in _COURSES for over in _OVER]
    shares = {name or "all requests": at(mine, "response_share") for name, mine in zip(names, points, strict=True)}
    histogram = response_figure(shares, "response-histogram", "Response times at the end")
    return (*found, *(() if histogram is None else (histogram,)))


def _course(chart: Line, over: ProgressAxis, names: Sequence[str], points: Sequence[Sequence[Record]]) -> Figure:
    metrics = _LATENCIES if chart.y.unit == "s" else {"": "round_iops"}
    series = tuple(
        _series(", ".join(filter(None, (name, kind))) or "rounds", mine, over.metric, metric)
        for name, mine in zip(names, points, strict=True)
        for kind, metric in metrics.items()
        if at(mine, metric)
    )
    cliff = middle(at(points[0], over.cliff)) if len(points) == 1 else None
    fills = middle(at(points[0], "cliff_fills"))
    name, value = ("cliff", "") if fills is None else ("cliff after", f"{fills:.3g} drive fills")
    return replace(
        chart,
        slug=f"{chart.slug}-over-{over.slug}",
        title=f"{chart.title} over {over.words}",
        caption=chart.caption.format(over=over.words),
        x=over.axis,
        series=series,
        markers=() if cliff is None else (Marker(cliff, name, value=value),),
    )


def _series(name: str, mine: Sequence[Record], place: str, metric: str) -> Series:
    """Return the values of the rounds of one point as a series plotted against the positions at which the rounds
    end."""
    ends, values = (grouped(at(mine, key), lambda one: int(one.coords["round"])) for key in (place, metric))
    numbers = sorted(values)
    return series_of(name, [middle(ends.get(number, ())) or 0.0 for number in numbers], [values[n] for n in numbers])
