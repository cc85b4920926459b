"""The plans of published studies, measured here with their shortened profile: no table and no figure is empty."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from asct.analysis.view import open_view
from asct.registry import installed
from tests.seeds.original import names, original
from tests.seeds.pairing import figure_of, job_of, table_of, values_of
from tests.seeds.running import measured

pytestmark = [pytest.mark.e2e, pytest.mark.fio, pytest.mark.disks, pytest.mark.timeout(2400)]


@pytest.mark.parametrize("name", names())
def test_every_table_and_figure_has_values(name: str, tmp_path: Path) -> None:
    seed = original(name)
    view = open_view(measured(seed, tmp_path, *seed.shorter), installed())
    cpus = os.cpu_count() or 1
    assert all(job_of(view, entry).records for entry in seed.entries)
    flags = {"", *Path("/proc/cpuinfo").read_text().split()}
    for table in seed.tables:
        if table.flag not in flags:
            continue
        grid = table_of(view, table)
        assert values_of(table, grid) if grid else table.nodes > 1, table.title
    for figure in seed.figures:
        assert figure_of(view, figure) or figure.cpus > cpus, figure.title
