"""storage-composite-workload: SNIA's composite block size workload at different demand intensities."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, Final

from asct.benchmarks.storage_composite_workload.params import CompositeParams, mix_at_odds
from asct.instruments.fio.devices import device_table
from asct.instruments.qualification.benchmark import FLAGS, Cost, Qualification
from asct.instruments.qualification.demand import FLAGS as DEMAND_FLAGS
from asct.instruments.qualification.demand import METRICS, MOST, demand_steps, demand_values
from asct.instruments.qualification.demand_plan import demand_cost, loads_at_odds
from asct.instruments.qualification.demand_report import demand_figures, demand_tables
from asct.instruments.qualification.journal import StepJournal
from asct.instruments.qualification.results import TARGET, opening_flags
from asct.instruments.qualification.rounds import FAST
from asct.instruments.qualification.settings import size_name
from asct.sdk.benchmark import Context
from asct.sdk.facts import HostFacts
from asct.sdk.figure import Figure, Table
from asct.sdk.metric import Highlight
from asct.sdk.needs import Needs
from asct.sdk.record import Measurement, Record
from asct.sdk.rows import at, by_point, point_label
from asct.sdk.step import Step

_WORKLOAD: Final = ("bssplit", "random_distribution", "rwmixread")


class StorageCompositeWorkload(Qualification[CompositeParams]):
    """A qualification that measures the demand matrix and the response times of a mix of request sizes and access
    ranges."""

    name = "storage-composite-workload"
    title = "Composite workload on a drive"
    version = "1"
    summary = "A mix of block sizes and access ranges at different demand intensities (SNIA PTS CBW, ECW; JESD219)"
    aliases = ("scbw",)
    params_model = CompositeParams
    flags: ClassVar[Mapping[str, str]] = {**FLAGS, **DEMAND_FLAGS}
    highlights = (Highlight("point_iops", "Highest IOPS of the composite workload within the latency limit", MOST),)
    metrics = (*METRICS, *TARGET)

    def check(self, params: CompositeParams) -> Iterable[tuple[str, str]]:
        """Yield the errors common to all qualifications, and errors for impossible mixes and loads."""
        errors = [*super().check(params), *loads_at_odds(params)]
        yield from errors or mix_at_odds(params)

    def needs(self, params: CompositeParams, facts: HostFacts | None) -> Needs:
        """Return the required resources, including the usual and the worst-case duration."""
        load = params.at_highest()
        base = super().needs(load, facts)
        buffers = load.numjobs * load.iodepth * max(params.shares)
        return replace(base, memory_bytes=max(base.memory_bytes, buffers))

    def cost(self, params: CompositeParams) -> Cost:
        """Return the time that the demand test takes, and the number of bytes that it writes."""
        return demand_cost(params)

    def closing_steps(self, journal: StepJournal, params: CompositeParams, context: Context) -> Sequence[Step]:
        """Return the next steps of the demand test."""
        load = params.on(journal.logical_block).at_highest()
        return demand_steps(load, journal.under(load), context)

    def target_values(self, journal: StepJournal) -> Iterator[Measurement]:
        """Yield the properties of the target, and the request sizes that it does not support."""
        yield from super().target_values(journal)
        params = journal.params
        if isinstance(params, CompositeParams):
            for size in params.shares.keys() - params.on(journal.logical_block).shares.keys():
                yield Measurement("left_out", float(size), {"block_size": size})

    def closing_values(self, journal: StepJournal, params: CompositeParams) -> Iterator[Measurement]:
        """Yield the values of the steady state, of the matrix, and of the operating points."""
        load = params.on(journal.logical_block).at_highest()
        own = journal.under(load)
        yield from demand_values(load, own, opening_flags(own, load.phase))

    def tables(self, records: Sequence[Record]) -> Sequence[Table]:
        """Return tables of the operating points, the matrix, the steady states and the drive."""
        form = " (fast profile)" if any(FAST in record.flags for record in records) else ""
        tables = demand_tables(records, self.name, form)
        first = [replace(table, notes=(*table.notes, *self._notes(records))) for table in tables[:1]]
        return (*(table for table in (*first, *tables[1:]) if table.rows), *device_table(records, self.name))

    def _notes(self, records: Sequence[Record]) -> Iterator[str]:
        """Yield the workload of each point, and the request sizes that were skipped."""
        for point in dict.fromkeys(record.point_id for record in records):
            sizes, ranges, reads = (self.display_setting(point, name) for name in _WORKLOAD)
            yield f"Requests: {sizes}; {ranges}; {reads} % reads"
        left_out = sorted({round(record.value) for record in at(records, "left_out")})
        if left_out:
            yield f"Skipped: {', '.join(map(size_name, left_out))} (smaller than a logical block of the target)"

    def figures(self, records: Sequence[Record]) -> Sequence[Figure]:
        """For each point, return the figures of the demand test."""
        points = by_point(records)
        labels = [point_label(mine[0], "") if len(points) > 1 else "" for mine in points]
        return [
            figure
            for number, (mine, label) in enumerate(zip(points, labels, strict=True), 1)
            for figure in demand_figures(mine, f", {label}" if label else "", f"-{number}" if len(points) > 1 else "")
        ]


BENCHMARK = StorageCompositeWorkload()
