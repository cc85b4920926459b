"""The order of measurement."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from asct.engine.job import schedule
from asct.planner.model import Job, Point

jobs = st.builds(
    lambda points, **rest: Job(
        id="x", benchmark="x", version="1", host="a", points=tuple(Point(str(n), {}, {}) for n in range(points)), **rest
    ),
    points=st.integers(0, 6),
    repeats=st.integers(1, 5),
    warmup=st.integers(0, 3),
    order=st.sampled_from(["interleaved", "grouped", "random"]),
    seed=st.integers(0, 2**32 - 1),
)


def made(**fields: Any) -> list[tuple[int, int]]:
    points = tuple(Point(str(number), {}, {}) for number in range(3))
    return schedule(Job(id="x", benchmark="x", version="1", host="a", points=points, repeats=2, warmup=2, **fields))


def test_interleaved_goes_round_over_the_points() -> None:
    assert made() == [
        (0, 0), (1, 0), (2, 0), (0, -1), (1, -1), (2, -1), (0, 1), (1, 1), (2, 1), (0, 2), (1, 2), (2, 2),
    ]  # fmt: skip


def test_grouped_finishes_a_point_before_the_next() -> None:
    assert made(order="grouped")[:5] == [(0, 0), (0, -1), (0, 1), (0, 2), (1, 0)]


def test_random_is_the_same_for_the_same_seed_everywhere() -> None:
    assert made(order="random", seed=7) == [
        (2, 0), (2, -1), (2, 1), (1, 0), (1, -1), (1, 1), (1, 2), (0, 0), (0, -1), (0, 1), (2, 2), (0, 2),
    ]  # fmt: skip
    assert made(order="random", seed=7) != made(order="random", seed=8)


@given(jobs)
def test_every_repeat_is_made_once_and_in_order_of_its_number(job: Job) -> None:
    turns = schedule(job)
    assert len(turns) == len(set(turns)) == len(job.points) * (job.repeats + job.warmup)
    for index in range(len(job.points)):
        repeats = [repeat for point, repeat in turns if point == index]
        assert repeats == [*range(0, -job.warmup, -1), *range(1, job.repeats + 1)]


@given(jobs.filter(lambda job: job.order == "interleaved" and len(job.points) > 0))
def test_interleaved_never_runs_ahead_with_a_point(job: Job) -> None:
    done: Counter[int] = Counter()
    for index, _ in schedule(job):
        done[index] += 1
        assert max(done.values()) - min(done[number] for number in range(len(job.points))) <= 1
