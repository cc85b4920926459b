"""The content of a report page, and its order."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from html import unescape
from pathlib import Path
from unittest.mock import patch

import pytest

from asct.analysis.cause import Cause
from asct.analysis.grid import ColumnHead, TableCell, TextTable
from asct.analysis.report import Caution, build
from asct.analysis.verdict import VerdictSummary
from asct.analysis.view import RunView, open_view
from asct.export import html
from tests.analysis.test_report_sections import second_run
from tests.export.fakes import Fakes

Viewer = Callable[..., RunView]


def text_of(body: str) -> str:
    """Return the text of a part of a page."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", body)).strip()


def part(body: str, name: str) -> str:
    found = re.search(rf'<section id="{name}".*?</section>', body, re.DOTALL)
    assert found, name
    return found[0]


def test_the_first_cause_leads_to_its_section(view: Viewer) -> None:
    verdict = part(html.render(view()), "verdict")
    cause = (
        "First cause storage-io-depth-sweep.read_iops at iodepth 32 on local : measured 57.9k ops/s, expected at least"
    )
    assert cause in text_of(verdict)
    assert '<a href="#storage-io-depth-sweep">' in verdict
    good = part(html.render(view(verdicts=False, quiet=True)), "verdict")
    assert "First cause" not in good


@pytest.mark.parametrize("folded", [True, False])
def test_a_verdict_of_many_sentences_shows_the_outcomes_and_folds_the_rest(view: Viewer, folded: bool) -> None:
    one = view(fail_depth=64)
    causes = ("E602 fio reached its time limit", "E601 no space left")[: 1 + folded]
    summary = VerdictSummary("1 host could not be used", "missing", causes, ("3 of 25 failed", "1 is noisy"), ("A",))
    cause = Cause("depths on local", causes[0], "free some space", "depths")
    with patch.object(html, "build", lambda _: replace(build(one), summary=summary, cause=cause)):
        found = part(html.render(one), "verdict")
    shown, _, rest = found.partition("<details>")
    text = text_of(shown)
    assert text.count(causes[0]) == 1
    assert "Fix free some space; then asct resume" in text
    if folded:
        assert "3 of 25 failed. 1 is noisy." in text
        assert text_of(rest) == "1 other cause and 1 remark E601 no space left A"
    else:
        assert "3 of 25 failed. 1 is noisy. A." in text and not rest


def test_key_results_are_grouped_and_link_to_their_benchmarks(view: Viewer) -> None:
    found = part(html.render(view(hosts=("n1", "n2", "n3", "n4"))), "headlines")
    assert re.findall(r"<h3>(.*?)</h3>", found)[:2] == ["Memory latency", "Storage bandwidth"]
    assert found.count('<span class="label">') <= 8
    assert set(re.findall(r'class="of" href="#([^"]*)"', found)) == {"latency-sweep", "storage-io-depth-sweep"}
    text = text_of(found)
    assert "98.1 to 133 ns 31 samples over several sizes per host median of 4 hosts: 116 ns min on n1 ±0.4" in text
    assert "at iodepth 128, 3 repeats per host" in text


def test_a_key_result_shows_three_doubts_and_folds_the_others(view: Viewer) -> None:
    report = build(one := view())
    subject, [first, *others] = report.key_results.groups[0]
    doubted = replace(first, doubts=("two states", "drift", "noisy host", "burst possible"))
    results = replace(report.key_results, groups=((subject, (doubted, *others)),))
    with patch.object(html, "build", lambda _: replace(report, key_results=results)):
        tile = part(html.render(one), "headlines").partition("</li>")[0]
    shown, folded, rest = tile.partition("<details")
    assert shown.count('class="chip doubt"') == 3 and folded
    assert "<summary>1 more doubt</summary>" in rest and "burst possible" in rest


@pytest.mark.parametrize(("count", "folded"), [(10, ""), (11, "1 more warning"), (15, "5 more warnings")])
def test_only_ten_warnings_are_unfolded(view: Viewer, count: int, folded: str) -> None:
    report = build(one := view())
    warnings = tuple(Caution("warning", "E999", "", f"warning {number}") for number in range(count))
    with patch.object(html, "build", lambda _: replace(report, warnings=warnings)):
        section = part(html.render(one), "warnings")
    assert section.count('<li class="warning">') == count
    shown, _, rest = section.partition("<details>")
    assert shown.count('<li class="warning">') == min(count, 10)
    assert f"<summary>{folded}</summary>" in rest if folded else not rest


def test_hosts_beyond_the_fourth_unusable_one_are_folded(view: Viewer) -> None:
    report = build(one := view(hosts=tuple(f"n{number}" for number in range(9))))
    hosts = tuple(replace(host, status="unreachable") if n < 6 else host for n, host in enumerate(report.hosts))
    with patch.object(html, "build", lambda _: replace(report, hosts=hosts)):
        shown, *folded = part(html.render(one), "hosts").split("<details><summary>")
    found = re.findall(r'<article class="host" id="host-n(\d)"', "".join([shown, *folded]))
    assert found == [str(number) for number in range(9)]
    assert len(re.findall("<article", shown)) <= 4
    assert "2 more unusable hosts</summary>" in "".join(folded)
    assert "3 usable hosts</summary>" in "".join(folded)


def test_hosts_with_failures_are_folded_and_say_so(view: Viewer) -> None:
    hosts = tuple(f"n{number}" for number in range(6))
    body = html.render(view(hosts=hosts, fail_depth=64))
    section = part(body, "storage-io-depth-sweep")
    parts = re.findall(r'<details class="part"[^>]*>\s*<summary>.*?</summary>', section)
    assert len(parts) == 6
    assert all(" open" not in one for one in parts)
    assert all('<span class="chip bad">failed</span>' in one for one in parts)
    shown, folded, _ = section.partition("<summary>2 more hosts with failures</summary>")
    assert folded and shown.count('<details class="part"') == 4
    healthy, _, others = part(body, "latency-sweep").partition("<summary>6 hosts without failures</summary>")
    assert others.count('<details class="part"') == 6 and 'class="part"' not in healthy


def test_long_host_names_are_shortened_and_can_be_read_in_full(view: Viewer) -> None:
    names = tuple(f"rack07-node-{number}.lab.example.com" for number in (1, 2))
    body = html.render(view(hosts=names))
    tile = text_of(part(body, "headlines").partition("</li>")[0])
    assert "\N{HORIZONTAL ELLIPSIS}node-1: " in tile and "rack07" not in tile
    cells = re.findall(
        r'<(?:td|th scope="row")[^>]*title="([^"]*)"[^>]*>(?:<span>)?\N{HORIZONTAL ELLIPSIS}node-\d', body
    )
    assert set(cells) == set(names)
    coverage = part(body, "hosts")
    assert all(f"<h3>{name} </h3>" in coverage for name in names)
    full, short = "rack07-node-[1:2].lab.example.com", "\N{HORIZONTAL ELLIPSIS}node-[1:2]"
    assert re.search(rf'<th scope="row"[^>]* title="{re.escape(full)}">{re.escape(short)}<', coverage)
    assert "Host names are shown without <code>rack07-</code> and <code>.lab.example.com</code>." in coverage


def test_only_six_ranges_of_hosts_are_named_below_the_title(view: Viewer) -> None:
    body = html.render(view(hosts=tuple(f"n{number}" for number in range(1, 20, 2))))
    assert "10 hosts n1, n3, n5, n7, n9, n11 and 4 more" in text_of(body.partition("</header>")[0])


def test_expectations_that_held_are_folded(view: Viewer) -> None:
    found = part(html.render(view()), "expectations")
    open_part, _, folded = found.partition("<details>")
    assert "fail" in text_of(open_part) and "unknown" in text_of(open_part)
    assert "pass" not in text_of(open_part)
    assert "1 expectation met<" in folded and "pass" in text_of(folded)


def test_several_hosts_share_the_tables_of_a_section(view: Viewer) -> None:
    found = part(html.render(view(hosts=("n1", "n2"))), "latency-sweep")
    assert found.count("<caption><span>Latencies at different levels of cache</span></caption>") == 1
    assert 'data-keys="2"' in found, "on paper, the host is repeated in every part of the table"
    assert "L1 n1 128" in text_of(found)


def test_the_plan_has_lines_and_the_appendix_its_evidence(view: Viewer) -> None:
    found = part(html.render(view()), "appendix")
    assert found.count("\n</span>") == len(view().plan_text.splitlines())
    text = text_of(found)
    assert "benchmark latency-sweep 1" in text and "fio-3.33" in text and "SHA-256" in text


def test_changes_since_the_baseline_come_before_what_did_not_change(tmp_path: Path) -> None:
    body = html.render(open_view(second_run(tmp_path, 1.3), Fakes()))
    found = part(body, "baseline")
    text = text_of(found)
    assert "the newest complete run of this plan" in text
    assert '<a href="#baseline">Comparison with the baseline</a>' in body
    assert "Curves of both runs" in text
    identities = re.findall(r'\bid="([^"]+)"', re.sub(r"<script.*?</script>", "", body, flags=re.DOTALL))
    assert len(identities) == len(set(identities))


def test_the_contents_name_sections_as_their_headings_do(tmp_path: Path) -> None:
    body = html.render(open_view(second_run(tmp_path, 1.3), Fakes()))
    contents = re.findall(r'<li><a href="#([^"]+)">([^<]+?) ?(?:<span|</a>)', body.partition("<main")[0])
    headings = dict(re.findall(r'<h2 id="([^"]+)-title">([^<]+)<', body))
    sections = [(slug, name) for slug, name in contents if slug != "verdict"]
    assert {"headlines", "hosts", "baseline", "appendix"} <= dict(sections).keys()
    assert sections == [(slug, headings[slug]) for slug, _ in sections]


def test_no_line_break_separates_a_number_from_its_unit(view: Viewer) -> None:
    hidden = r"<script.*?</script>|<title>.*?</title>|<(pre|code).*?</\1>|<[^>]*>"
    shown = unescape(re.sub(hidden, "", html.render(view()), flags=re.DOTALL))
    assert "95\N{NO-BREAK SPACE}%" in shown and "\N{NO-BREAK SPACE}ns" in shown
    assert re.findall(r".*\d[kMG]? (?:%|[nm\u00b5]?s\b|[kMGT]?B\b|[KMGT]iB\b|ops/s|min\b).*", shown) == []


def test_a_command_is_copied_with_the_spaces_that_it_has() -> None:
    assert html._prose("at 5 %, run `echo 5 %`") == "at 5\N{NO-BREAK SPACE}%, run <code>echo 5 %</code>"


def test_a_figure_is_a_group_because_it_has_buttons(view: Viewer) -> None:
    body = html.render(view())
    assert 'role="img"' not in re.sub(r"<script.*?</script>", "", part(body, "latency-sweep"), flags=re.DOTALL)


def test_figures_that_are_folded_have_no_table_of_their_own(view: Viewer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html, "_MOST_FIGURES", 2)
    found = part(html.render(view()), "storage-io-depth-sweep")
    shown, more, folded = found.partition(" more figures</summary>")
    assert more and "<summary>Values</summary>" in shown
    figures = folded.partition("</details>")[0]
    assert "<figure" in figures and "<table" not in figures
    assert "its values are in the tables of this section" in figures


def test_a_single_folded_figure_is_not_plural(view: Viewer, monkeypatch: pytest.MonkeyPatch) -> None:
    figures = part(html.render(view()), "storage-io-depth-sweep").count("<figure")
    monkeypatch.setattr(html, "_MOST_FIGURES", figures - 1)
    assert "<summary>1 more figure</summary>" in html.render(view())


def test_the_columns_before_the_first_number_name_the_rows_of_a_table_of_sentences(view: Viewer) -> None:
    body = html.render(view(hosts=("n1", "n2")))
    table = re.search(r'<table[^>]*data-keys="(\d)">.*?</table>', part(body, "expectations"), re.DOTALL)
    assert table
    heads = re.findall(r'<th scope="col"[^>]*>([^<]*)<', table[0])
    assert heads[: int(table[1]) + 1] == ["Outcome", "Metric", "At", "Measured"]


def test_only_a_long_name_of_a_row_may_be_broken_into_lines() -> None:
    rows = [(TableCell("n" * 16), TableCell("1")), (TableCell("n" * 17), TableCell("2"))]
    grid = TextTable("slug", "A table", (ColumnHead("Name"), ColumnHead("Value", "right")), tuple(rows))
    found = re.findall(r'<th scope="row"( class="long")?>', str(html.body_rows(grid, grid.rows, False)))
    assert found == ["", ' class="long"']


def test_every_part_of_a_divided_table_contains_the_columns_that_distinguish_its_rows() -> None:
    def keys(*rows: str) -> int:
        cells = tuple(tuple(map(TableCell, row.split())) for row in rows)
        heads = tuple(ColumnHead(name, "right") for name in ("Size", "Share", "Depth", "Rate"))
        return html.key_columns(TextTable("t", "T", heads, cells), stack=False)

    assert keys("4K 0 1 9", "8K 0 1 9") == 1
    assert keys("4K 0 1 9", "4K 0 2 9", "4K 50 1 9") == 3
    assert keys("4K 0 1 9", "4K 0 1 9") == 1
