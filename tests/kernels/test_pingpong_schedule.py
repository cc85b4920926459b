"""The rounds of pairs: every pair occurs once, no core is in two pairs of a round, and the number of rounds is
minimal."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest

from tests.kernels.building import Ran, run

pytestmark = pytest.mark.kernels

Round = list[tuple[int, int]]
CAP_NS, ROUND_NS = 40_000_000, 1_000_000


def listed(pingpong: Path, cpus: list[int], cores: list[int] | None = None, *options: str) -> Ran:
    groups = ("--groups", ",".join(map(str, cores))) if cores else ("--groups", ",".join(map(str, cpus)))
    ran = run(pingpong, "--list-schedule", "1", "--cpus", ",".join(map(str, cpus)), *groups, *options)
    assert ran.status == 0, ran.stderr
    return ran


def rounds_of(ran: Ran) -> list[Round]:
    """Return the pairs of each round. The rounds are numbered consecutively from 0."""
    lines = ran.of("round")
    assert [line["round"] for line in lines] == list(range(len(lines)))
    assert len(lines) == ran.end["rounds"] == ran.meta["rounds"]
    assert [line["t"] for line in ran.lines] == ["meta", *["round"] * len(lines), "end"]
    return [list(zip(line["pairs"][::2], line["pairs"][1::2], strict=True)) for line in lines]


def check(rounds: list[Round], cpus: list[int], cores: list[int]) -> None:
    """Check what must hold for every schedule."""
    core_of = dict(zip(cpus, cores, strict=True))
    place = {cpu: i for i, cpu in enumerate(cpus)}
    played = [pair for pairs in rounds for pair in pairs]
    assert len(played) == len(set(played)) == len(cpus) * (len(cpus) - 1) // 2
    assert set(played) == set(combinations(cpus, 2))
    assert all(place[a] < place[b] for a, b in played)
    for pairs in rounds:
        assert pairs
        busy = [core for a, b in pairs for core in {core_of[a], core_of[b]}]
        assert len(busy) == len(set(busy)), "a core plays in two pairs of a round"


@pytest.mark.parametrize("counts", [range(2, 33), range(33, 65), (95, 96), (191, 192), (575,), (576,)], ids=str)
def test_cpus_of_their_own_cores_play_in_the_fewest_rounds(counts: range | tuple[int, ...], pingpong: Path) -> None:
    for count in counts:
        cpus = list(range(count))
        ran = listed(pingpong, cpus)
        rounds = rounds_of(ran)
        check(rounds, cpus, cpus)
        assert len(rounds) == (count if count % 2 else count - 1)
        assert ran.end["pairs"] == ran.meta["pairs"] == count * (count - 1) // 2


@pytest.mark.parametrize("cores", [1, 2, 3, 4, 7, 8, 48, 96, 288])
@pytest.mark.parametrize("neighbours", [True, False])
def test_siblings_play_with_one_another_and_never_beside_one_another(
    cores: int, neighbours: bool, pingpong: Path
) -> None:
    """Each core has two CPUs, which are numbered consecutively or by halves."""
    cpus = list(range(2 * cores))
    of = [cpu // 2 if neighbours else cpu % cores for cpu in cpus]
    rounds = rounds_of(listed(pingpong, cpus, of))
    check(rounds, cpus, of)
    turns = cores if cores % 2 else cores - 1
    assert len(rounds) == 1 + (4 * turns if cores > 1 else 0)


@pytest.mark.parametrize(
    "sizes", [(4,), (1, 3), (2, 2, 1), (4, 4, 4), (2, 2, 2, 2, 1, 1, 1, 1), (8, 1, 2, 3), (1, 1, 1, 1, 4, 4)]
)
def test_cores_of_different_sizes(sizes: tuple[int, ...], pingpong: Path) -> None:
    cores = [100 + core for core, size in enumerate(sizes) for _ in range(size)]
    cpus = list(range(len(cores)))
    rounds = rounds_of(listed(pingpong, cpus, cores))
    check(rounds, cpus, cores)


def test_sparse_numbers_in_any_order_are_kept(pingpong: Path) -> None:
    cpus = [900, 3, 17, 4, 8191, 0]
    ran = listed(pingpong, cpus)
    place = {cpu: i for i, cpu in enumerate(cpus)}
    rounds = [[(place[a], place[b]) for a, b in pairs] for pairs in rounds_of(ran)]
    check(rounds, list(range(6)), list(range(6)))
    assert ran.meta["cpus"] == cpus and ran.meta["groups"] == cpus


def test_one_pair_a_round_when_nothing_runs_side_by_side(pingpong: Path) -> None:
    rounds = rounds_of(listed(pingpong, list(range(9)), None, "--parallel", "0"))
    check(rounds, list(range(9)), list(range(9)))
    assert [len(pairs) for pairs in rounds] == [1] * 36


def test_cpus_that_the_system_does_not_know_have_cores_of_their_own(pingpong: Path) -> None:
    ran = run(pingpong, "--list-schedule", "1", "--cpus", "8000,8001,8002")
    assert ran.status == 0, ran.stderr
    assert ran.meta["groups"] == [8000, 8001, 8002]


@pytest.mark.parametrize(("count", "checks"), [(2, 0), (3, 0), (4, 3), (192, 4)])
def test_the_plan_is_rounds_and_checks_of_all_methods(count: int, checks: int, pingpong: Path) -> None:
    ran = listed(pingpong, list(range(count)))
    assert ran.meta["check_pairs"] == checks
    rounds = ran.end["rounds"] + checks
    assert ran.end["planned_ns"] == ran.meta["planned_ns"] == rounds * (3 * CAP_NS + ROUND_NS)
    short = listed(pingpong, list(range(count)), None, "--methods", "cas", "--time-cap-ms", "10", "--check-pairs", "0")
    assert short.end["planned_ns"] == ran.end["rounds"] * (CAP_NS // 4 + ROUND_NS)
