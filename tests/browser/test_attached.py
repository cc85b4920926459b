"""A page that leaves its folder: the files that it saves, and links only to targets that exist."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from asct.analysis.dataframe import tidy_columns, tidy_rows
from asct.analysis.view import RunView, open_view
from asct.export import render, write
from asct.export.csv import csv_lines
from tests.browser.look import drawn
from tests.export.fakes import Fakes
from tests.export.sample import Sample, write_sample

pytestmark = pytest.mark.browser
Reports = Callable[..., Path]
LINKS = "Array.from(document.querySelectorAll('[data-raw] a'), link => link.getAttribute('href'))"


@pytest.fixture
def odd(tmp_path: Path) -> RunView:
    """Return a run whose values contain everything that has a special meaning in CSV."""
    root = write_sample(tmp_path, Sample(hosts=("a", "b")))
    lines = [json.loads(line) for line in (root / "records.jsonl").read_text().splitlines()]
    lines[0]["flags"] = ["=1+1\u202e", 'say "x"']
    lines[0]["coords"] |= {"note": "-a,b\nc\x1b", "share": 0.5, "small": 1.5e-7, "on": True}
    for body in lines:
        body["point"] |= {"sizes": [1, 2.5], "none": None}
    lines[-1]["raw"] = "jobs/elsewhere"
    (root / "records.jsonl").write_text("".join(json.dumps(body) + "\n" for body in lines))
    return open_view(root, Fakes())


def test_the_page_alone_makes_the_files_of_its_run(odd: RunView, opened: Any, tmp_path: Path) -> None:
    [path] = write(odd, "html", odd.root)
    alone = tmp_path / "attached.html"
    shutil.copy(path, alone)
    columns = tidy_columns(odd.records)
    rows = csv_lines(columns, ([row.get(name) for name in columns] for row in tidy_rows(odd.records)))
    wanted = {"csv": ("csv", rows), "json": ("json", render(odd, "json")), "plan": ("yaml", odd.plan_text)}
    with opened(alone) as (page, seen):
        for kind, (ending, text) in wanted.items():
            with page.expect_download() as started:
                page.click(f"[data-download={kind}]")
            file = started.value
            assert file.suggested_filename == f"{odd.run.plan}-{odd.run.run}.{ending}"
            assert Path(file.path()).read_bytes() == str(text).encode()
        assert page.evaluate(LINKS) == []
        assert (seen.console, seen.errors) == ([], [])
    with opened(path, script=False) as (page, _):
        assert page.locator("#downloads").is_hidden()
        assert page.locator("noscript p", has_text="-f csv -f json").is_visible()


def test_raw_files_are_linked_where_they_are(reports: Reports, opened: Any) -> None:
    path = reports()
    with opened(path) as (page, _):
        links = page.evaluate(LINKS)
        assert any(link.endswith("point.fio") for link in links)
        assert {link for link in links if not (path.parent / link).exists()} <= {"asct.log"}


FRAMES = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(done))))"
RECORD = """() => {
  window.drawn = [];
  for (const plot of document.querySelectorAll(".plot")) {
    plot.on("plotly_afterplot", () => window.drawn.push(plot.dataset.figure));
  }
  document.dispatchEvent(new Event("asct-colors"));
}"""


def test_the_figures_in_view_are_drawn_first(reports: Reports, opened: Any) -> None:
    first, last = "latency-sweep-curve", "storage-io-depth-sweep-cpu"
    with opened(reports()) as (page, _):
        page.evaluate(f"document.getElementById({last!r}).scrollIntoView({{behavior: 'instant', block: 'center'}})")
        page.evaluate(FRAMES)  # until the page has been told what is in view
        page.evaluate(RECORD)
        drawn(page)
        order = page.evaluate("window.drawn")
        assert order.index(last) < order.index(first), order
