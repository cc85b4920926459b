"""storage-write-saturation: continuous writes to a purged drive until the rate is constant."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import ClassVar, Final

from asct.benchmarks.storage_write_saturation.measure import (
    HISTOGRAM,
    histogram_params,
    measurements,
    next_steps,
    rounds_of,
)
from asct.benchmarks.storage_write_saturation.params import RUN, SaturationParams
from asct.benchmarks.storage_write_saturation.report import all_tables, course_figures
from asct.instruments.fio.benchmark import ASSUMED_WRITE_BYTES_PER_S
from asct.instruments.qualification.benchmark import FLAGS, START_SECONDS, Cost, Qualification, assumed_span
from asct.instruments.qualification.journal import StepJournal
from asct.instruments.qualification.responses import response_metrics, response_values
from asct.instruments.qualification.results import BURST, NOT_STEADY, TARGET, opening_flags
from asct.instruments.qualification.rounds import FAST, precondition_fell
from asct.instruments.qualification.settings import Phase
from asct.sdk.benchmark import Context
from asct.sdk.figure import Figure, Table
from asct.sdk.metric import Coords, Highlight, Metric
from asct.sdk.record import Measurement, Record
from asct.sdk.step import Step

_ROUND: Final[Coords] = {"round": None}
_USUAL_BYTES_PER_S: Final = 300_000_000
_SLOW_BYTES_PER_S: Final = 50_000_000
_ENDS: Final[Coords] = {"ended_by": ("volume", "time", "steady"), **dict.fromkeys(RUN)}


class StorageWriteSaturation(Qualification[SaturationParams]):
    """A qualification that inspects and purges the target, then runs rounds of writes and a histogram run, each as one
    fio process."""

    name = "storage-write-saturation"
    title = "SSD qualification: write saturation"
    version = "2"
    summary = "IOPS and latency of a drive under continuous writes, and its write cliff (TKperf writesat, SNIA WSAT)"
    aliases = ("swsat",)
    params_model = SaturationParams
    flags: ClassVar[Mapping[str, str]] = {
        **FLAGS,
        FAST: "measured with the `fast` profile, which ends the test as soon as a few rounds are steady",
        BURST: "the last rounds are steady, but the rate has not fallen by half since the purge: the values "
        "may come from a burst that outlasts the test (served from a cache, or paid for with a volume's burst credits)",
        NOT_STEADY: "the last rounds differ by more than `excursion` and `slope` permit, so there is no stable level",
        "pause": "the test was interrupted before this round, so the drive had time for internal clean-up",
        "noisy-rounds": "more than a tenth of the rounds are unreliable",
    }
    highlights = (
        Highlight("iops", "IOPS at the end of write saturation"),
        Highlight("cliff_written", "Bytes written when the rate fell by half"),
        Highlight("response_p99_99", "99.99th percentile of write latency"),
    )
    metrics = (
        Metric("iops", "ops/s", "higher", "IOPS in the last rounds"),
        Metric("bandwidth", "B/s", "higher", "Bytes per second in the last rounds"),
        Metric("latency", "s", "lower", "Mean latency in the last rounds"),
        Metric.info("cliffs", "1", "1 if the rate fell by half at any time, otherwise 0"),
        Metric("burst_iops", "ops/s", "higher", "IOPS before the rate first fell by half"),
        Metric("cliff_written", "B", "higher", "Bytes written by the time the rate first fell by half"),
        Metric(
            "cliff_fills",
            "1",
            "higher",
            "How many times the active range had been written when the rate first fell by half",
        ),
        Metric("cliff_time", "s", "higher", "Time under load until the rate first fell by half"),
        Metric("cliff_ratio", "1", "lower", "Rate before it first fell by half, relative to the rate afterward"),
        *response_metrics(),
        Metric.info("written", "B", "Bytes written in all rounds combined"),
        Metric.info("drive_fills", "1", "How many times the active range was written in all rounds"),
        Metric.info("load_time", "s", "Time under load in all rounds"),
        Metric.info("rounds", "1", "Number of rounds; `ended_by` says why the test ended", _ENDS),
        Metric("round_iops", "ops/s", "higher", "IOPS in one round", _ROUND),
        Metric("round_bandwidth", "B/s", "higher", "Bytes per second in one round", _ROUND),
        Metric("round_latency", "s", "lower", "Mean latency in one round", _ROUND),
        Metric("round_latency_p99_9", "s", "lower", "99.9th percentile of the latency in one round", _ROUND),
        Metric("round_latency_max", "s", "lower", "Maximum latency in one round", _ROUND),
        Metric.info("round_written", "B", "Bytes written by the end of a round", _ROUND),
        Metric.info("round_time", "s", "Cumulative time under load at the end of a round", _ROUND),
        *TARGET,
    )

    def check(self, params: SaturationParams) -> Iterable[tuple[str, str]]:
        """Yield the errors common to all qualifications, and an error for a time limit that is shorter than a round."""
        yield from super().check(params)
        if params.time_cap < params.round_time:
            yield "time_cap", "is shorter than `round_time`, so no round would finish; increase `time_cap`"

    def cost(self, params: SaturationParams) -> Cost:
        """Return the cost of the test. The longest duration is `time_cap`; the usual duration assumes a drive that
        writes 300 MB/s."""
        each = 1.0 + (START_SECONDS + params.ramp_time) / params.round_time
        opening = params.precondition * assumed_span(params)
        volume = params.volume_factor * assumed_span(params)
        usual = min(params.time_cap, volume / _USUAL_BYTES_PER_S + params.round_time)
        most = min(volume, params.time_cap * ASSUMED_WRITE_BYTES_PER_S) + opening
        most += params.histogram_time * ASSUMED_WRITE_BYTES_PER_S
        likely = min(volume, params.time_cap * _USUAL_BYTES_PER_S) + opening
        likely += params.histogram_time * _USUAL_BYTES_PER_S
        return Cost(
            opening / _USUAL_BYTES_PER_S + usual * each + params.histogram_time,
            opening / _SLOW_BYTES_PER_S + params.time_cap * each + params.histogram_time + params.round_time,
            most,
            likely,
        )

    def phases(self, params: SaturationParams, logical_block: int) -> Sequence[Phase]:
        """Return no phases, because the rounds have their own stop condition."""
        if params.block_size < logical_block:
            raise ValueError(
                f"`block_size` is smaller than the target's logical block size ({logical_block} bytes); "
                "raise `block_size`"
            )
        return ()

    def closing_steps(self, journal: StepJournal, params: SaturationParams, context: Context) -> Sequence[Step]:
        """Return the purge, then rounds until the stop condition is met, then the histogram run."""
        return next_steps(params, journal, context)

    def closing_values(self, journal: StepJournal, params: SaturationParams) -> Iterator[Measurement]:
        """Yield the values of the rounds and of the whole test, and the final latency distribution."""
        rounds = rounds_of(params, journal)
        if not rounds:
            raise ValueError("no round was completed")
        marks = opening_flags(journal, params.phase)
        run = {name: getattr(params, name) for name in RUN}
        fell = precondition_fell(journal, params.phase)
        yield from measurements(rounds, journal.span, params.goal(journal.span), marks, run, fell=fell)
        if journal.has(HISTOGRAM):
            yield from response_values(journal.point(HISTOGRAM, histogram_params(params, journal)), flags=marks)

    def tables(self, records: Sequence[Record]) -> Sequence[Table]:
        """Return tables of the whole test and, for exports, of every round."""
        return all_tables(records)

    def figures(self, records: Sequence[Record]) -> Sequence[Figure]:
        """Return figures that plot IOPS and latency against time and the data written, and a figure of the final
        histogram."""
        return course_figures(records)


BENCHMARK = StorageWriteSaturation()
