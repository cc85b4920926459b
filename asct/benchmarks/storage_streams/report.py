"""The report of storage-streams: tables of each stream's rates and latencies, alone and together with the other
streams, and figures of these values and of the rounds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from asct.benchmarks.storage_streams.params import ALL, ALONE, TOGETHER
from asct.instruments.fio.devices import device_table
from asct.instruments.qualification.figures import Course, course_figure, round_of, verification_figure
from asct.instruments.qualification.tables import QualificationView, notes_of, views, window_row, windows_table
from asct.sdk.figure import Axis, Bars, Column, Figure, Table
from asct.sdk.record import Record
from asct.sdk.rows import FLAGS_COLUMN, Row, at, flag_cell, series_of

_MB: Final = 1e6
_US: Final = 1e-6
_RATES: Final = (
    Column("stream", "Stream", format="text"),
    Column("iops-alone", "IOPS alone", digits=0),
    Column("iops-together", "Together", digits=0),
    Column("request_share", "Share (%)", help="share of all requests while all streams run"),
    Column("bandwidth-alone", "MB/s alone", _MB),
    Column("bandwidth-together", "Together", _MB),
    Column(
        "kept_bandwidth", "Kept (%)", help="bandwidth while all streams run, relative to the stream's bandwidth alone"
    ),
)
_PERCENTILES: Final = {"latency_p99": "p99", "latency_p99_9": "p99.9", "latency_p99_999": "p99.999"}
_LATENCIES: Final = (
    Column("stream", "Stream", format="text"),
    Column("load", "Load", format="text"),
    Column("latency", "Mean (us)", _US),
    *(Column(metric, f"{name} (us)", _US) for metric, name in _PERCENTILES.items()),
    Column("latency_max", "Max (us)", _US),
)


def _streams(view: QualificationView) -> list[str]:
    return list(dict.fromkeys(str(record.coords["stream"]) for record in at(view.records, "request_share")))


def stream_tables(records: Sequence[Record], slug: str, streams_of: Callable[[str], Sequence[str]]) -> Sequence[Table]:
    """Return the tables for each point, or an empty sequence if there are no records. `streams_of` returns the streams
    in the settings of a point."""
    found: list[Table] = []
    for view in views(records):
        rates = tuple(_rates(view, stream) for stream in (*_streams(view), ALL))
        flags = view.flags("bandwidth", load=TOGETHER)
        streams = ", ".join(streams_of(view.records[0].point_id))
        notes = ("MB = 1,000,000 bytes", f"Streams: {streams}", *notes_of(view))
        title = f"Streams alone and together{view.suffix}"
        found.append(Table(f"{slug}{view.slug}", title, (*_RATES, FLAGS_COLUMN), rates, notes, flags))
        latencies = tuple(
            _latencies(view, stream, load)
            for stream in (*_streams(view), ALL)
            for load in (ALONE, TOGETHER)
            if view.amount("latency", stream=stream, load=load) is not None
        )
        title = f"Latencies of the streams{view.suffix}"
        found.append(Table(f"{slug}-latency{view.slug}", title, _LATENCIES, latencies))
        windows = [_window_row(view, phase) for phase in view.phases]
        found.append(windows_table(f"{slug}{view.slug}", view.suffix, windows))
    return (*found, *device_table(records, slug))


def _rates(view: QualificationView, stream: str) -> Row:
    cells: Row = {"stream": stream}
    for load in (ALONE, TOGETHER):
        cells |= {f"{key}-{load}": view.amount(key, stream=stream, load=load) for key in ("iops", "bandwidth")}
    cells |= {key: view.amount(key, stream=stream) for key in ("request_share", "kept_bandwidth")}
    return cells | flag_cell(at(view.records, "bandwidth", stream=stream))


def _latencies(view: QualificationView, stream: str, load: str) -> Row:
    keys = ("latency", *_PERCENTILES, "latency_max")
    return {"stream": stream, "load": load, **{key: view.amount(key, stream=stream, load=load) for key in keys}}


def _tracked(view: QualificationView, phase: str) -> Record:
    """Return the record that identifies the dependent variable of a phase."""
    return at(view.first_repeat, "window_slope", phase=phase)[0]


def _course(view: QualificationView, stream: str, load: str) -> list[Record]:
    """Return the rounds of a stream in the first repeat, in order."""
    records = at(view.first_repeat, "round_iops", stream=stream, load=load)
    return sorted(records, key=round_of)


def _window(view: QualificationView, phase: str) -> list[Record]:
    """Return the values of a phase's dependent variable in the rounds of the measurement window."""
    first, last = view.window_rounds(phase)
    coords = _tracked(view, phase).coords
    course = _course(view, str(coords["stream"]), str(coords["load"]))
    return [record for record in course if first <= round_of(record) <= last]


def _window_row(view: QualificationView, phase: str) -> Row:
    shares: Row = {key: view.amount(key, phase=phase) for key in ("window_excursion", "window_slope")}
    return window_row(_label(view, phase), view.steady(phase), _window(view, phase)) | shares


def _label(view: QualificationView, phase: str) -> str:
    coords = _tracked(view, phase).coords
    return "all streams together" if coords["stream"] == ALL else f"{coords['stream']} alone"


_CHARTS: Final = {
    "bandwidth": ("Bandwidth", "B/s"), "iops": ("IOPS", "ops/s"), "latency": ("Mean latency", "s"),
}  # fmt: skip


def stream_figures(records: Sequence[Record]) -> Sequence[Figure]:
    """Return the figures for each point, or an empty sequence if there are no records."""
    found: list[Figure] = []
    for view in views(records):
        found += [_bars(view, metric) for metric in _CHARTS]
        found += [_rounds(view, load) for load in (TOGETHER, ALONE) if at(view.records, "round_iops", load=load)]
        for phase in view.phases:
            half = float(view.run(phase)["excursion"]) / 200.0
            title = f"Steady state verification, {_label(view, phase)}{view.suffix}"
            slug = f"verification-{phase.replace(' ', '-')}{view.slug}"
            found.append(verification_figure(slug, title, _window(view, phase), half, "iops"))
    return tuple(found)


def _bars(view: QualificationView, metric: str) -> Figure:
    title, unit = _CHARTS[metric]
    streams = _streams(view)
    series = tuple(
        series_of(load, streams, [at(view.records, metric, stream=stream, load=load) for stream in streams])
        for load in (ALONE, TOGETHER)
    )
    return Bars(
        f"streams-{metric}{view.slug}", f"{title} of the streams{view.suffix}",
        f"{title} of each stream alone, and of the same stream while all streams run.",
        Axis("Stream", "", "category"), Axis(title, unit, better="lower" if unit == "s" else "higher"), series,
    )  # fmt: skip


def _rounds(view: QualificationView, load: str) -> Figure:
    """Return the IOPS of each stream over the rounds."""
    windows = {
        str(tracked.coords["stream"]): view.window_rounds(phase)
        for phase in view.phases
        for tracked in (_tracked(view, phase),)
        if tracked.coords["load"] == load
    }
    courses = [
        Course(stream, rounds, windows.get(ALL if load == TOGETHER else stream))
        for stream in (*_streams(view), *((ALL,) if load == TOGETHER else ()))
        if (rounds := _course(view, stream, load))
    ]
    return course_figure(
        f"rounds-{load}{view.slug}", f"Rounds of the streams {load}{view.suffix}",
        "IOPS of each stream in every round, while all streams run."
        if load == TOGETHER else "IOPS of each stream in every round, while no other stream runs.",
        Axis("IOPS", "ops/s", "log10", better="higher"), courses, load == ALONE,
    )  # fmt: skip
