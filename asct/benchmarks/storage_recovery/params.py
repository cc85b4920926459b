"""Settings for storage-recovery. The profile determines all durations and counts that are not set explicitly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, Final, Literal

from pydantic import BeforeValidator, Field

from asct.instruments.qualification.demand_plan import WRITES, DemandParams
from asct.instruments.qualification.settings import MIB, SEQUENTIAL_BLOCK, Workload
from asct.sdk.params import Count, Duration, Size, listed, setting

_MINUTE: Final = 60.0
_HOUR: Final = 3600.0


@dataclass(frozen=True, slots=True)
class TestPlan:
    """The durations (in seconds) and counts for the `idle` and `stimulus` tests. Each field is named after its
    setting."""

    waits: tuple[float, ...]
    burst_time: float
    bursts: int
    baseline_time: float
    sequential_time: float
    random_time: float


TEST_PLANS: Final[Mapping[str, TestPlan]] = {
    "pts": TestPlan(
        waits=(5.0, 10.0, 15.0, 25.0, 50.0), burst_time=5.0, bursts=360, baseline_time=30 * _MINUTE,
        sequential_time=8 * _HOUR, random_time=6 * _HOUR,
    ),
    "fast": TestPlan(
        waits=(2.0, 5.0), burst_time=2.0, bursts=10, baseline_time=20.0,
        sequential_time=_MINUTE, random_time=_MINUTE,
    ),
}  # fmt: skip
"""Test plans, keyed by profile. SNIA's PTS 2.0 specifies the plan `pts`."""


Test = Literal["idle", "stimulus", "demand"]
TESTS: Final[tuple[Test, ...]] = ("idle", "stimulus", "demand")
STREAM: Final = Workload(MIB, 0, random=False)
SCATTER: Final = Workload(8192, 0)


class RecoveryParams(DemandParams):
    """Settings for the three tests; each test is a separate point."""

    step_settings: ClassVar[dict[str, str]] = {"tests": "test"}

    tests: Annotated[tuple[Test, ...], BeforeValidator(listed), Field(min_length=1)] = setting(
        TESTS, "Tests to run, one point each; to run a single test, set `test` instead"
    )
    test: Test = setting(
        "idle", "`idle`: host idle recovery; `stimulus`: cross stimulus recovery; `demand`: demand intensity"
    )
    waits: Annotated[tuple[Duration, ...], BeforeValidator(listed)] | None = setting(
        None, "`idle`: pauses between bursts (`pts`: 5s,10s,15s,25s,50s; `fast`: 2s,5s)", min_length=1
    )
    burst_time: Duration | None = setting(None, "`idle`: duration of a burst (`pts`: 5s; `fast`: 2s)", gt=0, le=3600)
    bursts: Count | None = setting(
        None, "`idle`: number of bursts for each pause (`pts`: 360; `fast`: 10)", ge=2, le=10_000
    )
    baseline_time: Duration | None = setting(
        None, "`idle`: duration of the writes without pauses after the bursts (`pts`: 30m; `fast`: 20s)", gt=0, le=86400
    )
    sequential_time: Duration | None = setting(
        None, "`stimulus`: duration of each sequential phase (`pts`: 8h; `fast`: 1m)", gt=0, le=7 * 86400
    )
    random_time: Duration | None = setting(
        None, "`stimulus`: duration of the random phase (`pts`: 6h; `fast`: 1m)", gt=0, le=7 * 86400
    )
    recovered_within: float = setting(
        10.0,
        "`stimulus`: a stream is treated as recovered when it is within this percentage of its earlier level",
        gt=0,
        lt=100,
    )
    demand_block_size: Size = setting(8192, "`demand`: bytes per request", ge=512, le=128 * MIB)
    demand_rwmixread: Count = setting(65, "`demand`: percentage of reads", le=100)

    @property
    def sizes(self) -> tuple[int, ...]:
        """All block sizes that the test uses, including those for preconditioning."""
        return (SEQUENTIAL_BLOCK, WRITES.block_size, STREAM.block_size, SCATTER.block_size, self.demand_block_size)

    @property
    def queue_depths(self) -> tuple[int, ...]:
        """All queue depths per job that the test uses."""
        return self.demand_plan().depths if self.test == "demand" else (self.load().iodepth,)

    @property
    def demanded(self) -> Workload:
        """The workload that is measured at each load in the matrix."""
        return Workload(self.demand_block_size, self.demand_rwmixread)

    def form(self) -> TestPlan:
        """Return the test plan of the profile, overridden by the durations and counts in the settings."""
        return self.filled(TEST_PLANS[self.profile])

    def load(self) -> RecoveryParams:
        """Return the settings with the load that the specification requires.

        For streams, this is one job with 32 requests in flight; for the writes before the matrix, it is the highest
        load in the matrix.
        """
        if self.test == "stimulus":
            return self.model_copy(update={"numjobs": 1, "iodepth": 32, "precondition": 0})
        if self.test == "demand":
            return self.at_highest()
        return self
