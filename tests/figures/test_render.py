"""Figures are converted to plotly figures that plotly itself accepts, and the result is always the same."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest

from asct.figures import theme
from asct.figures.render import plotly_javascript
from asct.figures.scale import guide, prefixed, rounded, size_label
from asct.sdk.figure import Axis, Bars, Line, Marker, Rated, Series
from tests.figures.rendered import render_figure, table_of

SIZES = tuple(128 * 2**power for power in range(24))


def curve(**changes: Any) -> Line:
    body: dict[str, Any] = {
        "slug": "curve", "title": "t", "caption": "c", "x": Axis("Data size", "B", "log2"),
        "y": Axis("Latency", "s", "log10"),
        "series": (Series("latency", SIZES, tuple(1.23456789e-9 * (n + 1) for n in range(24))),),
    }  # fmt: skip
    return Line(**{**body, **changes})


def accepted(figure: dict[str, Any]) -> None:
    """Validate a figure with plotly, which raises an exception for an unknown property or value."""
    from plotly.graph_objects import Figure

    Figure(figure, skip_invalid=False)
    for name, template in theme.templates().items():
        assert name in ("light", "dark")
        Figure(layout={"template": template})


def test_a_log2_axis_of_bytes_has_binary_ticks() -> None:
    figure = render_figure(curve())
    accepted(figure)
    axis = figure["layout"]["xaxis"]
    assert axis["type"] == "log"
    assert axis["ticktext"][:3] == ["512", "4K", "32K"]
    assert axis["tickvals"][-1] == 2**30
    assert figure["layout"]["yaxis"]["title"]["text"] == "Latency (ns)"
    assert figure["data"][0]["y"][0] == 1.23457


def test_the_json_has_plain_lists_only_and_no_template() -> None:
    text = json.dumps(render_figure(curve()), allow_nan=False)
    assert "bdata" not in text
    assert '"template"' not in text
    assert text == json.dumps(render_figure(curve()), allow_nan=False)


def test_intervals_are_a_band_on_long_lines_and_bars_on_short_ones() -> None:
    low, high = tuple(1e-9 for _ in SIZES), tuple(40e-9 for _ in SIZES)
    [band, line] = render_figure(curve(series=(Series("a", SIZES, tuple(2e-9 for _ in SIZES), low, high),)))["data"]
    assert band["fill"] == "toself"
    assert band["hoverinfo"] == "skip"
    assert len(band["x"]) == 48
    assert "error_y" not in line
    short = Series("a", (1, 2), (2e-9, None), (1e-9, None), (4e-9, None))
    [trace] = render_figure(curve(series=(short,)))["data"]
    assert trace["error_y"]["arrayminus"] == [1.0, 0.0]
    assert trace["error_y"]["array"] == [2.0, 0.0]
    accepted(render_figure(curve(series=(short,))))


def over_bandwidth(xs: tuple[float, ...]) -> Line:
    ys = tuple(1e-7 * (n + 1) for n in range(len(xs)))
    series = Series("reads", xs, ys, tuple(y * 0.9 for y in ys), tuple(y * 1.1 for y in ys))
    return curve(x=Axis("Bandwidth", "B/s"), y=Axis("Latency", "s"), series=(series,), markers=(Marker(2e10, "knee"),))


def test_a_linear_axis_takes_a_prefix_with_its_lines() -> None:
    figure = render_figure(over_bandwidth((1e9, 2.5e10, 2.4e10)))
    accepted(figure)
    assert figure["layout"]["xaxis"]["title"]["text"] == "Bandwidth (GB/s)"
    assert figure["data"][0]["x"] == [1.0, 25.0, 24.0]
    assert figure["layout"]["shapes"][0]["x0"] == 20.0


def test_a_logarithmic_axis_takes_the_prefix_of_its_middle() -> None:
    series = Series("reads", (1.5e-5, 8e-4, 2e-1), (1.0, 50.0, 99.0))
    figure = render_figure(
        curve(x=Axis("Latency", "s", "log10"), y=Axis("Requests", "%"), series=(series,), markers=())
    )
    accepted(figure)
    assert figure["layout"]["xaxis"]["title"]["text"] == "Latency (\N{MICRO SIGN}s)"
    assert figure["data"][0]["x"] == [15.0, 800.0, 200_000.0]
    assert figure["layout"]["xaxis"]["type"] == "log"


def test_a_table_of_a_line_has_units_on_both_sides() -> None:
    grid = table_of(over_bandwidth((1e9, 2.5e10)))
    assert grid is not None
    assert [[cell.text for cell in row] for row in grid.rows] == [["1 GB/s", "100 ns"], ["25 GB/s", "200 ns"]]


def test_a_figure_and_its_table_have_one_unit() -> None:
    """The largest bandwidth of a server does not change the unit of the axis, nor does a small value that of a row."""
    chart = curve(y=Axis("Bandwidth", "B/s"), series=(Series("read", (4096, 8192, 16384), (9e8, 8.1e11, 1.25e12)),))
    assert render_figure(chart)["layout"]["yaxis"]["title"]["text"] == "Bandwidth (GB/s)"
    grid = table_of(chart)
    assert grid is not None
    assert [row[1].text for row in grid.rows] == ["0.9 GB/s", "810 GB/s", "1,250 GB/s"]


def test_a_table_of_a_curve_over_load_has_a_row_for_each_mark() -> None:
    line = over_bandwidth((2.5e10, 2.5e10))
    figure = replace(line, series=tuple(replace(series, labels=("16", "32")) for series in line.series))
    grid = table_of(figure)
    assert grid is not None
    assert [head.title for head in grid.heads][:2] == ["Line", "Mark"]
    assert [[cell.text for cell in row][1:] for row in grid.rows] == [
        ["16", "25 GB/s", "100 ns"], ["32", "25 GB/s", "200 ns"],
    ]  # fmt: skip


def test_a_line_that_turns_back_has_bars_however_long() -> None:
    rising = tuple(1e9 * n for n in range(1, 21))
    assert [len(render_figure(over_bandwidth(xs))["data"]) for xs in (rising, (*rising, 5e9))] == [2, 1]


def test_bounds_are_labelled_lines_and_hints_are_dotted() -> None:
    markers = (Marker(32768.0, "L1 ends", "bound"), Marker(33000.0, "L1d 32K", "hint"), Marker(2**20, "L2 ends"))
    figure = render_figure(curve(markers=markers))
    accepted(figure)
    layout = figure["layout"]
    assert [shape["line"]["dash"] for shape in layout["shapes"]] == ["solid", "dot", "solid"]
    assert [shape["x0"] for shape in layout["shapes"]] == [32768.0, 33000.0, 2**20]
    assert layout["annotations"][0]["x"] == pytest.approx(4.5154, abs=1e-3)
    assert layout["annotations"][0]["yshift"] != layout["annotations"][1]["yshift"]


def test_a_host_keeps_its_colour_and_series_of_one_host_differ_by_shape() -> None:
    def two(*hosts: str) -> tuple[Series, ...]:
        return tuple(Series(f"{host} {name}", (1, 2), (1.0, 2.0), host=host) for host in hosts for name in ("r", "w"))

    both = render_figure(curve(series=two("a", "b")), ["a", "b"])["data"]
    assert [trace["line"]["color"] for trace in both] == [theme.LIGHT[0]] * 2 + [theme.LIGHT[1]] * 2
    assert len({(trace["marker"]["symbol"], trace["line"]["color"]) for trace in both}) == 4
    only_b = render_figure(curve(series=two("b")[:1]), ["a", "b"])["data"]
    assert only_b[0]["line"]["color"] == theme.LIGHT[1]
    single = render_figure(curve(series=two("a")), ["a"])["data"]
    assert single[0]["line"]["color"] != single[1]["line"]["color"]


def test_stacked_bars_tell_their_shares_by_colour() -> None:
    series = tuple(Series(name, (1, 2), (10.0, 20.0), host="b") for name in ("usr", "sys"))
    bars = Bars("cpu", "CPU", "c", Axis("Depth", "", "category"), Axis("Share", "%"), series, stacked=True)
    figure = render_figure(bars, ["a", "b"])
    accepted(figure)
    assert figure["layout"]["barmode"] == "stack"
    assert figure["layout"]["xaxis"]["type"] == "category"
    assert [trace["marker"]["color"] for trace in figure["data"]] == list(theme.LIGHT[:2])
    assert figure["data"][0]["x"] == ["1", "2"]
    assert figure["data"][1]["marker"]["pattern"]["shape"] == "/"


def test_texts_are_shown_letter_by_letter() -> None:
    hostile = '<a href="javascript:alert(1)">x</a>&amp;'
    figure = curve(
        series=(Series(hostile, (1, 2), (1.0, 2.0)), Series("b", ("x" + hostile, "y"), (1.0, 2.0))),
        x=Axis(hostile, "", "category"), y=Axis(hostile, "s"),
    )  # fmt: skip
    text = json.dumps(render_figure(figure))
    assert "<a" not in text
    assert "&lt;a href" in text
    assert "&amp;amp;" in text


@pytest.mark.parametrize(
    ("values", "unit", "expected"),
    [
        ([1e-9, 120e-9], "s", (1e-9, "ns")), ([3e-6], "s", (1e-6, "µs")), ([2.5], "s", (1.0, "s")),
        ([4e8, 1.2e10], "B/s", (1e9, "GB/s")), ([57_900.0], "ops/s", (1e3, "k ops/s")), ([12.0], "%", (1.0, "%")),
        ([3.0], "1", (1.0, "")), ([], "s", (1.0, "s")), ([None, 0.0], "B/s", (1.0, "B/s")),
        ([5.0], "widgets", (1.0, "widgets")),
    ],
)  # fmt: skip
def test_axes_take_the_prefix_that_suits(values: list[float | None], unit: str, expected: tuple[float, str]) -> None:
    found = prefixed(guide(values), unit)
    assert (found.factor, found.unit) == expected


def test_numbers_are_rounded_and_never_nan() -> None:
    assert rounded(1.23456789) == 1.23457
    assert rounded(float("nan")) is None
    assert rounded(float("inf")) is None
    assert size_label(1.5 * 2**20) == "1.5M"


def _linear(colour: str) -> list[float]:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    return [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]


def _luminance(colour: str) -> float:
    linear = _linear(colour)
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize(("palette", "paper"), [(theme.LIGHT, "#ffffff"), (theme.DARK, "#12161c")])
def test_every_colour_stands_out_from_its_paper(palette: tuple[str, ...], paper: str) -> None:
    for colour in palette:
        light, dark = sorted((_luminance(colour), _luminance(paper)), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 3, colour


# The matrices for red, green and blue of Machado, Oliveira and Fernandes, "A Physiologically-based Model for Simulation
# of Color Vision Deficiency", 2009, for the complete lack of one kind of cone.
_PROTANOPIA = (
    (0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998),
)  # fmt: skip
_DEUTERANOPIA = (
    (0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881),
)  # fmt: skip
_ALL_CONES = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
_XYZ = (
    (0.4124564, 0.3575761, 0.1804375), (0.2126729, 0.7151522, 0.0721750), (0.0193339, 0.1191920, 0.9503041),
)  # fmt: skip
Matrix = tuple[tuple[float, float, float], ...]


def _seen(colour: str, eye: Matrix) -> tuple[float, float, float]:
    """Return the color that a person sees, in CIELAB coordinates (white: D65)."""

    def times(matrix: Matrix, vector: Sequence[float]) -> list[float]:
        return [sum(a * b for a, b in zip(row, vector, strict=True)) for row in matrix]

    shown = [min(1.0, max(0.0, part)) for part in times(eye, _linear(colour))]
    x, y, z = (
        part ** (1 / 3) if part > 216 / 24389 else (24389 / 27 * part + 16) / 116
        for part in (value / white for value, white in zip(times(_XYZ, shown), (0.95047, 1.0, 1.08883), strict=True))
    )
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


@pytest.mark.parametrize("palette", [theme.LIGHT, theme.DARK])
@pytest.mark.parametrize(
    ("eye", "least"), [(_ALL_CONES, 25.0), (_PROTANOPIA, 15.0), (_DEUTERANOPIA, 15.0)], ids=["all", "protan", "deutan"]
)
def test_the_colours_of_series_differ_for_every_eye(palette: tuple[str, ...], eye: Matrix, least: float) -> None:
    for one, other in combinations(palette, 2):
        assert math.dist(_seen(one, eye), _seen(other, eye)) >= least, (one, other)


def test_no_colour_is_part_of_another_so_that_the_page_can_swap_them() -> None:
    swaps = theme.substitutions()
    assert not set(swaps) & set(swaps.values())
    assert len(swaps) == len(theme.LIGHT) + 4
    assert not set(swaps) & set(theme.VIRIDIS)


def test_the_library_is_the_installed_one() -> None:
    assert "plotly.js v" in plotly_javascript()[:200]


@pytest.mark.parametrize("scale", ["linear", "log10"])
def test_a_rated_value_is_a_dashed_line_within_the_axis(scale: Any) -> None:
    figure = render_figure(curve(y=Axis("Latency", "s", scale), rated=(Rated(5e-7, "reference 500 ns"),)))
    accepted(figure)
    layout = figure["layout"]
    [shape], [note] = layout["shapes"], layout["annotations"]
    assert shape["y0"] == shape["y1"] == 500.0 and shape["line"]["dash"] == "dash"
    assert note["text"] == "reference 500 ns"
    low, high = layout["yaxis"]["range"]
    assert low < (math.log10(500.0) if scale == "log10" else 500.0) < high


def test_the_first_panel_names_a_rated_value_in_the_words_that_fit() -> None:
    series = tuple(
        Series(f"depth {depth}, reads {reads}", (4096, 8192), (1e-7, 3e-7))
        for depth in (1, 32, 256)
        for reads in range(4)
    )
    rated = (
        Rated(5e-7, "reference 500 ns at block_size 4K, rwmixread 0"),
        Rated(4e-7, "a label of forty characters, with no place"),
    )
    layout = render_figure(curve(series=series, markers=(), rated=rated))["layout"]
    assert [note["text"] for note in layout["annotations"] if note["name"] == "rated"] == ["reference 500 ns"]
    assert len(layout["shapes"]) == 2 * sum(note["name"] == "panel" for note in layout["annotations"]) > 4


def test_a_rated_value_joins_the_vertical_lines_and_bars() -> None:
    line = render_figure(curve(markers=(Marker(1024.0, "L1"),), rated=(Rated(5e-7, "r"),)))
    assert len(line["layout"]["shapes"]) == len(line["layout"]["annotations"]) == 2
    x = Axis("Depth", "", "category")
    bars = render_figure(
        Bars("b", "t", "c", x, Axis("Rate", "ops/s"), (Series("read", (1,), (5.0,)),), rated=(Rated(9.0, "r"),))
    )
    accepted(bars)
    assert bars["layout"]["shapes"][0]["y0"] == 9.0
