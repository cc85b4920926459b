"""The report in a real browser, opened from a file: it is drawn without errors, and usable at any width, in dark mode
and without scripts."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.browser.look import drawn, report_of
from tests.browser.trees import write_tree

pytestmark = pytest.mark.browser

Reports = Callable[..., Path]
HOSTILE = (
    "<img src=x onerror=\"window.hacked='img'\"><script>window.hacked='script'</script>"
    "</script><svg onload=\"window.hacked='svg'\"><a href=\"javascript:window.hacked='a'\">x</a>"
)


def test_every_figure_is_drawn_and_nothing_else_happens(reports: Reports, opened: Any) -> None:
    path = reports()
    assert path.stat().st_size <= 2_500_000
    with opened(path) as (page, seen):
        drawn = page.evaluate("Array.from(document.querySelectorAll('.plot'), p => !!p.querySelector('.main-svg'))")
        assert drawn == [True] * 5
        assert seen.errors == []
        assert seen.console == []
        assert [url for url in seen.requests if not url.startswith(("file://", "data:", "blob:"))] == []


def test_tables_are_there_without_script(reports: Reports, opened: Any) -> None:
    with opened(reports(), script=False) as (page, seen):
        text = page.inner_text("main")
        assert "1 of 3 expectations failed" in text
        assert "24.99M" in text
        assert "This figure needs JavaScript; its values are in the table below." in text
        assert not page.locator(".tools").first.is_visible()
        assert not page.locator(".plot").first.is_visible()
        page.locator("#latency-sweep-curve summary").click()
        assert page.locator("#latency-sweep-curve table").is_visible()
        assert seen.errors == []


def test_the_colours_can_be_chosen_and_reach_the_figures(reports: Reports, opened: Any) -> None:
    line = "document.querySelector('#plot-latency-sweep-curve .js-line').style.stroke"
    with opened(reports()) as (page, seen):
        before = page.evaluate(line)
        page.get_by_role("button", name="Dark").click()
        drawn(page)
        assert page.evaluate("document.documentElement.dataset.theme") == "dark"
        assert page.evaluate(line) != before
        assert page.get_by_role("button", name="Dark").get_attribute("aria-pressed") == "true"
        page.get_by_role("button", name="Light").click()
        drawn(page)
        assert page.evaluate(line) == before
        assert seen.errors == []


def test_words_of_others_are_shown_and_not_executed(reports: Reports, opened: Any) -> None:
    with opened(reports(text=HOSTILE, fail_depth=64)) as (page, seen):
        assert page.evaluate("window.hacked") is None
        assert HOSTILE in page.inner_text("h1")
        assert page.locator("main img, main svg:not(.main-svg)[onload]").count() == 0
        assert page.locator("a[href^='javascript']").count() == 0
        assert seen.errors == []
        assert seen.console == []


def test_hostile_names_in_figures_stay_text(tmp_path: Path, opened: Any) -> None:
    from dataclasses import replace

    from asct.export import write
    from tests.export.fakes import sample_view

    view = sample_view(tmp_path)
    job = view.jobs[0]
    figure = job.figures[0]
    series = replace(figure.series[0], name=HOSTILE)
    hostile = replace(figure, title=HOSTILE, caption=HOSTILE, series=(series, replace(series, name="b" + HOSTILE)))
    object.__setattr__(job, "figures", (hostile,))
    [path] = write(view, "html", view.root)
    with opened(path) as (page, seen):
        assert page.evaluate("window.hacked") is None
        legend = page.locator("#latency-sweep-curve .legend button").first
        assert "onerror" in str(legend.text_content())
        assert page.locator(".plot a").count() == 0
        assert seen.errors == []


def test_tables_sort_and_keep_it_in_the_link(reports: Reports, opened: Any) -> None:
    block = "#storage-io-depth-sweep-settings"
    with opened(reports()) as (page, _):
        table = "#storage-io-depth-sweep-on-local-sweep"
        depths = f"Array.from(document.querySelectorAll('{table} tbody th'), c => c.textContent)"
        head = page.locator(f"{table} thead button").first
        head.click()
        assert page.evaluate(depths) == ["1", "2", "4", "8", "16", "32", "64", "128"]
        head.press("Enter")
        assert page.evaluate(depths)[0] == "128"
        assert page.locator(f"{table} th[aria-sort=descending]").count() == 1
        assert page.url.endswith(f"{table}?sort=0%2Cdescending")
        url = page.url
        assert page.locator(f"{block} input").count() == 0
    with opened(reports(), fragment="#" + url.split("#")[1]) as (page, _):
        assert page.evaluate(depths)[0] == "128"


def test_tables_filter_and_keep_it_in_the_link(reports: Reports, opened: Any) -> None:
    table, link = "#latency-sweep-curve-data", "#latency-sweep-curve-data?filter=8m"
    names = f"{table} tbody tr:visible th"
    with opened(reports(), fragment=table) as (page, _):
        assert page.locator(names).count() == 24
        page.locator(f"{table} input").fill("8m")
        assert page.locator(names).all_text_contents() == ["8M", "128M"]
        assert page.locator("#announce").text_content() == "2 of 24 rows"
        assert page.url.endswith(link)
    with opened(reports(), fragment=link) as (page, _):
        assert page.locator(names).all_text_contents() == ["8M", "128M"]
        assert page.locator(f"{table} input").input_value() == "8m"
        page.locator(f"{table} input").fill("")
        assert page.locator(names).count() == 24
        assert page.url.endswith(table)


def test_tables_are_copied_as_csv_and_markdown(reports: Reports, opened: Any) -> None:
    with opened(reports()) as (page, _):
        page.evaluate("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
        levels = page.locator("#latency-sweep-on-local-levels")
        levels.get_by_role("button", name="Copy CSV").click()
        assert page.evaluate("window.copied").splitlines()[1] == "L1,128,32.62K,16.31K,1.2,4.0"
        levels.get_by_role("button", name="Copy Markdown").click()
        assert page.evaluate("window.copied").splitlines()[1] == "| --- | --- | --- | --- | --- | --- |"


def test_links_lead_to_their_sections_and_open_what_hides_them(reports: Reports, opened: Any) -> None:
    with opened(reports()) as (page, _):
        targets = page.evaluate("Array.from(document.querySelectorAll('a[href^=\"#\"]'), a => a.getAttribute('href'))")
        assert len(targets) > 10
        assert page.evaluate("t => t.filter(h => !document.querySelector(h))", targets) == []
    with opened(reports(), fragment="#storage-io-depth-sweep-settings") as (page, _):
        assert page.locator("#storage-io-depth-sweep-settings table").is_visible()


def test_tables_have_captions_and_scopes_and_keys_reach_the_controls(reports: Reports, opened: Any) -> None:
    with opened(reports()) as (page, _):
        assert page.evaluate("Array.from(document.querySelectorAll('table')).every(t => t.caption.textContent.trim())")
        assert page.locator("th:not([scope])").count() == 0
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        names = page.evaluate(
            "Array.from(document.querySelectorAll('button, input, a[href]')).filter(e =>"
            " !(e.textContent.trim() || e.getAttribute('aria-label') || e.labels?.length)).length"
        )
        assert names == 0


def test_the_page_prints(reports: Reports, opened: Any, tmp_path: Path) -> None:
    with opened(reports(), dark=True) as (page, seen):
        printed = page.pdf(format="A4")
        assert len(re.findall(rb"/Type\s*/Page\b", printed)) >= 3
        assert seen.errors == []
        page.emulate_media(media="print")
        assert page.evaluate("getComputedStyle(document.querySelector('main')).backgroundColor") == "rgb(255, 255, 255)"
        assert not page.locator(".contents").is_visible()


@pytest.mark.parametrize("width", [390, 1280])
def test_the_name_of_a_row_stays_in_sight(reports: Reports, opened: Any, width: int) -> None:
    """This holds no matter how far a wide table is scrolled."""
    with opened(reports(fail_depth=64), width=width) as (page, _):
        page.add_style_tag(content="#latency-sweep .scroll table { width: 3000px }")
        table = page.locator("#latency-sweep .scroll:visible").first
        table.evaluate("box => { box.scrollLeft = 600; }")
        box, name = table.bounding_box(), table.locator("tbody th").first.bounding_box()
        assert table.evaluate("box => box.scrollLeft") == 600
        assert name["x"] >= box["x"]


def test_many_hosts_are_folded_and_drawn_when_they_are_opened(reports: Reports, opened: Any) -> None:
    hosts = tuple(f"n{number:02}" for number in range(30))
    with opened(reports(hosts=hosts, repeats=1)) as (page, seen):
        folded = page.locator("details:has(> .figures)")
        plot = folded.locator(".plot").first
        assert plot.locator(".main-svg").count() == 0
        folded.locator("> summary").first.click()
        plot.locator(".main-svg").first.wait_for(state="attached")
        page.locator("details:has(> details.part) > summary").first.click()
        part = page.locator("details.part").first
        assert not part.locator("details").first.is_visible()
        part.locator("> summary").click()
        assert part.locator("details").first.is_visible()
        assert page.locator("#storage-io-depth-sweep-sweep tbody tr").count() == len(hosts) * 8
        assert seen.errors == []


def test_the_caption_of_a_wide_table_is_on_the_screen(reports: Reports, opened: Any) -> None:
    with opened(reports(fail_depth=64), width=390) as (page, _):
        page.add_style_tag(content="#latency-sweep .scroll table { width: 3000px }")
        table = page.locator("#latency-sweep .scroll:visible").first
        for left in (0, 600):
            table.evaluate("(box, left) => { box.scrollLeft = left; }", left)
            box, caption = table.bounding_box(), table.locator("caption span").bounding_box()
            assert table.evaluate("box => box.scrollLeft") == left
            assert box["x"] <= caption["x"] and caption["x"] + caption["width"] <= box["x"] + box["width"]


def test_a_table_says_how_many_columns_are_out_of_sight(reports: Reports, opened: Any) -> None:
    from playwright.sync_api import expect

    with opened(reports(fail_depth=64), width=390) as (page, _):
        block = page.locator("#latency-sweep-on-local-levels")
        more = block.locator(".more")
        assert re.fullmatch(r"\d more columns? →", str(more.text_content()))
        block.locator(".scroll").evaluate("box => { box.scrollLeft = box.scrollWidth; }")
        expect(more).to_have_text("")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        levels = block.locator("tbody th").all_text_contents()
        heights = block.locator("tbody th").evaluate_all(
            "cells => cells.map((cell) => cell.getBoundingClientRect().height)"
        )
        assert levels[0] == "L1" and max(heights) < 40, "the name of a row stays on one line"


def test_a_tall_table_states_how_many_rows_it_has(tmp_path: Path, opened: Any) -> None:
    from playwright.sync_api import expect

    with opened(report_of(write_tree("cpus-192", tmp_path))) as (page, _):
        block = page.locator(".table-block:has(.tall):visible").first
        block.scroll_into_view_if_needed()
        more = block.locator(".more")
        expect(more).to_have_text(f"{block.locator('tbody tr').count()} rows ↓")
        block.locator(".scroll").evaluate("box => { box.scrollTop = box.scrollHeight; }")
        expect(more).to_have_text("")


def test_a_phone_shows_no_label_without_a_cell(tmp_path: Path, opened: Any) -> None:
    with opened(report_of(write_tree("failures", tmp_path)), width=390) as (page, _):
        shown = page.locator(".stack tbody td").evaluate_all(
            "all => all.filter((cell) => cell.offsetHeight > 0).map((cell) => cell.textContent.trim())"
        )
        assert shown
        assert all(shown), "the title of a column without a value"


def test_the_reason_why_an_expectation_could_not_be_judged_is_on_the_screen(tmp_path: Path, opened: Any) -> None:
    with opened(report_of(write_tree("failures", tmp_path))) as (page, _):
        table = page.locator("#expectations-open")
        assert table.get_by_text("host unreachable").count() > 0
        assert table.locator(".more").inner_text() == "", "no column is outside of the screen"


def test_a_plan_with_references_alone_has_no_section_of_expectations(tmp_path: Path, opened: Any) -> None:
    with opened(report_of(write_tree("points-64", tmp_path))) as (page, _):
        assert page.locator("#expectations-title").inner_text().startswith("References")
        assert page.locator(".contents a[href='#expectations']").inner_text() == "References"


def test_subjects_with_one_key_result_share_a_row_on_a_phone(tmp_path: Path, opened: Any) -> None:
    """In the quickstart run, the highest bandwidth and the highest IOPS are the only results of their subjects."""
    with opened(report_of(write_tree("quickstart", tmp_path)), width=390) as (page, _):
        boxes = [box.bounding_box() for box in page.locator(".subject.n1").all()]
        assert len(boxes) == 2
        assert boxes[0]["y"] == boxes[1]["y"]
        assert boxes[1]["x"] >= boxes[0]["x"] + boxes[0]["width"]


def test_many_notes_on_a_table_are_folded(tmp_path: Path, opened: Any) -> None:
    """Of 64 points, many lie on curves that seem to have a provisioned limit."""
    with opened(report_of(write_tree("points-64", tmp_path))) as (page, _):
        block = page.locator("#matrix .table-block", has_text="Storage performance").first
        notes = block.locator("p").count()
        assert notes > 7
        assert block.locator("> p").count() == 5
        assert block.locator("summary").text_content() == f"{notes - 5} more notes"
