"""storage-recovery: how a drive recovers in pauses and after another load, and its response times by demand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, Final

from asct.benchmarks.storage_recovery.costs import seconds_of
from asct.benchmarks.storage_recovery.demand_run import demand_steps, demand_values
from asct.benchmarks.storage_recovery.figures import recovery_figures
from asct.benchmarks.storage_recovery.idle_run import idle_steps, idle_values
from asct.benchmarks.storage_recovery.metrics import METRICS
from asct.benchmarks.storage_recovery.params import RecoveryParams
from asct.benchmarks.storage_recovery.stimulus_run import stimulus_steps, stimulus_values
from asct.benchmarks.storage_recovery.tables import all_tables
from asct.instruments.fio.benchmark import ASSUMED_WRITE_BYTES_PER_S
from asct.instruments.qualification.benchmark import FLAGS, Qualification
from asct.instruments.qualification.costs import assumed_span
from asct.instruments.qualification.fast import FAST
from asct.instruments.qualification.journal import Journal
from asct.instruments.qualification.phase import Phase
from asct.instruments.qualification.precondition import precondition_flags
from asct.instruments.qualification.purge import purge_of
from asct.sdk.benchmark import Context
from asct.sdk.facts import HostFacts
from asct.sdk.figure import Figure, Table
from asct.sdk.metric import Highlight
from asct.sdk.needs import Needs
from asct.sdk.record import Measurement, Record
from asct.sdk.step import Step

_Steps = Callable[[RecoveryParams, Journal, Context], Sequence[Step]]
_Values = Callable[[RecoveryParams, Journal, tuple[str, ...]], Iterator[Measurement]]
_MOST: Final = {"point": "max", "numjobs": None, "iodepth": None}
_RUNS: Final[Mapping[str, tuple[_Steps, _Values]]] = {
    "idle": (idle_steps, idle_values),
    "stimulus": (stimulus_steps, stimulus_values),
    "demand": (demand_steps, demand_values),
}


class StorageRecovery(Qualification[RecoveryParams]):
    """One of three tests, each with a purge, a state to begin in, and steps of its own behind it."""

    name = "storage-recovery"
    title = "Recovery and demand intensity of a drive"
    version = "1"
    summary = "Host idle recovery, cross stimulus recovery, and response times by demand (SNIA PTS HIR, XSR, DIRTH)"
    aliases = ("srecovery",)
    keywords = ("ssd", "qualification", "long-runtime")
    params_model = RecoveryParams
    flags: ClassVar[Mapping[str, str]] = {
        **FLAGS,
        FAST: "measured in the short form of the profile fast; not comparable with profile pts",
        "pause": "the test was cut off before this burst or round, so that the drive rested",
        "invalid-pause": "the true pauses are not those asked for: starting fio takes longer, or the host is too busy",
        "invalid-no-point": "no cell of the matrix keeps latency_bound: there is nothing to take a histogram of",
        "noisy-matrix": "the highest load was not steady over the rounds of the matrix",
    }
    highlights = (
        Highlight("idle_gain", "Rate after a pause over that without one", {"wait": None}),
        Highlight("recovery_time", "Time until the stream was back"),
        Highlight("point_iops", "Most requests under the bound of latency", _MOST),
    )
    metrics = METRICS

    def check(self, params: RecoveryParams) -> Iterable[tuple[str, str]]:
        """Those of the target and the rounds, a list against a single test, and times that cannot be."""
        yield from super().check(params)
        given = params.model_fields_set
        if {"tests", "test"} <= given and params.test not in params.tests:
            yield "tests", "both tests and test are set; leave one of them out"
        form = params.form()
        if not all(form.waits) or len(set(form.waits)) < len(form.waits):
            yield "waits", "each pause is longer than 0s, and named once"
        if not all((*form.threads, *form.depths)):
            yield "threads", "jobs and requests in flight are 1 or more"

    def needs(self, params: RecoveryParams, facts: HostFacts | None) -> Needs:
        """The time of the form; what is written is bounded by the speed of a fast drive."""
        usual, longest, writing = seconds_of(params)
        name = params.file_names[0] if params.file_names else ""
        load = params.load()
        found = super().needs(load, facts)
        return replace(
            found,
            seconds=usual,
            longest_s=longest,
            writes_bytes=((name, round(writing * ASSUMED_WRITE_BYTES_PER_S) + load.precondition * assumed_span(load)),),
        )

    def phases(self, params: RecoveryParams, logical_block: int) -> Sequence[Phase]:
        """None: each test has a course of its own."""
        return ()

    def closing_steps(self, journal: Journal, params: RecoveryParams, context: Context) -> Sequence[Step]:
        """The next steps of the test."""
        load = params.load()
        return _RUNS[params.test][0](load, Journal(load, context.done, context.facts), context)

    def closing_values(self, journal: Journal, params: RecoveryParams) -> Iterator[Measurement]:
        """The values of the test."""
        load = params.load()
        own = Journal(load, tuple(journal.outputs.values()), journal.facts)
        fast = (FAST,) if params.profile == "fast" else ()
        marks = (*fast, *purge_of(own, load.phase).flags, *precondition_flags(own, load.phase))
        yield from _RUNS[params.test][1](load, own, marks)

    def tables(self, records: Sequence[Record]) -> Sequence[Table]:
        """A table for each test that was run."""
        return all_tables(records)

    def figures(self, records: Sequence[Record]) -> Sequence[Figure]:
        """Bursts, spells, demand and response times."""
        return recovery_figures(records)


BENCHMARK = StorageRecovery()
