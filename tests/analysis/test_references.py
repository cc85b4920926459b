"""References are listed next to the measured values and drawn in the charts that show these values, but are never
judged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from asct.analysis.expectations import judge
from asct.analysis.groups import gather
from asct.analysis.references import rated_values
from asct.analysis.report import RunReport, build
from asct.analysis.view import open_view
from asct.export.markdown import render as markdown
from asct.export.stdout import render as text
from asct.sdk.figure import Heatmap
from tests.analysis.test_expectations import check, record, run_of
from tests.export.fakes import Fakes, sample_view
from tests.export.sample import Sample, write_sample

DEPTH = "storage-io-depth-sweep"


def rated(metric: str, reference: object, **at: Any) -> dict[str, Any]:
    job, _, name = metric.rpartition(".")
    return {"job_id": job, "metric": name, "at": at, "hosts": None, "reference": reference}


def report_on(folder: Path, *checks: dict[str, Any], hosts: tuple[str, ...] = ("local",)) -> RunReport:
    return build(sample_view(folder, checks=checks, hosts=hosts))


def lines(report: RunReport) -> dict[str, list[float]]:
    figures = [figure for section in report.sections for figure in section.figures]
    return {
        item.slug: [one.y for one in item.rated] for item in figures if not isinstance(item, Heatmap) and item.rated
    }


def test_the_table_shows_value_reference_and_share(tmp_path: Path) -> None:
    report = report_on(tmp_path, rated(f"{DEPTH}.read_iops", 130_000.0, iodepth=32))
    assert report.references is not None
    [row] = report.references.rows
    assert [cell.text for cell in row] == [f"{DEPTH}.read_iops", "iodepth 32", "54.86k ops/s", "130k ops/s", "42.2 %"]
    assert report.summary == report_on(tmp_path).summary


def test_a_line_is_drawn_in_the_chart_that_contains_the_value(tmp_path: Path) -> None:
    report = report_on(tmp_path, rated(f"{DEPTH}.read_iops", 130_000.0, iodepth=32))
    assert list(lines(report).values()) == [[130_000.0]]
    assert next(iter(lines(report))).endswith("-iops")


def test_the_line_of_a_level_is_drawn_in_the_charts_of_its_unit(tmp_path: Path) -> None:
    report = report_on(tmp_path, rated("latency-sweep.latency", 9e-8, level="DRAM"))
    assert list(lines(report).values()) == [[9e-8]]


def test_a_reference_for_all_points_is_one_line(tmp_path: Path) -> None:
    report = report_on(tmp_path, rated(f"{DEPTH}.read_iops", 130_000.0))
    assert list(lines(report).values()) == [[130_000.0]]
    assert report.references is not None and len(report.references.rows) > 2


def test_every_host_has_a_row(tmp_path: Path) -> None:
    report = report_on(tmp_path, rated(f"{DEPTH}.read_iops", 130_000.0, iodepth=32), hosts=("a", "b"))
    assert report.references is not None
    assert [(row[2].text, row[4].text) for row in report.references.rows] == [("a", "130k ops/s"), ("b", "130k ops/s")]


def test_text_and_markdown_list_references(tmp_path: Path) -> None:
    view = open_view(
        write_sample(tmp_path, Sample(checks=(rated(f"{DEPTH}.read_iops", 130_000.0, iodepth=32),))), Fakes()
    )
    for document in (text(view), markdown(view)):
        assert (
            "130k ops/s" in document and "42.2 %" in document and "Reference values do not affect verdicts" in document
        )


@pytest.mark.parametrize("damaged", [None, {}, {"reference": 3.0}, rated("a.b", "x"), rated("a.b", None), [1]])
def test_damaged_references_are_skipped(tmp_path: Path, damaged: Any) -> None:
    assert rated_values(sample_view(tmp_path, checks=(damaged,))) == []


def test_a_reference_is_not_judged() -> None:
    places = gather([record(9.0)])
    assert judge([check(max=None, reference=2.0)], places, run_of(), {}) == []
    assert [item.outcome for item in judge([check(max=10.0, reference=2.0)], places, run_of(), {})] == ["pass"]
