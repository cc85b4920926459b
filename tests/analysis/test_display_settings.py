"""Settings that only determine how values are shown are passed to tables and figures from the point, not from the
records."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from asct.analysis.view import open_view
from asct.registry import Registry
from asct.sdk.figure import Column, Table
from asct.sdk.record import Record
from tests.benchmarks.test_contract import POINT
from tests.engine import plant
from tests.engine.conftest import Lab, lab

__all__ = ["lab"]


class Titled(plant.Probe):
    """A benchmark that shows a setting of each of its points."""

    name = "titled"

    def tables(self, records: Sequence[Record]) -> Sequence[Table]:
        rows = tuple({"index": self.display_setting(record.point_id, "index")} for record in records)
        return (Table("t", "t", (Column("index", "index", format="integer"),), rows),)


def test_a_report_shows_each_point_by_its_settings(lab: Lab) -> None:
    shelf = plant.Shelf((Titled(),))
    job = plant.job(plant.point(index=3), plant.point(index=8), benchmark="titled")
    done = lab.run(job, ports=plant.collaborators(catalog=shelf))
    assert done.code == 0
    [view] = open_view(done.stored.layout.root, shelf).jobs
    assert [row["index"] for row in view.tables[0].rows] == [3, 8]


def test_a_point_without_settings_is_shown_by_the_defaults() -> None:
    benchmark = plant.Probe()
    assert benchmark.display_setting(POINT, "index") == 0
    assert benchmark.with_settings({POINT: {"index": 4}}).display_setting(POINT, "index") == 4
    assert benchmark.with_settings({POINT: {"index": "no number"}}).display_setting(POINT, "index") == 0
    assert benchmark.display_setting(POINT, "index") == 0, "the benchmark itself stays as it is"


@pytest.mark.parametrize("name", Registry().names())
def test_no_metric_repeats_a_setting_and_no_flag_a_choice_of_the_unit(name: str) -> None:
    benchmark = Registry().get(name)
    assert benchmark is not None
    shown = {"cycle_base", "hist_bins", "heatmap_vmax"}
    assert not shown & {metric.name for metric in benchmark.metrics}
    assert "cycle-base" not in benchmark.flags
