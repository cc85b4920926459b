"""Comparisons as text, Markdown, HTML, CSV rows and JSON. Whole documents are compared, so that every change is
noticed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from asct.analysis.diff.build import Diff, compare_all
from asct.analysis.diff.document import COLUMNS, document, rows_of
from asct.analysis.diff.report import DiffReport, build_report
from asct.export.diff import html, markdown, text
from tests.analysis.diff.runs import CATALOG, levels, source, value

TEXT = """\
new compared with golden

What differs
------------
Property      Base        New
Linux kernel  6.1 x86_64  6.11 x86_64

latency-sweep
-------------
                                                           Noise
Value                 Base     New          Change [95 %]  floor  Verdict
latency, level     99.9 ns  110 ns  +10.0 % [+9.3, +10.2]  1.1 %  regressed
DRAM
rate, level L1      2 GB/s  3 GB/s                +50.0 %      –  not comparable
latency, level L1   1.6 ns  1.6 ns    +0.0 % [-0.3, +0.3]  1.2 %  same

not comparable: latency-sweep.rate at level L1: neither higher nor lower values
  of this metric are better
removed (only in the base): latency-sweep.latency at level L2

1 regressed, 0 improved, 1 same, 1 not comparable, 1 removed
"""
MARKDOWN = """\
# new compared with golden

❌ **1 regressed, 0 improved, 1 same, 1 not comparable, 1 removed**

## What differs

| Property | Base | New |
| --- | --- | --- |
| Linux kernel | 6.1 x86\\_64 | 6.11 x86\\_64 |

## Values

### latency-sweep

| Value | Base | New | Change \\[95 %\\] | Noise floor | Verdict |
| --- | ---: | ---: | ---: | ---: | --- |
| latency, level DRAM | 99.9 ns | 110 ns | +10.0 % \\[+9.3, +10.2\\] | 1.1 % | ❌ regressed |
| rate, level L1 | 2 GB/s | 3 GB/s | +50.0 % | – | ❔ not comparable |
| latency, level L1 | 1.6 ns | 1.6 ns | +0.0 % \\[-0.3, +0.3\\] | 1.2 % | same |

- not comparable: latency-sweep.rate at level L1: neither higher nor lower values of this metric are better
- removed (only in the base): latency-sweep.latency at level L2
"""


def comparison(**changes: Any) -> Diff:
    """Return a comparison of a run whose DRAM became slower with the run labeled `golden`."""
    rate = {"metric": "rate", "unit": "B/s", "better": "neither", "stats": None}
    base = source(
        "20261121T042813Z-3f9c2a", *levels({"L1": 0.016, "L2": 0.05, "DRAM": 1.0}), value([2e9], **rate),
        label="golden", started_at="2026-11-21T04:28:13Z",
    )  # fmt: skip
    machines = {"a": {"CPU": "EPYC 7B13", "Linux kernel": "6.11 x86_64"}}
    new = source("new", *levels({"L1": 0.016, "DRAM": 1.1}), value([3e9], **rate), machines=machines, **changes)
    return compare_all(base, [new], 0.01, CATALOG)


def report(diff: Diff, most: int = 40) -> DiffReport:
    return build_report(diff, CATALOG, most)


def test_text() -> None:
    shown = text.render(report(comparison()))
    assert shown == TEXT
    assert max(map(len, shown.splitlines())) <= 80


def test_markdown() -> None:
    assert markdown.render(report(comparison())) == MARKDOWN


def test_nothing_differs_and_nothing_changed() -> None:
    same = compare_all(source("a", *levels({"L1": 1})), [source("b", *levels({"L1": 1}))], 0.01, CATALOG)
    shown = text.render(report(same))
    assert "machine, software, plan and settings are the same" in shown
    assert shown.endswith("0 regressed, 0 improved, 1 same\n")


def test_less_important_values_are_counted() -> None:
    names = {f"L{number}": 1.0 + number / 100 for number in range(9)}
    slower = {**names, "L7": 2.0}
    diff = compare_all(source("a", *levels(names)), [source("b", *levels(slower))], 0.01, CATALOG)
    shown = " ".join(text.render(report(diff, most=2)).split())
    assert "latency, level L7" in shown
    assert (
        "7 more values with less important changes are listed in the CSV and JSON formats; -v lists all values" in shown
    )
    assert "-v lists all values" in " ".join(markdown.render(report(diff, most=2)).split())
    page = html.render(report(diff, most=2), document(diff))
    assert "7 more values with less important changes are listed in the CSV and JSON formats</li>" in page
    assert "latency-sweep: 1 unchanged" in page, "folded"
    assert report(diff, most=8).sections[0].left_out.startswith("1 more value with less important changes is")


def test_several_runs_have_a_section_each() -> None:
    runs = [source(name, *levels({"L1": factor})) for name, factor in (("b", 1.0), ("c", 1.5))]
    shown = text.render(report(compare_all(source("a", *levels({"L1": 1})), runs, 0.01, CATALOG)))
    assert "b\n=\n0 regressed, 0 improved, 1 same" in shown
    assert shown.endswith("b: 0 regressed, 0 improved, 1 same; c: 1 regressed, 0 improved, 0 same\n")


def test_incomplete_runs_and_few_visits_say_what_to_do() -> None:
    few = [value([v], stats=None, coords={"level": "L1"}) for v in (1e-7, 1.2e-7)]
    diff = compare_all(source("a", few[0]), [source("b", few[1], gaps=("lacks 2 measurements",))], 0.01, CATALOG)
    shown = " ".join(text.render(report(diff)).split())
    assert "p/b lacks 2 measurements" in shown
    assert "1 of 1 values; measure 5 visits or repeats in each run, or compare fewer values (-k)" in shown


def test_a_row_has_the_columns_that_programs_expect() -> None:
    rows = list(rows_of(comparison()))
    assert all(tuple(row) == COLUMNS for row in rows)
    by_field = {row["field"]: row for row in rows}
    changed = by_field["latency-sweep.latency at level DRAM"]
    assert changed["delta"] == pytest.approx(changed["comparator"] - changed["baseline"])
    assert changed["percent"] == pytest.approx(100 * changed["delta"] / changed["baseline"])
    assert changed["low"] < changed["percent"] < changed["high"]
    removed = by_field["latency-sweep.latency at level L2"]
    assert (removed["state"], removed["comparator"], removed["percent"]) == ("removed", None, None)


def test_the_page_is_complete_and_embeds_the_document_without_rows() -> None:
    diff = comparison()
    page = html.render(report(diff), document(diff))
    assert "1 regressed, 0 improved" in page
    assert 'http-equiv="Content-Security-Policy"' in page
    embedded = page.split('id="run-data">')[1].split("</script>")[0]
    assert json.loads(embedded)["runs"][0]["counts"]["regressed"] == 1
    assert "rows" not in json.loads(embedded)


def test_hostile_names_are_escaped() -> None:
    evil = "<script>alert(1)</script>"
    base = source("a", *levels({evil: 1}), machines={"a": {"CPU": evil}})
    diff = compare_all(base, [source("b", *levels({evil: 2}), machines={"a": {"CPU": "x"}})], 0.01, CATALOG)
    assert evil not in html.render(report(diff), document(diff))
    assert "<script>" not in markdown.render(report(diff))
