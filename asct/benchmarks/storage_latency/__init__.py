"""storage-latency: the latency test from SNIA PTS and TKperf, with one request in flight, followed by a histogram
run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from asct.instruments.fio.params import FioParams
from asct.instruments.qualification.benchmark import START_SECONDS, MatrixQualification
from asct.instruments.qualification.journal import StepJournal, fio_process
from asct.instruments.qualification.responses import PERCENTILES, response_figure, response_metrics, response_values
from asct.instruments.qualification.results import METRICS
from asct.instruments.qualification.settings import MatrixParams, Workload, WorkloadNames
from asct.sdk.benchmark import Context
from asct.sdk.facts import HostFacts
from asct.sdk.figure import Column, Figure, Table
from asct.sdk.metric import Highlight
from asct.sdk.needs import Needs
from asct.sdk.params import Count, Counts, Duration, Sizes, setting
from asct.sdk.record import Measurement, Record
from asct.sdk.rows import FLAGS_COLUMN, Row, at, by_point, flag_cell, flags_of, middle, point_label, series_name
from asct.sdk.step import Step

_NAMES = {"mean": "mean", **{name: f"{percent:g} %" for name, percent in PERCENTILES.items()}, "max": "max"}


def response_table(records: Sequence[Record], slug: str) -> Sequence[Table]:
    """Return a table of the response times (mean, percentiles and maximum) with one row per point, or an empty sequence
    if there was no histogram run."""
    points = [mine for mine in by_point(records) if at(mine, "response_mean")]
    if not points:
        return ()
    columns = (
        Column("point", "Point", format="text"),
        *(Column(name, f"{title} (ms)", 1e-3, 3) for name, title in _NAMES.items()),
        FLAGS_COLUMN,
    )
    rows = tuple(_row(mine, len(points) > 1) for mine in points)
    notes = (
        "All requests in one run of 4k random writes after the rounds; percentiles with fewer than 10 slower "
        "requests are omitted",
    )
    flags = flags_of(record for mine in points for record in at(mine, "response_mean"))
    return (Table(f"{slug}-response", "Response Times of 4k Random Writes", columns, rows, notes, flags),)


def _row(mine: Sequence[Record], named: bool) -> Row:
    row: Row = {"point": point_label(mine[0], "") if named else None}
    row |= {name: middle(at(mine, f"response_{name}")) for name in _NAMES}
    return row | flag_cell(at(mine, "response_mean"))


RESPONSE: Final = "response"
RESPONSE_CELL: Final = Workload(4096, 0)
_RESPONSE_SEED: Final = 9_000_000


class LatencyParams(MatrixParams):
    """Settings for the matrix, which by default combines three block sizes with three mixes at queue depth 1."""

    block_sizes: Sizes = setting(
        (8192, 4096, 512),
        "Block sizes of the workloads; sizes smaller than a logical block of the target are skipped",
        aliases=("block_size", "bs"),
        min_length=1,
    )
    mixes: Counts = setting((100, 65, 0), "Read percentages of the workloads", aliases=("rwmixread",), min_length=1)
    dependent: WorkloadNames = setting(
        ("4K:0",),
        "Workloads whose mean latency must reach steady state, each as `block size:read percentage`",
        aliases=("dependent_variables", "tracking"),
        min_length=1,
    )
    numjobs: Count = setting(
        1, "Number of identical concurrent processes; the specification requires 1", aliases=("nj",), ge=1, le=1024
    )
    iodepth: Count = setting(
        1, "Queue depth per job; the specification requires 1", aliases=("iod", "queue_depth"), ge=1, le=65536
    )
    response_time: Duration = setting(
        1200.0,
        "Duration of the 4k random writes that follow the rounds and provide the histogram of response times; "
        "`0s` omits them",
        aliases=("histogram_time",),
        le=30 * 86400,
        pitfalls="The 99.999th percentile requires 1,000,000 requests.",
    )


class StorageLatency(MatrixQualification[LatencyParams]):
    """A qualification that measures the latencies of the workloads, followed by the histogram run."""

    name = "storage-latency"
    title = "SSD qualification: latency"
    version = "2"
    summary = "Steady-state latency of a drive at queue depth 1, with a histogram of response times (SNIA PTS, TKperf)"
    aliases = ("slatency",)
    params_model = LatencyParams
    metrics = (*METRICS, *response_metrics())
    matrices = ("latency", "latency_p99_999", "latency_max", "iops")
    quantity = "latency"
    charts = ("latency", "latency_max")
    highlights = (
        Highlight("latency", "4k random write, mean in steady state", {"block_size": 4096, "rwmixread": 0}),
        Highlight("latency", "4k random read, mean in steady state", {"block_size": 4096, "rwmixread": 100}),
    )

    def needs(self, params: LatencyParams, facts: HostFacts | None) -> Needs:
        """Return the required resources, including those for the histogram run."""
        found = super().needs(params, facts)
        more = params.response_time + START_SECONDS if params.response_time else 0.0
        return replace(found, seconds=found.seconds + more, longest_s=found.longest_s + more)

    def closing_steps(self, journal: StepJournal, params: LatencyParams, context: Context) -> Sequence[Step]:
        """Return the histogram run, or an empty sequence if it has finished or is disabled (`response_time: 0s`)."""
        if journal.has(RESPONSE) or not params.response_time:
            return ()
        return [fio_process(self._response(journal, params), context, RESPONSE)]

    def _response(self, journal: StepJournal, params: LatencyParams) -> FioParams:
        [phase] = self.phases(params, journal.logical_block)
        cell = replace(RESPONSE_CELL, block_size=max(RESPONSE_CELL.block_size, journal.logical_block))
        return journal.fio(cell, replace(phase, seconds=params.response_time), _RESPONSE_SEED)

    def closing_values(self, journal: StepJournal, params: LatencyParams) -> Iterator[Measurement]:
        """Yield the percentiles and the histogram of all requests."""
        if params.response_time:
            yield from response_values(journal.point(RESPONSE, self._response(journal, params)))

    def tables(self, records: Sequence[Record]) -> Sequence[Table]:
        """Return tables of the averages, the maxima, the steady state, and the response times."""
        return (*super().tables(records), *response_table(records, self.name))

    def figures(self, records: Sequence[Record]) -> Sequence[Figure]:
        """Return the figures common to all qualifications, and the histogram."""
        shares = {
            series_name("4k 0/100", mine[0]): at(mine, "response_share")
            for mine in by_point(records)
            if at(mine, "response_share")
        }
        histogram = response_figure(shares, "response-histogram", "Response times")
        return (*super().figures(records), *(() if histogram is None else (histogram,)))


BENCHMARK = StorageLatency()
