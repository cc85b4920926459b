"""The check of tooltips detects each missing part. This test needs no browser."""

from __future__ import annotations

from asct.figures.hover import hover_lines
from asct.figures.scale import AxisScale
from asct.sdk.figure import Series
from tests.browser.tooltips import missing_parts, untold_cells
from tests.figures.heat import detailed, nodes
from tests.figures.made import detail
from tests.figures.rendered import render_figure

FLAGS, SETTING = ("drift", "noisy-host"), "iodepth 4"
ONE = Series("reads", (4,), (2e3,), (1.9e3,), (2.1e3,), details=(detail(2e3, flags=FLAGS, setting=SETTING),))
LINES = hover_lines(ONE, 0, "4", AxisScale(1e3, "k ops/s"), AxisScale(1.0, ""))
PARTS = ("the value in 'k ops/s'", "the interval", "8 visit", *FLAGS, SETTING)


def missing(lines: list[str]) -> list[str]:
    return list(missing_parts(ONE, 0, "<br>".join(lines), "k ops/s"))


def test_a_tooltip_tells_every_part() -> None:
    assert missing(LINES) == []


def test_each_part_that_is_absent_is_named() -> None:
    assert missing(["4"]) == list(PARTS)
    lost = [part for number in range(len(LINES)) for part in missing(LINES[:number] + LINES[number + 1 :])]
    assert set(lost) == set(PARTS)


def test_each_part_that_a_cell_lacks_is_named() -> None:
    matrix = detailed(nodes())
    texts = render_figure(matrix)["data"][0]["customdata"]
    assert list(untold_cells(matrix, [texts])) == []
    [problem] = untold_cells(matrix, [])
    assert problem.endswith("of Node 0, Node 0 lacks the interval, 8 visit, noisy-host, data_size 1G")
    [problem] = untold_cells(nodes(), [])
    assert problem == "nodes: the cells have no details"
