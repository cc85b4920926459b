"""Fixtures: runs on disk, and the views that reports use."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from asct.analysis.view import RunView
from tests.export.fakes import sample_view

Viewer = Callable[..., RunView]


@pytest.fixture
def view(tmp_path: Path) -> Viewer:
    """`view(hosts=(...), ...)` writes a sample run and opens it."""

    return partial(sample_view, tmp_path)
