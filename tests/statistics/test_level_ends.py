"""The ends of caches and of the TLB, found from two chains: simulated curves of known machines, and one recorded in a
guest."""

from __future__ import annotations

import random

import pytest

from asct.statistics.level_ends import LevelEnd, find_end, interpolated
from asct.statistics.level_names import CacheHint
from asct.statistics.levels import find_levels

KIB, MIB = 1 << 10, 1 << 20
WINDOW = 128 * KIB
GRID = [round(128 * 2 ** (step / 4) / 64) * 64 for step in range(93)]


def zen3(size: int, *, local: bool, first_tlb: int, second_tlb: int, llc: int) -> float:
    """Return the time of a load in ns. The caches have 32K, 512K and `llc`. Beyond the reach of a TLB, random loads
    wait for the next TLB or for a page walk.

    A chain with windows misses the TLB once per page, and finds half of its lines in the second-level cache beyond it.
    """

    def beyond(cache: int) -> float:
        """Return the share of loads that a cache of this size does not serve."""
        return 0.0 if size <= cache else min(1.0, 2.0 * (1.0 - cache / size))

    far = 0.5 if local else 1.0
    cache = 1.23 + 2.5 * beyond(32 * KIB) + far * (11.0 * beyond(512 * KIB) + 100.0 * beyond(llc))
    return cache + (0.0 if local else 2.2 * beyond(first_tlb) + 9.0 * beyond(second_tlb))


def curves(noise: float, seed: int = 1, **machine: int) -> tuple[dict[int, float], dict[int, float]]:
    draw = random.Random(seed)
    main = {size: zen3(size, local=False, **machine) * draw.gauss(1.0, noise) for size in GRID}
    local = {size: zen3(size, local=True, **machine) * draw.gauss(1.0, noise) for size in GRID if size >= 64 * KIB}
    return main, local


def ends(main: dict[int, float], local: dict[int, float]) -> dict[str, tuple[LevelEnd, int]]:
    """Return the ends of each level, with the bound that the main chain shows."""
    hints = [CacheHint(1, 32 * KIB), CacheHint(2, 512 * KIB), CacheHint(3, 32 * MIB, True)]
    levels = find_levels(main, hints=hints).levels
    following = [*(level.lower for level in levels[1:]), None]
    return {
        level.name: (find_end(level, limit, main, local, WINDOW), level.upper)
        for level, limit in zip(levels, following, strict=True)
        if limit is not None
    }


@pytest.mark.parametrize("seed", range(5))
def test_a_cache_beyond_the_reach_of_the_first_tlb(seed: int) -> None:
    """The TLB covers 64 pages of 4K, so random loads become slower at 256K, although the second-level cache has
    512K."""
    found, main = ends(*curves(0.004, seed, first_tlb=256 * KIB, second_tlb=8 * MIB, llc=16 * MIB))["L2"]
    assert main < 400 * KIB, "the main chain ends at the TLB"
    assert 480 * KIB <= found.cache <= 600 * KIB
    assert found.tlb is not None
    assert 210 * KIB <= found.tlb <= 300 * KIB


@pytest.mark.parametrize("seed", range(5))
def test_a_tlb_that_covers_the_cache_has_no_end(seed: int) -> None:
    found, main = ends(*curves(0.004, seed, first_tlb=1 << 40, second_tlb=1 << 40, llc=16 * MIB))["L2"]
    assert found.tlb is None
    assert found.cache == pytest.approx(main, rel=0.2)
    assert 480 * KIB <= found.cache <= 600 * KIB


@pytest.mark.parametrize("seed", range(5))
def test_the_last_cache_ends_at_its_share_although_the_second_tlb_ends_before(seed: int) -> None:
    main, local = curves(0.02, seed, first_tlb=256 * KIB, second_tlb=4 * MIB, llc=16 * MIB)
    found = ends(main, local)
    name = "LLC" if "LLC" in found else "L3"
    end, _ = found[name]
    assert 14 * MIB <= end.cache <= 20 * MIB
    assert end.tlb is None or end.tlb < 6 * MIB


GUEST = {  # cycles of (random loads, windows of 128K) in a guest whose host has pages of 4K; its L2 has 2 MiB
    65536: (15.98, 15.98), 77952: (16.011, 16.005), 92672: (16.012, 16.012), 110208: (16.011, 16.011),
    131072: (16.008, 16.01), 155840: (15.992, 16.012), 185344: (16.009, 16.012), 220416: (16.005, 16.007),
    262144: (16.031, 16.013), 311744: (16.011, 16.009), 370752: (16.01, 16.024), 440896: (16.79, 16.058),
    524288: (17.763, 16.099), 623488: (18.614, 16.121), 741440: (19.31, 16.115), 881728: (19.916, 16.116),
    1048576: (20.446, 16.119), 1246976: (20.843, 16.115), 1482880: (24.886, 18.444), 1763456: (33.243, 24.874),
    2097152: (45.319, 31.044), 2493952: (72.705, 47.731), 2965824: (108.293, 51.353), 3526976: (112.402, 55.016),
    4194304: (107.365, 52.417), 4987904: (105.835, 52.866), 5931648: (115.065, 54.975), 7053952: (112.106, 54.065),
    8388608: (124.319, 66.891), 9975808: (119.883, 56.545), 11863296: (124.352, 64.939), 14107904: (142.904, 62.525),
    16777216: (158.002, 63.246), 19951616: (187.097, 67.22), 23726592: (242.982, 83.04), 28215808: (273.485, 87.907),
    33554432: (290.582, 118.593), 39903168: (277.308, 107.135), 47453120: (291.171, 135.028),
    56431616: (340.421, 132.314), 67108864: (344.173, 127.418), 79806336: (355.257, 151.76),
    94906240: (372.627, 150.003), 112863232: (374.697, 156.252), 134217728: (371.5, 157.743),
}  # fmt: skip


def test_a_recorded_guest() -> None:
    """Random loads become slower beyond 96 pages of 4K, the reach of the core's first TLB, although the cache holds
    more."""
    near = {size: 5.0 for size in GRID if size <= 48 * KIB}
    main = near | {size: pair[0] for size, pair in GUEST.items()}
    found = ends(main, {size: pair[1] for size, pair in GUEST.items()})
    assert found["L2"][0] == LevelEnd(1246976, 1482880, 440896)
    end, main_end = found["LLC"]
    assert main_end < 15 * MIB < end.cache
    assert end.cache == 19951616
    assert end.tlb is not None
    assert 8 * MIB <= end.tlb <= 14 * MIB


def test_too_few_sizes_leave_the_bound_alone() -> None:
    main, local = curves(0.0, first_tlb=256 * KIB, second_tlb=8 * MIB, llc=16 * MIB)
    (level, *_) = find_levels(main).levels
    assert find_end(level, None, main, local, WINDOW) == LevelEnd(level.upper, level.above)
    second = find_levels(main).levels[1]
    assert find_end(second, None, main, {}, WINDOW) == LevelEnd(second.upper, second.above)


def test_interpolation_is_straight_in_logarithms() -> None:
    assert interpolated({100: 1.0, 400: 4.0}, 200) == pytest.approx(2.0)
    assert [interpolated({100: 1.0, 400: 4.0}, size) for size in (50, 100, 400, 500)] == [1.0, 1.0, 4.0, 4.0]
    with pytest.raises(ValueError, match="has no values"):
        interpolated({}, 100)
