"""The positions of labels beside marks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from asct.figures.axes import AxisView, Neighbors, section_scales, x_view, y_view
from asct.figures.labels import CHARACTER, Placed, concealing, data_lines, placed
from asct.figures.panels import PANEL_HEIGHT, PANEL_WIDTH, panels
from asct.sdk.figure import Axis, Backdrop, Detail, Line, Marker, Rated, Scale, Series
from tests.figures.made import loaded, sweep
from tests.figures.rendered import render_figure

RATE = Axis("Rate", "B/s")
PEAK = "reference 5 ops/s"
AXIS = AxisView("x", "linear", (), (), 0.0, 400.0)


def placed_in(view: AxisView, *series: Series, pixels: float = 400.0, **changes: Any) -> list[list[Placed]]:
    """Return the labels in a square of these many pixels, both axes of which are `view`."""
    chart = Line("l", "t", "c", RATE, Axis("Latency", "s"), series, **changes)
    return placed(chart, series, view, view, [(pixels, pixels)])


def labels_of(marks: int) -> list[str]:
    xs = tuple(float(x) for x in range(1, marks + 1))
    series = Series("s", xs, xs, labels=tuple(str(number) for number in range(marks)))
    axis = AxisView("x", "linear", (), (), 0.0, marks + 1.0)
    [found] = placed_in(axis, series, pixels=100_000.0)
    return [item.text for item in found if item.text]


def test_among_many_marks_only_the_ends_are_labelled() -> None:
    assert labels_of(200) == [str(number) for number in range(200)]
    assert labels_of(201) == ["0", "200"]


def test_in_a_panel_only_the_ends_and_the_knee_are_labelled() -> None:
    xs, ys = (50.0, 150.0, 250.0, 270.0, 290.0), (50.0, 60.0, 70.0, 200.0, 350.0)
    bent = Series("s", xs, ys, labels=("1", "2", "4", "8", "16"))
    straight = replace(bent, name="t", y=xs)
    chart = Line("l", "t", "c", RATE, Axis("Latency", "s"), (bent, straight))
    for series, shown in ((bent, ["1", "4", "16"]), (straight, ["1", "16"])):
        [found] = placed(chart, [series], AXIS, AXIS, [(400.0, 400.0)])
        assert [item.text for item in found if item.text] == shown
    assert all(item.text for item in placed(replace(chart, series=(bent,)), [bent], AXIS, AXIS, [(400.0, 400.0)])[0])


def test_labels_of_close_marks_in_one_row_are_a_character_apart() -> None:
    """Otherwise the labels 30 and 20 read as 3020."""
    for distance in range(1, 40):
        xs = (100.0, 100.0 + distance)
        [found] = placed_in(AXIS, Series("s", xs, (200.0, 200.0), labels=("30", "20")))
        first, second = (_across(at, item) for at, item in zip(xs, found, strict=True))
        if found[0].position.split()[0] == found[1].position.split()[0]:
            assert second[0] - first[1] >= CHARACTER or first[0] - second[1] >= CHARACTER, distance


def _across(mark: float, label: Placed) -> tuple[float, float]:
    """Return the left and right edges of a label."""
    side, width = label.position.split()[1], len(label.text) * CHARACTER
    left = {"center": mark - width / 2, "right": mark + 7, "left": mark - 7 - width}[side]
    return left, left + width


def test_no_line_crosses_a_label() -> None:
    """On a curve of latency against bandwidth that rises steeply, the load is shown beside the line."""
    series = Series("s", (200.0, 201.0, 202.0), (100.0, 200.0, 300.0), labels=("16", "32", "64"))
    [found] = placed_in(AXIS, series)
    assert [item.text for item in found] == ["16", "32", "64"]
    assert found[1].position.split()[1] != "center"


def test_no_vertical_line_crosses_a_label() -> None:
    """The knee of a curve is at one of its marks."""
    series = Series("s", (200.0,), (200.0,), labels=("20",))
    [[found]] = placed_in(AXIS, series, markers=(Marker(200.0, "knee"),))
    left, right = _across(200.0, found)
    assert found.text == "20"
    assert left > 200.0 or right < 200.0


@pytest.mark.parametrize("changes", [
    {"low": (150.0,), "high": (250.0,)},
    {"details": (Detail((150.0, 250.0)),)},
    {"details": (Detail((200.0,), states=(150.0, 250.0)),)},
])  # fmt: skip
def test_a_label_is_beside_the_interval_and_the_visits_of_its_mark(changes: dict[str, Any]) -> None:
    [[alone]] = placed_in(AXIS, Series("s", (200.0,), (200.0,), labels=("20",)))
    [[found]] = placed_in(AXIS, Series("s", (200.0,), (200.0,), labels=("20",), **changes))
    assert (alone.text, alone.position) == ("20", "top center")
    assert (found.text, found.position) == ("20", "top right")


def test_no_label_of_a_load_covers_a_rated_value_or_its_label() -> None:
    series = Series("s", (350.0,), (200.0,), labels=("20",))
    reference = Rated(210.0, "reference")
    [[found]] = placed_in(AXIS, series, rated=(reference,))
    assert (found.text, found.position) == ("20", "bottom center")


def test_the_label_of_a_rated_value_avoids_the_baseline_and_the_intervals() -> None:
    xs = (0.0, 1.0, 2.0, 3.0)
    flat = Series("s", xs, (1.0,) * 4)
    for series, side in (
        (flat, "right"),
        (replace(flat, backdrop=Backdrop("golden", xs, (1.0, 1.0, 1.0, 9.0))), "left"),
        (replace(flat, low=(1.0,) * 4, high=(1.0, 1.0, 1.0, 9.0)), "left"),
    ):
        chart = Line("l", "t", "c", Axis("Time", "s"), Axis("Rate", "ops/s"), (series,), rated=(Rated(5.0, PEAK),))
        [note] = render_figure(chart)["layout"]["annotations"]
        assert note["xanchor"] == side


def test_labels_avoid_the_knee_and_the_baseline() -> None:
    base = loaded()
    series = base.series[0]
    lower = tuple(y * 0.97 for y in series.y if y is not None)
    pale = replace(series, backdrop=Backdrop("golden", tuple(map(float, series.x)), lower))
    alone, compared = (render_figure(replace(base, series=(one,)))["data"] for one in (series, pale))
    (before,), (after,) = ([t for t in traces if "text" in t] for traces in (alone, compared))
    knee = series.x.index(753.7e9)
    assert before["textposition"][knee].split()[1] != "center"
    below = {position for position, text in zip(after["textposition"], after["text"], strict=True) if text}
    assert any(position.startswith("bottom") for position in before["textposition"])
    assert all(not position.startswith("bottom c") for position in below), "the baseline is below the line"


def test_a_label_covers_nothing_at_any_width_of_the_page() -> None:
    series = Series("s", (200.0,), (200.0,), labels=("12 requests",))
    chart = Line("l", "t", "c", RATE, Axis("Latency", "s"), (series,), markers=(Marker(260.0, "knee"),))
    for sizes, position in (([(400.0, 400.0)], "top center"), ([(400.0, 400.0), (200.0, 400.0)], "top left")):
        [[found]] = placed(chart, [series], AXIS, AXIS, sizes)
        assert (found.text, found.position) == ("12 requests", position)


def test_labels_of_series_that_coincide_are_shown_once() -> None:
    near, far = (Series("s", (x, x + 200.0), (200.0, 200.0), labels=("1", "2")) for x in (100.0, 105.0))
    first, second = placed_in(AXIS, near, far)
    assert [item.text for item in first] == ["1", "2"]
    assert [item.text for item in second] == ["", ""]
    apart = replace(far, y=(300.0, 300.0))
    assert [item.text for item in placed_in(AXIS, near, apart)[1]] == ["1", "2"]


def test_a_line_that_others_conceal_is_wider_than_they_are() -> None:
    """Three hosts of the same kind have almost the same curve; each of them must be visible."""
    same = sweep(("rate",), ("n1", "n2", "n3"))
    flat = tuple(replace(one, y=tuple(1e4 + 10 * number for _ in one.y)) for number, one in enumerate(same.series))
    lines = [t for t in render_figure(replace(same, series=flat), ("n1", "n2", "n3"))["data"] if t["showlegend"]]
    assert [trace["line"]["width"] for trace in lines] == [6, 4, 2]
    assert [trace["marker"]["size"] for trace in lines] == [11, 9, 7]
    apart = [t for t in render_figure(sweep(("a", "b", "c")))["data"] if t["showlegend"]]
    assert {trace["line"]["width"] for trace in apart} == {2}


def test_curves_with_other_x_values_are_compared_between_their_marks() -> None:
    one = Series("a", (0.0, 200.0, 400.0), (0.0, 200.0, 400.0))
    two = Series("b", (0.0, 100.0, 300.0, 400.0), (1.0, 101.0, 301.0, 401.0))
    steep = Series("c", (0.0, 100.0, 300.0, 400.0), (1.0, 201.0, 301.0, 401.0))
    back = Series("d", (0.0, 200.0, 100.0), (0.0, 200.0, 100.0))
    size = (400.0, 400.0)
    assert concealing([one, two], RATE, AXIS, AXIS, size) == [1, 0]
    assert concealing([one, steep], RATE, AXIS, AXIS, size) == [0, 0]
    assert concealing([one, back], RATE, AXIS, AXIS, size) == [0, 0], "a curve over load that turns back"
    assert concealing([back, Series("e", (), ())], RATE, AXIS, AXIS, size) == [0, 0]


@pytest.mark.parametrize(
    ("x", "y", "position"),
    [(0.0, 400.0, "bottom right"), (200.0, 400.0, "bottom center"), (200.0, 390.0, "bottom center"),
     (200.0, 380.0, "top center"), (400.0, 0.0, "top left")],
)  # fmt: skip
def test_a_label_does_not_leave_the_figure(x: float, y: float, position: str) -> None:
    """The titles of panels are above the figure."""
    [[found]] = placed_in(AXIS, Series("s", (x,), (y,), labels=("a",)))
    assert found == Placed("a", position)


@pytest.mark.parametrize("scale", ["linear", "log10"])
@pytest.mark.parametrize("rise", [1.01, 2.0, 5.0])
@pytest.mark.parametrize("rate", [1.01, 2.0, 10.0, 100.0])
def test_both_ends_of_a_curve_with_two_points_are_labelled_even_on_a_phone(
    scale: Scale, rise: float, rate: float
) -> None:
    """The line and the intervals leave room for the labels only above the last mark and below the first."""
    ys = (1e-4, 1e-4 * rise)
    low, high = (tuple(share * y for y in ys) for share in (0.95, 1.05))
    series = Series("s", (1e4, 1e4 * rate), ys, low, high, labels=("1", "128"))
    chart = Line("l", "t", "c", Axis("IOPS", "ops/s"), Axis("Latency", "s", scale), (series,))
    [trace] = render_figure(chart)["data"]
    assert trace["text"] == trace["meta"]["text"] == ["1", "128"]


def test_labels_on_an_axis_of_categories_do_not_overlap_or_leave_the_figure() -> None:
    names = ("a", "b")
    x, y = AxisView("x", "category", (0.0, 1.0), names), AxisView("y", "linear", (), (), 0.0, 400.0)
    series = (
        Series("s", names, (400.0, 200.0), labels=("1", "2")),
        Series("t", names, (0.0, 201.0), labels=("3", "4")),
    )
    chart = Line("l", "t", "c", Axis("Kind", "", "category"), Axis("Latency", "s"), series)
    found = placed(chart, series, x, y, [(400.0, 400.0)])
    assert found[0][0] != Placed("1", "top center")
    assert len({item.position for item in (found[0][1], found[1][1])}) == 2


def test_there_is_no_line_across_a_missing_value() -> None:
    series = Series("s", (100.0, 200.0, 300.0, 400.0), (100.0, None, 200.0, 300.0))
    chart = Line("l", "t", "c", Axis("Rate", "B/s"), Axis("Latency", "s"), (series,))
    assert data_lines(chart, [series], AXIS, AXIS, (400.0, 400.0)) == [((300.0, 200.0), (400.0, 100.0))]


def test_no_line_crosses_a_label_in_a_panel() -> None:
    """A panel is smaller than a separate chart, so lines rise at different angles."""
    loads, rates = tuple(map(str, range(4))), (1e9, 2e9, 3e9, 3.2e9)
    series = tuple(
        Series(f"{size}, {mix}", rates, tuple(factor * x for x in (1e-4, 2e-4, 4e-4, 4e-3)), labels=loads)
        for size in ("4K", "64K")
        for mix, factor in zip("abcde", (1.0, 1.5, 2.0, 3.0, 5.0), strict=True)
    )
    figure = Line("l", "t", "c", Axis("Rate", "B/s"), Axis("Latency", "s"), series)
    x, y = (view(figure, section_scales(Neighbors([figure]))) for view in (x_view, y_view))
    sizes = [(PANEL_WIDTH, PANEL_HEIGHT), (2 * PANEL_WIDTH, PANEL_HEIGHT)]
    traces = [trace for trace in render_figure(figure)["data"] if "text" in trace["mode"]]
    for panel, drawn in zip(panels(figure), (traces[:5], traces[5:]), strict=True):
        expected = placed(figure, panel.series, x, y, sizes)
        assert [trace["textposition"] for trace in drawn] == [[item.position for item in own] for own in expected]
