"""Demand intensity: which operating points of a matrix of threads and depths the histograms are taken at.

SNIA Solid State Storage Performance Test Specification 2.0, "Demand intensity / response time histogram".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from asct.benchmarks.storage_recovery.params import WRITES, RecoveryParams
from asct.instruments.fio.histogram import NS, merged
from asct.instruments.fio.params import FioParams
from asct.instruments.fio.point import FioPoint
from asct.instruments.qualification.journal import StepJournal, fio_process
from asct.instruments.qualification.responses import response_values
from asct.instruments.qualification.results import steady_flags, steady_values
from asct.instruments.qualification.rounds import phase_steps
from asct.instruments.qualification.settings import Workload
from asct.sdk.benchmark import Context
from asct.sdk.record import Measurement, Scalar
from asct.sdk.samples import stats_of
from asct.sdk.step import Step
from asct.statistics.steady import last_window


@dataclass(frozen=True, slots=True)
class DemandLoad:
    """One cell of the matrix: jobs, requests in flight per job, requests per second, mean latency in seconds."""

    numjobs: int
    iodepth: int
    iops: float
    latency: float

    @property
    def in_flight(self) -> int:
        """Requests in flight, all jobs combined."""
        return self.numjobs * self.iodepth


def operating_points(loads: Sequence[DemandLoad], bound_s: float) -> dict[str, DemandLoad]:
    """`max`, `mid` and `min` of the cells whose mean latency is under `bound_s`; empty if there is none.

    `max` has the most requests per second, of equals the one with the fewest in flight; `min` the least; `mid` is the
    nearest to halfway between these rates. The same cell may stand for several.
    """
    kept = sorted((load for load in loads if load.latency < bound_s), key=lambda load: (load.in_flight, load.numjobs))
    if not kept:
        return {}
    most = max(kept, key=lambda load: load.iops)
    least = min(kept, key=lambda load: load.iops)
    halfway = (most.iops + least.iops) / 2.0
    middle = min(kept, key=lambda load: abs(load.iops - halfway))
    return {"max": most, "mid": middle, "min": least}


# Before each round of the matrix and before each histogram the drive is written to with the highest load, so that
# reads and small loads do not let it rest.

POINTS: Final = ("max", "mid", "min")
_SEED: Final = 2_000_000


@dataclass(frozen=True, slots=True)
class DemandPoint:
    """A cell of the matrix."""

    numjobs: int
    iodepth: int

    @property
    def coords(self) -> dict[str, Scalar]:
        """The coordinates of the values."""
        return {"numjobs": self.numjobs, "iodepth": self.iodepth}


class DemandMatrix:
    """The rounds of the matrix so far."""

    def __init__(self, params: RecoveryParams, journal: StepJournal) -> None:
        self.params = params
        self.journal = journal
        self.form = params.form()
        pairs = [(jobs, depth) for jobs in self.form.threads for depth in self.form.depths]
        self.places = [
            DemandPoint(*pair) for pair in sorted(set(pairs), key=lambda pair: (-pair[0] * pair[1], -pair[0]))
        ]
        """From the highest load to the lowest."""

    def prewrite(self, number: int) -> tuple[str, FioParams]:
        """The writes before a round (from 1)."""
        return f"matrix{number:02}-prewrite", self.writes(self.form.prewrite_time, number)

    def writes(self, seconds: float, number: int) -> FioParams:
        """Random writes at the highest load."""
        phase = replace(self.params.phase, seconds=seconds, ramp_s=0.0)
        return self.journal.fio(WRITES, phase, _SEED + number)

    def cell(self, number: int, place: DemandPoint) -> tuple[str, FioParams]:
        """A workload of a round."""
        name = f"matrix{number:02}-t{place.numjobs}q{place.iodepth}"
        return name, self.load(place, self.params.round_time, _SEED + 1000 * number)

    def load(self, place: DemandPoint, seconds: float, seed: int) -> FioParams:
        """The workload under test with the load of a cell."""
        cell = Workload(self.params.demand_block_size, self.params.demand_rwmixread)
        settings = self.journal.fio(cell, replace(self.params.phase, seconds=seconds), seed)
        return settings.model_copy(update={"numjobs": place.numjobs, "iodepth": place.iodepth})

    @property
    def rounds(self) -> int:
        """Whole rounds."""
        number = 0
        while all(self.journal.has(self.cell(number + 1, place)[0]) for place in self.places):
            number += 1
        return number

    def point(self, number: int, place: DemandPoint) -> FioPoint:
        """The result of a workload in a round."""
        return self.journal.point(*self.cell(number, place))

    @property
    def steady(self) -> bool:
        """Whether the highest load, which the specification tracks, was steady in the last rounds."""
        rates = [self.point(number, self.places[0]).sides[""].iops for number in range(1, self.rounds + 1)]
        window = last_window(rates, self.params.rule)
        return window is not None and window.holds(self.params.rule)

    @property
    def over(self) -> bool:
        """Whether there are enough rounds."""
        return self.rounds >= self.form.matrix_rounds or self.steady

    def used(self) -> range:
        """The rounds that the values are averages of."""
        return range(max(1, self.rounds - self.params.window + 1), self.rounds + 1)

    def points(self, place: DemandPoint) -> list[FioPoint]:
        """The results of a workload in these rounds."""
        return [self.point(number, place) for number in self.used()]

    def operating(self) -> dict[str, DemandLoad]:
        """The operating points for the histograms."""
        return operating_points([_load(place, self.points(place)) for place in self.places], self.params.latency_bound)


def demand_steps(params: RecoveryParams, journal: StepJournal, context: Context) -> Sequence[Step]:
    """The next steps; empty when the histograms are complete."""
    before = phase_steps(journal, params.phase, context)
    if before:
        return before
    matrix = DemandMatrix(params, journal)
    if not (matrix.rounds and matrix.over):
        number = matrix.rounds + 1
        wanted = [matrix.prewrite(number), *(matrix.cell(number, place) for place in matrix.places)]
        return _missing(journal, context, wanted if matrix.form.prewrite_time else wanted[1:])
    wanted = [one for name in POINTS for one in _histogram(matrix, name)]
    return _missing(journal, context, wanted)[:1]


def _missing(journal: StepJournal, context: Context, wanted: Sequence[tuple[str, FioParams]]) -> Sequence[Step]:
    return [fio_process(settings, context, name) for name, settings in wanted if not journal.has(name)]


def _histogram(matrix: DemandMatrix, name: str) -> list[tuple[str, FioParams]]:
    """Writes to settle, then the run whose response times are kept; nothing for a point that does not exist."""
    load = matrix.operating().get(name)
    if load is None:
        return []
    place = DemandPoint(load.numjobs, load.iodepth)
    number = POINTS.index(name)
    run = (f"histogram-{name}", matrix.load(place, matrix.form.histogram_time, 2 * _SEED + number))
    settle = (f"settle-{name}", matrix.writes(matrix.form.settle_time, _SEED + number))
    return [settle, run] if matrix.form.settle_time else [run]


def demand_values(params: RecoveryParams, journal: StepJournal, marks: tuple[str, ...]) -> Iterator[Measurement]:
    """The steady state, every cell of the matrix, the operating points and their response times."""
    yield from steady_values(journal, params.phase, marks)
    matrix = DemandMatrix(params, journal)
    if not matrix.rounds:
        raise ValueError("no round of the matrix was completed")
    unsteady = () if matrix.steady or matrix.form.matrix_rounds < params.window else ("noisy-matrix",)
    flags = (*marks, *steady_flags(journal, params.phase), *unsteady)
    yield Measurement("matrix_rounds", float(matrix.rounds), flags=flags)
    for place in matrix.places:
        yield from _cell_values(place, matrix.points(place), flags)
    operating = matrix.operating()
    for name, load in operating.items():
        point = journal.point(*_histogram(matrix, name)[-1])
        at: dict[str, Scalar] = {"point": name}
        yield Measurement("point_iops", load.iops, at | {"numjobs": load.numjobs, "iodepth": load.iodepth}, flags=flags)
        yield Measurement("point_latency", load.latency, at, flags=flags)
        latency = point.sides[""].lat
        if latency is not None:
            yield from response_values(latency, at, (*flags, *point.flags))
    if not operating:
        yield Measurement("point_iops", 0.0, {"point": "none"}, flags=(*flags, "invalid-no-point"))


def _cell_values(place: DemandPoint, points: Sequence[FioPoint], flags: tuple[str, ...]) -> Iterator[Measurement]:
    own = tuple(dict.fromkeys((*flags, *(flag for point in points for flag in point.flags))))
    rates = [point.sides[""].iops for point in points]
    load = _load(place, points)
    yield Measurement("demand_iops", load.iops, place.coords, stats_of(rates, independent=False), own, detail=True)
    yield Measurement("demand_latency", load.latency, place.coords, flags=own, detail=True)


def _load(place: DemandPoint, points: Sequence[FioPoint]) -> DemandLoad:
    latency = merged(one for point in points if (one := point.sides[""].lat) is not None)
    if latency is None:
        raise ValueError("fio reports no latency")
    rate = sum(point.sides[""].iops for point in points) / len(points)
    return DemandLoad(place.numjobs, place.iodepth, rate, latency.mean_ns * NS)
