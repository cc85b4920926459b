"""storage-streams: concurrent streams of sequential and random requests, together and alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from asct.benchmarks.storage_streams.params import (
    ALL,
    ALONE,
    TOGETHER,
    StorageStreamsParams,
    Stream,
    streams_at_odds,
    together,
)
from asct.benchmarks.storage_streams.report import stream_figures, stream_tables
from asct.instruments.fio.point import FioPoint, results_of
from asct.instruments.qualification.benchmark import Qualification
from asct.instruments.qualification.journal import FioSummary, StepJournal, level_flags
from asct.instruments.qualification.results import CELL, METRICS, PhaseResults, cell_values, round_values
from asct.instruments.qualification.settings import Phase, Workload
from asct.sdk.facts import HostFacts
from asct.sdk.figure import Figure, Table
from asct.sdk.metric import Coords, Highlight, Metric
from asct.sdk.needs import Needs
from asct.sdk.record import Measurement, Record, Scalar

_PLACE: Coords = {"stream": None, "load": (ALONE, TOGETHER)}


def _placed(metric: Metric) -> Metric:
    """Return a metric common to all qualifications, identified by a stream instead of by a block size and a mix."""
    if not CELL.keys() <= metric.coords.keys():
        return metric
    others = {name: values for name, values in metric.coords.items() if name not in CELL}
    return metric._replace(coords=_PLACE | others)


class StorageStreams(Qualification[StorageStreamsParams]):
    """A qualification that measures all streams together and each stream alone."""

    name = "storage-streams"
    title = "Concurrent streams on a drive"
    version = "1"
    summary = "Sequential and random streams, run together and alone (SNIA RWSW Multi-WSAT, Individual Streams-WSAT)"
    aliases = ("sstreams", "rwsw")
    params_model = StorageStreamsParams
    highlights = (
        Highlight("bandwidth", "All streams together", {"stream": ALL, "load": TOGETHER}),
        Highlight(
            "kept_bandwidth",
            "Share of its bandwidth that a stream keeps while the others run",
            {"stream": None},
            subject="storage bandwidth",
        ),
    )
    metrics = (
        Metric(
            "kept_bandwidth", "%", "higher", "Bandwidth of a stream together with the others, relative to its "
            "bandwidth alone", {"stream": None},
        ),
        Metric("request_share", "%", "neither", "A stream's share of all requests", {"stream": None}),
        *map(_placed, METRICS),
    )  # fmt: skip

    def check(self, params: StorageStreamsParams) -> Iterable[tuple[str, str]]:
        """Yield the errors common to all qualifications, and errors for contradictory streams."""
        yield from list(streams_at_odds(params)) or super().check(params)

    def needs(self, params: StorageStreamsParams, facts: HostFacts | None) -> Needs:
        """Return the required resources, including buffers for the requests of all streams."""
        base = super().needs(params, facts)
        pairs = zip(params.parsed(), params.queue_depths, strict=True)
        buffers = params.numjobs * sum(depth * stream.block_size for stream, depth in pairs)
        return replace(base, memory_bytes=base.memory_bytes + buffers)

    def phases(self, params: StorageStreamsParams, logical_block: int) -> Sequence[Phase]:
        """Return the phases, which end when the rates of all requests are steady."""
        return params.phases(logical_block)

    def phase_values(self, journal: StepJournal, phase: Phase) -> Iterator[Measurement]:
        """Yield the values of a phase, including the values of each stream while all streams run."""
        yield from super().phase_values(journal, phase)
        mixed = next((cell for cell in phase.cells if cell.title == TOGETHER), None)
        if mixed is None:
            return
        found = PhaseResults(journal, phase)
        for stream in _streams(journal):
            cell = replace(stream.alone, place=(("stream", stream.name), ("load", TOGETHER)))
            yield from cell_values(cell, [_only(point, stream) for point in found.points(mixed)], found.flags)
            for index in range(found.history.rounds):
                summary = FioSummary.of(_only(found.history.point(index, mixed), stream))
                yield from round_values(summary, cell.coords | {"round": index + 1})

    def closing_values(self, journal: StepJournal, params: StorageStreamsParams) -> Iterator[Measurement]:
        """For each stream, yield the share of its bandwidth that it keeps when all streams run, and its share of all
        requests."""
        streams = _streams(journal)
        phases = params.phases(journal.logical_block)
        mixed, flags = _points(journal, phases, together(streams))
        ios = sum(point.sides[""].ios for point in mixed)
        for stream in streams:
            own, own_flags = _points(journal, phases, stream.alone)
            parts = [_only(point, stream) for point in mixed]
            marks = tuple(dict.fromkeys((*flags, *own_flags)))
            at: dict[str, Scalar] = {"stream": stream.name}
            yield Measurement("kept_bandwidth", 100.0 * _bandwidth(parts) / _bandwidth(own), at, flags=marks)
            share = 100.0 * sum(part.sides[""].ios for part in parts) / ios
            yield Measurement("request_share", share, at, flags=flags)

    def tables(self, records: Sequence[Record]) -> Sequence[Table]:
        """Return tables of each stream's rates and latencies, of the steady states, and of the drive."""
        return stream_tables(records, self.name, lambda point_id: self.display_setting(point_id, "streams"))

    def figures(self, records: Sequence[Record]) -> Sequence[Figure]:
        """Return figures that compare each stream alone with the same stream while all streams run, and figures of the
        rounds."""
        return stream_figures(records)


def _streams(journal: StepJournal) -> tuple[Stream, ...]:
    assert isinstance(journal.params, StorageStreamsParams)
    return journal.params.supported(journal.logical_block)


def _only(point: FioPoint, stream: Stream) -> FioPoint:
    """Return the part of a result that belongs to one stream. Raises ValueError if the stream issued no requests."""
    jobs = [job for job in point.document.jobs if job.name == stream.slug and job.directions]
    if not jobs:
        raise ValueError(f"the stream {stream.name} issued no requests")
    return replace(point, sides=results_of(replace(point.document, jobs=jobs, reports=()), ()), seconds=())


def _points(journal: StepJournal, phases: Sequence[Phase], cell: Workload) -> tuple[list[FioPoint], tuple[str, ...]]:
    """Return the results to report for a workload, and their flags."""
    phase = next(phase for phase in phases if cell in phase.cells)
    found = PhaseResults(journal, phase)
    points = found.points(cell)
    return points, tuple(dict.fromkeys((*found.flags, *(flag for point in points for flag in level_flags(point)))))


def _bandwidth(points: Sequence[FioPoint]) -> float:
    return sum(point.sides[""].bandwidth for point in points) / len(points)


BENCHMARK = StorageStreams()
