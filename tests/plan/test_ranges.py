from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asct.errors import PlanError
from asct.plan.model import Node
from asct.plan.ranges import Kind, axis_values
from tests.plan.loading import node_of, where


def values(text: str, kind: Kind | None = None) -> list[Any]:
    return [item.plain() for item in axis_values(node_of(text), kind)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[1, 3, 2]", [1, 3, 2]),
        ("[[1, 2], [3]]", [[1, 2], [3]]),
        ("{from: 1, to: 128, times: 2}", [1, 2, 4, 8, 16, 32, 64, 128]),
        ("{from: 1, to: 100, times: 10}", [1, 10, 100]),
        ("{from: 1, to: 99, times: 10}", [1, 10]),
        ("{from: 4K, to: 32K, times: 2}", ["4K", "8K", "16K", "32K"]),
        ("{from: 0, to: 64K, step: 32K}", ["0", "32K", "64K"]),
        ("{from: 10s, to: 30s, step: 10s}", ["10s", "20s", "30s"]),
        ("{from: 500ms, to: 2s, times: 2}", ["500ms", "1s", "2s"]),
        ("{from: 100k, to: 300k, step: 100k}", [100_000, 200_000, 300_000]),
        ("{from: 0.1, to: 0.3, step: 0.1}", [0.1, 0.2, 0.3]),
        ("{from: 10, to: 1, step: -3}", [10, 7, 4, 1]),
        ("{from: 8, to: 1, times: 0.5}", [8, 4, 2, 1]),
        ("{from: 5, to: 5, step: 1}", [5]),
        ("{from: -4, to: -1, times: 0.5}", [-4, -2, -1]),
    ],
)
def test_values(text: str, expected: list[Any]) -> None:
    assert values(text) == expected


def test_the_setting_decides_what_a_suffix_means() -> None:
    assert values("{from: 1K, to: 3K, step: 1K}", "count") == [1000, 2000, 3000]
    assert values("{from: 1K, to: 3K, step: 1K}", "size") == ["1K", "2K", "3K"]
    assert values("{from: 0s, to: 1m, step: 30s}", "duration") == ["0s", "30s", "1m"]


@pytest.mark.parametrize(
    ("text", "column", "message", "hint"),
    [
        ("a: []", 4, "the axis has no values", "add a value"),
        ("a: 5", 4, "`5` is not an axis", "`config`"),
        ("a: {from: 1, to: 9}", 4, "neither `step` nor `times`", "one of them"),
        ("a: {from: 1, to: 9, step: 1, times: 2}", 4, "both `step` and `times`", "one of them"),
        ("a: {to: 9, step: 1}", 4, "the range has no `from`", "write a list"),
        ("a: {from: 1, to: 9, stp: 1, times: 2}", 21, "unknown key `stp`", "did you mean `step`?"),
        ("a: {from: 0, to: 9, times: 2}", 11, "cannot start at, end at or cross 0", "start at 1"),
        ("a: {from: -1, to: 9, times: 2}", 19, "cannot start at, end at or cross 0", "start at 1"),
        ("a: {from: 1, to: 9, times: 1}", 28, "never reaches", "above 1"),
        ("a: {from: 1, to: 9, times: -2}", 28, "never reaches", "above 1"),
        ("a: {from: 9, to: 1, times: 2}", 28, "never reaches", "swap"),
        ("a: {from: 1, to: 9, step: 0}", 27, "never reaches", "above 0"),
        ("a: {from: 9, to: 1, step: 1}", 27, "never reaches", "swap"),
        ("a: {from: 1, to: 9, step: -1}", 27, "never reaches", "above 0"),
        ("a: {from: 1, to: 1000000, step: 1}", 4, "more than 100000 values", "larger step"),
        ("a: {from: 1, to: 9, times: 1.0000001}", 4, "too many digits", "fewer digits"),
        ("a: {from: 4k, to: 8K, times: 2}", 11, "ambiguous size `4k`", "`4K`"),
        ("a: {from: 1s, to: 9, step: 1s}", 19, "`9` needs a unit", "write `9s`"),
        ("a: {from: 1, to: true, step: 1}", 18, "`True` is not a number", "write a number"),
        ("a: {from: 1, to: [2], step: 1}", 18, "is not a number", "write a number"),
        ("a: {from: 1, to: 9, times: 2K}", 28, "`2K` is not a number", "plain number"),
    ],
)
def test_what_is_refused(text: str, column: int, message: str, hint: str) -> None:
    with pytest.raises(PlanError) as caught:
        axis_values(node_of(text).value["a"])
    found = caught.value.diagnostics[0]
    assert where(found) == f"E124 f:1:{column}"
    assert message in found.message
    assert hint in found.hint


@given(st.integers(-1000, 1000), st.integers(0, 1000), st.integers(1, 50))
def test_a_step_is_range(first: int, length: int, step: int) -> None:
    last = first + length
    assert values(f"{{from: {first}, to: {last}, step: {step}}}") == list(range(first, last + 1, step))


@given(st.integers(1, 10**6), st.integers(1, 10**9), st.integers(2, 10))
def test_times_multiplies_up_to_the_end(first: int, last: int, times: int) -> None:
    if last < first:
        return
    found = values(f"{{from: {first}, to: {last}, times: {times}}}")
    assert found[0] == first
    assert all(after == before * times for before, after in itertools.pairwise(found))
    assert found[-1] <= last < found[-1] * times


SCALAR = st.one_of(
    st.integers(), st.floats(), st.text(max_size=5), st.none(), st.booleans(), st.sampled_from(["4K", "1s", "3k"])
)


@given(
    st.dictionaries(st.sampled_from(["from", "to", "step", "times", "x"]), SCALAR),
    st.sampled_from([None, "size", "count"]),
)
def test_hostile_ranges_end_in_diagnostics(members: dict[str, Any], kind: Kind | None) -> None:
    place = node_of("x").span
    node = Node({key: Node(item, place, place) for key, item in members.items()}, place)
    try:
        assert axis_values(node, kind)
    except PlanError as problem:
        assert all(item.code == "E124" for item in problem.diagnostics)
