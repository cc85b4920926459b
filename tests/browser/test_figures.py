"""Figures in a real browser: every kind obeys the rules at any width, and the legend, the tooltips and zooming work."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from asct.export import write
from asct.sdk.figure import Axis, Series
from tests.export.fakes import sample_view
from tests.figures.heat import cores, nodes
from tests.figures.made import DEPTHS, bars, loaded, steady, sweep

pytestmark = pytest.mark.browser

RULES = Path(__file__).with_name("rules.js").read_text(encoding="utf-8")
HOSTS = tuple(f"node-{number:02}" for number in range(20))


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    view = sample_view(tmp_path_factory.mktemp("results"))
    depths = tuple(f"iodepth {depth}" for depth in DEPTHS)
    same = sweep(("",), ("a", "b", "c"), slug="close")
    close = tuple(replace(one, y=tuple(1e4 + 10 * number for _ in one.y)) for number, one in enumerate(same.series))
    sizes = tuple(2**power for power in range(11, 29))
    wide = replace(
        same, slug="sizes", x=Axis("Working set", "B", "log2"), series=(Series("s", sizes, tuple(map(float, sizes))),)
    )
    few = Series("read", (10.7e9, 306.5e9), (1e-7, 4e-7), (0.95e-7, 3.8e-7), (1.05e-7, 4.2e-7), labels=("1", "32"))
    many = (sweep(depths, ("a", "b", "c"), slug="panels"), sweep(("",), HOSTS, slug="hosts"))
    figures = (
        loaded(),
        bars(),
        replace(bars(scale="log10"), slug="points"),
        cores(8),
        cores(64),
        nodes(),
        steady(),
        sweep(("read", "write")),
        *many,
        replace(same, series=close),
        wide,
        replace(loaded(), slug="two-loads", series=(few,), markers=()),
    )
    object.__setattr__(view.jobs[0], "figures", figures)
    object.__setattr__(view.jobs[1], "figures", ())
    [path] = write(view, "html", view.root)
    return path


def show_all(page: Any) -> None:
    for plot in page.locator(".plot:visible").all():
        plot.scroll_into_view_if_needed()
        plot.locator(".main-svg").first.wait_for(state="attached")


@pytest.mark.parametrize("width", [1280, 390])
def test_every_kind_of_figure_keeps_the_rules(report: Path, opened: Any, width: int) -> None:
    with opened(report, width=width) as (page, seen):
        page.evaluate(RULES)
        show_all(page)
        found = page.evaluate("window.rules.figures()")
        assert {rule: broken for rule, broken in found.items() if broken} == {}
        tall = page.evaluate(
            "Array.from(document.querySelectorAll('.legend')).filter(e => e.offsetHeight > "
            "0.2 * (e.offsetHeight + e.nextElementSibling.offsetHeight) + 1).map(e => e.textContent)"
        )
        assert tall == []
        assert seen.errors == []
        assert seen.console == []


@pytest.mark.parametrize("width", [390, 1280])
def test_both_marks_of_a_curve_with_two_loads_are_labelled(report: Path, opened: Any, width: int) -> None:
    with opened(report, width=width) as (page, _):
        plot = page.locator("#plot-latency-sweep-two-loads")
        plot.scroll_into_view_if_needed()
        plot.locator(".main-svg").first.wait_for(state="attached")
        assert plot.locator(".textpoint").all_text_contents() == ["1", "32"]


def test_labels_of_panels_on_a_phone_are_upright_only_if_they_do_not_fit(report: Path, opened: Any) -> None:
    with opened(report, width=390) as (page, _):
        plot = page.locator("#plot-latency-sweep-panels")
        plot.scroll_into_view_if_needed()
        plot.locator(".main-svg").first.wait_for(state="attached")
        assert plot.evaluate("plot => plot._fullLayout.xaxis3.tickangle") == 0, "there is room for eight depths"


@pytest.mark.parametrize("width", [390, 430, 480])
def test_labels_of_sizes_remain_evenly_spaced(report: Path, opened: Any, width: int) -> None:
    with opened(report, width=width) as (page, _):
        plot = page.locator("#plot-latency-sweep-sizes")
        plot.scroll_into_view_if_needed()
        plot.locator(".main-svg").first.wait_for(state="attached")
        shown = plot.evaluate("plot => plot._fullLayout.xaxis.tickvals")
        assert len(shown) >= 3
        assert len({after / before for before, after in pairwise(shown)}) == 1, shown


def test_the_legend_of_lines_that_coincide_shows_their_widths(report: Path, opened: Any) -> None:
    with opened(report) as (page, _):
        widths = page.locator("figure:has(#plot-latency-sweep-close) .legend path[stroke-width]").evaluate_all(
            "paths => paths.map(path => path.getAttribute('stroke-width'))"
        )
        assert widths == ["6", "4", "2"]


@pytest.mark.parametrize(("width", "buttons"), [(1280, True), (390, False)])
def test_plots_side_by_side_have_buttons_and_those_on_a_phone_do_not(
    report: Path, opened: Any, width: int, buttons: bool
) -> None:
    with opened(report, width=width) as (page, _):
        plot = page.locator("figure:not(.alone, .panels) .plot").first
        plot.scroll_into_view_if_needed()
        plot.locator(".main-svg").first.wait_for(state="attached")
        assert (plot.locator(".modebar-btn").count() > 0) is buttons


BROKEN = {
    "barsOnLog": "Plotly.relayout('plot-latency-sweep-peak', {'yaxis.type': 'log', 'yaxis.range': [0, 3]})",
    "loneFigures": "for (const one of document.querySelectorAll('.alone')) one.classList.remove('alone')",
    "uneven": "document.querySelector('figure:not(.alone, .panels) .plot').style.marginTop = '9px'",
    "slantedTicks": "document.querySelector('.xtick text').setAttribute('transform', 'rotate(30,0,0)')",
    "brokenCounts": "document.querySelector('#plot-latency-sweep-steady .xtick text').textContent = '1.5'",
    "crossedLabels": "document.querySelector('.textpoint').setAttribute('transform', 'translate(0,4)')",
    "strayLabels": "document.querySelector('.textpoint').setAttribute('transform', 'translate(0,-500)')",
}


@pytest.mark.parametrize("rule", BROKEN)
def test_the_rules_notice_what_breaks_them(report: Path, opened: Any, rule: str) -> None:
    with opened(report) as (page, _):
        page.evaluate(RULES)
        show_all(page)
        assert page.evaluate("window.rules.figures()")[rule] == []
        page.evaluate(BROKEN[rule])
        assert len(page.evaluate("window.rules.figures()")[rule]) > 0


def test_the_legend_hides_and_shows_a_name_in_all_panels(report: Path, opened: Any) -> None:
    shown = "document.querySelector('#plot-latency-sweep-panels')._fullData.filter(t => t.visible === true).length"
    with opened(report) as (page, seen):
        figure = page.locator("figure#latency-sweep-panels")
        figure.locator(".main-svg").first.wait_for(state="attached")
        before = page.evaluate(shown)
        button = figure.locator(".legend").get_by_role("button", name="iodepth 16")
        button.press("Enter")
        hidden = figure.locator(".legend button[aria-pressed=false]")
        hidden.wait_for()
        assert hidden.text_content() == "iodepth 16"
        page.wait_for_function(f"{shown} < {before}")
        assert page.evaluate(shown) <= before - 3
        hidden.click()
        page.wait_for_function(f"{shown} === {before}")
        assert seen.errors == []


def test_the_tooltip_names_value_interval_visits_and_load(report: Path, opened: Any) -> None:
    with opened(report) as (page, _):
        plot = page.locator("#plot-latency-sweep-loaded")
        plot.scroll_into_view_if_needed()
        plot.locator(".main-svg").first.wait_for(state="attached")
        page.evaluate("""() => {
          const plot = document.querySelector('#plot-latency-sweep-loaded');
          const curve = plot._fullData.findIndex((trace) => trace.customdata);
          Plotly.Fx.hover(plot, [{ curveNumber: curve, pointNumber: 3 }]);
        }""")
        hover = plot.locator(".hoverlayer .hovertext")
        hover.wait_for()
        text = str(hover.text_content())
        assert text.startswith("175.3 GB/s, NOPs 180: 122.2 ns")
        assert "95 % interval" in text and "8 visits" in text


def test_a_part_of_an_axis_has_ticks_too(report: Path, opened: Any) -> None:
    with opened(report) as (page, seen):
        plot = page.locator("#plot-latency-sweep-loaded")
        plot.scroll_into_view_if_needed()
        plot.locator(".main-svg").first.wait_for(state="attached")
        whole = plot.locator(".xtick").all_text_contents()
        page.evaluate(
            "Plotly.relayout(document.querySelector('#plot-latency-sweep-loaded'),"
            " {'xaxis.range[0]': 300, 'xaxis.range[1]': 340})"
        )
        page.wait_for_function(
            "document.querySelector('#plot-latency-sweep-loaded')._fullLayout.xaxis.tickmode === 'auto'"
        )
        assert plot.locator(".xtick").count() >= 3
        assert plot.locator(".xtick").all_text_contents() != whole
        assert seen.errors == []
