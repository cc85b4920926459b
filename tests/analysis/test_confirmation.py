"""A regression fails the run only if a second measurement confirms it. Otherwise, both values are shown."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from asct.analysis.baseline import Baseline, key_of
from asct.analysis.comparison import adjusted, compare
from asct.analysis.confirmation import confirmed, suspects
from asct.analysis.expectations import is_blocking, judge
from asct.analysis.groups import MetricGroup
from asct.analysis.hardware import RunHardware
from asct.analysis.problems import problems_of
from asct.analysis.verdict import change_grid, summarize, word_of
from asct.export.junit import render as junit
from asct.export.markdown import render as markdown
from asct.export.stdout import render as text
from asct.planner.model import Check
from asct.sdk.facts import HostFacts
from asct.store.model import Verdict
from tests.analysis.sampled import NOISES, Noise, draw, sampled
from tests.analysis.test_expectations import run_of
from tests.export.fakes import sample_view

CHECK = Check("job", "*", {}, None, versus="baseline", no_worse_than=0.05)
POINT = ("a", "job", "p1")


def around(middle: float, count: int = 8, seed: int = 1) -> list[float]:
    rng = random.Random(f"{seed} {middle}")
    return [middle * (1.0 + rng.gauss(0.0, 0.01)) for _ in range(count)]


def times(group: MetricGroup, factor: float) -> MetricGroup:
    records = [record.model_copy(update={"value": record.value * factor}) for record in group.records]
    return replace(group, records=tuple(records))


def baseline(*groups: MetricGroup, unchanged: int = 9) -> Baseline:
    """Return a baseline with these values and with unchanged runs that have nearly the same values."""
    hosts = RunHardware({"a": HostFacts(host="a", collected_at="t")})
    values = {key_of(group): group for group in groups}
    factors = [1.0 + 0.002 * (number % 5 - 2) for number in range(unchanged)]
    runs = {f"u{n}": {key: times(one, f) for key, one in values.items()} for n, f in enumerate(factors)}
    return Baseline(
        "p/r", "named `golden` in the plan", values, {"r": hosts}, hosts, frozenset({POINT}), unchanged=runs
    )


def second(again: Sequence[MetricGroup], problem: str = "", check: Check = CHECK, first: float = 120e-9) -> Verdict:
    """Return the verdict on a value that is 100 ns in the baseline, `first` in the first measurement, and `again` in
    the second."""
    base, place = baseline(sampled(around(100e-9))), sampled(around(first, seed=2))
    verdicts = judge([check], [place], run_of(), {}, baseline=base)
    [verdict] = confirmed(verdicts, suspects(verdicts, [place]), again, base, {POINT: problem} if problem else {})
    return verdict


def test_a_regression_that_is_measured_twice_fails() -> None:
    verdict = second([sampled(around(122e-9, seed=3))])
    assert (verdict.outcome, word_of(verdict)) == ("fail", "fail")
    assert verdict.reason.startswith("measured again: confirmed, 122 ns; ")
    assert verdict.baseline is not None and verdict.baseline.again is not None and verdict.baseline.again.confirmed


@pytest.mark.parametrize(("unchanged", "outcome"), [(0, "unknown"), (3, "unknown"), (4, "fail"), (9, "fail")])
def test_nothing_fails_before_the_spread_of_unchanged_runs_is_known(unchanged: int, outcome: str) -> None:
    """Visits cannot show what changes from run to run, such as the physical CPUs behind virtual ones."""
    base, place = baseline(sampled(around(100e-9)), unchanged=unchanged), sampled(around(120e-9, seed=2))
    [verdict] = judge([CHECK], [place], run_of(), {}, baseline=base)
    assert verdict.outcome == outcome
    why = "visits do not show how much values vary between runs, and the spread of unchanged runs is unknown"
    told = f"may be due to chance, because {why}: add unchanged runs of the plan (5 in total)"
    assert (told in verdict.reason) is (outcome == "unknown")
    faster = judge([CHECK], [sampled(around(80e-9, seed=2))], run_of(), {}, baseline=base)
    assert [item.outcome for item in faster] == ["pass"]


def test_a_regression_that_is_not_confirmed_is_told_and_does_not_fail() -> None:
    verdict = second([sampled(around(100e-9, seed=3))])
    assert (verdict.outcome, word_of(verdict), is_blocking(verdict)) == ("pass", "unconfirmed", False)
    assert verdict.reason.startswith("measured again: not confirmed (first 1")
    assert "ns, then 1" in verdict.reason
    assert verdict.baseline is not None and verdict.baseline.again is not None
    assert verdict.value != verdict.baseline.again.value


@pytest.mark.parametrize(
    ("again", "problem", "reason"),
    [
        ([], "E301 no route to host", "it could not be measured again: E301 no route to host"),
        ([], "", "it could not be measured again: the second measurement contains no valid values"),
        ([sampled(around(100e-9, seed=3))], "2 of 6 repeats were not measured", "2 of 6 repeats were not measured"),
        ([sampled(around(100e-9), flags=["invalid-host"])], "", "contains no valid values"),
        ([sampled(around(115e-9, 2))], "", ", which neither confirms nor refutes the regression: "),
    ],
)
def test_without_a_second_measurement_the_first_one_counts(
    again: Sequence[MetricGroup], problem: str, reason: str
) -> None:
    verdict = second(again, problem)
    assert verdict.outcome == "fail" and is_blocking(verdict)
    assert reason in verdict.reason


def test_part_of_a_second_measurement_is_none() -> None:
    def repeats(middle: float, number: int, seed: int) -> MetricGroup:
        one = sampled(around(middle, seed=seed))
        found = enumerate(around(middle, number, seed), 1)
        records = [one.records[0].model_copy(update={"value": v, "stats": None, "repeat": n}) for n, v in found]
        return MetricGroup(one.host, one.id, one.metric, one.at, tuple(records))

    base, place = baseline(repeats(100e-9, 8, 1)), repeats(120e-9, 8, 2)
    verdicts = judge([CHECK], [place], run_of(), {}, baseline=base)
    for number, outcome, reason in ((7, "fail", "only 7 of 8 repeats have values"), (8, "pass", "not confirmed")):
        again = [repeats(100e-9, number, 3)]
        [verdict] = confirmed(verdicts, suspects(verdicts, [place]), again, base, {})
        assert verdict.outcome == outcome and reason in verdict.reason


def test_only_failures_that_block_are_suspects() -> None:
    place, base = sampled(around(120e-9, seed=2)), baseline(sampled(around(100e-9)))
    for check, number in (
        (CHECK, 1), (CHECK._replace(severity="warn"), 0), (CHECK._replace(no_worse_than=0.5), 0),
        (CHECK._replace(versus=None, max=1e-9), 0),
    ):  # fmt: skip
        assert len(suspects(judge([check], [place], run_of(), {}, baseline=base), [place])) == number
    assert second([], check=CHECK._replace(severity="warn")).reason.count("measured again") == 0


VISITS, VALUES, GATES = 8, 8, 1000


def fails_twice(noise: Noise, rng: random.Random, change: float = 0.0) -> tuple[bool, bool]:
    """Return whether a gate fails in the first measurement, and whether it still fails after the second one."""

    def visited(factor: float = 1.0) -> MetricGroup:
        return sampled([factor * (1.0 + draw(noise, 0.02, rng)) for _ in range(VISITS)])

    factors = [1.0 + change * (number == 0) for number in range(VALUES)]
    bases = [visited() for _ in factors]
    first = adjusted([compare(base, visited(factor), 0.0) for base, factor in zip(bases, factors, strict=True)])
    found = [number for number, one in enumerate(first) if one.outcome == "regressed"]
    again = adjusted([compare(bases[number], visited(factors[number]), 0.0) for number in found])
    return bool(found), any(one.outcome == "regressed" for one in again)


@pytest.mark.parametrize("noise", NOISES)
def test_the_second_look_never_adds_false_alarms(noise: Noise) -> None:
    """The test simulates 1,000 gates of eight unchanged values each, with the strictest limit (0) and a fixed seed."""
    rng = random.Random(f"{noise} two looks")
    looks = [fails_twice(noise, rng) for _ in range(GATES)]
    alone, both = (sum(looked) for looked in zip(*looks, strict=True))
    assert both <= alone <= 0.012 * GATES


def test_the_second_look_costs_little_power() -> None:
    rng = random.Random("power of two looks")
    looks = [fails_twice("normal", rng, change=0.10) for _ in range(100)]
    alone, both = (sum(looked) for looked in zip(*looks, strict=True))
    assert both >= 0.9 * alone > 80


def test_a_value_that_only_the_baseline_has_is_unknown_unless_its_point_is_not_planned() -> None:
    """The run has no level L3. The plan does not contain the point `p9`, and an invalid value does not count as a
    value."""
    found, lost = sampled(around(100e-9)), sampled(around(100e-9), coords={"level": "L3"})
    other = sampled(around(100e-9), coords={"level": "L4"}, point_id="p9")
    base = baseline(found, lost, other, sampled(around(1.0), coords={"level": "L5"}, flags=["invalid-x"]))
    verdicts = judge([CHECK], [found], run_of(), {}, baseline=base)
    assert [(item.outcome, item.at) for item in verdicts] == [("pass", {"level": "L1"}), ("unknown", {"level": "L3"})]
    missing = verdicts[1]
    assert is_blocking(missing) and not is_blocking(missing.model_copy(update={"if_missing": "warn"}))
    assert (missing.value, missing.metric, missing.host) == (None, "latency", "a")
    assert missing.reason == "the baseline contains this value, but this run does not"
    assert missing.baseline is not None and missing.baseline.value == lost.value
    grid = change_grid(verdicts)
    assert [[cell.text for cell in row][:3] for row in grid.rows] == [["unknown", "job.latency", "level L3"]]
    assert not any("could not be compared" in note for note in grid.notes)


def test_a_job_that_was_measured_in_part_lacks_no_single_values() -> None:
    found, lost = sampled(around(100e-9)), sampled(around(100e-9), coords={"level": "L3"})
    run = run_of(counts={"ok": 1, "failed": 1})
    verdicts = judge([CHECK], [found], run, {}, baseline=baseline(found, lost))
    assert [item.reason[:26] for item in verdicts if item.outcome == "unknown"] == ["part of the job is missing"]


def test_what_may_be_chance_far_beyond_the_limit_is_a_warning_everywhere(tmp_path: Path) -> None:
    """The unchanged runs differ by 15 %, so an increase by 20 % may be due to chance."""
    base, place = sampled(around(100e-9)), sampled(around(120e-9, seed=2))
    values = [100e-9 * (1.0 + 0.15 * step) for step in (0, -1, 1, -0.5, 0.5, 0, -1, 1, -0.5, 0.5)]
    runs = {f"u{n}": {key_of(base): sampled([v] * 8, run=f"u{n}")} for n, v in enumerate(values)}
    against = replace(baseline(base), unchanged=runs)
    [verdict] = judge([CHECK], [place], run_of(), {}, baseline=against)
    assert (verdict.outcome, word_of(verdict), is_blocking(verdict)) == ("pass", "inconclusive", False)
    view = sample_view(tmp_path, verdicts=False, quiet=True)
    found = replace(view, run=view.run.model_copy(update={"verdicts": [verdict]}))
    assert summarize(found).sentence == "1 value is worse than the limit allows, but this may be due to chance"
    assert summarize(found).tone == "doubt"
    [problem] = [item for item in problems_of(found) if "inconclusive" in item.title]
    assert problem.level == "warning"
    assert "inconclusive" in markdown(found) and "inconclusive" in text(found)
    assert "<failure" not in junit(found) and "<error" not in junit(found)


def test_what_is_not_confirmed_is_a_warning_everywhere(tmp_path: Path) -> None:
    view = sample_view(tmp_path, verdicts=False, quiet=True)
    found = replace(view, run=view.run.model_copy(update={"verdicts": [second([sampled(around(100e-9, seed=3))])]}))
    assert summarize(found).sentence == "1 regression was not confirmed by a second measurement"
    assert summarize(found).tone == "doubt"
    [problem] = [item for item in problems_of(found) if "not confirmed" in item.title]
    assert problem.level == "warning"
    assert "unconfirmed" in markdown(found) and "unconfirmed" in text(found)
    assert "<failure" not in junit(found) and "<error" not in junit(found)
