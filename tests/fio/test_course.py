"""What the seconds of a run reveal and the mean does not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from asct.analysis.groups import gather as groups_of
from asct.analysis.headline import headlines
from asct.analysis.view import JobView
from asct.benchmarks.storage_fio import BENCHMARK as ANY
from asct.instruments.fio.document import DirectionInterval, RunInterval
from asct.instruments.fio.figures import sweep_figures
from asct.instruments.fio.point import FioPoint, read_point
from asct.instruments.fio.rows import gather
from asct.instruments.fio.tables import sweep_table
from asct.instruments.fio.timeline import level_changes
from asct.instruments.fio.verdict import CHANGED
from asct.sdk.facts import HostFacts
from asct.sdk.figure import Heatmap, Line
from asct.sdk.record import Record
from asct.store.model import JobEntry
from tests.fio.samples import depth_sample, output_of
from tests.fio.synthetic import point, record, seconds, side

CLIFF = [8000.0 + 40 * (number % 3) for number in range(20)] + [1000.0 + 5 * (number % 3) for number in range(40)]
STEADY = [8000.0 + 40 * (number % 3) for number in range(60)]


def run(depth: int, rates: list[float], prefix: str = "write_", repeat: int = 1) -> list[Any]:
    settings = {"iodepth": depth}
    values = side(sum(rates) / len(rates), 4096, 1e-3, prefix)
    return [*point(settings, values, repeat), *seconds(settings, rates, repeat=repeat)]


def test_a_cliff_has_its_second_its_levels_and_its_volume() -> None:
    [row] = gather(run(16, CLIFF))
    [turn] = level_changes(row)
    assert turn.second == 20.0
    assert turn.before == pytest.approx(8040)
    assert turn.after == pytest.approx(1005)
    assert turn.moved == pytest.approx(sum(CLIFF[:20]) * 4096)


def test_the_point_is_flagged_and_the_change_is_told() -> None:
    records = [*run(8, STEADY), *run(16, CLIFF)]
    tables = {table.slug: table for table in sweep_table(records, "x", "X", "iodepth")}
    assert [row["flags"] for row in tables["x"].rows] == ["", CHANGED]
    assert tables["x"].flags == (CHANGED,)
    told = "iodepth 16: the rate fell from 8.04k ops/s to 1k ops/s after 20 s (0.613 GiB written)"
    assert told in tables["x"].notes
    [change] = tables["x-changes"].rows
    assert change["point"] == "iodepth 16"
    assert change["change"] == pytest.approx(-87.5, abs=0.1)


def measured_course(monkeypatch: pytest.MonkeyPatch, rates: list[float]) -> list[Record]:
    """Return the records of a recorded run, as if its seconds had had these rates."""
    sample = depth_sample()
    params, facts = ANY.params_model(**sample["settings"]), HostFacts(**sample["facts"])

    def bent(*arguments: Any) -> FioPoint:
        parts = [DirectionInterval(round(rate), round(rate) * 4096, {}) for rate in rates]
        course = tuple(RunInterval(float(start), 1.0, {"": part, "read": part}) for start, part in enumerate(parts))
        return replace(read_point(*arguments), seconds=course)

    monkeypatch.setattr("asct.instruments.fio.measure.read_point", bent)
    found = ANY.parse(params, [output_of(sample)], facts)
    more: dict[str, Any] = {"run": "r", "plan": "p", "host": "local", "benchmark": ANY.name, "id": "x", "version": "1"}
    better = {metric.name: metric for metric in ANY.metrics}
    return [
        Record(
            **more, point={}, coords=dict(one.coords), point_id="0", repeat=1, metric=one.metric, value=one.value,
            unit=better[one.metric].unit, better=better[one.metric].better, flags=list(one.flags), raw="jobs/x",
        )
        for one in found
    ]  # fmt: skip


@pytest.mark.parametrize(("rates", "flags"), [([4000.0] * 4 + [1000.0] * 4, {"noisy", CHANGED}), ([4000.0] * 8, set())])
def test_a_change_reaches_records_expectations_and_strict(
    monkeypatch: pytest.MonkeyPatch, rates: list[float], flags: set[str]
) -> None:
    records = measured_course(monkeypatch, rates)
    for metric in ("iops", "read_bandwidth", "latency", "clat_p99"):
        assert next(set(one.flags) for one in records if one.metric == metric) & {"noisy", CHANGED} == flags
    entry = JobEntry(id="x", benchmark=ANY.name, version="1", host="local", points=1, repeats=1)
    found = headlines(JobView(entry, ANY, tuple(records), (), (), ()))
    assert {item.doubt for item in found} == ({"noisy"} if flags else {""})
    place = next(place for place in groups_of(records) if place.metric == "iops")
    assert place.doubts == (["noisy"] if flags else [])


def test_each_repeat_has_a_course_of_its_own() -> None:
    [row] = gather([*run(16, STEADY), *run(16, CLIFF[::-1], repeat=2)])
    [turn] = level_changes(row)
    assert (turn.repeat, turn.second) == (2, 40.0)
    assert turn.after > turn.before


def test_a_run_without_seconds_and_a_steady_one_have_no_changes() -> None:
    records = [*run(8, STEADY), *point({"iodepth": 16}, side(8000.0, 4096, 1e-3))]
    assert [turn for row in gather(records) for turn in level_changes(row)] == []
    assert all(table.slug != "x-changes" for table in sweep_table(records, "x", "X", "iodepth"))


def test_a_drive_that_stalls_for_good() -> None:
    [row] = gather(run(16, [5000.0] * 10 + [0.0] * 10))
    [turn] = level_changes(row)
    assert (turn.second, turn.after) == (10.0, 0.0)


def test_the_timeline_marks_the_change() -> None:
    records = [*run(8, STEADY), *run(16, CLIFF)]
    chart = next(figure for figure in sweep_figures(records, "iodepth") if figure.slug == "timeline")
    assert isinstance(chart, Line)
    assert [line.name for line in chart.series] == ["iodepth 8", "iodepth 16"]
    assert chart.series[1].y == tuple(CLIFF)
    assert [marker.x for marker in chart.markers] == [20.0]
    details = {detail for line in chart.series for detail in line.details if detail is not None}
    assert {(detail.flags, detail.setting) for detail in details} == {((), "iodepth 8"), ((), "iodepth 16")}


def test_of_many_points_those_that_changed_are_drawn() -> None:
    records = [one for depth in range(1, 12) for one in run(depth, CLIFF if depth == 11 else STEADY)]
    chart = next(figure for figure in sweep_figures(records, "iodepth") if figure.slug == "timeline")
    assert isinstance(chart, Line)
    assert [line.name for line in chart.series] == ["iodepth 11"]
    assert "1 of 11 points are shown: those whose rate changed" in chart.caption


def test_latency_over_time_of_the_point_that_changed() -> None:
    records = [*run(8, STEADY), *run(16, CLIFF)]
    for second, latency in ((0.0, 2**24 * 1e-9), (1.013, 2**24 * 1e-9), (1.013, 2**26 * 1e-9)):
        at = {"second": second, "latency": latency}
        records.append(record({"iodepth": 16}, "second_share", 50.0, coords=at))
    [chart] = [figure for figure in sweep_figures(records, "iodepth") if isinstance(figure, Heatmap)]
    assert chart.slug == "latency-over-time-iodepth-16"
    assert chart.columns == ("0", "1")
    assert chart.rows == ("67.1 ms", "33.6 ms", "16.8 ms")  # no gap where no request fell
    assert chart.values == ((None, 50.0), (None, None), (50.0, 50.0))
