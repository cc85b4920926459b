"""The page of a comparison in a real browser: it is drawn without errors, and usable at any width, in dark mode and
without scripts."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from asct.analysis.diff.build import compare_all
from asct.analysis.diff.document import document
from asct.analysis.diff.report import build_report
from asct.analysis.diff.source import DiffSource
from asct.export.diff import html
from asct.registry import installed
from asct.sdk.record import Record
from tests.analysis.diff.runs import source, value, visits

pytestmark = pytest.mark.browser


def run(name: str, factor: float, **changes: Any) -> DiffSource:
    """Return a fio matrix with three block sizes and queue depths, and a latency for each combination."""

    def point(size: int, depth: int, metric: str, number: float, **more: Any) -> Record:
        swept = {"block_size": size, "iodepth": depth}
        return value(
            visits(number), benchmark="storage-fio", id="matrix", version=version, point=swept, coords={},
            point_id=f"{size}-{depth}", metric=metric, **more,
        )  # fmt: skip

    version = installed().get("storage-fio").version  # type: ignore[union-attr]
    records = []
    for size in (4096, 16384, 65536):
        for depth in (1, 2, 4):
            rate = factor * 1e5 * depth / (depth + size / 4096)
            records += [
                point(size, depth, "iops", rate, unit="ops/s", better="higher"),
                point(size, depth, "read_iops", rate, unit="ops/s", better="higher"),
                point(size, depth, "clat_p99", depth / rate, unit="s", better="lower"),
            ]
    return source(name, *records, **changes)


@pytest.fixture
def page(tmp_path: Path) -> Path:
    """Return the page that compares two runs with a base. One of the runs is slower and has a different Linux
    kernel."""
    kernel = {"a": {"CPU": "EPYC 7B13", "Linux kernel": "6.11 x86_64 " + "x" * 60}}
    sources = [run("20261121T042813Z-3f9c2a", 1.0), run("same", 1.0), run("slower", 0.7, machines=kernel)]
    diff = compare_all(sources[0], sources[1:], 0.01, installed())
    path = tmp_path / "diff.html"
    path.write_text(html.render(build_report(diff, installed(), html.MOST_ROWS), document(diff)))
    return path


def test_curves_and_matrices_are_drawn_and_nothing_else_happens(page: Path, opened: Callable[..., Any]) -> None:
    with opened(page) as (shown, seen):
        drawn = shown.evaluate("Array.from(document.querySelectorAll('.plot'), p => !!p.querySelector('.main-svg'))")
        assert len(drawn) >= 4
        assert all(drawn)
        assert shown.locator(".plot .heatmaplayer").count() >= 2
        assert (seen.errors, seen.console) == ([], [])
        assert [url for url in seen.requests if not url.startswith(("file://", "data:", "blob:"))] == []


def test_a_change_is_shown_with_both_values(page: Path, opened: Callable[..., Any]) -> None:
    with opened(page) as (shown, seen):
        plot = shown.locator("#plot-run-slower-matrix-a-map-iops")
        plot.evaluate("(plot) => Plotly.Fx.hover(plot, { xval: 0, yval: 0 }, 'xy')")
        lines = plot.locator(".hovertext tspan.line").all_text_contents()
        assert lines[2].startswith("-30.")
        assert [line.split(":")[0] for line in lines[3::2]] == ["base", "new"]
        assert all(re.fullmatch(r"95 % interval \S+ to \S+ ops/s, \d+ visits", line) for line in lines[4::2]), lines
        assert (seen.errors, seen.console) == ([], [])


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("dark", [False, True])
def test_the_page_never_scrolls_sideways(page: Path, opened: Callable[..., Any], width: int, dark: bool) -> None:
    with opened(page, width=width, dark=dark) as (shown, _):
        shown.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
        assert shown.evaluate("document.documentElement.scrollWidth") <= width


def test_tables_are_there_without_script(page: Path, opened: Callable[..., Any]) -> None:
    with opened(page, script=False) as (shown, seen):
        text = shown.inner_text("main")
        assert "6.11 x86_64" in text
        assert "27 regressed" in text
        assert "-30.0\N{NO-BREAK SPACE}% [" in text
        assert seen.errors == []
