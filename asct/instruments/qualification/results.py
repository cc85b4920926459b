"""The measurements of a phase: averages over the window, every round, and flags."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from asct.instruments.fio.histogram import NS, LatencyCourse, merged, percentile_values
from asct.instruments.fio.metrics import DEVICE_METRICS, percentile_text
from asct.instruments.fio.point import FioPoint
from asct.instruments.fio.sections import chosen_engine
from asct.instruments.qualification.journal import FioSummary, StepJournal, level_flags
from asct.instruments.qualification.purge import purge_of
from asct.instruments.qualification.rounds import FAST, MOVED, Passes, RoundHistory, SteadyVerdict, precondition_flags
from asct.instruments.qualification.settings import Phase, TrackedMetric, Workload
from asct.sdk.metric import Coords, Metric
from asct.sdk.record import Measurement, Scalar
from asct.sdk.samples import rate_stats

CELL: Final[Coords] = {"block_size": None, "rwmixread": None}
PERCENTILES: Final = {"p50": 50.0, "p99": 99.0, "p99_9": 99.9, "p99_99": 99.99, "p99_999": 99.999}
SETTINGS: Final = (
    "profile", "round_time", "numjobs", "iodepth", "engine", "window", "excursion", "slope", "rounds_max",
    "steady_volume", "precondition", "purge", "seed",
)  # fmt: skip
"""Coordinates of the `rounds` metric: the settings that tables show."""
QUANTITIES: Final = ("iops", "bandwidth", "latency")
_PHASE: Final[Coords] = {"phase": None}
_TRACKED: Final[Coords] = {**_PHASE, **CELL, "quantity": QUANTITIES}

TARGET: Final[tuple[Metric, ...]] = (
    Metric.info("active_range", "B", "Number of bytes that the test uses on the target"),
    Metric.info("left_out", "B", "Block size that was skipped because it is smaller than a logical block of the target",
                {"block_size": None}),
    *DEVICE_METRICS,
)  # fmt: skip
"""Metrics that every qualification reports about its target."""

METRICS: Final[tuple[Metric, ...]] = (
    Metric("iops", "ops/s", "higher", "IOPS, averaged over the rounds in the measurement window", CELL),
    Metric("bandwidth", "B/s", "higher", "Bytes per second, averaged over the rounds in the measurement window", CELL),
    Metric("latency", "s", "lower", "Mean latency of all requests in the measurement window", CELL),
    Metric("latency_max", "s", "lower", "Maximum latency in the measurement window", CELL),
    *(
        Metric(f"latency_{name}", "s", "lower", f"{percentile_text(percent)} of the latency in the measurement window",
               CELL)
        for name, percent in PERCENTILES.items()
    ),
    Metric("round_iops", "ops/s", "higher", "IOPS in a round", {**CELL, "round": None}, False),
    Metric("round_bandwidth", "B/s", "higher", "Bytes per second in a round", {**CELL, "round": None}, False),
    Metric("round_latency", "s", "lower", "Mean latency in a round", {**CELL, "round": None}, False),
    Metric("steady", "1", "higher", "1 if the steady state was reached, otherwise 0", _PHASE, False),
    Metric.info("rounds", "1", "Number of rounds until the steady state was reached", _PHASE | dict.fromkeys(SETTINGS)),
    Metric("window_excursion", "%", "lower", "Largest minus smallest value in the window, relative to the average",
           _TRACKED, False),
    Metric.info("window_slope", "%", "Change in the line fitted to the window, relative to the average", _TRACKED),
    Metric.info("sentinel_drift", "%", "`fast` profile: change in the tracked workload during a pass",
                {**_TRACKED, "pass": None}),
    Metric.info("written_volume", "B", "Bytes written since the purge", _PHASE),
    Metric("purged", "1", "higher", "1 if the target was purged with `method`, otherwise 0; `failed` states why a "
           "method failed", {**_PHASE, "method": None, "failed": None}, False),
    *TARGET,
)  # fmt: skip


NOT_STEADY: Final = "invalid-not-steady"
BURST: Final = "burst-possible"
"""Flag for a steady state that was reached without a drop in the rate. A cache that is not yet full would look the
same, as would burst credits that are not yet used up."""


def phase_values(journal: StepJournal, phase: Phase) -> Iterator[Measurement]:
    """Yield all values for a phase. Raises ValueError if a step failed or too few rounds have finished."""
    found = PhaseResults(journal, phase)
    passes, flags = found.passes, found.flags
    yield from _about_phase(journal, phase, found.history, found.verdict, flags)
    for cell in phase.cells:
        yield from cell_values(cell, found.points(cell), flags)
    for tracked, steady in found.verdict.windows:
        at = _coords(phase, tracked)
        yield Measurement("window_excursion", 100.0 * steady.excursion, at, flags=flags)
        yield Measurement("window_slope", 100.0 * steady.drift, at, flags=flags)
        drifts = [passes.drift(number, tracked) for number in range(1, passes.count + 1)] if passes else []
        for number, drift in enumerate(drifts, 1):
            yield Measurement("sentinel_drift", 100.0 * drift, at | {"pass": number})
    yield from _rounds(found.history)


class PhaseResults:
    """The results of a complete phase: its rounds, its verdict, and the flags that apply to all of its values. Raises
    ValueError if too few rounds have finished."""

    def __init__(self, journal: StepJournal, phase: Phase) -> None:
        self.passes = Passes(journal, phase) if journal.params.profile == "fast" else None
        self.history = self.passes.history if self.passes else RoundHistory(journal, phase)
        self.verdict = _whole_window(self.history)
        moved = (MOVED,) if self.passes and self.passes.moved(self.passes.count) else ()
        self.flags = (*opening_flags(journal, phase), *_state_flags(self.history, self.verdict), *moved)

    def points(self, cell: Workload) -> list[FioPoint]:
        """Return the results to report for a workload: those of the rounds in the window or, with the `fast` profile,
        the one from the last pass."""
        if self.passes:
            return [self.passes.point(self.passes.count, cell)]
        last = self.history.rounds
        return [self.history.point(index, cell) for index in range(last - self.history.journal.params.window, last)]


def opening_flags(journal: StepJournal, phase: Phase) -> tuple[str, ...]:
    """Return the flags that the profile, the purge and the preconditioning add to every value of a phase."""
    fast = (FAST,) if journal.params.profile == "fast" else ()
    return (*fast, *purge_of(journal, phase).flags, *precondition_flags(journal, phase))


def steady_values(journal: StepJournal, phase: Phase, flags: tuple[str, ...]) -> Iterator[Measurement]:
    """Yield the values for the steady state in which a test starts: whether it was reached, the number of rounds, and
    the rate.

    Raises ValueError if there are fewer rounds than the window requires.
    """
    history = RoundHistory(journal, phase)
    verdict = _whole_window(history)
    flags = (*flags, *_state_flags(history, verdict))
    yield Measurement("steady", float(verdict.steady), flags=flags)
    yield Measurement("rounds", float(history.rounds), flags=flags)
    for _, window in verdict.windows:
        yield Measurement("steady_iops", window.mean, flags=flags)


def steady_flags(journal: StepJournal, phase: Phase) -> tuple[str, ...]:
    """Return the flags that tell, for values measured after the steady state, whether this state was reached."""
    history = RoundHistory(journal, phase)
    return _state_flags(history, history.verdict())


def _whole_window(history: RoundHistory) -> SteadyVerdict:
    """Return the verdict on a phase. Raises ValueError if there are fewer rounds than the window requires."""
    verdict = history.verdict()
    if verdict.reason == "rounds":
        raise ValueError(
            f"only {history.rounds} rounds finished, but the window requires {history.journal.params.window}"
        )
    return verdict


def _state_flags(history: RoundHistory, verdict: SteadyVerdict) -> tuple[str, ...]:
    if not verdict.steady:
        return NOT_STEADY, f"not-steady-{verdict.reason}"
    return () if history.fell else (BURST,)


def cell_values(cell: Workload, points: Sequence[FioPoint], flags: tuple[str, ...]) -> Iterator[Measurement]:
    """Yield the rates, averaged over the rounds, and the latencies, which summarize all requests (reads and writes) in
    all rounds.

    The statistics describe the differences between the rounds, or between the seconds of the round if there is one.
    """
    flags = tuple(dict.fromkeys((*flags, *(flag for point in points for flag in level_flags(point)))))
    sides = [point.sides[""] for point in points]
    for quantity in ("iops", "bandwidth"):
        values = [getattr(side, quantity) for side in sides]
        several = len(values) > 1
        spread = rate_stats(values, [1.0] * len(values)) if several else getattr(sides[0], f"{quantity}_stats")
        yield Measurement(quantity, sum(values) / len(values), cell.coords, spread, flags)
    latencies = [side.lat for side in sides if side.lat is not None]
    latency = merged(latencies)
    if latency is not None:
        course = LatencyCourse(latency.quantiles, [one.quantiles for one in latencies])
        yield Measurement("latency", latency.mean_ns * NS, cell.coords, latency.mean_stats(course), flags)
        yield Measurement("latency_max", latency.max_ns * NS, cell.coords, flags=flags)
        yield from percentile_values(latency, PERCENTILES, "latency_", cell.coords, flags, course)


def _about_phase(
    journal: StepJournal, phase: Phase, history: RoundHistory, verdict: SteadyVerdict, flags: tuple[str, ...]
) -> Iterator[Measurement]:
    at = _coords(phase)
    params = journal.params
    settings: dict[str, Scalar] = {name: getattr(params, name) for name in SETTINGS}
    settings["engine"] = chosen_engine(journal.fio(phase.cells[0], phase), journal.facts)
    settings["round_time"] = phase.seconds
    yield Measurement("steady", float(verdict.steady), at, flags=flags)
    yield Measurement("rounds", float(history.rounds), at | settings, flags=flags)
    yield Measurement("written_volume", float(list(history.written_volumes())[-1]), at)
    purge = purge_of(journal, phase)
    methods: dict[str, Scalar] = {"method": purge.method or "none", "failed": "; ".join(purge.tried) or "none"}
    yield Measurement("purged", float(bool(purge.method)), at | methods, flags=purge.flags)


def _coords(phase: Phase, tracked: TrackedMetric | None = None) -> dict[str, Scalar]:
    """Return the coordinates of a value that belongs to a phase or to one of its dependent variables."""
    at: dict[str, Scalar] = {"phase": phase.name.rstrip("-") or "test"}
    return at if tracked is None else at | tracked.cell.coords | {"quantity": tracked.quantity}


def _rounds(history: RoundHistory) -> Iterator[Measurement]:
    """Yield the values for every workload in every round."""
    for index in range(history.rounds):
        for cell in history.phase.cells:
            summary = history.summary(index, cell)
            at = cell.coords | {"round": index + 1}
            yield from round_values(summary, at)


def round_values(summary: FioSummary, at: dict[str, Scalar]) -> Iterator[Measurement]:
    """Yield the rate, bandwidth and latency of one round as details, with the coordinates `at`."""
    for name in QUANTITIES:
        yield Measurement(f"round_{name}", summary.value(name), at, flags=summary.level_flags, detail=True)
