"""A report on a tree in which every text is hostile, used in a real browser as a reader would use it: the page remains
intact."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from asct.analysis.view import RunView, open_view
from asct.export import write
from asct.sdk.figure import Axis, Band, Bars, Detail, Heatmap, Rated, Series
from tests.export.fakes import Fakes
from tests.export.hostile import TEXT, spoil
from tests.export.sample import Sample, write_sample

pytestmark = pytest.mark.browser

USED = """async () => {
  for (const fold of document.querySelectorAll('details')) fold.open = true;
  for (const head of document.querySelectorAll('thead button')) head.click();
  for (const input of document.querySelectorAll('input')) {
    for (const text of ['a', '']) {
      input.value = text;
      input.dispatchEvent(new Event('input'));
    }
  }
  for (const plot of document.querySelectorAll('.plot.js-plotly-plot')) {
    const trace = plot.data.findIndex((one) => one.hoverinfo !== 'skip');
    const place = plot.data[trace].type === 'heatmap' ? [0, 0] : 0;
    Plotly.Fx.hover(plot, [{ curveNumber: trace, pointNumber: place }]);
  }
  document.querySelector('[data-theme-choice=dark]').click();
  window.copied = [];
  navigator.clipboard.writeText = async (text) => { window.copied.push(text); };
  for (const button of document.querySelectorAll('[data-copy]')) button.click();
  await new Promise((resolve) => setTimeout(resolve, 500));
}"""
FOREIGN = """() => {
  const strange = (name, value) => name.startsWith('on') ||
    ((name.endsWith('href') || name === 'src') && /^(javascript|data|https?):/i.test(value));
  const foreign = (one) => one.matches('img, iframe, object, embed, base, form, math, foreignObject, image, link') ||
    Array.from(one.attributes).some((attribute) => strange(attribute.name, attribute.value));
  const all = Array.from(document.querySelectorAll('*')).filter((one) => !one.matches('.heatmaplayer image'));
  return all.filter(foreign).map((one) => one.outerHTML.slice(0, 200));
}"""


def spoiled(results: Path, version: bool) -> RunView:
    """Return a hostile tree with figures of each kind that contain hostile words, which a benchmark may receive from a
    host."""
    root = write_sample(results, Sample(hosts=("a", "b"), fail_depth=8))
    spoil(root, version)
    view = open_view(root, Fakes())
    if version:
        return view
    job = view.jobs[0]
    line = job.figures[0]
    marks = len(line.series[0].x)
    detail = Detail((1e-9, 2e-9), "visit", (1e-9, 2e-9), (TEXT,), TEXT)
    told = {"details": (detail,) * marks, "labels": (TEXT,) * marks, "host": TEXT}
    series = tuple(replace(line.series[0], name=f"{number}{TEXT}", **told) for number in range(2))
    bands, rated = (Band(1e-9, 2e-9, 128.0, 4096.0, TEXT),), (Rated(3e-9, TEXT),)
    unit = Axis(TEXT, "B/s", "linear")
    words = tuple(f"{number}{TEXT}" for number in range(3))
    markers = tuple(replace(one, name=TEXT) for one in line.markers)
    figures = (
        replace(line, title=TEXT, caption=TEXT, series=series, markers=markers, bands=bands, rated=rated),
        Bars("bars", TEXT, TEXT, Axis(TEXT, "", "category"), unit, (Series(TEXT, words, (1.0, 2.0, 3.0)),)),
        Heatmap("heat", TEXT, TEXT, TEXT, TEXT, words, words, ((1.0, 2.0, 3.0),) * 3, "s", host=TEXT),
    )
    object.__setattr__(job, "figures", figures)
    return view


@pytest.mark.parametrize("version", [False, True], ids=["tables", "plain-tables"])
def test_hostile_words_do_nothing(tmp_path: Path, opened: Any, version: bool) -> None:
    view = spoiled(tmp_path, version)
    [path] = write(view, "html", view.root)
    if version:  # there are no figures, so no event reports that they are drawn
        path.write_text(path.read_text().replace('<html lang="en">', '<html lang="en" data-figures="drawn">'))
    with opened(path) as (page, seen):
        dialogs: list[str] = []
        page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
        page.evaluate(USED)
        copied = page.evaluate("window.copied")
        assert page.evaluate("window.hacked") is None
        assert page.evaluate(FOREIGN) == []
        assert page.evaluate("document.scripts.length") == (6 if version else 9)  # plotly.js as it is inflated
        assert [url for url in seen.requests if not url.startswith(("file://", "blob:", "data:image/png"))] == []
        assert [url for url in seen.requests if url.startswith("file://")] == [path.as_uri()]
        assert (dialogs, seen.errors, seen.console) == ([], [], [])
        assert page.locator(".plot .main-svg").count() == 0 or "onerror" in page.locator(".plot").all_inner_texts()[0]
    check_copied(copied)


def check_copied(copied: list[str]) -> None:
    tables = [text for text in copied if not text.startswith("| ")]
    assert len(tables) > 5
    for text in tables:
        rows = list(csv.reader(io.StringIO(text)))
        assert len({len(row) for row in rows}) == 1
        assert [cell for row in rows for cell in row if cell[:1] in ("=", "@")] == []
    for text in copied:
        if text.startswith("| "):
            tokens = [
                one for block in MarkdownIt("commonmark").enable("table").parse(text) for one in block.children or ()
            ]
            assert {one.type for one in tokens} <= {"text", "html_inline"}
            assert {one.content for one in tokens if one.type == "html_inline"} <= {"<!-- -->"}
