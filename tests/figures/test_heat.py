"""Heat maps: their colors, numbers and marks, one map per host, and a table if there are few cells."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asct.analysis.combined import combined_figures
from asct.figures import theme
from asct.figures.heat import square
from asct.figures.scale import even_ticks
from asct.sdk.figure import Heatmap
from tests.figures.heat import cores, detailed, nodes
from tests.figures.rendered import render_figure, table_of
from tests.figures.test_render import accepted, curve


def trace(figure: Heatmap) -> dict[str, Any]:
    rendered = render_figure(figure, ["a", "b"])
    accepted(rendered)
    [found] = rendered["data"]
    return dict(found)


def test_values_are_in_the_prefix_that_suits_and_blanks_stay_blank() -> None:
    found = trace(nodes())
    assert found["z"] == [[459.1, 78.3, None], [78.8, 459.2, 21.5]]
    assert (found["x"], found["y"]) == (["Node 0", "Node 1", "Node 4"], ["Node 0", "Node 1"])
    assert found["colorbar"]["ticktext"] == ["0", "100", "200", "300", "459.2"]
    assert found["colorbar"]["title"]["text"] == "GB/s"
    assert found["hovertemplate"] == "Run node %{y}<br>Memory node %{x}<br><b>%{z:,.4~r} GB/s</b><extra></extra>"
    assert found["hoverongaps"] is False
    rates = trace(nodes(values=((14e3, 15e3),), rows=("r",), columns=("a", "b"), unit="ops/s"))
    assert "<b>%{z:,.4~r}k ops/s</b>" in rates["hovertemplate"], "as in the tooltips of other figures"


def test_a_tooltip_states_what_is_known_about_a_cell() -> None:
    found = trace(detailed(nodes()))
    assert found["hovertemplate"].endswith("<b>%{z:,.4~r} GB/s</b>%{customdata}<extra></extra>")
    lines = "<br>95 % interval 454.5 to 463.7 GB/s, 8 visits<br>noisy-host<br>data_size 1G"
    assert found["customdata"][0][0] == lines
    assert found["customdata"][0][2] == "", "the pair was not measured"
    titled = trace(detailed(nodes(title="Bandwidth, data_size 1G")))
    assert titled["customdata"][0][0] == lines.removesuffix("<br>data_size 1G"), "the title states the setting"


def test_a_matrix_without_details_has_no_more_to_state() -> None:
    bare = trace(nodes())
    assert "customdata" not in bare and "customdata" not in bare["hovertemplate"]


def test_a_tooltip_of_a_large_matrix_states_the_same() -> None:
    expected = ["", "<br>95 % interval 25.05 to 25.55 ns, 8 visits<br>noisy-host<br>data_size 1G"]
    assert trace(detailed(cores(65)))["customdata"][0][:2] == expected


@pytest.mark.parametrize(
    ("row", "template"),
    [
        ((212e9, 211.5e9), "%{z:,.1f}"),
        ((50.9e9, 94.58e9), "%{z:,.2f}"),
        ((212e9, 21.15e9), "%{z:,.4~r}"),
        ((212e9, 211e9), "%{z:,.4~r}"),
    ],
    ids=["tenths", "hundredths", "more than a decade", "whole numbers"],
)
def test_cells_of_the_same_decade_show_the_same_number_of_decimals(row: tuple[float, ...], template: str) -> None:
    assert trace(nodes(values=(row,), rows=("a",), columns=("a", "b")))["texttemplate"] == template


def test_cells_show_their_numbers_where_there_are_few() -> None:
    assert trace(cores(8))["texttemplate"] == "%{z:,.1f}"
    assert "texttemplate" not in trace(cores(10))
    rows = tuple(str(number) for number in range(41))
    tall = nodes(values=((1.0, 2.0),) * 41, rows=rows, columns=("a", "b"))
    assert "texttemplate" in trace(replace(tall, rows=rows[:40], values=tall.values[:40]))
    assert "texttemplate" not in trace(tall)
    assert (trace(cores(8))["xgap"], trace(cores(64))["xgap"]) == (1, 0)


@pytest.mark.parametrize(
    ("row", "ceiling", "ends", "last"),
    [
        ((24e-9, 160e-9), None, (0.0, 160.0), "160"),
        ((24e-9, 160e-9), 100e-9, (0.0, 100.0), "≥ 100"),
        ((24e-9, 80e-9), 200e-9, (0.0, 80.0), "80"),
        ((113e-9, 116e-9), None, (113.0, 135.6), "135.6"),
        ((100e-9, 190e-9), None, (100.0, 190.0), "190"),
        ((100e-9, 190e-9), 110e-9, (100.0, 110.0), "≥ 110"),
        ((300e-9, 400e-9), 200e-9, (300.0, 400.0), "400"),
        ((5e-9, None), None, (5.0, 6.0), "6"),
        ((None, None), None, (0.0, 1.0), "1"),
        ((0.0, 0.0), None, (0.0, 1.0), "1"),
        ((-5.0, -5.0), None, (-5.0, 0.0), "0"),
    ],
)
def test_colours_begin_at_zero_unless_all_is_far_from_it_and_end_at_the_ceiling(
    row: tuple[float | None, ...], ceiling: float | None, ends: tuple[float, float], last: str
) -> None:
    found = trace(nodes(values=(row,), rows=("r",), columns=("a", "b"), unit="s", ceiling=ceiling))
    assert found["colorbar"]["ticktext"][-1] == last
    assert found["colorbar"]["ticktext"][0] == f"{ends[0]:g}"
    assert (found["zmin"], found["zmax"]) == pytest.approx(ends)
    assert all(found["zmin"] <= mark <= found["zmax"] for mark in found["colorbar"]["tickvals"])


def test_a_logarithmic_scale_shows_ratios_and_the_values_themselves() -> None:
    row = (1.0, 10.0, None, 0.0, 2000.0)
    found = trace(nodes(values=(row,), rows=("r",), columns=tuple("abcde"), unit="s", logarithmic=True))
    assert found["z"] == [pytest.approx([0.0, 1.0, None, 0.0, 3.30103])]
    assert (found["zmin"], found["zmax"]) == pytest.approx((0.0, 3.30103))
    assert found["text"] == [["1", "10", "", "0", "2,000"]]
    assert found["texttemplate"] == "%{text}"
    assert "<b>%{text} s</b>" in found["hovertemplate"]
    assert found["colorbar"]["ticktext"] == ["1", "10", "100", "2,000"]
    assert found["colorbar"]["tickvals"][:3] == [0.0, 1.0, 2.0]


def test_a_logarithmic_scale_ends_at_the_ceiling() -> None:
    row = (1e-3, 2e-3, 900e-3)
    found = trace(nodes(values=(row,), rows=("r",), columns=tuple("abc"), unit="s", ceiling=0.1, logarithmic=True))
    assert found["zmax"] == pytest.approx(2.0)
    assert found["colorbar"]["ticktext"][-1] == "≥ 100"


@pytest.mark.parametrize("more", [{}, {"diverging": True}])
def test_values_within_a_decade_and_changes_have_a_linear_scale(more: dict[str, Any]) -> None:
    row = (2e-3, 9e-3) if not more else (-1.0, 90.0)
    found = trace(nodes(values=(row,), rows=("r",), columns=("a", "b"), unit="s", logarithmic=True, **more))
    assert "text" not in found
    assert found["zmax"] == pytest.approx(max(found["z"][0]))


@given(st.floats(-1e9, 1e9), st.floats(1e-6, 1e9))
def test_marks_are_few_even_and_inside(low: float, span: float) -> None:
    marks = even_ticks(low, low + span)
    slack = 1e-5 * (abs(low) + span)
    assert len(marks) <= 7
    assert all(low - slack <= mark <= low + span + slack for mark in marks)
    assert even_ticks(0.0, 165.0) == [0.0, 50.0, 100.0, 150.0]
    assert even_ticks(24.0, 42.0) == [25.0, 30.0, 35.0, 40.0]


def test_groups_are_parted_by_lines_that_show_on_every_colour() -> None:
    layout = render_figure(cores(8))["layout"]
    assert {(line["line"]["color"], line["line"]["width"]) for line in layout["shapes"]} == {
        (theme.PAPER, 3), (theme.INK, 1),
    }  # fmt: skip
    assert [(line.get("x0"), line.get("y0")) for line in layout["shapes"]] == [(0, 3.5), (3.5, 0)] * 2
    rows_only = render_figure(nodes(groups=(1,)))["layout"]["shapes"]
    assert [line["y0"] for line in rows_only] == [0.5, 0.5]
    assert square(cores(8)) and not square(nodes()) and not square(curve())


def test_the_first_row_is_on_top_and_names_are_text() -> None:
    hostile = '<a href="x">CPU</a>'
    figure = render_figure(nodes(x_title=hostile, y_title=hostile, columns=(hostile, "1", "2"), rows=("3", hostile)))
    accepted(figure)
    assert figure["layout"]["yaxis"]["autorange"] == "reversed"
    assert figure["layout"]["xaxis"]["type"] == figure["layout"]["yaxis"]["type"] == "category"
    assert "<a" not in json.dumps(figure)


def test_a_value_has_the_same_colour_in_both_themes() -> None:
    assert "colorscale" not in trace(cores(8))
    scales = {
        name: [stop[1] for stop in template["data"]["heatmap"][0]["colorscale"]]
        for name, template in theme.templates().items()
    }
    assert scales["light"] == scales["dark"] == list(theme.VIRIDIS)


def test_the_colours_are_told_apart_in_grey() -> None:
    def luminance(colour: str) -> float:
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    greys = [luminance(colour) for colour in theme.VIRIDIS]
    assert greys == sorted(greys)
    assert greys[-1] / greys[0] > 20


def test_a_large_map_is_small_and_the_same_each_time() -> None:
    text = json.dumps(render_figure(cores(576)), allow_nan=False)
    assert len(text) < 3_000_000
    assert text == json.dumps(render_figure(cores(576)), allow_nan=False)
    assert trace(cores(576))["z"][0][575] == pytest.approx(cores(576).values[0][575] * 1e9, rel=5e-3)  # type: ignore[operator]


def test_every_host_has_a_map_of_its_own() -> None:
    one = combined_figures({"a": (cores(8), nodes())})
    assert [figure.slug for figure in one] == ["cores-8", "nodes"]
    two = combined_figures({"a": (cores(8), nodes()), "b": (cores(8),)})
    assert [(figure.slug, figure.title) for figure in two] == [
        ("cores-8-a", "Core to core, 8 CPUs, a"), ("cores-8-b", "Core to core, 8 CPUs, b"),
        ("nodes-a", "Bandwidth between nodes, a"),
    ]  # fmt: skip
    assert [figure.host for figure in two if isinstance(figure, Heatmap)] == ["a", "b", "a"]
    mixed = combined_figures({"a": (curve(), nodes()), "b": (nodes(), curve())})
    assert [figure.slug for figure in mixed] == ["curve", "nodes-a", "nodes-b"]


def test_the_table_has_the_cells_of_the_map() -> None:
    grid = table_of(nodes())
    assert grid is not None
    assert [head.title for head in grid.heads] == ["Run node → Memory node", "Node 0", "Node 1", "Node 4"]
    assert [cell.text for cell in grid.rows[0]] == ["Node 0", "459.1 GB/s", "78.3 GB/s", "–"]
    assert table_of(cores(64)) is not None
    assert table_of(cores(66)) is None
