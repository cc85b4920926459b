from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asct.values.duration import MAX_DURATION, format_duration, parse_duration, require_unit
from asct.values.error import BadValueError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("30s", 30.0),
        ("15m", 900.0),
        ("15min", 900.0),
        ("2h", 7200.0),
        ("1h30m", 5400.0),
        ("1h 30m 5s", 5405.0),
        ("250ms", 0.25),
        ("1.5us", 1.5e-6),
        ("3µs", 3e-6),
        ("130 ns", 1.3e-7),
        ("1d", 86400.0),
        ("1w2d", 777600.0),
        ("0.1s", 0.1),
        ("0", 0.0),
        (60, 60.0),
        (0.25, 0.25),
        (0, 0.0),
    ],
)
def test_reads(text: object, expected: float) -> None:
    assert parse_duration(text) == expected


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("60", "`60` needs a unit", "write `60s`, `60ms` or `60m`"),
        ("1h30", "`1h30` needs a unit", "write"),
        ("3:1", "`3:1` is not a duration", "write a number and a unit"),
        ("5sec", "unknown unit `sec`", "did you mean `5s`?"),
        ("5mins", "unknown unit `mins`", "did you mean `5m`?"),
        ("3 hours", "unknown unit `hours`", "did you mean `3h`?"),
        ("2 weeks", "unknown unit `weeks`", "did you mean `2w`?"),
        ("5x", "unknown unit `x`", "units are w, d, h, m, s"),
        ("30m1h", "units out of order", "the largest unit"),
        ("1s1s", "units out of order", "the largest unit"),
        ("", "is not a duration", "write a number and a unit"),
        ("-5s", "is not a duration", "write a number and a unit"),
        ("soon", "is not a duration", "write a number and a unit"),
        (-1, "is negative", "0s or more"),
        (1e10, "too long", "the maximum"),
        ("99999999999s", "too long", "the maximum"),
        (True, "is not a duration", "write"),
        (None, "is not a duration", "write"),
        (math.nan, "is not a duration", "write"),
        (math.inf, "is not a duration", "write"),
    ],
)
def test_refuses_with_the_way_out(text: object, message: str, hint: str) -> None:
    with pytest.raises(BadValueError) as caught:
        parse_duration(text)
    assert message in caught.value.message
    assert hint in caught.value.hint


@pytest.mark.parametrize("value", [60, 0.25, -1])
def test_a_written_number_needs_a_unit(value: float) -> None:
    with pytest.raises(BadValueError, match=f"`{value}s`"):
        require_unit(value)


@pytest.mark.parametrize("value", [0, 0.0, "60", "60s", None, True, []])
def test_other_values_are_left_to_the_parser(value: object) -> None:
    require_unit(value)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (30, "30s"),
        (60, "1m"),
        (5400, "1h30m"),
        (90.5, "90.5s"),
        (0.25, "250ms"),
        (1.5e-6, "1.5us"),
        (1e-7, "100ns"),
        (86400, "24h"),
        (3605, "1h5s"),
        (5e-324, None),
    ],
)
def test_writes(seconds: float, text: str | None) -> None:
    if text is not None:
        assert format_duration(seconds) == text
    else:
        assert format_duration(seconds).endswith("ns")


@given(st.floats(1e-9, MAX_DURATION))
def test_round_trip(seconds: float) -> None:
    assert parse_duration(format_duration(seconds)) == seconds


@given(st.integers(0, int(MAX_DURATION)))
def test_round_trip_of_whole_seconds(seconds: int) -> None:
    assert parse_duration(format_duration(seconds)) == seconds


@given(st.one_of(st.text(), st.from_regex(r"[0-9.]+[a-z]+[0-9]*[a-z]*"), st.integers(), st.floats(), st.binary()))
def test_raises_nothing_else(value: object) -> None:
    try:
        assert 0 <= parse_duration(value) <= MAX_DURATION
    except BadValueError as problem:
        assert problem.hint
