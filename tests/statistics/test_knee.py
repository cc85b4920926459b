"""The knee of a curve of response time against throughput, and interpolation between its points."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asct.statistics.knee import LoadPoint, knee_index, response_at, throughput_at

SEEDS: list[LoadPoint] = [
    (10.7, 115.5), (35.2, 115.8), (61.4, 117.6), (175.3, 122.2), (306.5, 129.2), (385.0, 134.1), (441.8, 138.3),
    (603.9, 158.8), (753.7, 193.9), (912.7, 250.7), (918.3, 266.5), (918.3, 281.0), (920.7, 305.4),
]  # fmt: skip
"""A published curve with 13 delays on a server with two nodes, in GB/s and ns."""


def queue(service: float, idle: float, loads: list[float]) -> list[LoadPoint]:
    """Return the latencies of an M/M/1 queue in addition to a latency that does not depend on load."""
    return [(load, idle + service * load / (1.0 - load)) for load in loads]


def fine(count: int = 2000) -> list[float]:
    return [step / count for step in range(1, count)]


def test_the_knee_of_a_queue_is_at_half_load() -> None:
    """For M/M/1, the power is (1 - load) * load / service, which is greatest at 1/2."""
    loads = fine()
    found = knee_index(queue(1.0, 1.0, loads))
    assert found is not None
    assert loads[found] == pytest.approx(0.5)


@pytest.mark.parametrize("share", [0.01, 0.05, 0.3])
def test_the_knee_where_most_of_the_latency_is_no_queue(share: float) -> None:
    """From d(load / response) = 0 follows load / (1 - load) = 1 / sqrt(share)."""
    loads = fine()
    found = knee_index(queue(share, 1.0, loads))
    assert found is not None
    odds = 1.0 / math.sqrt(share)
    assert loads[found] == pytest.approx(odds / (1.0 + odds), abs=2e-3)


def test_the_knee_does_not_move_with_the_points_beyond_it() -> None:
    assert SEEDS[knee_index(SEEDS) or 0] == (753.7, 193.9)
    assert knee_index(SEEDS[:11]) == knee_index(SEEDS[:12]) == knee_index(SEEDS)
    assert knee_index(SEEDS[:10]) is None  # not surely passed yet
    steeper = [*SEEDS, (921.0, 2000.0)]
    assert steeper[knee_index(steeper) or 0] == (753.7, 193.9)


@given(st.floats(1e-3, 1e12), st.floats(1e-12, 1e3))
def test_the_knee_does_not_depend_on_units(throughput: float, response: float) -> None:
    scaled = [(x * throughput, y * response) for x, y in SEEDS]
    assert knee_index(scaled) == knee_index(SEEDS)


def test_a_curve_that_is_not_saturated_has_no_knee() -> None:
    flat = [(1.0, 150.0), (5.0, 161.0), (10.0, 152.0), (20.0, 157.0), (40.0, 150.0), (41.0, 160.0)]
    assert knee_index(flat) is None
    assert knee_index(SEEDS[:7]) is None
    assert knee_index([(1.0, 1.0), (2.0, 1.0), (2.0, 9.0)]) is None
    assert knee_index([]) is None


def test_a_response_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="positive"):
        knee_index([(1.0, 0.0)])


def test_between_points_the_curve_is_straight() -> None:
    points = [(0.0, 100.0), (10.0, 110.0), (20.0, 150.0), (19.0, 300.0), (21.0, 400.0)]
    assert response_at(points, 5.0) == pytest.approx(105.0)
    assert response_at(points, 10.0) == pytest.approx(110.0)
    assert response_at(points, 15.0) == pytest.approx(130.0)
    assert response_at(points, 20.0) == pytest.approx(150.0)
    assert throughput_at(points, 130.0) == pytest.approx(15.0)


def test_what_the_curve_does_not_reach_is_unknown() -> None:
    points = [(5.0, 100.0), (10.0, 110.0)]
    assert response_at(points, 4.9) is None
    assert response_at(points, 10.1) is None
    assert throughput_at(points, 99.0) is None
    assert throughput_at(points, 111.0) is None
    assert response_at([], 1.0) is None
    assert response_at([(5.0, 100.0)], 5.0) is None


def test_one_slow_point_under_little_load_does_not_count() -> None:
    points = [(1.0, 100.0), (2.0, 140.0), (5.0, 100.0), (9.0, 110.0), (10.0, 200.0)]
    assert throughput_at(points, 115.0) == pytest.approx(9.0 + 5.0 / 90.0)


def test_the_response_is_that_of_the_way_up() -> None:
    """After saturation, throughput may decrease. The first point with this throughput counts."""
    points = [(1.0, 100.0), (10.0, 120.0), (7.0, 300.0), (10.0, 400.0)]
    assert response_at(points, 8.0) == pytest.approx(100.0 + 20.0 * 7.0 / 9.0)
