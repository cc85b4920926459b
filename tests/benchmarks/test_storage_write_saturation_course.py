"""When a write saturation test ends, and where its level falls."""

from __future__ import annotations

import pytest

from asct.benchmarks.storage_write_saturation.measure import SaturationRound, measurements
from asct.benchmarks.storage_write_saturation.params import StopCondition, first_drop, over, samples, steady_window
from asct.instruments.qualification.journal import TimeSlot
from asct.statistics.steady import SteadyRule

GIB = 2**30
FOREVER = StopCondition(volume=10**18, seconds=1e9, sample_s=0.0, settled=0.0, rule=SteadyRule())


def slot(iops: float, seconds: float = 60.0) -> TimeSlot:
    ios = round(iops * seconds)
    return TimeSlot(seconds, ios, ios * 4096, ios * 4096)


def test_the_volume_ends_the_test() -> None:
    goal = StopCondition(volume=GIB, seconds=1e9, sample_s=0.0, settled=0.0, rule=SteadyRule())
    rounds = [slot(1000)] * 4
    assert over(rounds, goal) is None, "983 MB"
    assert over([*rounds, slot(1000)], goal) == "volume"


def test_the_time_ends_the_test() -> None:
    goal = StopCondition(volume=10**18, seconds=300.0, sample_s=0.0, settled=0.0, rule=SteadyRule())
    assert over([slot(1000)] * 4, goal) is None
    assert over([slot(1000)] * 5, goal) == "time"


def test_steady_samples_end_the_test_only_when_asked_to() -> None:
    goal = StopCondition(volume=10**18, seconds=1e9, sample_s=1800.0, settled=0.0, rule=SteadyRule())
    rounds = [slot(8000)] * 60 + [slot(1000)] * 60
    assert over(rounds, goal) is None, "two samples of the burst, two of the level"
    assert over([slot(1000)] * 149, goal) is None, "the fifth sample is not whole"
    assert over([slot(1000)] * 150, goal) == "steady"
    assert over([slot(1000)] * 150, FOREVER) is None


def test_the_plateau_of_a_burst_ends_nothing() -> None:
    goal = StopCondition(volume=10**18, seconds=1e9, sample_s=60.0, settled=100 * GIB, rule=SteadyRule())
    burst = [slot(8000)] * 10
    assert over(burst, goal) is None, "20 GB were written, and the level never fell"
    assert over([*burst, *[slot(1000)] * 4], goal) is None
    assert over([*burst, *[slot(1000)] * 5], goal) == "steady", "five rounds behind the cliff"
    assert over([slot(8000)] * 60, goal) == "steady", "107 GiB were written before the window"


def test_a_steady_window_lies_behind_the_last_pause() -> None:
    goal = StopCondition(volume=10**18, seconds=1e9, sample_s=60.0, settled=0.0, rule=SteadyRule())
    rounds = [slot(1000)] * 8
    assert over(rounds, goal, since=3) == "steady", "five rounds behind the pause"
    assert over(rounds, goal, since=4) is None
    assert over(rounds, StopCondition(1, 1e9, 60.0, 0.0, SteadyRule()), since=4) == "volume"


def test_a_steady_window_has_its_mean() -> None:
    goal = StopCondition(volume=10**18, seconds=1e9, sample_s=120.0, settled=0.0, rule=SteadyRule())
    window = steady_window([slot(rate) for rate in (900, 1100) * 5], goal)
    assert window is not None
    assert window.mean == pytest.approx(1000.0)
    assert window.excursion == pytest.approx(0.0)


def test_a_sample_takes_whole_rounds() -> None:
    assert [one.seconds for one in samples([slot(1, 50.0)] * 7, 100.0)] == [100.0] * 3
    assert [one.seconds for one in samples([slot(1, 59.99)] * 4, 120.0)] == [pytest.approx(119.98)] * 2


def test_the_cliff_is_found_at_its_volume() -> None:
    course = [slot(8000, 1.0)] * 50 + [slot(1000, 1.0)] * 300
    cliff = first_drop(course)
    assert cliff is not None
    assert cliff.written_bytes == 50 * 8000 * 4096
    assert cliff.seconds == 50.0
    assert (cliff.before, cliff.after) == (8000.0, 1000.0)


def test_a_small_cache_is_found_in_a_long_test() -> None:
    course = [slot(8000, 1.0)] * 20 + [slot(1000, 1.0)] * 40_000
    cliff = first_drop(course)
    assert cliff is not None
    assert cliff.written_bytes == 20 * 8000 * 4096


def test_a_late_cliff_is_found_to_the_resolution_of_the_search() -> None:
    course = [slot(8000, 1.0)] * 20_000 + [slot(1000, 1.0)] * 20_000
    cliff = first_drop(course)
    assert cliff is not None
    assert cliff.seconds == pytest.approx(20_000, abs=34)


def test_a_level_that_wanders_or_rises_has_no_cliff() -> None:
    assert first_drop([slot(1000 + 10 * index, 1.0) for index in range(60)]) is None
    assert first_drop([slot(1000, 1.0)] * 50 + [slot(8000, 1.0)] * 50) is None
    assert first_drop([slot(1000, 1.0)] * 50 + [slot(650, 1.0)] * 50) is None
    assert first_drop([slot(1000, 1.0)] * 3) is None
    assert first_drop([]) is None


@pytest.mark.parametrize(
    ("rates", "flag"),
    [
        ((8000,) * 8 + (1000,) * 8, None),
        ((8000,) * 16, "burst-possible"),
        ((8000,) * 8 + (5000,) * 8, "burst-possible"),
        (tuple(range(16_000, 8000, -500)), "invalid-not-steady"),
    ],
)
def test_a_level_without_a_fall_before_it_may_be_a_burst(rates: tuple[int, ...], flag: str | None) -> None:
    goal = StopCondition(volume=1, seconds=1e9, sample_s=0.0, settled=0.0, rule=SteadyRule())
    rounds = [SaturationRound(slot(rate), (slot(rate, 30.0),) * 2, None, (), resumed=False) for rate in rates]
    values = {one.metric: one for one in measurements(rounds, GIB, goal, (), {}) if not one.detail}
    expected = () if flag is None else (flag,)
    assert values["iops"].flags == values["bandwidth"].flags == expected
    assert values["cliffs"].flags == ()
    again = {one.metric: one for one in measurements(rounds, GIB, goal, (), {}, fell=True) if not one.detail}
    assert "burst-possible" not in again["iops"].flags
