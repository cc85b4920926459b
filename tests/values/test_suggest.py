from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asct.values.suggest import did_you_mean, nearest

NAMES = ["repeats", "warmup", "file_names", "latency-sweep", "Retry"]


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("repeets", "repeats"),
        ("REPEATS", "repeats"),
        ("file-names", "file_names"),
        ("latnecy_sweep", "latency-sweep"),
        ("retry", "Retry"),
        ("zzz", None),
        ("", None),
        ("repeats" * 1000, None),
    ],
)
def test_nearest(word: str, expected: str | None) -> None:
    assert nearest(word, NAMES) == expected


def test_hints() -> None:
    assert did_you_mean("repeets", NAMES) == "did you mean `repeats`?"
    assert did_you_mean("zzz", ["b", "a"]) == "known: a, b"
    assert did_you_mean("zzz", ["b", "a"], "read the manual") == "read the manual"
    assert did_you_mean("zzz", [f"name{i}" for i in range(20)]) == ""
    assert did_you_mean("zzz", []) == ""


@given(st.text(), st.lists(st.text()))
def test_suggests_only_what_is_known(word: str, known: list[str]) -> None:
    assert nearest(word, known) in [*known, None]
    assert nearest(word, known) == nearest(word, reversed(known))
