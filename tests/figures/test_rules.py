"""The rules that every figure of a report follows, asserted on the JSON for plotly."""

from __future__ import annotations

import itertools
import json
import math
import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asct.figures import theme
from asct.figures.axes import Neighbors, axis_text, section_scales, x_view, y_view
from asct.figures.labels import NARROW, WIDE, WIDEST, label_rows, placed
from asct.figures.layout import caption
from asct.figures.render import render_sections
from asct.figures.scale import decade_ticks, linear_ticks, power_ticks, significant
from asct.sdk.figure import Axis, Band, Bars, Line, Marker, Rated, Series
from tests.figures.heat import cores
from tests.figures.made import DEPTHS, bars, charts, detail, loaded, steady, sweep
from tests.figures.rendered import render_figure
from tests.figures.test_render import accepted


def numeric_axes(layout: dict[str, Any]) -> list[dict[str, Any]]:
    return [axis for name, axis in layout.items() if re.match(r"[xy]axis", name) and axis["type"] != "category"]


def ticks_inside(axis: dict[str, Any]) -> list[str]:
    low, high = (10**end if axis["type"] == "log" else end for end in axis["range"])
    slack = (high - low) * 1e-4
    pairs = zip(axis["tickvals"], axis["ticktext"], strict=True)
    return [text for value, text in pairs if low - slack <= value <= high + slack]


@settings(max_examples=60, deadline=None)
@given(charts())
def test_every_chart_follows_the_rules(chart: Line | Bars) -> None:
    rendered = render_figure(chart)
    json.dumps(rendered, allow_nan=False)
    for axis in numeric_axes(rendered["layout"]):
        labels = ticks_inside(axis)
        assert len(labels) >= 3
        assert len(labels) <= 14
        assert len(set(labels)) == len(labels)
        low, high = axis["range"]
        assert low < high
    kinds = {trace["type"] for trace in rendered["data"]}
    assert "bar" not in kinds or rendered["layout"]["yaxis"]["type"] == "linear"
    named = [trace["name"] for trace in rendered["data"] if trace["showlegend"]]
    assert len(named) == len(set(named)) <= 8 or isinstance(chart, Bars)
    panels: dict[str, set[str]] = {}
    for trace in rendered["data"]:
        if "customdata" in trace:
            panels.setdefault(trace.get("xaxis", "x"), set()).add(trace["name"])
    assert all(len(names) <= 8 for names in panels.values()) or (isinstance(chart, Bars) and chart.stacked)


def test_plotly_accepts_all_kinds_of_charts() -> None:
    many = sweep(tuple(f"depth {number}" for number in range(9)), ("a", "b", "c"))
    for figure in (sweep(("read", "write")), loaded(), steady(), bars(), bars(True), many, cores(8)):
        accepted(render_figure(figure))


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (1.0, 1000.0, [1, 10, 100, 1000]), (2.0, 90.0, [2, 5, 10, 20, 50]), (80.0, 160.0, [80, 100, 120]),
        (9e-1, 2.1, [1, 2]), (430.0, 520.0, []),
    ],
)  # fmt: skip
def test_less_than_a_decade_has_finer_ticks(low: float, high: float, expected: list[float]) -> None:
    found = decade_ticks(low, high)
    assert len(found) >= 3
    assert set(expected) <= set(found)
    assert all(low * 0.99 <= tick <= high * 1.01 for tick in found)


@given(st.floats(1e-12, 1e12), st.floats(1.005, 1e9))
def test_all_scales_have_three_to_fourteen_ticks(low: float, ratio: float) -> None:
    high = low * ratio
    for ticks in (decade_ticks(low, high), power_ticks(low, high), linear_ticks(low, high), linear_ticks(0.0, high)):
        assert 3 <= len(ticks) <= 14
        assert ticks == sorted(set(ticks))


def test_every_measured_x_is_labelled_up_to_twelve() -> None:
    steps = (4, 5, 6, 7, 8, 12, 16)
    figure = render_figure(sweep(("read",), series=(Series("read", steps, tuple(map(float, steps))),)))
    assert figure["layout"]["xaxis"]["ticktext"] == [str(step) for step in steps]
    sizes = Axis("Request size", "B", "log2")
    xs = tuple(4096 * 2**power for power in range(6))
    figure = render_figure(sweep(("read",), x=sizes, series=(Series("read", xs, tuple(map(float, xs))),)))
    assert figure["layout"]["xaxis"]["ticktext"] == ["4K", "8K", "16K", "32K", "64K", "128K"]
    many = tuple(range(1, 41))
    figure = render_figure(sweep(("read",), series=(Series("read", many, tuple(map(float, many))),)))
    assert figure["layout"]["xaxis"]["ticktext"] == ["1", "2", "4", "8", "16", "32"]


def test_one_or_two_settings_are_categories() -> None:
    figure = render_figure(sweep(("read",), series=(Series("read", (32, 1), (2.0, 1.0)),)))
    assert figure["layout"]["xaxis"]["categoryarray"] == ["1", "32"]


def test_a_series_without_some_categories_does_not_change_their_order() -> None:
    kinds = ("read", "write", "randread")
    few, all_kinds = (Series(name, xs, (1.0,) * len(xs)) for name, xs in (("a", kinds[::2]), ("b", kinds)))
    chart = Bars("b", "t", "c", Axis("Kind", "", "category"), Axis("Rate", "ops/s"), (few, all_kinds))
    assert render_figure(chart)["layout"]["xaxis"]["categoryarray"] == list(kinds)


def test_more_than_eight_series_become_panels_with_one_legend() -> None:
    depths = tuple(f"iodepth {depth}" for depth in DEPTHS)
    figure = render_figure(sweep(depths, ("a", "b", "c")), ["a", "b", "c"])
    layout = figure["layout"]
    assert [note["text"] for note in layout["annotations"] if note["name"] == "panel"] == [
        "<b>a</b>", "<b>b</b>", "<b>c</b>",
    ]  # fmt: skip
    named = [trace["name"] for trace in figure["data"] if trace["showlegend"]]
    assert named == list(depths)
    assert layout["xaxis3"]["matches"] == "x" and layout["yaxis3"]["matches"] == "y"
    for grid in layout["meta"]["grids"]:
        domains = [grid["axes"][f"yaxis{number}"]["domain"] for number in ("", "2", "3")]
        assert all((end - start) * grid["height"] >= 120 for start, end in domains)
        assert grid["axes"]["xaxis3"]["showticklabels"] and grid["axes"]["yaxis"]["showticklabels"]
    assert [grid["from"] for grid in layout["meta"]["grids"]] == [0, 460, 690]


def test_the_caption_of_panels_names_the_lines_that_have_no_labels() -> None:
    markers = Marker(32, "L2", value="1M"), Marker(8, "L1d", value="48K")
    few, many = (
        sweep(tuple(f"path {number}" for number in range(count)), markers=markers, bands=(Band(1, 2, 1, 8, "range"),))
        for count in (8, 9)
    )
    assert caption(few) == few.caption
    assert caption(many) == f"{many.caption} Vertical lines, from left to right: L1d 48K, L2 1M. Shaded: range."
    said = replace(many, caption="The line is at L2 1M.")
    assert caption(said) == f"{said.caption} Vertical line: L1d 48K. Shaded: range.", "no name is repeated"


def test_the_caption_explains_marks_of_two_states() -> None:
    assert caption(bars()) == "c Two dashes at one position are the two states of a value."
    line = sweep(("read",))
    states = replace(line.series[0], details=(detail(1e3, states=(900.0, 1e3)), *line.series[0].details[1:]))
    assert caption(replace(line, series=(states,))).endswith(
        " Two open marks at one position are the two states of a value."
    )
    assert caption(line) == line.caption


def test_panels_side_by_side_have_the_same_width() -> None:
    layout = render_figure(sweep(tuple(f"depth {number}" for number in range(8)), ("n1", "n2", "n3")))["layout"]
    three = max(layout["meta"]["grids"], key=lambda grid: grid["from"])["axes"]
    widths = {round(axis["domain"][1] - axis["domain"][0], 3) for name, axis in three.items() if name[0] == "x"}
    assert len(widths) == 1 and widths.pop() < 0.34


def test_panels_without_common_names_have_keys_of_their_own() -> None:
    hosts = tuple(f"n{number:02}" for number in range(20))
    figure = render_figure(sweep(("",), hosts), hosts)
    keys = [note["text"] for note in figure["layout"]["annotations"] if note["name"] == "panel"]
    assert len(keys) == 3
    assert "n00" in keys[0] and theme.LIGHT[0] in keys[0]
    assert not any(trace["showlegend"] for trace in figure["data"])


def styles(rendered: dict[str, Any]) -> dict[str, tuple[str, str]]:
    return {
        trace["name"]: (trace["marker"]["color"], trace["marker"]["symbol"])
        for trace in rendered["data"]
        if "hovertemplate" in trace and trace["type"] == "scatter"
    }


def test_a_name_has_one_colour_and_marker_in_all_figures() -> None:
    figures = [
        sweep(("read", "write", "total"), slug="a"), sweep(("p50", "p99", "read"), slug="b"),
        sweep(("total",), slug="c"), sweep(("write", "p99"), slug="d"),
    ]  # fmt: skip
    found: dict[str, set[tuple[str, str]]] = {}
    for rendered in render_sections([Neighbors(figures[:2]), Neighbors(figures[2:])], []).values():
        own = styles(rendered)
        assert len(set(own.values())) == len(own)
        for name, style in own.items():
            found.setdefault(name, set()).add(style)
    assert all(len(uses) == 1 for uses in found.values())


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(st.sampled_from("abcdefghijkl"), min_size=1, max_size=5, unique=True), max_size=5))
def test_colours_are_stable_and_differ_within_a_chart(groups: list[list[str]]) -> None:
    figures = [sweep(tuple(group), slug=f"f{number}") for number, group in enumerate(groups)]
    found: dict[str, set[tuple[str, str]]] = {}
    for rendered in render_sections([Neighbors(figures)], []).values():
        for name, style in styles(rendered).items():
            found.setdefault(name, set()).add(style)
    assert all(len(uses) == 1 for uses in found.values())


def test_a_host_has_one_colour_in_all_figures() -> None:
    hosts = ("a", "b", "c")
    charts = [sweep(("",), hosts, slug="x"), sweep(("read", "write"), hosts, slug="y")]
    both = render_sections([Neighbors(charts)], hosts)
    one, two = styles(both["x"]), styles(both["y"])
    for host in hosts:
        assert one[host][0] == two[f"{host}, read"][0] == two[f"{host}, write"][0]
    assert two["a, read"][1] == two["b, read"][1] != two["a, write"][1]


def test_a_unit_has_one_prefix_in_a_section() -> None:
    mean = sweep(("mean",), slug="mean", y=Axis("Latency", "s"), series=(Series("m", DEPTHS, (8e-4,) * 8),))
    tail = sweep(("p99",), slug="tail", y=Axis("Completion latency", "s"), series=(Series("m", DEPTHS, (3e-3,) * 8),))
    rates = sweep(("read",), slug="rate", y=Axis("Latency", "s"), series=(Series("m", DEPTHS, (9e-4,) * 8),))
    found = render_sections([Neighbors([mean, tail, rates])], [])
    units = {re.findall(r"\((.*?)\)", figure["layout"]["yaxis"]["title"]["text"])[0] for figure in found.values()}
    assert len(units) == 1
    slow = sweep(("p99",), slug="slow", y=Axis("Recovery", "s"), series=(Series("m", DEPTHS, (900.0,) * 8),))
    scales = section_scales(Neighbors([mean, rates, tail, slow]))
    assert scales["s", "Recovery"].unit == "s" and scales["s", "Latency"].unit != "s"


@pytest.mark.parametrize(
    ("size", "unit", "heading", "shown"),
    [
        (7.2e9, "B/s", "Read BW (MB/s)", "MB/s"),
        (7.2e9, "B/s", "Bandwidth [GB/s]", "GB/s"),
        (3e11, "B/s", "64 byte (512 bit) loads/stores [MB/s]", "MB/s"),
        (4e3, "B/s", "BW (MB/s)", "kB/s"),  # 0.004 MB/s has too many zeros
        (5e13, "B/s", "BW (MB/s)", "GB/s"),  # 50,000,000 MB/s has too many digits
        (3e-3, "s", "p99 (us)", "\N{MICRO SIGN}s"),
        (3e-3, "s", "p99 (\N{MICRO SIGN}s)", "\N{MICRO SIGN}s"),
        (6e-5, "s", "Mean (ms)", "ms"),
        (60.0, "s", "p99 (us)", "s"),
        (3e-3, "s", "Host", "ms"),
        (2.4e6, "ops/s", "Thruput (kops)", "k ops/s"),
        (5e10, "B", "Written (GB)", "GB"),
    ],
)
def test_an_axis_has_the_unit_of_the_tables_beside_it(size: float, unit: str, heading: str, shown: str) -> None:
    chart = sweep(("x",), slug="x", y=Axis("X", unit), series=(Series("x", DEPTHS, (size,) * 8),))
    beside = Neighbors([chart], (heading, "Time (s)", "IODepth"))
    assert section_scales(beside)[unit, "X"].unit == shown
    assert re.fullmatch(rf"[\d.,]+ ?{re.escape(shown)}", axis_text(beside)(size, unit, "X"))


def test_axes_name_unit_and_direction() -> None:
    load = render_figure(loaded())["layout"]
    assert load["xaxis"]["title"]["text"] == "Bandwidth (GB/s), higher is better"
    assert load["yaxis"]["title"]["text"] == "Latency (ns), lower is better"
    assert render_figure(sweep(("r",)))["layout"]["yaxis"]["title"]["text"] == "IOPS (k ops/s), higher is better"
    bar = render_figure(cores(8))["data"][0]["colorbar"]["title"]["text"]
    assert bar == "ns, lower is better"


def test_a_tooltip_tells_the_interval_of_a_measured_x() -> None:
    [series] = loaded().series
    xs = tuple(float(x) for x in series.x)
    both = replace(series, x_low=tuple(0.9 * x for x in xs), x_high=tuple(1.1 * x for x in xs))
    data = render_figure(replace(loaded(), series=(both,)))["data"]
    [first, *_] = next(trace for trace in data if "customdata" in trace)["customdata"]
    assert first.split("<br>") == [
        "10.7 GB/s, NOPs 3000: 115.5 ns",
        "95 % interval 114.3 to 116.7 ns, 8 visits",
        "95 % interval 9.63 to 11.77 GB/s",
    ]  # fmt: skip


def test_a_tooltip_tells_value_interval_visits_flags_and_states() -> None:
    [first, *_] = next(trace for trace in render_figure(bars())["data"] if "customdata" in trace)["customdata"]
    assert first.split("<br>") == [
        "All Reads: 918.9 GB/s", "95 % interval 891.3 to 937.3 GB/s, 8 visits", "two states: 735.1 GB/s and 918.9 GB/s",
        "two-states",
    ]  # fmt: skip
    curve = next(trace for trace in render_figure(loaded())["data"] if "customdata" in trace)
    assert curve["customdata"][0].split("<br>")[0] == "10.7 GB/s, NOPs 3000: 115.5 ns"
    assert curve["hovertemplate"] == "%{customdata}<extra></extra>"


@given(st.floats(-1e14, 1e14))
def test_numbers_have_at_most_four_digits_after_leading_zeros(value: float) -> None:
    text = significant(value)
    digits = re.sub(r"[^0-9]", "", text.split("e")[0]).lstrip("0")
    assert len(digits) <= 4 or "." not in text
    assert math.isclose(float(text.replace(",", "")), value, rel_tol=1e-3, abs_tol=1e-300)


def test_visits_are_small_points_and_states_open_marks() -> None:
    data = render_figure(bars())["data"]
    points = [trace for trace in data if trace.get("marker", {}).get("size") == 4]
    assert [len(trace["y"]) for trace in points] == [40, 40]
    assert all(trace["marker"]["opacity"] < 1 and not trace["showlegend"] for trace in points)
    states = [trace for trace in data if str(trace["marker"].get("symbol", "")).endswith("-open")]
    assert [trace["y"] for trace in states] == [[735.12, 918.9], [759.12, 948.9]]
    assert {trace["offsetgroup"] for trace in points} == {"0", "1"}
    many = sweep(tuple(f"n{number}" for number in range(40)))
    assert not any(trace["mode"] == "markers" for trace in render_figure(many)["data"])


def test_bands_are_filled_and_labelled_and_the_axis_fits_them() -> None:
    layout = render_figure(steady())["layout"]
    [band] = [shape for shape in layout["shapes"] if shape["type"] == "rect"]
    assert (band["x0"], band["x1"], band["y0"], band["y1"]) == (9, 13, pytest.approx(46.8), pytest.approx(57.2))
    assert layout["yaxis"]["range"][0] > 40
    assert "range within 20 % of the mean" in [note["text"] for note in layout["annotations"]]
    rated = [(note["xanchor"], note["yanchor"]) for note in layout["annotations"] if note["name"] == "rated"]
    assert len(set(rated)) == 2


@pytest.mark.parametrize("scale", ["linear", "log10"])
def test_a_band_without_values_is_as_high_as_each_panel(scale: Any) -> None:
    names = tuple(f"path {number}" for number in range(9))
    band = Band(None, None, 8, 32, "window")
    bare = sweep(names, y=Axis("IOPS", "ops/s", scale))
    layout, plain = (render_figure(chart)["layout"] for chart in (replace(bare, bands=(band,)), bare))
    areas = [(shape["x0"], shape["x1"], shape["yref"], shape["y0"], shape["y1"]) for shape in layout["shapes"]]
    assert areas == [(8.0, 32.0, "y domain", 0, 1), (8.0, 32.0, "y2 domain", 0, 1)]
    assert layout["yaxis"]["range"] == plain["yaxis"]["range"]


@pytest.mark.parametrize("count", [1, 2, 5, 13, 40])
@pytest.mark.parametrize("scale", ["linear", "log2", "log10"])
def test_an_axis_of_rounds_shows_whole_numbers(count: int, scale: Any) -> None:
    rounds = tuple(range(1, count + 1))
    series = Series("rate", rounds, tuple(float(number) for number in rounds))
    bands = (Band(0.9, 1.1, 1.0, float(count), "window"),)
    layout = render_figure(sweep((), series=(series,), x=Axis("Round", "", scale, counts=True), bands=bands))["layout"]
    ticks = layout["xaxis"]["tickvals"]
    assert len(ticks) >= 3 and all(float(tick).is_integer() for tick in ticks)
    assert layout["meta"]["whole"] == ["x"] if scale == "linear" else "whole" not in layout.get("meta", {})


@pytest.mark.parametrize("most", [0.5, 1.0, 2.0, 2.5, 7.0, 40.0, 3e12])
def test_an_axis_of_counts_shows_whole_numbers(most: float) -> None:
    """The median count of several hosts may be a fraction."""
    pairs = Series("pairs", ("a", "b"), (0.0, most))
    chart = Bars("b", "t", "c", Axis("Latency", "", "category"), Axis("Pairs", "1", counts=True), (pairs,))
    layout = render_figure(chart)["layout"]
    assert all(float(tick).is_integer() for tick in layout["yaxis"]["tickvals"])
    assert len(set(layout["yaxis"]["ticktext"])) == len(layout["yaxis"]["tickvals"]) >= 3
    assert layout["meta"]["whole"] == ["y"]


def test_whole_values_on_an_axis_of_no_counts_may_have_fractions_between_them() -> None:
    pairs = Series("ratio", ("a", "b"), (1.0, 2.0))
    chart = Bars("b", "t", "c", Axis("Kind", "", "category"), Axis("Ratio", "1"), (pairs,))
    layout = render_figure(chart)["layout"]
    assert layout["yaxis"]["tickvals"] == [0.0, 0.5, 1.0, 1.5, 2.0]
    assert "meta" not in layout


def test_many_categories_have_labels_that_the_page_can_thin() -> None:
    names = tuple(f"{2**power} ns" for power in range(20))
    chart = Bars("b", "t", "c", Axis("From", "", "category"), Axis("Share", "%"), (Series("s", names, (1.0,) * 20),))
    axis = render_figure(chart)["layout"]["xaxis"]
    assert axis["tickvals"] == axis["ticktext"] == list(names)


def test_points_with_intervals_replace_bars_on_a_logarithmic_axis() -> None:
    figure = render_figure(bars(scale="log10"))
    accepted(figure)
    assert {trace["type"] for trace in figure["data"]} == {"scatter"}
    points = [trace for trace in figure["data"] if "customdata" in trace]
    assert [trace["mode"] for trace in points] == ["markers", "markers"]
    assert [trace["offsetgroup"] for trace in points] == ["0", "1"], "side by side, as bars would be"
    assert len({trace["marker"]["symbol"] for trace in points}) == 2
    beside = render_figure(bars())["data"]
    assert [trace["error_y"] for trace in points] == [trace["error_y"] for trace in beside if "customdata" in trace]
    with pytest.raises(ValueError, match="stacked bars need a linear y axis"):
        bars(stacked=True, scale="log10")


def test_the_label_of_a_rated_value_avoids_the_bars() -> None:
    kinds = ("a", "b", "c", "d")
    tall = Series("s", kinds, (1.0, 1.0, 9.0, 9.0))
    chart = Bars(
        "b", "t", "c", Axis("Kind", "", "category"), Axis("Rate", "ops/s"), (tall,), rated=(Rated(6.0, "peak"),)
    )
    [note] = render_figure(chart)["layout"]["annotations"]
    assert (note["xanchor"], note["yanchor"]) == ("left", "bottom")
    stacked = replace(chart, stacked=True, series=(tall, Series("t", kinds, (7.0, 7.0, 0.0, 0.0))))
    [note] = render_figure(stacked)["layout"]["annotations"]
    assert note["bgcolor"].startswith(theme.PAPER), "readable where bars are on both sides"


def test_the_label_of_a_rated_value_avoids_the_lines() -> None:
    xs = (0.0, 1.0, 2.0, 3.0)
    rising = Series("s", xs, (1.0, 1.0, 1.0, 9.0))
    falling = Series("t", xs, (9.0, 1.0, 1.0, 1.0))
    x, y = Axis("Time", "s"), Axis("Rate", "ops/s")
    for series, side in ((rising, "left"), (falling, "right")):
        [note] = render_figure(Line("l", "t", "c", x, y, (series,), rated=(Rated(5.0, "reference 5 ops/s"),)))[
            "layout"
        ]["annotations"]
        assert note["xanchor"] == side


def test_the_label_of_a_rated_value_avoids_a_mark_close_to_its_line() -> None:
    xs = (0.0, 1.0, 2.0)
    values = Series("s", xs, (1.402, 1.39, 1.41))
    axes = Axis("Time", "s"), Axis("Rate", "ops/s", from_zero=False)
    bands = (Band(1.26, 1.54, 0.0, 2.0, "range"),)
    layout = render_figure(Line("l", "t", "c", *axes, (values,), rated=(Rated(1.4, "average"),), bands=bands))["layout"]
    [note] = [note for note in layout["annotations"] if note["name"] == "rated"]
    assert (note["xanchor"], note["yanchor"]) == ("right", "top")


def test_long_lines_have_no_marks() -> None:
    xs = tuple(range(1, 200))
    series = Series("rate", xs, tuple(float(x) for x in xs))
    assert [trace["mode"] for trace in render_figure(sweep(("r",), series=(series,)))["data"]] == ["lines"]


def test_loads_stand_beside_the_marks_without_overlap() -> None:
    figure = loaded()
    scales = section_scales(Neighbors([figure]))
    for sizes, least in (((WIDE, WIDEST), 9), ((NARROW,), 7)):
        [places] = placed(figure, figure.series, x_view(figure, scales), y_view(figure, scales), sizes)
        shown = [place.text for place in places if place.text]
        assert len(shown) >= least
        assert {shown[0], shown[-1]} == {"3000", "0"}
    trace = next(trace for trace in render_figure(figure)["data"] if "customdata" in trace)
    assert len(trace["text"]) == len(trace["meta"]["text"]) == 13
    assert "text" in trace["mode"]


@given(st.lists(st.tuples(st.floats(0, 400), st.text("ab", max_size=20)), max_size=12))
def test_labels_of_vertical_lines_do_not_overlap(items: list[tuple[float, str]]) -> None:
    items = sorted(items)
    rows = label_rows([at for at, _ in items], [text for _, text in items])
    for row in set(rows):
        own = [item for item, number in zip(items, rows, strict=True) if number == row]
        assert all(one[0] + len(one[1]) * 6 <= other[0] for one, other in itertools.pairwise(own))
