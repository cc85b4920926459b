"""The figures that result from several swept settings."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from asct.instruments.fio.figures import sweep_figures
from asct.sdk.figure import Bars, Figure, Heatmap, Line
from tests.fio.synthetic import point, side

SIZES = (4096, 16384, 32768, 131072)
SHARES = (100, 0, 50, 70)
DEPTHS = (1, 32, 256, 1024)


def matrix(**axes: tuple[Any, ...]) -> list[Any]:
    """Return reads at every point of a product, which become faster with depth and slower with size."""
    records = []
    for values in product(*axes.values()):
        settings = dict(zip(axes, values, strict=True))
        size, depth = settings.get("block_size", 4096), settings.get("iodepth", 16)
        rate = 50_000.0 * depth / (depth + 8) / (1 + size / 65536)
        records += point(settings, side(rate, size, depth / rate))
    return records


def figures_of(records: list[Any], axis: str | None = None) -> dict[str, Figure]:
    found = sweep_figures(records, axis)
    assert len({figure.slug for figure in found}) == len(found)
    return {figure.slug: figure for figure in found}


def names(figure: Figure) -> list[str]:
    assert not isinstance(figure, Heatmap)
    return [series.name for series in figure.series]


def line(figure: Figure) -> Line:
    assert isinstance(figure, Line)
    return figure


def test_the_eleven_charts_of_a_matrix_of_sizes_mixes_and_depths() -> None:
    """The charts show latency and rate against size, one chart for each depth, and latency, rate and bandwidth against
    depth at the largest size."""
    found = figures_of(matrix(block_size=SIZES, rwmixread=SHARES, iodepth=DEPTHS))
    shares = [f"rwmixread {share}" for share in sorted(SHARES)]
    for slug in ("latency", "io-rate"):
        chart = line(found[slug])
        assert names(chart) == [f"iodepth {depth}, {share}" for depth in DEPTHS for share in shares]
        assert {series.x for series in chart.series} == {SIZES}
        detail = chart.series[0].details[0]
        assert detail is not None
        assert detail.setting == "block_size 4K, rwmixread 0, iodepth 1"
    for slug in ("latency", "io-rate", "bandwidth"):
        chart = line(found[f"{slug}-over-iodepth"])
        assert names(chart) == shares
        assert {series.x for series in chart.series} == {DEPTHS}
    assert found["latency"].title == "Mean latency over BlockSize"
    assert found["bandwidth-over-iodepth"].title == "Bandwidth over IODepth, block_size 128K"


def test_the_number_of_figures_does_not_grow_with_the_points() -> None:
    """Whatever is swept, there is one figure per quantity and numeric axis, with at most twelve charts of eight
    lines."""
    patterns = ("read", "write", "randread", "randwrite", "rw", "randrw")
    sizes, depths = tuple(4096 << power for power in range(5)), tuple(1 << power for power in range(8))
    found = figures_of(matrix(rw=patterns, block_size=sizes, iodepth=depths))
    assert len(found) <= 20
    assert len({figure.title for figure in found.values()}) == len(found)
    assert len(names(found["bandwidth"])) == 30
    large = figures_of(matrix(block_size=sizes, iodepth=tuple(range(1, 12)), numjobs=tuple(range(1, 11))))
    assert len(large) <= 24
    assert len(names(large["bandwidth"])) == 5 * 8
    assert "8 of 10 values of numjobs are shown" in large["bandwidth"].caption


def test_a_map_of_all_settings_has_lines_between_the_mixes() -> None:
    found = figures_of(matrix(block_size=SIZES, rwmixread=SHARES, iodepth=DEPTHS))
    maps = {slug: chart for slug, chart in found.items() if isinstance(chart, Heatmap)}
    assert list(maps) == ["map-iops", "map-clat-p99", "map-clat-max"]
    rates = maps["map-iops"]
    assert rates.title == "IOPS by RWMixRead, IODepth and BlockSize"
    assert rates.columns == ("4K", "16K", "32K", "128K")
    assert rates.rows == tuple(f"{share}, {depth}" for share in sorted(SHARES) for depth in DEPTHS)
    assert rates.groups == (4, 8, 12)
    assert all(value is not None for row in rates.values for value in row)
    assert rates.values[3][0] == pytest.approx(50_000 * 1024 / 1032 / (1 + 1 / 16))


def test_the_cells_of_a_map_state_only_settings_that_rows_and_columns_do_not() -> None:
    rates = figures_of(matrix(block_size=SIZES, iodepth=DEPTHS, engine=("libaio",)))["map-iops"]
    assert isinstance(rates, Heatmap)
    details = [detail for row in rates.series for detail in row.details if detail is not None]
    assert len(details) == len(SIZES) * len(DEPTHS)
    assert {detail.setting for detail in details} == {"engine libaio"}


def test_a_hole_in_a_matrix_stays_one() -> None:
    records = [
        one for one in matrix(block_size=SIZES, iodepth=DEPTHS) if one.point != {"block_size": 4096, "iodepth": 32}
    ]
    found = figures_of(records)
    chart = found["map-iops"]
    assert isinstance(chart, Heatmap)
    assert chart.values[1][0] is None and chart.series[1].details[0] is None
    assert chart.columns == ("4K", "16K", "32K", "128K")
    assert chart.groups == ()


def test_of_many_rows_of_a_map_some_are_shown_and_told() -> None:
    chart = figures_of(matrix(block_size=SIZES, iodepth=tuple(range(1, 12)), numjobs=tuple(range(1, 12))))["map-iops"]
    assert isinstance(chart, Heatmap)
    assert len(chart.rows) == 40
    assert (chart.rows[0], chart.rows[-1]) == ("4K, 1", "128K, 11")
    jobs = {
        size: [row.partition(", ")[2] for row in chart.rows if row.startswith(f"{size},")] for size in ("4K", "128K")
    }
    assert jobs["4K"] == jobs["128K"] and len(jobs["4K"]) == 10
    assert "40 of 44 combinations of block_size, numjobs are shown" in chart.caption


def test_latency_over_bandwidth_for_patterns_and_sizes() -> None:
    """The figure contains six curves with eleven depths."""
    depths = tuple(2**power for power in range(11))
    found = figures_of(matrix(rw=("randread", "randwrite", "randrw"), block_size=(4096, 32768), iodepth=depths))
    for slug, factor in (("latency-bandwidth", 4096), ("latency-iops", 1)):
        chart = line(found[slug])
        assert len(chart.series) == 6
        assert {series.labels for series in chart.series} == {tuple(str(depth) for depth in depths)}
        assert chart.series[0].name == "randread, 4K"
        assert chart.series[0].x[0] == pytest.approx(50_000.0 / 9 / (1 + 1 / 16) * factor)
        assert names(found["latency"]) == names(chart)
        assert chart.x.scale == "log10", "rates of several sizes"


def test_reads_and_writes_of_a_mix_have_a_curve_each() -> None:
    records = []
    for depth in (1, 4, 16):
        both = side(1000.0 * depth, 4096, 2e-3) | side(1000.0 * depth, 4096, 1e-3, "write_")
        records += point({"iodepth": depth}, both)
    chart = line(figures_of(records, "iodepth")["latency-bandwidth"])
    assert names(chart) == ["read", "write"]
    assert chart.series[0].y == (2e-3,) * 3
    assert chart.series[1].y == (1e-3,) * 3


def test_of_many_charts_some_are_shown_evenly_and_told() -> None:
    found = figures_of(matrix(iodepth=tuple(range(1, 33)), numjobs=tuple(range(1, 21)), rwmixread=(0, 100)), "iodepth")
    chart = line(found["bandwidth"])
    jobs = list(dict.fromkeys(name.partition(", ")[0] for name in names(chart)))
    assert len(jobs) == 12
    assert (jobs[0], jobs[-1]) == ("numjobs 1", "numjobs 20")
    assert "12 of 20 values of numjobs are shown" in chart.caption


def test_a_value_has_its_interval_flags_and_setting() -> None:
    records = []
    for repeat, rate in ((1, 900.0), (2, 1000.0), (3, 1100.0)):
        for depth in (1, 4):
            records += point({"iodepth": depth}, side(rate * depth, 4096, 1e-3), repeat, flags=["noisy"])
    series = line(figures_of(records, "iodepth")["io-rate"]).series[0]
    assert (series.y[1], series.low[1], series.high[1]) == (4000.0, 3600.0, 4400.0)
    detail = series.details[1]
    assert detail is not None
    assert (detail.values, detail.kind) == ((3600.0, 4000.0, 4400.0), "repeat")
    assert (detail.flags, detail.setting) == (("noisy",), "iodepth 4")


def test_the_slowest_request_of_each_point() -> None:
    one = line(figures_of(matrix(iodepth=DEPTHS))["latency-percentiles"])
    assert names(one) == ["p50", "p90", "p99", "p99.9", "p99.99", "maximum"]
    assert one.series[-1].y == pytest.approx([value * 12 / 9 for value in one.series[-2].y if value])
    assert "latency-maximum" not in figures_of(matrix(iodepth=DEPTHS))
    lines = figures_of(matrix(rwmixread=(0, 50), iodepth=DEPTHS))
    assert names(lines["latency-maximum"]) == ["rwmixread 0", "rwmixread 50"]
    mapped = figures_of(matrix(rwmixread=SHARES, iodepth=DEPTHS))
    assert "map-clat-max" in mapped
    assert "latency-maximum" not in mapped


def test_distributions_along_one_setting_of_many_points() -> None:
    found = figures_of(matrix(block_size=SIZES, iodepth=DEPTHS))
    chart = found["read-latency-distribution"]
    assert isinstance(chart, Line)
    assert names(chart) == ["4K", "16K", "32K", "128K"]
    assert "4 of 16 points are shown: iodepth 1024." in chart.caption
    assert chart.series[0].y == (1.0, 50.0, 90.0, 99.0, 99.9, 99.99)
    assert list(chart.series[0].x) == sorted(float(x) for x in chart.series[0].x)
    assert "write-latency-distribution" not in found


def test_a_distribution_states_repeats_flags_and_settings() -> None:
    records = [
        one
        for repeat, depth in product((1, 2, 3), (4, 8))
        for one in point({"iodepth": depth}, side(4000.0, 4096, repeat * 1e-3), repeat, ["noisy"])
    ]
    detail = line(figures_of(records)["read-latency-distribution"]).series[0].details[0]
    assert detail is not None
    assert (detail.kind, detail.count, detail.flags, detail.setting) == ("repeat", 3, ("noisy",), "iodepth 4")
    assert detail.values == (), "the y axis shows shares, not latencies"


def test_a_measured_x_has_an_interval_as_well() -> None:
    records = [
        one
        for repeat, depth in product((1, 2, 3), DEPTHS)
        for one in point({"iodepth": depth}, side(1000.0 * depth * repeat, 4096, repeat * 1e-3), repeat)
    ]
    found = figures_of(records)
    curve = line(found["latency-iops"]).series[0]
    assert (curve.x[0], curve.x_low[0], curve.x_high[0]) == (2000.0, 1000.0, 3000.0)
    shares = line(found["read-latency-distribution"]).series[0]
    assert (shares.x[3], shares.x_low[3], shares.x_high[3]) == pytest.approx((6e-3, 3e-3, 9e-3))


def test_words_become_bars_and_no_curves_of_load() -> None:
    found = figures_of(matrix(rw=("read", "write", "randread")), "rw")
    assert isinstance(found["bandwidth"], Bars)
    assert "latency-bandwidth" not in found


def cpu_figures(used: float, everywhere: float) -> dict[str, Any]:
    records = []
    for depth in (1, 2):
        usage = {
            f"{which}_{kind}": value
            for which, value in (("cpu", everywhere), ("used_cpu", used))
            for kind in ("usr", "sys", "iowait", "irq", "soft")
        }
        records += point({"iodepth": depth}, side(1000.0, 4096, 1e-3) | usage)
    return figures_of(records, "iodepth")


def test_cpu_time_is_shown_once_where_the_jobs_run_on_all_cpus() -> None:
    found = cpu_figures(10.0, 10.4)
    assert [slug for slug in found if slug.startswith("cpu")] == ["cpu-utilization"]
    assert "all online CPUs" in found["cpu-utilization"].caption


def test_cpu_time_of_the_cpus_used_and_of_all() -> None:
    found = cpu_figures(18.0, 10.0)
    for slug in ("cpu-utilization", "cpu-utilization-all"):
        chart = found[slug]
        assert isinstance(chart, Bars)
        assert chart.stacked
        assert names(chart) == ["usr", "sys", "irq", "soft", "iowait"]


def test_cpu_time_of_many_points_is_that_of_some_and_told() -> None:
    records = []
    for depth, share in product(range(1, 17), (0, 100)):
        usage = {f"cpu_{kind}": 10.0 for kind in ("usr", "sys", "iowait", "irq", "soft")}
        records += point({"iodepth": depth, "rwmixread": share}, side(1000.0 + depth, 4096, 1e-3) | usage)
    chart = figures_of(records)["cpu-utilization"]
    assert isinstance(chart, Bars)
    assert chart.series[0].x == ("1", "3", "5", "7", "10", "12", "14", "16")
    assert "8 of 32 points are shown: rwmixread 0." in chart.caption
