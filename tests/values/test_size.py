from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asct.values.error import BadValueError
from asct.values.size import MAX_SIZE, about_size, format_size, parse_size


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("4K", 4096),
        ("4KiB", 4096),
        ("4Ki", 4096),
        ("4 KiB", 4096),
        ("4kB", 4000),
        ("4KB", 4000),
        ("512", 512),
        ("512B", 512),
        ("1M", 1 << 20),
        ("1MB", 10**6),
        ("1G", 1 << 30),
        ("1GB", 10**9),
        ("2TiB", 2 << 40),
        ("1P", 1 << 50),
        ("32.0625K", 32832),
        ("0.5K", 512),
        ("1.5kB", 1500),
        ("0", 0),
        (" 64K ", 65536),
        (4096, 4096),
    ],
)
def test_reads(text: object, expected: int) -> None:
    assert parse_size(text) == expected


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("4k", "ambiguous size `4k`", "write `4K` (binary, as in fio) or `4kB` (decimal)"),
        ("1.5g", "ambiguous size `1.5g`", "write `1.5G` (binary, as in fio) or `1.5GB` (decimal)"),
        ("4kb", "unknown unit `kb` in size `4kb`", "did you mean `4kB`?"),
        ("4KIB", "unknown unit `KIB` in size `4KIB`", "did you mean `4KiB`?"),
        ("4X", "unknown unit `X` in size `4X`", "units are B"),
        ("0.3", "`0.3` is not a whole number of bytes", "the nearest size is `0`"),
        ("1.0001K", "`1.0001K` is not a whole number of bytes", "the nearest size is `1024`"),
        ("", "`` is not a size", "write a number and a unit"),
        ("-4K", "`-4K` is not a size", "write a number and a unit"),
        ("4K 4K", "`4K 4K` is not a size", "write a number and a unit"),
        (-1, "size `-1` is negative", "0 or more"),
        (True, "`True` is not a size", "whole number of bytes"),
        (4.0, "`4.0` is not a size", "whole number of bytes"),
        (None, "`None` is not a size", "whole number of bytes"),
        ("9000000P", "size `9000000P` is too large", "the maximum is"),
        (1 << 63, "size `9223372036854775808` is too large", "the maximum is"),
        ("9" * 200, "is not a size", "write a number and a unit"),
    ],
)
def test_refuses_with_the_way_out(text: object, message: str, hint: str) -> None:
    with pytest.raises(BadValueError) as caught:
        parse_size(text)
    assert message in caught.value.message
    assert hint in caught.value.hint


def test_ambiguity_names_both_readings() -> None:
    with pytest.raises(ValueError, match=r"64 000 .SI. or 65 536 .fio.") as caught:
        parse_size("64k")
    assert "64kB" in str(caught.value)
    assert "`64K`" in str(caught.value)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (1, "1"),
        (1023, "1023"),
        (1024, "1K"),
        (65536, "64K"),
        (32832, "32.0625K"),
        (1 << 20, "1M"),
        (1536, "1.5K"),
        (400_000_000, "400MB"),
        (10**6, "1MB"),
        (1001, "1001"),
        (553648128, "528M"),
    ],
)
def test_writes(number: int, text: str) -> None:
    assert format_size(number) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"), (128, "128"), (49088, "47.9K"), (48 << 10, "48K"), (1461632, "1.39M"), (6284352, "5.99M"),
        ((1 << 20) - 1, "1024K"), (1 << 30, "1G"), (260 << 20, "260M"), (MAX_SIZE, "8192P"),
    ],
)  # fmt: skip
def test_writes_about(number: int, text: str) -> None:
    assert about_size(number) == text


@given(st.integers(0, MAX_SIZE))
def test_about_is_short_and_within_half_a_percent(number: int) -> None:
    text = about_size(number)
    assert len(text) <= 5
    letter = text[-1] if text[-1].isalpha() else ""
    about = float(text.removesuffix(letter)) * 1024 ** " KMGTP".index(letter or " ")
    assert about == pytest.approx(number, rel=0.005)


@given(st.integers(0, MAX_SIZE))
def test_round_trip(number: int) -> None:
    assert parse_size(format_size(number)) == number


@given(st.integers(0, 2**20), st.sampled_from([1, 512, 1000, 1024, 4096, 10**6, 2**20, 2**30, 2**40]))
def test_round_trip_of_usual_sizes(count: int, unit: int) -> None:
    assert parse_size(format_size(count * unit)) == count * unit


@given(st.one_of(st.text(), st.integers(), st.floats(), st.booleans(), st.none(), st.binary()))
def test_raises_nothing_else(value: object) -> None:
    try:
        assert 0 <= parse_size(value) <= MAX_SIZE
    except BadValueError as problem:
        assert problem.hint
        assert problem.message.isprintable()
