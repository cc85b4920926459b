"""What the tooltip of each mark and cell must state: value, unit, interval, number of visits or repeats, flags and
setting."""

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
  const details = ([row, column]) => (data.customdata ? data.customdata[row][column].split('<br>') : []);
  return chosen.filter(Boolean).map((cell) => [
    shown('xy', { xval: cell[1], yval: cell[0] }),
    known(cell) ? [data.y[cell[0]], data.x[cell[1]], unit, ...details(cell)] : null,
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
        if figure.slug not in marks:
            continue
        if isinstance(figure, Heatmap):
            yield from untold_cells(figure, marks[figure.slug]["texts"])
        else:
            yield from _untold(figure, marks[figure.slug])


def untold_cells(figure: Heatmap, found: list[list[list[str]]]) -> Iterator[str]:
    """Yield what the first incomplete tooltip of a matrix lacks. `found` contains the parts of the tooltips that follow
    the value. Shares and changes, whose unit is %, have no details."""
    if not figure.series and figure.unit != "%":
        yield f"{figure.slug}: the cells have no details"
    blank = [[""] * len(figure.columns)] * len(figure.rows)
    for row, line in zip(figure.series, found[0] if found else blank, strict=False):
        for number, text in enumerate(line):
            told = html.unescape(text)
            if missing := list(missing_details(row, number, told, figure.title)):
                yield f"{figure.slug}: the tooltip {text!r} of {row.name}, {row.x[number]} lacks {', '.join(missing)}"
                return


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
    yield from missing_details(item, number, text, item.name)


def missing_details(item: Series, number: int, text: str, shown: str) -> Iterator[str]:
    """Yield the parts that a tooltip lacks in addition to the value. `shown` is the text beside the mark or above the
    matrix, which may contain the setting."""
    detail = item.details[number] if item.details else None
    known = sum(bool(ends) and ends[number] is not None for ends in (item.low, item.x_low))
    if len(_INTERVAL.findall(text)) < known:
        yield "the interval"
    if detail is None:
        return
    count = len(detail.values) or detail.count
    if count and f"{count} {detail.kind}" not in text:
        yield f"{count} {detail.kind}"
    yield from missing_flags(item, number, text)
    if detail.setting and detail.setting not in text and detail.setting not in shown:
        yield detail.setting


def missing_flags(item: Series, number: int, text: str) -> Iterator[str]:
    """Yield the flags that a tooltip lacks."""
    detail = item.details[number] if item.details else None
    yield from (flag for flag in (detail.flags if detail else ()) if flag not in text)
