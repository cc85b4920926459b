"""`--fail-on`: the conditions that it accepts, and the exit code of a comparison."""

from __future__ import annotations

import pytest

from asct.analysis.diff.build import Diff, compare_all
from asct.analysis.diff.gate import doubts, exit_code, limit_of
from asct.analysis.diff.source import DiffSource
from asct.errors import UsageError
from tests.analysis.diff.runs import CATALOG, levels, source, value, visits


@pytest.mark.parametrize(
    ("text", "limit"), [("regression>3%", 0.03), (" regression > 0.5 % ", 0.005), ("regression>0%", 0.0)]
)
def test_a_condition_is_a_percentage(text: str, limit: float) -> None:
    assert limit_of(text) == pytest.approx(limit)


@pytest.mark.parametrize(
    ("text", "column", "label"),
    [
        ("", 1, "the condition must begin with `regression`"),
        ("improvement>3%", 1, "the condition must begin with `regression`"),
        ("regression", 11, "the comparison operator must be `>`"),
        ("regression>=3%", 11, "the comparison operator must be `>`"),
        ("regression<3%", 11, "the comparison operator must be `>`"),
        ("regression>", 12, "not a number"),
        ("regression>three%", 12, "not a number"),
        ("regression>nan%", 12, "not a percentage from 0 to 1000"),
        ("regression>1e9%", 12, "not a percentage from 0 to 1000"),
        ("regression>3", 13, "the limit needs the unit `%`"),
        ("regression>3% or so", 13, "the limit needs the unit `%`"),
    ],
)
def test_a_mistake_is_located(text: str, column: int, label: str) -> None:
    with pytest.raises(UsageError) as raised:
        limit_of(text)
    (found,) = raised.value.diagnostics
    assert found.span is not None
    assert (found.code, found.span.column, found.label) == ("E705", column, label)


def of(base: DiffSource, *others: DiffSource) -> Diff:
    return compare_all(base, others, 0.03, CATALOG)


BASE = source("base", *levels({"L1": 1, "L2": 2}))


@pytest.mark.parametrize(
    ("new", "code"),
    [
        (source("same", *levels({"L1": 1, "L2": 2})), 0),
        (source("faster", *levels({"L1": 0.5, "L2": 2})), 0),
        (source("slower", *levels({"L1": 1.2, "L2": 2})), 1),
        (source("fewer", *levels({"L1": 1})), 0),
        (source("nothing alike", *levels({"L9": 1})), 3),
        (source("other version", *levels({"L1": 1}), *levels({"L2": 2}, version="2")), 3),
        (source("incomplete", *levels({"L1": 1, "L2": 2}), gaps=("is interrupted",)), 3),
        (source("one visit", value([1.2e-7], stats=None), *levels({"L2": 2})), 3),
        (source("slower and unknown", *levels({"L1": 1.2}), *levels({"L2": 2}, version="2")), 3),
    ],
    ids=lambda item: item.name if isinstance(item, DiffSource) else "",
)
def test_what_was_not_compared_cannot_pass(new: DiffSource, code: int) -> None:
    diff = of(BASE, new)
    assert exit_code(diff, gated=True) == code
    assert bool(doubts(diff, gated=True)) == (code == 3)
    assert exit_code(diff, gated=False) == (3 if new.title == "nothing alike" else 0)


def test_regressed_values_are_named_although_others_are_unknown() -> None:
    unknown = levels({"L2": 2}, version="2")
    first, second = doubts(of(BASE, source("new", *levels({"L1": 1.2}), *unknown)), gated=True)
    assert first.message == "p/new: a regression cannot be ruled out for 1 value"
    assert second.message == "p/new: 1 value regressed: latency-sweep.latency at level L1"
    slower, incomplete = (
        source("slower", *levels({"L1": 1.2, "L2": 3})),
        source("new", *BASE.records, gaps=("is torn",)),
    )
    of_another = [one.message for one in doubts(of(BASE, incomplete, slower), gated=True)]
    assert of_another[1:] == [
        "p/slower: 2 values regressed: latency-sweep.latency at level L1, latency-sweep.latency at level L2"
    ]
    assert doubts(of(BASE, slower), gated=True) == []


def test_regressed_values_of_several_hosts_are_named_with_their_host() -> None:
    values = [*levels({"L1": 1}), *levels({"L1": 1, "L2": 2}, host="b")]
    new = source("new", *levels({"L1": 1}), *levels({"L1": 1.2}, host="b"), *levels({"L2": 2}, host="b", version="2"))
    assert doubts(of(source("base", *values), new), gated=True)[1].message.endswith("latency at level L1 on b")


def test_the_worst_of_several_runs_decides() -> None:
    slower, same = source("slower", *levels({"L1": 1.2})), source("same", *levels({"L1": 1}))
    assert exit_code(of(BASE, same, slower, same), gated=True) == 1


def test_nothing_in_common_is_told_without_a_gate_too() -> None:
    (found,) = doubts(of(BASE, source("alien", value(visits(1.0), metric="x"))), gated=False)
    assert (found.severity, found.message) == ("error", "no value of p/alien can be compared with p/base")


def test_values_with_too_few_visits_are_compared_although_undecided() -> None:
    diff = of(BASE, source("one visit", value([1.2e-7], stats=None)))
    assert (exit_code(diff, gated=False), exit_code(diff, gated=True)) == (0, 3)
    assert doubts(diff, gated=False) == []
