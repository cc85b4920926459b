"""A printed report: everything on the screen is in the PDF, whatever the width of the screen."""

from __future__ import annotations

import html
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from asct.export import write
from asct.sdk.figure import Column, Table
from tests.browser.look import report_of
from tests.browser.trees import write_tree
from tests.export.fakes import sample_view

pytestmark = pytest.mark.browser

COLUMNS, ROWS = 34, 90
WIDE = Table(
    "wide",
    "A wide table",
    tuple(Column(f"c{number}", f"Title{number:02}", format="text", help="help") for number in range(COLUMNS)),
    tuple({f"c{number}": f"cell{row:02}x{number:02}" for number in range(COLUMNS)} for row in range(ROWS)),
)
SHEET_POINTS = 595.0
SHEET_PIXELS = 1016
"""Height of A4 between the margins, in pixels."""


def printed(path: Path, opened: Any, folder: Path) -> Path:
    """Print a page from a narrow window in dark mode, which must not affect the result."""
    target = folder / "report.pdf"
    with opened(path, width=900, dark=True) as (page, seen):
        page.pdf(path=target, format="A4")
        assert seen.errors == []
    return target


def words_of(pdf: Path) -> list[tuple[str, float, float, float]]:
    """Return the words with their left edge, right edge and height, in points."""
    box = r'<word xMin="([\d.]+)" yMin="([\d.]+)" xMax="([\d.]+)" yMax="([\d.]+)">(.*?)</word>'
    done = subprocess.run(["pdftotext", "-bbox", pdf, "-"], capture_output=True, check=True, text=True)
    return [
        (text, float(left), float(right), float(bottom) - float(top))
        for left, top, right, bottom, text in re.findall(box, done.stdout)
    ]


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    view = sample_view(tmp_path_factory.mktemp("results"))
    object.__setattr__(view.jobs[0], "tables", (WIDE,))
    [path] = write(view, "html", view.root)
    return path


def test_every_cell_of_a_wide_table_is_printed_at_full_size(
    wide: Path, reports: Any, opened: Any, tmp_path: Path
) -> None:
    found = words_of(printed(wide, opened, tmp_path))
    texts = [word for word, *_ in found]
    cells = {f"cell{row:02}x{number:02}" for row in range(ROWS) for number in range(COLUMNS)}
    assert cells - set(texts) == set()
    repeated = {f"Title{number:02}": texts.count(f"Title{number:02}") for number in range(COLUMNS)}
    assert {title: count for title, count in repeated.items() if count < 2} == {}, "headings repeat on each sheet"
    assert all(left >= 0 and right <= SHEET_POINTS for _, left, right, _ in found)
    narrow = words_of(printed(reports(), opened, tmp_path))
    heights = [max(height for word, _, _, height in words if word == "Appendix") for words in (found, narrow)]
    assert heights[0] == pytest.approx(heights[1]), "a wide table does not shrink the sheet"


CELLS = """() => Array.from(document.querySelectorAll('th, td')).filter((cell) => !cell.closest('[data-screen-only]'))
  .map((cell) => cell.textContent)"""


def without_breaks(text: str) -> str:
    """Return text without white space and hyphens, at which lines of a cell can end."""
    return re.sub(r"[\s\u00ad\u200b-]", "", text)


def test_every_word_of_the_tables_is_printed(tmp_path: Path, opened: Any) -> None:
    path = report_of(write_tree("failures", tmp_path))
    with opened(path) as (page, _):
        cells = page.evaluate(CELLS)
    words = [html.unescape(word) for word, *_ in words_of(printed(path, opened, tmp_path))]
    sheets = without_breaks("".join(words))
    wanted = {without_breaks(word) for cell in cells for word in cell.split()}
    assert len(wanted) > 200
    assert [word for word in wanted if word not in sheets] == []


def test_the_values_of_a_figure_are_printed_if_they_are_expanded(reports: Any, opened: Any, tmp_path: Path) -> None:
    values, target = "#latency-sweep-curve > details", tmp_path / "report.pdf"
    with opened(reports()) as (page, _):
        page.pdf(path=target, format="A4")
        collapsed = len(words_of(target))
        page.locator(f"{values} > summary").click()
        cells = page.locator(f"{values} :is(th, td)").all_inner_texts()
        page.pdf(path=target, format="A4")
    assert len(words_of(target)) >= collapsed + len(cells) > collapsed


def test_a_long_table_is_laid_out_only_near_the_screen(wide: Path, opened: Any) -> None:
    laid_out = "cell => cell.checkVisibility({ contentVisibilityAuto: true })"
    with opened(wide) as (page, _):
        page.locator("main").evaluate("found => { found.style.paddingTop = '9000px'; }")
        cell = page.locator("td").filter(has_text="cell05x01")
        cell.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        assert not cell.evaluate(laid_out)
        cell.scroll_into_view_if_needed()
        page.wait_for_function(laid_out, arg=cell.element_handle())
        assert cell.is_visible()


def test_figures_fill_the_sheet_and_folded_parts_are_open(reports: Any, opened: Any, tmp_path: Path) -> None:
    with opened(reports()) as (page, _):
        page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        widths = page.evaluate("Array.from(document.querySelectorAll('.plot'), (plot) => plot._fullLayout.width)")
        assert min(widths) >= 640, "of 688 CSS pixels between the margins of A4"
        closed = page.locator("details:not([open]):not([data-screen-only])").count()
        assert closed == 0
        page.evaluate("window.dispatchEvent(new Event('afterprint'))")
        assert page.locator("details[open]").count() == 0
        assert page.locator(".scroll table + table").count() == 0
    texts = [word for word, *_ in words_of(printed(reports(), opened, tmp_path))]
    assert {"1.18", "98.1", "24.99M", "swept:", "governor"} <= set(texts)


def test_the_drawing_of_the_topology_is_whole_on_the_sheet(tmp_path: Path, opened: Any) -> None:
    """The drawing of a host with 192 CPUs is wider than a sheet."""
    with opened(report_of(write_tree("cpus-192", tmp_path)), width=688) as (page, _):
        drawing = page.locator(".picture svg").first
        page.locator(".picture").first.evaluate("found => { found.open = true; }")
        assert drawing.bounding_box()["width"] > 688, "on the screen it scrolls"
        page.emulate_media(media="print")
        assert page.locator(".picture .wide").first.evaluate("found => found.scrollWidth - found.clientWidth") == 0
        box = drawing.bounding_box()
        assert box["width"] <= 688
        assert box["height"] <= 950, "of the 1,016 CSS pixels between the margins of A4"
        assert page.locator(".picture").first.evaluate("found => getComputedStyle(found).breakInside") == "avoid"


TALLEST = """() => Array.from(document.querySelectorAll('.figures > figure'), (figure) => {
  const start = figure.previousElementSibling ? figure : figure.closest('.job');
  return [figure.id, figure.querySelector('.plot').getBoundingClientRect().bottom - start.getBoundingClientRect().top];
})"""


def test_every_figure_ends_on_the_sheet_on_which_its_section_or_its_title_begins(tmp_path: Path, opened: Any) -> None:
    """The figure that shows the steady state of each mix has panels below one another, which are scrolled on the
    screen."""
    with opened(report_of(write_tree("qualification", tmp_path)), width=688) as (page, _):
        page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        page.emulate_media(media="print")
        assert {name: height for name, height in page.evaluate(TALLEST) if height > SHEET_PIXELS} == {}


def test_a_wide_table_is_divided_into_few_even_groups_of_columns(tmp_path: Path, opened: Any) -> None:
    with opened(report_of(write_tree("quickstart", tmp_path)), width=688) as (page, _):
        page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        page.emulate_media(media="print")
        counts = page.evaluate(
            "Array.from(document.querySelectorAll('.split .scroll'), (box) => Array.from(box.querySelectorAll('table'))"
            ".slice(1).map((table) => table.tHead.rows[0].cells.length))"
        )
        assert counts and all(len(groups) == 2 and max(groups) - min(groups) <= 2 for groups in counts), counts


def assert_printed_in_one_piece(box: Any, columns: int) -> None:
    assert box.locator("thead").first.locator("th").count() == columns
    assert box.locator("table").count() == 1
    assert box.evaluate("found => found.scrollWidth - found.clientWidth") <= 0


def test_a_table_whose_text_fits_is_printed_in_one_piece(tmp_path: Path, opened: Any) -> None:
    """Short sentences need no more space on paper than their text."""
    with opened(report_of(write_tree("quickstart", tmp_path)), width=688) as (page, _):
        page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        page.emulate_media(media="print")
        assert_printed_in_one_piece(page.locator("#headlines .scroll"), columns=6)
        cut = page.locator(".scroll").evaluate_all(
            "boxes => boxes.filter(box => box.scrollWidth > box.clientWidth + 1).map(box => box.ariaLabel)"
        )
        assert cut == []


def test_all_key_results_are_printed_in_one_piece(tmp_path: Path, opened: Any) -> None:
    """The text of their seven columns wraps."""
    with opened(report_of(write_tree("memory", tmp_path)), width=688) as (page, _):
        page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        page.emulate_media(media="print")
        assert_printed_in_one_piece(page.locator("#all-key-results .scroll"), columns=7)


def test_expectations_are_printed_in_one_piece(tmp_path: Path, opened: Any) -> None:
    """Their notes are sentences, which wrap. In a second piece, every row would only be named `fail` or `unknown`."""
    with opened(report_of(write_tree("failures", tmp_path)), width=688) as (page, _):
        page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        page.emulate_media(media="print")
        for name in ("expectations-open", "expectations-held"):
            box = page.locator(f"#{name} .scroll")
            assert box.locator("table").count() == 1
            assert box.evaluate("found => found.scrollWidth - found.clientWidth") <= 0


@pytest.mark.parametrize(("more", "dense"), [("", False), (".example.net", True)])
def test_a_numeric_table_of_several_hosts_is_printed_in_one_piece(
    more: str, dense: bool, tmp_path: Path, opened: Any
) -> None:
    """Its flags wrap, and the type is smaller if the names of the hosts are long."""
    with opened(report_of(write_tree("failures", tmp_path)), width=688) as (page, _):
        table = page.locator("#latency-sweep-levels")
        table.locator("td:nth-child(2)").evaluate_all(
            "(cells, more) => cells.forEach((cell) => cell.append(more))", more
        )
        page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        page.emulate_media(media="print")
        assert_printed_in_one_piece(table.locator(".scroll"), columns=10)
        assert table.evaluate("found => found.matches('.dense')") == dense


def test_headings_of_columns_are_not_larger_than_the_values_below_them(reports: Any, opened: Any) -> None:
    with opened(reports()) as (page, _):
        page.emulate_media(media="print")
        head, cell = (
            page.evaluate(f"parseFloat(getComputedStyle(document.querySelector('{place}')).fontSize)")
            for place in ("thead th", "tbody td")
        )
        assert head <= cell


def test_a_sheet_has_room_for_fifty_rows(reports: Any, opened: Any) -> None:
    with opened(reports(), width=688) as (page, _):
        page.emulate_media(media="print")
        heights = page.locator(".numeric tbody tr").evaluate_all("rows => rows.map(row => row.offsetHeight)")
        assert heights and min(heights) <= SHEET_PIXELS / 50
