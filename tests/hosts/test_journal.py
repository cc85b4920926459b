"""What a runner tells, and what nobody would: only sentences with sense count, and never more than a bound."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asct.hosts import journal
from asct.hosts.journal import Journal

WORDS = st.sampled_from(
    ["started", "ended", "late", "done", "died", "failed", "serving", "work", "pong", "stopped", "other", ""]
)
PARTS = st.one_of(
    st.sampled_from(["k", "nan", "inf", "-1", "1e999", "5", "0", "137", "99999999999999999999", "ffe", "zz", "-", ""]),
    st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]), max_size=8),
)


def told(*lines: str) -> Journal:
    found = Journal()
    found.take("".join(f"asct:{line}\n" for line in lines).encode())
    return found


@given(lines=st.lists(st.tuples(WORDS, st.lists(PARTS, max_size=5)), max_size=12), cut=st.integers(1, 40))
def test_any_words_in_any_parts(lines: list[tuple[str, list[str]]], cut: int) -> None:
    data = "".join(f"asct:{' '.join([word, *parts])}\n" for word, parts in lines).encode()
    whole, pieces = Journal(), Journal()
    whole.take(data)
    for start in range(0, len(data), cut):
        pieces.take(data[start : start + cut])
    assert whole.answers == pieces.answers and whole.tasks.keys() == pieces.tasks.keys()
    for course in whole.tasks.values():
        assert course.elapsed_ns >= 0
        assert course.status is None or 0 <= course.status <= 999
    assert "other" not in whole.answers
    assert whole.answers.get("serving", "0").isdigit()


def test_a_task_from_its_start_to_its_report() -> None:
    course = told("started k 10.5", "ended k 12.0 3 0", "done k fe- 130").tasks["k"]
    assert (course.status, course.told, course.over) == (3, False, True)
    assert course.report is not None and course.report.flags == "fe-" and course.report.companions == (130,)


@pytest.mark.parametrize("line", ["ended k 12 x 0", "ended k nan 0 0", "ended k 12 -9 0", "ended k", "ended k 1 0 0 0"])
def test_an_end_that_makes_no_sense_is_none(line: str) -> None:
    course = told("started k 10", line).tasks["k"]
    assert course.status is None and course.ended_s is None


def test_no_more_than_so_many_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "MOST_TASKS", 3)
    found = told(*(f"started k{number} 1" for number in range(9)), "ended k1 2 0 0")
    assert list(found.tasks) == ["k0", "k1", "k2"]
    assert found.tasks["k1"].status == 0


def test_a_line_without_end_is_not_kept() -> None:
    found = Journal()
    for _ in range(64):
        found.take(b"asct:" + b"a" * 65536)
    found.take(b"\nasct:ready\n")
    assert found.answers == {"ready": ""}
