"""Pairing and judging the values of two runs: direction, chance, noise, and values that cannot be compared."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from asct.analysis.diff.rows import UNDIRECTED, DiffRow, RunDiff, by_change_in, by_importance, compare_runs
from asct.analysis.diff.source import DiffSource
from asct.registry import installed
from asct.sdk.record import Record
from tests.analysis.diff.runs import CATALOG, levels, source, value, visits


def compared(base: DiffSource, new: DiffSource, limit: float = 0.01) -> RunDiff:
    return compare_runs(base, new, limit, CATALOG)


def one(base: Record, new: Record, limit: float = 0.01) -> DiffRow:
    (row,) = compared(source("base", base), source("new", new), limit).rows
    return row


@pytest.mark.parametrize(
    ("factor", "better", "verdict"),
    [
        (1.2, "lower", "regressed"), (0.8, "lower", "improved"), (1.2, "higher", "improved"),
        (0.8, "higher", "regressed"), (1.0, "lower", "same"), (1.2, "neither", "not comparable"),
    ],
)  # fmt: skip
def test_a_verdict_knows_the_direction(factor: float, better: str, verdict: str) -> None:
    row = one(value(visits(1e-7), better=better), value(visits(1e-7 * factor, seed=2), better=better))
    assert row.verdict == verdict
    assert row.percent == pytest.approx(100 * (factor - 1), abs=1)


def test_a_clear_change_below_the_limit_is_the_same() -> None:
    base, new = value(visits(1e-7, spread=0.0001)), value(visits(1.02e-7, spread=0.0001))
    assert one(base, new, 0.01).verdict == "regressed"
    assert one(base, new, 0.03).verdict == "same"


def test_single_values_have_a_change_but_no_verdict() -> None:
    row = one(value([1e-7], stats=None), value([1.1e-7], stats=None))
    assert (row.verdict, row.undecided) == ("too few visits", True)
    assert row.percent == pytest.approx(10)
    better = one(value([1e-7], stats=None), value([0.9e-7], stats=None))
    assert (better.verdict, better.undecided) == ("too few visits", False)
    assert one(value([1e-7], stats=None), value([1.001e-7], stats=None)).verdict == "same"


def test_few_visits_within_the_noise_floor_are_the_same() -> None:
    base, new = (value([x, x, x], stats=None, value=x) for x in (1e-7, 1.05e-7))
    noisy = [new.model_copy(update={"repeat": n, "value": v}) for n, v in ((1, 1.05e-7), (2, 1.5e-7), (3, 0.8e-7))]
    (row,) = compared(source("base", base), source("new", *noisy)).rows
    assert row.change is not None
    assert (row.change.outcome, row.verdict) == ("same", "same")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"version": "2"}, "the baseline was measured with version 1 of `latency-sweep`, this run with version 2"),
        ({"point_id": "p2"}, "the baseline was measured with different settings"),
        ({"unit": "cycles"}, "the unit changed from s to cycles"),
        ({"flags": ["invalid-order"]}, "the new value is flagged invalid-order"),
        ({"better": "neither"}, UNDIRECTED),
    ],
)
def test_what_cannot_be_compared_says_why_and_shows_both_values(changes: dict[str, Any], reason: str) -> None:
    row = one(value(visits(1e-7)), value(visits(1.2e-7), **changes))
    assert row.change is not None
    assert (row.verdict, row.change.reason) == ("not comparable", reason)
    assert row.percent == (None if "unit" in changes else pytest.approx(20, abs=1))
    assert (row.base_unit, row.group.record.unit) == ("s", changes.get("unit", "s"))
    assert row.undecided == (reason != UNDIRECTED)


@pytest.mark.parametrize(
    ("base", "new", "better", "undecided"),
    [(0.0, 0.5, "lower", True), (0.0, 0.5, "higher", False), (0.5, 0.0, "higher", True), (0.5, 0.0, "lower", False)],
)
def test_zeros_are_undecided_if_they_became_worse(base: float, new: float, better: str, undecided: bool) -> None:
    row = one(value([base], stats=None, better=better), value([new], stats=None, better=better))
    assert (row.verdict, row.undecided) == ("not comparable", undecided)


def test_no_change_of_zero_is_the_same() -> None:
    assert one(value([0.0], stats=None), value([0.0], stats=None)).verdict == "same"


def test_values_of_only_one_run_are_added_or_removed() -> None:
    found = compared(source("base", *levels({"L1": 1, "L2": 2})), source("new", *levels({"L1": 1, "DRAM": 9})))
    assert {row.place: row.verdict for row in found.rows} == {
        "level L1": "same", "level DRAM": "added", "level L2": "removed",
    }  # fmt: skip
    added = next(row for row in found.rows if row.verdict == "added")
    assert (added.base, added.percent, added.name) == (None, None, "latency-sweep.latency at level DRAM")


def test_metrics_that_comparisons_ignore_are_left_out() -> None:
    base, new = (source(name, value(visits(1e6), metric="data_size", unit="B")) for name in ("base", "new"))
    assert compare_runs(base, new, 0.01, installed()).rows == ()


def test_the_spread_of_unchanged_runs_counts() -> None:
    base, new = source("base", value(visits(1e-7))), source("new", value(visits(1.1e-7)))
    assert [row.verdict for row in compared(base, new).rows] == ["regressed"]
    (key,) = (row.key for row in compared(base, new).rows)
    wide = compared(base, replace(new, spread={key: 3 * (1e-7, 1.2e-7, 0.9e-7, 1.1e-7)}))
    assert [row.verdict for row in wide.rows] == ["same"]
    assert wide.notes == ("the comparison takes into account the spread of up to 12 unchanged runs of the plan",)


def test_noisy_values_are_compared_but_not_judged() -> None:
    run = compared(source("base", value(visits(1e-7))), source("new", value(visits(1.2e-7), flags=["noisy-pressure"])))
    assert [(row.verdict, row.undecided) for row in run.rows] == [("noisy", True)]
    assert run.judged


def test_hosts_are_paired_by_name_or_because_each_run_has_one() -> None:
    base = source("base", *levels({"L1": 1}, host="lab-1"))
    single = compared(base, source("new", *levels({"L1": 1}, host="lab-2")))
    assert single.hosts == {"lab-2": "lab-1"}
    assert single.notes == ("host lab-2 is compared with host lab-1, because each run has only one host",)
    assert [row.verdict for row in single.rows] == ["same"]
    two = source("new", *levels({"L1": 1}, host="lab-1"), *levels({"L1": 1}, host="lab-3"))
    several = compared(base, two)
    assert several.hosts == {"lab-1": "lab-1"}
    assert several.notes == ("only p/new measured host lab-3",)
    assert [row.verdict for row in several.rows] == ["same", "added"]


def test_a_host_without_a_counterpart_is_undecided() -> None:
    one_host, other = levels({"L1": 1}, host="lab-1"), levels({"L1": 1, "L2": 1}, host="lab-2")
    assert compared(source("base", *one_host, *other), source("new", *one_host)).undecided == 2
    assert compared(source("base", *one_host), source("new", *one_host, *other)).undecided == 0


def test_the_correction_counts_every_value_of_the_pair() -> None:
    names = {f"L{n}": 1.0 + n / 1000 for n in range(64)}
    base, new = levels(names), levels(names)
    six = [value(visits(1e-7, 6), coords={"level": "x"}), value(visits(1.2e-7, 6), coords={"level": "x"})]
    alone = one(six[0], six[1])
    among = compared(source("base", *base, six[0]), source("new", *new, six[1])).rows[-1]
    assert (alone.verdict, among.verdict) == ("regressed", "too few visits")


def test_values_that_move_together_blame_the_host() -> None:
    names = {f"L{n}": 1.0 + n / 100 for n in range(6)}
    slow = {name: 1.3 * factor for name, factor in names.items()}
    rows = compared(source("base", *levels(names)), source("new", *levels(slow))).rows
    assert all(row.change is not None and "check the host first" in row.change.shared for row in rows)


def test_the_order_of_rows() -> None:
    base = source("base", *levels({"same": 1, "worse": 2, "worst": 3, "better": 4}))
    new = source("new", *levels({"same": 1, "worse": 2.4, "worst": 6, "better": 2}))
    run = compared(base, new)
    assert [row.place for row in by_importance(run.rows, CATALOG)] == [
        "level worst", "level worse", "level better", "level same",
    ]  # fmt: skip
    other = compared(base, source("other", *levels({"same": 9, "worse": 2, "worst": 3.3, "better": 4.4})))
    assert by_change_in(other, run.rows)[0].place == "level same"
