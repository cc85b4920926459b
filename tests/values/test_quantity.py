from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asct.values.error import BadValueError
from asct.values.quantity import format_alike, format_quantity, parse_count, parse_quantity

UNITS = ("s", "B/s", "ops/s", "cycles", "B/cycle", "B", "Hz", "1", "%")


@pytest.mark.parametrize(
    ("text", "unit", "expected"),
    [
        ("130 ns", "s", 1.3e-7),
        ("200us", "s", 2e-4),
        ("200 µs", "s", 2e-4),
        ("200 μs", "s", 2e-4),
        ("1.5 ms", "s", 1.5e-3),
        ("550k", "ops/s", 550e3),
        ("550K", "ops/s", 550e3),
        ("1M", "ops/s", 1e6),
        ("1.2 Mops/s", "ops/s", 1.2e6),
        ("550 k ops/s", "ops/s", 550e3),
        ("20 kIOPS", "ops/s", 20e3),
        (550000, "ops/s", 550e3),
        (1e3, "ops/s", 1e3),
        ("12.5 GB/s", "B/s", 12.5e9),
        ("1 GiB/s", "B/s", 2.0**30),
        ("4 cycles", "cycles", 4.0),
        ("4", "cycles", 4.0),
        ("16 B/cycle", "B/cycle", 16.0),
        ("64 KiB", "B", 65536.0),
        ("2.6 GHz", "Hz", 2.6e9),
        ("85%", "1", 0.85),
        ("0.85", "1", 0.85),
        ("85 %", "%", 85.0),
        ("-5 ns", "s", -5e-9),
    ],
)
def test_reads(text: object, unit: str, expected: float) -> None:
    assert parse_quantity(text, unit) == expected


@pytest.mark.parametrize(
    ("text", "unit", "message", "hint"),
    [
        ("4 GB", "s", "`4 GB` is in bytes, not in seconds", "ns, us, ms, s"),
        ("200us", "ops/s", "`200us` is in seconds, not in ops/s", "no unit, k, M or ops/s"),
        ("550k ops/s", "s", "is in ops/s, not in seconds", "130 ns"),
        ("12 GB/s", "ops/s", "is in B/s, not in ops/s", "550k"),
        ("130", "s", "`130` needs a unit", "use ns"),
        (130, "s", "`130` needs a unit", "use ns"),
        ("85", "%", "`85` needs a unit", "%"),
        ("3 parsec", "s", "unknown unit `parsec`", "such as"),
        ("fast", "s", "`fast` is not a quantity", "130 ns"),
        (True, "1", "is not a quantity", "0.85"),
        (None, "1", "is not a quantity", "0.85"),
        (math.nan, "1", "is not a quantity", "0.85"),
        ("1e999", "1", "too large", "1e308"),
        ("64k", "B", "ambiguous size", "`64K`"),
    ],
)
def test_refuses_and_names_what_fits(text: object, unit: str, message: str, hint: str) -> None:
    with pytest.raises(BadValueError) as caught:
        parse_quantity(text, unit)
    assert message in caught.value.message
    assert hint in caught.value.hint


@pytest.mark.parametrize(
    ("value", "expected"), [("550k", 550000), ("1M", 10**6), ("1.5k", 1500), ("7", 7), (7, 7), (0.5, 0.5), ("0.5", 0.5)]
)
def test_counts_are_decimal(value: object, expected: float) -> None:
    found = parse_count(value)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize("value", ["4Ki", "k", "1 000", True, None, math.inf, "4 ops"])
def test_other_counts_are_refused(value: object) -> None:
    with pytest.raises(BadValueError, match="is not a count"):
        parse_count(value)


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (98.4e-9, "s", "98.4 ns"),
        (12.5e9, "B/s", "12.5 GB/s"),
        (1.2345e12, "B/s", "1234 GB/s"),
        (57900, "ops/s", "57.9k ops/s"),
        (4, "cycles", "4 cycles"),
        (85, "%", "85 %"),
        (65536, "B", "64 KiB"),
        (0.851, "1", "0.851"),
        (999.96e-9, "s", "1 µs"),
        (999.4e-9, "s", "999 ns"),
        (0, "s", "0 s"),
        (-5e-9, "s", "-5 ns"),
        (3.2, "s", "3.2 s"),
        (1234567, "cycles", "1234567 cycles"),
        (2.6e9, "Hz", "2.6 GHz"),
        (999999, "ops/s", "1M ops/s"),
        (0.5, "B", "0.5 B"),
        (100e-9, "s", "100 ns"),
    ],
)
def test_writes(value: float, unit: str, text: str) -> None:
    assert format_quantity(value, unit) == text


def test_compared_values_have_one_unit() -> None:
    assert format_alike((1.02e-3, 9.8e-4), "s") == ["1,020 \N{MICRO SIGN}s", "980 \N{MICRO SIGN}s"]
    assert format_alike((0, 2e9), "B/s") == ["0 GB/s", "2 GB/s"]
    assert format_alike((9.9961e5, 1.0021e6), "ops/s", 4) == ["999.6k ops/s", "1,002k ops/s"]
    assert format_alike((9.9997e5, 1.0021e6), "ops/s", 4) == ["1,000k ops/s", "1,002k ops/s"]
    assert format_alike((0.0000123, 0.0000456), "1") == ["0.0000123", "0.0000456"]
    assert format_alike((98.2 * 2**30, 2**41)) == ["98.2 GiB", "2,048 GiB"]


def test_more_digits() -> None:
    assert format_quantity(98.4567e-9, "s", digits=5) == "98.457 ns"


@given(st.floats(1e-9, 1e12), st.sampled_from(UNITS))
def test_text_reads_back_to_three_digits(value: float, unit: str) -> None:
    if unit in ("B", "Hz", "1", "B/s") and value < 1e-3:
        return  # too small for the smallest unit to keep three digits
    text = format_quantity(value, unit)
    if unit == "B" and "." in text:
        return  # a rounded size need not be a whole number of bytes
    assert parse_quantity(text, unit) == pytest.approx(value, rel=6e-3)


@given(st.one_of(st.text(), st.integers(), st.floats(), st.none()), st.sampled_from(UNITS))
def test_raises_nothing_else(value: object, unit: str) -> None:
    try:
        assert math.isfinite(parse_quantity(value, unit))
    except BadValueError as problem:
        assert problem.hint
