"""The check of tooltips detects each missing part. This test needs no browser."""

from __future__ import annotations

from asct.figures.hover import hover_lines
from asct.figures.scale import AxisScale
from asct.sdk.figure import Series
from tests.browser.tooltips import missing_parts
from tests.figures.made import detail

FLAGS, SETTING = ("drift", "noisy-host"), "iodepth 4"
ONE = Series("reads", (4,), (2e3,), (1.9e3,), (2.1e3,), details=(detail(2e3, flags=FLAGS, setting=SETTING),))
LINES = hover_lines(ONE, 0, "4", AxisScale(1e3, "k ops/s"))
PARTS = ("the value in 'k ops/s'", "the interval", "8 visit", *FLAGS, SETTING)


def missing(lines: list[str]) -> list[str]:
    return list(missing_parts(ONE, 0, "<br>".join(lines), "k ops/s"))


def test_a_tooltip_tells_every_part() -> None:
    assert missing(LINES) == []


def test_each_part_that_is_absent_is_named() -> None:
    assert missing(["4"]) == list(PARTS)
    lost = [part for number in range(len(LINES)) for part in missing(LINES[:number] + LINES[number + 1 :])]
    assert set(lost) == set(PARTS)
