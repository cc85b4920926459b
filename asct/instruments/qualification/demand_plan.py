"""The settings of a demand test (see `demand`), and the cost of tests that start in the steady state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Final, Self, TypeVar

from asct.instruments.fio.benchmark import ASSUMED_WRITE_BYTES_PER_S, likely_rate
from asct.instruments.qualification.benchmark import START_SECONDS, Cost, phase_cost, total_cost
from asct.instruments.qualification.settings import (
    SEQUENTIAL_BLOCK,
    Phase,
    QualificationParams,
    TrackedMetric,
    Workload,
)
from asct.sdk.params import Count, Counts, Duration, setting

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_MINUTE: Final = 60.0
_HOUR: Final = 3600.0


@dataclass(frozen=True, slots=True)
class DemandPlan:
    """The durations (in seconds) and counts of a demand test. Each field is named after the corresponding setting."""

    threads: tuple[int, ...]
    depths: tuple[int, ...]
    prewrite_time: float
    matrix_rounds: int
    settle_time: float
    histogram_time: float


DEMAND_PLANS: Final[Mapping[str, DemandPlan]] = {
    "pts": DemandPlan(
        threads=(1, 2, 4, 6, 8, 16, 32), depths=(1, 2, 4, 6, 8, 16, 32), prewrite_time=5 * _MINUTE,
        matrix_rounds=25, settle_time=_HOUR, histogram_time=10 * _MINUTE,
    ),
    "fast": DemandPlan(
        threads=(1, 4, 16), depths=(1, 4, 16), prewrite_time=5.0,
        matrix_rounds=1, settle_time=5.0, histogram_time=10.0,
    ),
}  # fmt: skip
"""The demand plan of each profile. SNIA's PTS 2.0 specifies the plan `pts`."""
WRITES: Final = Workload(4096, 0)
Plan = TypeVar("Plan", bound="DataclassInstance")


class DemandParams(QualificationParams):
    """The settings of a test with a matrix of loads. A subclass declares the workload."""

    threads: Counts | None = setting(
        None,
        "Numbers of jobs in the demand matrix (`pts`: 1,2,4,6,8,16,32; `fast`: 1,4,16)",
        aliases=("thread_counts",),
        min_length=1,
    )
    depths: Counts | None = setting(
        None, "Queue depths per job in the demand matrix (`pts`: 1,2,4,6,8,16,32; `fast`: 1,4,16)", min_length=1
    )
    prewrite_time: Duration | None = setting(
        None, "Duration of the random writes before each round of the demand matrix (`pts`: 5m; `fast`: 5s)", le=86400
    )
    matrix_rounds: Count | None = setting(
        None,
        "Maximum number of rounds of the demand matrix if it does not become steady (`pts`: 25; `fast`: 1)",
        ge=1,
        le=1000,
    )
    settle_time: Duration | None = setting(
        None, "Duration of the random writes before each response time histogram (`pts`: 1h; `fast`: 5s)", le=86400
    )
    histogram_time: Duration | None = setting(
        None, "Duration of each run for a response time histogram (`pts`: 10m; `fast`: 10s)", gt=0, le=86400
    )
    latency_bound: Duration = setting(
        0.005, "Maximum mean latency of an operating point in the demand matrix", gt=0, le=60
    )

    def demand_plan(self) -> DemandPlan:
        """Return the demand plan of the profile, overridden by the durations and counts in the settings."""
        return self.filled(DEMAND_PLANS[self.profile])

    def filled(self, plan: Plan) -> Plan:
        """Return `plan` with each field replaced by the setting of the same name, if that setting is set."""
        settings = {one.name: getattr(self, one.name) for one in fields(plan)}
        return replace(plan, **{name: one for name, one in settings.items() if one is not None})

    def at_highest(self) -> Self:
        """Return the settings at the highest load in the matrix."""
        plan = self.demand_plan()
        return self.model_copy(update={"numjobs": max(plan.threads), "iodepth": max(plan.depths)})

    @property
    def prewrites(self) -> Workload:
        """The writes that bring the drive to steady state and precede each round and each histogram."""
        return WRITES

    @property
    def demanded(self) -> Workload:
        """The workload that is measured at each load in the matrix."""
        raise NotImplementedError

    @property
    def phase(self) -> Phase:
        """The phase of writes that brings the drive to steady state."""
        tracked = (TrackedMetric(self.prewrites, "iops"),)
        return Phase("", (self.prewrites,), tracked, SEQUENTIAL_BLOCK, self.round_time, self.ramp_time)


def loads_at_odds(params: DemandParams) -> Iterator[tuple[str, str]]:
    """Yield an error if a number of jobs or a queue depth is 0."""
    plan = params.demand_plan()
    if not all((*plan.threads, *plan.depths)):
        yield "threads", "the numbers of jobs and the queue depths must be at least 1"


def after_steady(load: DemandParams, own: Cost) -> Cost:
    """Return the cost of a test that starts in the steady state.

    `own` is the cost of the part that follows the steady state.
    """
    steady = load.model_copy(update={"profile": "pts"})
    return total_cost([phase_cost(steady, [load.phase]), own])


def demand_cost(load: DemandParams) -> Cost:
    """Return the cost of a demand test. `load` contains the settings at the highest load."""
    plan = load.demand_plan()
    cells, points = len(set(plan.threads)) * len(set(plan.depths)), 3
    each = load.round_time + load.ramp_time
    matrix = plan.prewrite_time + cells * (each + START_SECONDS) + START_SECONDS
    histograms = points * (plan.settle_time + plan.histogram_time + load.ramp_time + 2 * START_SECONDS)
    rounds = min(plan.matrix_rounds, load.window)
    writes = rounds * plan.prewrite_time + points * plan.settle_time
    mixed = (rounds * cells * each + points * plan.histogram_time) * (1.0 - load.demanded.reads / 100.0)
    likely = writes * likely_rate(load.prewrites.block_size) + mixed * likely_rate(load.demanded.block_size)
    longest = plan.matrix_rounds * matrix + histograms
    usual = rounds * matrix + histograms
    return after_steady(load, Cost(usual, longest, longest * ASSUMED_WRITE_BYTES_PER_S, likely))
