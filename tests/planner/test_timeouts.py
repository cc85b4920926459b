"""The time limit of a point: the one in the plan or, if there is none, the one that follows from the benchmark."""

from __future__ import annotations

import pytest

from asct.planner.freeze import freeze, thaw
from asct.planner.resolve import Resolution, resolve
from asct.sdk.facts import HostFacts
from asct.sdk.needs import Needs
from tests.planner.building import load
from tests.planner.fakes import Disk, DiskParams, FakeCatalog


class Steady(Disk):
    """A benchmark that continues until a state is steady, at most for fifty times its duration."""

    name = "steady"

    def needs(self, params: DiskParams, facts: HostFacts | None) -> Needs:
        return Needs(seconds=10 * params.duration, longest_s=50 * params.duration)


def resolved(text: str) -> Resolution:
    return resolve(load(text), FakeCatalog(Disk(), Steady()))


@pytest.mark.parametrize(
    ("needs", "limit"),
    [
        (Needs(), 900),
        (Needs(seconds=419), 900),
        (Needs(seconds=1200), 2460),  # a point of 20 minutes is not ended after 15
        (Needs(seconds=1200, longest_s=36_000), 72_000),
        (Needs(seconds=3600, longest_s=60), 7260),
    ],
)
def test_a_limit_that_nobody_gave_leaves_room_for_what_may_come(needs: Needs, limit: float) -> None:
    assert needs.limit_s == limit


def test_a_plan_that_gives_none_leaves_it_open() -> None:
    plan = resolved("benchmarks: [{uses: disk, config: {duration: 20m}}]").required()
    assert plan.jobs[0].timeout_s is None
    assert thaw(freeze(plan)).jobs[0].timeout_s is None
    assert plan.diagnostics == ()


@pytest.mark.parametrize(
    ("text", "words", "hint"),
    [
        (
            "defaults: {timeout: 15m}\nbenchmarks: [{uses: disk, config: {duration: 20m}}]",
            "a point of `disk` takes about 20m, but its `timeout` is 15m",
            "the limit is then 41m",
        ),
        (
            "benchmarks: [{uses: steady, timeout: 20s, config: {duration: 1s}}]",
            "a point of `steady` may take up to 50s, but its `timeout` is 20s",
            "the limit is then 15m",
        ),
        (
            "benchmarks: [{uses: disk, timeout: 1500ms, sweep: {duration: [1s, 2s]}}]",
            "a point of `disk` takes about 2s, but its `timeout` is 1.5s",
            "raise `timeout`",
        ),
    ],
)
def test_a_limit_below_the_estimate_is_kept_and_told(text: str, words: str, hint: str) -> None:
    plan = resolved(text).required()
    assert plan.jobs[0].timeout_s is not None
    (warning,) = plan.diagnostics
    assert (warning.code, warning.severity, warning.message) == ("E242", "warning", words)
    assert hint in warning.hint
    assert warning.span is not None


def test_a_limit_above_the_estimate_is_no_finding() -> None:
    plan = resolved("benchmarks: [{uses: steady, timeout: 50s, config: {duration: 1s}}]").required()
    assert (plan.jobs[0].timeout_s, plan.diagnostics) == (50.0, ())
