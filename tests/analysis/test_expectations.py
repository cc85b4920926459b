"""Every expectation ends as pass, fail or unknown. A value that was not measured never passes."""

from __future__ import annotations

from functools import partial
from statistics import median
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asct.analysis.baseline import Baseline
from asct.analysis.expectations import fact_value, is_blocking, judge, same, with_units
from asct.analysis.groups import gather
from asct.analysis.losses import Loss
from asct.analysis.verdict import bound_text, measured_text
from asct.diagnostics.model import Span
from asct.engine.run import exit_code
from asct.export.stdout import verdict_text
from asct.planner.model import Check
from asct.registry import installed
from asct.sdk.facts import Cpu, HostFacts, Memory
from asct.sdk.record import Record, Stats, ValueState
from asct.store.model import HostEntry, JobEntry, Run, Verdict
from tests import records

record = partial(records.record, host="a", benchmark="bench", id="job", point={"depth": 1})


def run_of(hosts: tuple[str, ...] = ("a",), counts: dict[str, int] | None = None, **status: str) -> Run:
    return Run(
        run="r", plan="p", plan_hash="0" * 64, plan_file="p.yaml", tool_version="0", started_at="2026-01-01T00:00:00Z",
        hosts=[
            HostEntry(name=h, transport="local", status=status.get(h, "ok"), reason="no route")  # type: ignore[arg-type]
            for h in hosts
        ],
        jobs=[
            JobEntry(id="job", benchmark="bench", version="1", host=h, points=1, repeats=1, counts=counts or {"ok": 1})
            for h in hosts
        ],
    )  # fmt: skip


SPREAD = Stats(n=9, median=1.0, mad=0.1, min=0.9, max=1.1)


def check(**changes: Any) -> Check:
    return Check(**{"job_id": "job", "metric": "latency", "at": {}, "hosts": None, "max": 2.0, **changes})


def one(checks: list[Check], records: list[Record], **options: Any) -> Verdict:
    [verdict] = judge(checks, gather(records), options.pop("run", run_of()), options.pop("facts", {}), **options)
    return verdict


def test_within_the_bounds_passes_and_beyond_fails() -> None:
    assert one([check(max=2.0)], [record(2.0)]).outcome == "pass"
    assert one([check(max=2.0)], [record(2.1)]).outcome == "fail"
    assert one([check(max=None, min=2.0)], [record(1.9)]).outcome == "fail"
    assert one([check(max=3.0, min=2.0)], [record(2.5)]).outcome == "pass"


def test_repeats_are_reduced_by_the_median_and_warm_ups_left_out() -> None:
    records = [record(value, repeat=n) for n, value in enumerate([1.0, 50.0, 1.5], start=1)]
    verdict = one([check(max=2.0)], [*records, record(1000.0, repeat=0)])
    assert (verdict.outcome, verdict.value) == ("pass", 1.5)


def test_the_verdict_names_its_place_and_line() -> None:
    verdict = one(
        [check(at={"level": "DRAM"}, span=Span("plan.yaml", 7, 3), text="job.latency: at most 2 s")],
        [record(1.0, coords={"level": "L1"}), record(3.0, coords={"level": "DRAM"})],
    )
    assert verdict.outcome == "fail"
    assert verdict.at == {"depth": 1, "level": "DRAM"}
    assert (verdict.host, verdict.id, verdict.unit, verdict.file, verdict.line) == ("a", "job", "s", "plan.yaml", 7)


def test_one_verdict_per_host_and_place() -> None:
    records = [
        record(1.0, host=host, point={"depth": depth}, point_id=f"p{depth}") for host in ("a", "b") for depth in (1, 2)
    ]
    verdicts = judge([check()], gather(records), run_of(("a", "b")), {})
    assert [(v.host, v.at["depth"]) for v in verdicts] == [("a", 1), ("a", 2), ("b", 1), ("b", 2)]


def test_hosts_of_the_check_limit_it() -> None:
    records = [record(1.0, host="a"), record(9.0, host="b")]
    verdicts = judge([check(hosts=("a",))], gather(records), run_of(("a", "b")), {})
    assert [(v.host, v.outcome) for v in verdicts] == [("a", "pass")]


@pytest.mark.parametrize(
    ("changes", "records", "reason"),
    [
        ({"at": {"level": "L9"}}, [record(1.0)], "`latency` was not measured at level = L9"),
        ({"metric": "iops"}, [record(1.0)], "`iops` was not measured"),
        ({"job_id": "other"}, [record(1.0)], "this run has no job `other`"),
        ({"hosts": ("z",)}, [record(1.0)], "`z` is not a host of this run"),
        ({"max": None}, [record(1.0)], "the expectation has no bound"),
        (
            {"versus": "baseline", "max": None},
            [record(1.0)],
            "the plan names no baseline",
        ),
        ({"relative_to": "theoretical_bandwidth"}, [record(1.0)], "of this host is unknown"),
    ],
)
def test_what_cannot_be_judged_is_unknown_and_says_why(
    changes: dict[str, Any], records: list[Record], reason: str
) -> None:
    verdict = one([check(**changes)], records, facts={"a": HostFacts(host="a", collected_at="t")})
    assert verdict.outcome == "unknown"
    assert reason in verdict.reason
    assert exit_code([], [verdict]) == 3


def test_a_value_without_a_baseline_was_measured() -> None:
    verdict = one([check(versus="baseline", max=None)], [record(1.0)], baseline=Baseline(problem="it is gone"))
    assert (verdict.outcome, verdict.reason, verdict.no_baseline) == ("unknown", "it is gone", True)
    assert measured_text(verdict).startswith("no baseline, expected")
    assert ": no baseline, expected" in verdict_text(verdict)
    missing = one([check()], [])
    assert measured_text(missing).startswith("not measured, expected")
    assert ": not measured, expected" in verdict_text(missing)


@pytest.mark.parametrize(
    ("metric", "bound"),
    [
        ("latency", "at most 150 ns"),
        ("cycles", "at most 150e-9"),  # no benchmark in the run declares this metric
        ("*", "at most 150e-9"),  # its metrics have several units
    ],
)
def test_the_bound_of_a_missing_value_has_the_unit_that_the_benchmark_declares(metric: str, bound: str) -> None:
    run = run_of(counts={"failed": 1})
    run.jobs[0].benchmark = "latency-sweep"
    checks = [check(metric=metric, max=150e-9, text=f"job.{metric}: at most 150e-9")]
    [verdict] = with_units([one(checks, [], run=run)], run, installed())
    assert verdict.value is None
    assert bound_text(verdict) == bound


def test_an_unreachable_host_is_unknown_with_its_reason() -> None:
    verdict = one([check()], [], run=run_of(a="unreachable", counts={"skipped": 1}))
    assert (verdict.outcome, verdict.reason) == ("unknown", "host unreachable: no route")


def test_a_failed_job_is_unknown() -> None:
    verdict = one([check()], [], run=run_of(counts={"failed": 3}))
    assert verdict.reason == "no values were measured: 3 failed"


def test_the_cause_is_that_of_the_place_and_reaches_the_verdict_unchanged() -> None:
    """Another point failed for a different reason, which must not be stated for this point."""
    run = run_of(counts={"ok": 1, "failed": 2})
    losses = [Loss("a", "job", {"depth": 2}, "E601 fio exited with 1"), Loss("a", "job", {"depth": 4}, "E602 too late"),
              Loss("b", "job", {"depth": 4}, "E430 another host")]  # fmt: skip
    late = one([check(at={"depth": 4})], [record(1.0)], run=run, losses=losses)
    assert late.reason == "`latency` was not measured at depth = 4; E602 too late"
    [_, gap] = judge([check()], gather([record(1.0)]), run, {}, losses=losses)
    assert gap.reason == "part of the job is missing: 2 failed; E601 fio exited with 1, and 1 more"
    whole = run_of(counts={"refused": 1})
    refused = one([check()], [], run=whole, losses=[Loss("a", "job", {}, "E424 /dev/sdb is mounted")])
    assert refused.reason == "no values were measured: 1 refused; E424 /dev/sdb is mounted"


def test_invalid_repeats_are_judged_by_their_values_and_are_no_hole() -> None:
    run = run_of(counts={"invalid": 1})
    verdict = one([check(if_missing="pass")], [record(1.0, flags=["invalid-host"])], run=run)
    assert (verdict.outcome, verdict.reason) == (
        "unknown", "the value is flagged invalid-host, so it is treated as not measured",
    )  # fmt: skip


def test_a_hole_in_the_sweep_is_not_a_pass_unless_the_place_is_pinned_down() -> None:
    run = run_of(counts={"ok": 1, "timeout": 1})
    loose = judge([check()], gather([record(1.0)]), run, {})
    assert [v.outcome for v in loose] == ["pass", "unknown"]
    assert "1 timeout" in loose[1].reason
    pinned = judge([check(at={"depth": 1})], gather([record(1.0)]), run, {})
    assert [v.outcome for v in pinned] == ["pass"]


@pytest.mark.parametrize(("value", "outcome"), [(170e9, "pass"), (169e9, "fail")])
def test_a_share_of_the_theoretical_bandwidth_of_the_host(value: float, outcome: str) -> None:
    facts = {"a": HostFacts(host="a", collected_at="t", memory=Memory(theoretical_bandwidth=200e9))}
    verdict = one([check(max=None, min=0.85, relative_to="theoretical_bandwidth")], [record(value)], facts=facts)
    assert (verdict.outcome, verdict.min) == (outcome, 170e9)


def test_the_theoretical_bandwidth_that_the_same_point_reports_counts_before_the_facts() -> None:
    """A setting of the benchmark may supply a value that the firmware omits or reports incorrectly."""
    facts = {"a": HostFacts(host="a", collected_at="t", memory=Memory(theoretical_bandwidth=900e9))}
    said = {"metric": "theoretical_bandwidth", "unit": "B/s", "better": "neither"}
    records = [
        record(90e9), record(100e9, **said), record(40e9, point_id="p2"), record(40e9, point_id="p2", **said),
        record(7e9, host="b", **said),
    ]  # fmt: skip
    checks = [check(max=None, min=0.85, relative_to="theoretical_bandwidth")]
    assert [(verdict.outcome, verdict.min) for verdict in judge(checks, gather(records), run_of(), facts)] == [
        ("pass", 85e9), ("pass", 34e9),
    ]  # fmt: skip


def test_a_noisy_value_is_judged_and_noted_or_unknown_when_strict() -> None:
    noisy = [record(1.0, stats=SPREAD, flags=["noisy"])]
    loose = one([check()], noisy)
    assert (loose.outcome, loose.reason) == ("pass", "the value is flagged noisy")
    strict = one([check()], noisy, strict={"a/job"})
    assert strict.outcome == "unknown"
    assert "strict" in strict.reason
    assert one([check()], noisy, strict={"b/job"}).outcome == "pass"
    assert one([check()], [record(1.0, flags=["few-samples"])], strict={"a/job"}).outcome == "pass"
    assert one([check()], [record(1.0, flags=["invalid-clock"])], strict={"a/job"}).outcome == "unknown"


@pytest.mark.parametrize(
    ("severity", "if_missing", "counts_as"),
    [("fail", "pass", "fail"), ("fail", "warn", "fail"), ("warn", "pass", "warn"), ("info", "fail", "warn")],
)
def test_an_invalid_value_is_unknown_whatever_if_missing_says(severity: str, if_missing: str, counts_as: str) -> None:
    asked = check(severity=severity, if_missing=if_missing)
    verdict = one([asked], [record(1.0, flags=["invalid-clock"])])
    assert (verdict.outcome, verdict.if_missing, verdict.value) == ("unknown", counts_as, 1.0)
    assert verdict.reason == "the value is flagged invalid-clock, so it is treated as not measured"
    assert is_blocking(verdict) is (severity == "fail")


@pytest.mark.parametrize(
    ("bound", "at_most", "at_least"),
    [
        (1.6, "fail", "pass"), (1.7, "unknown", "pass"), (2.0, "unknown", "unknown"), (2.1, "pass", "unknown"),
        (2.2, "pass", "fail"),
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    "stats",
    [
        Stats(n=9, median=1.9, mad=0.1, ci95=(1.7, 2.1), min=1.0, max=3.0),
        Stats(n=90, median=1.9, mad=0.1, min=1.0, max=3.0, visits=3, visit_values=(1.9, 1.7, 2.1)),
        Stats(n=9, median=1.9, mad=0.1, min=1.7, max=2.1),
        None,
    ],
    ids=["interval", "visits", "samples", "repeats"],
)
def test_a_noisy_value_is_judged_by_its_whole_range(
    stats: Stats | None, bound: float, at_most: str, at_least: str
) -> None:
    values = (1.9,) if stats else (1.7, 1.9, 2.1)
    records = [record(value, repeat=at, stats=stats, flags=["noisy"]) for at, value in enumerate(values, 1)]
    for bounds, outcome in (({"max": bound}, at_most), ({"max": None, "min": bound}, at_least)):
        verdict = one([check(**bounds)], records)
        assert verdict.outcome == outcome
        assert verdict.reason.startswith("the value is flagged noisy")
        assert ("spread, 1.7 s to 2.1 s" in verdict.reason) is (outcome == "unknown")


@pytest.mark.parametrize("stats", [None, Stats(n=1, median=1.9, mad=0.0, min=1.9, max=1.9)])
def test_a_noisy_value_that_varies_by_an_unknown_amount_never_passes(stats: Stats | None) -> None:
    verdict = one([check(max=100.0)], [record(1.9, stats=stats, flags=["noisy-host"])])
    assert (verdict.outcome, verdict.value, exit_code([], [verdict])) == ("unknown", 1.9, 3)
    assert verdict.reason == "the value is flagged noisy-host, and how much it varies is unknown; increase `repeats`"
    assert one([check(max=100.0)], [record(1.9, stats=stats)]).outcome == "pass"
    assert one([check(max=100.0)], [record(1.9, stats=stats, flags=["disagrees:other"])]).outcome == "pass"


def test_a_bound_inside_the_interval_is_noted() -> None:
    stats = Stats(n=9, median=1.9, mad=0.1, ci95=(1.7, 2.1), min=1.6, max=2.2)
    verdict = one([check(max=2.0)], [record(1.9, stats=stats)])
    assert verdict.outcome == "pass"
    assert verdict.reason == "the bound lies within the spread, 1.7 s to 2.1 s"


@pytest.mark.parametrize(("bound", "outcome"), [(1.9, "unknown"), (1.2, "unknown"), (1.0, "fail"), (2.2, "pass")])
@pytest.mark.parametrize("two_states", [(True,), (True, True, True), (False, True, False)])
def test_a_bound_between_two_states_is_unknown(two_states: tuple[bool, ...], bound: float, outcome: str) -> None:
    states = (ValueState(value=1.2, share=0.75), ValueState(value=2.2, share=0.25))
    both = Stats(n=9, median=1.3, mad=0.1, ci95=(1.1, 2.3), min=1.1, max=2.3, visits=8, states=states)
    records = [
        record(1.3, repeat=at, stats=both if two else None, flags=["two-states"] * two)
        for at, two in enumerate(two_states, 1)
    ]
    verdict = one([check(max=bound)], records)
    assert verdict.outcome == outcome
    assert ("(75 %)" in verdict.reason and "between them" in verdict.reason) is (outcome == "unknown")


def test_shares_of_a_known_fact() -> None:
    facts = {"a": HostFacts(host="a", collected_at="t", cpu=Cpu(frequency_hz=4.0))}
    verdict = one([check(max=0.5, relative_to="cpu.frequency_hz")], [record(1.9)], facts=facts)
    assert (verdict.outcome, verdict.max) == ("pass", 2.0)
    assert fact_value(facts["a"], "cpu.model") is None
    assert fact_value(facts["a"], "__class__.__name__") is None


def test_patterns_of_jobs_and_metrics() -> None:
    records = [record(1.0), record(1.0, metric="read_latency"), record(9.0, metric="iops")]
    verdicts = judge([check(job_id="j*", metric="*latency")], gather(records), run_of(), {})
    assert [v.metric for v in verdicts] == ["latency", "read_latency"]


@pytest.mark.parametrize(
    ("wanted", "found", "equal"),
    [
        (4096, 4096.0, True), ("4096", 4096, False), (True, 1, False), (1, True, False), (True, True, True),
        (0.1 + 0.2, 0.3, True), ([1, 2], 2, True), ([1, 2], 3, False), ([1, 2], [1, 2], True), ([1], [1, 2], False),
        (0, 1e-30, False), (None, None, True), ("DRAM", "dram", False),
    ],
)  # fmt: skip
def test_places_are_compared_by_value(wanted: Any, found: Any, equal: bool) -> None:
    assert same(wanted, found) is equal


@pytest.mark.parametrize(
    ("outcome", "severity", "if_missing", "against"),
    [
        ("pass", "fail", "fail", False), ("fail", "fail", "pass", True), ("fail", "warn", "fail", False),
        ("unknown", "fail", "fail", True), ("unknown", "info", "fail", True), ("unknown", "fail", "warn", False),
    ],
)  # fmt: skip
def test_what_counts_against_a_run_is_what_changes_its_exit_code(
    outcome: str, severity: str, if_missing: str, against: bool
) -> None:
    verdict = Verdict.model_validate(
        {"outcome": outcome, "severity": severity, "if_missing": if_missing, "host": None, "id": "x", "metric": "m"}
    )
    assert is_blocking(verdict) is against
    assert (exit_code([], [verdict]) != 0) is against


VALUES = st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=7)


@given(VALUES, st.floats(-1e9, 1e9))
def test_a_lower_and_an_upper_bound_at_one_value_disagree_unless_it_is_met(values: list[float], bound: float) -> None:
    records = [record(value, repeat=n) for n, value in enumerate(values, start=1)]
    above = one([check(max=None, min=bound)], records).outcome
    below = one([check(max=bound)], records).outcome
    middle = median(values)
    assert (above == "pass") == (middle >= bound)
    assert (below == "pass") == (middle <= bound)


@given(VALUES, st.randoms(use_true_random=False))
def test_the_order_of_records_does_not_matter(values: list[float], random: Any) -> None:
    records = [record(value, repeat=n) for n, value in enumerate(values, start=1)]
    shuffled = records[:]
    random.shuffle(shuffled)
    first, second = one([check(max=0.0)], records), one([check(max=0.0)], shuffled)
    assert (first.outcome, first.value) == (second.outcome, second.value)


@given(st.sets(st.sampled_from(["ok", "failed", "timeout", "skipped", "host-lost", "interrupted"])))
def test_nothing_measured_is_never_a_pass(states: set[str]) -> None:
    verdicts = judge([check()], [], run_of(counts=dict.fromkeys(states, 1)), {})
    assert {v.outcome for v in verdicts} == {"unknown"}


def test_an_expectation_that_is_not_planned_is_told_and_never_blocks() -> None:
    left = check(at={"depth": 8}, unplanned="`depth` is never 8 in `job`", text="job.latency at depth 8: at most 2 s")
    verdict, other = judge([left, check()], gather([record(9.0)]), run_of(), {})
    assert (verdict.outcome, verdict.reason, verdict.value) == ("not planned", "`depth` is never 8 in `job`", None)
    assert not is_blocking(verdict) and exit_code([], [verdict]) == 0
    assert other.outcome == "fail"
