"""The calculations of storage-recovery, tested without a drive."""

from __future__ import annotations

import pytest

from asct.benchmarks.storage_recovery.idle import Burst, next_delay, settling_seconds
from asct.benchmarks.storage_recovery.params import RecoveryParams
from asct.benchmarks.storage_recovery.stimulus import Group, _spells, level, recovery_seconds
from asct.instruments.qualification.demand import DemandLoad, operating_points
from asct.instruments.qualification.journal import FioSummary, TimeSlot


def load(numjobs: int, iodepth: int, iops: float, latency_ms: float) -> DemandLoad:
    return DemandLoad(numjobs, iodepth, iops, latency_ms / 1000.0)


MATRIX = [
    load(1, 1, 10_000, 0.1),
    load(1, 4, 36_000, 0.11),
    load(1, 32, 90_000, 0.35),
    load(4, 4, 70_000, 0.23),
    load(4, 32, 90_000, 1.4),
    load(32, 32, 95_000, 10.8),
]


def test_operating_points_lie_under_the_bound_of_latency() -> None:
    points = operating_points(MATRIX, 0.005)
    assert points["max"] == MATRIX[2], "the cell with fewer requests in flight, of two that are as fast"
    assert points["min"] == MATRIX[0]
    assert points["mid"] == MATRIX[1], "36,000 is nearer to 50,000 than 70,000 is"


def test_no_operating_point_without_a_cell_under_the_bound() -> None:
    assert operating_points(MATRIX, 0.0001) == {}
    assert operating_points([], 0.005) == {}


def test_one_cell_stands_for_all_points() -> None:
    assert set(operating_points(MATRIX[:1], 0.005).values()) == {MATRIX[0]}


def rounds(*bandwidths: float) -> list[FioSummary]:
    return [FioSummary(60.0, bandwidth / 4096, bandwidth, 0.001, 0.01, 0, 0, (), (), ()) for bandwidth in bandwidths]


def test_the_level_of_a_group_is_that_of_its_end() -> None:
    assert level(rounds(900, 900, 500, 410, 400, 405, 395, 400), 5) == 400


@pytest.mark.parametrize(
    ("bandwidths", "seconds"),
    [
        ([400, 401, 399], 0.0),
        ([100, 200, 370, 400, 400], 120.0),
        ([100, 400, 100, 100, 390, 400, 400], 240.0),  # one lucky round is no recovery
        ([100, 200, 395], 120.0),
        ([100, 200, 300], None),
        ([], None),
    ],
)
def test_recovery_is_when_the_stream_is_back_and_stays(bandwidths: list[float], seconds: float | None) -> None:
    assert recovery_seconds(rounds(*bandwidths), 400.0, 0.1) == seconds


def test_pauses_are_shortened_by_what_programs_take_to_start() -> None:
    assert next_delay(5.0, []) == 5.0
    assert next_delay(5.0, [Burst(1000, 5.0, None)]) == 5.0
    late = [Burst(1000, 5.0, 5.6), Burst(1000, 4.4, 5.1), Burst(1000, 4.4, 9.0)]
    assert next_delay(5.0, late) == pytest.approx(4.3), "the median, so that one slow start does not count"
    assert next_delay(0.5, late) == 0.0


def course(*rates: float) -> list[TimeSlot]:
    return [TimeSlot(0.5, round(rate / 2), round(rate * 2048), round(rate * 2048)) for rate in rates]


def test_settling_is_the_time_of_the_last_change() -> None:
    assert settling_seconds(course(*[1000.0] * 20)) == 0.0
    assert settling_seconds(course(*[4000.0, 4010, 3990, 4000] * 3, *[1000.0, 1004, 998, 1002] * 5)) == 6.0
    assert settling_seconds(course(4000.0, 1000.0)) == 0.0


def test_a_target_that_stood_still_says_so_instead_of_a_share() -> None:
    spells: dict[Group, list[FioSummary]] = {"before": rounds(0, 0), "between": rounds(1, 1), "after": rounds(1, 1)}
    with pytest.raises(ValueError, match="completed no requests in the `before` phase"):
        list(_spells(RecoveryParams(), spells, ()))
