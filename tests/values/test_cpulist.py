from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asct.values.cpulist import MAX_CPU, format_cpulist, parse_cpulist, parse_integers
from asct.values.error import BadValueError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0-3,8", [0, 1, 2, 3, 8]),
        ("5-9:2", [5, 7, 9]),
        ("7", [7]),
        ("", []),
        ("\n", []),
        ("8,0-1,1", [0, 1, 8]),
        (" 0 - 2 , 4 ", [0, 1, 2, 4]),
    ],
)
def test_reads(text: str, expected: list[int]) -> None:
    assert parse_cpulist(text) == expected


def test_integers_keep_their_order() -> None:
    assert parse_integers("3000,900,5-9:2,0,900") == [3000, 900, 5, 7, 9, 0, 900]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("3-1", "is reversed"),
        ("0-4:0", "stride of 0"),
        ("a", "is not a number or a range"),
        ("1,,2", "is not a number"),
        ("-1", "is not a number"),
        ("0-99999999999", "more than 100000 numbers"),
        ("70000", "CPU 70000"),
        ("1-2-3", "is not"),
        (",".join(["0-99998"] * 2), "more than 100000 numbers"),
    ],
)
def test_refuses(text: str, message: str) -> None:
    with pytest.raises(BadValueError, match=message):
        parse_cpulist(text)


@pytest.mark.parametrize(
    ("cpus", "text"), [([0, 1, 2, 3, 8], "0-3,8"), ([], ""), ([3, 1, 2, 2], "1-3"), ([0, 2], "0,2")]
)
def test_writes(cpus: list[int], text: str) -> None:
    assert format_cpulist(cpus) == text


@given(st.sets(st.integers(0, MAX_CPU), max_size=200))
def test_round_trip(cpus: set[int]) -> None:
    assert parse_cpulist(format_cpulist(cpus)) == sorted(cpus)


@given(st.one_of(st.text(), st.from_regex(r"[0-9,:\- ]*")))
def test_raises_nothing_else(text: str) -> None:
    try:
        parse_cpulist(text)
    except BadValueError as problem:
        assert problem.hint
