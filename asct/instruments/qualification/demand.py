"""Demand intensity: a matrix of job counts and queue depths, its operating points, and their response time histograms.

SNIA Solid State Storage Performance Test Specification 2.0, "Demand intensity / response time histogram". The composite
block size workload follows the same sequence.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from asct.instruments.fio.histogram import NS, merged
from asct.instruments.fio.params import FioParams
from asct.instruments.fio.point import FioPoint
from asct.instruments.qualification.demand_plan import DemandParams
from asct.instruments.qualification.journal import FioSummary, StepJournal, fio_process, level_flags
from asct.instruments.qualification.responses import response_metrics, response_values
from asct.instruments.qualification.results import steady_flags, steady_values
from asct.instruments.qualification.rounds import RoundHistory, phase_steps
from asct.sdk.benchmark import Context
from asct.sdk.metric import Coords, Metric
from asct.sdk.record import Measurement, Scalar
from asct.sdk.samples import stats_of
from asct.sdk.step import Step
from asct.statistics.steady import SteadyWindow, last_window


@dataclass(frozen=True, slots=True)
class DemandLoad:
    """The result of one load in the matrix: jobs, queue depth per job, requests per second, and mean latency in
    seconds."""

    numjobs: int
    iodepth: int
    iops: float
    latency: float

    @property
    def in_flight(self) -> int:
        """The number of requests in flight, all jobs combined."""
        return self.numjobs * self.iodepth


def operating_points(loads: Sequence[DemandLoad], bound_s: float) -> dict[str, DemandLoad]:
    """Return the operating points `max`, `mid` and `min` among the loads whose mean latency is below `bound_s`. The
    result is empty if there is no such load.

    `max` has the highest rate (if several loads have this rate, it is the load with the fewest requests in flight),
    `min` has the lowest rate, and `mid` is closest to the mean of these two rates. One load can be more than one of
    these points.
    """
    valid = sorted((load for load in loads if load.latency < bound_s), key=lambda load: (load.in_flight, load.numjobs))
    if not valid:
        return {}
    most = max(valid, key=lambda load: load.iops)
    least = min(valid, key=lambda load: load.iops)
    halfway = (most.iops + least.iops) / 2.0
    middle = min(valid, key=lambda load: abs(load.iops - halfway))
    return {"max": most, "mid": middle, "min": least}


# Before each round of the matrix and before each histogram, writes run at the highest load, because reads and small
# loads let the drive rest.

POINTS: Final = ("max", "mid", "min")
_SEED: Final = 2_000_000


LoadCell = tuple[int, int]
"""A load in the matrix: the number of jobs and the queue depth per job."""


class DemandMatrix:
    """The matrix and the results of the rounds completed so far."""

    def __init__(self, params: DemandParams, journal: StepJournal) -> None:
        self.params = params
        self.journal = journal
        self.plan = params.demand_plan()
        cells = {(jobs, depth) for jobs in self.plan.threads for depth in self.plan.depths}
        self.cells: list[LoadCell] = sorted(cells, key=lambda cell: (-cell[0] * cell[1], -cell[0]))
        """The loads in the matrix, from highest to lowest."""

    def prewrite(self, number: int) -> tuple[str, FioParams]:
        """Return the step name and settings of the writes before a round (numbered from 1)."""
        return f"matrix{number:02}-prewrite", self.writes(self.plan.prewrite_time, number)

    def writes(self, seconds: float, number: int) -> FioParams:
        """Return the settings for writing at the highest load for `seconds`. `number` is added to the seed."""
        phase = replace(self.params.phase, seconds=seconds, ramp_s=0.0)
        return self.journal.fio(self.params.prewrites, phase, _SEED + number)

    def step(self, number: int, cell: LoadCell) -> tuple[str, FioParams]:
        """Return the step name and the settings for a load in a round."""
        name = f"matrix{number:02}-t{cell[0]}q{cell[1]}"
        return name, self.workload(cell, self.params.round_time, _SEED + 1000 * number)

    def workload(self, cell: LoadCell, seconds: float, seed: int) -> FioParams:
        """Return the settings for the workload under test at a load in the matrix."""
        settings = self.journal.fio(self.params.demanded, replace(self.params.phase, seconds=seconds), seed)
        return settings.model_copy(update={"numjobs": cell[0], "iodepth": cell[1]})

    @property
    def rounds(self) -> int:
        """The number of rounds in which every load was measured."""
        return self.journal.rounds(lambda number: (self.step(number, cell)[0] for cell in self.cells))

    @property
    def window(self) -> SteadyWindow | None:
        """The last rounds at the highest load (which the specification tracks), or None if there are too few rounds."""
        rates = [self.summary(number, self.cells[0]).iops for number in range(1, self.rounds + 1)]
        return last_window(rates, self.params.rule)

    @property
    def steady(self) -> bool:
        """Whether the results at the highest load were steady in the last rounds."""
        window = self.window
        return window is not None and window.holds(self.params.rule)

    def summary(self, number: int, cell: LoadCell) -> FioSummary:
        """Return the result of a load in a round (numbered from 1)."""
        return self.journal.summary(*self.step(number, cell))

    @property
    def over(self) -> bool:
        """Whether the matrix is complete: the results are steady, or the maximum number of rounds was measured."""
        return self.rounds >= self.plan.matrix_rounds or self.steady

    def points(self, cell: LoadCell) -> list[FioPoint]:
        """Return the results for a load in the last rounds; their mean is reported."""
        rounds = self.rounds
        start = max(1, rounds - self.params.window + 1)
        return [self.journal.point(*self.step(number, cell)) for number in range(start, rounds + 1)]

    def operating(self) -> dict[str, DemandLoad]:
        """Return the operating points at which the histograms are measured, keyed by name."""
        return operating_points([_load(cell, self.points(cell)) for cell in self.cells], self.params.latency_bound)


def demand_steps(params: DemandParams, journal: StepJournal, context: Context) -> Sequence[Step]:
    """Return the next steps, or an empty sequence when the histograms are complete."""
    before = phase_steps(journal, params.phase, context)
    if before:
        return before
    matrix = DemandMatrix(params, journal)
    if not (matrix.rounds and matrix.over):
        number = matrix.rounds + 1
        runs = [matrix.prewrite(number), *(matrix.step(number, cell) for cell in matrix.cells)]
        return _missing(journal, context, runs if matrix.plan.prewrite_time else runs[1:])
    runs = [one for name in POINTS for one in _histogram(matrix, name)]
    return _missing(journal, context, runs)[:1]


def _missing(journal: StepJournal, context: Context, runs: Sequence[tuple[str, FioParams]]) -> Sequence[Step]:
    return [fio_process(settings, context, name) for name, settings in runs if not journal.has(name)]


def _histogram(matrix: DemandMatrix, name: str) -> list[tuple[str, FioParams]]:
    """Return the writes that settle the drive, followed by the histogram run, or an empty sequence for an operating
    point that does not exist."""
    load = matrix.operating().get(name)
    if load is None:
        return []
    number = POINTS.index(name)
    workload = matrix.workload((load.numjobs, load.iodepth), matrix.plan.histogram_time, 2 * _SEED + number)
    run = (f"histogram-{name}", workload)
    settle = (f"settle-{name}", matrix.writes(matrix.plan.settle_time, _SEED + number))
    return [settle, run] if matrix.plan.settle_time else [run]


def demand_values(params: DemandParams, journal: StepJournal, marks: tuple[str, ...]) -> Iterator[Measurement]:
    """Yield the values of the steady state, of every load in the matrix, and of the operating points with their
    response times."""
    yield from steady_values(journal, params.phase, marks)
    matrix = DemandMatrix(params, journal)
    if not matrix.rounds:
        raise ValueError("no round of the matrix was completed")
    unsteady = () if matrix.steady or matrix.plan.matrix_rounds < params.window else (NOISY,)
    flags = (*marks, *steady_flags(journal, params.phase), *unsteady)
    yield Measurement("matrix_rounds", float(matrix.rounds), flags=flags)
    for cell in matrix.cells:
        yield from _cell_values(cell, matrix.points(cell), flags)
    yield from _courses(params, journal, matrix)
    operating = matrix.operating()
    for name, load in operating.items():
        point = journal.point(*_histogram(matrix, name)[-1])
        at: dict[str, Scalar] = {"point": name}
        yield Measurement("point_iops", load.iops, at | {"numjobs": load.numjobs, "iodepth": load.iodepth}, flags=flags)
        yield Measurement("point_latency", load.latency, at, flags=flags)
        yield from response_values(point, at, flags)
    if not operating:
        yield Measurement("point_iops", 0.0, {"point": "none"}, flags=(*flags, NO_POINT))


def _cell_values(cell: LoadCell, points: Sequence[FioPoint], flags: tuple[str, ...]) -> Iterator[Measurement]:
    own = tuple(dict.fromkeys((*flags, *(flag for point in points for flag in level_flags(point)))))
    rates = [point.sides[""].iops for point in points]
    load = _load(cell, points)
    at: dict[str, Scalar] = {"numjobs": cell[0], "iodepth": cell[1]}
    yield Measurement("demand_iops", load.iops, at, stats_of(rates, independent=False), own, detail=True)
    yield Measurement("demand_latency", load.latency, at, flags=own, detail=True)


def _load(cell: LoadCell, points: Sequence[FioPoint]) -> DemandLoad:
    latency = merged(one for point in points if (one := point.sides[""].lat) is not None)
    if latency is None:
        raise ValueError("fio reports no latency")
    rate = sum(point.sides[""].iops for point in points) / len(points)
    return DemandLoad(*cell, rate, latency.mean_ns * NS)


def _courses(params: DemandParams, journal: StepJournal, matrix: DemandMatrix) -> Iterator[Measurement]:
    """Yield the rates of all rounds, and two measurement windows: one for the writes before the matrix, and the other
    for the highest load in the matrix."""
    history = RoundHistory(journal, params.phase)
    highest: LoadCell = (params.numjobs, params.iodepth)
    for number in range(1, history.rounds + 1):
        yield _round(history.summary(number - 1, params.prewrites), "writes", highest, number)
    for number in range(1, matrix.rounds + 1):
        for cell in matrix.cells:
            yield _round(matrix.summary(number, cell), "matrix", cell, number)
    rule: dict[str, Scalar] = {"window": params.window, "excursion": params.excursion}
    windows = [("writes", window) for _, window in history.verdict().windows]
    windows += [("matrix", matrix.window)] if matrix.window is not None else []
    for stage, window in windows:
        yield Measurement("window_excursion", 100.0 * window.excursion, {"stage": stage, **rule})
        yield Measurement("window_slope", 100.0 * window.drift, {"stage": stage})


def _round(summary: FioSummary, stage: str, cell: LoadCell, number: int) -> Measurement:
    at: dict[str, Scalar] = {"stage": stage, "numjobs": cell[0], "iodepth": cell[1], "round": number}
    return Measurement("round_iops", summary.iops, at, flags=summary.level_flags, detail=True)


_LOAD: Final[Coords] = {"numjobs": None, "iodepth": None}
_POINT: Final[Coords] = {"point": ("max", "mid", "min", "none")}
_STAGE: Final[Coords] = {"stage": ("writes", "matrix")}
NO_POINT: Final = "invalid-no-point"
NOISY: Final = "noisy-matrix"
FLAGS: Final[Mapping[str, str]] = {
    NO_POINT: "no workload in the matrix has a mean latency within `latency_bound`, so there is no histogram",
    NOISY: "the results at the highest load were not steady in the matrix rounds",
}
METRICS: Final[tuple[Metric, ...]] = (
    Metric("point_iops", "ops/s", "higher", "IOPS at an operating point", {**_POINT, **_LOAD}),
    Metric("point_latency", "s", "lower", "Mean latency at an operating point", _POINT),
    *response_metrics(_POINT),
    Metric("demand_iops", "ops/s", "higher", "IOPS at one load in the matrix", _LOAD),
    Metric("demand_latency", "s", "lower", "Mean latency at one load in the matrix", _LOAD),
    Metric.info("matrix_rounds", "1", "Number of rounds in which the matrix was measured"),
    Metric(
        "round_iops", "ops/s", "higher", "IOPS in one round of the preconditioning writes or of one load in the matrix",
        {**_STAGE, **_LOAD, "round": None}, False,
    ),
    Metric("window_excursion", "%", "lower", "Largest minus smallest value in the window, relative to the average",
           {**_STAGE, "window": None, "excursion": None}, False),
    Metric.info("window_slope", "%", "Change in the line fitted to the window, relative to the average", _STAGE),
    Metric("steady", "1", "higher", "1 if the steady state was reached before the test, otherwise 0", {}, False),
    Metric.info("rounds", "1", "Number of rounds until the steady state was reached"),
    Metric("steady_iops", "ops/s", "higher", "IOPS in the steady state"),
)  # fmt: skip
MOST: Final = {"point": "max", "numjobs": None, "iodepth": None}
"""The coordinates of the operating point with the highest rate."""
