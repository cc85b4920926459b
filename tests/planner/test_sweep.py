"""The algebra of sweeps, compared with a simple model that does not optimize anything."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asct.planner.sweep import ExcludeRule, SweepAxis, combinations, expand, names_of
from tests.planner.building import job, refused

NAMES = ("a", "b", "c", "d")
values = st.integers(0, 4)


@st.composite
def sweeps(draw: st.DrawFn) -> tuple[list[SweepAxis], list[dict[str, int]], int]:
    """Draw axes and zips over some names, excludes over the same names, and a bound for `where`."""
    axes = []
    free = list(NAMES[: draw(st.integers(1, 4))])
    while free:
        width = draw(st.integers(1, min(2, len(free))))
        names, free = tuple(free[:width]), free[width:]
        rows = draw(st.lists(st.tuples(*[values] * width), min_size=1, max_size=4, unique=True))
        axes.append(SweepAxis(names, rows))
    excludes = draw(st.lists(st.dictionaries(st.sampled_from(names_of(axes)), values, min_size=1), max_size=3))
    return axes, excludes, draw(st.integers(0, 12))


def brute_force(axes: list[SweepAxis], excludes: list[dict[str, int]], bound: int) -> list[dict[str, int]]:
    """Return every assignment of values to names for which each axis has the values, `where` holds, and no exclude
    matches."""
    names = names_of(axes)
    found = []
    for row in itertools.product(range(5), repeat=len(names)):
        point = dict(zip(names, row, strict=True))
        on_axes = all(tuple(point[name] for name in axis.names) in axis.rows for axis in axes)
        excluded = any(all(point[name] == value for name, value in rule.items()) for rule in excludes)
        if on_axes and sum(row) <= bound and not excluded:
            found.append(point)
    return found


@given(sweeps())
def test_product_zip_where_and_exclude_agree_with_brute_force(given_: Any) -> None:
    axes, excludes, bound = given_
    found = expand(axes, lambda row: sum(row.values()) <= bound, [ExcludeRule(rule) for rule in excludes])
    points = [dict(zip(names_of(axes), row, strict=True)) for row in found.rows]
    expected = brute_force(axes, excludes, bound)
    assert sorted(map(sorted, map(dict.items, points))) == sorted(map(sorted, map(dict.items, expected)))
    assert len(points) == len({tuple(point.values()) for point in points})


@given(sweeps())
def test_excludes_know_what_they_took_out(given_: Any) -> None:
    axes, excludes, bound = given_
    found = expand(axes, lambda row: sum(row.values()) <= bound, [ExcludeRule(rule) for rule in excludes])
    kept_without = brute_force(axes, [], bound)
    for rule, count in zip(excludes, found.matched, strict=True):
        hits = [point for point in kept_without if rule.items() <= point.items()]
        assert count == len(hits)


@given(sweeps())
def test_the_count_is_known_before_the_points(given_: Any) -> None:
    axes, _, _ = given_
    assert combinations(axes) == len(expand(axes, None, []).rows)


def test_a_huge_product_is_counted_and_not_made() -> None:
    axis = SweepAxis(("a",), range(10**12))  # type: ignore[arg-type]
    assert combinations([axis, axis]) == 10**24


def test_the_last_axis_moves_fastest() -> None:
    text = """
benchmarks:
  - {uses: disk, sweep: {bs: [8K, 4K], iodepth: [2, 1], zip: [{numjobs: [1, 4], direct: [true, false]}]}}
"""
    rows = [tuple(point.swept.values()) for point in job(text).points]
    assert rows[:4] == [(8192, 2, 1, True), (8192, 2, 4, False), (8192, 1, 1, True), (8192, 1, 4, False)]
    assert list(job(text).points[0].swept) == ["block_size", "iodepth", "numjobs", "direct"]


def test_the_sweep_of_the_language_has_the_points_that_it_says() -> None:
    text = """
vars: {max_qd: 128}
benchmarks:
  - uses: disk
    config: {rw: randrw}
    sweep:
      block_size: [4K, 16K, 32K, 128K]
      rwmixread: [100, 0, 50, 70]
      iodepth: {from: 1, to: 128, times: 2}
      zip: [{numjobs: [1, 4], direct: [true, false]}]
      where: iodepth * numjobs <= vars.max_qd
      exclude: [{block_size: 128K, iodepth: 128}]
      include: [{block_size: 4K, rwmixread: 100, iodepth: 1024, numjobs: 1, direct: true}]
"""
    points = job(text).points
    assert len(points) == 4 * 4 * (8 + 6) - 4 + 1
    assert points[-1].swept == {"block_size": 4096, "rwmixread": 100, "iodepth": 1024, "numjobs": 1, "direct": True}
    assert max(point.settings["iodepth"] * point.settings["numjobs"] for point in points[:-1]) == 128


def test_values_compare_in_the_type_of_the_setting() -> None:
    text = "benchmarks: [{uses: disk, sweep: {block_size: [4K, 8192], duration: [1s, 500ms], exclude: [%s]}}]"
    for rule in ("{bs: 4096}", "{block_size: 4KiB}", "{duration: 1000ms}", '{runtime: "0.5s"}'):
        assert len(job(text % rule).points) == 2


def test_where_reads_axes_by_any_spelling_and_variables_of_the_host() -> None:
    text = """
hosts: {a: {vars: {most: 4096}}, b: {vars: {most: 8192}}}
benchmarks: [{uses: disk, sweep: {block_size: [4K, 8K], where: bs <= host.vars.most}}]
"""
    jobs = [job(text.replace("benchmarks: [{", f"benchmarks: [{{hosts: [{host}], ")) for host in ("a", "b")]
    assert [len(item.points) for item in jobs] == [1, 2]


def test_an_include_may_set_more_than_the_axes() -> None:
    text = "benchmarks: [{uses: disk, sweep: {iodepth: [1, 2], include: [{iodepth: 4, direct: false}, {iodepth: 8}]}}]"
    points = job(text).points
    assert [(point.swept["iodepth"], point.swept["direct"]) for point in points] == [
        (1, True), (2, True), (4, False), (8, True),
    ]  # fmt: skip
    assert job(text).origins["direct"].layer == "include"


def test_what_an_include_leaves_out_is_as_without_the_sweep() -> None:
    text = "benchmarks: [{uses: disk, config: {bs: 64K}, sweep: {bs: [4K], numjobs: [2, 3], include: [{iodepth: 9}]}}]"
    assert dict(job(text).points[-1].swept) == {"block_size": 65536, "numjobs": 1, "iodepth": 9}
    assert [point.swept["iodepth"] for point in job(text).points] == [1, 1, 9]


def test_a_sweep_of_a_trillion_points_is_refused_with_its_count() -> None:
    axes = "".join(f"      {name}: {{from: 1, to: 10000, step: 1}}\n" for name in ("iodepth", "numjobs", "block_size"))
    found = refused(f"benchmarks:\n  - uses: disk\n    sweep:\n{axes}")
    assert [item.code for item in found] == ["E217"]
    assert "1,000,000,000,000 points" in found[0].message and "limits.points" in found[0].message
    filtered = refused(f"benchmarks:\n  - uses: disk\n    sweep:\n{axes}      where: iodepth < 3\n")
    assert "1,000,000,000,000 combinations" in filtered[0].message


def test_a_condition_that_cannot_be_computed_is_an_error_at_its_place() -> None:
    text = "benchmarks: [{uses: disk, sweep: {iodepth: [1, 2], where: iodepth // (iodepth - 1) > 0}}]"
    found = refused(text)
    assert [item.code for item in found] == ["E122"] and found[0].span is not None


def test_the_limit_counts_what_where_leaves() -> None:
    text = "limits: {points: 10}\nbenchmarks: [{uses: disk, sweep: {iodepth: {from: 1, to: 100, step: 1}%s}}]"
    assert len(job(text % ", where: iodepth <= 10").points) == 10
    assert refused(text % ", where: iodepth <= 11")[0].code == "E217"


@pytest.mark.parametrize("where", ["", ", where: iodepth > 1"])
def test_a_sweep_over_the_limit_hides_no_other_mistake(where: str) -> None:
    found = refused(
        f"""
limits: {{points: 10, duration: 1s}}
safety: {{max_written: 1KiB}}
benchmarks:
  - uses: disk
    config: {{rw: write, file_names: [/dev/loop0], duration: 2s}}
    sweep: {{iodepth: {{from: 1, to: 20, step: 1}}{where}}}
"""
    )
    assert {item.code for item in found} == {"E217", "E240", "E241", "E251"}


def test_an_exclude_that_came_with_extends_is_told_with_the_entry_it_came_to() -> None:
    found = refused(
        "benchmarks:\n  - {id: a, uses: disk, sweep: {iodepth: [1, 2], exclude: [{iodepth: 2}]}}\n"
        "  - {id: b, extends: a, sweep: {iodepth: [1, 4]}}"
    )
    assert [(item.code, "`exclude` of `b`" in item.message) for item in found] == [("E215", True)]
