"""What the tooltip of each mark must state: value, unit, interval, number of visits or repeats, flags and setting."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from asct.analysis.report import build
from asct.analysis.view import open_view
from asct.figures.panels import panels
from asct.registry import installed
from asct.sdk.figure import Chart, Heatmap, Series

MARKS = """() => Object.fromEntries(window.rules.plots().map((plot) => [plot.dataset.figure, {
  unit: (plot._fullLayout.annotations.filter((one) => one.name === 'title').at(-1)
    || plot._fullLayout.yaxis.title).text,
  texts: plot._fullData.filter((one) => one.hoverinfo !== 'skip' && one.customdata)
    .map((one) => Array.from(one.customdata)),
}]))"""
HOVER = """(slug) => {
  const plot = document.querySelector(`[data-figure="${slug}"]`);
  const trace = plot._fullData.findIndex((one) => one.visible === true && one.hoverinfo !== 'skip');
  if (trace < 0) return [['', '']];
  const data = plot._fullData[trace];
  const shown = (subplot, place) => {
    Plotly.Fx.hover(plot, place, subplot);
    const label = plot.querySelector('.hoverlayer');
    const text = label ? label.textContent : '';
    Plotly.Fx.unhover(plot);
    return text;
  };
  if (data.type !== 'heatmap') {
    const mark = Math.max(0, Array.from(data.y).findIndex((one) => one !== null));
    const place = [{ curveNumber: trace, pointNumber: mark }];
    return [[shown((data.xaxis || 'x') + (data.yaxis || 'y'), place), data.customdata[mark].split('<br>')]];
  }
  const [rows, columns] = [data.y.length, data.x.length];
  const corners = [[0, 0], [0, columns - 1], [rows - 1, 0], [rows - 1, columns - 1]];
  const all = data.z.flatMap((cells, row) => Array.from(cells, (value, column) => [row, column]));
  const known = ([row, column]) => data.z[row][column] !== null;
  const chosen = [...corners, all[all.length >> 1], all.find(known), all.find((cell) => !known(cell))];
  const unit = (data.colorbar.title.text || '').split(/, (?=lower|higher)/)[0];
  return chosen.filter(Boolean).map((cell) => [
    shown('xy', { xval: cell[1], yval: cell[0] }), known(cell) ? [data.y[cell[0]], data.x[cell[1]], unit] : null,
  ]);
}"""
"""The parts of a heat map to check: the corners, a cell in the middle, one with a value, and one without, which has no
tooltip."""
_INTERVAL = re.compile(r"(95 % interval|range|middle 90 %) \S+ to \S+")


def tooltip_problems(page: Any, path: Path) -> Iterator[str]:
    """Yield what the tooltips of the report at `path`, which `page` shows, fail to state."""
    marks = page.evaluate(MARKS)
    for slug in marks:
        for shown, wanted in page.evaluate(HOVER, slug):
            decoded = [html.unescape(part) for part in wanted or ()]
            told = re.search(r"\d", shown) and all(part in shown for part in decoded)
            if not told if wanted is not None else shown:
                yield f"{slug}: the tooltip says {shown!r}, not {decoded}"
    sections = build(open_view(path.parent, installed())).sections
    for figure in (figure for section in sections for figure in section.figures):
        if figure.slug in marks and not isinstance(figure, Heatmap):
            yield from _untold(figure, marks[figure.slug])


def _untold(figure: Chart, found: dict[str, Any]) -> Iterator[str]:
    series = [item for panel in panels(figure) for item in panel.series]
    if len(series) != len(found["texts"]):
        yield f"{figure.slug}: {len(found['texts'])} of {len(series)} series have tooltips"
        return
    unit = match[1] if (match := re.search(r"\(([^()]*)\)", html.unescape(found["unit"]))) else ""
    for item, texts in zip(series, found["texts"], strict=True):
        for number, text in enumerate(texts):
            missing = list(missing_parts(item, number, html.unescape(text), unit))
            if missing:
                yield f"{figure.slug}: the tooltip {text!r} of {item.name} lacks {', '.join(missing)}"
                return


def missing_parts(item: Series, number: int, text: str, unit: str) -> Iterator[str]:
    """Yield the parts that the tooltip of one mark lacks."""
    if item.y[number] is None:
        return
    first = text.split("<br>")[0]
    if not re.search(rf"\d ?{re.escape(unit)}$" if unit else r"\d$", first):
        yield f"the value in {unit!r}"
    detail = item.details[number] if item.details else None
    if item.low and item.low[number] is not None and not _INTERVAL.search(text):
        yield "the interval"
    if detail is None:
        return
    count = len(detail.values) or detail.count
    if count and f"{count} {detail.kind}" not in text:
        yield f"{count} {detail.kind}"
    yield from (flag for flag in detail.flags if flag not in text)
    if detail.setting and detail.setting not in text and detail.setting not in item.name:
        yield detail.setting
