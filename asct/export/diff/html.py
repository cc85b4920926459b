"""A comparison as a single HTML page that works offline, like the report of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from asct.analysis.combined import figure_grids
from asct.analysis.diff.report import DiffReport
from asct.export.diff.text import EQUAL_RUNS
from asct.export.html import page, script_json
from asct.figures.axes import Neighbors, axis_text
from asct.figures.render import render_sections

MOST_ROWS = 500
"""Maximum number of values per run on the page; the CSV and JSON files contain all of them."""


def render(report: DiffReport, document: Mapping[str, Any]) -> str:
    """Return the page. It contains `document` without its rows, so that programs can read the page."""
    maps = [one for part in report.sections for item in part.parts for one in item.maps]
    titles = [row[0].text for row in report.runs.rows]
    return page(
        "diff.html.j2",
        render_sections([Neighbors(report.figures), Neighbors(maps)], titles),
        report=report,
        figure_grids=figure_grids((own, axis_text(Neighbors(own))) for own in (report.figures, maps)),
        equal_runs=f"{EQUAL_RUNS[:1].upper()}{EQUAL_RUNS[1:]}.",
        data=script_json({key: value for key, value in document.items() if key != "rows"}),
    )
