"""What several versions of fio write while they run, and how asct parses it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asct.instruments.fio.document import FioStatus, merged_seconds, read_document, seconds_of
from asct.instruments.fio.histogram import merged

RECORDED = sorted((Path(__file__).parent / "recorded").glob("*.json"))


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_the_course_of_a_run_adds_up_to_its_result(path: Path) -> None:
    text = path.read_text()
    document = read_document(text)
    assert document.version == path.stem
    assert [job.name for job in document.jobs] == ["point", "point"]
    seconds = seconds_of(document.reports)
    assert len(seconds) >= 3
    assert text.count('"fio version"') > len(document.reports)  # those of the ramp are left out
    for side in ("read", "write"):
        parts = [job.directions[side] for job in document.jobs]
        assert sum(one.sides[side].ios for one in seconds) == sum(part.ios for part in parts)
        assert sum(one.sides[side].io_bytes for one in seconds) == sum(part.io_bytes for part in parts)
        whole = merged(part.clat for part in parts)
        assert whole is not None
        assert sum(sum(one.sides[side].bins.values()) for one in seconds) == sum(whole.bins.values())
    longest_s = max(job.runtime_ms for job in document.jobs) / 1000.0
    assert sum(one.seconds for one in seconds) == pytest.approx(longest_s, abs=0.02)
    assert seconds[0].start_s == 0.0


def test_four_versions_are_recorded() -> None:
    assert [path.stem for path in RECORDED] == ["fio-3.25", "fio-3.33", "fio-3.39", "fio-3.41"]


def test_notes_stand_apart_wherever_they_are() -> None:
    first, *rest = RECORDED[1].read_text().splitlines()
    document = read_document("\n".join(["note: one", first, "fio: two", *rest, "fio: three"]))
    assert document.notes == ("note: one", "fio: two", "fio: three")


@pytest.mark.parametrize("place", [0, -1])
def test_a_document_that_was_cut_is_refused(place: int) -> None:
    lines = RECORDED[1].read_text().splitlines()
    lines[place] = lines[place][:-30]
    with pytest.raises(ValueError, match="truncated or damaged"):
        read_document("\n".join(lines))


def part(ios: int, bins: dict[int, int] | None = None, *, started: bool = True) -> dict[str, Any]:
    counts = {str(value): number for value, number in (bins or {1000: ios}).items()}
    return {"total_ios": ios, "io_bytes": ios * 4096, "lat_ns": {"N": ios * started}, "clat_ns": {"bins": counts}}


def report(runtime_ms: int, ios: int, bins: dict[int, int] | None = None) -> FioStatus:
    job = {"job_runtime": runtime_ms, "read": part(ios, bins), "write": part(0), "trim": part(0)}
    return FioStatus(float(runtime_ms), [job])


def test_seconds_are_differences() -> None:
    first, second = seconds_of([report(1000, 10, {5: 10}), report(2000, 30, {5: 10, 7: 20})])
    assert (first.start_s, first.seconds, first.ios, first.io_bytes) == (0.0, 1.0, 10, 40960)
    assert (second.start_s, second.seconds, second.ios) == (1.0, 1.0, 20)
    assert second.sides["read"].bins == {7: 20}
    assert set(second.sides) == {"", "read"}


def test_the_last_report_says_the_same_again() -> None:
    found = seconds_of([report(1000, 10), report(2000, 20), report(2001, 21)])
    assert [one.ios for one in found] == [10, 11]
    assert seconds_of([report(5, 1)]) == ()


def test_what_was_in_flight_at_the_end_is_no_second_of_its_own() -> None:
    found = seconds_of([report(1000, 100), report(2000, 200), report(3000, 300), report(3300, 304)])
    assert [(one.start_s, one.ios) for one in found] == [(0.0, 100), (1.0, 100), (2.0, 104)]
    assert found[-1].seconds == pytest.approx(1.3)
    whole = seconds_of([report(1000, 100), report(2000, 200), report(3000, 300), report(3600, 360)])
    assert [one.ios for one in whole] == [100, 100, 100, 60]


def test_counts_that_fall_are_refused() -> None:
    with pytest.raises(ValueError, match="lower counters than an earlier one"):
        seconds_of([report(1000, 20), report(2000, 10)])


@given(st.lists(st.integers(0, 500), min_size=1, max_size=300), st.integers(1, 60))
def test_joined_neighbours_keep_everything(counts: list[int], most: int) -> None:
    totals = [sum(counts[: index + 1]) for index in range(len(counts))]
    seconds = seconds_of([report(1000 * (index + 1), total) for index, total in enumerate(totals)])
    found = merged_seconds(seconds, most)
    assert 1 <= len(found) <= most
    assert sum(one.ios for one in found) == totals[-1]
    assert sum(one.seconds for one in found) == pytest.approx(len(counts))
    assert [one.start_s for one in found] == sorted(one.start_s for one in found)
