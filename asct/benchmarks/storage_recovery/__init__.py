"""storage-recovery: the recovery of a drive during pauses and after a different workload, and its response times under
different loads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import ClassVar, Final

from asct.benchmarks.storage_recovery.idle import idle_steps, idle_values
from asct.benchmarks.storage_recovery.params import SCATTER, STREAM, RecoveryParams
from asct.benchmarks.storage_recovery.report import all_tables, recovery_figures
from asct.benchmarks.storage_recovery.stimulus import stimulus_steps, stimulus_values
from asct.instruments.fio.benchmark import ASSUMED_WRITE_BYTES_PER_S, likely_rate
from asct.instruments.qualification.benchmark import FLAGS, START_SECONDS, Cost, Qualification
from asct.instruments.qualification.demand import FLAGS as DEMAND_FLAGS
from asct.instruments.qualification.demand import METRICS as DEMAND_METRICS
from asct.instruments.qualification.demand import MOST, demand_steps, demand_values
from asct.instruments.qualification.demand_plan import WRITES, after_steady, demand_cost, loads_at_odds
from asct.instruments.qualification.journal import StepJournal
from asct.instruments.qualification.results import TARGET, opening_flags
from asct.instruments.qualification.rounds import FAST
from asct.sdk.benchmark import Context
from asct.sdk.facts import HostFacts
from asct.sdk.figure import Figure, Table
from asct.sdk.metric import Coords, Highlight, Metric
from asct.sdk.needs import Needs
from asct.sdk.record import Measurement, Record
from asct.sdk.step import Step

_WAIT: Final[Coords] = {"wait": None}
_BURST: Final[Coords] = {"wait": None, "burst": None}
_SPELL: Final[Coords] = {"spell": ("before", "between", "after")}
_ROUND: Final[Coords] = {**_SPELL, "round": None}

METRICS: Final[tuple[Metric, ...]] = (
    Metric(
        "idle_gain", "1", "higher", "IOPS of bursts after pauses, relative to the IOPS of writes without pauses", _WAIT
    ),
    Metric("recovered_iops", "ops/s", "higher", "IOPS of the bursts after pauses", _WAIT),
    Metric("baseline_iops", "ops/s", "higher", "IOPS of the subsequent writes without pauses", _WAIT),
    Metric.info("settling_time", "s", "Time until the rate under continuous load leveled off", _WAIT),
    Metric.info("idle_time", "s", "Actual pause between bursts", _WAIT),
    Metric("burst_iops", "ops/s", "higher", "IOPS of one burst", _BURST, False),
    Metric("burst_latency", "s", "lower", "Mean latency of one burst", _BURST, False),
    Metric("recovery_time", "s", "lower", "Time until the second stream reached the level of the first"),
    Metric("recovered", "1", "higher", "1 if the stream recovered to its earlier level, otherwise 0"),
    Metric("recovered_share", "1", "higher", "Level of the second stream, relative to that of the first"),
    Metric("level_bandwidth", "B/s", "higher", "Bytes per second at the end of a phase", _SPELL),
    Metric("mean_latency", "s", "lower", "Mean latency in a phase", _SPELL),
    Metric("max_latency", "s", "lower", "Maximum latency in a phase", _SPELL),
    Metric.info("spell_length", "s", "Duration of a phase", _SPELL),
    Metric("spell_bandwidth", "B/s", "higher", "Bytes per second in one round of a phase", _ROUND, False),
    Metric("spell_latency", "s", "lower", "Mean latency in one round of a phase", _ROUND, False),
    Metric("spell_latency_max", "s", "lower", "Maximum latency in one round of a phase", _ROUND, False),
    Metric.info("spell_time", "s", "Cumulative time under load at the end of a round, across all phases", _ROUND),
    *DEMAND_METRICS,
    *TARGET,
)


_Steps = Callable[[RecoveryParams, StepJournal, Context], Sequence[Step]]
_Values = Callable[[RecoveryParams, StepJournal, tuple[str, ...]], Iterator[Measurement]]
_RUNS: Final[Mapping[str, tuple[_Steps, _Values]]] = {
    "idle": (idle_steps, idle_values),
    "stimulus": (stimulus_steps, stimulus_values),
    "demand": (demand_steps, demand_values),
}


class StorageRecovery(Qualification[RecoveryParams]):
    """A qualification that runs one of three tests, each with a separate purge, initial state and sequence of steps."""

    name = "storage-recovery"
    title = "Recovery and demand intensity of a drive"
    version = "2"
    summary = "Host idle recovery, cross stimulus recovery, and response times by demand (SNIA PTS HIR, XSR, DIRTH)"
    aliases = ("srecovery",)
    params_model = RecoveryParams
    flags: ClassVar[Mapping[str, str]] = {
        **FLAGS,
        FAST: "measured with the `fast` profile; not comparable with values measured with the `pts` profile",
        "pause": "the test was interrupted before this burst or round; the drive may have recovered while idle",
        "invalid-pause": "the actual pauses differ from the setting, because fio starts too slowly or the host is too "
        "busy",
        **DEMAND_FLAGS,
    }
    highlights = (
        Highlight("idle_gain", "IOPS after a pause, relative to IOPS without pauses", {"wait": None}),
        Highlight("recovery_time", "Time until the stream recovered", subject="storage"),
        Highlight("point_iops", "Highest IOPS within the latency limit", MOST),
    )
    metrics = METRICS

    def check(self, params: RecoveryParams) -> Iterable[tuple[str, str]]:
        """Yield the errors common to all qualifications, an error if `test` is not in `tests`, and errors for
        impossible durations."""
        yield from super().check(params)
        explicit = params.model_fields_set
        if {"tests", "test"} <= explicit and params.test not in params.tests:
            yield "tests", "`tests` does not contain the value of `test`; remove `tests` or `test`"
        form = params.form()
        if not all(form.waits) or len(set(form.waits)) < len(form.waits):
            yield "waits", "each pause must be longer than 0s and appear only once"
        yield from loads_at_odds(params)

    def needs(self, params: RecoveryParams, facts: HostFacts | None) -> Needs:
        """Return the resources required: the duration of the test, and the number of bytes that a fast drive would
        write in that time."""
        return super().needs(params.load(), facts)

    def cost(self, params: RecoveryParams) -> Cost:
        """Return the time that the selected test takes, and the number of bytes that it writes."""
        form = params.form()
        if params.test == "demand":
            return demand_cost(params)
        if params.test == "stimulus":
            writing = 2 * form.sequential_time + form.random_time
            own = writing * (1.0 + START_SECONDS / params.round_time) + params.round_time
            likely = 2 * form.sequential_time * likely_rate(STREAM.block_size)
            likely += form.random_time * likely_rate(SCATTER.block_size)
            return Cost(own, own, writing * ASSUMED_WRITE_BYTES_PER_S, likely)
        bursts = form.bursts * len(form.waits)
        writing = bursts * form.burst_time + form.baseline_time * len(form.waits)
        own = writing + bursts * START_SECONDS + form.bursts * sum(form.waits)
        most, likely = writing * ASSUMED_WRITE_BYTES_PER_S, writing * likely_rate(WRITES.block_size)
        return after_steady(params, Cost(own, own, most, likely))

    def closing_steps(self, journal: StepJournal, params: RecoveryParams, context: Context) -> Sequence[Step]:
        """Return the next steps of the selected test, or an empty sequence when it is complete."""
        load = params.load()
        return _RUNS[params.test][0](load, journal.under(load), context)

    def closing_values(self, journal: StepJournal, params: RecoveryParams) -> Iterator[Measurement]:
        """Yield the values of the selected test."""
        load = params.load()
        own = journal.under(load)
        yield from _RUNS[params.test][1](load, own, opening_flags(own, load.phase))

    def tables(self, records: Sequence[Record]) -> Sequence[Table]:
        """Return the tables of each test that was run."""
        return all_tables(records)

    def figures(self, records: Sequence[Record]) -> Sequence[Figure]:
        """Return figures of bursts, phases, load and response times."""
        return recovery_figures(records)


BENCHMARK = StorageRecovery()
