"""Figures of many hosts: the median with the hosts that are far from it, and single hosts on demand."""

from __future__ import annotations

import base64
import gzip
import json
import random
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from asct.analysis.combined import combined, combined_figures, markers_of
from asct.analysis.fleet import FEW_HOSTS, MEDIAN, fleet_figures, host_figures, without_visits
from asct.analysis.report import build
from asct.export import html
from asct.figures.axes import Neighbors
from asct.figures.panels import panels
from asct.figures.render import render_sections
from asct.sdk.figure import Axis, Band, Bars, Chart, Figure, Heatmap, Line, Marker, Series
from tests.export.fakes import sample_view
from tests.figures.made import DEPTHS, bars, sweep
from tests.figures.rendered import render_figure

NAMES = tuple(f"n{number:02}" for number in range(40))


def fleet(*, slow: dict[str, float] | None = None, names: tuple[str, ...] = ("reads",)) -> dict[str, list[Figure]]:
    """Return charts of hosts that differ by about 1 %. `slow` multiplies the values of some hosts."""
    rng = random.Random(1)
    found: dict[str, list[Figure]] = {}
    for host in NAMES:
        factor = (slow or {}).get(host, 1.0)
        chart = sweep(names)
        series = (
            replace(item, y=tuple(y * rng.gauss(1.0, 0.01) * factor for y in item.y if y is not None))
            for item in chart.series
        )
        found[host] = [replace(chart, series=tuple(series))]
    return found


def chart_of(figures: list[Figure]) -> Chart:
    [only] = figures
    assert not isinstance(only, Heatmap)
    return only


def test_the_median_and_the_hosts_far_from_it_are_shown() -> None:
    chart = chart_of(fleet_figures(fleet(slow={"n07": 0.8, "n31": 1.3})))
    assert {item.name for item in chart.series} == {MEDIAN, "n07", "n31"}
    assert "Median of 40 hosts" in chart.caption and "Hosts far from the median: n31, n07." in chart.caption
    middle = chart.series[0]
    assert middle.x == DEPTHS
    for low, y, high, usual in zip(middle.low, middle.y, middle.high, sweep(("reads",)).series[0].y, strict=True):
        assert low is not None and y is not None and high is not None and usual is not None
        assert low < y < high and abs(y / usual - 1) < 0.01


def test_without_such_hosts_the_lowest_and_the_highest_are_shown() -> None:
    slow = {host: 1 + number / 400 for number, host in enumerate(NAMES)}
    chart = chart_of(fleet_figures(fleet(slow=slow)))
    assert "No host is far from the median" in chart.caption
    others = {item.name for item in chart.series} - {MEDIAN}
    assert len(others) == 2 and min(others) < "n10" and max(others) > "n29"


def marked(*hosts: tuple[Marker, ...]) -> list[tuple[str, Chart]]:
    """Return a chart with these markers for each host."""
    return [(name, replace(sweep(("reads",)), markers=own)) for name, own in zip(NAMES, hosts, strict=False)]


def end(size: float) -> Marker:
    return Marker(size, "L1 ends at", value=f"{size:g}K")


def test_hosts_share_the_markers_that_are_close() -> None:
    charts = marked(*((end(size), Marker(99.0, "L1", "hint", "48K")) for size in (50.0, 40.0, 47.0)))
    assert [(one.x, one.label) for one in markers_of(charts)] == [(47.0, "L1 ends at 47K"), (99.0, "L1 48K")]


def test_markers_that_differ_between_hosts_say_how_many_hosts_they_are_on() -> None:
    halves = marked((end(32.0),), (end(48.0),))
    assert [one.label for one in markers_of(halves)] == [
        "L1 ends at 32K on 1 of 2 hosts",
        "L1 ends at 48K on 1 of 2 hosts",
    ]
    most = marked((end(32.0),), (end(48.0),), (end(49.0),), (end(50.0), Marker(1.0, "knee")))
    assert [one.label for one in markers_of(most)] == ["L1 ends at 49K on 3 of 4 hosts"]


def test_markers_of_the_same_name_are_paired_in_order() -> None:
    charts = marked(*((Marker(10.0 + more, ""), Marker(12.0 + more, "")) for more in (0.0, 0.5, 1.0)))
    assert [one.x for one in markers_of(charts)] == [10.5, 12.5]


def test_figures_of_several_and_of_many_hosts_have_markers() -> None:
    charts = marked(*(((end(48.0),),) * len(NAMES)))
    [few] = combined(charts[:3], several=True)
    [many] = fleet_figures({host: [chart] for host, chart in charts})
    for chart in (few, many):
        assert isinstance(chart, Line) and [one.label for one in chart.markers] == ["L1 ends at 48K"]


def test_hosts_that_deviate_by_less_than_matters_are_not_far_away() -> None:
    same = {host: [sweep(("reads",))] for host in NAMES}
    first = same["n00"][0].series[0]
    same["n00"] = [replace(sweep(("reads",)), series=(replace(first, y=tuple(1.01 * (y or 0) for y in first.y)),))]
    assert "No host is far from the median" in chart_of(fleet_figures(same)).caption


def test_many_series_are_one_panel_each_with_at_most_seven_hosts() -> None:
    slow = {host: 2.0 + number for number, host in enumerate(NAMES[:12])}
    chart = chart_of(fleet_figures(fleet(slow=slow, names=("p50", "p99"))))
    found = panels(chart)
    assert [panel.title for panel in found] == ["p50", "p99"]
    for panel in found:
        assert len(panel.series) == 8 and panel.series[0].name == MEDIAN
        assert {item.name for item in panel.series[1:]} == set(NAMES[5:12])
    styles: dict[str, set[str]] = {}
    drawn = render_sections([Neighbors([chart])], NAMES)["rate"]
    for trace in drawn["data"]:
        if trace.get("hoverinfo") != "skip":
            styles.setdefault(trace["name"], set()).add(trace["line"]["color"])
    assert len(styles) == 8 and len({color for colors in styles.values() for color in colors}) == 8


def test_marks_are_those_that_were_not_measured() -> None:
    """The load on a curve plotted against load, and the percentile in a distribution, are the same on all hosts."""
    axes = Axis("Latency", "s", "log10"), Axis("Requests", "%")
    shares, loads = (50.0, 90.0, 99.0), ("1", "2", "4")
    distributions: dict[str, list[Figure]] = {}
    curves: dict[str, list[Figure]] = {}
    for number, host in enumerate(NAMES):
        xs = tuple((1 + number / 1000) * x for x in (1e-4, 2e-4, 9e-4))
        distributions[host] = [Line("d", "t", "c", *axes, (Series("reads", xs, shares),))]
        curve = Series("reads", xs, tuple(10 * x for x in xs), labels=loads, labels_name="depth")
        curves[host] = [Line("l", "t", "c", *axes, (curve,))]
    middle = chart_of(fleet_figures(distributions)).series[0]
    assert middle.y == shares and middle.low == () and len(middle.x) == 3
    for low, x, high in zip(middle.x_low, middle.x, middle.x_high, strict=True):
        assert low is not None and high is not None and low < float(x) < high
    assert abs(float(middle.x[0]) - 1.0195e-4) < 1e-9
    middle = chart_of(fleet_figures(curves)).series[0]
    assert (middle.labels, middle.labels_name, len(middle.low)) == (loads, "depth", 3)


def test_stacked_bars_become_bars_and_matrices_their_medians() -> None:
    chart = chart_of(fleet_figures({host: [bars(stacked=True)] for host in NAMES}))
    assert isinstance(chart, Bars) and not chart.stacked
    maps: dict[str, list[Figure]] = {
        host: [Heatmap("m", "t", "c.", "x", "y", ("0", "1"), ("0",), ((float(number), None),), "s")]
        for number, host in enumerate(NAMES)
    }
    [middle] = fleet_figures(maps)
    assert isinstance(middle, Heatmap) and middle.values == ((19.5, None),)
    [[told, absent]] = render_figure(middle, NAMES)["data"][0]["customdata"]
    assert (told, absent) == ("<br>middle 90 % 1.95 to 37.05 s, 40 hosts", "")
    assert "Median of 40 hosts" in middle.caption


def converging(first: int) -> Line:
    """Return a chart whose measurement window begins with the round `first`."""
    window = Band(None, None, first, first + 4, "measurement window")
    return sweep(("reads",), bands=(window, Band(1.0, 2.0, 1, 5, "range")))


def test_a_window_names_its_hosts_unless_all_share_it() -> None:
    same = chart_of(combined_figures({host: (converging(5),) for host in ("a", "b")}))
    assert isinstance(same, Line) and same.bands == converging(5).bands
    other = chart_of(combined_figures({"a": (converging(5),), "b": (converging(8),), "c": (converging(5),)}))
    assert isinstance(other, Line)
    assert {band.label: band.start for band in other.bands} == {
        "measurement window of a, c": 5, "range": 1, "measurement window of b": 8,
    }  # fmt: skip


def test_of_many_hosts_only_the_windows_that_half_of_them_share_are_shown() -> None:
    firsts = {host: 5 if number < 30 else number for number, host in enumerate(NAMES)}
    chart = chart_of(fleet_figures({host: [converging(first)] for host, first in firsts.items()}))
    assert isinstance(chart, Line)
    assert [band.start for band in chart.bands] == [5, 1]
    assert chart.bands[0].label.startswith("measurement window of n00, n01,")


def histogram(host: int) -> Bars:
    """Counts in ranges that depend on the values of the host."""
    ranges = tuple(f"{10 * number + host} to {10 * number + host + 10}" for number in range(5))
    axes = Axis("Latency (ns)", "", "category"), Axis("Pairs", "1", counts=True)
    return Bars("h", "t", "c", *axes, (Series("token", ranges, (1.0,) * 5),))


def test_histograms_with_other_ranges_do_not_share_an_axis() -> None:
    several = {f"n{host}": (histogram(host),) for host in range(2)}
    assert [figure.slug for figure in combined_figures(several)] == ["h-n0", "h-n1"]
    assert fleet_figures({host: (histogram(number),) for number, host in enumerate(NAMES)}) == []
    same = {host: (histogram(1),) for host in ("n0", "n1")}
    assert [figure.slug for figure in combined_figures(same)] == ["h"]


def test_a_host_without_some_categories_shares_the_axis() -> None:
    few = replace(histogram(0), series=(Series("token", ("0 to 10", "20 to 30"), (1.0, 2.0)),))
    for first, second in ((few, histogram(0)), (histogram(0), few)):
        [chart] = combined_figures({"n0": (first,), "n1": (second,)})
        assert isinstance(chart, Bars) and [item.name for item in chart.series] == ["n0", "n1"]


def test_figures_of_few_hosts_are_combined_as_usual() -> None:
    mixed = fleet()
    mixed["n03"].append(replace(sweep(("writes",)), slug="writes"))
    found = fleet_figures(mixed)
    assert [figure.slug for figure in found] == ["rate", "writes-n03"]


def test_the_figures_of_a_host_have_the_medians_behind_them() -> None:
    charts = fleet(names=("p50", "p99"))
    together = fleet_figures(charts)
    alone = chart_of(list(host_figures("n05", charts["n05"], together)))
    assert [item.name for item in alone.series] == ["p50", "p99"]
    medians = {item.panel: item.y for item in chart_of(together).series if item.host == MEDIAN}
    assert [item.backdrop and item.backdrop.y for item in alone.series] == [medians["p50"], medians["p99"]]
    pale = [one for one in render_sections([Neighbors([alone])], NAMES)["rate"]["data"] if "opacity" in one]
    assert len(pale) == 2 and all(one["hoverinfo"] == "skip" for one in pale)
    texts = [text for one in render_figure(alone)["data"] for text in one.get("customdata", ())]
    assert len(texts) == 16 and all(f"{MEDIAN}: " in text for text in texts)


def test_many_visits_are_counted_but_not_kept() -> None:
    chart = sweep(("reads",))
    assert without_visits([chart], 64) == [chart]
    [less] = without_visits([chart], 63)
    assert isinstance(less, Line)
    assert [(one.values, one.count) for one in less.series[0].details if one] == [((), 8)] * 8


def test_the_page_of_many_hosts_keeps_the_figures_of_each(tmp_path: Path) -> None:
    hosts = NAMES[: FEW_HOSTS + 1]
    view = sample_view(tmp_path, hosts=hosts)
    body = html.render(view)
    packed = re.search(r'id="host-data-gzip">([^<]+)<', body)
    assert packed is not None
    data: dict[str, Any] = json.loads(gzip.decompress(base64.b64decode(packed[1])))
    for section in build(view).sections:
        own = data["hosts"][section.slug]
        assert list(own) == list(hosts)
        slugs = [one["slug"] for figures in own.values() for one in figures]
        assert set(slugs) <= data["figures"].keys() and len(set(slugs)) == len(slugs) >= len(hosts)
        assert len(section.figures) < len(slugs) / len(hosts) + 2
        assert f"<option selected>{section.foremost}" in body


def test_the_page_of_few_hosts_has_no_such_figures(tmp_path: Path) -> None:
    view = sample_view(tmp_path, hosts=NAMES[:3])
    assert "host-data-gzip" not in html.render(view).partition("<script>")[0]
    assert all(not part.figures for section in build(view).sections for part in section.parts)
