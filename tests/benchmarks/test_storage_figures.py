"""The figures of write saturation, recovery and hard disks, drawn from synthetic records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from asct.benchmarks.storage_hdd.params import HddParams
from asct.benchmarks.storage_hdd.report import zone_figures
from asct.benchmarks.storage_latency import BENCHMARK as LATENCY
from asct.benchmarks.storage_recovery.report import recovery_figures
from asct.benchmarks.storage_write_saturation.report import course_figures
from asct.sdk.figure import Bars, Figure, Line
from asct.sdk.record import Record, Scalar
from tests.fio.synthetic import record

POINT: dict[str, Any] = {}
RATES = (9000.0, 9100.0, 1000.0, 1050.0)


def at(metric: str, value: float, point: Mapping[str, Any] = POINT, repeat: int = 1, **coords: Scalar) -> Record:
    return record(point, metric, value, repeat, coords=coords)


def lines(found: Any) -> dict[str, Line]:
    by_slug: dict[str, Figure] = {figure.slug: figure for figure in found}
    assert len(by_slug) == len(found)
    return {slug: figure for slug, figure in by_slug.items() if isinstance(figure, Line)}


def saturated(point: Mapping[str, Any] = POINT, repeat: int = 1) -> list[Record]:
    """Return four rounds of one minute each, with a cliff after the second one."""
    found = [at("cliff_time", 120.0, point, repeat), at("cliff_written", 2e9, point, repeat)]
    found.append(at("cliff_fills", 1.5, point, repeat))
    for number, rate in enumerate(RATES, 1):
        values = {
            "round_iops": rate * repeat, "round_latency": 1 / rate, "round_latency_p99_9": 4 / rate,
            "round_latency_max": 9 / rate, "round_time": 60.0 * number, "round_written": 1e9 * number,
        }  # fmt: skip
        found += [at(metric, value, point, repeat, round=number) for metric, value in values.items()]
    return [*found, at("response_share", 100.0, point, repeat, latency=2.0**-12)]


def test_saturation_over_time_and_over_the_data_written() -> None:
    found = lines(course_figures([*saturated(), *saturated(repeat=3)]))
    assert list(found) == ["iops-over-time", "iops-over-written", "latency-over-time", "latency-over-written"]
    rate = found["iops-over-time"]
    assert (rate.series[0].x, rate.series[0].y) == ((60.0, 120.0, 180.0, 240.0), tuple(2 * value for value in RATES))
    assert (rate.series[0].low[0], rate.series[0].high[0]) == (9000.0, 27000.0)
    assert [(mark.x, mark.label) for mark in rate.markers] == [(120.0, "cliff after 1.5 drive fills")]
    written = found["latency-over-written"]
    assert [series.name for series in written.series] == ["mean", "p99.9", "maximum"]
    assert written.series[0].x == (1e9, 2e9, 3e9, 4e9)
    assert [mark.x for mark in written.markers] == [2e9]
    assert "plotted against data written" in written.caption


def test_two_saturated_drives_share_figures_without_a_cliff_of_one_of_them() -> None:
    found = course_figures([*saturated({"rw": "randwrite"}), *saturated({"rw": "write"})])
    assert [series.name for series in lines(found)["iops-over-time"].series] == ["rw randwrite", "rw write"]
    assert lines(found)["iops-over-time"].markers == ()
    [histogram] = [figure for figure in found if isinstance(figure, Bars)]
    assert [series.name for series in histogram.series] == ["rw randwrite", "rw write"]


def test_each_point_of_storage_latency_has_a_histogram_of_its_own() -> None:
    shares = [at("response_share", 50.0, {"iodepth": depth}, latency=2.0**-10) for depth in (1, 4)]
    shares += [at("response_share", 50.0, {"iodepth": 4}, latency=2**20 * 1e-9)]
    [histogram] = LATENCY.figures(shares)
    assert isinstance(histogram, Bars)
    assert [series.name for series in histogram.series] == ["4k 0/100, iodepth 1", "4k 0/100, iodepth 4"]
    assert {series.x for series in histogram.series} == {("977 µs", "1.05 ms")}
    assert histogram.series[0].y == (50.0, None)


def test_demand_has_the_depth_beside_each_mark() -> None:
    cells = [(jobs, depth) for jobs in (1, 4) for depth in (1, 8, 32) if (jobs, depth) != (4, 8)]
    records = [
        at(metric, value, numjobs=jobs, iodepth=depth)
        for jobs, depth in cells
        for metric, value in (("demand_iops", 100.0 * jobs * depth), ("demand_latency", depth * 1e-3))
    ]
    chart = lines(recovery_figures(records))["demand-intensity"]
    assert [(series.name, series.labels) for series in chart.series] == [
        ("1 job", ("1", "8", "32")), ("4 jobs", ("1", "32")),
    ]  # fmt: skip
    assert chart.series[1].x == (400.0, 12800.0)


def test_the_window_of_a_demand_test_is_shaded() -> None:
    window: dict[str, Scalar] = {"stage": "writes", "window": 2, "excursion": 20.0}
    load: dict[str, Scalar] = {"numjobs": 4, "iodepth": 8}
    records = [at("demand_iops", 100.0, **load), at("window_excursion", 5.0, **window)]
    records += [at("round_iops", 100.0 + number, stage="writes", round=number, **load) for number in (1, 2, 3)]
    chart = lines(recovery_figures(records))["demand-rounds-writes"]
    assert [(band.low, band.start, band.end) for band in chart.bands] == [(None, 2, 3)]
    assert chart.caption.endswith("The measurement window is shaded.")


def test_bursts_stand_beside_the_level_without_pauses() -> None:
    records = [at("burst_iops", 100.0 + burst, wait=5.0, burst=burst) for burst in (2, 1, 3)]
    records.append(at("baseline_iops", 50.0, wait=5.0))
    bursts, level = lines(recovery_figures(records))["idle-bursts"].series
    assert (bursts.x, bursts.y) == ((1, 2, 3), (101.0, 102.0, 103.0))
    assert (level.x, level.y) == ((1, 3), (50.0, 50.0))


def test_phases_over_the_time_under_load() -> None:
    records = []
    for spell, rounds in (("before", (1, 2)), ("after", (3, 4))):
        for number in rounds:
            where: dict[str, Scalar] = {"spell": spell, "round": number}
            for metric, value in (("spell_time", 60.0 * number), ("spell_bandwidth", 1e8 / number)):
                records.append(at(metric, value, **where))
    chart = lines(recovery_figures(records))["stimulus-throughput"]
    assert [(series.name, series.x) for series in chart.series] == [
        ("before", (60.0, 120.0)),
        ("after", (180.0, 240.0)),
    ]
    assert chart.series[0].details[0] is not None


def test_zones_of_each_pattern_form_a_chart() -> None:
    records = [at("zone_size", 100.0)]
    for zone in range(4):
        records.append(at("zone_offset", 100.0 * zone, zone=zone))
        for cell in HddParams().cells():
            metrics = ("zone_iops", "zone_latency") if cell.random else ("zone_bandwidth",)
            records += [at(metric, 10.0 - zone, **cell.coords, zone=zone) for metric in metrics]
    found = lines(zone_figures(records))
    names = [series.name.partition(", ") for series in found["zones-iops"].series]
    assert [chart for chart, _, _ in names] == [
        pattern for pattern in ("randread", "randrw 50 % reads", "randwrite") for _ in range(3)
    ]  # fmt: skip
    assert [size for _, _, size in names[:3]] == ["64K", "16K", "4K"]
    assert found["zones-throughput"].series[0].x == pytest.approx((12.5, 37.5, 62.5, 87.5))
    assert found["zones-throughput"].series[0].y == (10.0, 9.0, 8.0, 7.0)
    assert found["zones-throughput"].x.unit == "%"  # a place, not a setting: its axis has round ticks
