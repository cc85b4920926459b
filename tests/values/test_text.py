"""Counts with their nouns, text without control characters, and columns that have the same width as on a terminal."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asct.values.text import NO_BREAK, aligned, counted, listed, printable, unbroken, wrapped_lines


def test_counted() -> None:
    assert [counted(number, "job") for number in (0, 1, 2, 12345)] == ["0 jobs", "1 job", "2 jobs", "12,345 jobs"]
    assert [counted(number, "point is", "points are") for number in (1, 2)] == ["1 point is", "2 points are"]
    assert counted(None, "job") == ""


def test_listed() -> None:
    assert [listed("abcd"[:number]) for number in range(5)] == ["", "a", "a and b", "a, b and c", "a, b, c and d"]


@given(st.text())
def test_printable(text: str) -> None:
    assert printable(text).isprintable()
    assert len(printable(text)) == len(text)
    assert all(unicodedata.category(mark) not in ("Cc", "Cf", "Cs") for mark in printable(text))
    assert printable(text, 5) == printable(text)[:5] + ("..." if len(text) > 5 else "")


def test_columns_are_aligned_as_they_are_shown() -> None:
    rows = [("name", "n"), ("\N{CJK UNIFIED IDEOGRAPH-4E2D}", "10"), ("e\N{COMBINING ACUTE ACCENT}", "200")]
    assert aligned(rows, frozenset({1})) == [
        "name    n",
        "\N{CJK UNIFIED IDEOGRAPH-4E2D}     10",
        "e\N{COMBINING ACUTE ACCENT}     200",
    ]
    assert aligned([("a", "b")]) == ["a  b"]


def test_a_unit_stays_with_its_number() -> None:
    text = "medians with 95 % intervals, 615k ops/s at 1.5 GB/s"
    for width in range(1, len(text)):
        lines = wrapped_lines(text, width, break_long_words=False)
        assert " ".join(lines) == text
        assert not any(line.startswith(("%", "ops/s", "GB/s")) for line in lines)


@pytest.mark.parametrize(
    "text", ["5 %", "3 min", "05 s", "98.1 ns", "2 \N{MICRO SIGN}s", "615k ops/s", "64 KiB", "4 B/cycle", "4800 MT/s"]
)
def test_each_unit_is_known(text: str) -> None:
    number, _, unit = text.partition(" ")
    assert unbroken(f"{text}, {text}.") == f"{number}{NO_BREAK}{unit}, {number}{NO_BREAK}{unit}."


@pytest.mark.parametrize("text", ["8 seconds", "node 0 has 4 CPUs", "2 B/sector"])
def test_other_words_may_follow_on_the_next_line(text: str) -> None:
    assert unbroken(text) == text
