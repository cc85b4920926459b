"""Valid and damaged events of the runner: only valid events count, up to a limit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asct.hosts import journal
from asct.hosts.journal import RunnerJournal

WORDS = st.sampled_from(
    ["started", "ended", "late", "done", "died", "failed", "serving", "work", "pong", "stopped", "other", ""]
)
PARTS = st.one_of(
    st.sampled_from(["k", "nan", "inf", "-1", "1e999", "5", "0", "137", "99999999999999999999", "ffe", "zz", "-", ""]),
    st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]), max_size=8),
)


def told(*lines: str) -> RunnerJournal:
    found = RunnerJournal()
    found.take("".join(f"asct:{line}\n" for line in lines).encode())
    return found


@given(lines=st.lists(st.tuples(WORDS, st.lists(PARTS, max_size=5)), max_size=12), cut=st.integers(1, 40))
def test_any_words_in_any_parts(lines: list[tuple[str, list[str]]], cut: int) -> None:
    data = "".join(f"asct:{' '.join([word, *parts])}\n" for word, parts in lines).encode()
    whole, pieces = RunnerJournal(), RunnerJournal()
    whole.take(data)
    for start in range(0, len(data), cut):
        pieces.take(data[start : start + cut])
    assert whole.replies == pieces.replies and whole.tasks.keys() == pieces.tasks.keys()
    for course in whole.tasks.values():
        assert course.elapsed_ns >= 0
        assert course.exit_status is None or 0 <= course.exit_status <= 999
    assert "other" not in whole.replies
    assert whole.replies.get("serving", "0").isdigit()


def test_a_task_from_its_start_to_its_report() -> None:
    course = told("started k 10.5", "ended k 12.0 3 0", "done k fe- 130").tasks["k"]
    assert (course.exit_status, course.shell_message, course.over) == (3, False, True)
    assert course.report is not None and course.report.flags == "fe-" and course.report.companions == (130,)


@pytest.mark.parametrize("line", ["ended k 12 x 0", "ended k nan 0 0", "ended k 12 -9 0", "ended k", "ended k 1 0 0 0"])
def test_an_end_that_makes_no_sense_is_none(line: str) -> None:
    course = told("started k 10", line).tasks["k"]
    assert course.exit_status is None and course.ended_s is None


def test_no_more_than_so_many_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "MOST_TASKS", 3)
    found = told(*(f"started k{number} 1" for number in range(9)), "ended k1 2 0 0")
    assert list(found.tasks) == ["k0", "k1", "k2"]
    assert found.tasks["k1"].exit_status == 0


def test_a_line_without_end_is_not_kept() -> None:
    found = RunnerJournal()
    for _ in range(64):
        found.take(b"asct:" + b"a" * 65536)
    found.take(b"\nasct:ready\n")
    assert found.replies == {"ready": ""}


def test_a_task_is_late_if_it_was_ended_before_it_had_a_status() -> None:
    course = told("started k 1", "late k").tasks["k"]
    assert course.late and not course.over
    assert not told("started k 1", "ended k 2 0 0", "late k").tasks["k"].late, "it ended by itself"
    again = told("started k 1", "late k", "died k", "started k 3").tasks["k"]
    assert not again.late and not again.died and again.started_s == 3


def test_nothing_more_comes_of_a_task_that_died_or_was_refused() -> None:
    assert told("started k 1", "died k").tasks["k"].over
    assert told("started k 1", "failed k no room").tasks["k"].over
    assert not told("started k 1", "ended k 2 0 0").tasks["k"].over, "its report is still to come"


def test_a_time_before_the_start_of_the_host_is_not_believed() -> None:
    assert told("started k -1").tasks["k"].started_s is None
    assert told("started k 0").tasks["k"].started_s == 0


@pytest.mark.parametrize(("heard", "elapsed_s"), [(2.004, 2.004), (9.0, 2.0)])
def test_the_clock_here_counts_unless_what_was_told_came_late(
    heard: float, elapsed_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The host's clock has a resolution of a hundredth of a second, and a lost connection delays events."""
    now = iter([100.0, 100.0 + heard])
    monkeypatch.setattr(journal.time, "monotonic", lambda: next(now))
    found = RunnerJournal()
    found.take(b"asct:started k 5.00\n")
    found.take(b"asct:ended k 7.00 0 0\n")
    assert found.tasks["k"].elapsed_ns == pytest.approx(elapsed_s * 1e9, abs=1)
