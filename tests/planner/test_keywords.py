"""`select` in a plan: benchmarks by name, alias or keyword, in addition to those listed under `benchmarks`."""

from __future__ import annotations

import pytest

from asct.planner.resolve import Resolution, resolve
from asct.registry import installed
from tests.plan.loading import HEAD, load


def planned(text: str) -> Resolution:
    loaded = load(HEAD + text)
    assert loaded.partial is not None, loaded.diagnostics
    return resolve(loaded.partial, installed())


def test_keywords_add_entries_with_defaults_and_say_why() -> None:
    found = planned("select: [latency, ^core-to-core-latency]\n").required()
    assert {job.id: job.reason for job in found.jobs} == {
        name: "selected by `latency`" for name in ("idle-latency", "latency-sweep", "loaded-latency")
    }


def test_an_entry_of_the_plan_is_not_added_again() -> None:
    found = planned("benchmarks: [{uses: core-to-core-latency}]\nselect: [core-to-core-latency]\n").required()
    assert [(job.id, job.reason) for job in found.jobs] == [("core-to-core-latency", "named in the plan")]


@pytest.mark.parametrize(
    ("words", "qualifications"),
    [("all", set()), ("all, ssd, long-runtime", set()), ("all, siops, ssd", {"storage-iops"})],
)
def test_all_leaves_out_qualifications_that_are_not_named(words: str, qualifications: set[str]) -> None:
    found = {job.id for job in planned(f"select: [{words}]\n").required().jobs}
    assert {"latency-sweep", "storage-iops", "storage-recovery"} & found == {"latency-sweep", *qualifications}


def test_an_unknown_word_is_reported_where_it_stands() -> None:
    found = planned("select: [latency, storrage]\n")
    assert [(item.code, item.span and (item.span.line, item.span.column)) for item in found.diagnostics] == [
        ("E201", (3, 19))
    ]
    assert "storage" in found.diagnostics[0].hint


@pytest.mark.parametrize("text", ["benchmarks: [storage]\n", "benchmarks: [{uses: default}]\n"])
def test_a_keyword_among_the_benchmarks_is_an_error_that_names_select(text: str) -> None:
    (error,) = planned(text).diagnostics
    assert error.code == "E201"
    assert f"write `select: [{'default' if 'default' in text else 'storage'}]`" in error.hint
