"""Every chart that exists in both runs shows the values of the earlier run in the background."""

from __future__ import annotations

from pathlib import Path

from asct.analysis.earlier import with_earlier_run
from asct.analysis.report import ReportSection, build
from asct.analysis.view import open_view
from asct.sdk.figure import Bars, Heatmap, Series
from tests.analysis.test_report_sections import second_run
from tests.export.fakes import Fakes, sample_view


def series_of(sections: list[ReportSection]) -> list[tuple[Series, bool]]:
    """Return the series of all charts, and whether they are stacked."""
    figures = [figure for section in sections for figure in section.figures if not isinstance(figure, Heatmap)]
    return [(item, isinstance(one, Bars) and one.stacked) for one in figures for item in one.series]


def test_the_earlier_run_is_behind_every_chart(tmp_path: Path) -> None:
    view = open_view(second_run(tmp_path, 2.0), Fakes())
    found = series_of(with_earlier_run(view, build(view).sections))
    assert any(stacked for _, stacked in found) and any(not stacked for _, stacked in found)
    for item, stacked in found:
        assert (item.backdrop is None) == stacked, item.name
        if item.backdrop is not None:
            assert item.backdrop.x == item.x and item.backdrop.name == "baseline 20261121T042813Z-3f9c2a"
            pairs = [(now, before) for now, before in zip(item.y, item.backdrop.y, strict=True) if now and before]
            assert pairs and all(now == 2.0 * before for now, before in pairs)


def test_the_caption_names_the_earlier_run(tmp_path: Path) -> None:
    view = open_view(second_run(tmp_path, 2.0), Fakes())
    for section in with_earlier_run(view, build(view).sections):
        for figure in section.figures:
            behind = not isinstance(figure, Heatmap) and any(item.backdrop for item in figure.series)
            assert figure.caption.endswith(" Pale: baseline 20261121T042813Z-3f9c2a.") == behind


def test_without_an_earlier_run_nothing_changes(tmp_path: Path) -> None:
    view = sample_view(tmp_path)
    sections = list(build(view).sections)
    assert with_earlier_run(view, sections) == sections
