"""Heat maps in a real browser: drawn at any width and in both color schemes, explained by tooltips, and fast even with
576 CPUs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from asct.export import write
from asct.sdk.figure import Figure
from tests.export.fakes import sample_view
from tests.figures.heat import cores, detailed, nodes

pytestmark = pytest.mark.browser

Reports = Callable[..., Path]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Reports:
    """`report(figure, ...)` returns a page whose first benchmark has these figures."""
    made: dict[tuple[str, ...], Path] = {}

    def make(*figures: Figure) -> Path:
        key = tuple(figure.slug for figure in figures)
        if key not in made:
            view = sample_view(tmp_path_factory.mktemp("results"))
            object.__setattr__(view.jobs[0], "figures", figures)
            object.__setattr__(view.jobs[1], "figures", ())
            [made[key]] = write(view, "html", view.root)
        return made[key]

    return make


def test_both_ends_of_the_colour_bar_are_labelled_on_a_phone(report: Reports, opened: Any) -> None:
    """There is no room for 300 beside 326.7."""
    figure = nodes(slug="ends", values=((169.6e9, 326.7e9),), rows=("a socket",), columns=("a", "b"))
    with opened(report(figure), width=390) as (page, _):
        labels = page.evaluate("document.querySelector('#plot-latency-sweep-ends').data[0].colorbar.ticktext")
        assert (labels[0], labels[-1]) == ("169.6", "326.7")
        assert "300" not in labels


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("dark", [False, True])
def test_a_map_is_drawn_in_the_same_colours_on_every_paper(
    report: Reports, opened: Any, width: int, dark: bool
) -> None:
    with opened(report(cores(8), nodes()), width=width, dark=dark) as (page, seen):
        plot = page.locator("#plot-latency-sweep-cores-8")
        assert plot.locator(".heatmaplayer image").count() == 1
        labels = plot.locator(".heatmap-label").all_text_contents()
        assert len(labels) == 56
        assert "24.7" in "".join(labels)
        box = plot.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
        assert box["height"] >= 0.8 * box["width"]
        first, last = page.evaluate(
            "((scale) => [scale[0][1], scale.at(-1)[1]])"
            "(document.querySelector('#plot-latency-sweep-cores-8')._fullData[0].colorscale)"
        )
        assert [first, last] == ["#440154", "#fde725"]
        assert "GB/s" in page.locator("#plot-latency-sweep-nodes").text_content()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert seen.errors == []
        assert seen.console == []


@pytest.mark.parametrize("width", [390, 720, 1280])
def test_a_map_without_a_neighbour_fills_its_row(report: Reports, opened: Any, width: int) -> None:
    with opened(report(cores(8)), width=width) as (page, _):
        plot, row = (page.locator(name).bounding_box() for name in ("#plot-latency-sweep-cores-8", ".figures >> nth=0"))
        assert plot["width"] > 0.95 * row["width"]


def test_hovering_names_row_column_and_value_with_its_unit(report: Reports, opened: Any) -> None:
    with opened(report(cores(8), nodes())) as (page, _):
        area = page.locator("#plot-latency-sweep-nodes .nsewdrag").first
        area.scroll_into_view_if_needed()
        box = area.bounding_box()
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 4)
        hover = page.locator("#plot-latency-sweep-nodes .hoverlayer .hovertext")
        hover.wait_for()
        lines = hover.locator("tspan.line").all_text_contents()
        assert lines == ["Run node Node 0", "Memory node Node 1", "78.3 GB/s"]


def test_a_large_map_tells_what_is_known_about_a_value(report: Reports, opened: Any) -> None:
    hostile = '<img src=x onerror="alert(1)"> $x^2$ 5'
    large = detailed(cores(65))
    [_, first, *others] = large.series[0].details
    assert first is not None
    row = replace(large.series[0], details=(None, replace(first, flags=(hostile,)), *others))
    with opened(report(replace(large, series=(row, *large.series[1:])))) as (page, seen):
        plot = page.locator("#plot-latency-sweep-cores-65")
        plot.evaluate("(plot) => Plotly.Fx.hover(plot, { xval: 1, yval: 0 }, 'xy')")
        lines = plot.locator(".hovertext tspan.line").all_text_contents()
        assert lines[:3] == ["CPU A 0", "CPU B 1", "25.3 ns"]
        assert lines[3:] == ["95 % interval 25.05 to 25.55 ns, 8 visits", hostile, "data_size 1G"]
        assert (seen.errors, seen.console) == ([], [])


def test_the_axis_titles_stand_below_their_labels(report: Reports, opened: Any) -> None:
    with opened(report(cores(8), nodes())) as (page, _):
        label = page.locator("#plot-latency-sweep-cores-8 .xtick").first.bounding_box()
        title = page.locator("#plot-latency-sweep-cores-8 .xtitle").bounding_box()
        assert title["y"] >= label["y"] + label["height"] - 1
        end = page.locator("#plot-latency-sweep-cores-8 .cbaxis text").last.text_content()
        assert end == "159.9"


def test_a_map_of_576_cpus_is_small_and_soon_there(report: Reports, opened: Any) -> None:
    path = report(cores(576))
    assert path.stat().st_size <= 5_000_000
    with opened(path, width=390) as (page, seen):
        assert page.locator("#plot-latency-sweep-cores-576 .heatmaplayer image").count() == 1
        assert "records.jsonl" in page.locator("#latency-sweep-cores-576").inner_text()
        assert page.locator("#latency-sweep-cores-576 table").count() == 0
        ticks = page.locator("#plot-latency-sweep-cores-576 .xtick").count()
        assert 3 <= ticks <= 20
        assert seen.errors == []


def test_without_script_the_cells_are_a_table(report: Reports, opened: Any) -> None:
    with opened(report(cores(8), nodes()), script=False) as (page, _):
        page.locator("#latency-sweep-nodes summary").click()
        assert "459.1\N{NO-BREAK SPACE}GB/s" in page.locator("#latency-sweep-nodes table").inner_text()


def test_a_map_prints_as_a_square_unless_it_has_few_rows(report: Reports, opened: Any) -> None:
    with opened(report(cores(8), cores(4), nodes()), dark=True) as (page, seen):
        page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        for name, height in (("cores-8", 660), ("cores-4", 420), ("nodes", 320)):
            plot = f"document.querySelector('#plot-latency-sweep-{name}')"
            page.wait_for_function(f"{plot}._fullLayout?.height === {height}")
        box = page.locator("#plot-latency-sweep-cores-8").bounding_box()
        assert box["width"] >= 660 and box["height"] >= 660
        assert seen.errors == []
