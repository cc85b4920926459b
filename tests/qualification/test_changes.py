"""Changes in the rate while a workload runs, found in the counters of the drive."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from asct.analysis.groups import gather
from asct.analysis.headline import headlines
from asct.analysis.view import JobView
from asct.benchmarks.storage_iops import BENCHMARK as IOPS
from asct.benchmarks.storage_write_saturation import BENCHMARK as SATURATION
from asct.engine.failures import judged
from asct.instruments.fio.counters import Coverage, MeasuredWindow
from asct.instruments.fio.document import DirectionInterval, RunInterval
from asct.instruments.fio.measure import course_flags
from asct.instruments.fio.point import FioPoint, read_point
from asct.instruments.fio.verdict import CHANGED
from asct.instruments.guard_output import CounterSample
from asct.sdk.record import Measurement, Record
from asct.store.model import JobEntry
from tests.benchmarks.test_contract import folder_of, replayed
from tests.records import record

STEADY = [4e6 + 1e4 * (number % 3) for number in range(60)]
CLIFF = [*STEADY[:30], *(rate / 4 for rate in STEADY[30:])]


def drive(rates: list[float]) -> tuple[CounterSample, ...]:
    """Return guard's samples of a drive that reads and writes this number of bytes in each second."""
    totals = enumerate(map(round, accumulate(rates, initial=0.0)))
    return tuple(
        CounterSample(0, round(second * 1e9), None, None, ((0, total, 0, total, 0, 0, 0),)) for second, total in totals
    )


def window(rates: list[float]) -> MeasuredWindow:
    return MeasuredWindow(0.0, len(rates) * 1e9, 0.0)


def flags_of(rates: list[float], why: str = "") -> tuple[str, ...]:
    guard = SimpleNamespace(samples=drive(rates))
    point = SimpleNamespace(
        seconds=(), sides={"": None, "write": None}, guard=guard, window=window(rates), coverage=Coverage(1.0, why)
    )
    return course_flags(cast(FioPoint, point))


def test_a_process_that_reports_once_has_the_course_of_its_drive() -> None:
    assert flags_of(CLIFF) == ("noisy", CHANGED)
    assert flags_of(STEADY) == ()
    assert flags_of([4e6, 4e6, 1e6, 1e6]) == (), "too short"
    assert flags_of(CLIFF, "foreign") == (), "other programs used the drive"


def test_a_drive_without_counters_has_no_course() -> None:
    samples = tuple(replace(one, devices=(None,)) for one in drive(CLIFF))
    point = SimpleNamespace(
        seconds=(), sides={"write": None}, guard=SimpleNamespace(samples=samples), window=window(CLIFF),
        coverage=Coverage(None, "no-drive"),
    )  # fmt: skip
    assert course_flags(cast(FioPoint, point)) == ()


def measured(monkeypatch: pytest.MonkeyPatch, benchmark: Any, case: str, rates: list[float]) -> list[Measurement]:
    """Return the values of a recorded test, as if every process with requests of 4 KiB had had these rates, and all
    others a steady rate."""

    def bent(params: Any, *arguments: Any) -> FioPoint:
        point = read_point(params, *arguments)
        course = rates if params.block_size == 4096 else STEADY
        parts = [DirectionInterval(round(rate / 4096), round(rate), {}) for rate in course]
        reports = [RunInterval(float(start), 1.0, {"": part, "write": part}) for start, part in enumerate(parts)]
        return replace(
            point,
            guard=replace(point.guard, samples=drive(course)),
            window=window(course),
            coverage=Coverage(1.0),
            seconds=tuple(reports) if len(point.seconds) > 1 else point.seconds,
        )

    monkeypatch.setattr("asct.instruments.qualification.journal.read_point", bent)
    document = json.loads((Path(folder_of(benchmark)) / "testdata" / f"{case}.json").read_text())
    params, facts, outputs = replayed(benchmark, document)
    return list(benchmark.parse(params, outputs, facts))


def records_of(measurements: list[Measurement]) -> list[Record]:
    metrics = {metric.name: metric for metric in IOPS.metrics}
    return [
        record(
            one.value, metric=one.metric, coords=dict(one.coords), flags=list(one.flags), id="x", benchmark=IOPS.name,
            unit=metrics[one.metric].unit, better=metrics[one.metric].better,
        )
        for one in measurements
    ]  # fmt: skip


@pytest.mark.parametrize(("rates", "flags"), [(CLIFF, {"noisy", CHANGED}), (STEADY, set())])
def test_a_change_within_a_round_reaches_records_tiles_and_verdicts(
    monkeypatch: pytest.MonkeyPatch, rates: list[float], flags: set[str]
) -> None:
    found = measured(monkeypatch, IOPS, "pts", rates)
    for metric in ("iops", "latency", "round_iops"):
        of_size = {
            size: {*one.flags} & {"noisy", CHANGED}
            for one in found
            if one.metric == metric and (size := one.coords["block_size"])
        }
        assert of_size == {4096: flags, 65536: set()}, metric
    assert judged(found, strict=True)[0] == ("noisy" if flags else "ok")
    records = records_of(found)
    entry = JobEntry(id="x", benchmark=IOPS.name, version="1", host="h", points=1, repeats=1)
    tile = headlines(JobView(entry, IOPS, tuple(records), (), (), ()))[0]
    assert ("noisy" in tile.doubts) == bool(flags)
    place = next(place for place in gather(records) if place.metric == "iops" and place.at["block_size"] == 4096)
    assert place.doubts == (["noisy"] if flags else [])


def test_changes_are_the_subject_of_a_write_saturation_test(monkeypatch: pytest.MonkeyPatch) -> None:
    found = measured(monkeypatch, SATURATION, "volume", CLIFF)
    assert [one for one in found if one.metric == "round_iops"]
    assert not [one for one in found if one.metric in ("round_iops", "iops") and CHANGED in one.flags]
