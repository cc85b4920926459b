"""Figures that show the curves of several runs, and matrices of changes."""

from __future__ import annotations

from asct.analysis.diff.build import compare_all
from asct.analysis.diff.figures import delta_maps, figures_of, matrix_grid, overlaid
from asct.figures.theme import LIGHT, PAPER
from asct.sdk.figure import Axis, Bars, Heatmap, Line, Series
from asct.sdk.metric import Better
from tests.analysis.diff.runs import CATALOG, source, value, visits
from tests.figures.heat import detailed
from tests.figures.rendered import render_figure

HOSTS = {"b": "a"}


def heatmap(
    values: list[list[float | None]], columns: tuple[str, ...] = ("0", "1"), better: Better = "lower"
) -> Heatmap:
    return Heatmap(
        "matrix", "Latency of pairs", "", "to", "from", columns, ("0", "1"), tuple(map(tuple, values)), "s",
        better=better,
    )  # fmt: skip


def test_a_matrix_of_changes_has_the_cells_of_both() -> None:
    base, new = heatmap([[None, 1.0], [2.0, 4.0]]), detailed(heatmap([[1.0, 1.1], [1.0, 4.0]]))
    maps = delta_maps({("a", "pairs"): [base]}, {("b", "pairs"): [new]}, HOSTS)
    (delta,) = maps["b", "pairs"]
    rounded = [[None if one is None else round(one, 6) for one in line] for line in delta.values]
    assert rounded == [[None, 10.0], [-50.0, 0.0]]
    assert (delta.unit, delta.diverging, delta.title) == ("%", True, "Latency of pairs: change")
    grid = matrix_grid(delta)
    assert grid is not None
    assert [[cell.text for cell in row] for row in grid.rows] == [["0", "", "+10.0"], ["1", "-50.0", "+0.0"]]


def test_a_change_states_both_values_and_what_is_known_about_them() -> None:
    base = detailed(heatmap([[None, 2e-6], [2e-6, 4e-6]], columns=("1", "0")))
    new = detailed(heatmap([[1e-6, 1.1e-6], [1e-6, 3e-6]]))
    (delta,) = delta_maps({("a", "pairs"): [base]}, {("b", "pairs"): [new]}, HOSTS)["b", "pairs"]
    texts = render_figure(delta)["data"][0]["customdata"]
    assert texts[0] == [
        "<br>base: 2 \N{MICRO SIGN}s<br>95 % interval 1.98 to 2.02 \N{MICRO SIGN}s, 8 visits<br>noisy-host"
        "<br>new: 1 \N{MICRO SIGN}s<br>95 % interval 0.99 to 1.01 \N{MICRO SIGN}s, 8 visits<br>noisy-host"
        "<br>data_size 1G",
        "",
    ]
    assert texts[1][1].startswith("<br>base: 2 \N{MICRO SIGN}s<br>") and "<br>new: 3 \N{MICRO SIGN}s<br>" in texts[1][1]


def test_a_change_of_values_without_details_states_the_values() -> None:
    base, new = heatmap([[1.0, 1.0], [1.0, 1.0]]), heatmap([[1.3, 1.0], [0.9, 1.0]])
    (delta,) = delta_maps({("a", "p"): [base]}, {("b", "p"): [new]}, HOSTS)["b", "p"]
    assert render_figure(delta)["data"][0]["customdata"][0][0] == "<br>base: 1 s<br>new: 1.3 s"


def test_matrices_without_a_direction_or_common_cells_have_no_changes() -> None:
    one = heatmap([[1.0, 1.0], [1.0, 1.0]])
    aimless = heatmap([[1.0, 1.0], [1.0, 1.0]], better="neither")
    apart = heatmap([[1.0, 1.0], [1.0, 1.0]], columns=("8", "9"))
    for other in (aimless, apart):
        assert delta_maps({("a", "pairs"): [one]}, {("b", "pairs"): [other]}, HOSTS) == {}
    assert delta_maps({}, {("b", "pairs"): [one]}, HOSTS) == {}


def test_the_colors_of_changes_are_centered_at_zero_and_show_what_is_worse() -> None:
    base, new = heatmap([[1.0, 1.0], [1.0, 1.0]]), heatmap([[1.3, 1.0], [0.9, 1.0]])
    (delta,) = delta_maps({("a", "p"): [base]}, {("b", "p"): [new]}, HOSTS)["b", "p"]
    (trace,) = render_figure(delta)["data"]
    assert (round(trace["zmin"], 3), round(trace["zmax"], 3)) == (-30.0, 30.0)
    better, worse = LIGHT[:2]
    assert trace["colorscale"] == [[0, better], [0.5, PAPER], [1, worse]]
    assert trace["texttemplate"] == "%{z:+.1f}"


def test_lines_of_runs_share_a_figure_and_the_rest_is_left_out() -> None:
    def line(factor: float) -> Line:
        return Line("c", "Curve", "", Axis("x"), Axis("y", "s"), (Series("latency", (1, 2), (factor, 2 * factor)),))

    stacked = Bars("s", "Stacked", "", Axis("x"), Axis("y"), (Series("a", (1,), (1.0,)),), stacked=True)
    sides = {"base": (line(1.0), stacked, heatmap([[1.0]])), "new": (line(2.0), stacked)}
    (figure,) = overlaid("job", "", sides)
    assert isinstance(figure, Line)
    assert [(series.name, series.y) for series in figure.series] == [("base", (1.0, 2.0)), ("new", (2.0, 4.0))]
    assert figure.title == "Curve (job)"
    assert [one.title for one in overlaid("job", "h1", sides)] == ["Curve (job on h1)"]
    assert overlaid("job", "", {"base": (line(1.0),), "new": ()}) == []


def test_a_job_of_another_version_has_no_figures() -> None:
    def run(**changes: object) -> list[object]:
        records = [value(visits(1e-9 * n), coords={"size": 128 * n}, **changes) for n in (1, 2)]
        return [*figures_of(source("a", *records), CATALOG)["a", "latency-sweep"]]

    assert len(run()) == 1
    assert run(version="2") == []


def test_the_curves_of_all_runs_are_in_the_report() -> None:
    from asct.analysis.diff.report import build_report

    def run(name: str, factor: float) -> list[object]:
        return [value(visits(factor * 1e-9 * n), coords={"size": 128 * n}) for n in (1, 2)]

    sources = [source(name, *run(name, factor)) for name, factor in (("a", 1), ("b", 2), ("c", 3))]  # type: ignore[arg-type]
    report = build_report(compare_all(sources[0], sources[1:], 0.01, CATALOG), CATALOG, 10)
    (figure,) = report.figures
    assert isinstance(figure, Line)
    assert [series.name for series in figure.series] == ["base", "b", "c"]
