"""Sweeps as lines of text."""

from __future__ import annotations

import pytest

from asct.analysis.sparkline import sparkline, sweeps
from asct.sdk.figure import Axis, Bars, Line, Series

SIZES = (4096, 8192, 16384, 32768)


def test_the_lowest_and_the_highest_value_have_the_extreme_characters() -> None:
    assert sparkline([1.0, 2.0, 3.0, 8.0]) == "▁▂▃█"
    assert sparkline([8.0, None, 1.0]) == "█ ▁"
    assert sparkline([1.0, 10.0, 100.0], logarithmic=True) == "▁▅█"
    assert sparkline([0.0, 1.0, 10.0], logarithmic=True) == " ▁█"  # 0 has no logarithm


@pytest.mark.parametrize(("values", "line"), [([5.0, 5.0], "▅▅"), ([], ""), ([None, None], "  ")])
def test_without_a_range(values: list[float | None], line: str) -> None:
    assert sparkline(values) == line


def test_a_shared_scale() -> None:
    assert sparkline([1.0, 2.0], ends=(0.0, 7.0)) == "▂▃"


def test_many_values_are_merged() -> None:
    assert sparkline([float(number) for number in range(800)], most=8) == "▁▂▃▄▅▆▇█"
    assert len(sparkline([1.0] * 1000)) == 32


def figure(x: Axis, *series: Series, unit: str = "s") -> Line:
    return Line("slug", "Latency by size", "caption", x, Axis("Latency", unit), series)


def test_only_figures_over_settings_and_sizes_are_sweeps() -> None:
    size, rate = Axis("Size", "B", "log2"), Axis("Bandwidth", "B/s")
    curve = Series("n1", SIZES, (1e-9, 2e-9, 3e-9, 98.1e-9))
    (found,) = sweeps(
        [figure(size, curve), figure(rate, curve), figure(size, curve, unit="%"),
         Bars("b", "Bars", "", size, Axis("Latency", "s"), (curve,))], 8,
    )  # fmt: skip
    assert found.title == "Latency by size, 4K to 32K"
    assert found.rows == (("n1", "▁▁▁█", "1 ns to 98.1 ns"),)


def test_the_axis_is_named_unless_the_title_contains_it() -> None:
    depth = Axis("Queue depth")
    (found,) = sweeps([figure(depth, Series("", (1, 2, 4), (1.0, 2.0, 3.0)))], 8)
    assert found.title == "Latency by size, Queue depth 1 to 4"


def test_too_many_too_short_and_folded_series_are_left_out() -> None:
    size = Axis("Size", "B", "log2")
    curve, short = Series("n1", SIZES, (1e-9, 2e-9, 3e-9, 4e-9)), Series("n2", SIZES, (1e-9, None, None, 2e-9))
    folded = Series("n3", SIZES[::-1], (1e-9, 2e-9, 3e-9, 4e-9))
    (found,) = sweeps([figure(size, curve, short, folded)], 1)
    assert [name for name, _, _ in found.rows] == ["n1"]
    assert not list(sweeps([figure(size, curve, curve)], 1))


def test_different_ranges_of_x_are_not_given_as_one() -> None:
    size = Axis("Size", "B", "log2")
    one, two = Series("a", SIZES, (1.0, 2.0, 3.0, 4.0)), Series("b", SIZES[:3], (1.0, 2.0, 3.0))
    (found,) = sweeps([figure(size, one, two)], 8)
    assert found.title == "Latency by size"
