"""What a selection includes. A selection that includes nothing is a usage error."""

from __future__ import annotations

import pytest

from asct.errors import PlanError, SafetyError, UsageError
from tests.planner.building import refused, resolved, run

TEXT = """
hosts: {a1: {transport: local}, a2: {transport: local}, b: {transport: local}}
groups: {left: {hosts: [a1, a2]}}
benchmarks:
  - {id: one, uses: disk, tags: [gate, storage]}
  - {id: two, uses: disk, tags: [nightly], hosts: [left]}
  - {id: three, uses: levels, hosts: ["a*"]}
"""


def keys(**selection: tuple[str, ...]) -> list[str]:
    return [job.key for job in resolved(TEXT, **selection).jobs]


@pytest.mark.parametrize(
    ("selection", "found"),
    [
        ({}, ["a1/one", "a1/two", "a1/three", "a2/one", "a2/two", "a2/three", "b/one"]),
        ({"hosts": ("b",)}, ["b/one"]),
        ({"hosts": ("left",), "benchmarks": ("one",)}, ["a1/one", "a2/one"]),
        ({"hosts": ("a*",), "tags": ("nightly",)}, ["a1/two", "a2/two"]),
        ({"hosts": ("a[1:7]",), "benchmarks": ("one",)}, ["a1/one", "a2/one"]),
        ({"hosts": ("a[2:7]",), "benchmarks": ("one",)}, ["a2/one"]),
        ({"hosts": ("a[2-9]",), "benchmarks": ("one",)}, ["a2/one"]),
        ({"hosts": ("b,a1",), "benchmarks": ("one",)}, ["a1/one", "b/one"]),
        ({"hosts": ("b", "left"), "benchmarks": ("one",)}, ["a1/one", "a2/one", "b/one"]),
        ({"hosts": ("all",), "benchmarks": ("two",)}, ["a1/two", "a2/two"]),
        ({"benchmarks": ("t*",), "hosts": ("a1",)}, ["a1/two", "a1/three"]),
        ({"tags": ("gate", "nightly"), "hosts": ("a2",)}, ["a2/one", "a2/two"]),
    ],
)
def test_selection(selection: dict[str, tuple[str, ...]], found: list[str]) -> None:
    assert keys(**selection) == found


def test_hosts_without_a_job_are_left_out() -> None:
    assert list(resolved(TEXT, hosts=("b",)).hosts) == ["b"]


@pytest.mark.parametrize(
    ("selection", "message"),
    [
        ({"hosts": ("c",)}, "--host c"),
        ({"hosts": ("z*",)}, "--host z*"),
        ({"hosts": ("a[3:9]",)}, "--host a[3:9]"),
        ({"hosts": ("a1,c",)}, "--host c"),
        ({"hosts": ("a1,",)}, "--host "),
        ({"benchmarks": ("oen",)}, "--benchmark oen"),
        ({"tags": ("gaet",)}, "--tag gaet"),
        ({"benchmarks": ("three",), "hosts": ("b",)}, "all parts of the selection"),
        ({"benchmarks": ("one",), "tags": ("nightly",)}, "all parts of the selection"),
    ],
)
def test_a_selection_that_matches_nothing_is_an_error_of_usage(
    selection: dict[str, tuple[str, ...]], message: str
) -> None:
    found = refused(TEXT, **selection)
    assert [item.code for item in found] == ["E207"] and message in found[0].message
    with pytest.raises(UsageError):
        run(TEXT, **selection).required()


def test_suggestions() -> None:
    assert "did you mean `one`?" in refused(TEXT, benchmarks=("oen",))[0].hint
    assert "did you mean `gate`?" in refused(TEXT, tags=("gaet",))[0].hint


def test_required_raises_by_kind() -> None:
    with pytest.raises(PlanError):
        run("benchmarks: [dsik]").required()
    with pytest.raises(SafetyError):
        run("benchmarks: [{uses: disk, config: {rw: write, filename: [/dev/sda]}}]").required()
    assert run("benchmarks: [disk]").required().jobs


@pytest.mark.parametrize("change", ["two.iodepth=4", "levels.time_cap=5s", "three.time_cap=5s"])
def test_a_change_of_a_setting_that_is_not_selected_is_an_error(change: str) -> None:
    assert resolved(TEXT, (change,)).jobs
    [found] = refused(TEXT, (change,), benchmarks=("one",))
    assert (found.code, found.span is not None) == ("E203", True) and "is not selected" in found.message
    assert resolved(TEXT, ("disk.iodepth=4",), benchmarks=("one",)).jobs  # it changes one of the two
