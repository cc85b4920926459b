"""Fixtures: runs on disk, and the views that reports use."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from asct.analysis.view import RunView, open_view
from tests.export.fakes import Fakes
from tests.export.sample import Sample, write_sample

Viewer = Callable[..., RunView]


@pytest.fixture
def view(tmp_path: Path) -> Viewer:
    """`view(hosts=(...), ...)` writes a sample run and opens it."""

    def make(**changes: object) -> RunView:
        return open_view(write_sample(tmp_path, Sample(**changes)), Fakes())  # type: ignore[arg-type]

    return make
