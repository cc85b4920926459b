"""Which figures several swept settings become."""

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
    """Reads at every point of a product, faster with depth and slower with size."""
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
    return [line.name for line in figure.series]


def test_the_eleven_charts_of_a_matrix_of_sizes_mixes_and_depths() -> None:
    """Latency and rate over size at each depth; latency, rate and bandwidth over depth at the largest size."""
    found = figures_of(matrix(block_size=SIZES, rwmixread=SHARES, iodepth=DEPTHS))
    wanted = [f"{name}-iodepth-{depth}" for name in ("latency", "io-rate") for depth in DEPTHS]
    wanted += [f"{name}-over-iodepth" for name in ("latency", "io-rate", "bandwidth")]
    assert set(wanted) <= set(found)
    for slug in wanted:
        chart = found[slug]
        assert isinstance(chart, Line)
        assert [line.name for line in chart.series] == [f"rwmixread {share}" for share in sorted(SHARES)]
        assert chart.series[0].x == (DEPTHS if "-over-" in slug else SIZES)
    assert found["latency-iodepth-32"].title == "Mean latency, iodepth 32"
    assert found["bandwidth-over-iodepth"].title == "Bandwidth over IODepth, block_size 128K"


def test_maps_of_two_settings_for_each_value_of_the_third() -> None:
    found = figures_of(matrix(block_size=SIZES, rwmixread=SHARES, iodepth=DEPTHS))
    maps = [chart for chart in found.values() if isinstance(chart, Heatmap)]
    assert len(maps) == 8
    assert maps[0].columns == ("4K", "16K", "32K", "128K")
    assert maps[0].rows == ("1", "32", "256", "1024")
    assert all(value is not None for row in maps[0].values for value in row)
    assert maps[0].values[3][0] == pytest.approx(50_000 * 1024 / 1032 / (1 + 1 / 16))


def test_a_hole_in_a_matrix_stays_one() -> None:
    records = [
        one for one in matrix(block_size=SIZES, iodepth=DEPTHS) if one.point != {"block_size": 4096, "iodepth": 32}
    ]
    found = figures_of(records)
    chart = found["map-iops"]
    assert isinstance(chart, Heatmap)
    assert chart.values[1][0] is None


def test_latency_over_bandwidth_for_patterns_and_sizes() -> None:
    """Six curves of eleven depths, as one figure."""
    depths = tuple(2**power for power in range(11))
    found = figures_of(matrix(rw=("randread", "randwrite", "randrw"), block_size=(4096, 32768), iodepth=depths))
    chart = found["latency-bandwidth"]
    assert isinstance(chart, Line)
    assert len(chart.series) == 6
    assert {len(line.x) for line in chart.series} == {11}
    assert chart.series[0].name == "randread, 4K"
    assert names(found["latency"]) == names(chart)


def test_reads_and_writes_of_a_mix_have_a_curve_each() -> None:
    records = []
    for depth in (1, 4, 16):
        both = side(1000.0 * depth, 4096, 2e-3) | side(1000.0 * depth, 4096, 1e-3, "write_")
        records += point({"iodepth": depth}, both)
    chart = figures_of(records, "iodepth")["latency-bandwidth"]
    assert isinstance(chart, Line)
    assert [line.name for line in chart.series] == ["read", "write"]
    assert chart.series[0].y == (2e-3,) * 3
    assert chart.series[1].y == (1e-3,) * 3


def test_many_values_are_shown_evenly() -> None:
    found = figures_of(matrix(iodepth=tuple(range(1, 33)), numjobs=tuple(range(1, 21)), rwmixread=(0, 100)), "iodepth")
    panels = [slug for slug in found if slug.startswith("bandwidth-numjobs-")]
    assert len(panels) == 8
    assert panels[0] == "bandwidth-numjobs-1"
    assert panels[-1] == "bandwidth-numjobs-20"


def test_distributions_along_one_setting_of_many_points() -> None:
    found = figures_of(matrix(block_size=SIZES, iodepth=DEPTHS))
    chart = found["read-latency-distribution"]
    assert isinstance(chart, Line)
    assert [line.name for line in chart.series] == ["4K", "16K", "32K", "128K"]
    assert "4 of 16 points: iodepth 1024." in chart.caption
    assert chart.series[0].y == (1.0, 50.0, 90.0, 99.0, 99.9, 99.99)
    assert list(chart.series[0].x) == sorted(float(x) for x in chart.series[0].x)
    assert "write-latency-distribution" not in found


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
        assert [line.name for line in chart.series] == ["usr", "sys", "irq", "soft", "iowait"]
