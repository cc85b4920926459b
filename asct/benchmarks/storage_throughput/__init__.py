"""storage-throughput: sequential reads and writes on a drive in steady state, by block size."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated

from pydantic import Field

from asct.instruments.qualification.benchmark import Qualification
from asct.instruments.qualification.compared import compared_tables
from asct.instruments.qualification.settings import MIB, Phase, QualificationParams, TrackedMetric, Workload, size_name
from asct.instruments.qualification.tables import QualificationView, notes_of, phase_tables, views
from asct.sdk.figure import Column, Table
from asct.sdk.metric import Highlight
from asct.sdk.params import Count, Size, Sizes, setting
from asct.sdk.record import Record
from asct.sdk.rows import FLAGS_COLUMN, Row

_MB = 1e6


class ThroughputParams(QualificationParams):
    """The shared settings and the block sizes; each block size is a separate test."""

    block_sizes: Annotated[Sizes, Field(min_length=1)] = setting(
        (MIB, 64 * 1024, 8 * 1024, 4096, 512),
        "Request sizes, each with its own steady state (SNIA PTS: 1024K and 128K)",
        aliases=("bss",),
    )
    precondition_block_size: Size | None = setting(
        None,
        "Request size for preconditioning; if unset, the request size of the test (SNIA PTS)",
        ge=512,
        le=128 * MIB,
    )
    numjobs: Count = setting(
        1,
        "Number of concurrent processes, each on its own part of the range",
        aliases=("nj",),
        ge=1,
        le=1024,
        pitfalls="If there are several processes, a round does not continue where the previous one stopped.",
    )
    iodepth: Count = setting(32, "Queue depth per job", aliases=("iod", "queue_depth"), ge=1, le=65536)

    @property
    def sizes(self) -> tuple[int, ...]:
        """All block sizes that the test uses, including those for preconditioning."""
        preconditioned = (self.precondition_block_size,) if self.precondition_block_size else ()
        return (*self.block_sizes, *preconditioned)


class StorageThroughput(Qualification[ThroughputParams]):
    """A qualification with a phase for each block size (with the `pts` profile), or with a single phase that tracks the
    first size (with the `fast` profile)."""

    name = "storage-throughput"
    title = "SSD qualification: throughput"
    version = "2"
    summary = "Steady-state sequential bandwidth of a drive by block size (TKperf tp, SNIA PTS throughput)"
    aliases = ("stp",)
    params_model = ThroughputParams
    quantity = "bandwidth"
    charts = ("bandwidth",)
    highlights = (
        Highlight("bandwidth", "Sequential reads in the steady state", {"block_size": None, "rwmixread": 100}),
        Highlight("bandwidth", "Sequential writes in the steady state", {"block_size": None, "rwmixread": 0}),
    )

    def check(self, params: ThroughputParams) -> Iterable[tuple[str, str]]:
        """Yield the errors common to all qualifications, and an error for repeated block sizes."""
        yield from super().check(params)
        if len(set(params.block_sizes)) < len(params.block_sizes):
            yield "block_sizes", "contains a size twice; list each size only once"

    def phases(self, params: ThroughputParams, logical_block: int) -> Sequence[Phase]:
        """Return the phases. In each round, reads precede writes, as in TKperf."""
        sizes = [size for size in params.block_sizes if size >= logical_block]
        groups = [sizes] if params.profile == "fast" and sizes else [[size] for size in sizes]
        return tuple(_phase(params, group, len(groups) > 1) for group in groups)

    def tables(self, records: Sequence[Record]) -> Sequence[Table]:
        """Return tables that compare several points, tables of reads and writes by block size, and tables of the steady
        states."""
        averages = (_averages(view, self.name) for view in views(records))
        return (*compared_tables(records, self.name, self.charts), *averages, *phase_tables(records, self.name, ()))


def _phase(params: ThroughputParams, sizes: Sequence[int], several: bool) -> Phase:
    cells = tuple(Workload(size, reads, random=False) for size in sizes for reads in (100, 0))
    return Phase(
        name=f"{size_name(sizes[0])}-" if several else "",
        cells=cells,
        tracked=(TrackedMetric(cells[1], "bandwidth"),),
        sequential_block=params.precondition_block_size or sizes[0],
        seconds=params.round_time,
        ramp_s=params.ramp_time,
    )


def _averages(view: QualificationView, slug: str) -> Table:
    """Return the table that TKperf's report contains."""
    values = view.cells("bandwidth")
    rows: list[Row] = [
        {
            "block_size": size_name(size),
            "read": values.get((size, 100)),
            "write": values.get((size, 0)),
            "latency": view.amount("latency", block_size=size, rwmixread=0),
            "flags": ", ".join(view.flags("bandwidth", block_size=size)),
        }
        for size in dict.fromkeys(size for size, _ in values)
    ]
    columns = (
        Column("block_size", "Block Size", format="text"),
        Column("read", "Read (MB/s)", _MB, 3, kept=True),
        Column("write", "Write (MB/s)", _MB, 3, kept=True),
        Column("latency", "Write Lat. (us)", 1e-6, help="mean latency"),
        FLAGS_COLUMN,
    )
    title = f"Average MB/s vs. Block Size and R/W{view.suffix}"
    notes = ("MB = 1,000,000 bytes", *notes_of(view))
    return Table(f"{slug}{view.slug}", title, columns, tuple(rows), notes, view.flags("bandwidth"))


BENCHMARK = StorageThroughput()
