"""The properties that a plan states for the measured items are shown side by side in every report intended for
people."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from asct.analysis.report import build
from asct.export import html, markdown, stdout
from tests.export.fakes import sample_view

DRIVES = {"SN720": {"NAND": "3D TLC", "TBW": "200"}, "X<1>": {"TBW": "80", "PLP": "no\x1b[31m"}}


def test_features_of_several_drives_stand_side_by_side(tmp_path: Path) -> None:
    grid = build(sample_view(tmp_path, features=DRIVES)).features
    assert grid is not None
    assert [head.title for head in grid.heads] == ["Feature", "SN720", "X<1>"]
    rows = [[cell.text for cell in row] for row in grid.rows]
    assert rows[:2] == [["NAND", "3D TLC", "–"], ["TBW", "200", "80"]]
    assert rows[2][:2] == ["PLP", "–"] and "\x1b" not in rows[2][2]


def test_reports_show_them(tmp_path: Path) -> None:
    view = sample_view(tmp_path, features=DRIVES)
    assert "| TBW | 200 | 80 |" in markdown.render(view)
    assert [line.split() for line in stdout.render(view).splitlines() if line.strip().startswith("TBW")] == [
        ["TBW", "200", "80"]
    ]
    page = html.render(view)
    assert "As stated in the plan" in page and "X&lt;1&gt;" in page and "X<1>" not in page


@pytest.mark.parametrize("features", [None, {}, [], "text", {"a": "b"}])
def test_a_plan_without_features_or_with_damaged_ones_has_no_table(tmp_path: Path, features: Any) -> None:
    view = sample_view(tmp_path, features=features)
    assert build(view).features is None
    assert "As stated in the plan" not in markdown.render(view) + html.render(view)
