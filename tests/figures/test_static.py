"""Pictures of figures: their content, a check that nothing is blank, and equal bytes for equal figures."""

from __future__ import annotations

import io
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from numpy import asarray
from PIL import Image

from asct.figures.static import picture
from asct.sdk.figure import Axis, Band, Bars, Detail, Figure, Line, Marker, Rated, Series
from tests.figures.heat import cores, nodes
from tests.figures.made import bars, charts, loaded, steady, sweep
from tests.figures.rendered import render_figure

SIZES = tuple(128 * 2**power for power in range(24))
HOSTILE = "$\\alpha$ <script>alert(1)</script> & _x \x1b[31m"
SOURCE = "plan/20261121T042813Z-3f9c2a, host"
DEPTHS = (1, 2, 4, 8, 16, 32, 64, 128)


def curve(**changes: Any) -> Line:
    ys = tuple(1.2e-9 * (n + 1) ** 1.5 for n in range(24))
    series = Series("latency", SIZES, ys, tuple(y * 0.9 for y in ys), tuple(y * 1.1 for y in ys))
    markers = (Marker(32768.0, "L1 ends"), Marker(33000.0, "L1d 32K", "hint"), Marker(2.0**20, "L2 ends"))
    body: dict[str, Any] = {
        "slug": "curve", "title": "Latency by data size", "caption": "Time of one dependent load.",
        "x": Axis("Data size", "B", "log2"), "y": Axis("Latency", "s", "log10", better="lower"), "series": (series,),
        "markers": markers, "rated": (Rated(1e-7, "reference 100 ns"),),
    }  # fmt: skip
    return Line(**{**body, **changes})


def rates(**changes: Any) -> Line:
    series = tuple(
        Series(
            name, DEPTHS, tuple(rate * depth / (depth + 3) for depth in DEPTHS),
            tuple(rate * depth / (depth + 4) for depth in DEPTHS),
            tuple(rate * depth / (depth + 2) for depth in DEPTHS),
            details=(Detail((rate * 0.9, rate), states=(rate * 0.9, rate)), *([None] * 7)),
            labels=tuple(f"depth {depth}" for depth in DEPTHS),
        )
        for name, rate in (("read", 6e4), ("write", 4e4))
    )  # fmt: skip
    bands = (Band(3e4, 3.5e4, 2.0, 64.0, "permitted range"),)
    return Line("rates", "IOPS", "c", Axis("Depth", "", "log2"), Axis("IOPS", "ops/s"), series, bands=bands, **changes)


def shares(stacked: bool) -> Bars:
    x, y = Axis("Access pattern", "", "category"), Axis("CPU time", "%")
    names = ("read", "write", "randread", "randwrite", "rw", "randrw")
    series = tuple(Series(name, names, (5.0, 10.0, 20.0, None, 3.0, 1.0)) for name in ("usr", "sys", "irq", "iowait"))
    return Bars("cpu", "CPU utilization", "c", x, y, series, stacked=stacked)


def many(count: int) -> Line:
    names = [f"{host}, depth {depth}" for host in ("a", "b", "c") for depth in DEPTHS][:count]
    series = tuple(Series(name, (1, 2, 4), (1e4, 2e4, 3e4)) for name in names)
    return Line("many", "IOPS", "c", Axis("Jobs", "", "log2"), Axis("IOPS", "ops/s"), series)


NUMBERS = {"type": "linear", "range": [0, 1], "tickvals": [0], "ticktext": ["0"]}
AXES = {"xaxis": NUMBERS, "yaxis": NUMBERS}

FIGURES: Mapping[str, Figure] = {
    "curve": curve(),
    "rates": rates(),
    "bars": shares(False),
    "stacked": shares(True),
    "panels": many(24),
    "two states": bars(),
    "points in place of bars": bars(scale="log10"),
    "intervals of parts": bars(stacked=True),
    "load": loaded(),
    "steady": steady(),
    "window": curve(bands=(Band(None, None, 4096.0, 65536.0, "window"),)),
    "keys above panels": sweep(("read",), tuple(f"n{number:03}" for number in range(30))),
    "hosts": sweep(("read", "write"), ("a", "b")),
    "empty": curve(series=(), markers=(), rated=()),
    "one point": curve(series=(Series("a", (4096,), (1e-9,)),), markers=(), rated=()),
    "no value": curve(series=(Series("a", (1, 2), (None, None)),), markers=(), rated=()),
    "cores": cores(64, ceiling=150e-9),
    "nodes": nodes(),
    "changes": nodes(diverging=True, unit="%", values=((1.0, -3.5, None), (0.5, 12.0, 0.0)), better="higher"),
    "ratios": nodes(values=((1.5, 2000.0, None), (0.0, 40.0, 6.0)), unit="s", logarithmic=True),
    "text": curve(
        title=HOSTILE, caption=HOSTILE, x=Axis(HOSTILE, "", "category"), markers=(), rated=(Rated(1e-9, HOSTILE),),
        series=(Series(HOSTILE, (HOSTILE, "b"), (1e-9, 2e-9)), Series("_b", ("b",), (1e-9,))),
    ),
}  # fmt: skip


def drawn(figure: Figure, form: Any = "svg") -> bytes:
    return picture(render_figure(figure), figure.title, figure.caption, SOURCE, form)


def texts(document: bytes) -> list[str]:
    """Return the texts in an SVG drawing."""
    root = ET.fromstring(document)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    return ["".join(text.itertext()) for text in root.iter("{http://www.w3.org/2000/svg}text")]


@pytest.mark.parametrize("name", FIGURES)
def test_a_picture_shows_its_figure_and_is_the_same_bytes_again(name: str) -> None:
    figure = FIGURES[name]
    first = drawn(figure, "png")
    assert first == drawn(replace(figure), "png") and drawn(figure) == drawn(replace(figure))
    image = Image.open(io.BytesIO(first)).convert("RGB")
    assert 1000 < image.width < 2000 and 500 < image.height < 3000
    pixels = asarray(image)
    assert pixels[0, 0].tolist() == [255, 255, 255]
    lower = pixels[image.height // 3 :]
    assert lower.std() > 5, "the plot is blank"
    assert not (pixels[:, -1] < 250).any(), "something is cut off at the right"
    assert not (pixels[-1] < 250).any(), "something is cut off at the bottom"


def test_cells_of_a_logarithmic_matrix_show_its_values() -> None:
    found = texts(drawn(FIGURES["ratios"]))
    assert {"1.5", "2,000", "0", "40", "6"} <= set(found)
    assert "3.301" not in found


def test_svg_contains_the_texts_of_the_figure() -> None:
    found = texts(drawn(FIGURES["curve"]))
    for text in (
        SOURCE,
        "Latency by data size",
        "Time of one dependent load.",
        "L1 ends",
        "L2 ends",
        "reference 100 ns",
    ):
        assert text in found
    assert any("Latency (ns)" in text for text in found)
    assert {"4K", "32K"} & set(found)


def test_every_series_is_named() -> None:
    assert {"read", "write", "permitted range", "depth 1"} <= set(texts(drawn(FIGURES["rates"])))
    assert {"usr", "sys", "irq", "iowait"} <= set(texts(drawn(FIGURES["stacked"])))


def test_a_matrix_shows_its_numbers_and_its_scale() -> None:
    found = texts(drawn(FIGURES["nodes"]))
    assert {"459.1", "78.3", "Node 4", "Memory node"} <= set(found)
    assert any(text.endswith("GB/s") for text in found)
    assert any(text.startswith("\u2265") for text in texts(drawn(FIGURES["cores"]))), "the scale is cut at the ceiling"


def test_names_are_shown_letter_by_letter() -> None:
    document = drawn(FIGURES["text"])
    assert b"<script" not in document
    found = texts(document)
    shown = [text for text in found if "alert(1)" in text]
    assert len(shown) >= 5
    assert all("$\\alpha$ <script>alert(1)</script> & _x" in text for text in shown)
    assert not any("\x1b" in text for text in found)


def test_a_file_needs_no_font_and_says_neither_when_nor_with_what_it_was_drawn() -> None:
    document = drawn(FIGURES["curve"])
    assert b"'DejaVu Sans', sans-serif" in document, "a viewer without the font uses a similar one"
    assert b"dc:date" not in document and b"matplotlib.org" not in document
    assert "Software" not in Image.open(io.BytesIO(drawn(FIGURES["curve"], "png"))).info


@settings(max_examples=30)
@given(charts())
def test_every_chart_can_be_drawn(chart: Line | Bars) -> None:
    found = texts(drawn(chart))
    assert chart.title in found and chart.caption in found


@pytest.mark.parametrize(
    "change",
    [
        {"data": [{"type": "pie"}]},
        {"data": [{"type": "scatter", "mode": "lines", "x": [1], "y": [1], "fill": "tonexty"}]},
        {"data": [], "layout": {"shapes": [{"type": "circle", "x0": 0, "x1": 1, "y0": 0, "y1": 1}]}},
    ],
)
def test_what_cannot_be_drawn_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="pictures do not support"):
        picture({**change, "layout": {**AXES, **change.get("layout", {})}}, "t", "c", "s", "svg")
