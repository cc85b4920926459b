"""Levels on synthetic curves: the right number of levels at the right places, and no levels where there are none."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asct.statistics.level_names import CacheHint, name_levels
from asct.statistics.levels import LevelSearch, MemoryLevel, find_levels
from tests.statistics.curves import FIVE, FOUR, GIB, KIB, MIB, THREE, TWO, Staircase, grid, measured, refined

HINTS = (CacheHint(1, 48 * KIB), CacheHint(2, 1 * MIB), CacheHint(3, 16 * MIB, shared=True))


def names(found: LevelSearch) -> list[str]:
    return [level.name for level in found.levels]


def by_name(found: LevelSearch) -> dict[str, MemoryLevel]:
    return {level.name: level for level in found.levels}


@pytest.mark.parametrize(
    ("stairs", "expected"),
    [
        (TWO, ["L1", "DRAM"]),
        (THREE, ["L1", "L2", "DRAM"]),
        (FOUR, ["L1", "L2", "LLC", "DRAM"]),
        (FIVE, ["L1", "L2", "L3", "LLC", "DRAM"]),
    ],
)
@pytest.mark.parametrize("sigma", [0.0, 0.01, 0.03])
def test_finds_as_many_levels_as_there_are(stairs: Staircase, expected: list[str], sigma: float) -> None:
    found = find_levels(measured(stairs, refined(stairs, grid()), sigma))
    assert names(found) == expected, found
    for level, latency in zip(found.levels, stairs.latencies, strict=True):
        assert level.latency == pytest.approx(latency, rel=0.005 + sigma)


@pytest.mark.parametrize("stairs", [TWO, THREE, FOUR, FIVE])
def test_bounds_are_exact_to_the_resolution_of_the_data(stairs: Staircase) -> None:
    found = find_levels(measured(stairs, refined(stairs, grid())))
    for level, edge in zip(found.levels, stairs.edges, strict=False):
        blur = stairs.blur[stairs.edges.index(edge)]
        rise = math.log(stairs.latencies[stairs.edges.index(edge) + 1] / stairs.latencies[stairs.edges.index(edge)])
        reach = 2.0 ** (blur * math.log(1.10) / rise)
        assert edge / 1.021 <= level.upper <= edge * reach * 1.021
        assert level.upper_gap is not None
        assert level.upper_gap <= 0.021
    for lower, upper in zip(found.levels[1:], found.levels, strict=False):
        assert upper.upper < lower.lower
        assert lower.lower_gap is not None
        assert lower.lower_gap <= 0.021


def test_bounds_are_not_rounded_to_powers_of_two() -> None:
    stairs = Staircase((48 * KIB, 1280 * KIB), (1.0, 4.0, 100.0))
    found = find_levels(measured(stairs, refined(stairs, grid())))
    assert abs(found.levels[0].upper - 48 * KIB) <= 0.021 * 48 * KIB
    assert abs(found.levels[1].upper - 1280 * KIB) <= 0.021 * 1280 * KIB


def test_optimum_lies_well_inside_its_level() -> None:
    for level in find_levels(measured(FIVE, refined(FIVE, grid()))).levels:
        room = math.log2(level.upper / level.lower)
        assert level.optimum % 64 == 0
        assert math.log2(level.upper / level.optimum) >= min(0.25 * room, 0.9)
        assert math.log2(level.optimum / level.lower) >= 0.25 * room


@settings(max_examples=150)
@given(
    first=st.integers(16 * KIB, 128 * KIB),
    growth=st.lists(st.tuples(st.floats(6.0, 40.0), st.floats(2.0, 8.0)), min_size=1, max_size=4),
    blur=st.floats(0.0, 0.5),
    sigma=st.floats(0.0, 0.03),
    seed=st.integers(0, 10_000),
)
def test_random_hierarchies(
    first: int, growth: list[tuple[float, float]], blur: float, sigma: float, seed: int
) -> None:
    edges, latencies = [float(first)], [1.0]
    for size_ratio, latency_ratio in growth:
        latencies.append(latencies[-1] * latency_ratio)
        edges.append(edges[-1] * size_ratio)
    del edges[-1]
    if edges[-1] * 2**blur > GIB / 8:
        return
    stairs = Staircase([int(edge) for edge in edges], latencies, [blur] * len(edges))
    found = find_levels(measured(stairs, refined(stairs, grid()), sigma, seed))
    assert len(found.levels) == len(latencies), (found.cause, found.notes)
    for level, latency in zip(found.levels, latencies, strict=True):
        assert level.latency == pytest.approx(latency, rel=0.01 + 1.5 * sigma)
    assert all(level.lower <= level.optimum <= level.upper for level in found.levels)


def test_single_bad_sizes_do_not_matter() -> None:
    curve = measured(FOUR, refined(FOUR, grid()), 0.01)
    clean = find_levels(curve)
    rng = random.Random(5)
    bad = rng.sample([size for size in grid() if 1 * KIB < size < 512 * MIB], 6)
    for size in bad:
        curve[size] *= rng.choice([4.0, 10.0, 1.5])
    found = find_levels(curve)
    assert names(found) == names(clean)
    for level, reference in zip(found.levels, clean.levels, strict=True):
        assert level.latency == pytest.approx(reference.latency, rel=0.01)
        assert level.upper == pytest.approx(reference.upper, rel=0.06)
    assert set(bad) <= set(found.suspects)


def test_a_disturbed_stretch_is_recognised_because_larger_sizes_are_faster() -> None:
    curve = measured(FOUR, grid(), 0.01)
    stretch = [size for size in curve if 100 * KIB <= size <= 260 * KIB]
    for size in stretch:
        curve[size] *= 3.0
    found = find_levels(curve)
    assert names(found) == ["L1", "L2", "LLC", "DRAM"]
    assert by_name(found)["L2"].latency == pytest.approx(3.5, rel=0.02)
    assert set(stretch) <= set(found.suspects)


def test_a_missing_plateau_is_not_invented() -> None:
    stairs = Staircase((48 * KIB, 1 * MIB), (1.0, 3.5, 130.0), (0.1, 5.0))
    found = find_levels(measured(stairs, refined(stairs, grid()), 0.02), hints=HINTS)
    assert names(found) == ["L1", "L2", "DRAM"]
    assert "cache-without-plateau" in found.notes


def test_a_short_shelf_is_noted_and_is_no_level() -> None:
    shelf = Staircase((48 * KIB, 1 * MIB, int(3.2 * MIB)), (1.0, 3.5, 30.0, 130.0), (0.1, 1.0, 1.0))
    found = find_levels(measured(shelf, refined(shelf, grid(per_octave=8))))
    assert names(found) == ["L1", "L2", "DRAM"]
    assert "shoulder" in found.notes


def test_a_bound_lies_where_the_latency_leaves_by_more_than_a_tenth() -> None:
    for step, end in ((1.07, 48 * KIB), (1.25, 40 * KIB)):
        stairs = Staircase((40 * KIB, 48 * KIB, 1 * MIB), (1.0, step, 4.0, 100.0))
        found = find_levels(measured(stairs, refined(stairs, grid())))
        assert names(found) == ["L1", "L2", "DRAM"]
        assert found.levels[0].upper == pytest.approx(end, rel=0.021)


@pytest.mark.parametrize("stairs", [THREE, FOUR, FIVE])
def test_strong_noise_moves_latencies_but_makes_no_levels(stairs: Staircase) -> None:
    for seed in range(10):
        found = find_levels(measured(stairs, grid(), 0.06, seed))
        assert len(found.levels) == len(stairs.latencies), (seed, found.notes)


def test_slow_rise_and_tlb_steps_within_dram_are_one_level() -> None:
    drifting = Staircase(FOUR.edges, FOUR.latencies, FOUR.blur, drift=0.08)
    assert names(find_levels(measured(drifting, grid(), 0.02))) == ["L1", "L2", "LLC", "DRAM"]
    stepped = measured(FOUR, grid(), 0.01)
    for size in stepped:
        if size > 128 * MIB:
            stepped[size] *= 1.3
    found = find_levels(stepped)
    assert names(found) == ["L1", "L2", "LLC", "DRAM"]
    assert found.levels[-1].upper == GIB


def test_tiny_sizes_make_no_level() -> None:
    for factor in (0.4, 3.0):
        curve = measured(FOUR, grid(), 0.005)
        tiny = {size for size in curve if size <= 512}
        for size in tiny:
            curve[size] *= factor
        found = find_levels(curve, uncertain=tiny)
        assert names(found) == ["L1", "L2", "LLC", "DRAM"]
        assert found.levels[0].lower > 512
        assert found.levels[0].latency == pytest.approx(1.0, rel=0.01)


@pytest.mark.parametrize("sigma", [0.0, 0.01, 0.03])
def test_flat_and_ramp_give_no_levels_but_a_reason(sigma: float) -> None:
    flat = find_levels(measured(Staircase((), (25.0,)), grid(), sigma))
    assert (flat.levels, flat.cause) == ((), "flat-curve")
    for slope in (0.1, 0.3, 0.6):
        rng = random.Random(3)
        ramp = {size: math.exp(slope * math.log2(size) + rng.gauss(0, sigma)) for size in grid()}
        found = find_levels(ramp, hints=HINTS)
        assert found.levels == ()
        assert found.cause in ("steady-rise", "one-plateau")


def test_garbage_gives_no_levels() -> None:
    rng = random.Random(1)
    found = find_levels({size: rng.uniform(1.0, 200.0) for size in grid()})
    assert found.levels == ()
    assert found.cause


def test_too_few_sizes() -> None:
    found = find_levels({size: 1.0 for size in (128, 256, 512)})
    assert found.levels == ()
    assert found.cause == "few-sizes"


@pytest.mark.parametrize("bad", [{0: 1.0}, {64: 0.0}, {64: math.inf}, {64: math.nan}])
def test_impossible_values_are_refused(bad: dict[int, float]) -> None:
    with pytest.raises(ValueError, match="positive"):
        find_levels(bad)


@pytest.mark.parametrize(
    "hints",
    [
        (),
        (CacheHint(1, 7 * KIB), CacheHint(2, 9 * KIB)),
        (CacheHint(1, 512 * MIB),),
        (CacheHint(1, 1), CacheHint(2, 2), CacheHint(3, 3), CacheHint(4, 4), CacheHint(5, 5)),
        HINTS,
    ],
)
def test_hints_neither_invent_nor_destroy(hints: tuple[CacheHint, ...]) -> None:
    curve = measured(FOUR, refined(FOUR, grid()), 0.02)
    bare, hinted = find_levels(curve), find_levels(curve, hints=hints)
    assert [(x.lower, x.upper, x.latency) for x in bare.levels] == [
        (x.lower, x.upper, x.latency) for x in hinted.levels
    ]
    assert names(hinted) == ["L1", "L2", "LLC", "DRAM"]


def test_sweep_that_ends_inside_a_cache_has_no_dram() -> None:
    found = find_levels(measured(FOUR, grid(high=8 * MIB)), hints=HINTS)
    assert names(found) == ["L1", "L2", "LLC"]
    assert "ends-in-cache" in found.notes
    rising = find_levels(measured(FOUR, grid(high=24 * MIB)), hints=HINTS)
    assert "DRAM" not in names(rising)
    assert "open-end" in rising.notes


def test_names_with_and_without_hints() -> None:
    shared = (CacheHint(1, 32 * KIB), CacheHint(2, 1 * MIB, shared=True))
    assert name_levels([32 * KIB, 900 * KIB, GIB], GIB, False) == ["L1", "L2", "DRAM"]
    assert name_levels([32 * KIB, 900 * KIB, GIB], GIB, False, shared) == ["L1", "LLC", "DRAM"]
    assert name_levels([45 * KIB, 12 * MIB, GIB], GIB, False, HINTS) == ["L1", "LLC", "DRAM"]
    assert name_levels([45 * KIB, 900 * KIB, GIB], GIB, False, HINTS) == ["L1", "L2", "DRAM"]
    assert name_levels([45 * KIB, 46 * KIB, GIB], GIB, False, HINTS) == ["L1", "L2", "DRAM"]


def test_coarser_grids_still_find_the_levels() -> None:
    for per_octave in (2, 3, 8):
        found = find_levels(measured(FOUR, grid(per_octave=per_octave), 0.01))
        assert names(found) == ["L1", "L2", "LLC", "DRAM"], per_octave
